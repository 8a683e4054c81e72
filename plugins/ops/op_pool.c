/* max_pool, avg_pool, l2_pool: a window over the spatial axes of each channel, in float64, one rounding. */
#include "ops/builtin.h"
#include "ops/eval.h"
#include "ops/window.h"
#include <math.h>
#include <string.h>

static assay_status pool_window(const assay_mil_op *op, const assay_shape *x, assay_window *w, assay_error *err) {
    char a[160];
    if (x->rank < 3 || x->rank > 2 + ASSAY_SPATIAL_MAX) return assay_op_fail(err, op, "x %s must be [N, C, 1 to 3 spatial]", assay_shape_print(x, a));
    *w = (assay_window){ .n = x->rank - 2 };
    if (assay_arg_ints(op, "kernel_sizes", w->kernel, ASSAY_SPATIAL_MAX) != (int)w->n)
        return assay_op_fail(err, op, "kernel_sizes must list %u sizes", w->n);
    for (uint32_t i = 0; i < w->n; i++) {
        w->in[i] = x->d[2 + i];
        if (w->kernel[i] < 1 || w->kernel[i] > INT32_MAX) return assay_op_fail(err, op, "kernel_sizes has the size %lld", (long long)w->kernel[i]);
    }
    return assay_window_read(op, w, assay_arg_bool(op, "ceil_mode", false), err);
}

static assay_status infer(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out, assay_error *err) {
    (void)n_out;
    assay_shape x;
    assay_window w;
    ASSAY_TRY(assay_op_check_args(op, err));
    assay_arg_shape(op, "x", 0, &x);
    ASSAY_TRY(pool_window(op, &x, &w, err));
    memcpy(&x.d[2], w.out, w.n * sizeof *x.d);
    out[0] = assay_shape_type(p, assay_arg_dtype(op, "x"), &x);
    return ASSAY_OK;
}

enum { POOL_MAX, POOL_AVG, POOL_L2 };
typedef struct pool_job { const assay_window *w; const int64_t *at; const double *x; double *y; int64_t plane, outs, taps; int kind; bool exclude; } pool_job;

static double pool_one(const pool_job *j, const double *x, int64_t out) {
    double acc = j->kind == POOL_MAX ? -(double)INFINITY : 0;
    int64_t inside = 0;
    for (int64_t t = 0; t < j->taps; t++) {
        int64_t at = j->at[t * j->outs + out];
        if (at < 0) continue;
        double v = x[at];
        inside++;
        if (j->kind == POOL_MAX) acc = v != v || v > acc ? v : acc;
        else acc += j->kind == POOL_L2 ? v * v : v;
    }
    if (j->kind == POOL_L2) return sqrt(acc);
    return j->kind == POOL_MAX ? acc : acc / (double)(j->exclude ? inside : j->taps);
}

static void pool_channel(void *ctx, uint64_t c, uint32_t worker) {
    const pool_job *j = ctx;
    (void)worker;
    for (int64_t o = 0; o < j->outs; o++) j->y[(int64_t)c * j->outs + o] = pool_one(j, j->x + (int64_t)c * j->plane, o);
}

static assay_status eval(assay_eval *ev, assay_error *err) {
    const assay_tensor *x = assay_eval_in(ev, "x");
    assay_shape s = { x->rank, { 0 } };
    assay_window w;
    memcpy(s.d, x->shape, sizeof s.d);
    ASSAY_TRY(pool_window(ev->op, &s, &w, err));
    pool_job j = { .w = &w, .plane = 1, .outs = assay_window_outputs(&w), .taps = assay_window_taps(&w) };
    j.kind = ev->op->type[0] == 'm' ? POOL_MAX : ev->op->type[0] == 'a' ? POOL_AVG : POOL_L2;
    j.exclude = assay_arg_bool(ev->op, "exclude_padding_from_average", false);
    for (uint32_t i = 0; i < w.n; i++) j.plane *= w.in[i];
    int64_t *at = assay_eval_scratch(ev, (uint64_t)(j.outs * j.taps), sizeof *at, err);
    j.x = assay_eval_as(ev, x, ASSAY_F64, err);
    j.y = assay_eval_dst_f64(ev, 0, err);
    if (!at || !j.x || !j.y) return ASSAY_E_NOMEM;
    for (int64_t t = 0; t < j.taps; t++)
        for (int64_t o = 0; o < j.outs; o++) at[t * j.outs + o] = assay_window_at(&w, o, t);
    j.at = at;
    assay_eval_parallel(ev, x->shape[0] * x->shape[1], j.outs * j.taps, pool_channel, &j);
    assay_eval_put_f64(ev, 0, j.y);
    return ASSAY_OK;
}

#define POOL_PARAMS ASSAY_X("fp", "[N, C, spatial...]"), { "kernel_sizes", "int", NULL, ASSAY_ARG_REQUIRED | ASSAY_ARG_CONST, "window" }, \
    { "strides", "int", NULL, ASSAY_ARG_CONST, "default 1" }, { "pad_type", "str", "\"valid\"", ASSAY_ARG_CONST, "valid, same, same_lower or custom" }, \
    { "pad", "int", NULL, ASSAY_ARG_CONST, "before, after of each spatial axis" }, { "ceil_mode", "bool", "false", ASSAY_ARG_CONST, "count a last incomplete window" }
static const assay_op_param p_pool[] = { POOL_PARAMS, ASSAY_END };
static const assay_op_param p_avg[] = { POOL_PARAMS, { "exclude_padding_from_average", "bool", "false", ASSAY_ARG_CONST, "divide by the elements inside" }, ASSAY_END };
static const assay_op_def def_max = { "max_pool", "largest element of a window", "CoreML5", 0, p_pool, infer, NULL, eval };
static const assay_op_def def_avg = { "avg_pool", "mean of a window", "CoreML5", 0, p_avg, infer, NULL, eval };
static const assay_op_def def_l2 = { "l2_pool", "root of the sum of squares of a window", "CoreML5", 0, p_pool, infer, NULL, eval };
static const assay_op_def *const defs[] = { &def_max, &def_avg, &def_l2, NULL };
const assay_op_family assay_ops_pool = { defs };
