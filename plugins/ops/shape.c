/* Shape arithmetic for type rules: broadcasting, axes, unknown sizes. */
#include "ops/args.h"
#include <stdio.h>
#include <string.h>

const assay_mil_type *assay_shape_type(assay_program *p, int32_t mil_dtype, const assay_shape *s) {
    return assay_type_tensor(p, mil_dtype, s->rank, s->d);
}

bool assay_shape_known(const assay_shape *s) {
    for (uint32_t i = 0; i < s->rank; i++)
        if (s->d[i] < 0) return false;
    return true;
}

int64_t assay_shape_count(const assay_shape *s) {
    int64_t n = 1;
    for (uint32_t i = 0; i < s->rank; i++) {
        if (s->d[i] < 0) return -1;
        if (s->d[i] != 0 && n > ((int64_t)1 << 62) / s->d[i]) return -1;
        n *= s->d[i];
    }
    return n;
}

bool assay_dims_agree(int64_t a, int64_t b) { return a == b || a < 0 || b < 0; }

static bool broadcast_dim(int64_t a, int64_t b, int64_t *out) {
    if (a == 1) *out = b;
    else if (b == 1) *out = a;
    else if (!assay_dims_agree(a, b)) return false;
    else *out = a < 0 ? b : a;
    return true;
}

bool assay_shape_broadcast(const assay_shape *a, const assay_shape *b, assay_shape *out) {
    assay_shape r = { a->rank > b->rank ? a->rank : b->rank, { 0 } };
    for (uint32_t i = 0; i < r.rank; i++) {                              /* i counts from the last axis */
        int64_t da = i < a->rank ? a->d[a->rank - 1 - i] : 1;
        int64_t db = i < b->rank ? b->d[b->rank - 1 - i] : 1;
        if (!broadcast_dim(da, db, &r.d[r.rank - 1 - i])) return false;
    }
    *out = r;
    return true;
}

assay_status assay_axis(const assay_mil_op *op, const char *what, int64_t axis, uint32_t rank, uint32_t *out, assay_error *err) {
    int64_t a = axis < 0 ? axis + (int64_t)rank : axis;
    if (a < 0 || a >= (int64_t)rank)
        return assay_op_fail(err, op, "%s %lld is outside a tensor of rank %u", what, (long long)axis, rank);
    *out = (uint32_t)a;
    return ASSAY_OK;
}

assay_status assay_axes(const assay_mil_op *op, const char *key, uint32_t rank, uint32_t *set, assay_error *err) {
    int64_t v[ASSAY_RANK_MAX];
    int n = assay_arg_ints(op, key, v, ASSAY_RANK_MAX);
    if (n == ASSAY_ARG_UNKNOWN) return assay_op_fail(err, op, "argument '%s' must be a constant", key);
    if (n == ASSAY_ARG_TOO_LONG) return assay_op_fail(err, op, "argument '%s' has more than %d axes", key, ASSAY_RANK_MAX);
    *set = 0;
    for (int i = 0; i < n; i++) {
        uint32_t a = 0;
        ASSAY_TRY(assay_axis(op, key, v[i], rank, &a, err));
        if (*set & (1u << a)) return assay_op_fail(err, op, "argument '%s' names axis %u twice", key, a);
        *set |= 1u << a;
    }
    if (n <= 0) *set = (1u << rank) - 1;
    return ASSAY_OK;
}

const char *assay_shape_print(const assay_shape *s, char out[160]) {
    size_t at = 0;
    out[at++] = '[';
    for (uint32_t i = 0; i < s->rank && at < 130; i++) {
        int n = s->d[i] < 0 ? snprintf(out + at, 160 - at, "%s?", i ? "," : "")
                            : snprintf(out + at, 160 - at, "%s%lld", i ? "," : "", (long long)s->d[i]);
        at += n > 0 ? (size_t)n : 0;
    }
    out[at++] = ']';
    out[at] = 0;
    return out;
}

assay_status assay_infer_same(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out, assay_error *err) {
    (void)p;
    (void)n_out;
    ASSAY_TRY(assay_op_check_args(op, err));
    out[0] = assay_arg_type(op, "x", 0);
    return ASSAY_OK;
}
