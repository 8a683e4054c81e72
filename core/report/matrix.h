/* report/matrix.h: receipts side by side: OS build x chip against package digest (M51). A view over the cells that the gate
 * `qualification` made; a missing cell is "not qualified", and a row is as good as its worst cell. */
#ifndef ASSAY_REPORT_MATRIX_H
#define ASSAY_REPORT_MATRIX_H
#include "base/json.h"

/* `receipts`: [{experiment, host, file}], one per cell of `cells` ([{package, compiled, build, chip, verdict}]), same order.
 * `wanted`: names "BUILD CHIP" that must be qualified, measured or not. The matrix ("assay-matrix/1"):
 * {columns:[names], rows:[{experiment, package, verdict, transferable, cells:[{column, verdict, receipts:[files]}]}], verdict}.
 * Caller frees. */
assay_json *assay_matrix_make(const assay_json *receipts, const assay_json *cells, const char *const *wanted, size_t n_wanted);
void assay_matrix_text(const assay_json *matrix, assay_buf *out);
#endif
