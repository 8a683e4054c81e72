/* Elementary functions: within 1 ulp of stored values, special values of C99 Annex F, order, and the floating-point mode. */
#include "suite.h"
#include "base/digest.h"
#include "base/fmath.h"
#include "fmath_vectors.h"
#include <fenv.h>
#include <math.h>
#include <stdbool.h>

typedef double function(double);
#define COUNT(a) (sizeof(a) / sizeof *(a))
static const double INF = (double)INFINITY, NOT = (double)NAN;

/* Error in units of the last place of the true value; subnormals have the least unit. */
static double ulps(double got, const vector *v) {
    const double a = fabs(v->value), unit = a < 0x1p-1022 ? 0x1p-1074 : nextafter(a, INF) - a;
    return fabs((got - v->value) - v->rest) / unit;
}

static void within_one_ulp(const char *name, double worst, const vector *at) {
    if (!(worst <= 1)) printf("%s(%a, %a) is %.3f ulp off ", name, at->x, at->y, worst);
    CU_ASSERT(worst <= 1);
}

#define CHECK(f)                                                                       \
    do {                                                                               \
        double worst = 0;                                                              \
        const vector *at = f##_vectors;                                                \
        for (size_t i = 0; i < COUNT(f##_vectors); i++) {                              \
            double e = ulps(assay_##f(f##_vectors[i].x), &f##_vectors[i]);             \
            if (!(e <= worst)) { worst = e; at = &f##_vectors[i]; }                    \
        }                                                                              \
        within_one_ulp(#f, worst, at);                                                 \
    } while (0)

static void exponentials_are_within_one_ulp(void) {
    CHECK(exp); CHECK(expm1); CHECK(sinh); CHECK(cosh); CHECK(tanh);
}
static void logarithms_are_within_one_ulp(void) {
    CHECK(log); CHECK(log1p); CHECK(log2); CHECK(log10);
}
static void circular_functions_are_within_one_ulp(void) {
    CHECK(sin); CHECK(cos); CHECK(tan); CHECK(asin); CHECK(acos); CHECK(atan);
}
static void error_functions_are_within_one_ulp(void) {
    CHECK(erf); CHECK(erfc); CHECK(normal_cdf); CHECK(normal_quantile); CHECK(lgamma);
}
static void two_argument_functions_are_within_one_ulp(void) {
    for (size_t i = 0; i < COUNT(pow_vectors); i++) within_one_ulp("pow", ulps(assay_pow(pow_vectors[i].x, pow_vectors[i].y), &pow_vectors[i]), &pow_vectors[i]);
    for (size_t i = 0; i < COUNT(atan2_vectors); i++)
        within_one_ulp("atan2", ulps(assay_atan2(atan2_vectors[i].x, atan2_vectors[i].y), &atan2_vectors[i]), &atan2_vectors[i]);
}

/* ---- special values ---- */

static bool same(double a, double b) { return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b)); }

static void special_values_are_those_of_annex_f(void) {
    static const struct { const char *name; function *f; double x, y; } rows[] = {
        { "exp", assay_exp, 0, 1 }, { "exp", assay_exp, -(double)INFINITY, 0 }, { "exp", assay_exp, (double)INFINITY, (double)INFINITY }, { "exp", assay_exp, 710, (double)INFINITY },
        { "exp", assay_exp, -746, 0 }, { "exp", assay_exp, (double)NAN, (double)NAN }, { "exp", assay_exp, 709.7827128933841, (double)INFINITY },
        { "exp", assay_exp, -745.1332191019411, 0x1p-1074 },
        { "expm1", assay_expm1, -0.0, -0.0 }, { "expm1", assay_expm1, -(double)INFINITY, -1 }, { "expm1", assay_expm1, 1e4, (double)INFINITY }, { "expm1", assay_expm1, 5e-324, 5e-324 },
        { "log", assay_log, 1, 0 }, { "log", assay_log, 0, -(double)INFINITY }, { "log", assay_log, -0.0, -(double)INFINITY }, { "log", assay_log, -1, (double)NAN },
        { "log", assay_log, (double)INFINITY, (double)INFINITY }, { "log1p", assay_log1p, -1, -(double)INFINITY }, { "log1p", assay_log1p, -2, (double)NAN }, { "log1p", assay_log1p, -0.0, -0.0 },
        { "log2", assay_log2, 1, 0 }, { "log2", assay_log2, 0x1p-1074, -1074 }, { "log2", assay_log2, 0x1p1023, 1023 }, { "log10", assay_log10, 1e15, 15 }, { "log10", assay_log10, 1e-3, -3 },
        { "sin", assay_sin, -0.0, -0.0 }, { "sin", assay_sin, (double)INFINITY, (double)NAN }, { "cos", assay_cos, 0, 1 }, { "cos", assay_cos, -(double)INFINITY, (double)NAN }, { "tan", assay_tan, -0.0, -0.0 },
        { "asin", assay_asin, -0.0, -0.0 }, { "asin", assay_asin, 1.0000001, (double)NAN }, { "acos", assay_acos, 1, 0 }, { "acos", assay_acos, 2, (double)NAN },
        { "atan", assay_atan, -0.0, -0.0 }, { "atan", assay_atan, -(double)INFINITY, -0x1.921fb54442d18p+0 },
        { "sinh", assay_sinh, -0.0, -0.0 }, { "sinh", assay_sinh, -1000, -(double)INFINITY }, { "cosh", assay_cosh, -1000, (double)INFINITY }, { "cosh", assay_cosh, 0, 1 },
        { "tanh", assay_tanh, -0.0, -0.0 }, { "tanh", assay_tanh, -(double)INFINITY, -1 }, { "erf", assay_erf, -0.0, -0.0 }, { "erf", assay_erf, (double)INFINITY, 1 }, { "erf", assay_erf, -7, -1 },
        { "erfc", assay_erfc, (double)INFINITY, 0 }, { "erfc", assay_erfc, -(double)INFINITY, 2 }, { "erfc", assay_erfc, 0, 1 }, { "erfc", assay_erfc, 28.5, 0 },
        { "lgamma", assay_lgamma, 1, 0 }, { "lgamma", assay_lgamma, 2, 0 }, { "lgamma", assay_lgamma, 0, (double)INFINITY }, { "lgamma", assay_lgamma, -1.5, (double)NAN },
        { "lgamma", assay_lgamma, (double)INFINITY, (double)INFINITY }, { "lgamma", assay_lgamma, 1.7e308, (double)INFINITY },
        { "normal_cdf", assay_normal_cdf, 0, 0.5 }, { "normal_cdf", assay_normal_cdf, -(double)INFINITY, 0 }, { "normal_cdf", assay_normal_cdf, (double)INFINITY, 1 },
        { "normal_quantile", assay_normal_quantile, 0.5, 0 }, { "normal_quantile", assay_normal_quantile, 0, -(double)INFINITY }, { "normal_quantile", assay_normal_quantile, 1, (double)INFINITY },
        { "normal_quantile", assay_normal_quantile, 1.5, (double)NAN }, { "normal_quantile", assay_normal_quantile, -1, (double)NAN },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        double got = rows[i].f(rows[i].x);
        if (!same(got, rows[i].y)) printf("%s(%a) = %a, %a wanted ", rows[i].name, rows[i].x, got, rows[i].y);
        CU_ASSERT(same(got, rows[i].y));
        CU_ASSERT(isnan(rows[i].f(NOT)));
    }
}

static void pow_follows_annex_f(void) {
    static const struct { double x, y, want; } rows[] = {
        { 0, 0, 1 }, { (double)NAN, 0, 1 }, { 1, (double)NAN, 1 }, { 2, (double)NAN, (double)NAN }, { -1, (double)INFINITY, 1 }, { 0.5, (double)INFINITY, 0 }, { 2, -(double)INFINITY, 0 },
        { -2, (double)INFINITY, (double)INFINITY }, { 0.5, -(double)INFINITY, (double)INFINITY }, { 0, -1, (double)INFINITY }, { -0.0, -1, -(double)INFINITY }, { -0.0, -2, (double)INFINITY },
        { -0.0, 3, -0.0 }, { -0.0, 4, 0 }, { 0, 2.5, 0 }, { -(double)INFINITY, 3, -(double)INFINITY }, { -(double)INFINITY, -3, -0.0 }, { -(double)INFINITY, 0.5, (double)INFINITY },
        { (double)INFINITY, -0.1, 0 }, { -8, 1.0 / 3, (double)NAN }, { -2, 3, -8 }, { -2, -2, 0.25 }, { 2, 10, 1024 }, { 3, 5, 243 }, { 10, 3, 1000 }, { 2, 1024, (double)INFINITY },
        { 2, -1074, 0x1p-1074 }, { 2, -1080, 0 }, { -2, 1025, -(double)INFINITY }, { -2, -1081, -0.0 }, { 1.5, 1e300, (double)INFINITY }, { 0.5, 1e300, 0 }, { 2, 5e-324, 1 }, { -1, 1e300, 1 },
        { -1, 9007199254740991.0, -1 },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        double got = assay_pow(rows[i].x, rows[i].y);
        if (!same(got, rows[i].want)) printf("pow(%a, %a) = %a ", rows[i].x, rows[i].y, got);
        CU_ASSERT(same(got, rows[i].want));
    }
    const double pi = 0x1.921fb54442d18p+1;
    CU_ASSERT(same(assay_atan2(0, -1), pi) && same(assay_atan2(-0.0, -1), -pi) && same(assay_atan2(-0.0, 1), -0.0) && same(assay_atan2(0, -0.0), pi));
    CU_ASSERT(same(assay_atan2(1, 0), pi / 2) && same(assay_atan2(-1, -0.0), -pi / 2) && same(assay_atan2(INF, -INF), 0.75 * pi) && same(assay_atan2(-INF, 3), -pi / 2));
    CU_ASSERT(same(assay_atan2(-1, INF), -0.0) && same(assay_atan2(1, -INF), pi) && isnan(assay_atan2(NOT, 1)) && isnan(assay_atan2(1, NOT)));
}

/* ---- order ---- */

static void rises(const char *name, function *f, double from, double to, double direction) {
    double last = direction * f(from);
    for (int i = 1; i <= 20000; i++) {
        double x = from + (to - from) * i / 20000, v = direction * f(x);
        if (!(v >= last)) printf("%s turns back at %a ", name, x);
        CU_ASSERT_FATAL(v >= last);
        last = v;
    }
}

/* Close neighbours too: steps of one ulp across the joints of the pieces. */
static void rises_by_ulps(const char *name, function *f, double around, double direction) {
    double x = around;
    for (int i = 0; i < 500; i++) x = nextafter(x, -INF);
    double last = direction * f(x);
    for (int i = 0; i < 1000; i++) {
        x = nextafter(x, INF);
        double v = direction * f(x), slack = 2 * fabs(nextafter(v, INF) - v);
        if (!(v >= last - slack)) printf("%s jumps at %a ", name, x);
        CU_ASSERT_FATAL(v >= last - slack);
        last = v;
    }
}

static void monotonic_functions_keep_their_order(void) {
    rises("exp", assay_exp, -740, 700, 1);
    rises("log", assay_log, 1e-3, 100, 1);
    rises("atan", assay_atan, -50, 50, 1);
    rises("asin", assay_asin, -1, 1, 1);
    rises("acos", assay_acos, -1, 1, -1);
    rises("tanh", assay_tanh, -25, 25, 1);
    rises("erf", assay_erf, -6.5, 6.5, 1);
    rises("erfc", assay_erfc, -6, 27, -1);
    rises("lgamma", assay_lgamma, 1.5, 40, 1);
    rises("normal_quantile", assay_normal_quantile, 1e-4, 0.9999, 1);
    static const double joints[] = { 0.5, 0.5625, 1, 5.9375 };
    for (size_t i = 0; i < COUNT(joints); i++) {
        rises_by_ulps("erf", assay_erf, joints[i], 1);
        rises_by_ulps("erfc", assay_erfc, joints[i], -1);
    }
    rises_by_ulps("log", assay_log, 1, 1);
    rises_by_ulps("expm1", assay_expm1, 0.0054, 1);
    rises_by_ulps("lgamma", assay_lgamma, 12, 1);
    rises_by_ulps("lgamma", assay_lgamma, 2.5, 1);
    rises_by_ulps("normal_quantile", assay_normal_quantile, 0.25, 1);
    rises_by_ulps("atan", assay_atan, 1, 1);
}

static void odd_functions_are_odd(void) {
    static function *const odd[] = { assay_sin, assay_tan, assay_asin, assay_atan, assay_sinh, assay_tanh, assay_erf };
    for (size_t i = 0; i < COUNT(odd); i++)
        for (double x = 1e-9; x < 1; x *= 1.37) CU_ASSERT_FATAL(same(odd[i](-x), -odd[i](x)));
    for (double p = 1e-9; p < 0.5; p += 0.0123456789) CU_ASSERT(fabs(assay_normal_quantile(p) + assay_normal_quantile(1 - p)) <= 1e-6);
}

/* ---- the same bits everywhere ---- */

/* One digest over many results: the number is this project's own and must be met on every machine and compiler. */
static void the_bits_are_the_same_on_every_machine(void) {
    static function *const all[] = {
        assay_exp, assay_expm1, assay_log, assay_log1p, assay_log2, assay_log10, assay_sin, assay_cos, assay_tan, assay_asin, assay_acos, assay_atan,
        assay_sinh, assay_cosh, assay_tanh, assay_erf, assay_erfc, assay_lgamma, assay_normal_quantile, assay_normal_cdf,
    };
    assay_sha256 *s = assay_sha256_new();
    for (size_t f = 0; f < COUNT(all); f++)
        for (int i = 1; i < 2000; i++) {
            double unit = i / 2000.0, x[3] = { unit, unit * 40, -unit * 3 };
            for (int k = 0; k < 3; k++) {
                double v = all[f](x[k]);
                if (isnan(v)) v = -1;
                assay_sha256_add(s, &v, sizeof v);
            }
        }
    char hex[ASSAY_HEX];
    assay_sha256_done(s, hex);
    if (strcmp(hex, "b319a112520cc14e59d0b1eec59b817f336eac1e88f33c1966506c666e507b0e") != 0) printf("%s ", hex);
    CU_ASSERT_STRING_EQUAL(hex, "b319a112520cc14e59d0b1eec59b817f336eac1e88f33c1966506c666e507b0e");
}

static void a_wrong_mode_is_noticed(void) {
    const char *why = "";
    CU_ASSERT(assay_fp_mode_ok(&why) && why == NULL);
    fesetround(FE_UPWARD);
    CU_ASSERT(!assay_fp_mode_ok(&why));
    CU_ASSERT_STRING_EQUAL(why, "rounding is not to nearest");
    assay_fp_mode_set();
    CU_ASSERT(assay_fp_mode_ok(NULL));
#if defined(__x86_64__)
    unsigned mode = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(mode | 0x8000);
    bool flushing = assay_fp_mode_ok(&why);
    __builtin_ia32_ldmxcsr(mode | 0x0040);
    bool zeroing = assay_fp_mode_ok(NULL);
    assay_fp_mode_set();
    CU_ASSERT(!flushing && !zeroing && assay_fp_mode_ok(NULL));
#endif
}

ASSAY_SUITE("fmath", TEST(exponentials_are_within_one_ulp), TEST(logarithms_are_within_one_ulp), TEST(circular_functions_are_within_one_ulp),
            TEST(error_functions_are_within_one_ulp), TEST(two_argument_functions_are_within_one_ulp), TEST(special_values_are_those_of_annex_f),
            TEST(pow_follows_annex_f), TEST(monotonic_functions_keep_their_order), TEST(odd_functions_are_odd), TEST(the_bits_are_the_same_on_every_machine),
            TEST(a_wrong_mode_is_noticed))
