/* ops/window.h: sliding windows over the spatial axes of [N, C, spatial...]: strides, dilations, padding, for conv and pooling. */
#ifndef ASSAY_OPS_WINDOW_H
#define ASSAY_OPS_WINDOW_H
#include "ops/args.h"

enum { ASSAY_SPATIAL_MAX = 3 };
typedef struct assay_window {
    uint32_t n;                                  /* spatial axes */
    int64_t in[ASSAY_SPATIAL_MAX], kernel[ASSAY_SPATIAL_MAX], stride[ASSAY_SPATIAL_MAX], dilation[ASSAY_SPATIAL_MAX];
    int64_t before[ASSAY_SPATIAL_MAX], after[ASSAY_SPATIAL_MAX], out[ASSAY_SPATIAL_MAX];
} assay_window;
/* Reads strides, dilations, pad_type (valid, same, same_lower, custom) and pad; `in` and `kernel` are filled in by the caller.
 * Unknown input sizes give unknown output sizes. ceil_mode counts a last incomplete window. */
assay_status assay_window_read(const assay_mil_op *op, assay_window *w, bool ceil_mode, assay_error *err);
int64_t assay_window_outputs(const assay_window *w);
int64_t assay_window_taps(const assay_window *w);
/* Input position of tap `tap` of output position `out` (both flat); -1 in the padding. */
int64_t assay_window_at(const assay_window *w, int64_t out, int64_t tap);
#endif
