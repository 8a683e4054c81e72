/* report/text.h: a receipt as text for people. A view: it adds nothing to the receipt, and everything it prints stands there. */
#ifndef ASSAY_REPORT_TEXT_H
#define ASSAY_REPORT_TEXT_H
#include "base/json.h"

/* The whole view: verdict and standing, gates with origin, kills, claims, figures per fixture, validity, priors. */
void assay_report_text(const assay_json *receipt, bool color, assay_buf *out);
/* One line: "pass, a rehearsal: ..." */
void assay_report_headline(const assay_json *receipt, bool color, assay_buf *out);
#endif
