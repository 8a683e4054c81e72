/* base/fmath_gamma.c: ln Gamma(x) for x > 0: a power series about 2, recurrences towards it, Stirling's series from 12 on. */
#include "base/fmath.h"
#include "base/fmath_internal.h"
#include "base/fmath_tables.h"

/* ln Gamma(2 + z), |z| <= 0.5 */
static dd about_two(double z) {
    const dd linear = dd_add(ONE_MINUS_GAMMA, dd_mul(LGAMMA_2_FIRST, dd_of(z)));
    return dd_mul(quick_sum(linear.h, linear.l + z * z * horner(LGAMMA_2, LGAMMA_TERMS, z)), dd_of(z));
}

static dd stirling(double x) {
    const double r = 1 / x;
    const dd l = assay_log_core(dd_of(x));
    const dd main_term = dd_sub(dd_mul(dd_add(dd_of(x), dd_of(-0.5)), l), dd_of(x));
    return dd_add(main_term, dd_add(LN_SQRT_2PI, dd_of(r * horner(STIRLING, 10, r * r))));
}

double assay_lgamma(double x) {
    if (isnan(x)) return x + x;
    if (!(x > 0)) return x == 0 ? (double)INFINITY : (double)NAN;
    if (isinf(x)) return x;
    if (x < 0x1p-80) return -assay_log(x);
    if (x > 0x1p60) {                                                /* x (ln x - 1): the rest is below half an ulp */
        const dd s = dd_mul(dd_of(x * 0x1p-60), dd_add(assay_log_core(dd_of(x)), dd_of(-1)));
        return (s.h + s.l) * 0x1p60;
    }
    dd s;
    if (x >= 12) s = stirling(x);
    else if (x >= 2.5) {
        dd product = dd_of(1);
        double y = x;
        while (y > 2.5) {                                            /* y - 1 is exact here */
            y -= 1;
            product = dd_mul(product, dd_of(y));
        }
        s = dd_add(about_two(y - 2), assay_log_core(product));
    } else if (x >= 1.5) s = about_two(x - 2);
    else if (x >= 0.5) s = dd_sub(about_two(x - 1), assay_log_core(dd_of(x)));
    else s = dd_sub(about_two(x), assay_log_core(dd_mul(dd_of(x), two_sum(1, x))));
    return s.h + s.l;
}
