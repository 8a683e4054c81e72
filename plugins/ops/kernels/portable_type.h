/* plugins/ops/kernels/portable_type.h: gemm, softmax and attention for one element type, written to be read: this is the
 * definition that the vector levels must equal. Included by portable.c with
 * T (type), SUFFIX (f32, f64), FMA (its fused multiply-add), LANES. */
#define GLUE2(a, b) a##_##b
#define GLUE(a, b) GLUE2(a, b)
#define FN(name) GLUE(name, SUFFIX)

typedef struct FN(gemm_job) {
    const T *a, *b, *bias;
    T *c;
    int64_t lda, ldb, ldc, n, k;
    bool trans_b;
} FN(gemm_job);

static void FN(gemm_row)(void *ctx, uint64_t row, uint32_t worker) {
    (void)worker;
    const FN(gemm_job) *g = ctx;
    const T *a = g->a + (int64_t)row * g->lda;
    T *c = g->c + (int64_t)row * g->ldc;
    for (int64_t j = 0; j < g->n; j++) {
        T sum = 0;
        for (int64_t p = 0; p < g->k; p++) sum = FMA(a[p], g->trans_b ? g->b[j * g->ldb + p] : g->b[p * g->ldb + j], sum);
        c[j] = FN(quiet)(g->bias ? sum + g->bias[j] : sum);
    }
}

static void FN(gemm)(const T *a, int64_t lda, const T *b, int64_t ldb, bool trans_b, const T *bias, T *c, int64_t ldc, int64_t m,
                     int64_t n, int64_t k, uint32_t threads) {
    FN(gemm_job) g = { .a = a, .b = b, .bias = bias, .c = c, .lda = lda, .ldb = ldb, .ldc = ldc, .n = n, .k = k, .trans_b = trans_b };
    if (m > 0) assay_parallel(threads, (uint64_t)m, FN(gemm_row), &g);
}

static void FN(exp)(const T *src, T *dst, int64_t n) {
    for (int64_t i = 0; i < n; i++) dst[i] = FN(exp_one)(src[i]);
}

static T FN(sum)(const T *src, int64_t n) {
    T lane[LANES] = { 0 };
    for (int64_t i = 0; i < n; i++) lane[i % LANES] += src[i];
    return FN(quiet)(FN(tree)(lane));
}

/* Largest element; a NaN is passed over here and comes back through the sum. */
static T FN(row_max)(const T *src, int64_t n) {
    T max = -(T)INFINITY;
    for (int64_t i = 0; i < n; i++) max = src[i] > max ? src[i] : max;
    return max;
}

/* dst = exp(src - max); returns the sum, which is NaN or 0 exactly when the row has no answer (NaN, +inf, all -inf, empty). */
static T FN(row_exp)(const T *src, T *dst, int64_t n) {
    T max = FN(row_max)(src, n);
    for (int64_t i = 0; i < n; i++) dst[i] = FN(exp_one)(src[i] - max);
    return FN(sum)(dst, n);
}

typedef struct FN(rows_job) {
    const T *src;
    T *dst;
    int64_t n;
} FN(rows_job);

static void FN(softmax_row)(void *ctx, uint64_t row, uint32_t worker) {
    (void)worker;
    const FN(rows_job) *r = ctx;
    T *dst = r->dst + (int64_t)row * r->n;
    T sum = FN(row_exp)(r->src + (int64_t)row * r->n, dst, r->n);
    for (int64_t i = 0; i < r->n; i++) dst[i] = FN(quiet)(dst[i] / sum);
}

static void FN(softmax)(const T *src, T *dst, int64_t rows, int64_t n, uint32_t threads) {
    FN(rows_job) r = { .src = src, .dst = dst, .n = n };
    if (rows > 0 && n > 0) assay_parallel(threads, (uint64_t)rows, FN(softmax_row), &r);
}

typedef struct FN(sdpa_job) {
    const assay_sdpa_args *args;
    T *scores;                                   /* one row of S for each worker */
} FN(sdpa_job);

/* s = (q . k) * scale + mask, p = exp(s - max), out = (p . v) / sum p: every step rounded once, nothing rounded further. */
static void FN(sdpa_row)(void *ctx, uint64_t row, uint32_t worker) {
    const FN(sdpa_job) *job = ctx;
    const assay_sdpa_args *g = job->args;
    int64_t b = (int64_t)row / g->L, l = (int64_t)row % g->L;
    const T *q = (const T *)g->q + (b * g->L + l) * g->E, *k = (const T *)g->k + b * g->S * g->E;
    const T *v = (const T *)g->v + b * g->S * g->Ev, *mask = g->mask;
    T *out = (T *)g->out + (b * g->L + l) * g->Ev, *p = job->scores + (int64_t)worker * g->S, scale = (T)g->scale;
    for (int64_t s = 0; s < g->S; s++) {
        T dot = 0;
        for (int64_t e = 0; e < g->E; e++) dot = FMA(q[e], k[s * g->E + e], dot);
        p[s] = dot * scale;
        if (mask) p[s] += mask[b * g->mask_b + l * g->mask_l + s * g->mask_s];
    }
    T sum = FN(row_exp)(p, p, g->S);
    for (int64_t j = 0; j < g->Ev; j++) {
        T dot = 0;
        for (int64_t s = 0; s < g->S; s++) dot = FMA(p[s], v[s * g->Ev + j], dot);
        out[j] = FN(quiet)(dot / sum);
    }
}

static void FN(sdpa)(const assay_sdpa_args *args) {
    uint32_t workers = kernel_workers(args->threads);
    if (args->batch <= 0 || args->L <= 0) return;
    FN(sdpa_job) job = { .args = args, .scores = assay_mem_spare(ASSAY_SPARE_ATTENTION, (size_t)args->S * workers * sizeof(T)) };
    assay_parallel(workers, (uint64_t)(args->batch * args->L), FN(sdpa_row), &job);
}
#undef FN
#undef GLUE
#undef GLUE2
#undef T
#undef SUFFIX
#undef FMA
#undef LANES
