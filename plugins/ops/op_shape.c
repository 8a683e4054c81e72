/* shape, range_1d, one_hot, flatten2d, reverse, sliding_windows: tensors made from sizes, and re-reading by axis. */
#include "ops/builtin.h"
#include "ops/eval.h"
#include <math.h>
#include <string.h>

/* ---- shape */
static assay_status infer_shape(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out, assay_error *err) {
    (void)n_out;
    assay_shape x, s = { 1, { 0 } };
    ASSAY_TRY(assay_op_check_args(op, err));
    assay_arg_shape(op, "x", 0, &x);
    s.d[0] = x.rank;
    int32_t t = assay_mil_dtype_parse(assay_arg_text(op, "output_dtype", "int32"));
    out[0] = assay_shape_type(p, t == ASSAY_MIL_UINT16 || t == ASSAY_MIL_INT16 ? t : ASSAY_MIL_INT32, &s);
    return ASSAY_OK;
}

static assay_status eval_shape(assay_eval *ev, assay_error *err) {
    const assay_tensor *x = assay_eval_in(ev, "x");
    assay_tensor *out = assay_eval_out(ev, 0, err);
    if (!out) return ASSAY_E_NOMEM;
    for (uint32_t i = 0; i < x->rank; i++) assay_store_f64(out->dtype, assay_tensor_at(out, i), (double)x->shape[i]);
    return ASSAY_OK;
}

/* ---- range_1d */
static double range_count(const assay_mil_op *op) {
    double start = assay_arg_number(op, "start", (double)NAN), end = assay_arg_number(op, "end", (double)NAN), step = assay_arg_number(op, "step", (double)NAN);
    return ceil((end - start) / step);
}

static assay_status infer_range(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out, assay_error *err) {
    (void)n_out;
    assay_shape s = { 1, { ASSAY_DIM_UNKNOWN } };
    ASSAY_TRY(assay_op_check_args(op, err));
    bool known = assay_op_const(op, "start") && assay_op_const(op, "end") && assay_op_const(op, "step");
    if (known) {
        double n = range_count(op);
        if (!(n < 2147483648.0)) return assay_op_fail(err, op, "the range has no end");
        s.d[0] = n > 0 ? (int64_t)n : 0;
    }
    out[0] = assay_shape_type(p, assay_arg_dtype(op, "start"), &s);
    return ASSAY_OK;
}

static assay_status eval_range(assay_eval *ev, assay_error *err) {
    assay_tensor *out = assay_eval_out(ev, 0, err);
    if (!out) return ASSAY_E_NOMEM;
    double start = assay_arg_number(ev->op, "start", 0), step = assay_arg_number(ev->op, "step", 1);
    for (int64_t i = 0; i < out->shape[0]; i++) assay_store_f64(out->dtype, assay_tensor_at(out, i), start + (double)i * step);
    return ASSAY_OK;
}

/* ---- one_hot */
static assay_status infer_one_hot(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out, assay_error *err) {
    (void)n_out;
    assay_shape i, s;
    uint32_t axis;
    ASSAY_TRY(assay_op_check_args(op, err));
    assay_arg_shape(op, "indices", 0, &i);
    s.rank = i.rank + 1;
    if (s.rank > ASSAY_RANK_MAX) return assay_op_fail(err, op, "the result would have %u axes", s.rank);
    ASSAY_TRY(assay_axis(op, "axis", assay_arg_int(op, "axis", -1), s.rank, &axis, err));
    int64_t n = assay_arg_int(op, "one_hot_vector_size", ASSAY_DIM_UNKNOWN);
    for (uint32_t k = 0, from = 0; k < s.rank; k++) s.d[k] = k == axis ? (n < 0 ? ASSAY_DIM_UNKNOWN : n) : i.d[from++];
    int32_t t = assay_arg_dtype(op, "on_value");
    out[0] = assay_shape_type(p, t ? t : ASSAY_MIL_INT32, &s);
    return ASSAY_OK;
}

static assay_status eval_one_hot(assay_eval *ev, assay_error *err) {
    const assay_tensor *index = assay_eval_in(ev, "indices");
    assay_tensor *out = assay_eval_out(ev, 0, err);
    uint32_t axis;
    if (!out) return ASSAY_E_NOMEM;
    ASSAY_TRY(assay_axis(ev->op, "axis", assay_arg_int(ev->op, "axis", -1), out->rank, &axis, err));
    double on = assay_arg_number(ev->op, "on_value", 1), off = assay_arg_number(ev->op, "off_value", 0);
    int64_t n = out->shape[axis], inner = out->stride[axis], count = assay_tensor_count(out);
    for (int64_t at = 0; at < count; at++) {
        int64_t outer = at / (inner * n), hot = (int64_t)assay_load_f64(index->dtype, assay_tensor_at(index, outer * inner + at % inner));
        assay_store_f64(out->dtype, assay_tensor_at(out, at), at / inner % n == (hot < 0 ? hot + n : hot) ? on : off);
    }
    return ASSAY_OK;
}

/* ---- flatten2d: axes before `axis` become rows, the rest columns */
static assay_status infer_flatten(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out, assay_error *err) {
    (void)n_out;
    assay_shape x, s = { 2, { 1, 1 } };
    ASSAY_TRY(assay_op_check_args(op, err));
    assay_arg_shape(op, "x", 0, &x);
    int64_t axis = assay_arg_int(op, "axis", 1);
    if (axis < 0) axis += x.rank;
    if (axis < 0 || axis > (int64_t)x.rank) return assay_op_fail(err, op, "axis %lld is outside a tensor of rank %u", (long long)axis, x.rank);
    for (uint32_t i = 0; i < x.rank; i++) {
        int64_t *d = &s.d[(int64_t)i < axis ? 0 : 1];
        *d = *d < 0 || x.d[i] < 0 ? ASSAY_DIM_UNKNOWN : *d * x.d[i];
    }
    out[0] = assay_shape_type(p, assay_arg_dtype(op, "x"), &s);
    return ASSAY_OK;
}

static assay_status eval_flatten(assay_eval *ev, assay_error *err) { return assay_eval_share(ev, 0, assay_eval_in(ev, "x"), err); }

/* ---- reverse */
static assay_status infer_reverse(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out, assay_error *err) {
    uint32_t axes;
    ASSAY_TRY(assay_infer_same(p, op, out, n_out, err));
    return assay_axes(op, "axes", out[0]->rank, &axes, err);
}

static assay_status eval_reverse(assay_eval *ev, assay_error *err) {
    const assay_tensor *x = assay_eval_in(ev, "x");
    assay_tensor *out = assay_eval_out(ev, 0, err);
    const char *src = assay_eval_as(ev, x, ev->out_dtypes[0], err);
    uint32_t axes;
    int64_t stride[ASSAY_RANK_MAX], first = 0;
    if (!out || !src) return ASSAY_E_NOMEM;
    ASSAY_TRY(assay_axes(ev->op, "axes", x->rank, &axes, err));
    for (uint32_t i = 0; i < x->rank; i++) {
        bool turned = axes >> i & 1;
        stride[i] = turned ? -x->stride[i] : x->stride[i];
        if (turned) first += (x->shape[i] - 1) * x->stride[i];
    }
    size_t size = assay_dtype_size(out->dtype);
    if (assay_tensor_count(x) > 0) assay_copy_strided(size, x->rank, x->shape, out->data, out->stride, src + (size_t)first * size, stride);
    return ASSAY_OK;
}

/* ---- sliding_windows: axis of n becomes (windows, size) */
static assay_status infer_windows(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out, assay_error *err) {
    (void)n_out;
    assay_shape x, s;
    uint32_t axis;
    ASSAY_TRY(assay_op_check_args(op, err));
    assay_arg_shape(op, "x", 0, &x);
    ASSAY_TRY(assay_axis(op, "axis", assay_arg_int(op, "axis", 0), x.rank, &axis, err));
    int64_t size = assay_arg_int(op, "size", 0), stride = assay_arg_int(op, "stride", 1);
    if (size < 1 || stride < 1 || (x.d[axis] >= 0 && size > x.d[axis]) || x.rank == ASSAY_RANK_MAX)
        return assay_op_fail(err, op, "size %lld, stride %lld do not fit axis %u of size %lld", (long long)size, (long long)stride, axis, (long long)x.d[axis]);
    s.rank = x.rank + 1;
    for (uint32_t k = 0; k < x.rank; k++) s.d[k < axis ? k : k + 1] = x.d[k];
    s.d[axis] = x.d[axis] < 0 ? ASSAY_DIM_UNKNOWN : (x.d[axis] - size) / stride + 1;
    s.d[axis + 1] = size;
    out[0] = assay_shape_type(p, assay_arg_dtype(op, "x"), &s);
    return ASSAY_OK;
}

static assay_status eval_windows(assay_eval *ev, assay_error *err) {
    const assay_tensor *x = assay_eval_in(ev, "x");
    assay_tensor *out = assay_eval_out(ev, 0, err);
    const void *src = assay_eval_as(ev, x, ev->out_dtypes[0], err);
    uint32_t axis;
    int64_t stride[ASSAY_RANK_MAX];
    if (!out || !src) return ASSAY_E_NOMEM;
    ASSAY_TRY(assay_axis(ev->op, "axis", assay_arg_int(ev->op, "axis", 0), x->rank, &axis, err));
    for (uint32_t k = 0; k < out->rank; k++) stride[k] = x->stride[k <= axis ? k : k - 1];
    stride[axis] *= assay_arg_int(ev->op, "stride", 1);
    assay_copy_strided(assay_dtype_size(out->dtype), out->rank, out->shape, out->data, out->stride, src, stride);
    return ASSAY_OK;
}

#define NUMBER(name, text) { name, "num", NULL, ASSAY_ARG_REQUIRED, text }
static const assay_op_param p_shape[] = { ASSAY_X("any", "tensor"), { "output_dtype", "str", "\"int32\"", ASSAY_ARG_CONST, "int32, int16 or uint16" }, ASSAY_END };
static const assay_op_param p_range[] = { NUMBER("end", "not reached"), NUMBER("start", "first"), NUMBER("step", "distance"), ASSAY_END };
static const assay_op_param p_one_hot[] = { { "indices", "int", NULL, ASSAY_ARG_REQUIRED, "hot positions" }, { "one_hot_vector_size", "int", NULL, ASSAY_ARG_REQUIRED, "size of the new axis" },
    { "axis", "int", "-1", ASSAY_ARG_CONST, "where the new axis stands" }, { "on_value", "num|bool", "1", ASSAY_ARG_CONST, "at the index" }, { "off_value", "num|bool", "0", ASSAY_ARG_CONST, "elsewhere" }, ASSAY_END };
static const assay_op_param p_flatten[] = { ASSAY_X("any", "tensor"), { "axis", "int", "1", ASSAY_ARG_CONST, "first axis of the columns" }, ASSAY_END };
static const assay_op_param p_reverse[] = { ASSAY_X("any", "tensor"), { "axes", "int", NULL, ASSAY_ARG_CONST, "axes to turn round, default all" }, ASSAY_END };
static const assay_op_param p_windows[] = { ASSAY_X("any", "tensor"), { "axis", "int", NULL, ASSAY_ARG_REQUIRED | ASSAY_ARG_CONST, "axis" }, { "size", "int", NULL, ASSAY_ARG_REQUIRED | ASSAY_ARG_CONST, "elements of a window" },
    { "stride", "int", "1", ASSAY_ARG_CONST, "distance of windows" }, ASSAY_END };
static const assay_op_def def_shape = { "shape", "the sizes of a tensor", "CoreML5", 0, p_shape, infer_shape, NULL, eval_shape };
static const assay_op_def def_range = { "range_1d", "numbers from start to end by step", "CoreML5", 0, p_range, infer_range, NULL, eval_range };
static const assay_op_def def_one_hot = { "one_hot", "on at an index, off elsewhere", "CoreML5", 0, p_one_hot, infer_one_hot, NULL, eval_one_hot };
static const assay_op_def def_flatten = { "flatten2d", "two axes out of many", "CoreML5", ASSAY_OP_LAYOUT, p_flatten, infer_flatten, NULL, eval_flatten };
static const assay_op_def def_reverse = { "reverse", "axes turned round", "CoreML5", 0, p_reverse, infer_reverse, NULL, eval_reverse };
static const assay_op_def def_windows = { "sliding_windows", "overlapping windows of an axis", "CoreML5", 0, p_windows, infer_windows, NULL, eval_windows };
static const assay_op_def *const defs[] = { &def_shape, &def_range, &def_one_hot, &def_flatten, &def_reverse, &def_windows, NULL };
const assay_op_family assay_ops_shape = { defs };
