/* Opening an experiment script: run it in the sandbox, check what it returns, keep its description. */
#include "script/lua_script.h"
#include "script/lua_builder.h"
#include "script/lua_recipe.h"
#include "base/fs.h"
#include "base/names.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

assay_script *assay_script_of(lua_State *L) { return assay_sandbox_of(L)->owner; }

static assay_status take_settings(assay_script *s, const assay_script_options *o, assay_error *err) {
    s->set = assay_xcalloc(o->n_set + 1, sizeof *s->set);
    for (size_t i = 0; i < o->n_set; i++) {
        const char *eq = strchr(o->set[i], '=');
        if (!eq || eq == o->set[i]) return assay_fail(err, ASSAY_E_USAGE, "--set %s: expected NAME=VALUE", o->set[i]);
        s->set[i].name = assay_xstrndup(o->set[i], (size_t)(eq - o->set[i]));
        s->set[i].value = assay_xstrdup(eq + 1);
        s->n_set++;
    }
    return ASSAY_OK;
}

/* tools.program(NAME): the program of an arm, in a builder. */
static int program_of(lua_State *L) {
    assay_script_push_program(L, assay_script_of(L), luaL_checkstring(L, 1));
    return 1;
}

/* 1: experiment, described already -> the same experiment with mutants as arms, by the library assay.mutants. */
static int with_mutants(lua_State *L) {
    assay_lua_push_env(L);
    lua_getfield(L, -1, "require");
    lua_pushliteral(L, "assay.mutants");
    lua_call(L, 1, 1);
    lua_getfield(L, -1, "experiment");
    lua_pushvalue(L, 1);
    lua_createtable(L, 0, 2);
    lua_pushcfunction(L, program_of);
    lua_setfield(L, -2, "program");
    lua_pushboolean(L, assay_script_of(L)->diagnose);
    lua_setfield(L, -2, "diagnose");
    lua_call(L, 2, 1);
    return 1;
}

/* Describes the experiment on top of the stack and leaves it there. */
static assay_status describe(assay_script *s, assay_error *err) {
    lua_State *L = s->sb->L;
    lua_pushcfunction(L, assay_script_describe);
    lua_pushvalue(L, -2);
    return assay_lua_call(s->sb, 1, 0, err);
}

static assay_status run_script(assay_script *s, assay_error *err) {
    lua_State *L = s->sb->L;
    const char *path = s->sb->script_path;
    assay_status st = assay_lua_load(s->sb, path, path, assay_path_base(path), err);
    if (!st) st = assay_lua_call(s->sb, 0, 1, err);
    if (st) return st;
    const assay_word *w = assay_lua_word_at(L, -1);
    if (!w || strcmp(w->name, "experiment"))
        return assay_fail(err, ASSAY_E_INPUT, "%s: the script must end with `return experiment { ... }`, it returned %s", path, w ? w->name : luaL_typename(L, -1));
    st = describe(s, err);
    if (st || !s->mutants) return st;
    lua_pushcfunction(L, with_mutants);
    lua_insert(L, -2);
    st = assay_lua_call(s->sb, 1, 1, err);
    return st ? st : describe(s, err);
}

/* Names the script of that folder that may be meant. */
static assay_status no_such_script(const char *path, assay_error *err) {
    const char *lua[64];
    char *dir = assay_path_dir(path), **names = NULL, hint[96];
    size_t n = 0, found = 0;
    if (assay_list_dir(dir, &names, &n, NULL) == ASSAY_OK)
        for (size_t i = 0; i < n && found < 64; i++)
            if (assay_ends_with(names[i], ".lua")) lua[found++] = names[i];
    assay_fail(err, ASSAY_E_INPUT, "%s: no such script%s", path, assay_did_you_mean(hint, assay_path_base(path), lua, found));
    assay_list_free(names, n);
    free(dir);
    return ASSAY_E_INPUT;
}

static assay_status open_sandbox(assay_script *s, const char *path, const assay_script_options *o, assay_error *err) {
    assay_limits limits = { o->memory_bytes, o->tensor_bytes, o->instructions, o->seconds, o->call_seconds };
    char *dir = assay_scripts_dir(o->scripts_dir);
    s->sb = assay_sandbox_open(path, dir, &limits, o->tripped_cleanup);
    free(dir);
    if (!s->sb) return assay_fail(err, ASSAY_E_NOMEM, "%s: no memory for a Lua state", path);
    s->sb->owner = s;
    assay_lua_open_words(s->sb->L, false);
    assay_lua_open_options(s->sb->L);
    assay_lua_open_recipes(s->sb->L);
    assay_lua_open_builder(s->sb->L);
    return ASSAY_OK;
}

assay_status assay_script_open(const char *path, const assay_script_options *o, assay_script **out, assay_error *err) {
    static const assay_script_options none;
    if (!o) o = &none;
    *out = NULL;
    if (assay_is_dir(path)) return assay_fail(err, ASSAY_E_INPUT, "%s is a folder; name the script in it (an experiment is one .lua file)", path);
    if (!assay_is_file(path)) return no_such_script(path, err);
    assay_script *s = assay_xcalloc(1, sizeof *s);
    s->registry = o->registry;
    s->mutants = o->mutants;
    s->diagnose = o->diagnose;
    s->options = assay_json_object();
    s->description = assay_json_object();
    s->weights = LUA_NOREF;
    assay_status st = take_settings(s, o, err);
    if (!st) st = open_sandbox(s, path, o, err);
    if (!st) st = run_script(s, err);
    if (st) assay_script_close(s);
    else *out = s;
    return st;
}

void assay_script_close(assay_script *s) {
    if (!s) return;
    assay_sandbox_close(s->sb);
    for (size_t i = 0; i < s->n_set; i++) {
        free(s->set[i].name);
        free(s->set[i].value);
    }
    free(s->set);
    assay_json_free(s->options);
    assay_json_free(s->description);
    free(s);
}

const assay_json *assay_script_description(const assay_script *s) { return s->description; }
const assay_json *assay_script_files(const assay_script *s) { return s->sb->files; }
