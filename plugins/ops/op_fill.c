/* fill, band_part: a tensor of one number; the diagonals of a matrix. */
#include "ops/builtin.h"
#include "ops/eval.h"
#include <string.h>

static assay_status infer_fill(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out, assay_error *err) {
    (void)n_out;
    assay_shape s = { 0 }, len;
    ASSAY_TRY(assay_op_check_args(op, err));
    int n = assay_arg_ints(op, "shape", s.d, ASSAY_RANK_MAX);
    if (n == ASSAY_ARG_UNKNOWN && assay_arg_shape(op, "shape", 0, &len) && len.rank == 1 && len.d[0] >= 0 && len.d[0] <= ASSAY_RANK_MAX) {
        n = (int)len.d[0];
        for (int i = 0; i < n; i++) s.d[i] = ASSAY_DIM_UNKNOWN;
    } else if (n < 0) {
        return assay_op_fail(err, op, "shape must be a list of at most %d sizes", ASSAY_RANK_MAX);
    } else {
        for (int i = 0; i < n; i++)
            if (s.d[i] < 0) return assay_op_fail(err, op, "shape has the size %lld", (long long)s.d[i]);
    }
    s.rank = (uint32_t)n;
    int32_t t = assay_arg_dtype(op, "value");
    out[0] = assay_shape_type(p, t ? t : ASSAY_MIL_FP32, &s);
    return ASSAY_OK;
}

static assay_status eval_fill(assay_eval *ev, assay_error *err) {
    const assay_tensor *v = assay_eval_in(ev, "value");
    assay_tensor *out = assay_eval_out(ev, 0, err);
    if (!out) return ASSAY_E_NOMEM;
    size_t size = assay_dtype_size(out->dtype);
    char one[16] = { 0 };
    if (v) assay_store_f64(out->dtype, one, assay_load_f64(v->dtype, v->data));
    int64_t zero[1] = { 0 }, step[1] = { 1 }, n[1] = { assay_tensor_count(out) };
    assay_copy_strided(size, 1, n, out->data, step, one, zero);
    return ASSAY_OK;
}

/* ---- band_part */
static assay_status infer_band(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out, assay_error *err) {
    ASSAY_TRY(assay_infer_same(p, op, out, n_out, err));
    return out[0]->rank >= 2 ? ASSAY_OK : assay_op_fail(err, op, "x must have at least two axes");
}

static assay_status eval_band(assay_eval *ev, assay_error *err) {
    const assay_tensor *x = assay_eval_in(ev, "x");
    int64_t lower = assay_arg_int(ev->op, "lower", -1), upper = assay_arg_int(ev->op, "upper", -1);
    assay_tensor *out = assay_eval_out(ev, 0, err);
    const char *src = assay_eval_as(ev, x, ev->out_dtypes[0], err);
    if (!out || !src) return ASSAY_E_NOMEM;
    size_t size = assay_dtype_size(out->dtype);
    int64_t rows = x->shape[x->rank - 2], columns = x->shape[x->rank - 1], count = assay_tensor_count(x);
    char *dst = out->data;
    memset(dst, 0, (size_t)count * size);
    for (int64_t at = 0; at < count; at++) {
        int64_t j = at % columns, i = at / columns % rows;
        if ((lower < 0 || i - j <= lower) && (upper < 0 || j - i <= upper)) memcpy(dst + (size_t)at * size, src + (size_t)at * size, size);
    }
    return ASSAY_OK;
}

static const assay_op_param p_fill[] = { { "shape", "int", NULL, ASSAY_ARG_REQUIRED, "sizes" }, { "value", "num|bool", NULL, 0, "number, default 0" }, ASSAY_END };
static const assay_op_param p_band[] = { ASSAY_X("num|bool", "[..., rows, columns]"), { "lower", "int", "-1", ASSAY_ARG_CONST, "diagonals kept below, -1 all" },
    { "upper", "int", "-1", ASSAY_ARG_CONST, "diagonals kept above, -1 all" }, ASSAY_END };
static const assay_op_def def_fill = { "fill", "a tensor of one number", "CoreML5", 0, p_fill, infer_fill, NULL, eval_fill };
static const assay_op_def def_band = { "band_part", "zero outside a band of diagonals", "CoreML5", 0, p_band, infer_band, NULL, eval_band };
static const assay_op_def *const defs[] = { &def_fill, &def_band, NULL };
const assay_op_family assay_ops_fill = { defs };
