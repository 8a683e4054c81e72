/* Tensor methods that make tensors and figures element by element: sums with repeated axes, extremes along an axis, bounds. */
#include "script/lua_tensor.h"
#include "metrics/metrics.h"
#include <math.h>

static const assay_tensor *check(lua_State *L, int idx) {
    assay_own_tensor *t = assay_lua_tensor_at(L, idx);
    if (!t) luaL_argerror(L, idx, "expected a tensor");
    return &t->t;
}
static double value(const assay_tensor *t, int64_t i) { return assay_load_f64(t->dtype, assay_tensor_at(t, i)); }

/* `t` seen in the shape of `like`: its axes of size 1 are repeated. */
static assay_tensor repeated(lua_State *L, const assay_tensor *t, const assay_tensor *like, const char *who) {
    assay_tensor v = *t;
    char a[160], b[160];
    bool fits = t->rank == like->rank;
    for (uint32_t i = 0; fits && i < t->rank; i++) {
        if (v.shape[i] == 1 && like->shape[i] != 1) v.shape[i] = like->shape[i], v.stride[i] = 0;
        fits = v.shape[i] == like->shape[i];
    }
    if (!fits)
        assay_lua_fail(L, ASSAY_E_INPUT, NULL, "%s: %s does not fit %s (axes of size 1 are repeated)", who, assay_shape_text(t->rank, t->shape, a),
                       assay_shape_text(like->rank, like->shape, b));
    return v;
}

/* A new tensor on top of the stack. */
static assay_tensor *make(lua_State *L, int32_t dtype, uint32_t rank, const int64_t *shape, uint64_t count) {
    assay_error err;
    assay_lua_reserve_tensor(L, count * assay_dtype_size(dtype));
    assay_own_tensor *out = assay_lua_push_tensor(L);
    assay_status st = assay_tensor_new(dtype, rank, shape, out, &err);
    if (st) assay_lua_fail(L, st, NULL, "%s", err.message);
    assay_lua_charge_tensor(L);
    return &out->t;
}

int assay_lua_tensor_plus(lua_State *L) {
    const assay_tensor *a = check(L, 1);
    bool number = lua_type(L, 2) == LUA_TNUMBER;
    assay_tensor b = *a;
    double x = 0;
    if (number)
        x = lua_tonumber(L, 2);
    else
        b = repeated(L, check(L, 2), a, "plus");
    int64_t n = assay_tensor_count(a);
    assay_tensor *out = make(L, a->dtype, a->rank, a->shape, (uint64_t)n);
    for (int64_t i = 0; i < n; i++) assay_store_f64(out->dtype, assay_tensor_at(out, i), value(a, i) + (number ? x : value(&b, i)));
    return 1;
}

/* The smallest (sign -1) or largest (sign 1) along an axis, which stays with size 1. NaN wins. */
static int extreme(lua_State *L, double sign) {
    const assay_tensor *t = check(L, 1);
    lua_Integer axis = luaL_checkinteger(L, 2);
    if (axis < 0) axis += t->rank;
    luaL_argcheck(L, axis >= 0 && axis < (lua_Integer)t->rank && t->shape[axis] > 0, 2, "no such axis, or it is empty");
    assay_tensor first = *t;
    first.shape[axis] = 1;
    int64_t n = assay_tensor_count(&first), along = t->shape[axis];
    size_t step = (size_t)t->stride[axis] * assay_dtype_size(t->dtype);
    assay_tensor *out = make(L, t->dtype, t->rank, first.shape, (uint64_t)n);
    for (int64_t i = 0; i < n; i++) {
        const unsigned char *p = assay_tensor_at(&first, i);
        double best = assay_load_f64(t->dtype, p);
        for (int64_t k = 1; k < along && !isnan(best); k++) {
            double x = assay_load_f64(t->dtype, p + (size_t)k * step);
            if (!(sign * x <= sign * best)) best = x;
        }
        assay_store_f64(out->dtype, assay_tensor_at(out, i), best);
    }
    return 1;
}
int assay_lua_tensor_lowest(lua_State *L) { return extreme(L, -1); }
int assay_lua_tensor_highest(lua_State *L) { return extreme(L, 1); }

int assay_lua_tensor_beyond(lua_State *L) {
    const assay_tensor *t = check(L, 1);
    assay_tensor low = repeated(L, check(L, 2), t, "beyond"), high = repeated(L, check(L, 3), t, "beyond");
    double worst = 0;
    for (int64_t i = 0, n = assay_tensor_count(t); i < n && !isnan(worst); i++) {
        double x = value(t, i), under = value(&low, i) - x, over = x - value(&high, i), out = under > over ? under : over;
        if (isnan(under) || isnan(over)) out = NAN;
        if (!(out <= worst)) worst = out;
    }
    lua_pushnumber(L, worst);
    return 1;
}

int assay_lua_tensor_row_norm(lua_State *L) {
    const assay_tensor *t = check(L, 1);
    luaL_argcheck(L, t->rank > 0, 1, "a tensor with a last axis is needed");
    int64_t width = t->shape[t->rank - 1], n = assay_tensor_count(t);
    double worst = 0, sum = 0;
    for (int64_t i = 0; i < n; i++) {
        double x = value(t, i);
        sum = (i % width ? sum : 0) + x * x;
        if (i % width == width - 1 && !(sum <= worst)) worst = sum;
        if (isnan(worst)) break;
    }
    lua_pushnumber(L, sqrt(worst));
    return 1;
}

/* Along the last axis: (x - mean) / sqrt(variance + eps), in float64, one rounding. */
int assay_lua_tensor_standardised(lua_State *L) {
    const assay_tensor *t = check(L, 1);
    double eps = luaL_optnumber(L, 2, 0);
    luaL_argcheck(L, t->rank > 0 && t->shape[t->rank - 1] > 0, 1, "a tensor with a last axis is needed");
    int64_t width = t->shape[t->rank - 1], n = assay_tensor_count(t);
    assay_tensor *out = make(L, t->dtype, t->rank, t->shape, (uint64_t)n);
    for (int64_t from = 0; from < n; from += width) {
        double mean = 0, variance = 0;
        for (int64_t i = from; i < from + width; i++) mean += value(t, i);
        mean /= (double)width;
        for (int64_t i = from; i < from + width; i++) variance += (value(t, i) - mean) * (value(t, i) - mean);
        double unit = sqrt(variance / (double)width + eps);
        for (int64_t i = from; i < from + width; i++) assay_store_f64(out->dtype, assay_tensor_at(out, i), (value(t, i) - mean) / unit);
    }
    return 1;
}

static void set_figure(lua_State *L, const char *key, double v) {
    lua_pushnumber(L, v);
    lua_setfield(L, -2, key);
}

int assay_lua_tensor_agreement(lua_State *L) {
    const assay_tensor *candidate = check(L, 1), *reference = check(L, 2);
    assay_pair_stats s = {.struct_size = sizeof s};
    assay_error err;
    if (assay_metrics_pair(reference, candidate, -1, &s, &err)) return assay_lua_fail(L, ASSAY_E_INPUT, NULL, "agreement: %s", err.message);
    lua_createtable(L, 0, 5);
    set_figure(L, "psnr_db", s.psnr_db), set_figure(L, "snr_db", s.snr_db);
    set_figure(L, "cosine", s.cosine), set_figure(L, "gain", s.gain);
    lua_pushboolean(L, s.identical != 0);
    lua_setfield(L, -2, "identical");
    return 1;
}
