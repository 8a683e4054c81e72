/* gather: slices of a tensor picked by index along one axis. */
#include "ops/builtin.h"
#include "ops/eval.h"
#include <string.h>

static assay_status read_axes(const assay_mil_op *op, uint32_t rank, uint32_t index_rank, uint32_t *axis, uint32_t *batch, assay_error *err) {
    int64_t b = assay_arg_int(op, "batch_dims", 0);
    ASSAY_TRY(assay_axis(op, "axis", assay_arg_int(op, "axis", 0), rank, axis, err));
    if (b < 0 || b > (int64_t)*axis || b > (int64_t)index_rank) return assay_op_fail(err, op, "batch_dims %lld does not fit axis %u", (long long)b, *axis);
    *batch = (uint32_t)b;
    return ASSAY_OK;
}

static assay_status infer(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out, assay_error *err) {
    (void)n_out;
    assay_shape x, i, s = { 0 };
    uint32_t axis, batch;
    ASSAY_TRY(assay_op_check_args(op, err));
    assay_arg_shape(op, "x", 0, &x);
    assay_arg_shape(op, "indices", 0, &i);
    ASSAY_TRY(read_axes(op, x.rank, i.rank, &axis, &batch, err));
    if (x.rank - 1 + i.rank - batch > ASSAY_RANK_MAX) return assay_op_fail(err, op, "the result would have more than %d axes", ASSAY_RANK_MAX);
    for (uint32_t k = 0; k < batch; k++)
        if (!assay_dims_agree(x.d[k], i.d[k])) return assay_op_fail(err, op, "x and indices differ in batch axis %u", k);
    for (uint32_t k = 0; k < axis; k++) s.d[s.rank++] = x.d[k];
    for (uint32_t k = batch; k < i.rank; k++) s.d[s.rank++] = i.d[k];
    for (uint32_t k = axis + 1; k < x.rank; k++) s.d[s.rank++] = x.d[k];
    out[0] = assay_shape_type(p, assay_arg_dtype(op, "x"), &s);
    return ASSAY_OK;
}

static int64_t product(const int64_t *v, uint32_t n) {
    int64_t p = 1;
    for (uint32_t i = 0; i < n; i++) p *= v[i];
    return p;
}

static assay_status eval(assay_eval *ev, assay_error *err) {
    const assay_tensor *x = assay_eval_in(ev, "x"), *index = assay_eval_in(ev, "indices");
    uint32_t axis, batch;
    ASSAY_TRY(read_axes(ev->op, x->rank, index->rank, &axis, &batch, err));
    assay_tensor *out = assay_eval_out(ev, 0, err);
    const char *src = assay_eval_as(ev, x, ev->out_dtypes[0], err);
    if (!out || !src) return ASSAY_E_NOMEM;
    char *dst = out->data;
    int64_t n = x->shape[axis], b = product(x->shape, batch), outer = product(x->shape + batch, axis - batch);
    int64_t picks = product(index->shape + batch, index->rank - batch), inner = product(x->shape + axis + 1, x->rank - axis - 1);
    size_t run = (size_t)inner * assay_dtype_size(out->dtype);
    for (int64_t i = 0; i < b * outer * picks; i++) {
        int64_t block = i / picks, pick = block / outer * picks + i % picks;
        int64_t at = (int64_t)assay_load_f64(index->dtype, assay_tensor_at(index, pick));
        if (at < 0) at += n;
        if (at < 0 || at >= n) return assay_op_fail(err, ev->op, "index %lld is outside axis %u of size %lld", (long long)at, axis, (long long)n);
        memcpy(dst + (size_t)i * run, src + (size_t)(block * n + at) * run, run);
    }
    return ASSAY_OK;
}

static const assay_op_param params[] = { ASSAY_X("any", "tensor"), { "indices", "int", NULL, ASSAY_ARG_REQUIRED, "which slices; negative from the end" },
    { "axis", "int", "0", ASSAY_ARG_CONST, "axis to pick from" }, { "batch_dims", "int", "0", ASSAY_ARG_CONST, "leading axes in step with indices" },
    { "validate_indices", "bool", "false", ASSAY_ARG_CONST, "checked here always" }, ASSAY_END };
static const assay_op_def def_gather = { "gather", "slices picked by index", "CoreML5", 0, params, infer, NULL, eval };
static const assay_op_def *const defs[] = { &def_gather, NULL };
const assay_op_family assay_ops_gather = { defs };
