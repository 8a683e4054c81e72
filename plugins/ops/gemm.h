/* ops/gemm.h: many matrix products in the width of the op, for matmul, linear, einsum and conv. */
#ifndef ASSAY_OPS_GEMM_H
#define ASSAY_OPS_GEMM_H
#include "ops/eval.h"

typedef struct assay_gemm {
    const void *a, *b, *bias; void *c;           /* float, or double when wide; bias [n] or NULL */
    int64_t batch, m, n, k, lda, ldb, ldc;
    bool trans_b, wide;
    /* Where matrix i of a, b and c begins, in elements; NULL: all at 0. */
    const int64_t *a_at, *b_at, *c_at;
} assay_gemm;
/* c_i = a_i b_i + bias: threads share the batch when it is large enough, else each product. */
void assay_gemm_run(const assay_eval *ev, const assay_gemm *g);
/* A tensor in the op's width. */
const void *assay_eval_operand(assay_eval *ev, const assay_tensor *t, bool wide, assay_error *err);
void *assay_eval_dst(assay_eval *ev, uint32_t i, bool wide, assay_error *err);
void assay_eval_put(assay_eval *ev, uint32_t i, bool wide, const void *src);
/* A contiguous copy of t (elements of the op's width, at `data`) with its axes in the order perm. */
void *assay_eval_permuted(assay_eval *ev, const void *data, bool wide, uint32_t rank, const int64_t *shape, const int64_t *stride, const uint32_t *perm, assay_error *err);
/* Element strides of a contiguous tensor. */
void assay_strides(uint32_t rank, const int64_t *shape, int64_t *stride);
#endif
