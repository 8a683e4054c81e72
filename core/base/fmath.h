/* base/fmath.h: elementary functions with the same bits on every machine: only + - * / sqrt, fma, compare, convert.
 * libm's transcendental functions are banned (a lint in tests/ checks it); Lua's math table gets these too.
 * Accuracy: at most 1 ulp (double; tested against stored high-precision values), special values as in C99 Annex F. */
#ifndef ASSAY_BASE_FMATH_H
#define ASSAY_BASE_FMATH_H
double assay_exp(double x);
double assay_expm1(double x);
double assay_log(double x);
double assay_log1p(double x);
double assay_log2(double x);
double assay_log10(double x);
double assay_pow(double x, double y);
double assay_sin(double x);
double assay_cos(double x);
double assay_tan(double x);
double assay_asin(double x);
double assay_acos(double x);
double assay_atan(double x);
double assay_atan2(double y, double x);
double assay_sinh(double x);
double assay_cosh(double x);
double assay_tanh(double x);
double assay_erf(double x);
double assay_erfc(double x);
double assay_lgamma(double x);                                       /* x > 0 */
double assay_normal_quantile(double p);                              /* Phi^-1, 0 < p < 1 */
double assay_normal_cdf(double x);
/* Checks round-to-nearest, no flush-to-zero, FLT_EVAL_METHOD 0. Returns 0 and names the fault when it is off. */
int assay_fp_mode_ok(const char **why);
void assay_fp_mode_set(void);                                        /* default IEEE environment for this thread */
#endif
