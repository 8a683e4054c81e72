/* base/fmath_arc.c: inverse trigonometric functions, all through one atan(a/b) in double-double. */
#include "base/fmath.h"
#include "base/fmath_internal.h"
#include "base/fmath_tables.h"

/* atan of 0 <= u <= 1: a table entry at i/64 plus the series of the remaining angle, |t| <= 1/128. */
static dd atan_unit(dd u) {
    static const double c[] = { -1.0 / 3, 1.0 / 5, -1.0 / 7, 1.0 / 9 };
    const double i = floor(u.h * 64 + 0.5), node = i / 64;
    const dd up = dd_add(u, dd_of(-node)), down = dd_add(dd_of(1), dd_mul(u, dd_of(node)));
    const dd t = i == 0 ? u : dd_div(up, down);
    const double z = t.h * t.h, tail = t.h * z * horner(c, 4, z);
    const dd s = dd_add(ATAN_64[(int)i], t);
    return quick_sum(s.h, s.l + tail);
}

dd assay_atan_core(dd a, dd b) {
    if (a.h <= b.h) return atan_unit(dd_div(a, b));
    return dd_sub(HALF_PI, atan_unit(dd_div(b, a)));
}

double assay_atan(double x) {
    const double a = fabs(x);
    if (!(a >= 0x1p-27)) return isnan(x) ? x + x : x;
    if (a > 0x1p60) return copysign(HALF_PI.h, x);
    const dd s = assay_atan_core(dd_of(a), dd_of(1));
    return copysign(s.h + s.l, x);
}

/* sqrt(1 - x^2) for |x| <= 1. */
static dd other_leg(double x) { return dd_sqrt(dd_mul(two_sum(1, -x), two_sum(1, x))); }

double assay_asin(double x) {
    const double a = fabs(x);
    if (!(a <= 1)) return isnan(x) ? x + x : (double)NAN;
    if (a < 0x1p-27) return x;
    const dd s = assay_atan_core(dd_of(a), other_leg(a));
    return copysign(s.h + s.l, x);
}

double assay_acos(double x) {
    const double a = fabs(x);
    if (!(a <= 1)) return isnan(x) ? x + x : (double)NAN;
    if (a < 0x1p-60) return HALF_PI.h;
    dd s = assay_atan_core(other_leg(a), dd_of(a));
    if (x < 0) s = dd_sub(dd_scale(HALF_PI, 2), s);
    return s.h + s.l;
}

/* Exponent of a finite number that is not 0. */
static int exponent_of(double x) {
    const int e = (int)(bits_of(x) >> 52 & 2047);
    return e ? e - 1023 : (int)(bits_of(x * 0x1p54) >> 52 & 2047) - 1023 - 54;
}

/* The angle of (x, y) in the upper half plane; x and y are finite and not 0, ay = |y|. */
static double upper_angle(double ay, double x) {
    const double ax = fabs(x);
    const int ex = exponent_of(ax), gap = exponent_of(ay) - ex;
    const dd pi = dd_scale(HALF_PI, 2);
    if (gap > 60) return HALF_PI.h;
    if (gap < -60) return x > 0 ? ay / ax : pi.h;
    /* Both are brought near 1, by two factors because one could leave the range. */
    const int half = -ex / 2;
    const double f = from_bits((uint64_t)(half + 1023) << 52), g = from_bits((uint64_t)(-ex - half + 1023) << 52);
    dd s = assay_atan_core(dd_of(ay * f * g), dd_of(ax * f * g));
    if (x < 0) s = dd_sub(pi, s);
    return s.h + s.l;
}

double assay_atan2(double y, double x) {
    if (isnan(x) || isnan(y)) return x + y;
    const dd pi = dd_scale(HALF_PI, 2);
    double angle;
    if (y == 0) angle = signbit(x) ? pi.h : 0;
    else if (x == 0) angle = HALF_PI.h;
    else if (isinf(x) && isinf(y)) angle = x > 0 ? 0.5 * HALF_PI.h : 1.5 * HALF_PI.h;
    else if (isinf(y)) angle = HALF_PI.h;
    else if (isinf(x)) angle = x > 0 ? 0 : pi.h;
    else angle = upper_angle(fabs(y), x);
    return copysign(angle, y);
}
