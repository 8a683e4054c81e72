/* gates/latency/ask.h: what the gate asks for, step by step: device tables and the A/A pilot, then the run that the pilot allows, and
 * a probe of two layers where the prize needs one. Judging examines the same evidence again and comes to the same plan. */
#ifndef ASSAY_LATENCY_ASK_H
#define ASSAY_LATENCY_ASK_H
#include "latency.h"

enum { LAT_NAME = 80, LAT_FIXTURES_MAX = 64 };
typedef struct latency {
    const assay_math_1 *math;
    const assay_host *host;
    const assay_params *params;
    lat_params p;
    lat_question question;
    char arm[LAT_NAME], control[LAT_NAME], probe_arm[LAT_NAME], probe_control[LAT_NAME];
    char fixtures[LAT_FIXTURES_MAX][LAT_NAME]; uint32_t n_fixtures;
    double warmup_min, warmup_s, max_wait, gap_ms;
    bool watched;
} latency;

/* What the pilots and the device tables say. */
typedef struct lat_standing {
    lat_pilot pilot; unsigned runs;              /* the last pilot; 0 runs: none yet, or it failed */
    bool failed, disturbed, again, biased;       /* disturbed: guards dropped more than half of a pilot; again: the only pilot differs, a second one is due; biased: two differ */
    lat_size size;
    lat_prize prize;
} lat_standing;
assay_status lat_examine(const latency *g, const assay_evidence *ev, lat_standing *out, assay_error *err);
assay_status lat_needs(void *self, const assay_evidence *so_far, const assay_request *req, assay_error *err);
#endif
