/* base/fmath_erf.c: error functions and the normal distribution. Below 1/2 the power series, above exp(-x^2) times a smooth
 * function that one Chebyshev sum covers as far as erfc is not 0. */
#include "base/fmath.h"
#include "base/fmath_internal.h"
#include "base/fmath_tables.h"

/* Sum of c[i] T_(i+1)(t) by Clenshaw's recurrence. The first DOUBLE_DOUBLE terms hold nearly all of the sum and are added up in
 * double-double: at small x a rounded t alone would cost a quarter of an ulp. */
static dd chebyshev(const dd *c, int n, dd t) {
    enum { DOUBLE_DOUBLE = 4 };
    double a = 0, b = 0;
    for (int i = n - 1; i >= DOUBLE_DOUBLE; i--) {
        const double s = c[i].h + 2 * t.h * a - b;
        b = a;
        a = s;
    }
    dd p = dd_of(a), q = dd_of(b);
    for (int i = DOUBLE_DOUBLE - 1; i >= 0; i--) {
        const dd s = dd_add(c[i], dd_sub(dd_scale(dd_mul(t, p), 2), q));
        q = p;
        p = s;
    }
    return dd_sub(dd_mul(t, p), q);
}

dd assay_erfc_core(dd x, int *k) {
    const dd t = dd_div(two_sum(x.h, -3.75), two_sum(x.h, 3.75));
    const dd smooth = dd_add(ERFC_C0, chebyshev(ERFC_C, ERFC_TERMS, t));
    const dd square = two_prod(x.h, x.h), power = quick_sum(-square.h, -(square.l + 2 * x.h * x.l));
    const dd m = assay_exp_core(power, k);
    return dd_mul(dd_div(smooth, dd_add(dd_of(1), dd_scale(x, 2))), m);
}

/* 2/sqrt(pi) x (1 - x^2/3 + x^4/10 - ...) for x < 1/2 */
static dd erf_series(dd x) {
    static const double c[] = { -1.0 / 3, 1.0 / 10, -1.0 / 42, 1.0 / 216, -1.0 / 1320, 1.0 / 9360, -1.0 / 75600, 1.0 / 685440, -1.0 / 6894720,
                                1.0 / 76204800, -1.0 / 918086400, 1.0 / 11975040000.0 };
    const double z = x.h * x.h;
    const dd k = dd_mul(dd_of(x.h), TWO_SQRT_PI);
    const double slope = TWO_SQRT_PI.h * (1 - z + 0.5 * z * z);
    return quick_sum(k.h, k.l + k.h * (z * horner(c, 12, z)) + x.l * slope);
}

dd assay_erf_core(dd x) {
    if (x.h < 0.5) return erf_series(x);
    int k;
    const dd m = assay_erfc_core(x, &k);
    return dd_sub(dd_of(1), dd_scale(m, scale2(1, k)));
}

/* erf alone, where GELU spends its time: a Taylor polynomial about the middle of a cell. */
static double erf_cell(double a) {
    const int i = (int)(a * 16);
    const double h = a - ((double)i + 0.5) / 16;
    const dd v = ERF_16[i - 8].value;
    return v.h + (v.l + h * horner(ERF_16[i - 8].c, 9, h));
}

double assay_erf(double x) {
    const double a = fabs(x);
    if (isnan(x)) return x + x;
    if (a < 0x1p-500) return TWO_SQRT_PI.h * x;
    if (a >= 6) return copysign(1, x);
    if (a >= 0.5) return copysign(erf_cell(a), x);
    const dd s = erf_series(dd_of(a));
    return copysign(s.h + s.l, x);
}

/* erfc(x) * scale, scale a power of two near 1, x not NaN. */
static double erfc_of(dd x, int scale_exponent) {
    const double scale = scale2(1, scale_exponent);
    if (fabs(x.h) < 0x1p-60) return scale * (1 - TWO_SQRT_PI.h * x.h);
    if (x.h > 28) return 0;
    if (x.h < -6.5) return scale * 2;
    if (x.h >= 0.5) {
        int k;
        const dd m = assay_erfc_core(x, &k);
        return scale2(m.h + m.l, k + scale_exponent);
    }
    const dd s = x.h < 0 ? dd_add(dd_of(1), assay_erf_core(dd_neg(x))) : dd_sub(dd_of(1), assay_erf_core(x));
    return scale * (s.h + s.l);
}

double assay_erfc(double x) { return isnan(x) ? x + x : erfc_of(dd_of(x), 0); }

/* ---- normal distribution ---- */

/* Phi(x) = erfc(-x/sqrt 2)/2; the quotient is kept as a double-double because erfc is steep in relative terms. */
double assay_normal_cdf(double x) {
    if (isnan(x)) return x + x;
    if (fabs(x) > 40) return x > 0 ? 1 : 0;
    if (fabs(x) < 0x1p-60) return 0.5;
    return erfc_of(dd_mul(dd_of(-x), SQRT_HALF), -1);
}

/* Abramowitz and Stegun 26.2.23: |error| < 4.5e-4, q below 1/2; `minus_log` = -ln q. */
static double rough_quantile(double minus_log) {
    const double t = sqrt(2 * minus_log);
    return t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
}

/* One Halley step: with u = miss/density, z moves by u/(1 - z u/2). */
static double halley(double u, double z) { return u / (1 - 0.5 * z * u); }

/* z > 0 with P(Z > z) = q, q <= 1/4. */
static double upper_tail_quantile(double q) {
    double z = rough_quantile(-assay_log(q)), step = 0;
    for (int i = 0; i < 3; i++) {
        int k;
        z += step;
        const dd tail = dd_scale(assay_erfc_core(dd_mul(dd_of(z), SQRT_HALF), &k), 0.5);
        const double wanted = scale2(q * 0x1p200, -k - 200);
        const double density = assay_exp(-0.5 * z * z + k * -0.6931471805599453) * 0.3989422804014327;
        step = halley(((tail.h - wanted) + tail.l) / density, z);
    }
    return z + step;
}

/* z with P(|Z| <= z) = s, 0 < s < 0.5: through erf, because the tail says little about a small z. */
static double central_quantile(double s) {
    double z = s < 0.1 ? s * 1.2533141373155001 : rough_quantile(-assay_log(0.5 - 0.5 * s)), step = 0;
    for (int i = 0; i < 4; i++) {
        z += step;
        const dd got = assay_erf_core(dd_mul(dd_of(z), SQRT_HALF));
        const double density = assay_exp(-0.5 * z * z) * 0.7978845608028654;
        step = halley(((s - got.h) - got.l) / density, z);
    }
    return z + step;
}

double assay_normal_quantile(double p) {
    if (!(p > 0 && p < 1)) return p == 0 ? -(double)INFINITY : p == 1 ? (double)INFINITY : (double)NAN;
    const double offset = p - 0.5, s = 2 * fabs(offset);             /* exact for p >= 1/4; elsewhere the tail is used */
    if (offset == 0) return 0;
    if (s < 0.5) return copysign(central_quantile(s), offset);
    return offset > 0 ? upper_tail_quantile(1 - p) : -upper_tail_quantile(p);
}
