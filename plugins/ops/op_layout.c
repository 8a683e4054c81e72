/* Ops that move or re-read elements: transpose, reshape, expand_dims, squeeze, identity. */
#include "ops/builtin.h"
#include "ops/gemm.h"
#include <string.h>

static assay_status eval_share(assay_eval *ev, assay_error *err) {
    const assay_tensor *x = assay_eval_in(ev, "x");
    return x ? assay_eval_share(ev, 0, x, err) : assay_op_fail(err, ev->op, "argument 'x' has no value");
}

/* ---- transpose */
static assay_status read_perm(const assay_mil_op *op, uint32_t rank, uint32_t *perm, assay_error *err) {
    int64_t v[ASSAY_RANK_MAX];
    uint32_t seen = 0;
    int n = assay_arg_ints(op, "perm", v, ASSAY_RANK_MAX);
    if (n != (int)rank) return assay_op_fail(err, op, "perm must name each of the %u axes of x once", rank);
    for (uint32_t i = 0; i < rank; i++) {
        ASSAY_TRY(assay_axis(op, "perm", v[i], rank, &perm[i], err));
        seen |= 1u << perm[i];
    }
    return seen == (1u << rank) - 1 ? ASSAY_OK : assay_op_fail(err, op, "perm must name each of the %u axes of x once", rank);
}

static assay_status infer_transpose(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out, assay_error *err) {
    (void)n_out;
    assay_shape x, s;
    uint32_t perm[ASSAY_RANK_MAX];
    ASSAY_TRY(assay_op_check_args(op, err));
    assay_arg_shape(op, "x", 0, &x);
    ASSAY_TRY(read_perm(op, x.rank, perm, err));
    s.rank = x.rank;
    for (uint32_t i = 0; i < x.rank; i++) s.d[i] = x.d[perm[i]];
    out[0] = assay_shape_type(p, assay_arg_dtype(op, "x"), &s);
    return ASSAY_OK;
}

static assay_status eval_transpose(assay_eval *ev, assay_error *err) {
    const assay_tensor *x = assay_eval_in(ev, "x");
    uint32_t perm[ASSAY_RANK_MAX];
    int64_t stride[ASSAY_RANK_MAX] = { 0 };
    ASSAY_TRY(read_perm(ev->op, x->rank, perm, err));
    assay_tensor *out = assay_eval_out(ev, 0, err);
    const void *data = assay_eval_as(ev, x, ev->out_dtypes[0], err);
    if (!out || !data) return ASSAY_E_NOMEM;
    for (uint32_t i = 0; i < x->rank; i++) stride[i] = x->stride[perm[i]];
    assay_copy_strided(assay_dtype_size(out->dtype), out->rank, out->shape, out->data, out->stride, data, stride);
    return ASSAY_OK;
}

/* ---- reshape: -1 takes what is left, 0 copies the size of x at that axis */
static assay_status reshaped(const assay_mil_op *op, const assay_shape *x, assay_shape *s, assay_error *err) {
    int64_t known = 1, total = assay_shape_count(x);
    int hole = -1;
    char a[160], b[160];
    for (uint32_t i = 0; i < s->rank; i++) {
        if (s->d[i] == 0 && i < x->rank) s->d[i] = x->d[i];
        if (s->d[i] == -1 && hole < 0 && !(i < x->rank && x->d[i] < 0)) { hole = (int)i; continue; }
        if (s->d[i] < 0) return total < 0 ? ASSAY_OK : assay_op_fail(err, op, "shape has more than one -1");
        if (known != 0 && s->d[i] > ((int64_t)1 << 62) / known) return assay_op_fail(err, op, "shape is too large");
        known *= s->d[i];
    }
    if (total < 0) return ASSAY_OK;
    if (hole >= 0 && known > 0 && total % known == 0) s->d[hole] = total / known;
    if (assay_shape_count(s) == total) return ASSAY_OK;
    return assay_op_fail(err, op, "x %s cannot be reshaped to %s", assay_shape_print(x, a), assay_shape_print(s, b));
}

static assay_status infer_reshape(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out, assay_error *err) {
    (void)n_out;
    assay_shape x, len, s = { 0 };
    ASSAY_TRY(assay_op_check_args(op, err));
    assay_arg_shape(op, "x", 0, &x);
    int n = assay_arg_ints(op, "shape", s.d, ASSAY_RANK_MAX);
    if (n == ASSAY_ARG_UNKNOWN && assay_arg_shape(op, "shape", 0, &len) && len.rank == 1 && len.d[0] >= 0 && len.d[0] <= ASSAY_RANK_MAX) {
        s.rank = (uint32_t)len.d[0];
        for (uint32_t i = 0; i < s.rank; i++) s.d[i] = ASSAY_DIM_UNKNOWN;
    } else if (n < 0) {
        return assay_op_fail(err, op, "shape must be a list of at most %d sizes", ASSAY_RANK_MAX);
    } else {
        s.rank = (uint32_t)n;
        for (uint32_t i = 0; i < s.rank; i++)
            if (s.d[i] < -1) return assay_op_fail(err, op, "shape has the size %lld", (long long)s.d[i]);
        ASSAY_TRY(reshaped(op, &x, &s, err));
    }
    out[0] = assay_shape_type(p, assay_arg_dtype(op, "x"), &s);
    return ASSAY_OK;
}

/* ---- expand_dims, squeeze */
static assay_status infer_expand(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out, assay_error *err) {
    (void)n_out;
    assay_shape x, s = { 0 };
    int64_t axes[ASSAY_RANK_MAX];
    uint32_t set;
    ASSAY_TRY(assay_op_check_args(op, err));
    assay_arg_shape(op, "x", 0, &x);
    int n = assay_arg_ints(op, "axes", axes, ASSAY_RANK_MAX);
    if (n < 1 || x.rank + (uint32_t)n > ASSAY_RANK_MAX) return assay_op_fail(err, op, "axes must list 1 to %u new axes", ASSAY_RANK_MAX - x.rank);
    s.rank = x.rank + (uint32_t)n;
    ASSAY_TRY(assay_axes(op, "axes", s.rank, &set, err));
    for (uint32_t i = 0, from = 0; i < s.rank; i++) s.d[i] = set >> i & 1 ? 1 : x.d[from++];
    out[0] = assay_shape_type(p, assay_arg_dtype(op, "x"), &s);
    return ASSAY_OK;
}

static assay_status infer_squeeze(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out, assay_error *err) {
    (void)n_out;
    assay_shape x, s = { 0 };
    uint32_t set;
    ASSAY_TRY(assay_op_check_args(op, err));
    assay_arg_shape(op, "x", 0, &x);
    bool listed = assay_arg_count(op, "axes") > 0;
    ASSAY_TRY(assay_axes(op, "axes", x.rank, &set, err));
    for (uint32_t i = 0; i < x.rank; i++) {
        bool drop = listed ? set >> i & 1 : x.d[i] == 1;
        if (drop && !assay_dims_agree(x.d[i], 1)) return assay_op_fail(err, op, "axis %u has size %lld, not 1", i, (long long)x.d[i]);
        if (!drop) s.d[s.rank++] = x.d[i];
    }
    out[0] = assay_shape_type(p, assay_arg_dtype(op, "x"), &s);
    return ASSAY_OK;
}

#define INTS(name, need, text) { name, "int", NULL, need, text }
static const assay_op_param p_transpose[] = { ASSAY_X("any", "tensor"), INTS("perm", ASSAY_ARG_REQUIRED | ASSAY_ARG_CONST, "axis of x at each axis of the output"), ASSAY_END };
static const assay_op_param p_reshape[] = { ASSAY_X("any", "tensor"), INTS("shape", ASSAY_ARG_REQUIRED, "new sizes, one may be -1"), ASSAY_END };
static const assay_op_param p_expand[] = { ASSAY_X("any", "tensor"), INTS("axes", ASSAY_ARG_REQUIRED | ASSAY_ARG_CONST, "new axes, in the output"), ASSAY_END };
static const assay_op_param p_squeeze[] = { ASSAY_X("any", "tensor"), INTS("axes", ASSAY_ARG_CONST, "axes of size 1 to drop; absent: all of them"), ASSAY_END };
static const assay_op_param p_identity[] = { ASSAY_X("any", "value"), ASSAY_END };
static const assay_op_def def_transpose = { "transpose", "reorder the axes", "CoreML5", ASSAY_OP_LAYOUT, p_transpose, infer_transpose, NULL, eval_transpose };
static const assay_op_def def_reshape = { "reshape", "the same elements under another shape", "CoreML5", ASSAY_OP_LAYOUT, p_reshape, infer_reshape, NULL, eval_share };
static const assay_op_def def_expand = { "expand_dims", "insert axes of size 1", "CoreML5", ASSAY_OP_LAYOUT, p_expand, infer_expand, NULL, eval_share };
static const assay_op_def def_squeeze = { "squeeze", "drop axes of size 1", "CoreML5", ASSAY_OP_LAYOUT, p_squeeze, infer_squeeze, NULL, eval_share };
static const assay_op_def def_identity = { "identity", "x itself", "CoreML5", ASSAY_OP_LAYOUT, p_identity, assay_infer_same, NULL, eval_share };
static const assay_op_def *const defs[] = { &def_transpose, &def_reshape, &def_expand, &def_squeeze, &def_identity, NULL };
const assay_op_family assay_ops_layout = { defs };
