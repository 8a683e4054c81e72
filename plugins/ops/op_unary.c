/* Elementwise functions of one tensor. */
#include "ops/builtin.h"
#include "ops/eval.h"
#include "base/fmath.h"
#include <math.h>

static const char *const keys[] = { "x", NULL };
static const assay_op_param p_x[] = { ASSAY_X("fp", "tensor"), ASSAY_END };
static const assay_op_param p_num[] = { ASSAY_X("num", "tensor"), ASSAY_END };
static const assay_op_param p_bool[] = { ASSAY_X("bool", "tensor"), ASSAY_END };

/* def_NAME: y = EXPR of x and the scalar parameter e (argument `epsilon`, where the table has it). */
#define UNARY(NAME, OP, PARAMS, EXPR, TEXT)                                                             \
    static void map_##NAME(const void *ctx, const double *const *in, double *out, int64_t n) {          \
        const double e = ctx ? *(const double *)ctx : 0;                                                \
        (void)e;                                                                                        \
        for (int64_t i = 0; i < n; i++) { const double x = in[0][i]; out[i] = (EXPR); }                 \
    }                                                                                                   \
    static assay_status eval_##NAME(assay_eval *ev, assay_error *err) {                                 \
        const double e = assay_arg_number(ev->op, "epsilon", 0);                                        \
        return assay_map_args(ev, keys, map_##NAME, &e, err);                                           \
    }                                                                                                   \
    static const assay_op_def def_##NAME = { OP, TEXT, "CoreML5", 0, PARAMS, assay_infer_same, NULL, eval_##NAME }

/* The epsilons that MIL adds before a pole. */
#define EPSILON(NAME, VALUE) \
    static const assay_op_param NAME[] = { ASSAY_X("fp", "tensor"), { "epsilon", "fp", VALUE, ASSAY_ARG_CONST, "added to x" }, ASSAY_END }
EPSILON(p_inverse, "0.0001");
EPSILON(p_log, "1e-45");
EPSILON(p_rsqrt, "1e-12");

UNARY(abs, "abs", p_num, fabs(x), "absolute value");
UNARY(acos, "acos", p_x, assay_acos(x), "arc cosine");
UNARY(asin, "asin", p_x, assay_asin(x), "arc sine");
UNARY(atan, "atan", p_x, assay_atan(x), "arc tangent");
UNARY(atanh, "atanh", p_x, 0.5 * assay_log1p(2 * x / (1 - x)), "inverse hyperbolic tangent");
UNARY(ceil, "ceil", p_x, ceil(x), "round up");
UNARY(cos, "cos", p_x, assay_cos(x), "cosine");
UNARY(cosh, "cosh", p_x, assay_cosh(x), "hyperbolic cosine");
UNARY(erf, "erf", p_x, assay_erf(x), "error function");
UNARY(exp, "exp", p_x, assay_exp(x), "e to the x");
UNARY(exp2, "exp2", p_num, assay_pow(2, x), "2 to the x");
UNARY(floor, "floor", p_x, floor(x), "round down");
UNARY(inverse, "inverse", p_inverse, 1 / (x + e), "1 / (x + epsilon)");
UNARY(log, "log", p_log, assay_log(x + e), "natural logarithm of x + epsilon");
UNARY(round, "round", p_x, rint(x), "round half to even");
UNARY(rsqrt, "rsqrt", p_rsqrt, 1 / sqrt(x + e), "1 / sqrt(x + epsilon)");
UNARY(sign, "sign", p_num, x > 0 ? 1 : x < 0 ? -1 : x, "-1, 0 or 1");
UNARY(sin, "sin", p_x, assay_sin(x), "sine");
UNARY(sinh, "sinh", p_x, assay_sinh(x), "hyperbolic sine");
UNARY(sqrt, "sqrt", p_x, sqrt(x), "square root");
UNARY(square, "square", p_num, x * x, "x squared");
UNARY(tan, "tan", p_x, assay_tan(x), "tangent");
UNARY(tanh, "tanh", p_x, assay_tanh(x), "hyperbolic tangent");
UNARY(logical_not, "logical_not", p_bool, x == 0 ? 1 : 0, "not");

/* clip, threshold: bounds alpha and beta; NaN stays NaN. */
typedef struct bounds { double low, high; } bounds;

static void map_clip(const void *ctx, const double *const *in, double *out, int64_t n) {
    const bounds *b = ctx;
    for (int64_t i = 0; i < n; i++) {
        const double x = in[0][i];
        out[i] = x < b->low ? b->low : x > b->high ? b->high : x;
    }
}

static assay_status eval_clip(assay_eval *ev, assay_error *err) {
    const bounds b = { assay_arg_number(ev->op, "alpha", 0), assay_arg_number(ev->op, "beta", 1) };
    return assay_map_args(ev, keys, map_clip, &b, err);
}

static assay_status eval_threshold(assay_eval *ev, assay_error *err) {
    const bounds b = { assay_arg_number(ev->op, "alpha", 0), INFINITY };
    return assay_map_args(ev, keys, map_clip, &b, err);
}

static const assay_op_param p_clip[] = { ASSAY_X("fp", "tensor"), { "alpha", "fp", NULL, ASSAY_ARG_REQUIRED | ASSAY_ARG_CONST, "lower bound" },
    { "beta", "fp", NULL, ASSAY_ARG_REQUIRED | ASSAY_ARG_CONST, "upper bound" }, ASSAY_END };
static const assay_op_param p_threshold[] = { ASSAY_X("num", "tensor"), { "alpha", "num", NULL, ASSAY_ARG_REQUIRED | ASSAY_ARG_CONST, "lower bound" }, ASSAY_END };
static const assay_op_def def_clip = { "clip", "limit to [alpha, beta]", "CoreML5", 0, p_clip, assay_infer_same, NULL, eval_clip };
static const assay_op_def def_threshold = { "threshold", "max(x, alpha)", "CoreML5", 0, p_threshold, assay_infer_same, NULL, eval_threshold };

static const assay_op_def *const defs[] = { &def_abs, &def_acos, &def_asin, &def_atan, &def_atanh, &def_ceil, &def_cos, &def_cosh, &def_erf,
    &def_exp, &def_exp2, &def_floor, &def_inverse, &def_log, &def_round, &def_rsqrt, &def_sign, &def_sin, &def_sinh, &def_sqrt, &def_square,
    &def_tan, &def_tanh, &def_logical_not, &def_clip, &def_threshold, NULL };
const assay_op_family assay_ops_unary = { defs };
