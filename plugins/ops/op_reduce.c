/* Reductions along axes, in float64 with the fixed lanes of kernels.h, one rounding at the end. */
#include "ops/builtin.h"
#include "ops/eval.h"
#include "base/fmath.h"
#include <math.h>
#include <string.h>

/* Reduces a row of n elements; `work` is room for n. */
typedef double (*reduce_fn)(const assay_kernels *k, const double *x, int64_t n, double *work);

static double sum(const assay_kernels *k, const double *x, int64_t n, double *work) { (void)work; return k->sum_f64(x, n); }
static double mean(const assay_kernels *k, const double *x, int64_t n, double *work) { (void)work; return k->sum_f64(x, n) / (double)n; }

static double largest(const assay_kernels *k, const double *x, int64_t n, double *work) {
    (void)k; (void)work;
    double m = -(double)INFINITY;
    for (int64_t i = 0; i < n; i++) m = x[i] != x[i] || x[i] > m ? x[i] : m;
    return m;
}

static double smallest(const assay_kernels *k, const double *x, int64_t n, double *work) {
    (void)k; (void)work;
    double m = (double)INFINITY;
    for (int64_t i = 0; i < n; i++) m = x[i] != x[i] || x[i] < m ? x[i] : m;
    return m;
}

static double prod(const assay_kernels *k, const double *x, int64_t n, double *work) {
    (void)k; (void)work;
    double p = 1;
    for (int64_t i = 0; i < n; i++) p *= x[i];
    return p;
}

static double sum_square(const assay_kernels *k, const double *x, int64_t n, double *work) {
    for (int64_t i = 0; i < n; i++) work[i] = x[i] * x[i];
    return k->sum_f64(work, n);
}

static double l1(const assay_kernels *k, const double *x, int64_t n, double *work) {
    for (int64_t i = 0; i < n; i++) work[i] = fabs(x[i]);
    return k->sum_f64(work, n);
}

static double l2(const assay_kernels *k, const double *x, int64_t n, double *work) { return sqrt(sum_square(k, x, n, work)); }
static double log_sum(const assay_kernels *k, const double *x, int64_t n, double *work) { (void)work; return assay_log(k->sum_f64(x, n)); }

static double log_sum_exp(const assay_kernels *k, const double *x, int64_t n, double *work) {
    double m = largest(k, x, n, work);
    if (!(fabs(m) < (double)INFINITY)) return m;
    for (int64_t i = 0; i < n; i++) work[i] = assay_exp(x[i] - m);
    return m + assay_log(k->sum_f64(work, n));
}

static double argmax(const assay_kernels *k, const double *x, int64_t n, double *work) {
    (void)k; (void)work;
    int64_t at = 0;
    for (int64_t i = 1; i < n; i++) at = x[i] > x[at] ? i : at;
    return (double)at;
}

static double argmin(const assay_kernels *k, const double *x, int64_t n, double *work) {
    (void)k; (void)work;
    int64_t at = 0;
    for (int64_t i = 1; i < n; i++) at = x[i] < x[at] ? i : at;
    return (double)at;
}

static const struct { const char *type; reduce_fn fn; } table[] = {
    { "reduce_sum", sum }, { "reduce_mean", mean }, { "reduce_max", largest }, { "reduce_min", smallest }, { "reduce_prod", prod },
    { "reduce_sum_square", sum_square }, { "reduce_l1_norm", l1 }, { "reduce_l2_norm", l2 }, { "reduce_log_sum", log_sum },
    { "reduce_log_sum_exp", log_sum_exp }, { "reduce_argmax", argmax }, { "reduce_argmin", argmin } };

static bool is_arg(const assay_mil_op *op) { return strncmp(op->type, "reduce_arg", 10) == 0; }

static assay_status reduced_axes(const assay_mil_op *op, uint32_t rank, uint32_t *axes, assay_error *err) {
    uint32_t a;
    if (!is_arg(op)) return assay_axes(op, "axes", rank, axes, err);
    ASSAY_TRY(assay_axis(op, "axis", assay_arg_int(op, "axis", -1), rank, &a, err));
    *axes = 1u << a;
    return ASSAY_OK;
}

static assay_status infer(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out, assay_error *err) {
    (void)n_out;
    assay_shape x, s = { 0 };
    uint32_t axes;
    ASSAY_TRY(assay_op_check_args(op, err));
    assay_arg_shape(op, "x", 0, &x);
    ASSAY_TRY(reduced_axes(op, x.rank, &axes, err));
    bool keep = assay_arg_bool(op, "keep_dims", false);
    for (uint32_t i = 0; i < x.rank; i++) {
        if (!(axes >> i & 1)) s.d[s.rank++] = x.d[i];
        else if (keep) s.d[s.rank++] = 1;
    }
    int32_t index = assay_mil_dtype_parse(assay_arg_text(op, "output_dtype", "int32"));
    if (is_arg(op) && index != ASSAY_MIL_INT32 && index != ASSAY_MIL_UINT16) return assay_op_fail(err, op, "output_dtype must be int32 or uint16");
    out[0] = assay_shape_type(p, is_arg(op) ? index : assay_arg_dtype(op, "x"), &s);
    return ASSAY_OK;
}

typedef struct reduce_job { const assay_kernels *k; reduce_fn fn; const double *x; double *work, *y; int64_t n; } reduce_job;

static void reduce_row(void *ctx, uint64_t row, uint32_t worker) {
    const reduce_job *j = ctx;
    j->y[row] = j->fn(j->k, j->x + (int64_t)row * j->n, j->n, j->work + (int64_t)worker * j->n);
}

static assay_status eval(assay_eval *ev, assay_error *err) {
    const assay_tensor *x = assay_eval_in(ev, "x");
    reduce_job j = { .k = ev->k };
    int64_t outer;
    uint32_t axes;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(table[i].type, ev->op->type) == 0) j.fn = table[i].fn;
    ASSAY_TRY(reduced_axes(ev->op, x->rank, &axes, err));
    j.x = assay_eval_rows(ev, x, axes, &outer, &j.n, err);
    j.work = assay_eval_scratch(ev, (uint64_t)j.n * ev->threads, sizeof(double), err);
    j.y = assay_eval_dst_f64(ev, 0, err);
    if (!j.x || !j.work || !j.y) return ASSAY_E_NOMEM;
    assay_eval_parallel(ev, outer, j.n, reduce_row, &j);
    assay_eval_put_f64(ev, 0, j.y);
    return ASSAY_OK;
}

static const assay_op_param p_axes[] = { ASSAY_X("num", "tensor"), { "axes", "int", NULL, ASSAY_ARG_CONST, "axes to reduce, default all" },
    { "keep_dims", "bool", "false", ASSAY_ARG_CONST, "leave axes of size 1" }, ASSAY_END };
static const assay_op_param p_axis[] = { ASSAY_X("num", "tensor"), { "axis", "int", "-1", ASSAY_ARG_CONST, "axis to search" },
    { "keep_dims", "bool", "false", ASSAY_ARG_CONST, "leave an axis of size 1" },
    { "output_dtype", "str", "\"int32\"", ASSAY_ARG_CONST, "int32 or uint16 (from iOS17)" }, ASSAY_END };
#define REDUCE(NAME, PARAMS, TEXT) static const assay_op_def def_##NAME = { "reduce_" #NAME, TEXT, "CoreML5", 0, PARAMS, infer, NULL, eval }
REDUCE(sum, p_axes, "sum");
REDUCE(mean, p_axes, "mean");
REDUCE(max, p_axes, "largest element; NaN wins");
REDUCE(min, p_axes, "smallest element; NaN wins");
REDUCE(prod, p_axes, "product");
REDUCE(sum_square, p_axes, "sum of squares");
REDUCE(l1_norm, p_axes, "sum of magnitudes");
REDUCE(l2_norm, p_axes, "root of the sum of squares");
REDUCE(log_sum, p_axes, "logarithm of the sum");
REDUCE(log_sum_exp, p_axes, "logarithm of the sum of exponentials");
REDUCE(argmax, p_axis, "index of the first largest element");
REDUCE(argmin, p_axis, "index of the first smallest element");
static const assay_op_def *const defs[] = { &def_sum, &def_mean, &def_max, &def_min, &def_prod, &def_sum_square, &def_l1_norm, &def_l2_norm,
    &def_log_sum, &def_log_sum_exp, &def_argmax, &def_argmin, NULL };
const assay_op_family assay_ops_reduce = { defs };
