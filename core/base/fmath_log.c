/* base/fmath_log.c: logarithms and powers: ln(2^e m) = e ln 2 - ln c + ln(1 + r) with c from a table and r = m c - 1. */
#include "base/fmath.h"
#include "base/fmath_internal.h"
#include "base/fmath_tables.h"

/* |x.h| in a binade of its own: x = 2^e * m. Returns m c - 1 (|r| < 2^-7) as a double-double. */
static dd reduce(dd x, int *e, int *row) {
    const uint64_t u = bits_of(x.h);
    const int i = (int)(u >> 45 & 127), up = i >= 53;                /* 1 + 53/128 is where m is halved */
    *row = i;
    *e = (int)(u >> 52) - 1023 + up;
    const double unit = from_bits((uint64_t)(1023 - up) << 52), c = LOG_128[i].c;
    const double m = from_bits((u & 0xfffffffffffffu) | (uint64_t)(1023 - up) << 52);
    const double mh = from_bits(bits_of(m) & ~(uint64_t)0x1fffff), ml = m - mh;
    const double below = x.l == 0 ? 0 : x.l * unit / from_bits(u & 0x7ff0000000000000u);
    const dd r = two_sum(mh * c - 1, ml * c);                        /* both products are exact: 32 + 10 bits, 21 + 10 bits */
    return quick_sum(r.h, r.l + below * c);
}

dd assay_log_core(dd x) {
    static const double c[] = { 1.0 / 3, -1.0 / 4, 1.0 / 5, -1.0 / 6, 1.0 / 7, -1.0 / 8, 1.0 / 9, -1.0 / 10, 1.0 / 11 };
    int e, i;
    const dd r = reduce(x, &e, &i), q = two_prod(r.h, r.h);
    const double tail = q.h * r.h * horner(c, 9, r.h);               /* below 2^-22 */
    const dd a = two_sum(e * LN2_H, LOG_128[i].minus_log.h), b = two_sum(a.h, r.h), d = two_sum(b.h, -0.5 * q.h);
    const double low = (a.l + b.l + d.l) + (e * LN2_L + LOG_128[i].minus_log.l) + (r.l - (0.5 * q.l + r.h * r.l) + tail);
    return quick_sum(d.h, low);
}

/* True when the answer is settled by the argument alone: NaN, zero, negative, infinity. Scales subnormals up by 2^54. */
static bool special(double *x, double *answer, int *shift) {
    *shift = 0;
    if (isnan(*x)) *answer = *x + *x;
    else if (*x == 0) *answer = -(double)INFINITY;
    else if (*x < 0) *answer = (double)NAN;
    else if (isinf(*x)) *answer = *x;
    else {
        if (*x < 0x1p-1022) {
            *x *= 0x1p54;
            *shift = -54;
        }
        return false;
    }
    return true;
}

double assay_log(double x) {
    double answer;
    int shift;
    if (special(&x, &answer, &shift)) return answer;
    dd s = assay_log_core(dd_of(x));
    if (shift) s = dd_add(s, dd_add(dd_of(shift * LN2_H), dd_of(shift * LN2_L)));
    return s.h + s.l;
}

double assay_log1p(double x) {
    if (isnan(x) || x == (double)INFINITY) return x + x;
    if (!(x > -1)) return x == -1 ? -(double)INFINITY : (double)NAN;
    if (fabs(x) < 0x1p-54) return x;
    const dd s = assay_log_core(two_sum(1, x));
    return s.h + s.l;
}

double assay_log2(double x) {
    double answer;
    int shift;
    if (special(&x, &answer, &shift)) return answer;
    int e = (int)(bits_of(x) >> 52) - 1023;
    double m = from_bits((bits_of(x) & 0xfffffffffffffu) | 0x3ff0000000000000u);
    if (m > 1.4142) {                                                /* keeps ln m small where x is just below a power of two */
        m *= 0.5;
        e++;
    }
    const dd s = dd_add(dd_of(e + shift), dd_mul(assay_log_core(dd_of(m)), INV_LN2));
    return s.h + s.l;
}

double assay_log10(double x) {
    double answer;
    int shift;
    if (special(&x, &answer, &shift)) return answer;
    dd s = assay_log_core(dd_of(x));
    if (shift) s = dd_add(s, dd_add(dd_of(shift * LN2_H), dd_of(shift * LN2_L)));
    s = dd_mul(s, INV_LN10);
    return s.h + s.l;
}

/* ---- pow ---- */

typedef enum parity { NOT_WHOLE, EVEN, ODD } parity;

static parity parity_of(double y) {
    const double a = fabs(y);
    if (!(a < 0x1p53)) return EVEN;                                  /* infinity counts as even, as in C99 */
    if (a != floor(a)) return NOT_WHOLE;
    return fmod(a, 2) == 1 ? ODD : EVEN;
}

static double pow_special(double x, double y, parity odd) {
    if (isnan(x) || isnan(y)) return x + y;
    const double a = fabs(x);
    if (isinf(y)) return a == 1 ? 1 : (a > 1) == (y > 0) ? (double)INFINITY : 0;
    const bool large = (fabs(x) > 1) == (y > 0);                         /* zero to a negative power is infinite as well */
    const double v = large ? (double)INFINITY : 0;
    return odd == ODD && signbit(x) ? -v : v;
}

double assay_pow(double x, double y) {
    if (y == 0 || x == 1) return 1;
    const parity odd = parity_of(y);
    if (isnan(x) || isnan(y) || isinf(x) || isinf(y) || x == 0) return pow_special(x, y, odd);
    if (x < 0 && odd == NOT_WHOLE) return (double)NAN;
    double a = fabs(x);
    const double sign = x < 0 && odd == ODD ? -1 : 1;
    if (a == 1) return sign;
    int shift = 0, k;
    if (a < 0x1p-1022) {
        a *= 0x1p54;
        shift = -54;
    }
    dd l = assay_log_core(dd_of(a));
    if (shift) l = dd_add(l, dd_add(dd_of(shift * LN2_H), dd_of(shift * LN2_L)));
    const double rough = l.h * y;
    if (rough > 710) return sign * (double)INFINITY;
    if (rough < -746) return sign * 0.0;
    if (fabs(y) < 0x1p-500) return sign * (1 + rough);
    const dd m = assay_exp_core(dd_mul(l, dd_of(y)), &k);
    return sign * scale2(m.h + m.l, k);
}
