/* base/fmath_dd.h: sums of two doubles ("double-double", about 106 bits) from plain additions and multiplications, so that the
 * bits are the same on every machine. Classical error-free transformations of Dekker, Knuth and Veltkamp; |h| is at least 2^53
 * times |l| unless said otherwise. Magnitudes must stay below 2^990 and products of low parts above the subnormal range. */
#ifndef ASSAY_BASE_FMATH_DD_H
#define ASSAY_BASE_FMATH_DD_H
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef struct dd { double h, l; } dd;

static inline uint64_t bits_of(double x) { uint64_t u; memcpy(&u, &x, sizeof u); return u; }
static inline double from_bits(uint64_t u) { double x; memcpy(&x, &u, sizeof x); return x; }

/* a + b exactly; quick_sum needs |a| >= |b|. */
static inline dd quick_sum(double a, double b) { double s = a + b; return (dd){ s, b - (s - a) }; }
static inline dd two_sum(double a, double b) {
    double s = a + b, t = s - a;
    return (dd){ s, (a - (s - t)) + (b - t) };
}

/* a * b exactly. */
static inline dd two_prod(double a, double b) {
    double p = a * b, ca = 134217729.0 * a, cb = 134217729.0 * b;    /* 2^27 + 1 splits 53 bits into 26 and 27 */
    double ah = ca - (ca - a), al = a - ah, bh = cb - (cb - b), bl = b - bh;
    return (dd){ p, ((ah * bh - p) + ah * bl + al * bh) + al * bl };
}

static inline dd dd_add(dd a, dd b) {
    dd s = two_sum(a.h, b.h), t = two_sum(a.l, b.l);
    s = quick_sum(s.h, s.l + t.h);
    return quick_sum(s.h, s.l + t.l);
}
static inline dd dd_neg(dd a) { return (dd){ -a.h, -a.l }; }
static inline dd dd_sub(dd a, dd b) { return dd_add(a, dd_neg(b)); }
static inline dd dd_mul(dd a, dd b) {
    dd p = two_prod(a.h, b.h);
    return quick_sum(p.h, p.l + (a.h * b.l + a.l * b.h));
}
static inline dd dd_scale(dd a, double power_of_two) { return (dd){ a.h * power_of_two, a.l * power_of_two }; }
static inline dd dd_div(dd a, dd b) {
    double q = a.h / b.h;
    dd p = two_prod(q, b.h);
    return quick_sum(q, (((a.h - p.h) - p.l) + a.l - q * b.l) / b.h);
}
static inline dd dd_sqrt(dd a) {
    if (!(a.h > 0)) return (dd){ 0, 0 };
    double s = sqrt(a.h);
    dd p = two_prod(s, s);
    return quick_sum(s, (((a.h - p.h) - p.l) + a.l) / (2 * s));
}
static inline dd dd_of(double x) { return (dd){ x, 0 }; }

/* v * 2^k with one rounding; v is 0 or of magnitude about 1, -1200 < k < 1200. */
static inline double scale2(double v, int k) {
    if (k > 1000) return v * 0x1p1000 * from_bits((uint64_t)(k - 1000 + 1023) << 52);
    if (k < -1000) return v * from_bits((uint64_t)(k + 200 + 1023) << 52) * 0x1p-200;
    return v * from_bits((uint64_t)(k + 1023) << 52);
}

/* c[0] + c[1] x + ... + c[n-1] x^(n-1) */
static inline double horner(const double *c, int n, double x) {
    double s = c[n - 1];
    for (int i = n - 2; i >= 0; i--) s = s * x + c[i];
    return s;
}
#endif
