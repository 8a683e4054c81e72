/* cast: another element type. Between floats one rounding, or none when both are held alike; floats to integers truncate. */
#include "ops/builtin.h"
#include "ops/eval.h"
#include <math.h>
#include <string.h>

static assay_status infer(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out, assay_error *err) {
    (void)n_out;
    ASSAY_TRY(assay_op_check_args(op, err));
    const char *name = assay_arg_text(op, "dtype", "");
    int32_t code = assay_mil_dtype_parse(name);
    assay_shape s;
    if (!assay_mil_to_dtype(code)) return assay_op_fail(err, op, "cannot cast to '%s'", name);
    assay_arg_shape(op, "x", 0, &s);
    out[0] = assay_shape_type(p, code, &s);
    return ASSAY_OK;
}

static void map_same(const void *ctx, const double *const *in, double *out, int64_t n) {
    (void)ctx;
    memcpy(out, in[0], (size_t)n * sizeof *out);
}

static void map_truth(const void *ctx, const double *const *in, double *out, int64_t n) {
    (void)ctx;
    for (int64_t i = 0; i < n; i++) out[i] = in[0][i] != 0 ? 1 : 0;
}

static assay_status eval(assay_eval *ev, assay_error *err) {
    const assay_tensor *x = assay_eval_in(ev, "x");
    if (x && x->dtype == ev->out_dtypes[0]) return assay_eval_share(ev, 0, x, err);
    static const char *const keys[] = { "x", NULL };
    return assay_map_args(ev, keys, ev->out_dtypes[0] == ASSAY_BOOL ? map_truth : map_same, NULL, err);
}

static const assay_op_param params[] = { ASSAY_X("num|bool", "tensor"), { "dtype", "str", NULL, ASSAY_ARG_REQUIRED | ASSAY_ARG_CONST, "target type" }, ASSAY_END };
static const assay_op_def def_cast = { "cast", "change the element type", "CoreML5", 0, params, infer, NULL, eval };
static const assay_op_def *const defs[] = { &def_cast, NULL };
const assay_op_family assay_ops_cast = { defs };
