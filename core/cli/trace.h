/* cli/trace.h: the first value at which two runs of a computation part: values of equal name, in the order of the data flow. */
#ifndef ASSAY_CLI_TRACE_H
#define ASSAY_CLI_TRACE_H
#include "backends/reference/exec.h"

typedef struct assay_trace_row {
    const assay_mil_op *op;                      /* of the reference: what makes the value */
    const assay_mil_value *value;
    bool seen, comparable, good;                 /* seen: looked at; comparable: equal shapes, finite in the reference */
    double snr_db, max_abs;                      /* infinite for equal values; NaN undefined */
    double before_db;                            /* the lowest SNR among what it is computed from; infinite for inputs of the function */
} assay_trace_row;

typedef struct assay_trace {
    const assay_program *reference, *candidate;  /* candidate NULL: recorded values in `folder`, NAME.npy each */
    const char *folder;
    int32_t reference_precision, candidate_precision;
    const assay_named_tensor *in; uint32_t n_in; /* inputs of both */
    double snr_min_db;
    size_t hold;                                 /* values held at a time: more than fit are searched by bisection; 0: all */
    assay_trace_row *rows; size_t n_rows;        /* out: pairs in program order; free with assay_trace_free */
    int64_t first_bad;                           /* out: row that is out of tolerance first, -1: none */
    uint32_t passes, unpaired;                   /* out: runs made of each side; values of the reference without a partner */
} assay_trace;

/* Fills the out fields. With `hold` the search takes it that what is out of tolerance stays so downstream.
 * ASSAY_E_MISSING: no value of the two has a name in common. */
assay_status assay_trace_run(assay_trace *t, assay_error *err);
void assay_trace_free(assay_trace *t);
#endif
