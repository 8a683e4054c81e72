/* Constants of a program as seen from Lua: small ones as numbers, large ones behind a handle whose methods stay in C. */
#include "script/lua_constant.h"
#include "base/digest.h"
#include "tensor/dtype.h"
#include <math.h>
#include <string.h>

#define META "assay.constant"
enum { FEW = 16 };                               /* up to so many elements are copied into Lua */

static void push_number(lua_State *L, const assay_mil_const *c, uint64_t i) {
    double v = assay_const_at(c, i);
    lua_Integer whole;
    if (lua_numbertointeger(v, &whole) && (double)whole == v && assay_mil_to_dtype(c->type->dtype) != ASSAY_F16) lua_pushinteger(L, whole);
    else lua_pushnumber(L, v);
}

static void set_numbers(lua_State *L, const assay_mil_const *c, uint64_t n) {
    lua_createtable(L, (int)n, 0);
    for (uint64_t i = 0; i < n; i++) {
        push_number(L, c, i);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    lua_setfield(L, -2, "numbers");
}

void assay_lua_set_constant(lua_State *L, const assay_mil_const *c) {
    lua_pushboolean(L, 1);
    lua_setfield(L, -2, "static");
    if (c->kind == ASSAY_CONST_STRINGS && c->n_strings == 1) {
        lua_pushstring(L, c->strings[0]);
        lua_setfield(L, -2, "text");
    }
    if (c->kind != ASSAY_CONST_DATA) return;
    int64_t n = assay_type_count(c->type);
    lua_pushinteger(L, n < 0 ? 0 : n * (int64_t)assay_mil_dtype_bits(c->type->dtype));
    lua_setfield(L, -2, "bits");
    if (c->absent) {
        lua_pushstring(L, c->why_absent ? c->why_absent : "its weight file is absent");
        lua_setfield(L, -2, "absent");
        return;
    }
    if (n == 1) {
        push_number(L, c, 0);
        lua_setfield(L, -2, "number");
    }
    if (n > 0 && n <= FEW) set_numbers(L, c, (uint64_t)n);
    if (n <= 1) return;
    *(const assay_mil_const **)lua_newuserdatauv(L, sizeof c, 0) = c;
    luaL_setmetatable(L, META);
    lua_setfield(L, -2, "data");
}

static const assay_mil_const *check(lua_State *L) { return *(const assay_mil_const **)luaL_checkudata(L, 1, META); }

static int c_at(lua_State *L) {                  /* data:at(i), i from 0; nil past the end */
    const assay_mil_const *c = check(L);
    lua_Integer i = luaL_checkinteger(L, 2);
    if (i < 0 || i >= assay_type_count(c->type)) return 0;
    lua_pushnumber(L, assay_const_at(c, (uint64_t)i));
    return 1;
}

static void set_field(lua_State *L, const char *key, double v) {
    lua_pushnumber(L, v);
    lua_setfield(L, -2, key);
}

static int c_stats(lua_State *L) {               /* data:stats() */
    const assay_mil_const *c = check(L);
    double min = INFINITY, max = -INFINITY, nan = 0, neg = 0, pos = 0;
    for (int64_t i = 0, n = assay_type_count(c->type); i < n; i++) {
        double v = assay_const_at(c, (uint64_t)i);
        if (isnan(v)) nan++;
        else if (isinf(v)) *(v < 0 ? &neg : &pos) += 1;
        else {
            if (v < min) min = v;
            if (v > max) max = v;
        }
    }
    lua_createtable(L, 0, 5);
    set_field(L, "min", min);
    set_field(L, "max", max);
    set_field(L, "nan", nan);
    set_field(L, "neg_inf", neg);
    set_field(L, "pos_inf", pos);
    return 1;
}

/* data:digest([first, n]): SHA-256 of the unpacked bytes of n elements; nil past the end or when a part is asked of packed ones. */
static int c_digest(lua_State *L) {
    const assay_mil_const *c = check(L);
    char hex[ASSAY_HEX];
    if (lua_isnoneornil(L, 2)) {
        assay_const_digest(c, hex);
        lua_pushstring(L, hex);
        return 1;
    }
    lua_Integer first = luaL_checkinteger(L, 2), n = luaL_checkinteger(L, 3), all = assay_type_count(c->type);
    uint32_t bytes = assay_mil_dtype_bits(c->type->dtype) / 8;
    if (bytes == 0 || first < 0 || n < 0 || first > all || n > all - first) return 0;
    assay_sha256_of((const char *)c->data + (size_t)first * bytes, (size_t)n * bytes, hex);
    lua_pushstring(L, hex);
    return 1;
}

static const luaL_Reg methods[] = { { "at", c_at }, { "stats", c_stats }, { "digest", c_digest }, { NULL, NULL } };

void assay_lua_open_constant(lua_State *L) {
    luaL_newmetatable(L, META);
    lua_newtable(L);
    luaL_setfuncs(L, methods, 0);
    assay_lua_protect(L, "data");
    lua_setfield(L, -2, "__index");
    lua_pushliteral(L, "read-only");
    lua_setfield(L, -2, "__metatable");
    lua_pop(L, 1);
}
