/* report/text_parts.h: private to report/text*.c. */
#ifndef ASSAY_REPORT_TEXT_PARTS_H
#define ASSAY_REPORT_TEXT_PARTS_H
#include "base/json.h"
const char *assay_text_color(const char *verdict, bool color);
/* For each gate that compares both arms with the reference: one line an arm and fixture, the fixtures judged for information
 * only among them, marked with '*'. A table that a later gate repeats is left out. */
void assay_text_figures(const assay_json *receipt, assay_buf *out);
#endif
