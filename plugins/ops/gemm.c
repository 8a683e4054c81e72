/* Batched matrix products and operands in the width of the op. */
#include "ops/gemm.h"
#include "base/threads.h"

static void one_product(const assay_eval *ev, const assay_gemm *g, int64_t i, uint32_t threads) {
    int64_t a = g->a_at ? g->a_at[i] : 0, b = g->b_at ? g->b_at[i] : 0, c = g->c_at ? g->c_at[i] : 0;
    if (g->wide)
        ev->k->gemm_f64((const double *)g->a + a, g->lda, (const double *)g->b + b, g->ldb, g->trans_b, g->bias, (double *)g->c + c, g->ldc,
                        g->m, g->n, g->k, threads);
    else
        ev->k->gemm_f32((const float *)g->a + a, g->lda, (const float *)g->b + b, g->ldb, g->trans_b, g->bias, (float *)g->c + c, g->ldc,
                        g->m, g->n, g->k, threads);
}

typedef struct batch_job { const assay_eval *ev; const assay_gemm *g; } batch_job;

static void batch_task(void *ctx, uint64_t i, uint32_t worker) {
    const batch_job *j = ctx;
    (void)worker;
    one_product(j->ev, j->g, (int64_t)i, 1);
}

void assay_gemm_run(const assay_eval *ev, const assay_gemm *g) {
    if (g->m <= 0 || g->n <= 0) return;
    if (g->batch >= 2 * (int64_t)ev->threads) {
        batch_job j = { ev, g };
        assay_eval_parallel(ev, g->batch, g->m * g->n, batch_task, &j);
        return;
    }
    for (int64_t i = 0; i < g->batch; i++) one_product(ev, g, i, ev->threads);
}

const void *assay_eval_operand(assay_eval *ev, const assay_tensor *t, bool wide, assay_error *err) {
    return assay_eval_as(ev, t, wide ? ASSAY_F64 : ASSAY_F32, err);
}

void *assay_eval_dst(assay_eval *ev, uint32_t i, bool wide, assay_error *err) {
    return wide ? (void *)assay_eval_dst_f64(ev, i, err) : (void *)assay_eval_dst_f32(ev, i, err);
}

void assay_eval_put(assay_eval *ev, uint32_t i, bool wide, const void *src) {
    if (wide) assay_eval_put_f64(ev, i, src);
    else assay_eval_put_f32(ev, i, src);
}

void assay_strides(uint32_t rank, const int64_t *shape, int64_t *stride) {
    int64_t step = 1;
    for (uint32_t i = rank; i-- > 0;) {
        stride[i] = step;
        step *= shape[i];
    }
}

void *assay_eval_permuted(assay_eval *ev, const void *data, bool wide, uint32_t rank, const int64_t *shape, const int64_t *stride, const uint32_t *perm, assay_error *err) {
    int64_t to_shape[ASSAY_COPY_RANK], from[ASSAY_COPY_RANK], to[ASSAY_COPY_RANK], count = 1;
    for (uint32_t i = 0; i < rank; i++) {
        to_shape[i] = shape[perm[i]];
        from[i] = stride[perm[i]];
        count *= to_shape[i];
    }
    assay_strides(rank, to_shape, to);
    size_t size = wide ? sizeof(double) : sizeof(float);
    void *out = assay_eval_scratch(ev, (uint64_t)count, size, err);
    if (out) assay_copy_strided(size, rank, to_shape, out, to, data, from);
    return out;
}
