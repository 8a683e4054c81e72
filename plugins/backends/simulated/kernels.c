/* The reference kernels with one unit's rounding: sums kept in fp16, another softmax, another attention. */
#include "backends/simulated/sim.h"
#include "base/threads.h"
#include <math.h>
#include <string.h>

/* The kernels get no context, so what is asked for is kept beside their table; the ops call them from their own thread. */
static _Thread_local assay_kernels table;
static _Thread_local const assay_kernels *base_kernels;
static _Thread_local assay_sim_attention wanted;

/* Adding 0.5 rounds to multiples of 2^-24, the spacing of fp16 subnormals; above them the 13 extra bits are rounded off. */
float assay_sim_round16(float x) {
    uint32_t u;
    if (!(fabsf(x) >= 0x1p-14f)) {
        volatile float shifted = fabsf(x) + 0.5f;        /* volatile: the sum is wanted, rounded */
        return x != x ? x : copysignf(shifted - 0.5f, x);
    }
    memcpy(&u, &x, sizeof u);
    u = (u + 0xfffu + (u >> 13 & 1u)) & ~0x1fffu;
    memcpy(&x, &u, sizeof x);
    return fabsf(x) > 65504.0f ? copysignf((float)INFINITY, x) : x;
}

/* ---- products whose running sum is an fp16 value */

typedef struct product { const float *a, *b, *bias; float *c; int64_t lda, ldb, ldc, n, k; bool trans_b; } product;

static void product_row(void *ctx, uint64_t row, uint32_t worker) {
    const product *p = ctx;
    const float *a = p->a + (int64_t)row * p->lda;
    float *c = p->c + (int64_t)row * p->ldc;
    (void)worker;
    for (int64_t j = 0; j < p->n; j++) {
        const float *b = p->trans_b ? p->b + j * p->ldb : p->b + j;
        int64_t step = p->trans_b ? 1 : p->ldb;
        float sum = 0;
        for (int64_t i = 0; i < p->k; i++) sum = assay_sim_round16(fmaf(a[i], b[i * step], sum));
        sum = p->bias ? assay_sim_round16(sum + p->bias[j]) : sum;
        c[j] = sum == sum ? sum : (float)NAN;
    }
}

static void gemm_f16sum(const float *a, int64_t lda, const float *b, int64_t ldb, bool trans_b, const float *bias, float *c, int64_t ldc, int64_t m,
                        int64_t n, int64_t k, uint32_t threads) {
    product p = {a, b, bias, c, lda, ldb, ldc, n, k, trans_b};
    if (m > 0) assay_parallel(threads, (uint64_t)m, product_row, &p);
}

/* ---- the table */

static void softmax_wanted(const float *src, float *dst, int64_t rows, int64_t n, uint32_t threads) {
    assay_sim_softmax(base_kernels, wanted.n.softmax, src, dst, rows, n, threads);
}

static void attend_wanted(const assay_sdpa_args *a) { assay_sim_attend(&table, &wanted, a); }

/* `flash` with nothing planted is the reference kernel itself. */
static bool is_plain(const assay_sim_attention *h) {
    bool planted = h->uniform || h->scale_twice || h->no_scale || h->mask_transposed || h->ignore_mask;
    return !planted && !h->n.accumulate_f16 && h->n.order == ASSAY_SIM_FLASH && h->n.softmax != ASSAY_SIM_NOSHIFT;
}

const assay_kernels *assay_sim_kernels(const assay_kernels *base, const assay_sim_attention *how) {
    base_kernels = base;
    wanted = *how;
    table = *base;
    if (how->n.accumulate_f16) table.gemm_f32 = gemm_f16sum;
    if (how->n.softmax != ASSAY_SIM_F16WIDE) table.softmax_f16wide = softmax_wanted;
    if (!is_plain(how)) table.sdpa_f32 = attend_wanted;
    return &table;
}
