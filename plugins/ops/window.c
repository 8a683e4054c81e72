/* Sliding windows over spatial axes. */
#include "ops/window.h"
#include <string.h>

static assay_status read_spatial(const assay_mil_op *op, const char *key, uint32_t n, int64_t least, int64_t dflt, int64_t *out, assay_error *err) {
    int got = assay_arg_ints(op, key, out, (int)n);
    for (uint32_t i = 0; i < n && got == ASSAY_ARG_ABSENT; i++) out[i] = dflt;
    if (got != ASSAY_ARG_ABSENT && got != (int)n) return assay_op_fail(err, op, "%s must list %u sizes", key, n);
    for (uint32_t i = 0; i < n; i++)
        if (out[i] < least || out[i] > INT32_MAX) return assay_op_fail(err, op, "%s has the size %lld", key, (long long)out[i]);
    return ASSAY_OK;
}

static int64_t extent(const assay_window *w, uint32_t i) { return w->dilation[i] * (w->kernel[i] - 1) + 1; }

static void pad_same(assay_window *w, bool lower) {
    for (uint32_t i = 0; i < w->n; i++) {
        if (w->in[i] < 0) continue;
        int64_t out = (w->in[i] + w->stride[i] - 1) / w->stride[i];
        int64_t total = (out - 1) * w->stride[i] + extent(w, i) - w->in[i];
        if (total < 0) total = 0;
        w->before[i] = lower ? total - total / 2 : total / 2;
        w->after[i] = total - w->before[i];
    }
}

static assay_status read_padding(const assay_mil_op *op, assay_window *w, assay_error *err) {
    const char *type = assay_arg_text(op, "pad_type", "valid");
    int64_t pad[2 * ASSAY_SPATIAL_MAX];
    if (strcmp(type, "valid") == 0) return ASSAY_OK;
    if (strcmp(type, "same") == 0 || strcmp(type, "same_lower") == 0) {
        pad_same(w, type[4] != 0);
        return ASSAY_OK;
    }
    if (strcmp(type, "custom") != 0) return assay_op_fail(err, op, "pad_type must be valid, same, same_lower or custom, not '%s'", type);
    ASSAY_TRY(read_spatial(op, "pad", 2 * w->n, 0, 0, pad, err));
    for (uint32_t i = 0; i < w->n; i++) {
        w->before[i] = pad[2 * i];
        w->after[i] = pad[2 * i + 1];
    }
    return ASSAY_OK;
}

assay_status assay_window_read(const assay_mil_op *op, assay_window *w, bool ceil_mode, assay_error *err) {
    ASSAY_TRY(read_spatial(op, "strides", w->n, 1, 1, w->stride, err));
    ASSAY_TRY(read_spatial(op, "dilations", w->n, 1, 1, w->dilation, err));
    memset(w->before, 0, sizeof w->before);
    memset(w->after, 0, sizeof w->after);
    ASSAY_TRY(read_padding(op, w, err));
    for (uint32_t i = 0; i < w->n; i++) {
        w->out[i] = ASSAY_DIM_UNKNOWN;
        if (w->in[i] < 0 || w->kernel[i] < 0) continue;
        int64_t room = w->in[i] + w->before[i] + w->after[i] - extent(w, i);
        if (w->kernel[i] == 0 || room < 0) return assay_op_fail(err, op, "the window does not fit spatial axis %u", i);
        w->out[i] = room / w->stride[i] + 1;
        /* A window that would begin in the padding behind is not counted. */
        if (ceil_mode && room % w->stride[i] && w->out[i] * w->stride[i] < w->in[i] + w->before[i]) w->out[i]++;
    }
    return ASSAY_OK;
}

static int64_t product(const int64_t *v, uint32_t n) {
    int64_t p = 1;
    for (uint32_t i = 0; i < n; i++) p *= v[i];
    return p;
}

int64_t assay_window_outputs(const assay_window *w) { return product(w->out, w->n); }
int64_t assay_window_taps(const assay_window *w) { return product(w->kernel, w->n); }

int64_t assay_window_at(const assay_window *w, int64_t out, int64_t tap) {
    int64_t at = 0, step = 1;
    for (uint32_t i = w->n; i-- > 0;) {
        int64_t p = out % w->out[i] * w->stride[i] + tap % w->kernel[i] * w->dilation[i] - w->before[i];
        if (p < 0 || p >= w->in[i]) return -1;
        at += p * step;
        step *= w->in[i];
        out /= w->out[i];
        tap /= w->kernel[i];
    }
    return at;
}
