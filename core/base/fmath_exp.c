/* base/fmath_exp.c: exp and its relatives: exp(x) = 2^k 2^(j/64) exp(r) with |r| <= ln 2/128. */
#include "base/fmath.h"
#include "base/fmath_internal.h"
#include "base/fmath_tables.h"

/* The nearest whole number of (ln 2)/64 in x: adding 1.5 * 2^52 leaves the rounded value in the low bits. */
static double nearest_step(double x) { return (x * 0x1.71547652b82fep+6 + 0x1.8p52) - 0x1.8p52; }

double assay_exp(double x) {
    if (!(x < 709.79)) return isnan(x) ? x + x : x > 709.7827128933840 ? (double)INFINITY : assay_exp(709.7827128933840);
    if (x < -745.2) return 0;
    if (fabs(x) < 0x1p-54) return 1 + x;
    const double n = nearest_step(x);
    const int whole = (int)n, j = whole & 63;
    const double a = x - n * LN2_64_1, b = n * LN2_64_2, r = a - b, rest = ((a - r) - b) - n * LN2_64_3;
    const double s = r + rest;
    const double p = s + s * s * (0.5 + s * (1.0 / 6 + s * (1.0 / 24 + s * (1.0 / 120 + s * (1.0 / 720)))));
    const dd t = EXP2_64[j];
    return scale2(t.h + (t.l + t.h * p), (whole - j) / 64);
}

/* exp(r) - 1 for |r| <= ln 2/128: the first two terms as double-doubles, the rest is below 2^-25. */
static dd expm1_small(dd r) {
    static const double c[] = { 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320 };
    const dd q = two_prod(r.h, r.h), s = quick_sum(r.h, 0.5 * q.h);
    const double rest = r.l + (0.5 * q.l + (r.h * r.l + q.h * r.h * horner(c, 6, r.h)));
    return quick_sum(s.h, s.l + rest);
}

dd assay_exp_core(dd x, int *k) {
    const double n = nearest_step(x.h);
    const int whole = (int)n, j = whole & 63;
    dd r = two_sum(x.h - n * LN2_64_1, -(n * LN2_64_2));
    r = quick_sum(r.h, r.l + (x.l - n * LN2_64_3));
    const dd p = expm1_small(r), t = EXP2_64[j], m = two_prod(t.h, p.h), s = quick_sum(t.h, m.h);
    *k = (whole - j) / 64;
    return quick_sum(s.h, s.l + (m.l + (t.h * p.l + (t.l + t.l * p.h))));
}

dd assay_expm1_core(dd x) {
    if (fabs(x.h) < 0.0054) return expm1_small(x);
    int k;
    const dd m = assay_exp_core(x, &k);
    const double scale = scale2(1, k);
    return dd_add(dd_scale(m, scale), dd_of(-1));
}

double assay_expm1(double x) {
    if (isnan(x)) return x + x;
    if (fabs(x) < 0x1p-54) return x;
    if (x > 44) return assay_exp(x);
    if (x < -44) return -1;
    const dd e = assay_expm1_core(dd_of(x));
    return e.h + e.l;
}

/* exp(x)/2 for x from 20 up: finite a little beyond the range of exp. */
static double half_exp(double x) {
    if (!(x < 711)) return x + (double)INFINITY;
    int k;
    const dd m = assay_exp_core(dd_of(x), &k);
    return scale2(m.h + m.l, k - 1);
}

double assay_sinh(double x) {
    const double a = fabs(x);
    if (!(a >= 0x1p-28)) return isnan(x) ? x + x : x;
    if (a > 22) return copysign(half_exp(a), x);
    const dd e = assay_expm1_core(dd_of(a)), s = dd_add(e, dd_div(e, dd_add(e, dd_of(1))));
    return copysign(0.5 * (s.h + s.l), x);
}

double assay_cosh(double x) {
    const double a = fabs(x);
    if (isnan(x)) return x + x;
    if (a > 22) return half_exp(a);
    int k;
    dd m = assay_exp_core(dd_of(a), &k);
    m = dd_scale(m, scale2(1, k));
    const dd s = dd_add(m, dd_div(dd_of(1), m));
    return 0.5 * (s.h + s.l);
}

double assay_tanh(double x) {
    const double a = fabs(x);
    if (!(a >= 0x1p-28)) return isnan(x) ? x + x : x;
    if (a > 20) return copysign(1, x);
    const dd e = assay_expm1_core(dd_of(2 * a)), s = dd_div(e, dd_add(e, dd_of(2)));
    return copysign(s.h + s.l, x);
}
