/* cumsum, topk, argsort: running sums and orders along one axis. */
#include "ops/builtin.h"
#include "ops/gemm.h"
#include <stdlib.h>
#include <string.h>

static assay_status one_axis(const assay_mil_op *op, int64_t dflt, uint32_t rank, uint32_t *axis, assay_error *err) {
    return assay_axis(op, "axis", assay_arg_int(op, "axis", dflt), rank, axis, err);
}

/* Writes rows [outer, n] back along `axis` of a tensor of shape `like`. */
static void put_rows(const assay_tensor *like, uint32_t axis, const double *rows, double *dst) {
    int64_t shape[ASSAY_RANK_MAX], to[ASSAY_RANK_MAX], from[ASSAY_RANK_MAX];
    uint32_t at = 0;
    for (uint32_t i = 0; i <= like->rank; i++) {
        uint32_t a = i == like->rank ? axis : i;
        if (i == axis) continue;
        shape[at] = like->shape[a];
        to[at++] = like->stride[a];
    }
    assay_strides(like->rank, shape, from);
    if (assay_tensor_count(like) > 0) assay_copy_strided(sizeof(double), like->rank, shape, dst, to, rows, from);
}

/* ---- cumsum */
static assay_status infer_cumsum(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out, assay_error *err) {
    uint32_t axis;
    ASSAY_TRY(assay_infer_same(p, op, out, n_out, err));
    return one_axis(op, 0, out[0]->rank, &axis, err);
}

static assay_status eval_cumsum(assay_eval *ev, assay_error *err) {
    const assay_tensor *x = assay_eval_in(ev, "x");
    bool exclusive = assay_arg_bool(ev->op, "exclusive", false), reverse = assay_arg_bool(ev->op, "reverse", false);
    uint32_t axis;
    int64_t outer, n;
    ASSAY_TRY(one_axis(ev->op, 0, x->rank, &axis, err));
    const double *rows = assay_eval_rows(ev, x, 1u << axis, &outer, &n, err);
    double *sums = assay_eval_scratch(ev, (uint64_t)(outer * n), sizeof *sums, err), *dst = assay_eval_dst_f64(ev, 0, err);
    if (!rows || !sums || !dst) return ASSAY_E_NOMEM;
    for (int64_t r = 0; r < outer; r++) {
        double sum = 0;
        for (int64_t i = 0; i < n; i++) {
            int64_t at = r * n + (reverse ? n - 1 - i : i);
            if (exclusive) sums[at] = sum;
            sum += rows[at];
            if (!exclusive) sums[at] = sum;
        }
    }
    put_rows(x, axis, sums, dst);
    assay_eval_put_f64(ev, 0, dst);
    return ASSAY_OK;
}

/* ---- orders */
typedef struct ranked { double v; int64_t at; } ranked;

/* Ascending; NaN last; equal values in their order. */
static int ascending(const void *pa, const void *pb) {
    const ranked *a = pa, *b = pb;
    bool na = a->v != a->v, nb = b->v != b->v;
    if (na != nb) return na ? 1 : -1;
    if (!na && a->v != b->v) return a->v < b->v ? -1 : 1;
    return a->at < b->at ? -1 : a->at > b->at;
}

static int descending(const void *pa, const void *pb) {
    const ranked *a = pa, *b = pb;
    bool na = a->v != a->v, nb = b->v != b->v;
    if (na != nb) return na ? 1 : -1;
    if (!na && a->v != b->v) return a->v > b->v ? -1 : 1;
    return a->at < b->at ? -1 : a->at > b->at;
}

static void order_row(const double *x, int64_t n, bool up, ranked *work) {
    for (int64_t i = 0; i < n; i++) work[i] = (ranked){ x[i], i };
    qsort(work, (size_t)n, sizeof *work, up ? ascending : descending);
}

static int32_t index_dtype(const assay_mil_op *op) {
    int32_t d = assay_mil_dtype_parse(assay_arg_text(op, "output_indices_dtype", "int32"));
    return d == ASSAY_MIL_UINT16 ? d : ASSAY_MIL_INT32;
}

static assay_status infer_argsort(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out, assay_error *err) {
    uint32_t axis;
    assay_shape x;
    ASSAY_TRY(assay_infer_same(p, op, out, n_out, err));
    assay_arg_shape(op, "x", 0, &x);
    ASSAY_TRY(one_axis(op, -1, x.rank, &axis, err));
    out[0] = assay_shape_type(p, ASSAY_MIL_INT32, &x);
    return ASSAY_OK;
}

static assay_status infer_topk(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out, assay_error *err) {
    uint32_t axis;
    assay_shape x;
    ASSAY_TRY(assay_op_check_args(op, err));
    assay_arg_shape(op, "x", 0, &x);
    ASSAY_TRY(one_axis(op, -1, x.rank, &axis, err));
    int64_t k = assay_arg_int(op, "k", 1);
    if (k < 1 && k != -1) return assay_op_fail(err, op, "k is %lld", (long long)k);
    if (x.d[axis] >= 0 && k > x.d[axis]) return assay_op_fail(err, op, "k = %lld exceeds axis %u of size %lld", (long long)k, axis, (long long)x.d[axis]);
    if (k > 0) x.d[axis] = k;
    out[0] = assay_shape_type(p, assay_arg_dtype(op, "x"), &x);
    if (n_out > 1) out[1] = assay_shape_type(p, index_dtype(op), &x);
    return ASSAY_OK;
}

static uint32_t count_topk(const assay_mil_op *op) { return assay_arg_bool(op, "return_indices", true) ? 2 : 1; }

/* Puts the first entries of each row's order into the outputs: values (or indices) into `values`, indices into `indices`. */
static assay_status eval_order(assay_eval *ev, bool up, bool values, uint32_t index_out, assay_error *err) {
    const assay_tensor *x = assay_eval_in(ev, "x"), *out = assay_eval_out(ev, 0, err);
    uint32_t axis;
    int64_t outer, n;
    ASSAY_TRY(one_axis(ev->op, -1, x->rank, &axis, err));
    const double *rows = assay_eval_rows(ev, x, 1u << axis, &outer, &n, err);
    if (!out || !rows) return ASSAY_E_NOMEM;
    int64_t k = out->shape[axis];
    ranked *work = assay_eval_scratch(ev, (uint64_t)n, sizeof *work, err);
    double *v = assay_eval_scratch(ev, 2 * (uint64_t)(outer * k), sizeof *v, err), *at = v ? v + outer * k : NULL;
    if (!work || !v) return ASSAY_E_NOMEM;
    for (int64_t r = 0; r < outer; r++) {
        order_row(rows + r * n, n, up, work);
        for (int64_t i = 0; i < k; i++) {
            v[r * k + i] = work[i].v;
            at[r * k + i] = (double)work[i].at;
        }
    }
    for (uint32_t o = 0; o < ev->n_out; o++) {
        double *dst = assay_eval_dst_f64(ev, o, err);
        if (!dst) return ASSAY_E_NOMEM;
        put_rows(out, axis, values && o != index_out ? v : at, dst);
        assay_eval_put_f64(ev, o, dst);
    }
    return ASSAY_OK;
}

static assay_status eval_argsort(assay_eval *ev, assay_error *err) { return eval_order(ev, assay_arg_bool(ev->op, "ascending", false), false, 0, err); }
static assay_status eval_topk(assay_eval *ev, assay_error *err) { return eval_order(ev, assay_arg_bool(ev->op, "ascending", false), true, 1, err); }

#define FLAG(name, def, text) { name, "bool", def, ASSAY_ARG_CONST, text }
#define AXIS(def) { "axis", "int", def, ASSAY_ARG_CONST, "axis" }
static const assay_op_param p_cumsum[] = { ASSAY_X("num", "tensor"), AXIS("0"), FLAG("exclusive", "false", "leave the element itself out"), FLAG("reverse", "false", "from the end"), ASSAY_END };
static const assay_op_param p_argsort[] = { ASSAY_X("num", "tensor"), AXIS("-1"), FLAG("ascending", "false", "smallest first"), ASSAY_END };
static const assay_op_param p_topk[] = { ASSAY_X("num", "tensor"), { "k", "int", "1", 0, "how many; -1 all" }, AXIS("-1"), FLAG("ascending", "false", "smallest first"), FLAG("sort", "true", "sorted here always"),
    FLAG("return_indices", "true", "a second output with the indices"), { "output_indices_dtype", "str", "\"int32\"", ASSAY_ARG_CONST, "int32 or uint16" }, ASSAY_END };
static const assay_op_def def_cumsum = { "cumsum", "running sum along an axis", "CoreML5", 0, p_cumsum, infer_cumsum, NULL, eval_cumsum };
static const assay_op_def def_argsort = { "argsort", "indices in sorted order", "CoreML5", 0, p_argsort, infer_argsort, NULL, eval_argsort };
static const assay_op_def def_topk = { "topk", "largest elements of an axis and their indices", "CoreML5", 0, p_topk, infer_topk, count_topk, eval_topk };
static const assay_op_def *const defs[] = { &def_cumsum, &def_argsort, &def_topk, NULL };
const assay_op_family assay_ops_order = { defs };
