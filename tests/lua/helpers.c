/* Helpers of Lua tests that reach into the program: running what a build function made, and judging a gate on tensors. */
#include "helpers.h"
#include "script/lua_builder.h"
#include "script/lua_tensor.h"
#include "script/lua_values.h"
#include "script/script.h"
#include "base/fs.h"
#include "base/mem.h"
#include "plugin/evidence.h"
#include "../../plugins/backends/reference/exec.h"
#include <stdlib.h>
#include <string.h>

enum { NAMES = 32 };

/* ---- running */
static uint32_t read_inputs(lua_State *L, assay_named_tensor in[NAMES]) {
    uint32_t n = 0;
    luaL_checktype(L, 2, LUA_TTABLE);
    for (lua_pushnil(L); lua_next(L, 2) && n < NAMES; lua_pop(L, 1)) {
        assay_own_tensor *t = assay_lua_tensor_at(L, -1);
        if (!t) luaL_error(L, "t.run: inputs are tensors by name");
        in[n].name = lua_tostring(L, -2);
        in[n++].t = t->t;
    }
    return n;
}

static int32_t precision_of(const char *word) {
    static const char *const words[] = { "declared", "fp16", "fp32", "fp64" };
    for (int32_t i = 0; i < 4; i++)
        if (strcmp(word, words[i]) == 0) return i;
    return ASSAY_PREC_DECLARED;
}

static assay_status push_outputs(lua_State *L, const assay_exec *e, assay_error *err) {
    lua_newtable(L);
    for (uint32_t i = 0; i < assay_exec_output_count(e); i++) {
        assay_named_tensor out;
        assay_status st = assay_exec_output(e, i, &out, err);
        if (!st) st = assay_tensor_copy(&out.t, 0, assay_lua_push_tensor(L), err);
        if (st) return st;
        assay_lua_charge_tensor(L);
        lua_setfield(L, -2, out.name);
    }
    return ASSAY_OK;
}

int t_run(lua_State *L) {
    assay_mil *m = assay_lua_check_mil(L, 1);
    assay_named_tensor in[NAMES];
    uint32_t n = read_inputs(L, in);
    assay_exec_options o = { .precision = precision_of(luaL_optstring(L, 3, "declared")), .threads = 1 };
    assay_exec *e = NULL;
    assay_error err = { 0, "" };
    assay_status st = assay_exec_open(m->program, &o, &e, &err);
    if (!st) st = assay_exec_run(e, in, n, &err);
    if (!st) st = push_outputs(L, e, &err);
    assay_exec_close(e);
    return st ? luaL_error(L, "%s", err.message) : 1;
}

/* ---- judging */
static assay_status load(assay_registry *r, const char *gate, assay_error *err) {
    char *path = assay_xprintf("%s/bin/gates/%s.so", ASSAY_BUILD_DIR, gate);
    assay_status st = assay_is_file(path) ? assay_registry_load_file(r, path, err) : assay_script_load_gate(r, gate, ASSAY_SOURCE_DIR "/scripts", err);
    free(path);
    return st;
}

static void add_evidence(lua_State *L, assay_evidence_set *ev) {         /* key at -2, value at -1 */
    const char *key = lua_tostring(L, -2), *colon = strchr(key, ':');
    char *role = colon ? assay_xstrndup(key, (size_t)(colon - key)) : assay_xstrdup(key), why[160];
    assay_own_tensor *t = assay_lua_tensor_at(L, -1), copy;
    assay_error err;
    if (t && assay_tensor_copy(&t->t, 0, &copy, &err) == ASSAY_OK)
        assay_evidence_add_tensor(ev, role, colon ? colon + 1 : "", role, ASSAY_ORIGIN_IMPORTED, "", &copy);
    assay_json *doc = t ? NULL : assay_lua_to_json(L, lua_gettop(L), why, sizeof why);
    if (doc) assay_evidence_add_json(ev, role, colon ? colon + 1 : "", role, ASSAY_ORIGIN_IMPORTED, "", doc);
    assay_json_free(doc);
    free(role);
}

static void push_result(lua_State *L, const assay_json *v) {
    luaL_Buffer codes;
    lua_newtable(L);
    lua_pushstring(L, assay_printed_verdict(v));
    lua_setfield(L, -2, "verdict");
    assay_lua_push_json(L, assay_json_get(v, "metrics"));
    lua_setfield(L, -2, "metrics");
    luaL_buffinit(L, &codes);
    const assay_json *lists[] = { assay_json_path(v, "validity.reasons"), assay_json_get(v, "reasons") };
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < assay_json_len(lists[k]); i++) {
            luaL_addstring(&codes, assay_json_string(assay_json_at(lists[k], i), "code", "?"));
            luaL_addchar(&codes, ' ');
        }
    luaL_pushresult(&codes);
    lua_setfield(L, -2, "codes");
}

int t_judge(lua_State *L) {
    const char *gate = luaL_checkstring(L, 1);
    char why[160];
    lua_settop(L, 3);
    assay_error err = { 0, "" };
    assay_registry *r = assay_registry_new();
    assay_evidence_set *ev = assay_evidence_new();
    assay_json *params = assay_lua_to_json(L, 2, why, sizeof why), *verdict = NULL;
    for (lua_pushnil(L); lua_istable(L, 3) && lua_next(L, 3); lua_pop(L, 1)) add_evidence(L, ev);
    assay_status st = params ? load(r, gate, &err) : ASSAY_E_INPUT;
    if (!st) st = assay_judge(r, gate, params, ev, &verdict, &err);
    if (!st) push_result(L, verdict);
    assay_json_free(verdict);
    assay_json_free(params);
    assay_evidence_free(ev);
    assay_registry_free(r);
    return st ? luaL_error(L, "%s", params ? err.message : why) : 1;
}
