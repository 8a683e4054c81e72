/* softmax over one axis; on fp16 values the `f16wide` order of calibration.md section 1. */
#include "ops/builtin.h"
#include "ops/gemm.h"

static assay_status infer(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out, assay_error *err) {
    uint32_t axis;
    ASSAY_TRY(assay_infer_same(p, op, out, n_out, err));
    return assay_axis(op, "axis", assay_arg_int(op, "axis", -1), out[0]->rank, &axis, err);
}

static void rows(const assay_eval *ev, int32_t held, const void *src, void *dst, int64_t n_rows, int64_t n) {
    if (held == ASSAY_F64) ev->k->softmax_f64(src, dst, n_rows, n, ev->threads);
    else if (held == ASSAY_F16) ev->k->softmax_f16wide(src, dst, n_rows, n, ev->threads);
    else ev->k->softmax_f32(src, dst, n_rows, n, ev->threads);
}

static assay_status eval(assay_eval *ev, assay_error *err) {
    const assay_tensor *x = assay_eval_in(ev, "x");
    bool wide = assay_eval_wide(ev);
    int64_t shape[3] = { 1, 1, 1 }, stride[3], back[3], count = assay_tensor_count(x);
    uint32_t axis;
    ASSAY_TRY(assay_axis(ev->op, "axis", assay_arg_int(ev->op, "axis", -1), x->rank, &axis, err));
    for (uint32_t i = 0; i < x->rank; i++) shape[i < axis ? 0 : i > axis ? 2 : 1] *= x->shape[i];
    const void *src = assay_eval_operand(ev, x, wide, err);
    void *dst = assay_eval_dst(ev, 0, wide, err);
    if (!src || !dst) return ASSAY_E_NOMEM;
    if (count == 0) return ASSAY_OK;
    if (shape[2] == 1) {
        rows(ev, ev->out_dtypes[0], src, dst, shape[0], shape[1]);
    } else {                                                            /* [outer, axis, inner] -> rows of the axis and back */
        static const uint32_t perm[3] = { 0, 2, 1 };
        size_t size = wide ? sizeof(double) : sizeof(float);
        assay_strides(3, shape, stride);
        void *in = assay_eval_permuted(ev, src, wide, 3, shape, stride, perm, err);
        void *out = assay_eval_scratch(ev, (uint64_t)count, size, err);
        if (!in || !out) return ASSAY_E_NOMEM;
        rows(ev, ev->out_dtypes[0], in, out, shape[0] * shape[2], shape[1]);
        back[0] = shape[1] * shape[2];
        back[1] = 1;
        back[2] = shape[1];
        assay_copy_strided(size, 3, shape, dst, stride, out, back);
    }
    assay_eval_put(ev, 0, wide, dst);
    return ASSAY_OK;
}

static const assay_op_param params[] = { ASSAY_X("fp", "tensor"), { "axis", "int32", "-1", ASSAY_ARG_CONST, "normalised axis" }, ASSAY_END };
static const assay_op_def def_softmax = { "softmax", "exp(x - max) / sum along an axis", "CoreML5", 0, params, infer, NULL, eval };
static const assay_op_def *const defs[] = { &def_softmax, NULL };
const assay_op_family assay_ops_softmax = { defs };
