/* plugins/ops/kernels/portable.c: the level for any machine, and the definition of every result. */
#include "ops/kernels/levels.h"
#include "ops/kernels/scalar.h"
#include "base/mem.h"
#include "base/threads.h"
#include "tensor/dtype.h"
#include <stdlib.h>

#define T float
#define SUFFIX f32
#define FMA fmaf
#define LANES LANES_F32
#include "ops/kernels/portable_type.h"

#define T double
#define SUFFIX f64
#define FMA fma
#define LANES LANES_F64
#include "ops/kernels/portable_type.h"

static void widen(const uint16_t *src, float *dst, int64_t n) {
    for (int64_t i = 0; i < n; i++) dst[i] = quiet_f32(assay_f16_to_f32(src[i]));
}

static void narrow(const float *src, uint16_t *dst, int64_t n) {
    for (int64_t i = 0; i < n; i++) dst[i] = assay_f32_to_f16(src[i]);
}

static float r16(float x) { return quiet_f32(assay_f16_to_f32(assay_f32_to_f16(x))); }

static void f16wide_row(void *ctx, uint64_t row, uint32_t worker) {
    (void)worker;
    const rows_job_f32 *r = ctx;
    const float *src = r->src + (int64_t)row * r->n;
    float *dst = r->dst + (int64_t)row * r->n, max = row_max_f32(src, r->n);
    for (int64_t i = 0; i < r->n; i++) dst[i] = r16(exp_one_f32(r16(src[i] - max)));
    float sum = r16(sum_f32(dst, r->n));
    for (int64_t i = 0; i < r->n; i++) dst[i] = r16(dst[i] / sum);
}

static void softmax_f16wide(const float *src, float *dst, int64_t rows, int64_t n, uint32_t threads) {
    rows_job_f32 r = { .src = src, .dst = dst, .n = n };
    if (rows > 0 && n > 0) assay_parallel(threads, (uint64_t)rows, f16wide_row, &r);
}

const assay_kernels assay_kernels_portable = {
    .name = "portable",
    .gemm_f32 = gemm_f32, .gemm_f64 = gemm_f64,
    .f16_to_f32 = widen, .f32_to_f16 = narrow,
    .exp_f32 = exp_f32, .exp_f64 = exp_f64,
    .softmax_f32 = softmax_f32, .softmax_f64 = softmax_f64, .softmax_f16wide = softmax_f16wide,
    .sdpa_f32 = sdpa_f32, .sdpa_f64 = sdpa_f64,
    .sum_f32 = sum_f32, .sum_f64 = sum_f64,
};
