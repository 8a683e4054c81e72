/* batch_norm, instance_norm, local_response_norm, prelu: ops with a parameter per channel (axis 1), in float64, one rounding. */
#include "ops/builtin.h"
#include "ops/eval.h"
#include "base/fmath.h"
#include <math.h>
#include <string.h>

static assay_status infer(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out, assay_error *err) {
    static const char *const keys[] = { "mean", "variance", "gamma", "beta", NULL };
    assay_shape x, s;
    char a[160];
    ASSAY_TRY(assay_infer_same(p, op, out, n_out, err));
    assay_arg_shape(op, "x", 0, &x);
    if (x.rank < 2) return assay_op_fail(err, op, "x %s must be [N, C, ...]", assay_shape_print(&x, a));
    for (const char *const *k = keys; *k; k++)
        if (assay_arg_shape(op, *k, 0, &s) && !(s.rank == 1 && assay_dims_agree(s.d[0], x.d[1])))
            return assay_op_fail(err, op, "%s %s must have one entry a channel", *k, assay_shape_print(&s, a));
    return ASSAY_OK;
}

typedef struct channels { const double *x, *mean, *variance, *gamma, *beta; double *y; double epsilon; int64_t n, c, plane; const assay_kernels *k; } channels;

static const double *per_channel(assay_eval *ev, const char *key, assay_status *s, assay_error *err) {
    const assay_tensor *t = assay_eval_in(ev, key);
    if (!t) return NULL;
    const double *p = assay_eval_as(ev, t, ASSAY_F64, err);
    if (!p) *s = ASSAY_E_NOMEM;
    return p;
}

static assay_status read_channels(assay_eval *ev, channels *c, assay_error *err) {
    const assay_tensor *x = assay_eval_in(ev, "x");
    assay_status s = ASSAY_OK;
    *c = (channels){ .n = x->shape[0], .c = x->shape[1], .plane = 1, .k = ev->k, .epsilon = assay_arg_number(ev->op, "epsilon", 1e-5) };
    for (uint32_t i = 2; i < x->rank; i++) c->plane *= x->shape[i];
    c->mean = per_channel(ev, "mean", &s, err);
    c->variance = per_channel(ev, "variance", &s, err);
    bool affine = ev->op->type[0] != 'l';                               /* in local_response_norm beta is an exponent */
    c->gamma = affine ? per_channel(ev, "gamma", &s, err) : NULL;
    c->beta = affine ? per_channel(ev, "beta", &s, err) : NULL;
    c->x = assay_eval_as(ev, x, ASSAY_F64, err);
    c->y = assay_eval_dst_f64(ev, 0, err);
    return c->x && c->y ? s : ASSAY_E_NOMEM;
}

static void normalise(const channels *c, int64_t at, double mean, double variance) {
    int64_t ch = at % c->c;
    const double *x = c->x + at * c->plane;
    double *y = c->y + at * c->plane, inv = 1 / sqrt(variance + c->epsilon);
    for (int64_t i = 0; i < c->plane; i++) {
        double v = (x[i] - mean) * inv;
        if (c->gamma) v *= c->gamma[ch];
        y[i] = c->beta ? v + c->beta[ch] : v;
    }
}

static assay_status eval_batch(assay_eval *ev, assay_error *err) {
    channels c;
    ASSAY_TRY(read_channels(ev, &c, err));
    for (int64_t at = 0; at < c.n * c.c; at++) normalise(&c, at, c.mean[at % c.c], c.variance[at % c.c]);
    assay_eval_put_f64(ev, 0, c.y);
    return ASSAY_OK;
}

static assay_status eval_instance(assay_eval *ev, assay_error *err) {
    channels c;
    ASSAY_TRY(read_channels(ev, &c, err));
    for (int64_t at = 0; at < c.n * c.c; at++) {
        const double *x = c.x + at * c.plane;
        double *y = c.y + at * c.plane, mean = c.k->sum_f64(x, c.plane) / (double)c.plane;
        for (int64_t i = 0; i < c.plane; i++) y[i] = (x[i] - mean) * (x[i] - mean);
        normalise(&c, at, mean, c.k->sum_f64(y, c.plane) / (double)c.plane);
    }
    assay_eval_put_f64(ev, 0, c.y);
    return ASSAY_OK;
}

/* x / (k + alpha / size * sum of squares over `size` channels around it)^beta */
static assay_status infer_response(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out, assay_error *err) {
    ASSAY_TRY(assay_infer_same(p, op, out, n_out, err));
    if (out[0]->rank < 2 || assay_arg_int(op, "size", 1) < 1) return assay_op_fail(err, op, "x must be [N, C, ...] and size positive");
    return ASSAY_OK;
}

static assay_status eval_response(assay_eval *ev, assay_error *err) {
    channels c;
    ASSAY_TRY(read_channels(ev, &c, err));
    int64_t size = assay_arg_int(ev->op, "size", 1), before = (size - 1) / 2;
    double alpha = assay_arg_number(ev->op, "alpha", 1e-4), beta = assay_arg_number(ev->op, "beta", 0.75), k = assay_arg_number(ev->op, "k", 1);
    for (int64_t n = 0; n < c.n; n++)
        for (int64_t ch = 0; ch < c.c; ch++)
            for (int64_t i = 0; i < c.plane; i++) {
                double sum = 0;
                for (int64_t o = ch - before; o < ch - before + size; o++) {
                    if (o < 0 || o >= c.c) continue;
                    double v = c.x[(n * c.c + o) * c.plane + i];
                    sum += v * v;
                }
                int64_t at = (n * c.c + ch) * c.plane + i;
                c.y[at] = c.x[at] / assay_pow(k + alpha / (double)size * sum, beta);
            }
    assay_eval_put_f64(ev, 0, c.y);
    return ASSAY_OK;
}

/* ---- prelu */
static assay_status infer_prelu(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out, assay_error *err) {
    assay_shape x, a;
    ASSAY_TRY(infer(p, op, out, n_out, err));
    assay_arg_shape(op, "x", 0, &x);
    assay_arg_shape(op, "alpha", 0, &a);
    return a.rank == 1 && assay_dims_agree(a.d[0], x.d[1]) ? ASSAY_OK : assay_op_fail(err, op, "alpha must have one entry a channel");
}

static void map_prelu(const void *ctx, const double *const *in, double *out, int64_t n) {
    (void)ctx;
    for (int64_t i = 0; i < n; i++) out[i] = in[0][i] >= 0 ? in[0][i] : in[0][i] * in[1][i];
}

static assay_status eval_prelu(assay_eval *ev, assay_error *err) {
    const assay_tensor *x = assay_eval_in(ev, "x"), *a = assay_eval_in(ev, "alpha");
    int64_t shape[ASSAY_RANK_MAX] = { a->shape[0], 1, 1, 1, 1, 1, 1, 1 };
    assay_tensor alpha = assay_tensor_view(a->dtype, x->rank - 1, shape, a->data), *out = assay_eval_out(ev, 0, err);
    const assay_tensor *in[2] = { x, &alpha };
    return out ? assay_map(ev, in, 2, out, map_prelu, NULL, err) : ASSAY_E_NOMEM;
}

#define CHANNEL(name, need) { name, "fp", NULL, need, "[C]" }
#define SCALAR(name, def) { name, "fp", def, ASSAY_ARG_CONST, name }
static const assay_op_param p_batch[] = { ASSAY_X("fp", "[N, C, ...]"), CHANNEL("mean", ASSAY_ARG_REQUIRED), CHANNEL("variance", ASSAY_ARG_REQUIRED), CHANNEL("gamma", 0), CHANNEL("beta", 0), SCALAR("epsilon", "1e-5"), ASSAY_END };
static const assay_op_param p_instance[] = { ASSAY_X("fp", "[N, C, ...]"), CHANNEL("gamma", 0), CHANNEL("beta", 0), SCALAR("epsilon", "1e-5"), ASSAY_END };
static const assay_op_param p_response[] = { ASSAY_X("fp", "[N, C, ...]"), { "size", "int", NULL, ASSAY_ARG_REQUIRED | ASSAY_ARG_CONST, "channels in the sum" }, SCALAR("alpha", "1e-4"), SCALAR("beta", "0.75"), SCALAR("k", "1"), ASSAY_END };
static const assay_op_param p_prelu[] = { ASSAY_X("fp", "[N, C, ...]"), CHANNEL("alpha", ASSAY_ARG_REQUIRED), ASSAY_END };
static const assay_op_def def_batch = { "batch_norm", "given mean and variance of each channel removed", "CoreML5", 0, p_batch, infer, NULL, eval_batch };
static const assay_op_def def_instance = { "instance_norm", "own mean and variance of each channel removed", "CoreML5", 0, p_instance, infer, NULL, eval_instance };
static const assay_op_def def_response = { "local_response_norm", "divided by the energy of neighbouring channels", "CoreML5", 0, p_response, infer_response, NULL, eval_response };
static const assay_op_def def_prelu = { "prelu", "x, alpha[channel] x below 0", "CoreML5", 0, p_prelu, infer_prelu, NULL, eval_prelu };
static const assay_op_def *const defs[] = { &def_batch, &def_instance, &def_response, &def_prelu, NULL };
const assay_op_family assay_ops_channel_norm = { defs };
