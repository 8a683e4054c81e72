/* Installed Lua modules that are tables of plain data to their readers: the rule pack, for listings. */
#include "script/lua_sandbox.h"
#include "script/lua_values.h"
#include "script/script.h"
#include <stdlib.h>

static int load(lua_State *L) {                  /* 1: name, 2: where the JSON goes */
    char why[160];
    assay_json **out = lua_touserdata(L, 2);
    assay_lua_push_env(L);
    lua_getfield(L, -1, "require");
    lua_pushvalue(L, 1);
    lua_call(L, 1, 1);
    *out = assay_lua_to_json(L, lua_gettop(L), why, sizeof why);
    if (!*out) return assay_lua_fail(L, ASSAY_E_INPUT, NULL, "module %s: expected plain data, got %s", lua_tostring(L, 1), why);
    return 0;
}

assay_status assay_script_read_module(const char *name, const char *scripts_dir, assay_json **out, assay_error *err) {
    *out = NULL;
    char *dir = assay_scripts_dir(scripts_dir);
    if (!dir) return assay_fail(err, ASSAY_E_MISSING, "%s: no installed scripts were found", name);
    assay_sandbox *s = assay_sandbox_open(name, dir, NULL, NULL);
    free(dir);
    if (!s) return assay_fail(err, ASSAY_E_NOMEM, "%s: no memory for a Lua state", name);
    lua_pushcfunction(s->L, load);
    lua_pushstring(s->L, name);
    lua_pushlightuserdata(s->L, out);
    assay_status st = assay_lua_call(s, 2, 0, err);
    assay_sandbox_close(s);
    return st;
}
