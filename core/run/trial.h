/* run/trial.h: one piece of evidence to collect: its request, its id, its folder.
 *
 * The id is the first 16 hex digits of the SHA-256 of the canonical request {schema, kind, arm and fixture by digest,
 * compute_units, params, oracle ...}: names are not part of it, so two gates that ask for the same get the same trial.
 * What a worker (ours or a foreign one) needs stands in trials/<id>.json ("assay-job/1"):
 *   {id, request, kind, arm, arm_path, arm_b, arm_b_path, fixture, inputs:[{name, file, sha256}], backend ("reference" or null)}
 * and for timings {rotation:[{fixture, inputs}] (further inputs, where the design asks for them), reference_is_target: true (absent
 * when the experiment's target is another)}.
 * Evidence is evidence/<host>/<id>/ with trial.json ("assay-trial/1", judged), process.json (never judged) and payloads. */
#ifndef ASSAY_RUN_TRIAL_H
#define ASSAY_RUN_TRIAL_H
#include "plugin/evidence.h"
#include "run/plan.h"

#define ASSAY_TRIAL_SCHEMA "assay-trial/1"
#define ASSAY_JOB_SCHEMA "assay-job/1"

/* The job that answers a query. ASSAY_E_MISSING, with the reason, when the plan cannot answer it (no such arm, fixture or
 * perturbed state). Queries that need no trial (programs, imported tensors) are not for this function. */
assay_status assay_trial_job(const assay_plan *p, const assay_query *q, assay_json **job, assay_error *err);
/* evidence/<host>/<id> below the run directory; caller frees. */
char *assay_trial_dir(const assay_plan *p, const char *host, const char *id);
bool assay_trial_is_done(const assay_plan *p, const char *host, const char *id);
/* Reads and checks trial.json; `sha256` is the digest of the file. */
assay_status assay_trial_read(const assay_plan *p, const char *host, const char *id, assay_json **trial, char sha256[65], assay_error *err);
/* Writes trials/<id>.json unless it is there; reads it back by id. */
assay_status assay_job_write(const assay_plan *p, const assay_json *job, assay_error *err);
assay_status assay_job_read(const char *dir, const char *id, assay_json **job, assay_error *err);
/* Short name of this machine and backend: hardware model, OS build, backend ("x86_64-6.1.0-18-reference"). Caller frees. */
char *assay_host_name(const char *backend);
/* Hosts that have left evidence, sorted. Free with assay_list_free. */
assay_status assay_plan_hosts(const assay_plan *p, char ***names, size_t *n, assay_error *err);
#endif
