/* Lua's math table with the same bits on every machine: elementary functions of base/fmath.h, and a seeded generator.
 * (The operator `^` is compiled into Lua and uses the platform's pow; scripts that need exact bits write math.pow.) */
#include "script/lua_sandbox.h"
#include "base/fmath.h"
#include "tensor/generate.h"
#include <lualib.h>

#define UNARY(name)                                                        \
    static int math_##name(lua_State *L) {                                 \
        lua_pushnumber(L, assay_##name(luaL_checknumber(L, 1)));           \
        return 1;                                                          \
    }
UNARY(exp) UNARY(expm1) UNARY(log1p) UNARY(log2) UNARY(log10) UNARY(sin) UNARY(cos) UNARY(tan) UNARY(asin) UNARY(acos)
UNARY(sinh) UNARY(cosh) UNARY(tanh) UNARY(erf) UNARY(erfc)

static int math_log(lua_State *L) {
    double x = luaL_checknumber(L, 1);
    if (lua_isnoneornil(L, 2)) lua_pushnumber(L, assay_log(x));
    else if (luaL_checknumber(L, 2) == 2.0) lua_pushnumber(L, assay_log2(x));
    else if (luaL_checknumber(L, 2) == 10.0) lua_pushnumber(L, assay_log10(x));
    else lua_pushnumber(L, assay_log(x) / assay_log(luaL_checknumber(L, 2)));
    return 1;
}

static int math_pow(lua_State *L) {
    lua_pushnumber(L, assay_pow(luaL_checknumber(L, 1), luaL_checknumber(L, 2)));
    return 1;
}

static int math_atan(lua_State *L) {
    double y = luaL_checknumber(L, 1);
    lua_pushnumber(L, lua_isnoneornil(L, 2) ? assay_atan(y) : assay_atan2(y, luaL_checknumber(L, 2)));
    return 1;
}

void assay_lua_seed(assay_sandbox *s, const char *label, uint64_t seed) {
    s->seed = assay_stream(label) + seed;
    s->draws = 0;
}

/* The three forms of math.random: () in [0,1), (n) in 1..n, (a, b) in a..b. */
static int math_random(lua_State *L) {
    assay_sandbox *s = assay_sandbox_of(L);
    uint64_t r = assay_u64(s->seed, s->draws++);
    if (lua_gettop(L) == 0) {
        lua_pushnumber(L, (double)(r >> 11) * 0x1p-53);
        return 1;
    }
    lua_Integer lo = lua_gettop(L) > 1 ? luaL_checkinteger(L, 1) : 1, hi = luaL_checkinteger(L, lua_gettop(L) > 1 ? 2 : 1);
    luaL_argcheck(L, lo <= hi, lua_gettop(L) > 1 ? 2 : 1, "interval is empty");
    uint64_t span = (uint64_t)hi - (uint64_t)lo + 1;
    lua_pushinteger(L, (lua_Integer)((uint64_t)lo + (span ? r % span : r)));     /* bias below 2^-40 for any honest use */
    return 1;
}

static const luaL_Reg ours[] = { { "exp", math_exp }, { "expm1", math_expm1 }, { "log", math_log }, { "log1p", math_log1p }, { "log2", math_log2 },
    { "log10", math_log10 }, { "sin", math_sin }, { "cos", math_cos }, { "tan", math_tan }, { "asin", math_asin }, { "acos", math_acos },
    { "atan", math_atan }, { "sinh", math_sinh }, { "cosh", math_cosh }, { "tanh", math_tanh }, { "erf", math_erf }, { "erfc", math_erfc },
    { "pow", math_pow }, { "random", math_random }, { NULL, NULL } };
static const char *const kept[] = { "abs", "ceil", "floor", "fmod", "huge", "max", "maxinteger", "min", "mininteger", "modf", "pi", "sqrt", "tointeger",
    "type", "ult", NULL };

void assay_lua_open_math(lua_State *L) {
    luaL_requiref(L, LUA_MATHLIBNAME, luaopen_math, 0);
    lua_newtable(L);
    for (const char *const *k = kept; *k; k++) {
        lua_getfield(L, -2, *k);
        lua_setfield(L, -2, *k);
    }
    luaL_setfuncs(L, ours, 0);
    lua_remove(L, -2);
    assay_lua_seed(assay_sandbox_of(L), "lua", 0);
}
