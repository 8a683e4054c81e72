/* Lua values as JSON and back. */
#include "script/lua_values.h"
#include "script/lua_recipe.h"
#include "script/lua_tensor.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { DEPTH_MAX = 32 };

static assay_json *convert(lua_State *L, int idx, int depth, char *why, size_t size);

static assay_json *single(const char *key, const char *text) {
    assay_json *j = assay_json_object();
    if (text) assay_json_set_string(j, key, text);
    else assay_json_set_bool(j, key, true);
    return j;
}

static assay_json *fail(char *why, size_t size, const char *text) {
    snprintf(why, size, "%s", text);
    return NULL;
}

static assay_json *convert_array(lua_State *L, int t, lua_Integer n, int depth, char *why, size_t size) {
    assay_json *a = assay_json_array();
    for (lua_Integer i = 1; i <= n; i++) {
        lua_rawgeti(L, t, i);
        assay_json *v = convert(L, lua_gettop(L), depth + 1, why, size);
        lua_pop(L, 1);
        if (!v) {
            assay_json_free(a);
            return NULL;
        }
        assay_json_append(a, v);
    }
    return a;
}

static assay_json *convert_table(lua_State *L, int t, int depth, char *why, size_t size) {
    if (depth > DEPTH_MAX || !lua_checkstack(L, 8)) return fail(why, size, "a table that is nested too deeply (or in a circle)");
    lua_Integer n = (lua_Integer)lua_rawlen(L, t), keys = 0;
    bool strings = false, others = false;
    for (lua_pushnil(L); lua_next(L, t); lua_pop(L, 1)) {
        int kt = lua_type(L, -2);
        if (kt == LUA_TLIGHTUSERDATA) continue;  /* the stamp of a word */
        if (kt == LUA_TSTRING) strings = true;
        else if (kt == LUA_TNUMBER) keys++;
        else others = true;
    }
    if (others || (strings && keys) || keys != n) return fail(why, size, "a table with mixed keys; use a list or named fields, not both");
    if (!strings) return convert_array(L, t, n, depth, why, size);
    assay_json *o = assay_json_object();
    for (lua_pushnil(L); lua_next(L, t); lua_pop(L, 1)) {
        if (lua_type(L, -2) != LUA_TSTRING) continue;
        assay_json *v = convert(L, lua_gettop(L), depth + 1, why, size);
        if (!v) {
            lua_pop(L, 2);
            assay_json_free(o);
            return NULL;
        }
        assay_json_set(o, lua_tostring(L, -2), v);
    }
    return o;
}

static assay_json *convert(lua_State *L, int idx, int depth, char *why, size_t size) {
    char text[256];
    switch (lua_type(L, idx)) {
    case LUA_TNIL: return assay_json_new_null();
    case LUA_TBOOLEAN: return assay_json_new_bool(lua_toboolean(L, idx));
    case LUA_TNUMBER: return assay_json_new_number(lua_tonumber(L, idx));
    case LUA_TSTRING:
        if (strlen(lua_tostring(L, idx)) != lua_rawlen(L, idx)) return fail(why, size, "a string with a zero byte");
        return assay_json_new_string(lua_tostring(L, idx));
    case LUA_TTABLE: return convert_table(L, idx, depth, why, size);
    case LUA_TFUNCTION: return single("function", NULL);
    default: break;
    }
    if (assay_recipe_text(L, idx, text, sizeof text)) return single("recipe", text);
    if (assay_lua_tensor_text(L, idx, text, sizeof text)) return single("tensor", text);
    snprintf(why, size, "a %s", luaL_typename(L, idx));
    return NULL;
}

assay_json *assay_lua_to_json(lua_State *L, int idx, char *why, size_t size) { return convert(L, lua_absindex(L, idx), 0, why, size); }

void assay_lua_push_json(lua_State *L, const assay_json *j) {
    luaL_checkstack(L, 4, "JSON too deep");
    switch (assay_json_kind(j)) {
    case ASSAY_J_BOOL: lua_pushboolean(L, assay_json_truth(j)); break;
    case ASSAY_J_NUMBER: {
        double v = assay_json_value(j);
        if (fabs(v) <= 9007199254740992.0 && floor(v) == v) lua_pushinteger(L, (lua_Integer)v);
        else lua_pushnumber(L, v);
        break;
    }
    case ASSAY_J_STRING: lua_pushstring(L, assay_json_text(j)); break;
    case ASSAY_J_ARRAY:
        lua_newtable(L);
        for (size_t i = 0; i < assay_json_len(j); i++) {
            assay_lua_push_json(L, assay_json_at(j, i));
            lua_rawseti(L, -2, (lua_Integer)i + 1);
        }
        break;
    case ASSAY_J_OBJECT:
        lua_newtable(L);
        for (size_t i = 0; i < assay_json_len(j); i++) {
            lua_pushstring(L, assay_json_key_at(j, i));
            assay_lua_push_json(L, assay_json_at(j, i));
            lua_rawset(L, -3);
        }
        break;
    default: lua_pushnil(L);
    }
}

const char *assay_lua_describe(lua_State *L, int idx, char *out, size_t size) {
    char num[64];
    switch (lua_type(L, idx)) {
    case LUA_TNIL: snprintf(out, size, "nothing"); break;
    case LUA_TBOOLEAN: snprintf(out, size, "boolean %s", lua_toboolean(L, idx) ? "true" : "false"); break;
    case LUA_TNUMBER:
        assay_json_format_number(lua_tonumber(L, idx), num);
        if (isnan(lua_tonumber(L, idx))) snprintf(out, size, "NaN");
        else snprintf(out, size, "number %s", num);
        break;
    case LUA_TSTRING: snprintf(out, size, "string \"%.60s\"", lua_tostring(L, idx)); break;
    default:
        if (!assay_recipe_text(L, idx, out, size) && !assay_lua_tensor_text(L, idx, out, size)) snprintf(out, size, "%s", luaL_typename(L, idx));
    }
    return out;
}

const char *assay_json_describe(const assay_json *j, char *out, size_t size) {
    char num[64];
    switch (assay_json_kind(j)) {
    case ASSAY_J_BOOL: snprintf(out, size, "boolean %s", assay_json_truth(j) ? "true" : "false"); break;
    case ASSAY_J_NUMBER:
        assay_json_format_number(assay_json_value(j), num);
        snprintf(out, size, "number %s", num);
        break;
    case ASSAY_J_STRING: snprintf(out, size, "string \"%.60s\"", assay_json_text(j)); break;
    case ASSAY_J_ARRAY: snprintf(out, size, "a list"); break;
    case ASSAY_J_OBJECT: snprintf(out, size, "a table"); break;
    default: snprintf(out, size, "nothing (or NaN)");          /* JSON has one null for both */
    }
    return out;
}
