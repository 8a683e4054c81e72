/* reference/ranges.h: how much of fp16's range each value of a run uses. */
#ifndef ASSAY_EXEC_RANGES_H
#define ASSAY_EXEC_RANGES_H
#include "backends/reference/exec.h"

typedef struct assay_range {
    char *value, *op;                            /* op "" for an input of the function */
    int32_t dtype;                               /* as held in this run */
    uint64_t elements, nonfinite;
    double max_abs;                              /* over finite elements; NaN when there is none */
    double headroom_bits;                        /* log2(65504 / max_abs): below 0 fp16 overflows; inf when max_abs is 0 */
    double subnormal_share;                      /* of the non-zero finite elements, those below 2^-14; NaN when there is none */
} assay_range;
typedef struct assay_ranges { assay_range *rows; size_t n, cap; } assay_ranges;
/* An observer for assay_exec_options; ctx is an assay_ranges. Values that are no floats, and scalar constants, are left out. */
void assay_ranges_observe(void *ctx, const assay_mil_op *op, const assay_mil_value *v, const assay_tensor *t);
void assay_ranges_free(assay_ranges *r);
#endif
