/* Elementwise functions of two tensors with broadcasting: arithmetic, comparison, logic; and select. */
#include "ops/builtin.h"
#include "ops/eval.h"
#include "base/fmath.h"
#include <math.h>

static const char *const keys[] = { "x", "y", NULL };

static assay_status broadcast_shapes(const assay_mil_op *op, const char *a, const char *b, assay_shape *out, assay_error *err) {
    assay_shape x, y;
    char tx[160], ty[160];
    assay_arg_shape(op, a, 0, &x);
    assay_arg_shape(op, b, 0, &y);
    if (assay_shape_broadcast(&x, &y, out)) return ASSAY_OK;
    return assay_op_fail(err, op, "%s %s and %s %s do not broadcast", a, assay_shape_print(&x, tx), b, assay_shape_print(&y, ty));
}

static assay_status same_dtype(const assay_mil_op *op, const char *a, const char *b, assay_error *err) {
    int32_t x = assay_arg_dtype(op, a), y = assay_arg_dtype(op, b);
    if (x == y) return ASSAY_OK;
    return assay_op_fail(err, op, "%s is %s but %s is %s (add a cast)", a, assay_mil_dtype_name(x), b, assay_mil_dtype_name(y));
}

static assay_status infer_binary(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out, assay_error *err) {
    (void)n_out;
    assay_shape s;
    ASSAY_TRY(assay_op_check_args(op, err));
    ASSAY_TRY(same_dtype(op, "x", "y", err));
    ASSAY_TRY(broadcast_shapes(op, "x", "y", &s, err));
    out[0] = assay_shape_type(p, assay_arg_dtype(op, "x"), &s);
    return ASSAY_OK;
}

static assay_status infer_compare(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out, assay_error *err) {
    assay_shape s = { 0 };
    ASSAY_TRY(infer_binary(p, op, out, n_out, err));
    ASSAY_TRY(broadcast_shapes(op, "x", "y", &s, err));
    out[0] = assay_shape_type(p, ASSAY_MIL_BOOL, &s);
    return ASSAY_OK;
}

#define Y(types) { "y", types, NULL, ASSAY_ARG_REQUIRED, "tensor" }
static const assay_op_param p_num[] = { ASSAY_X("num", "tensor"), Y("num"), ASSAY_END };
static const assay_op_param p_any[] = { ASSAY_X("num|bool", "tensor"), Y("num|bool"), ASSAY_END };
static const assay_op_param p_bool[] = { ASSAY_X("bool", "tensor"), Y("bool"), ASSAY_END };

#define BINARY(NAME, PARAMS, INFER, EXPR, TEXT)                                                         \
    static void map_##NAME(const void *ctx, const double *const *in, double *out, int64_t n) {          \
        (void)ctx;                                                                                      \
        for (int64_t i = 0; i < n; i++) { const double x = in[0][i], y = in[1][i]; out[i] = (EXPR); }   \
    }                                                                                                   \
    static assay_status eval_##NAME(assay_eval *ev, assay_error *err) { return assay_map_args(ev, keys, map_##NAME, NULL, err); } \
    static const assay_op_def def_##NAME = { #NAME, TEXT, "CoreML5", 0, PARAMS, INFER, NULL, eval_##NAME }

/* The remainder has the sign of the divisor. Repeated subtraction by fmod is exact. */
static double modulo(double x, double y) {
    double r = fmod(x, y);
    return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

BINARY(add, p_num, infer_binary, x + y, "x + y");
BINARY(sub, p_num, infer_binary, x - y, "x - y");
BINARY(mul, p_num, infer_binary, x * y, "x y");
BINARY(real_div, p_num, infer_binary, x / y, "x / y");
BINARY(floor_div, p_num, infer_binary, floor(x / y), "floor(x / y)");
BINARY(mod, p_num, infer_binary, modulo(x, y), "remainder with the sign of y");
BINARY(pow, p_num, infer_binary, assay_pow(x, y), "x to the y");
BINARY(maximum, p_num, infer_binary, x != x || x > y ? x : y, "the larger; NaN wins");
BINARY(minimum, p_num, infer_binary, x != x || x < y ? x : y, "the smaller; NaN wins");
BINARY(equal, p_any, infer_compare, x == y ? 1 : 0, "x = y");
BINARY(not_equal, p_any, infer_compare, x != y ? 1 : 0, "x not equal y");
BINARY(greater, p_num, infer_compare, x > y ? 1 : 0, "x > y");
BINARY(greater_equal, p_num, infer_compare, x >= y ? 1 : 0, "x >= y");
BINARY(less, p_num, infer_compare, x < y ? 1 : 0, "x < y");
BINARY(less_equal, p_num, infer_compare, x <= y ? 1 : 0, "x <= y");
BINARY(logical_and, p_bool, infer_compare, x != 0 && y != 0 ? 1 : 0, "both");
BINARY(logical_or, p_bool, infer_compare, x != 0 || y != 0 ? 1 : 0, "either");
BINARY(logical_xor, p_bool, infer_compare, (x != 0) != (y != 0) ? 1 : 0, "one of the two");

/* ---- select */
static assay_status infer_select(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out, assay_error *err) {
    (void)n_out;
    assay_shape ab, c, s;
    ASSAY_TRY(assay_op_check_args(op, err));
    ASSAY_TRY(same_dtype(op, "a", "b", err));
    ASSAY_TRY(broadcast_shapes(op, "a", "b", &ab, err));
    assay_arg_shape(op, "cond", 0, &c);
    if (!assay_shape_broadcast(&c, &ab, &s)) return assay_op_fail(err, op, "cond does not broadcast with a and b");
    out[0] = assay_shape_type(p, assay_arg_dtype(op, "a"), &s);
    return ASSAY_OK;
}

static void map_select(const void *ctx, const double *const *in, double *out, int64_t n) {
    (void)ctx;
    for (int64_t i = 0; i < n; i++) out[i] = in[0][i] != 0 ? in[1][i] : in[2][i];
}

static assay_status eval_select(assay_eval *ev, assay_error *err) {
    static const char *const three[] = { "cond", "a", "b", NULL };
    return assay_map_args(ev, three, map_select, NULL, err);
}

static const assay_op_param p_select[] = { { "cond", "bool", NULL, ASSAY_ARG_REQUIRED, "where to take a" }, { "a", "num|bool", NULL, ASSAY_ARG_REQUIRED, "taken where true" },
    { "b", "num|bool", NULL, ASSAY_ARG_REQUIRED, "taken where false" }, ASSAY_END };
static const assay_op_def def_select = { "select", "a where cond, else b", "CoreML5", 0, p_select, infer_select, NULL, eval_select };

static const assay_op_def *const defs[] = { &def_add, &def_sub, &def_mul, &def_real_div, &def_floor_div, &def_mod, &def_pow, &def_maximum,
    &def_minimum, &def_equal, &def_not_equal, &def_greater, &def_greater_equal, &def_less, &def_less_equal, &def_logical_and, &def_logical_or,
    &def_logical_xor, &def_select, NULL };
const assay_op_family assay_ops_binary = { defs };
