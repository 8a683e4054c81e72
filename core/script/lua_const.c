/* Lua values as constants of a program: the parameter says which types it takes, the other operands which one is meant. */
#include "script/lua_builder.h"
#include "script/lua_recipe.h"
#include "script/lua_tensor.h"
#include "script/lua_values.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static bool in_family(const char *family, size_t len, int32_t mil) {
    bool fp = mil == ASSAY_MIL_FP16 || mil == ASSAY_MIL_FP32;
    bool integer = mil >= ASSAY_MIL_INT8 && mil <= ASSAY_MIL_UINT64;
#define IS(s) (len == sizeof s - 1 && strncmp(family, s, len) == 0)
    if (IS("any")) return true;
    if (IS("num")) return fp || integer;
    if (IS("fp")) return fp;
    if (IS("int")) return integer;
    if (IS("str")) return mil == ASSAY_MIL_STRING;
#undef IS
    const char *name = assay_mil_dtype_name(mil);
    return name && strlen(name) == len && strncmp(name, family, len) == 0;
}

/* Is `mil` among "fp16|int32|bool"? */
static bool takes(const char *dtypes, int32_t mil) {
    for (const char *p = dtypes;;) {
        size_t n = strcspn(p, "|");
        if (in_family(p, n, mil)) return true;
        if (!p[n]) return false;
        p += n + 1;
    }
}

enum { NOTHING, BOOLS, INTEGERS, FLOATS };

/* What kind of numbers stand at `idx`: one, or a list of them. */
static int number_kind(lua_State *L, int idx) {
    if (lua_isboolean(L, idx)) return BOOLS;
    if (lua_isinteger(L, idx)) return INTEGERS;
    if (lua_type(L, idx) == LUA_TNUMBER) return FLOATS;
    if (!lua_istable(L, idx)) return NOTHING;
    int kind = INTEGERS;
    for (lua_Integer i = 1, n = (lua_Integer)lua_rawlen(L, idx); i <= n; i++) {
        lua_rawgeti(L, idx, i);
        int k = lua_istable(L, -1) ? NOTHING : number_kind(L, lua_gettop(L));
        lua_pop(L, 1);
        if (k == NOTHING || (i > 1 && (k == BOOLS) != (kind == BOOLS))) return NOTHING;
        kind = i == 1 || k == FLOATS ? k : kind;
    }
    return kind;
}

static int32_t pick_type(const assay_mil *m, int kind, const char *dtypes, int32_t like) {
    static const int32_t integers[] = { ASSAY_MIL_INT32, ASSAY_MIL_INT64, ASSAY_MIL_UINT32, ASSAY_MIL_INT16, ASSAY_MIL_UINT16, ASSAY_MIL_INT8, ASSAY_MIL_UINT8 };
    if (kind == BOOLS) return takes(dtypes, ASSAY_MIL_BOOL) ? ASSAY_MIL_BOOL : 0;
    bool like_fp = like == ASSAY_MIL_FP16 || like == ASSAY_MIL_FP32;
    if (like && like != ASSAY_MIL_BOOL && takes(dtypes, like) && (kind == INTEGERS || like_fp)) return like;
    for (size_t i = 0; kind == INTEGERS && i < sizeof integers / sizeof *integers; i++)
        if (takes(dtypes, integers[i])) return integers[i];
    if (takes(dtypes, m->precision)) return m->precision;
    return takes(dtypes, ASSAY_MIL_FP32) ? ASSAY_MIL_FP32 : 0;
}

static void store(lua_State *L, int idx, int32_t dtype, void *at) {
    assay_store_f64(dtype, at, lua_isboolean(L, idx) ? lua_toboolean(L, idx) : lua_tonumber(L, idx));
}

static const assay_mil_const *number_const(lua_State *L, assay_mil *m, int idx, int32_t mil, const char *who) {
    int64_t n = lua_istable(L, idx) ? (int64_t)lua_rawlen(L, idx) : 1;
    int32_t dtype = assay_mil_to_dtype(mil);
    size_t size = assay_dtype_size(dtype);
    if (!size) assay_lua_fail(L, ASSAY_E_INPUT, NULL, "%s: constants of type %s are not written from Lua", who, assay_mil_dtype_name(mil));
    char *data = lua_newuserdatauv(L, (size_t)n * size + 1, 0);
    if (!lua_istable(L, idx)) store(L, idx, dtype, data);
    else
        for (int64_t i = 0; i < n; i++) {
            lua_rawgeti(L, idx, i + 1);
            store(L, -1, dtype, data + (size_t)i * size);
            lua_pop(L, 1);
        }
    assay_tensor t = assay_tensor_view(dtype, lua_istable(L, idx) ? 1 : 0, &n, data);
    const assay_mil_const *c = assay_const_tensor(m->program, &t);
    lua_pop(L, 1);
    return c;
}

const assay_mil_const *assay_lua_make_const(lua_State *L, assay_mil *m, int idx, const char *dtypes, int32_t like, const char *who) {
    idx = lua_absindex(L, idx);
    char got[160];
    if (lua_type(L, idx) == LUA_TSTRING && takes(dtypes, ASSAY_MIL_STRING)) return assay_const_string(m->program, lua_tostring(L, idx));
    if (assay_lua_tensor_at(L, idx) || assay_recipe_at(L, idx)) {
        assay_lua_materialise(L, idx, who);
        const assay_mil_const *c = assay_const_tensor(m->program, &assay_lua_tensor_at(L, -1)->t);
        lua_pop(L, 1);
        if (!c) assay_lua_fail(L, ASSAY_E_INPUT, NULL, "%s: %s cannot be a constant of a program; convert it with t:to(\"fp16\")", who,
                               assay_lua_describe(L, idx, got, sizeof got));
        return c;
    }
    int kind = number_kind(L, idx);
    int32_t mil = kind == NOTHING ? 0 : pick_type(m, kind, dtypes, like);
    if (!mil) assay_lua_fail(L, ASSAY_E_INPUT, NULL, "%s: expected a value or constant of type %s, got %s", who, dtypes, assay_lua_describe(L, idx, got, sizeof got));
    return number_const(L, m, idx, mil, who);
}
