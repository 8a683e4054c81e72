/* plugins/ops/kernels/kernels.h: the arithmetic of the reference executor, one table per instruction-set level (portable,
 * avx2, avx512, neon), chosen at start-up. Every level gives the same bits (architecture.md section 7): matmul has one
 * accumulator per output element, k ascending, fma; other reductions use 16 virtual lanes (8 for float64) and a fixed tree;
 * exp is ours. `threads` never changes a bit either. A NaN in a result is the positive quiet one. All pointers are to
 * contiguous memory unless a leading dimension is given. */
#ifndef ASSAY_KERNELS_H
#define ASSAY_KERNELS_H
#include <stdint.h>
#include <stddef.h>
#include <stdbool.h>

/* How the scores and probabilities of attention are kept (calibration.md section 1). */
typedef struct assay_sdpa_args {
    const void *q, *k, *v; void *out;            /* [batch, L, E], [batch, S, E], [batch, S, Ev], [batch, L, Ev], elements of the table's type */
    int64_t batch, L, S, E, Ev;
    /* Additive mask already widened to the compute type, or NULL; element (b, l, s) at mask + b*mask_b + l*mask_l + s*mask_s. */
    const void *mask; int64_t mask_b, mask_l, mask_s;
    double scale;                                /* 1/sqrt(E), rounded to the compute type inside */
    uint32_t threads;
} assay_sdpa_args;

typedef struct assay_kernels {
    const char *name;                            /* "portable" "avx2" "avx512" "neon" */
    /* C[m,n] = A[m,k] B + bias[n] (bias may be NULL; added after the sum, one rounding). B is [k,n] with ldb, or [n,k] when
     * trans_b. Batched by the caller. lda, ldb, ldc in elements. */
    void (*gemm_f32)(const float *a, int64_t lda, const float *b, int64_t ldb, bool trans_b, const float *bias, float *c, int64_t ldc,
                     int64_t m, int64_t n, int64_t k, uint32_t threads);
    void (*gemm_f64)(const double *a, int64_t lda, const double *b, int64_t ldb, bool trans_b, const double *bias, double *c, int64_t ldc,
                     int64_t m, int64_t n, int64_t k, uint32_t threads);
    void (*f16_to_f32)(const uint16_t *src, float *dst, int64_t n);
    void (*f32_to_f16)(const float *src, uint16_t *dst, int64_t n);           /* half to even, subnormals kept */
    void (*exp_f32)(const float *src, float *dst, int64_t n);
    void (*exp_f64)(const double *src, double *dst, int64_t n);
    /* softmax over the last axis, rows x n, max-subtracted. f16wide: in and out hold fp16 values in float; d = r16(s - max),
     * e = r16(exp d), sum in fp32 then r16, p = r16(e / sum). A row whose maximum is -inf or NaN gives NaN. */
    void (*softmax_f32)(const float *src, float *dst, int64_t rows, int64_t n, uint32_t threads);
    void (*softmax_f64)(const double *src, double *dst, int64_t rows, int64_t n, uint32_t threads);
    void (*softmax_f16wide)(const float *src, float *dst, int64_t rows, int64_t n, uint32_t threads);
    /* Fused attention, never more than a row block of scores at a time. f32: float in and out; with fp16 programs the caller
     * widens q, k, v and rounds the output (`flash` of calibration.md). f64 likewise in double. */
    void (*sdpa_f32)(const assay_sdpa_args *);
    void (*sdpa_f64)(const assay_sdpa_args *);
    /* Sums with 16 (8) virtual lanes: element i to lane i mod 16, ascending, then a fixed tree. */
    float (*sum_f32)(const float *src, int64_t n);
    double (*sum_f64)(const double *src, int64_t n);
} assay_kernels;

const assay_kernels *assay_kernels_best(void);   /* best level of this machine; ASSAY_ISA=portable|avx2|avx512|neon overrides */
const assay_kernels *const *assay_kernels_all(size_t *n);    /* every level this machine can run, portable first */
const assay_kernels *assay_kernels_find(const char *name);
#endif
