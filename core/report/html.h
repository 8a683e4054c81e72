/* report/html.h: report.html, one file that opens offline. A view of the receipt and the evidence: it adds nothing. */
#ifndef ASSAY_REPORT_HTML_H
#define ASSAY_REPORT_HTML_H
#include "base/json.h"

/* The page of one receipt. `evidence_dir` = evidence/<host> of the run directory (for the picture of the samples). */
void assay_report_page(const assay_json *receipt, const char *evidence_dir, assay_buf *out);
/* Reads receipt.<host>.json below run_dir and writes report.html there. */
assay_status assay_report_html(const char *run_dir, const char *host, assay_error *err);

/* ---- parts */
void assay_html_text(assay_buf *out, const char *s);                 /* escaped; NULL prints an en dash */
void assay_html_value(assay_buf *out, const assay_json *v);          /* a scalar, a list, or a nested table */
/* An array of objects as a table with the union of their keys as columns; anything else as a definition list. */
void assay_html_table(assay_buf *out, const char *caption, const assay_json *v);
/* The leaf of the decision tree that the receipt ends at: what led there, the steps, the next experiment as a script; without a
 * tree, why there is none. */
void assay_html_next(assay_buf *out, const assay_json *receipt);
/* Inline SVG of the timing trials: gains in time order with the A/A pilot beside them, distributions, intervals, every prediction. */
void assay_html_samples(assay_buf *out, const assay_json *receipt, const char *evidence_dir);
#endif
