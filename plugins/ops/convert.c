/* Element conversion on the eval's threads, one rounding an element. */
#include "ops/slots.h"
#include <math.h>
#include <string.h>

/* Pieces that threads share. */
typedef struct convert_job { const assay_kernels *k; int32_t to, from; void *dst; const void *src; int64_t n; } convert_job;
enum { CONVERT_TASK = 1 << 16, CONVERT_PIECE = 512 };

/* To odd: an inexact result has its last bit set, so that the second rounding cannot be misled by the first (24 bits hold more
 * than the 11 + 2 that this needs). */
static float to_odd(double x) {
    float f = (float)x;
    double back = (double)f;
    uint32_t bits;
    memcpy(&bits, &f, 4);
    bits -= fabs(back) > fabs(x) ? 1 : 0;
    bits |= back != x && x == x ? 1 : 0;
    memcpy(&f, &bits, 4);
    return f;
}

void assay_narrow_f64_f16(const assay_kernels *k, const double *src, uint16_t *dst, int64_t n) {
    float f[CONVERT_PIECE];
    for (int64_t at = 0; at < n; at += CONVERT_PIECE) {
        int64_t m = n - at < CONVERT_PIECE ? n - at : CONVERT_PIECE;
        for (int64_t i = 0; i < m; i++) f[i] = to_odd(src[at + i]);
        k->f32_to_f16(f, dst + at, m);
    }
}

static void widen_f16_f64(const assay_kernels *k, const uint16_t *src, double *dst, int64_t n) {
    float f[CONVERT_PIECE];
    for (int64_t at = 0; at < n; at += CONVERT_PIECE) {
        int64_t m = n - at < CONVERT_PIECE ? n - at : CONVERT_PIECE;
        k->f16_to_f32(src + at, f, m);
        for (int64_t i = 0; i < m; i++) dst[at + i] = (double)f[i];
    }
}

static void convert_task(void *ctx, uint64_t i, uint32_t worker) {
    const convert_job *j = ctx;
    (void)worker;
    int64_t at = (int64_t)i * CONVERT_TASK, n = j->n - at < CONVERT_TASK ? j->n - at : CONVERT_TASK;
    void *dst = (char *)j->dst + (size_t)at * assay_dtype_size(j->to);
    const void *src = (const char *)j->src + (size_t)at * assay_dtype_size(j->from);
    if (j->from == ASSAY_F16 && j->to == ASSAY_F32) j->k->f16_to_f32(src, dst, n);
    else if (j->from == ASSAY_F32 && j->to == ASSAY_F16) j->k->f32_to_f16(src, dst, n);
    else if (j->from == ASSAY_F16 && j->to == ASSAY_F64) widen_f16_f64(j->k, src, dst, n);
    else if (j->from == ASSAY_F64 && j->to == ASSAY_F16) assay_narrow_f64_f16(j->k, src, dst, n);
    else assay_convert(j->to, dst, j->from, src, (size_t)n);
}

void assay_eval_convert(const assay_eval *ev, int32_t to, void *dst, int32_t from, const void *src, int64_t n) {
    convert_job j = { ev->k, to, from, dst, src, n };
    assay_eval_parallel(ev, (n + CONVERT_TASK - 1) / CONVERT_TASK, CONVERT_TASK, convert_task, &j);
}
