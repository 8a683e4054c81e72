/* report/next.h: what to do next: the decision tree of scripts/next/leaves.json applied to a receipt. A view: the first leaf whose
 * conditions hold, the reasons that led there, and the next experiment as a script.
 *
 * A leaf: {id, title, steps:[text], rows:["M71"], stub: "FILE.lua" (of scripts/next; several leaves may share one) | absent, when:{...}}. All conditions given in `when` must hold:
 *   verdict   [run verdicts];  standing  "target" | "rehearsal";  passed  [gates that were passed]
 *   gates, printed, codes   one gate of the receipt (or the run's validity) that is one of `gates`, has one of the verdicts
 *                           `printed` and gives one of the reasons `codes`; an empty or absent list asks nothing. */
#ifndef ASSAY_REPORT_NEXT_H
#define ASSAY_REPORT_NEXT_H
#include "base/json.h"

typedef struct assay_next { assay_json *tree; const assay_json *leaf; assay_json *evidence; char *dir; } assay_next;
/* Reads the tree beside the program's scripts and finds the leaf: ->leaf NULL when none fits. `evidence`: [{gate, code, message}]. */
assay_status assay_next_find(const assay_json *receipt, assay_next *out, assay_error *err);
void assay_next_free(assay_next *n);
/* Title and steps, a few lines. */
void assay_next_text(const assay_next *n, assay_buf *out);
/* The reasons that led there, a line each. */
void assay_next_evidence_text(const assay_next *n, assay_buf *out);
/* "assay-next/1": {leaf, title, steps, evidence, script}. Caller frees. */
assay_json *assay_next_json(const assay_next *n, const char *stub);
/* The script of the next experiment with the names filled in; *stub NULL when the leaf has none. Caller frees. */
assay_status assay_next_stub(const assay_next *n, const assay_json *receipt, char **stub, assay_error *err);
#endif
