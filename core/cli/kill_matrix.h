/* cli/kill_matrix.h: which gate sees which mutant, read from the receipt of an experiment with mutants. */
#ifndef ASSAY_CLI_KILL_MATRIX_H
#define ASSAY_CLI_KILL_MATRIX_H
#include "base/json.h"

/* rows: [{arm, killed, equivalent (the reason, where the script says so), gates:[{gate, verdict, code, message, figures:{FIXTURE:{METRIC:value}}}]}], one per arm in the order of the
 * receipt; figures are those of the candidate group that were asked for. */
typedef struct assay_kill_matrix {
    assay_json *rows;
    size_t mutants, killed;                      /* without the equivalent ones */
    size_t unrun;                                /* not killed, and a trial left no output: nothing is known of them */
    size_t equivalent, refuted;                  /* said to be equivalent; of these, killed: they are not */
    const char *candidate;                       /* its worst verdict, printed form; "not judged" */
    assay_json *fixtures;                        /* [{verdict, message}]: why a gate that looks at the fixtures does not pass */
    bool powerless;                              /* no fixture has power for one of the questions: the score shows nothing */
} assay_kill_matrix;

/* `metrics`: n names of metrics to keep as figures. `equivalent`: {MUTANT: why} of the plan, or NULL. Borrows from the receipt; free with assay_kill_matrix_free. */
assay_kill_matrix assay_kill_matrix_read(const assay_json *receipt, const assay_json *equivalent, const char *const *metrics, size_t n);
void assay_kill_matrix_free(assay_kill_matrix *m);
/* Share of the mutants that are killed; 0 when there are none. */
double assay_kill_matrix_score(const assay_kill_matrix *m);
/* To stdout: what the fixtures have no power for, the candidate, then the survivors and what is wrongly called equivalent, then the killed, the equivalent, the score. */
void assay_kill_matrix_print(const assay_kill_matrix *m, const char *dir);
/* Document "assay-mutants/1". The caller frees. */
assay_json *assay_kill_matrix_json(const assay_kill_matrix *m, const char *dir);
#endif
