/* The byte ceiling of a gate grows with the program it is handed, and still ends one that eats memory. */
#include "suite.h"
#include "script/lua_graph.h"
#include "script/lua_sandbox.h"
#include "base/mem.h"

enum { OPS = 5000 };                             /* some 11 MB of tables */

static assay_program *chain(void) {
    assay_buf text = {0};
    assay_program *p = NULL;
    assay_buf_str(&text, "program(1.3)\n{\n func main<ios18>(tensor<fp16, [1, 4]> x) {\n  tensor<fp16, [1, 4]> v0 = relu(x = x);\n");
    for (int i = 1; i < OPS; i++) assay_buf_printf(&text, "  tensor<fp16, [1, 4]> v%d = relu(x = v%d);\n", i, i - 1);
    assay_buf_printf(&text, " } -> (v%d);\n}\n", OPS - 1);
    CU_ASSERT_EQUAL_FATAL(assay_program_parse_mil(text.data, text.len, "test", NULL, &p, NULL), ASSAY_OK);
    assay_buf_free(&text);
    return p;
}

static int push(lua_State *L) {
    assay_lua_push_graph(L, lua_touserdata(L, 1));
    return 1;
}

static int eat(lua_State *L) {                   /* the stack keeps every block alive */
    for (int i = 0; i < 1000; i++) {
        luaL_checkstack(L, 1, NULL);
        lua_newuserdatauv(L, 1 << 20, 0);
    }
    return 0;
}

static assay_status call(assay_sandbox *s, lua_CFunction f, void *arg, assay_error *err) {
    lua_pushcfunction(s->L, f);
    lua_pushlightuserdata(s->L, arg);
    return assay_lua_call(s, 1, 1, err);
}

static void a_large_program_fits(void) {
    const assay_limits two_mib = {.memory_bytes = 2 << 20};
    assay_sandbox *s = assay_sandbox_open("gate.lua", NULL, &two_mib, NULL);
    assay_program *p = chain();
    assay_error err = {0};
    CU_ASSERT_EQUAL(call(s, push, p, &err), ASSAY_OK);
    CU_ASSERT(s->used_bytes > (size_t)2 << 20);
    CU_ASSERT_EQUAL(s->max_bytes, ((size_t)2 << 20) + (size_t)OPS * 4096);
    assay_sandbox_close(s);
    assay_program_free(p);
}

static void the_ceiling_stays_one(void) {
    const assay_limits two_mib = {.memory_bytes = 2 << 20};
    assay_sandbox *s = assay_sandbox_open("gate.lua", NULL, &two_mib, NULL);
    assay_error err = {0};
    assay_sandbox_grow(s, 6 << 20);
    CU_ASSERT_EQUAL(call(s, eat, NULL, &err), ASSAY_E_LIMIT);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "more than 8 MiB of memory"));
    assay_sandbox_grow(s, UINT64_MAX);
    CU_ASSERT_EQUAL(s->max_bytes, (uint64_t)4 << 30);
    assay_sandbox_close(s);
}

ASSAY_SUITE("graph limits", TEST(a_large_program_fits), TEST(the_ceiling_stays_one))
