/* run/case.h: judges a case folder: what a program would have to say about given files, and whether it does. Knows roles,
 * parts and transforms (cases/README.md), and no case by name. */
#ifndef ASSAY_RUN_CASE_H
#define ASSAY_RUN_CASE_H
#include "plugin/evidence.h"

/* One call of a program. `outs` are filled in for `out_names` and taken over by the caller; `states` hold the values before
 * the call and, behind it, those after it (replaced, in the same order). */
typedef struct assay_case_call {
    const char *function; /* NULL: default */
    const assay_named_tensor *in;
    uint32_t n_in;
    const char *const *out_names;
    assay_own_tensor *outs;
    uint32_t n_out;
    const char *const *state_names;
    assay_own_tensor *states;
    uint32_t n_states;
} assay_case_call;
/* Given by the command, since the executor is a backend and no part of the core. */
typedef assay_status assay_case_exec(const assay_program *p, assay_case_call *call, assay_error *err);
/* Makes a program ready to run and lets it go: what a damaged package must fail at. */
typedef assay_status assay_case_open(const assay_program *p, assay_error *err);
typedef struct assay_case_tools {
    const assay_registry *registry;
    assay_case_exec *execute;
    assay_case_open *open;
} assay_case_tools;

/* Judges one folder: expected.json (case-expected/2), or case.json with truth.json (a package and its reference outputs; several
 * case.*.json = several calls). The result, to be freed by the caller:
 * {case, gate, ok, got, expected, difference (null when ok), parts: [{part, got, expected, ok, difference, verdict:
 * assay-verdict/1}]}. A folder that cannot be read or judged is an error, not a difference. */
assay_status assay_case_run(const assay_case_tools *tools, const char *dir, assay_json **result, assay_error *err);

/* ---- parts of the runner, for its tests */
/* Worst of two printed verdicts: invalid > kill > inconclusive > not-measured > pass. */
const char *assay_case_worst(const char *a, const char *b);
/* Does got agree with expected: numbers within abs + rel |e|, {lo, hi} as intervals, the rest equal; extra names are allowed in
 * objects at the two upper levels only. `where` is the dotted name so far; on a difference *diff gets a line (malloc'd). */
bool assay_case_agrees(const assay_json *got, const assay_json *expected, double rel, double abs, const char *where, char **diff);
/* One transform on the evidence of a part; `params` loses axes that no longer exist; metrics it adds go to `extra`. */
assay_status assay_case_transform(const assay_json *t, assay_evidence_set *ev, assay_json *params, assay_json *extra,
                                  assay_error *err);
/* case.json + truth.json. */
assay_status assay_case_package(const assay_case_tools *tools, const char *dir, assay_json **result, assay_error *err);
#endif
