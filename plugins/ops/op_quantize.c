/* quantize, dequantize: integers with a scale and a zero point, for the tensor or per entry of an axis. */
#include "ops/builtin.h"
#include "ops/eval.h"
#include <math.h>

static assay_status check_axis(const assay_mil_op *op, const assay_shape *x, const char *key, assay_error *err) {
    assay_shape s;
    uint32_t axis;
    if (!assay_arg_shape(op, key, 0, &s) || s.rank == 0) return ASSAY_OK;
    if (!assay_arg_count(op, "axis")) return assay_op_fail(err, op, "%s has several entries: axis is missing", key);
    ASSAY_TRY(assay_axis(op, "axis", assay_arg_int(op, "axis", 0), x->rank, &axis, err));
    return s.rank == 1 && assay_dims_agree(s.d[0], x->d[axis]) ? ASSAY_OK : assay_op_fail(err, op, "%s must have one entry for each of axis %u", key, axis);
}

static assay_status infer(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out, assay_error *err) {
    (void)n_out;
    assay_shape x;
    ASSAY_TRY(assay_op_check_args(op, err));
    assay_arg_shape(op, "input", 0, &x);
    ASSAY_TRY(check_axis(op, &x, "scale", err));
    ASSAY_TRY(check_axis(op, &x, "zero_point", err));
    int32_t t = op->type[0] == 'q' ? assay_mil_dtype_parse(assay_arg_text(op, "output_dtype", "int8")) : assay_arg_dtype(op, "scale");
    if (op->type[0] == 'q' && t != ASSAY_MIL_INT8 && t != ASSAY_MIL_UINT8) return assay_op_fail(err, op, "output_dtype must be int8 or uint8");
    out[0] = assay_shape_type(p, t, &x);
    return ASSAY_OK;
}

static void map_quantize(const void *ctx, const double *const *in, double *out, int64_t n) {
    (void)ctx;
    for (int64_t i = 0; i < n; i++) out[i] = rint(in[0][i] / in[1][i]) + in[2][i];   /* saturated when stored */
}

static void map_dequantize(const void *ctx, const double *const *in, double *out, int64_t n) {
    (void)ctx;
    for (int64_t i = 0; i < n; i++) out[i] = (in[0][i] - in[2][i]) * in[1][i];
}

/* A vector along `axis` of a tensor of rank `rank`, as a view that broadcasts. */
static assay_tensor along(const assay_tensor *v, uint32_t axis, uint32_t rank) {
    int64_t shape[ASSAY_RANK_MAX] = { 1, 1, 1, 1, 1, 1, 1, 1 };
    if (v->rank == 0) return *v;
    shape[0] = v->shape[0];
    return assay_tensor_view(v->dtype, rank - axis, shape, v->data);
}

static assay_status eval(assay_eval *ev, assay_error *err) {
    const assay_tensor *x = assay_eval_in(ev, "input"), *scale = assay_eval_in(ev, "scale"), *zero = assay_eval_in(ev, "zero_point");
    double none = 0;
    uint32_t axis = 0;
    if (assay_arg_count(ev->op, "axis") && x->rank) ASSAY_TRY(assay_axis(ev->op, "axis", assay_arg_int(ev->op, "axis", 0), x->rank, &axis, err));
    assay_tensor s = along(scale, axis, x->rank), z = zero ? along(zero, axis, x->rank) : assay_tensor_view(ASSAY_F64, 0, NULL, &none);
    assay_tensor *out = assay_eval_out(ev, 0, err);
    const assay_tensor *in[3] = { x, &s, &z };
    return out ? assay_map(ev, in, 3, out, ev->op->type[0] == 'q' ? map_quantize : map_dequantize, NULL, err) : ASSAY_E_NOMEM;
}

#define SCALE { "scale", "fp", NULL, ASSAY_ARG_REQUIRED, "one, or one for each entry of axis" }, { "zero_point", "int", NULL, 0, "likewise, default 0" }, { "axis", "int", NULL, ASSAY_ARG_CONST, "axis of scale" }
static const assay_op_param p_quantize[] = { { "input", "fp", NULL, ASSAY_ARG_REQUIRED, "tensor" }, SCALE, { "output_dtype", "str", NULL, ASSAY_ARG_REQUIRED | ASSAY_ARG_CONST, "int8 or uint8" }, ASSAY_END };
static const assay_op_param p_dequantize[] = { { "input", "int", NULL, ASSAY_ARG_REQUIRED, "tensor" }, SCALE, ASSAY_END };
static const assay_op_def def_quantize = { "quantize", "round(x / scale) + zero_point", "CoreML7", 0, p_quantize, infer, NULL, eval };
static const assay_op_def def_dequantize = { "dequantize", "(x - zero_point) scale", "CoreML7", 0, p_dequantize, infer, NULL, eval };
static const assay_op_def *const defs[] = { &def_quantize, &def_dequantize, NULL };
const assay_op_family assay_ops_quantize = { defs };
