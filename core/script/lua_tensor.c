/* Tensor userdata: properties, views and comparisons; memory counted against a ceiling of its own. */
#include "script/lua_tensor.h"
#include "script/lua_values.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define META "assay.tensor"
typedef struct lua_tensor { assay_own_tensor own; uint64_t charged; } lua_tensor;

static lua_tensor *object_at(lua_State *L, int idx) { return luaL_testudata(L, idx, META); }

assay_own_tensor *assay_lua_tensor_at(lua_State *L, int idx) {
    lua_tensor *t = object_at(L, idx);
    return t ? &t->own : NULL;
}

static assay_tensor *check(lua_State *L, int idx) { return &((lua_tensor *)luaL_checkudata(L, idx, META))->own.t; }

const char *assay_lua_tensor_text(lua_State *L, int idx, char *out, size_t size) {
    lua_tensor *t = object_at(L, idx);
    if (!t) return NULL;
    char shape[160];
    snprintf(out, size, "tensor %s%s", assay_dtype_name(t->own.t.dtype), assay_shape_text(t->own.t.rank, t->own.t.shape, shape));
    return out;
}

/* ---- memory */
assay_own_tensor *assay_lua_push_tensor(lua_State *L) {
    lua_tensor *t = lua_newuserdatauv(L, sizeof *t, 1);
    memset(t, 0, sizeof *t);
    luaL_setmetatable(L, META);
    return &t->own;
}

void assay_lua_reserve_tensor(lua_State *L, uint64_t bytes) {
    assay_sandbox *s = assay_sandbox_of(L);
    if (bytes <= s->max_tensor_bytes && s->tensor_bytes <= s->max_tensor_bytes - bytes) return;
    lua_gc(L, LUA_GCCOLLECT);
    if (bytes <= s->max_tensor_bytes && s->tensor_bytes <= s->max_tensor_bytes - bytes) return;
    assay_lua_fail(L, ASSAY_E_LIMIT, NULL, "tensors of the script would take more than %llu MiB", (unsigned long long)(s->max_tensor_bytes >> 20));
}

void assay_lua_charge_tensor(lua_State *L) {
    lua_tensor *t = object_at(L, -1);
    uint64_t bytes = t->own.t.nbytes;
    assay_lua_reserve_tensor(L, bytes);
    t->charged = bytes;
    assay_sandbox_of(L)->tensor_bytes += bytes;
    if (bytes >= 1024) lua_gc(L, LUA_GCSTEP, (int)(bytes >> 10 > 1 << 20 ? 1 << 20 : bytes >> 10));
}

void assay_lua_push_borrowed(lua_State *L, const assay_tensor *t) { assay_lua_push_tensor(L)->t = *t; }

static int collect(lua_State *L) {
    lua_tensor *t = luaL_checkudata(L, 1, META);
    assay_sandbox_of(L)->tensor_bytes -= t->charged;
    t->charged = 0;
    assay_tensor_free(&t->own);
    memset(&t->own, 0, sizeof t->own);
    return 0;
}

/* A view keeps its parent alive through its user value. */
static int push_view(lua_State *L, int parent, const assay_tensor *view) {
    assay_lua_push_borrowed(L, view);
    lua_pushvalue(L, parent);
    lua_setiuservalue(L, -2, 1);
    return 1;
}

/* ---- arguments */
uint32_t assay_lua_check_shape(lua_State *L, int idx, const char *who, int64_t shape[ASSAY_RANK_MAX]) {
    idx = lua_absindex(L, idx);
    if (!lua_istable(L, idx)) assay_lua_fail(L, ASSAY_E_INPUT, NULL, "%s: expected a shape such as { 2, 30, 256 }, got %s", who, luaL_typename(L, idx));
    char got[96];
    lua_Integer n = (lua_Integer)lua_rawlen(L, idx);
    if (n > ASSAY_RANK_MAX) assay_lua_fail(L, ASSAY_E_INPUT, NULL, "%s: a shape has at most %d axes", who, ASSAY_RANK_MAX);
    for (lua_Integer i = 1; i <= n; i++) {
        lua_rawgeti(L, idx, i);
        if (!lua_isinteger(L, -1) || lua_tointeger(L, -1) < 0)
            assay_lua_fail(L, ASSAY_E_INPUT, NULL, "%s: axis %d of the shape is %s; a size is an integer, 0 or more", who, (int)i - 1,
                           assay_lua_describe(L, -1, got, sizeof got));
        shape[i - 1] = lua_tointeger(L, -1);
        lua_pop(L, 1);
    }
    return (uint32_t)n;
}

int32_t assay_lua_check_dtype(lua_State *L, int idx, int32_t def) {
    if (lua_isnoneornil(L, idx)) return def;
    const char *name = lua_type(L, idx) == LUA_TSTRING ? lua_tostring(L, idx) : "";
    int32_t d = assay_dtype_parse(name);
    if (!d) assay_lua_fail(L, ASSAY_E_INPUT, NULL, "unknown dtype '%s'; use fp16, fp32, fp64, bf16, bool, int8 ... int64, uint8 ... uint64", name);
    return d;
}

static uint32_t check_axis(lua_State *L, int idx, const assay_tensor *t) {
    lua_Integer a = luaL_checkinteger(L, idx);
    if (a < 0) a += t->rank;
    luaL_argcheck(L, a >= 0 && a < (lua_Integer)t->rank, idx, "no such axis (axes count from 0)");
    return (uint32_t)a;
}

/* ---- methods */
static int m_slice(lua_State *L) {
    assay_tensor *t = check(L, 1), view;
    uint32_t axis = check_axis(L, 2, t);
    lua_Integer start = luaL_checkinteger(L, 3), count = luaL_checkinteger(L, 4);
    if (!assay_tensor_slice(t, axis, start, count, &view))
        return luaL_error(L, "slice: %d elements from %d do not fit axis %d of size %d", (int)count, (int)start, (int)axis, (int)t->shape[axis]);
    return push_view(L, 1, &view);
}

static int m_select(lua_State *L) {
    assay_tensor *t = check(L, 1), view;
    uint32_t axis = check_axis(L, 2, t);
    if (!assay_tensor_select(t, axis, luaL_checkinteger(L, 3), &view)) return luaL_error(L, "select: no such index on axis %d", (int)axis);
    return push_view(L, 1, &view);
}

static void finish_copy(lua_State *L, assay_status st, const assay_error *err) {
    if (st) assay_lua_fail(L, st, NULL, "%s", err->message);
    assay_lua_charge_tensor(L);
}

static int copy_as(lua_State *L, const assay_tensor *t, int32_t dtype) {
    assay_error err;
    assay_lua_reserve_tensor(L, (uint64_t)assay_tensor_count(t) * assay_dtype_size(dtype ? dtype : t->dtype));
    finish_copy(L, assay_tensor_copy(t, dtype, assay_lua_push_tensor(L), &err), &err);
    return 1;
}

static int m_to(lua_State *L) { return copy_as(L, check(L, 1), assay_lua_check_dtype(L, 2, 0)); }
static int m_copy(lua_State *L) { return copy_as(L, check(L, 1), 0); }

static int m_reshape(lua_State *L) {
    assay_tensor *t = check(L, 1), view;
    int64_t shape[ASSAY_RANK_MAX];
    uint32_t rank = assay_lua_check_shape(L, 2, "reshape", shape);
    int parent = 1;
    if (!assay_tensor_is_contiguous(t)) {
        copy_as(L, t, 0);
        parent = lua_gettop(L);
        t = check(L, parent);
    }
    if (!assay_tensor_reshape(t, rank, shape, &view)) {
        char a[160], b[160];
        return luaL_error(L, "reshape: %s has another number of elements than %s", assay_shape_text(t->rank, t->shape, a), assay_shape_text(rank, shape, b));
    }
    return push_view(L, parent, &view);
}

static int m_permute(lua_State *L) {
    assay_tensor *t = check(L, 1), view;
    int64_t order[ASSAY_RANK_MAX];
    uint32_t perm[ASSAY_RANK_MAX], n = assay_lua_check_shape(L, 2, "permute", order);
    for (uint32_t i = 0; i < n; i++) perm[i] = (uint32_t)order[i];
    if (n != t->rank || !assay_tensor_permute(t, perm, &view)) return luaL_error(L, "permute: needs each of the %d axes once, such as { 0, 2, 1, 3 }", (int)t->rank);
    return push_view(L, 1, &view);
}

static const void *element(const assay_tensor *t, int64_t i) { return assay_tensor_at(t, i); }
static double value(const assay_tensor *t, int64_t i) { return assay_load_f64(t->dtype, element(t, i)); }

static int m_at(lua_State *L) {
    assay_tensor *t = check(L, 1);
    luaL_argcheck(L, lua_gettop(L) - 1 == (int)t->rank, 2, "one index per axis is needed");
    int64_t flat = 0;
    for (uint32_t k = 0; k < t->rank; k++) {
        lua_Integer i = luaL_checkinteger(L, (int)k + 2);
        luaL_argcheck(L, i >= 0 && i < t->shape[k], (int)k + 2, "index out of range (indices count from 0)");
        flat = flat * t->shape[k] + i;
    }
    lua_pushnumber(L, value(t, flat));
    return 1;
}

static void check_same_shape(lua_State *L, const assay_tensor *a, const assay_tensor *b, const char *who) {
    char sa[160], sb[160];
    if (!assay_tensor_same_shape(a, b))
        assay_lua_fail(L, ASSAY_E_INPUT, NULL, "%s: shapes differ, %s and %s", who, assay_shape_text(a->rank, a->shape, sa), assay_shape_text(b->rank, b->shape, sb));
}

/* NaN anywhere gives NaN: an undefined difference must not look small. */
static int m_max_abs_diff(lua_State *L) {
    assay_tensor *a = check(L, 1), *b = check(L, 2);
    check_same_shape(L, a, b, "max_abs_diff");
    double worst = 0;
    for (int64_t i = 0, n = assay_tensor_count(a); i < n; i++) {
        double d = fabs(value(a, i) - value(b, i));
        if (!(d <= worst)) worst = d;
        if (worst != worst) break;
    }
    lua_pushnumber(L, worst);
    return 1;
}

static int m_max_abs(lua_State *L) {
    assay_tensor *a = check(L, 1);
    double worst = 0;
    for (int64_t i = 0, n = assay_tensor_count(a); i < n; i++) {
        double d = fabs(value(a, i));
        if (!(d <= worst)) worst = d;
        if (worst != worst) break;
    }
    lua_pushnumber(L, worst);
    return 1;
}

/* Same dtype, shape and bits. */
static int m_equals(lua_State *L) {
    assay_tensor *a = check(L, 1), *b = check(L, 2);
    bool same = a->dtype == b->dtype && assay_tensor_same_shape(a, b);
    size_t size = assay_dtype_size(a->dtype);
    for (int64_t i = 0, n = assay_tensor_count(a); same && i < n; i++) same = memcmp(element(a, i), element(b, i), size) == 0;
    lua_pushboolean(L, same);
    return 1;
}

static int m_finite(lua_State *L) {
    assay_tensor *a = check(L, 1);
    bool ok = true;
    if (assay_dtype_is_float(a->dtype))
        for (int64_t i = 0, n = assay_tensor_count(a); ok && i < n; i++) ok = isfinite(value(a, i));
    lua_pushboolean(L, ok);
    return 1;
}

static int m_sum(lua_State *L) {
    assay_tensor *a = check(L, 1);
    double sum = 0, carry = 0;                   /* compensated */
    for (int64_t i = 0, n = assay_tensor_count(a); i < n; i++) {
        double y = value(a, i) - carry, t = sum + y;
        carry = (t - sum) - y;
        sum = t;
    }
    lua_pushnumber(L, sum);
    return 1;
}

/* t:scale(f): each element times f in float64, one rounding. */
static int m_scale(lua_State *L) {
    assay_tensor *a = check(L, 1);
    double f = luaL_checknumber(L, 2);
    copy_as(L, a, 0);
    assay_tensor *out = check(L, -1);
    for (int64_t i = 0, n = assay_tensor_count(out); i < n; i++) assay_store_f64(out->dtype, assay_tensor_at(out, i), value(out, i) * f);
    return 1;
}

/* t:choose(a, b [, dtype]): the number a where t is not zero, else b. */
static int m_choose(lua_State *L) {
    assay_tensor *t = check(L, 1);
    double a = luaL_checknumber(L, 2), b = luaL_checknumber(L, 3);
    int32_t dtype = assay_lua_check_dtype(L, 4, t->dtype);
    assay_error err;
    assay_own_tensor *out = assay_lua_push_tensor(L);
    finish_copy(L, assay_tensor_new(dtype, t->rank, t->shape, out, &err), &err);
    for (int64_t i = 0, n = assay_tensor_count(t); i < n; i++) assay_store_f64(dtype, assay_tensor_at(&out->t, i), value(t, i) != 0 ? a : b);
    return 1;
}

/* a:concat(b, axis): everything but the axis must agree. */
static int m_concat(lua_State *L) {
    assay_tensor *a = check(L, 1), *b = check(L, 2), part;
    uint32_t axis = check_axis(L, 3, a);
    bool fits = a->rank == b->rank && a->dtype == b->dtype;
    for (uint32_t k = 0; fits && k < a->rank; k++) fits = k == axis || a->shape[k] == b->shape[k];
    if (!fits) return luaL_error(L, "concat: dtype and all axes but one must agree");
    int64_t shape[ASSAY_RANK_MAX];
    memcpy(shape, a->shape, sizeof shape);
    shape[axis] += b->shape[axis];
    assay_error err;
    assay_own_tensor *out = assay_lua_push_tensor(L);
    finish_copy(L, assay_tensor_new(a->dtype, a->rank, shape, out, &err), &err);
    for (int which = 0; which < 2; which++) {
        const assay_tensor *src = which ? b : a;
        if (!assay_tensor_slice(&out->t, axis, which ? a->shape[axis] : 0, src->shape[axis], &part)) return luaL_error(L, "concat: cannot place the parts");
        for (int64_t i = 0, n = assay_tensor_count(src); i < n; i++) memcpy(assay_tensor_at(&part, i), element(src, i), assay_dtype_size(src->dtype));
    }
    return 1;
}

static int m_digest(lua_State *L) {
    char hex[65];
    assay_tensor_digest(check(L, 1), hex);
    lua_pushstring(L, hex);
    return 1;
}

static const luaL_Reg methods[] = { { "slice", m_slice }, { "select", m_select }, { "to", m_to }, { "copy", m_copy }, { "reshape", m_reshape },
    { "permute", m_permute }, { "at", m_at }, { "max_abs_diff", m_max_abs_diff }, { "max_abs", m_max_abs }, { "equals", m_equals }, { "finite", m_finite },
    { "sum", m_sum }, { "scale", m_scale }, { "choose", m_choose }, { "concat", m_concat }, { "digest", m_digest },
    { "plus", assay_lua_tensor_plus }, { "lowest", assay_lua_tensor_lowest }, { "highest", assay_lua_tensor_highest },
    { "beyond", assay_lua_tensor_beyond }, { "row_norm", assay_lua_tensor_row_norm },
    { "standardised", assay_lua_tensor_standardised },
    { "agreement", assay_lua_tensor_agreement }, { "rope", assay_lua_tensor_rope }, { NULL, NULL } };

static int property(lua_State *L) {
    assay_tensor *t = check(L, 1);
    const char *key = luaL_checkstring(L, 2);
    if (strcmp(key, "dtype") == 0) lua_pushstring(L, assay_dtype_name(t->dtype));
    else if (strcmp(key, "rank") == 0) lua_pushinteger(L, t->rank);
    else if (strcmp(key, "count") == 0) lua_pushinteger(L, assay_tensor_count(t));
    else if (strcmp(key, "shape") == 0) {
        lua_createtable(L, (int)t->rank, 0);
        for (uint32_t i = 0; i < t->rank; i++) {
            lua_pushinteger(L, t->shape[i]);
            lua_rawseti(L, -2, (lua_Integer)i + 1);
        }
    } else {
        lua_pushvalue(L, 2);
        lua_gettable(L, lua_upvalueindex(1));    /* a method; unknown names are explained by the protected table */
    }
    return 1;
}

static int to_string(lua_State *L) {
    char text[256];
    lua_pushstring(L, assay_lua_tensor_text(L, 1, text, sizeof text));
    return 1;
}

void assay_lua_open_tensor(lua_State *L) {
    luaL_newmetatable(L, META);
    luaL_newlib(L, methods);
    assay_lua_protect(L, "tensor");
    lua_pushcclosure(L, property, 1);
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, collect);
    lua_setfield(L, -2, "__gc");
    lua_pushcfunction(L, to_string);
    lua_setfield(L, -2, "__tostring");
    lua_pushliteral(L, "read-only");
    lua_setfield(L, -2, "__metatable");
    lua_pop(L, 1);
}
