/* report/html_plot.h: the few inline SVG pictures of timed blocks. Marks differ in shape and lines in dash, so they read without colour. */
#ifndef ASSAY_REPORT_HTML_PLOT_H
#define ASSAY_REPORT_HTML_PLOT_H
#include "base/mem.h"
#include <stdbool.h>
#include <stddef.h>

/* One ABBA or BAAB block of a fresh process. gain_ms = mean of the control's minus mean of the candidate's durations. */
typedef struct assay_plot_block { double gain_ms; size_t process; bool control_first, dropped; } assay_plot_block;
typedef struct assay_plot_blocks { const char *title; const assay_plot_block *b; size_t n; } assay_plot_blocks;

/* Gains in time order with process boundaries: A/A (may be empty) beside A/B on one scale, and the deciding interval of A/B (NaN: none). */
void assay_plot_gains(assay_buf *out, const assay_plot_blocks *aa, const assay_plot_blocks *ab, double lo, double hi);
/* Share of predictions at most so long; both arrays are sorted. Ends at the 99.5th percentile and says how many lie beyond. */
void assay_plot_ecdf(assay_buf *out, const double *control, size_t n_control, const double *candidate, size_t n_candidate);
/* Intervals of the gain, one a row, with 0 and, unless NaN, the prize per layer. */
typedef struct assay_plot_interval { char label[64]; double lo, hi, at; } assay_plot_interval;
void assay_plot_intervals(assay_buf *out, const assay_plot_interval *rows, size_t n, double prize);
#endif
