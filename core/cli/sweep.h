/* cli/sweep.h: an experiment once per point of its axes, each a run directory of its own below one folder. */
#ifndef ASSAY_CLI_SWEEP_H
#define ASSAY_CLI_SWEEP_H
#include "cli/runs.h"

typedef struct assay_sweep_runner {
    assay_planning *planning;                    /* its options are those of the point during `run`: `out` is the point's directory */
    assay_status (*run)(void *ctx, assay_json **receipt, assay_error *err);      /* *receipt: the sweep frees it; may be left NULL */
    void *ctx;
    bool require_target;
} assay_sweep_runner;
/* The description of an experiment that sweeps, else NULL; errors of the script are left to planning, which meets them again.
 * The caller frees. */
assay_json *assay_sweep_find(const assay_planning *p);
/* The folder of all points: --out, else runs/<experiment>-sweep-<next free k>. One that exists is refused but with `resume`. The
 * caller frees. */
assay_status assay_sweep_folder(const assay_args *a, const assay_json *description, bool resume, char **folder, assay_error *err);
/* Calls `run` for each point, the smallest first. */
assay_status assay_sweep_each(const assay_json *axes, const char *folder, const assay_sweep_runner *r, assay_error *err);
/* The same, then writes <folder>/sweep.json ("assay-sweep/1") and prints the table (or that JSON). *code: the gravest exit code
 * of the points: invalid, killed, inconclusive, rehearsal, survived. */
assay_status assay_sweep_run(const assay_json *axes, const char *folder, const assay_sweep_runner *r, bool json, int *code, assay_error *err);
#endif
