/* Runs the functions of a Lua test file in the sandbox of scripts: words, recipes and builder are there, and `t`:
 *   t.equal(a, b)  t.ok(v)  t.fails(function, text in its message)  t.mil{ opset =, precision = }  t.outputs(m, values) */
#include "script/lua_builder.h"
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

static const luaL_Reg helpers[] = { { "fails", t_fails }, { "equal", t_equal }, { "ok", t_ok }, { "mil", t_mil }, { "outputs", t_outputs }, { NULL, NULL } };

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
