/* base/fmath_mode.c: the floating-point environment that every judged number is computed in, and the check that it holds. */
#include "base/fmath.h"
#include <fenv.h>
#include <float.h>
#include <stddef.h>

int assay_fp_mode_ok(const char **why) {
    const char *fault = NULL;
    volatile double least = DBL_MIN, least_subnormal = 0x1p-1074;
    volatile float least_single = FLT_MIN, subnormal_single = 0x1p-149f;
    if (FLT_EVAL_METHOD != 0) fault = "FLT_EVAL_METHOD is not 0";
    else if (fegetround() != FE_TONEAREST) fault = "rounding is not to nearest";
    else if (least * 0.5 == 0 || least_single * 0.5f == 0) fault = "subnormal results are flushed to zero";
    else if (least_subnormal * 0x1p60 == 0 || subnormal_single * 0x1p60f == 0) fault = "subnormal operands are read as zero";
    if (why) *why = fault;
    return fault == NULL;
}

void assay_fp_mode_set(void) { fesetenv(FE_DFL_ENV); }
