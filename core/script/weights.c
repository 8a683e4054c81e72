/* `weights`: recipes or files as tensors of the type that an arm is built with. */
#include "script/lua_script.h"
#include "script/lua_builder.h"
#include "script/lua_recipe.h"
#include "script/lua_tensor.h"
#include "script/weight_files.h"
#include "base/names.h"
#include <stdlib.h>
#include <string.h>

/* The tensor on top of the stack in `dtype`, if it is a float. */
static void convert_top(lua_State *L, int32_t dtype) {
    const assay_tensor *t = &assay_lua_tensor_at(L, -1)->t;
    if (!assay_dtype_is_float(t->dtype) || t->dtype == dtype) return;
    lua_getfield(L, -1, "to");
    lua_insert(L, -2);
    lua_pushstring(L, assay_dtype_name(dtype));
    lua_call(L, 2, 1);
}

/* Third `i` of the tensor `from` (rows q, k, v) of table `t` becomes field `to`. */
static void split_third(lua_State *L, int t, const char *from, const char *to, int64_t i) {
    if (lua_getfield(L, t, from) == LUA_TNIL) {
        lua_pop(L, 1);
        return;
    }
    const assay_tensor *whole = &assay_lua_tensor_at(L, -1)->t;
    if (whole->rank < 1 || whole->shape[0] % 3)
        assay_lua_fail(L, ASSAY_E_INPUT, "weights", "split = \"qkv\" needs three equal parts along the first axis of '%s'", from);
    int64_t n = whole->shape[0] / 3;
    lua_getfield(L, -1, "slice");
    lua_insert(L, -2);
    lua_pushinteger(L, 0);
    lua_pushinteger(L, i * n);
    lua_pushinteger(L, n);
    lua_call(L, 4, 1);
    lua_getfield(L, -1, "copy");                 /* contiguous, as constants are */
    lua_insert(L, -2);
    lua_call(L, 1, 1);
    lua_setfield(L, t, to);
}

static void split_all(lua_State *L, int t) {
    static const char *const names[][2] = { { "q", "bq" }, { "k", "bk" }, { "v", "bv" } };
    if (lua_getfield(L, t, "qkv") == LUA_TNIL) assay_lua_fail(L, ASSAY_E_INPUT, "weights", "split = \"qkv\" needs a tensor named qkv (and bqkv for the biases)");
    lua_pop(L, 1);
    for (int i = 0; i < 3; i++) {
        split_third(L, t, "qkv", names[i][0], i);
        split_third(L, t, "bqkv", names[i][1], i);
    }
}

static void from_recipe(lua_State *L, int word, int out, int32_t dtype) {
    lua_getfield(L, word, "recipe");
    int recipes = lua_gettop(L);
    for (lua_pushnil(L); lua_next(L, recipes);) {
        lua_pushfstring(L, "weights.%s", lua_tostring(L, -2));
        assay_lua_materialise(L, -2, lua_tostring(L, -1));
        convert_top(L, dtype);
        lua_pushvalue(L, -4);
        lua_insert(L, -2);
        lua_rawset(L, out);
        lua_pop(L, 2);
    }
    lua_pop(L, 1);
}

static void from_file(lua_State *L, assay_script *s, int out, int32_t dtype) {
    const char *path = assay_json_string(assay_json_get(s->description, "weights"), "file", "");
    const assay_json *names = assay_json_path(s->description, "weights.names");
    static const char *const known[] = { "q", "k", "v", "bq", "bk", "bv", "qkv", "bqkv" };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        assay_error err;
        assay_own_tensor *t = assay_lua_push_tensor(L);
        assay_status st = assay_weight_file_read(path, known[i], names, t, &err);
        if (st == ASSAY_E_MISSING) {
            lua_pop(L, 1);
            continue;
        }
        if (st) assay_lua_fail(L, st, "weights", "%s", err.message);
        assay_lua_charge_tensor(L);
        convert_top(L, dtype);
        lua_setfield(L, out, known[i]);
    }
}

void assay_script_push_weights(lua_State *L, int32_t dtype) {
    assay_script *s = assay_script_of(L);
    lua_pushfstring(L, "assay.weights.%s", assay_dtype_name(dtype));
    const char *key = lua_tostring(L, -1);
    int key_idx = lua_gettop(L);
    if (lua_getfield(L, LUA_REGISTRYINDEX, key) == LUA_TTABLE) {
        lua_remove(L, key_idx);
        return;
    }
    lua_pop(L, 1);
    lua_rawgeti(L, LUA_REGISTRYINDEX, s->weights);
    int word = lua_gettop(L);
    lua_newtable(L);
    int out = lua_gettop(L);
    if (lua_getfield(L, word, "recipe") != LUA_TNIL) from_recipe(L, word, out, dtype);
    else from_file(L, s, out, dtype);
    lua_settop(L, out);
    if (lua_getfield(L, word, "split") == LUA_TSTRING) split_all(L, out);
    lua_settop(L, out);
    lua_pushvalue(L, out);
    lua_setfield(L, LUA_REGISTRYINDEX, key);
    lua_replace(L, key_idx);
    lua_settop(L, key_idx);
}
