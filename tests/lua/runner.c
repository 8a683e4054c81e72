/* Runs the functions of a Lua test file in the sandbox of scripts: words, recipes and builder are there, and `t`:
 *   t.equal(a, b)  t.ok(v)  t.fails(function, text in its message)  t.mil{ opset =, precision = }  t.outputs(m, values)
 *   t.graph(m), and for programs beyond the builder t.func, t.drop, t.input, t.state, t.packed, t.rename, t.metadata
 *   t.run and t.judge: helpers.h */
#include "helpers.h"
#include "script/lua_builder.h"
#include "script/lua_constant.h"
#include "script/lua_graph.h"
#include "script/lua_recipe.h"
#include "script/lua_words.h"
#include "base/names.h"
#include "ops/builtin.h"
#include "program/optable.h"
#include "script/script.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int t_fails(lua_State *L) {
    luaL_checktype(L, 1, LUA_TFUNCTION);
    const char *wanted = luaL_checkstring(L, 2);
    lua_pushvalue(L, 1);
    if (lua_pcall(L, 0, 0, 0) == LUA_OK) return luaL_error(L, "no error; wanted '%s'", wanted);
    assay_sandbox_of(L)->status = ASSAY_OK;
    const char *got = lua_tostring(L, -1);
    if (!got || !strstr(got, wanted)) return luaL_error(L, "wanted '%s', got '%s'", wanted, got ? got : "?");
    return 0;
}

static int t_equal(lua_State *L) {
    if (lua_compare(L, 1, 2, LUA_OPEQ)) return 0;
    return luaL_error(L, "wanted %s, got %s", luaL_tolstring(L, 2, NULL), luaL_tolstring(L, 1, NULL));
}

static int t_ok(lua_State *L) {
    if (!lua_toboolean(L, 1)) return luaL_error(L, "expected true");
    return 0;
}

static const char *text_of(lua_State *L, const char *key, const char *def) {
    if (!lua_istable(L, 1)) return def;
    return lua_getfield(L, 1, key) == LUA_TSTRING ? lua_tostring(L, -1) : def;
}

static int t_mil(lua_State *L) {
    int rank = assay_opset_rank(text_of(L, "opset", "iOS18"));
    int32_t precision = assay_mil_dtype_parse(text_of(L, "precision", "fp16"));
    assay_program *p = assay_program_new(assay_opset_spec_version(rank));
    assay_mil *m = assay_lua_push_mil(L, p, precision);
    m->function = assay_program_add_function(p, "main", assay_opset_name(rank));
    return 1;
}

static int t_outputs(lua_State *L) {
    assay_mil *m = assay_lua_check_mil(L, 1);
    assay_mil_value *outs[16];
    uint32_t n = 0;
    for (int i = 2; i <= lua_gettop(L) && n < 16; i++) outs[n++] = assay_lua_value_at(L, i);
    assay_error err;
    if (assay_function_set_outputs(m->program, m->function, outs, n, &err)) return luaL_error(L, "%s", err.message);
    if (assay_program_validate(m->program, 1, &err)) return luaL_error(L, "%s", err.message);
    return 0;
}

/* ---- programs that the builder has no word for */
static int t_func(lua_State *L) {                /* t.func(m, "extend_256_64"): what follows goes to another function */
    assay_mil *m = assay_lua_check_mil(L, 1);
    m->function = assay_program_add_function(m->program, luaL_checkstring(L, 2), m->function->opset);
    m->before = NULL;
    return 0;
}

static int t_drop(lua_State *L) {                /* t.drop(m, "main"): takes a function out again */
    assay_program *p = assay_lua_check_mil(L, 1)->program;
    const char *name = luaL_checkstring(L, 2);
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->n_functions; i++)
        if (strcmp(p->functions[i]->name, name)) p->functions[n++] = p->functions[i];
    p->n_functions = n;
    return 0;
}

static const assay_mil_type *type_at(lua_State *L, assay_mil *m, int shape, int dtype) {
    int64_t dims[ASSAY_RANK_MAX];
    uint32_t rank = (uint32_t)lua_rawlen(L, shape);
    for (uint32_t i = 0; i < rank && i < ASSAY_RANK_MAX; i++) {
        lua_rawgeti(L, shape, (lua_Integer)i + 1);
        dims[i] = lua_tointeger(L, -1);
        lua_pop(L, 1);
    }
    return assay_type_tensor(m->program, assay_mil_dtype_parse(luaL_optstring(L, dtype, "fp16")), rank, dims);
}

static int t_input(lua_State *L) {               /* t.input(m, name, shape [, dtype]): sizes may be -1 */
    assay_mil *m = assay_lua_check_mil(L, 1);
    assay_lua_push_value(L, 1, assay_function_add_input(m->program, m->function, luaL_checkstring(L, 2), type_at(L, m, 3, 4)));
    return 1;
}

static int t_state(lua_State *L) {               /* t.state(m, name, shape [, dtype]) */
    assay_mil *m = assay_lua_check_mil(L, 1);
    assay_mil_type *t = assay_arena_alloc(m->program->arena, sizeof *t);
    const assay_mil_type **sub = assay_arena_alloc(m->program->arena, sizeof *sub);
    *sub = type_at(L, m, 3, 4);
    *t = (assay_mil_type){ .kind = ASSAY_TYPE_STATE, .n_sub = 1, .sub = sub };
    assay_lua_push_value(L, 1, assay_function_add_input(m->program, m->function, luaL_checkstring(L, 2), t));
    return 1;
}

static int t_packed(lua_State *L) {              /* t.packed(m, dtype, shape): a constant of zeros of a sub-byte type */
    assay_mil *m = assay_lua_check_mil(L, 1);
    assay_mil_const *c = assay_arena_alloc(m->program->arena, sizeof *c);
    const assay_mil_type *type = type_at(L, m, 3, 2);
    uint64_t bytes = ((uint64_t)assay_type_count(type) * assay_mil_dtype_bits(type->dtype) + 7) / 8;
    *c = (assay_mil_const){ .kind = ASSAY_CONST_DATA, .type = type, .nbytes = bytes, .data = assay_arena_alloc(m->program->arena, bytes) };
    assay_lua_push_value(L, 1, assay_block_add_const(m->program, m->function, m->function->block, m->before, "packed", c));
    return 1;
}

static int t_rename(lua_State *L) {              /* t.rename(op, type): an op of a type that no table knows */
    assay_mil_handle *h = luaL_checkudata(L, 1, "assay.op");
    h->op->type = assay_arena_strdup(h->mil->program->arena, luaL_checkstring(L, 2));
    return 0;
}

static int t_metadata(lua_State *L) {            /* t.metadata(m, key, value): the one entry of user-defined metadata */
    assay_program *p = assay_lua_check_mil(L, 1)->program;
    p->metadata = assay_arena_alloc(p->arena, sizeof *p->metadata);
    p->metadata[0].key = assay_arena_strdup(p->arena, luaL_checkstring(L, 2));
    p->metadata[0].value = assay_arena_strdup(p->arena, luaL_checkstring(L, 3));
    p->n_metadata = 1;
    return 0;
}

static int t_graph(lua_State *L) {               /* t.graph(m): what ev:graph gives to a gate */
    assay_mil *m = assay_lua_check_mil(L, 1);
    assay_program_index(m->program);
    assay_lua_push_graph(L, m->program);
    lua_pushvalue(L, 1);                         /* the program lives as long as its graph */
    lua_setfield(L, -2, "owner");
    return 1;
}

static const luaL_Reg helpers[] = { { "func", t_func }, { "drop", t_drop }, { "input", t_input }, { "state", t_state }, { "packed", t_packed }, { "rename", t_rename }, { "metadata", t_metadata }, { "graph", t_graph },
    { "fails", t_fails }, { "equal", t_equal }, { "ok", t_ok }, { "mil", t_mil }, { "outputs", t_outputs }, { "run", t_run }, { "judge", t_judge }, { NULL, NULL } };

/* Runs every function of the table on top, on its own; returns the number of failures, -1 for no tests at all. */
static int run_all(assay_sandbox *s) {
    lua_State *L = s->L;
    int failed = 0, ran = 0;
    if (!lua_istable(L, -1)) return -1;
    for (lua_pushnil(L); lua_next(L, -2);) {
        assay_error err = { 0, "" };
        char name[128];
        snprintf(name, sizeof name, "%s", lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "?");
        assay_status st = assay_lua_call(s, 0, 0, &err);
        printf("%s %s%s%s\n", st ? "FAILED" : "ok    ", name, st ? ": " : "", st ? err.message : "");
        failed += st != ASSAY_OK;
        ran++;
    }
    return ran ? failed : -1;
}

int main(int argc, char **argv) {
    if (argc < 2) return 2;
    assay_ops_register();
    char *scripts = assay_scripts_dir(argc > 3 && strcmp(argv[2], "--scripts") == 0 ? argv[3] : NULL);
    assay_sandbox *s = assay_sandbox_open(argv[1], scripts, NULL, NULL);
    free(scripts);
    assay_lua_open_words(s->L, false);
    assay_lua_open_recipes(s->L);
    assay_lua_open_builder(s->L);
    assay_lua_open_constant(s->L);
    luaL_newlib(s->L, helpers);
    assay_lua_set_global(s->L, "t");
    assay_error err = { 0, "" };
    assay_status st = assay_lua_load(s, argv[1], argv[1], "test", &err);
    if (!st) st = assay_lua_call(s, 0, 1, &err);
    int failed = st ? 1 : run_all(s);
    if (st) printf("FAILED %s\n", err.message);
    if (failed < 0) printf("FAILED %s: no tests in it\n", argv[1]);
    assay_sandbox_close(s);
    return failed ? 1 : 0;
}
