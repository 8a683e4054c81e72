/* assay/math.h: interface "assay.math/1": elementary functions with the same bits on every machine (libm's differ), and the
 * counter-based generator of assay. Use these in gates whose numbers stand in a receipt. */
#ifndef ASSAY_MATH_IFACE_H
#define ASSAY_MATH_IFACE_H
#include "types.h"
#ifdef __cplusplus
extern "C" {
#endif
#define ASSAY_MATH_1 "assay.math/1"
typedef struct assay_math_1 { uint32_t struct_size, reserved;
    double (*exp)(double); double (*log)(double); double (*log1p)(double); double (*log2)(double); double (*log10)(double);
    double (*pow)(double, double); double (*sin)(double); double (*cos)(double); double (*tanh)(double); double (*atan)(double);
    double (*erf)(double); double (*erfc)(double); double (*lgamma)(double);
    double (*normal_cdf)(double); double (*normal_quantile)(double);
    uint64_t (*stream)(const char *label);                 /* seed of a named stream */
    uint64_t (*u64)(uint64_t seed, uint64_t i);            /* draw i of a stream */
    double (*normal12)(uint64_t seed, uint64_t i);
} assay_math_1;
#ifdef __cplusplus
}
#endif
#endif
