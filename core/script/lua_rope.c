/* The tensor method that makes the table a rotary embedding should have. */
#include "script/lua_tensor.h"
#include "base/names.h"
#include "tensor/rope.h"

static const assay_tensor *check(lua_State *L, int idx) {
    assay_own_tensor *t = assay_lua_tensor_at(L, idx);
    if (!t) luaL_argerror(L, idx, "expected a tensor");
    return &t->t;
}

static const char *word(lua_State *L, const char *key, const char *const *known, const char *def) {
    lua_getfield(L, 2, key);
    const char *s = luaL_optstring(L, -1, def);
    for (size_t i = 0; known[i]; i++)
        if (assay_streq(s, known[i])) return known[i];
    assay_lua_fail(L, ASSAY_E_INPUT, NULL, "rope: %s = '%s'; known are '%s', '%s'%s%s%s", key, s, known[0], known[1], known[2] ? ", '" : "",
                   known[2] ? known[2] : "", known[2] ? "'" : "");
    return NULL;
}

int assay_lua_tensor_rope(lua_State *L) {
    static const char *const parts[] = {"cos", "sin", NULL}, *const pairs[] = {"half", "interleaved", NULL}, *const angles[] = {"fp64", "fp32", "fp16", NULL};
    const assay_tensor *like = check(L, 1);
    luaL_checktype(L, 2, LUA_TTABLE);
    lua_settop(L, 2);
    assay_rope_spec spec = {.sine = word(L, "part", parts, "cos") == parts[1],
                            .interleaved = word(L, "pairing", pairs, "half") == pairs[1],
                            .angles = assay_dtype_parse(word(L, "angles", angles, "fp64"))};
    lua_getfield(L, 2, "theta");
    spec.theta = luaL_checknumber(L, -1);
    lua_getfield(L, 2, "first");
    spec.first = (int64_t)luaL_optinteger(L, -1, 0);
    assay_error err;
    assay_lua_reserve_tensor(L, (uint64_t)assay_tensor_count(like) * assay_dtype_size(like->dtype));
    assay_own_tensor *out = assay_lua_push_tensor(L);
    assay_status st = assay_tensor_new(like->dtype, like->rank, like->shape, out, &err);
    if (!st) st = assay_rope_fill(&out->t, &spec, &err);
    if (st) return assay_lua_fail(L, st, NULL, "%s", err.message);
    assay_lua_charge_tensor(L);
    return 1;
}
