/* power.h: what a fixture can show. Figures of attention on its query, key and value (and mask), from a sample of the query rows. */
#ifndef ASSAY_GATES_POWER_H
#define ASSAY_GATES_POWER_H
#include "assay/math.h"
#include "similarity.h"

typedef struct power_inputs {
    const assay_metrics_1 *m;
    const assay_math_1 *math;
    const assay_tensor *q, *k, *v; /* [..., tokens, width]; equal leading axes, the last of them heads (k, v may have fewer), the first batch */
    const assay_tensor *mask;      /* NULL, or [..., queries, keys]: bool (true takes part) or added to the scores */
} power_inputs;

/* Undefined figures are NaN: no head axis, one batch row, no mask. Distances are norms relative to the output's. */
typedef struct power_figures {
    double *head_logit_sd; /* per head, over all batches; power_free */
    uint64_t heads, nonfinite; /* nonfinite: values of query, key and value that are no finite numbers */
    double logit_sd_median;  /* over (batch, head): sd of the scores within a row, rms over rows */
    double predicted_cosine; /* of scale applied twice: exp(-(a-b)^2/2) with a, b in units of the median */
    double entropy_share;    /* mean entropy of a row over log(keys that take part): 1 = uniform */
    double common_mode;      /* share of V that is its token mean: norm over norm */
    double dead_rows;        /* share of rows that have no key, or whose output is below 2^-10 of the rms row */
    double scale_response;   /* change of the output for a small relative change of the scale */
    double scale_twice;      /* change of the output when the scale is applied twice */
    double head_distance, batch_distance, token_distance; /* change of the output when heads, batch rows, tokens move on by one */
    double qk_asymmetry;     /* of the scores against their transpose, relative to their own size about the mean */
    double masked_share;     /* of the (query, key) pairs */
    double masked_weight;    /* mean probability that the masked keys of a row get when the mask is ignored */
    double mask_asymmetry;   /* share of the mask's entries that differ from their transpose */
} power_figures;
/* ASSAY_E_INPUT when the shapes do not belong together. Release with power_free, also after an error. */
assay_status power_figures_of(const power_inputs *in, power_figures *out, assay_error *err);
void power_free(power_figures *f);
#endif
