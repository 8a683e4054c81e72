/* corroboration.h: what the parts of the gate share. A rail has three states in a sample: not sampled, zero, non-zero. */
#ifndef ASSAY_GATE_CORROBORATION_H
#define ASSAY_GATE_CORROBORATION_H
#include <assay/gate.h>
#include <cjson/cJSON.h>
#include <stdbool.h>

/* Samples of one power log, counted by the state of the Neural Engine rail. */
typedef struct rail_counts {
    double samples, not_sampled, zero, nonzero, peak_mw; /* peak: NaN when nothing was sampled */
} rail_counts;

/* All samples of a log, or (intervals not NULL) those that predictions fill to at least min_cover. */
rail_counts corroboration_count(const cJSON *log, const cJSON *intervals, double min_cover);
/* Are both of one machine and OS build? Unknown equals nothing. */
bool corroboration_same_host(const cJSON *a, const cJSON *b);
bool corroboration_same_boot(const cJSON *a, const cJSON *b);
#endif
