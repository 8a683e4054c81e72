/* report/progress.h: what a run shows while it works: one live line on a terminal, plain lines elsewhere, nothing with --quiet. */
#ifndef ASSAY_REPORT_PROGRESS_H
#define ASSAY_REPORT_PROGRESS_H
#include "run/drive.h"
#include <stdio.h>

typedef struct assay_progress_view {
    FILE *out; bool live, quiet;
    size_t ended, n; int64_t start_ns; char line[200];
    size_t width;                                /* of the live line on the screen */
} assay_progress_view;
/* Fills in the callbacks; `view` must outlive them. */
assay_progress assay_progress_open(assay_progress_view *view, FILE *out, bool live, bool quiet);
/* Takes the live line off the screen. */
void assay_progress_close(assay_progress_view *view);
/* One line outside any trial ("planning: arm fused"). */
void assay_progress_note(assay_progress_view *view, const char *what);
#endif
