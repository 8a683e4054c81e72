/* cli/sweep.h: an experiment once per point of its axes. */
#ifndef ASSAY_CLI_SWEEP_H
#define ASSAY_CLI_SWEEP_H
#include "cli/cli.h"
#include "run/judge.h"

/* Runs the experiment with `set` ("NAME=value", n of them) added to the options, in the directory `dir`. *receipt: caller frees. */
typedef struct assay_sweep_runner {
    assay_status (*run)(void *ctx, const char *const *set, size_t n, const char *dir, assay_json **receipt, assay_error *err);
    void *ctx;
    bool require_target;
} assay_sweep_runner;
/* Runs every point, writes <base>/sweep.json ("assay-sweep/1") and prints the table (or that JSON). *code: the gravest exit code
 * of the points: invalid, killed, inconclusive, rehearsal, survived. */
assay_status assay_sweep_run(const assay_json *axes, const char *script, const char *base, const assay_sweep_runner *r, bool json, int *code, assay_error *err);
#endif
