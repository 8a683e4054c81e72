/* run/gather.h: turns what a gate asks for into items of evidence, from the plan and the evidence of one host. */
#ifndef ASSAY_RUN_GATHER_H
#define ASSAY_RUN_GATHER_H
#include "run/trial.h"

typedef struct assay_gather {
    const assay_plan *plan; const char *host;    /* host NULL: no evidence yet */
    assay_json *asked;                           /* [{role, label, kind, arm, arm_b, fixture, perturb, record, trial, origin, state}] */
    assay_json *missing;                         /* jobs without a folder, in the order they were asked for */
} assay_gather;
void assay_gather_open(assay_gather *g, const assay_plan *p, const char *host);
void assay_gather_close(assay_gather *g);
/* Adds the item to `set`, or the job to `missing`. Evidence whose digest differs from what its trial.json says is an error. */
assay_status assay_gather_need(assay_gather *g, const assay_need *n, assay_evidence_set *set, assay_error *err);
/* Adds copies of the jobs in `more` that `jobs` does not hold yet, by id. */
void assay_jobs_add(assay_json *jobs, const assay_json *more);
/* Asks the gate until it asks nothing new or something is missing (at most 8 rounds), then, when nothing is missing, judges.
 * The answer: {asked, missing, said: [what the gate logged as information while asking], verdict | null,
 * error: {message} | absent}. `error` is the gate's own failure; a failure of
 * evidence or disk is the status. */
assay_status assay_gate_round(const assay_plan *p, const char *host, const assay_registry *r, size_t gate, bool information,
                              assay_json **answer, assay_error *err);
/* The needs of gate i with no evidence at all: [{role, label, kind, arm, fixture, perturb, record}]. Used while planning. */
assay_status assay_gate_first_needs(const assay_json *plan, const assay_registry *r, size_t gate, assay_json **needs, assay_error *err);
/* Loads the Lua gates of the plan from its scripts/ folder. */
assay_status assay_plan_load_gates(const assay_plan *p, assay_registry *r, assay_error *err);
/* 8 rounds of architecture.md section 1. */
enum { ASSAY_ROUNDS_MAX = 8 };
#endif
