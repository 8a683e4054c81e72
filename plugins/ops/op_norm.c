/* layer_norm: mean and variance along a set of axes in float64, one rounding at the end. */
#include "ops/builtin.h"
#include "ops/gemm.h"
#include <math.h>
#include <string.h>

static assay_status check_affine(const assay_mil_op *op, const char *key, const assay_shape *x, uint32_t axes, assay_error *err) {
    assay_shape g;
    uint32_t at = 0;
    char a[160];
    if (!assay_arg_shape(op, key, 0, &g)) return ASSAY_OK;
    bool fits = true;
    for (uint32_t i = 0; i < x->rank; i++)
        if (axes >> i & 1) fits = fits && at < g.rank && assay_dims_agree(g.d[at++], x->d[i]);
    if (fits && at == g.rank) return ASSAY_OK;
    return assay_op_fail(err, op, "%s %s must have the sizes of the normalised axes", key, assay_shape_print(&g, a));
}

static assay_status infer(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out, assay_error *err) {
    assay_shape x;
    uint32_t axes;
    ASSAY_TRY(assay_infer_same(p, op, out, n_out, err));
    assay_arg_shape(op, "x", 0, &x);
    ASSAY_TRY(assay_axes(op, "axes", x.rank, &axes, err));
    ASSAY_TRY(check_affine(op, "gamma", &x, axes, err));
    return check_affine(op, "beta", &x, axes, err);
}

typedef struct norm_job { const assay_kernels *k; const double *x, *gamma, *beta; double *y; int64_t n; double epsilon; } norm_job;

static void norm_row(void *ctx, uint64_t row, uint32_t worker) {
    const norm_job *j = ctx;
    (void)worker;
    const double *x = j->x + (int64_t)row * j->n;
    double *y = j->y + (int64_t)row * j->n, mean = j->k->sum_f64(x, j->n) / (double)j->n;
    for (int64_t i = 0; i < j->n; i++) y[i] = (x[i] - mean) * (x[i] - mean);
    double inv = 1 / sqrt(j->k->sum_f64(y, j->n) / (double)j->n + j->epsilon);
    for (int64_t i = 0; i < j->n; i++) {
        double v = (x[i] - mean) * inv;
        if (j->gamma) v *= j->gamma[i];
        y[i] = j->beta ? v + j->beta[i] : v;
    }
}

/* Puts rows [outer, n] back where assay_eval_rows took them from. */
static void unrow(const assay_tensor *x, uint32_t axes, const double *rows, double *dst) {
    int64_t shape[ASSAY_RANK_MAX], to[ASSAY_RANK_MAX], from[ASSAY_RANK_MAX];
    uint32_t at = 0;
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < x->rank; i++) {
            if (((axes >> i & 1) != 0) != (pass == 1)) continue;
            shape[at] = x->shape[i];
            to[at++] = x->stride[i];
        }
    assay_strides(x->rank, shape, from);
    assay_copy_strided(sizeof(double), x->rank, shape, dst, to, rows, from);
}

static assay_status eval(assay_eval *ev, assay_error *err) {
    const assay_tensor *x = assay_eval_in(ev, "x"), *gamma = assay_eval_in(ev, "gamma"), *beta = assay_eval_in(ev, "beta");
    norm_job j = { .k = ev->k, .epsilon = assay_arg_number(ev->op, "epsilon", 1e-5) };
    int64_t outer;
    uint32_t axes;
    ASSAY_TRY(assay_axes(ev->op, "axes", x->rank, &axes, err));
    j.x = assay_eval_rows(ev, x, axes, &outer, &j.n, err);
    j.y = assay_eval_scratch(ev, (uint64_t)assay_tensor_count(x), sizeof(double), err);
    double *dst = assay_eval_dst_f64(ev, 0, err);
    if (gamma && !(j.gamma = assay_eval_as(ev, gamma, ASSAY_F64, err))) return ASSAY_E_NOMEM;
    if (beta && !(j.beta = assay_eval_as(ev, beta, ASSAY_F64, err))) return ASSAY_E_NOMEM;
    if (!j.x || !j.y || !dst) return ASSAY_E_NOMEM;
    if (j.n > 0) assay_eval_parallel(ev, outer, j.n, norm_row, &j);
    unrow(x, axes, j.y, dst);
    assay_eval_put_f64(ev, 0, dst);
    return ASSAY_OK;
}

static const assay_op_param params[] = { ASSAY_X("fp", "tensor"), { "axes", "int", NULL, ASSAY_ARG_CONST, "normalised axes, default all" }, { "gamma", "fp", NULL, 0, "factor" },
    { "beta", "fp", NULL, 0, "offset" }, { "epsilon", "fp", "1e-5", ASSAY_ARG_CONST, "added to the variance" }, ASSAY_END };
static const assay_op_def def_layer_norm = { "layer_norm", "zero mean and unit variance along axes", "CoreML5", 0, params, infer, NULL, eval };
static const assay_op_def *const defs[] = { &def_layer_norm, NULL };
const assay_op_family assay_ops_norm = { defs };
