/* run/work.h: trials in worker processes: what the worker does, and the supervisor that starts it.
 *
 * The worker is this program again (`assay worker ...`), started with posix_spawn. It fills a private folder; the supervisor
 * adds process.json and publishes the folder by rename. A crash, time-out or failure is an outcome and published; a full
 * disk or an I/O error is not: nothing is published and the run stops. */
#ifndef ASSAY_RUN_WORK_H
#define ASSAY_RUN_WORK_H
#include "run/trial.h"

/* ---- in the worker */
typedef struct assay_work {
    const assay_json *job; const char *dir;      /* the job and the run directory */
    const char *out;                             /* private folder, exists; payloads and trial.json go here */
    const assay_backend_type *backend; uint32_t threads; const assay_json *device;   /* backend parameters of --device, or NULL */
} assay_work;
/* Does the job and writes trial.json, also when the arm fails to open or run (outcome "failed" with the reason) or the
 * backend has no plan ("unavailable"). A status other than OK is no outcome. */
assay_status assay_work_do(const assay_work *w, assay_error *err);
/* One opened arm with its inputs bound and room for its outputs; shared by output and timing trials. */
typedef struct assay_bound_arm {
    const assay_backend *b; assay_program *program; void *session, *binding, *state;
    assay_own_tensor *in, *out; assay_named_tensor *in_names, *out_names; uint32_t n_in, n_out;
    assay_params *params; char *scratch;
    uint64_t compile_ns, load_ns, first_ns;      /* as far as the backend tells them apart; load = whole open, or as a simulated device says */
    const assay_json *inputs;                    /* files of the inputs; NULL: those of the job */
} assay_bound_arm;
/* `facts` collects the backend's sink texts and numbers; may be NULL. */
assay_status assay_arm_open(const assay_work *w, const char *path, const char *compute_units, assay_json *facts, assay_bound_arm *out, assay_error *err);
assay_status assay_arm_bind(const assay_work *w, assay_bound_arm *a, assay_error *err);
void assay_arm_close(assay_bound_arm *a);
/* A second binding, to other inputs, in the same session: share, bind, and unbind before the first one is closed. */
void assay_arm_share(const assay_bound_arm *of, const assay_json *inputs, assay_bound_arm *out);
void assay_arm_unbind(assay_bound_arm *a);
/* The timed part of a TIMING job (work_timing.c): samples.bin and the facts of the process. */
assay_status assay_work_timing(const assay_work *w, assay_json *trial, assay_error *err);
/* A RECORD job (work_record.c): record.json, as the backend would have recorded it. */
assay_status assay_work_record(const assay_work *w, assay_json *trial, bool *arm_failed, assay_error *err);
/* Writes `doc` as a payload and names it, with its digest, under `key` of the trial. */
assay_status assay_work_write_json(const assay_work *w, const char *file, const char *key, const assay_json *doc, assay_json *trial, assay_error *err);
/* Of what a simulated device said when it opened an arm: takes its profile into the trial's identity, and the rules that fired
 * and bear on this kind of trial into "rules": {"placement.P9": "F", ...} with their grades. Other backends: nothing. */
void assay_work_take_facts(const assay_work *w, assay_json *facts, assay_json *trial);
/* trial.json with an outcome, the last file to be written. */
assay_json *assay_trial_new(const assay_json *job, const assay_backend_type *b);
void assay_trial_outcome(assay_json *trial, const char *state, const char *why);

/* ---- in the supervisor */
typedef struct assay_supervisor {
    const assay_plan *plan; const char *host;
    const char *backend, *device, *gate_path;    /* device, gate_path may be NULL */
    const assay_json *device_identity;           /* of a simulated device, for trials whose worker did not live to say it; may be NULL */
    const assay_registry *registry;
    uint32_t threads; double timeout_s;          /* 0: all cores; 0: 600 s */
    void (*tick)(void *ctx, double elapsed_s); void *ctx;
    const volatile int *cancel;
} assay_supervisor;
/* How many workers may be at work at the same time: one a processor, at most 4, so that four of the largest (0.6 GB each) stay
 * below 3 GB. */
uint32_t assay_side_by_side(void);
/* Runs one job in a worker and publishes its evidence. *state is the outcome ("ok", "failed", "crashed", "timed_out",
 * "unavailable"), static. A worker killed from outside is started once more before that counts as its outcome. */
assay_status assay_supervise(const assay_supervisor *s, const assay_json *job, const char **state, assay_error *err);
/* Runs `assay worker gate|selftest ...` and returns the JSON lines it printed, as an array. *crashed names the signal or
 * exit code when it did not end well (the lines so far are kept), else NULL; caller frees both. */
assay_status assay_supervise_lines(const char *const *args, const char *gate_path, double timeout_s, assay_json **lines, char **crashed, assay_error *err);
#endif
