/* second.h: attention a second time, written from the definition of one element and sharing nothing with the executor. */
#ifndef ASSAY_GATES_SECOND_H
#define ASSAY_GATES_SECOND_H
#include "assay/math.h"
#include "similarity.h"

typedef struct second {
    const assay_metrics_1 *m;
    const assay_math_1 *math;
    const assay_tensor *q, *k, *v; /* [..., heads, tokens, width]; see sim_head_copies */
    const assay_tensor *mask;      /* NULL, or [..., queries, keys] with leading axes that repeat: bool, or added to the scores */
    double scale;                  /* of the scores; NaN: 1/sqrt(width) */
    int64_t rows;                  /* evenly spaced query rows of every head that are computed; 0: all */
} second;
typedef struct second_answer {
    double worst, rms; /* largest difference, and the rms of the answer; a NaN on both sides agrees */
    int64_t at, rows;  /* flat C index of the largest difference (-1: none), number of rows that were computed */
} second_answer;
/* Compares with `output` ([..., tokens, width of v]). ASSAY_E_INPUT when shapes do not belong together. */
assay_status second_compare(const second *in, const assay_tensor *output, second_answer *out, assay_error *err);
#endif
