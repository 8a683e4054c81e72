/* base/fmath_internal.h: the double-double cores that the elementary functions share. Relative errors are below 2^-65. */
#ifndef ASSAY_BASE_FMATH_INTERNAL_H
#define ASSAY_BASE_FMATH_INTERNAL_H
#include "base/fmath_dd.h"

/* exp(x) = m * 2^k, m in (0.9, 2.1). |x| below 800. */
dd assay_exp_core(dd x, int *k);
/* exp(x) - 1. |x| below 45. */
dd assay_expm1_core(dd x);
/* ln(x), x.h positive, finite and normal. */
dd assay_log_core(dd x);
/* atan(a/b) in [0, pi/2] for a, b >= 0, not both 0, of magnitude below 2^500 and above 2^-500 (or 0). */
dd assay_atan_core(dd a, dd b);
/* erf(x), 0 <= x < 6.5 (relative precision to 2^-54 of a small result); erfc(x) = result * 2^k, 0.5 <= x < 40. */
dd assay_erf_core(dd x);
dd assay_erfc_core(dd x, int *k);
#endif
