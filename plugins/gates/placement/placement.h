/* placement.h: what the parts of the placement gate share. Four fields are kept apart: requested units, supported devices,
 * preferred device, and observed device (never known from a plan). Unknown is a state of its own: never CPU, never a pass. */
#ifndef ASSAY_GATE_PLACEMENT_H
#define ASSAY_GATE_PLACEMENT_H
#include <assay/gate.h>
#include <assay/program.h>
#include <stdbool.h>
#include <stddef.h>
#include <cjson/cJSON.h>

enum { OPS_MAX = 32, MARKERS_MAX = 32 };

typedef struct settings {
    const char *arm, *control, *device_name;
    int32_t device; /* ASSAY_DEV_... that the ops of interest must prefer */
    const char *ops[OPS_MAX];
    uint32_t n_ops;
    int64_t max_unknown;
    double min_match;
    const assay_program_1 *program; /* NULL: the host has no such interface */
    const char *markers[MARKERS_MAX];
    uint32_t n_markers;
} settings;

typedef struct report {
    const assay_finding *f;
    assay_verdict worst; /* of everything judged so far; 0: nothing yet */
    bool invalid;
} report;

/* Figures of one plan, or summed over a sweep. */
typedef struct counts {
    double computing, not_counted, on_ne, supported_on_ne, on_device, unknown, cost, cost_on_ne, segments;
} counts;

/* gate.c */
void placement_reason(report *r, const char *code, const char *where, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
void placement_invalid(report *r, const char *code, const char *where, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void placement_verdict(report *r, assay_verdict v); /* the worse one stays */
const char *placement_verdict_name(assay_verdict v);
/* plan.c: one plan against the settings; `where` names it in reasons; the op rows of interest go to `table`. `control` (may be
 * NULL) is the control's plan: it makes an unknown device of the candidate a kill where the control does get the device (M49). */
const char *placement_device_name(int32_t dev);
bool placement_is_computing(const assay_op_row *row);
void placement_count(const assay_item *plan, const settings *s, counts *c);
assay_verdict placement_judge_plan(const assay_item *plan, const assay_item *control, const settings *s, const char *where,
                                   report *r, cJSON *table);
/* flow.c: adds the plan's segments (runs of ops on one device) to *segments, and a row per layer to `layers`. */
void placement_flow(const assay_item *plan, const settings *s, double *segments, cJSON *layers);
/* join.c: share of ops that were found on both sides, and edges of the data flow that cross devices; NaN: undefined. */
typedef struct placement_match {
    double rate, crossings;
} placement_match;
placement_match placement_join(const assay_program_1 *iface, const assay_program *program, const assay_item *plan);
/* compare.c */
void placement_check_policy(const assay_item *plan, const assay_item *control, const char *where, report *r);
void placement_moved(const assay_item *before, const assay_item *plan, cJSON *list);
void placement_refusals(const cJSON *doc, const char *where, report *r);
/* run.c: a probe's exit, signal, artifact and stderr. */
assay_verdict placement_judge_run(const assay_item *run, const char *stderr_text, const settings *s, report *r);
#endif
