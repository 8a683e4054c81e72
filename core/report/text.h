/* report/text.h: a receipt as text for people. A view: it adds nothing to the receipt, and everything it prints stands there. */
#ifndef ASSAY_REPORT_TEXT_H
#define ASSAY_REPORT_TEXT_H
#include "base/json.h"

/* The whole view: verdict and standing, gates with origin, kills, claims, figures per fixture, validity, priors. */
void assay_report_text(const assay_json *receipt, bool color, assay_buf *out);
/* What every view says of a run without an arm of role must_fail. */
#define ASSAY_REPORT_NO_MUST_FAIL \
    "no arm must fail: nothing here shows that these gates can kill (an arm { role = \"must_fail\", mutate = ... }, or assay mutate)"
/* One line: "pass, a rehearsal: ..." */
void assay_report_headline(const assay_json *receipt, bool color, assay_buf *out);
/* The `compare` words of receipts of one plan, each as one table; with several receipts the lines begin with their hosts. */
void assay_text_compares(const char *const *hosts, const assay_json *const *receipts, size_t n, bool color, assay_buf *out);
#endif
