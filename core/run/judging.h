/* run/judging.h: what a judging has found so far; private to judge.c and receipt.c. */
#ifndef ASSAY_RUN_JUDGING_H
#define ASSAY_RUN_JUDGING_H
#include "run/judge.h"

#define ASSAY_GATE_TIMEOUT_S 1800.0

struct assay_judging {
    const assay_plan *plan; char *host; const char *gate_path;
    assay_json *rows, *asked;                    /* one per decided gate, in plan order */
    assay_json *kills, *information, *compares;
    assay_json *extra;                           /* evidence read besides: after a kill, for information, for compares */
    assay_json *missing;                         /* ids of trials without a folder (partial judging) */
    assay_json *pending;                         /* jobs handed out by the last step */
    assay_json *said;                            /* what the gate that handed them out had to say */
    assay_json **ahead;                          /* by gate: its answer, when it was asked before its turn; else NULL */
    size_t stopper, information_next;
    assay_json *selftests;                       /* rows of the gates that failed their own cases; NULL before they ran */
    bool stopped, after_kill_done;
};
/* Asks the worker about gate i. */
assay_status assay_judging_ask(const assay_judging *j, size_t i, bool information, assay_json **answer, assay_error *err);
/* Where no gate stops the others: asks all from `first` on that have no complete answer in `ahead`, several at once. */
assay_status assay_judging_ask_ahead(assay_judging *j, size_t first, assay_error *err);
#endif
