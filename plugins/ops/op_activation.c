/* Activations: elementwise, with up to two scalar parameters alpha and beta. */
#include "ops/builtin.h"
#include "ops/eval.h"
#include "base/fmath.h"
#include <math.h>
#include <string.h>

static const char *const keys[] = { "x", NULL };
typedef struct pair { double alpha, beta; } pair;

static double sigmoid(double x) { return 1 / (1 + assay_exp(-x)); }
static double softplus(double x) { return x > 0 ? x + assay_log1p(assay_exp(-x)) : assay_log1p(assay_exp(x)); }
static double relu(double x) { return x > 0 ? x : x != x ? x : 0; }
static double at_most(double x, double top) { return x > top ? top : x; }

#define ACTIVATION(NAME, OP, PARAMS, EXPR, TEXT)                                                        \
    static void map_##NAME(const void *ctx, const double *const *in, double *out, int64_t n) {          \
        const double a = ((const pair *)ctx)->alpha, b = ((const pair *)ctx)->beta;                     \
        (void)a;                                                                                        \
        (void)b;                                                                                        \
        for (int64_t i = 0; i < n; i++) { const double x = in[0][i]; out[i] = (EXPR); }                 \
    }                                                                                                   \
    static assay_status eval_##NAME(assay_eval *ev, assay_error *err) {                                 \
        const pair c = { assay_arg_number(ev->op, "alpha", 0), assay_arg_number(ev->op, "beta", 0) };   \
        return assay_map_args(ev, keys, map_##NAME, &c, err);                                           \
    }                                                                                                   \
    static const assay_op_def def_##NAME = { OP, TEXT, "CoreML5", 0, PARAMS, assay_infer_same, NULL, eval_##NAME }

#define SCALAR(NAME, VALUE) { NAME, "fp", VALUE, ASSAY_ARG_CONST, NAME }
static const assay_op_param p_x[] = { ASSAY_X("fp", "tensor"), ASSAY_END };
static const assay_op_param p_num[] = { ASSAY_X("num", "tensor"), ASSAY_END };
static const assay_op_param p_one[] = { ASSAY_X("fp", "tensor"), SCALAR("alpha", "1"), ASSAY_END };
static const assay_op_param p_leaky[] = { ASSAY_X("fp", "tensor"), SCALAR("alpha", "0.01"), ASSAY_END };
static const assay_op_param p_two[] = { ASSAY_X("fp", "tensor"), SCALAR("alpha", "1"), SCALAR("beta", "1"), ASSAY_END };
static const assay_op_param p_line[] = { ASSAY_X("fp", "tensor"), SCALAR("alpha", "1"), SCALAR("beta", "0"), ASSAY_END };
static const assay_op_param p_hard[] = { ASSAY_X("fp", "tensor"), SCALAR("alpha", "0.2"), SCALAR("beta", "0.5"), ASSAY_END };

ACTIVATION(relu, "relu", p_num, relu(x), "max(x, 0)");
ACTIVATION(relu6, "relu6", p_x, at_most(relu(x), 6), "min(max(x, 0), 6)");
ACTIVATION(leaky_relu, "leaky_relu", p_leaky, x >= 0 ? x : a * x, "x or alpha x below 0");
ACTIVATION(clamped_relu, "clamped_relu", p_two, at_most(x >= 0 ? x : a * x, b), "leaky relu, at most beta");
ACTIVATION(thresholded_relu, "thresholded_relu", p_one, x < a ? 0 : x, "x, 0 below alpha");
ACTIVATION(sigmoid, "sigmoid", p_x, sigmoid(x), "1 / (1 + exp(-x))");
ACTIVATION(sigmoid_hard, "sigmoid_hard", p_hard, at_most(relu(a * x + b), 1), "alpha x + beta limited to [0, 1]");
ACTIVATION(silu, "silu", p_x, x * sigmoid(x), "x sigmoid(x)");
ACTIVATION(elu, "elu", p_one, x > 0 ? x : a * assay_expm1(x), "x, alpha (exp(x) - 1) below 0");
ACTIVATION(softplus, "softplus", p_x, softplus(x), "log(1 + exp(x))");
ACTIVATION(softsign, "softsign", p_x, x / (1 + fabs(x)), "x / (1 + |x|)");
ACTIVATION(linear_activation, "linear_activation", p_line, a * x + b, "alpha x + beta");
ACTIVATION(scaled_tanh, "scaled_tanh", p_two, a * assay_tanh(b * x), "alpha tanh(beta x)");

/* ---- gelu: the exact form and its two approximations */
static void gelu_exact(const void *ctx, const double *const *in, double *out, int64_t n) {
    (void)ctx;
    for (int64_t i = 0; i < n; i++) out[i] = 0.5 * in[0][i] * (1 + assay_erf(in[0][i] * 0.70710678118654752440));
}

static void gelu_tanh(const void *ctx, const double *const *in, double *out, int64_t n) {
    (void)ctx;
    for (int64_t i = 0; i < n; i++) {
        const double x = in[0][i];
        out[i] = 0.5 * x * (1 + assay_tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));   /* sqrt(2 / pi) */
    }
}

static void gelu_sigmoid(const void *ctx, const double *const *in, double *out, int64_t n) {
    (void)ctx;
    for (int64_t i = 0; i < n; i++) out[i] = in[0][i] * sigmoid(1.702 * in[0][i]);
}

static const struct { const char *mode; assay_map_fn fn; } gelu_modes[] = {
    { "EXACT", gelu_exact }, { "TANH_APPROXIMATION", gelu_tanh }, { "SIGMOID_APPROXIMATION", gelu_sigmoid } };

static assay_map_fn gelu_form(const assay_mil_op *op) {
    const char *mode = assay_arg_text(op, "mode", "EXACT");
    for (size_t i = 0; i < sizeof gelu_modes / sizeof *gelu_modes; i++)
        if (strcmp(gelu_modes[i].mode, mode) == 0) return gelu_modes[i].fn;
    return NULL;
}

static assay_status infer_gelu(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out, assay_error *err) {
    ASSAY_TRY(assay_infer_same(p, op, out, n_out, err));
    if (!gelu_form(op)) return assay_op_fail(err, op, "mode must be EXACT, TANH_APPROXIMATION or SIGMOID_APPROXIMATION");
    return ASSAY_OK;
}

static assay_status eval_gelu(assay_eval *ev, assay_error *err) { return assay_map_args(ev, keys, gelu_form(ev->op), NULL, err); }

static const assay_op_param p_gelu[] = { ASSAY_X("fp", "tensor"), { "mode", "str", "\"EXACT\"", ASSAY_ARG_CONST, "EXACT, TANH_APPROXIMATION or SIGMOID_APPROXIMATION" }, ASSAY_END };
static const assay_op_def def_gelu = { "gelu", "Gaussian error linear unit", "CoreML5", 0, p_gelu, infer_gelu, NULL, eval_gelu };

static const assay_op_def *const defs[] = { &def_relu, &def_relu6, &def_leaky_relu, &def_clamped_relu, &def_thresholded_relu, &def_sigmoid,
    &def_sigmoid_hard, &def_silu, &def_elu, &def_softplus, &def_softsign, &def_linear_activation, &def_scaled_tanh, &def_gelu, NULL };
const assay_op_family assay_ops_activation = { defs };
