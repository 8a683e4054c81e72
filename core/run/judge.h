/* run/judge.h: from plan and evidence to a receipt. Pure: it reads the plan, the evidence of one host and the copied Lua,
 * nothing else, so the same evidence gives the same bytes anywhere. Gates are judged in worker processes.
 *
 * Rules kept here and nowhere else: gates in the order of the script; after a killing gate the later ones are not-measured
 * (unless stop = "never"); kills as data; target questions (contracts: PLAN, TIMING and RECORD evidence decides only when it is
 * the target's own, or simulated as a rehearsal); must_fail arms must be seen rejected; something must have been compared. */
#ifndef ASSAY_RUN_JUDGE_H
#define ASSAY_RUN_JUDGE_H
#include "run/gather.h"

#define ASSAY_RECEIPT_SCHEMA "assay-receipt/1"

typedef struct assay_judging assay_judging;
assay_judging *assay_judging_new(const assay_plan *p, const char *host, const char *gate_path);
void assay_judging_free(assay_judging *j);
/* Goes on as far as the evidence reaches. *missing: jobs that the first undecided gate (named by *gate) needs, borrowed until
 * the next call; NULL when everything is decided. With `partial`, gates without their evidence are not-measured
 * (`evidence_missing`) and the judging goes on. */
assay_status assay_judging_step(assay_judging *j, bool partial, const assay_json **missing, const char **gate, assay_error *err);
/* What the gate that asks for the missing jobs said about them, an array of lines; NULL: nothing. Borrowed until the next step. */
const assay_json *assay_judging_said(const assay_judging *j);
/* Appends the jobs that any gate or `compare` of the plan needs and that have no folder yet, stops and kills aside (for `trials`: a fleet
 * measures everything). */
assay_status assay_judging_missing(assay_judging *j, assay_json *jobs, assay_error *err);
/* After the last step: the receipt. Caller frees. */
assay_status assay_judging_receipt(assay_judging *j, assay_json **receipt, assay_error *err);
/* receipt.<host>.json, and receipt.json over all hosts with a receipt. */
assay_status assay_receipt_write(const assay_plan *p, const char *host, const assay_json *receipt, assay_error *err);
/* Reads receipt.<host>.json. One that stands in a run directory must be of the plan there and unchanged since it was written
 * (receipt.json lists its digest); a loose copy is only looked at for its schema. Caller frees; NULL on failure. */
assay_status assay_receipt_read(const char *path, assay_json **receipt, assay_error *err);
/* Exit code of architecture.md section 6. */
int assay_receipt_exit(const assay_json *receipt, bool require_target);

/* ---- parts, each a function of JSON alone. A `row` is one gate of the receipt: the gate's assay-verdict/1 object and the
 * fields arm, origin, printed, target_question; a `kill` row is {gate, metric, where, state: "fired" | "quiet" | "unknown" |
 * "not-applied", value, why, claim}. */

/* A row from a worker's answer {asked, verdict | null, error}, with the target rule applied. */
assay_json *assay_rule_row(const assay_json *plan, const assay_json *gate, const assay_json *answer);
/* A row for a gate that was not judged. */
assay_json *assay_rule_unjudged(const assay_json *gate, const char *code, const char *message);
/* Applies the plan's kills that name this gate: appends to `kills`; one without a claim turns the row into a kill (or, when its
 * metric is unknown or undefined, into inconclusive: never a pass). */
void assay_rule_kills(const assay_json *plan, assay_json *row, assay_json *kills);
/* Why the run as a whole is invalid: [{code, message, where}]. `answers`: the `asked` lists of the judged gates, by row;
 * `complete`: every gate was reached and judged, so that what was not seen was not there. */
assay_json *assay_rule_validity(const assay_json *plan, const assay_json *rows, const assay_json *asked, bool complete);
/* The must_fail arms of the plan and the gates that rejected each: [{arm, rejected_by:[gates]}]. */
assay_json *assay_rule_must_fail(const assay_json *plan, const assay_json *rows, const assay_json *asked);
/* Appends the state of one reason to a row's list. */
void assay_rule_add_reason(assay_json *row, const char *list, const char *code, const char *message);
/* annotate.c: "rules" and "grade" (the weakest) of simulated evidence; and, beside a kill, that the candidate's output is bit for
 * bit a must_fail arm's. */
void assay_rule_add_grades(assay_json *row, const assay_json *asked);
void assay_rule_add_twins(assay_json *row, const assay_json *asked);
/* A pass without its negative control (the arm crashed or failed) becomes inconclusive, reason negative_failed. */
void assay_rule_doubt_negatives(assay_json *row, const assay_json *asked);
/* The claims with fate, level (1-6) and class. */
assay_json *assay_rule_claims(const assay_json *plan, const assay_json *rows, const assay_json *asked, const assay_json *kills, bool valid);
/* "invalid", "kill", "inconclusive" or "pass" of the whole run. */
const char *assay_rule_run_verdict(const assay_json *rows, const assay_json *compares, const assay_json *invalid_reasons);
/* "target" when every surviving verdict rests on the target's own evidence, else "rehearsal". */
const char *assay_rule_standing(const assay_json *plan, const assay_json *rows, const assay_json *asked);

/* run/compare.c: judges the plan's `compare` words; jobs without a folder are appended to g->missing. */
assay_status assay_compare_arms(assay_gather *g, const assay_json *compare, assay_json **row, assay_error *err);
#endif
