/* cli/runs.h: what the subcommands about run directories share: planning, opening one, its host, the supervisor's settings, the end. */
#ifndef ASSAY_CLI_RUNS_H
#define ASSAY_CLI_RUNS_H
#include "cli/cli.h"
#include "report/progress.h"
#include "run/work.h"

/* Options of run and trial that say where and how a trial runs. */
#define ASSAY_TRIAL_OPTS                                                                                                                        \
    {"backend", 0, "NAME", "backend that runs the arms (default reference; simulated with --device; 'assay backends' lists them)", false},       \
    {"device", 0, "PROFILE", "device to imitate: a profile of configs/devices by name, or a .lua file", false},                                 \
    {"host", 0, "NAME", "short name of this machine in the evidence (default: hardware model, OS build, backend)", false},                      \
    {"threads", 0, "N", "threads of one worker (default: all cores); 0: the default; results do not depend on it", false},                                      \
    {"timeout", 0, "SECONDS", "a worker that takes longer is stopped and recorded (default, and for 0: 600)", false}

/* Where and how trials run: the options above put together and checked. threads and timeout_s 0: the default. */
typedef struct assay_cli_place { const char *backend, *device; char *host; assay_json *device_identity; uint32_t threads; double timeout_s; } assay_cli_place;
assay_status assay_cli_place_open(const assay_args *a, const assay_registry *r, assay_cli_place *out, assay_error *err);
void assay_cli_place_free(assay_cli_place *p);
/* The same check before any work is done: nothing is planned for a misspelt option. */
assay_status assay_cli_place_check(const assay_args *a, const assay_registry *r, assay_error *err);
/* What plans and runs an experiment: the options --out and --set, the registry, and the progress line of both. */
typedef struct assay_planning {
    const char *set[256];
    assay_registry *registry;
    assay_progress_view view; assay_progress progress;
    assay_plan_options options;
} assay_planning;
/* `s` stays where it is until assay_cli_planning_close: its parts point at each other. */
void assay_cli_planning_open(const assay_args *a, assay_planning *s);
void assay_cli_planning_close(assay_planning *s);
/* Judge and trials in turns on a planned directory. *host and *receipt: caller frees. */
assay_status assay_cli_drive(const assay_args *a, const char *dir, assay_planning *s, char **host, assay_json **receipt, assay_error *err);
/* What runs the trials of `p`; everything given must outlive it. */
assay_supervisor assay_cli_supervisor(const assay_args *a, const assay_plan *p, const assay_registry *r, const assay_cli_place *place);
/* The host to judge or report: --host, or the only one with evidence. Caller frees. */
assay_status assay_cli_host(const assay_args *a, const assay_plan *p, char **host, assay_error *err);
/* receipt.<host>.json of a run directory; an absent one is a refusal that says what writes it. Caller frees. */
assay_status assay_cli_read_receipt(const char *dir, const char *host, assay_json **receipt, assay_error *err);
/* The leaf of the decision tree, as text; nothing when the tree is not installed. */
void assay_cli_next(const assay_json *receipt, assay_buf *text);
/* Interrupts (SIGINT, SIGTERM) set this flag; the supervisor looks at it. */
const volatile int *assay_cli_catch_interrupts(void);
/* Prints a receipt (text, or "assay-run/1" with --json) and returns the exit code. */
int assay_cli_show_receipt(const assay_args *a, const char *dir, const char *host, const assay_json *receipt, bool require_target);
#endif
