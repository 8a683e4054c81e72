/* base/fmath_trig.c: sin, cos, tan: x reduced by pi/2 in exact integer arithmetic, then Taylor series on [-pi/4, pi/4]. */
#include "base/fmath.h"
#include "base/fmath_internal.h"
#include "base/fmath_tables.h"

typedef struct wide { uint64_t hi, mid, lo; } wide;                  /* 192 bits */

/* 64 x 64 -> 128 bits in 32-bit pieces. */
static void multiply(uint64_t a, uint64_t b, uint64_t *hi, uint64_t *lo) {
    const uint64_t al = a & 0xffffffffu, ah = a >> 32, bl = b & 0xffffffffu, bh = b >> 32;
    const uint64_t ll = al * bl, lh = al * bh, hl = ah * bl;
    const uint64_t mid = (ll >> 32) + (lh & 0xffffffffu) + (hl & 0xffffffffu);
    *lo = mid << 32 | (ll & 0xffffffffu);
    *hi = ah * bh + (lh >> 32) + (hl >> 32) + (mid >> 32);
}

/* 64 bits of 2/pi from bit `at` of the table. */
static uint64_t bits_at(unsigned at) {
    const unsigned word = at / 64, shift = at % 64;
    return shift ? TWO_OVER_PI[word] << shift | TWO_OVER_PI[word + 1] >> (64 - shift) : TWO_OVER_PI[word];
}

/* x * 2/pi modulo 4 for finite x >= pi/4: two bits before the binary point, 190 after. Bits of 2/pi whose product with x is
 * a multiple of 4 are left out; so are those beyond the 192nd, which leaves an error below 2^-136 (Payne and Hanek's idea;
 * no double comes nearer than about 2^-62 to a multiple of pi/2). */
static wide turns(double x) {
    const uint64_t m = (bits_of(x) & 0xfffffffffffffu) | 0x10000000000000u;
    const int e = (int)(bits_of(x) >> 52) - 1075;                    /* x = m 2^e */
    const unsigned at = (unsigned)(64 + e - 2);
    uint64_t h0, l0, h1, l1, h2, l2;
    multiply(m, bits_at(at), &h0, &l0);
    multiply(m, bits_at(at + 64), &h1, &l1);
    multiply(m, bits_at(at + 128), &h2, &l2);
    wide w = { l0 + h1, l1 + h2, l2 };
    w.hi += w.mid < l1;                                              /* the carry of the middle word */
    return w;
}

/* r in [-pi/4, pi/4] with x = r + quadrant * pi/2 for |x|; x finite. */
static dd reduce(double x, unsigned *quadrant) {
    const double a = fabs(x);
    *quadrant = 0;
    if (a < 0x1.921fb54442d18p-1) return dd_of(a);
    wide w = turns(a);
    *quadrant = (unsigned)(w.hi >> 62);
    w = (wide){ w.hi << 2 | w.mid >> 62, w.mid << 2 | w.lo >> 62, w.lo << 2 };
    const bool above = w.hi >> 63;                                   /* more than half a quadrant: count from the next one */
    if (above) {
        *quadrant = (*quadrant + 1) & 3;
        w = (wide){ ~w.hi, ~w.mid, ~w.lo };                          /* one unit in 2^-192 off: far below what is kept */
    }
    dd f = { 0, 0 };
    const uint64_t words[3] = { w.lo, w.mid, w.hi };
    double unit = 0x1p-192;
    for (int i = 0; i < 3; i++, unit *= 0x1p64) {
        f = dd_add(dd_of((double)(words[i] & 0xffffffffu) * unit), f);
        f = dd_add(dd_of((double)(words[i] >> 32) * (unit * 0x1p32)), f);
    }
    f = dd_mul(f, HALF_PI);
    return above ? dd_neg(f) : f;
}

/* r - r^3/6 + ...; the cubic and what follows is at most an eighth of the result. */
static dd sin_series(dd r) {
    static const double c[] = { -1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880, -1.0 / 39916800, 1.0 / 6227020800.0, -1.0 / 1307674368000.0,
                                1.0 / 355687428096000.0, -1.0 / 121645100408832000.0 };
    const double z = r.h * r.h;
    const double t = r.h * z * horner(c, 9, z);
    return quick_sum(r.h, t + r.l * (1 - 0.5 * z));
}

/* 1 - r^2/2 + r^4/24 - ...; the square is kept exactly. */
static dd cos_series(dd r) {
    static const double c[] = { 1.0 / 24, -1.0 / 720, 1.0 / 40320, -1.0 / 3628800, 1.0 / 479001600, -1.0 / 87178291200.0, 1.0 / 20922789888000.0,
                                -1.0 / 6402373705728000.0, 1.0 / 2432902008176640000.0 };
    const dd q = two_prod(r.h, r.h), s = quick_sum(1, -0.5 * q.h);
    return quick_sum(s.h, s.l + (q.h * q.h * horner(c, 9, q.h) - (0.5 * q.l + r.h * r.l)));
}

double assay_sin(double x) {
    if (!isfinite(x)) return isnan(x) ? x + x : (double)NAN;
    if (fabs(x) < 0x1p-27) return x;
    unsigned quadrant;
    const dd r = reduce(x, &quadrant), s = quadrant & 1 ? cos_series(r) : sin_series(r);
    const double v = s.h + s.l;
    return (quadrant & 2) != 0 ? (x < 0 ? v : -v) : (x < 0 ? -v : v);
}

double assay_cos(double x) {
    if (!isfinite(x)) return isnan(x) ? x + x : (double)NAN;
    if (fabs(x) < 0x1p-27) return 1;
    unsigned quadrant;
    const dd r = reduce(x, &quadrant), s = quadrant & 1 ? sin_series(r) : cos_series(r);
    const double v = s.h + s.l;
    return quadrant == 1 || quadrant == 2 ? -v : v;
}

double assay_tan(double x) {
    if (!isfinite(x)) return isnan(x) ? x + x : (double)NAN;
    if (fabs(x) < 0x1p-27) return x;
    unsigned quadrant;
    const dd r = reduce(x, &quadrant), s = sin_series(r), c = cos_series(r);
    const dd t = quadrant & 1 ? dd_neg(dd_div(c, s)) : dd_div(s, c);
    const double v = t.h + t.l;
    return x < 0 ? -v : v;
}
