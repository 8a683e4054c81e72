/* plugins/ops/kernels/vector_gemm.h: matrix product for one element type at one vector level. B is packed into panels of NR
 * columns ([k][NR], zero-padded); a register tile of MR rows x NR columns runs over k with one fma for each output element and k.
 * Cutting k into blocks stores the partial sums and loads them again, which rounds nothing, so the order is that of portable.c. */
enum { FN(NR) = 2 * FN(VL) };

static inline __attribute__((always_inline)) void FN(tile_of)(const int rows, int64_t k, const T *a, int64_t lda, const T *panel, T *c,
                                                              int64_t ldc, bool first) {
    VEC c0[MR], c1[MR];
    UNROLL for (int i = 0; i < rows; i++) {
        c0[i] = first ? FN(set)(0) : FN(ld)(c + i * ldc);
        c1[i] = first ? FN(set)(0) : FN(ld)(c + i * ldc + FN(VL));
    }
    for (int64_t p = 0; p < k; p++, panel += FN(NR)) {
        VEC b0 = FN(ld)(panel), b1 = FN(ld)(panel + FN(VL));
        __builtin_prefetch(panel + 8 * FN(NR));
        UNROLL for (int i = 0; i < rows; i++) {
            VEC x = FN(set)(a[i * lda + p]);
            c0[i] = FN(fma)(x, b0, c0[i]);
            c1[i] = FN(fma)(x, b1, c1[i]);
        }
    }
    UNROLL for (int i = 0; i < rows; i++) {
        FN(st)(c + i * ldc, c0[i]);
        FN(st)(c + i * ldc + FN(VL), c1[i]);
    }
}

/* C[rows, NR] (+)= A[rows, k] panel. One body for each height, so that all accumulators stay in registers. */
static __attribute__((noinline)) void FN(tile)(int rows, int64_t k, const T *a, int64_t lda, const T *panel, T *c, int64_t ldc, bool first) {
    switch (rows) {
#define HEIGHT(R) case R: FN(tile_of)(R, k, a, lda, panel, c, ldc, first); break;
        EACH_TILE_HEIGHT(HEIGHT)
#undef HEIGHT
    }
}

/* memcpy of a few elements; gcc makes a slow string instruction of a memcpy whose length it does not know. */
static inline void FN(copy)(T *dst, const T *src, int64_t n) {
    int64_t i = 0;
    for (; i + FN(VL) <= n; i += FN(VL)) FN(st)(dst + i, FN(ld)(src + i));
    for (; i < n; i++) dst[i] = src[i];
}

/* Packs columns of B into one panel: `cols` of NR are there, the rest is zero. With trans_b a column is a row of memory, so the
 * panel is a transpose, done in squares of 16-byte vectors where there is room for one. */
static void FN(pack_panel)(const T *b, int64_t ldb, bool trans_b, int64_t cols, int64_t k, T *panel) {
    if (cols < FN(NR)) memset(panel, 0, (size_t)(k * FN(NR)) * sizeof(T));
    if (!trans_b) {
        for (int64_t p = 0; p < k; p++) FN(copy)(panel + p * FN(NR), b + p * ldb, cols);
        return;
    }
    int64_t squares = cols == FN(NR) ? k / FN(SQUARE) * FN(SQUARE) : 0;
    for (int64_t p = 0; p < squares; p += FN(SQUARE))
        for (int64_t j = 0; j < FN(NR); j += FN(SQUARE)) FN(transpose)(b + j * ldb + p, ldb, panel + p * FN(NR) + j, FN(NR));
    for (int64_t j = 0; j < cols; j++)
        for (int64_t p = squares; p < k; p++) panel[p * FN(NR) + j] = b[j * ldb + p];
}

typedef struct FN(gemm_job) {
    const T *a, *b, *bias;
    T *c, *scratch;
    int64_t lda, ldb, ldc, m, n, k;
    int64_t cols_step, rows_step, row_tasks, k_step, scratch_step;
    bool trans_b;
} FN(gemm_job);

/* Adds the bias and makes NaN quiet once a block of C is complete. */
static void FN(finish)(T *c, int64_t ldc, int64_t rows, int64_t cols, const T *bias) {
    for (int64_t i = 0; i < rows; i++, c += ldc) {
        int64_t j = 0;
        for (; j + FN(VL) <= cols; j += FN(VL)) {
            VEC x = FN(ld)(c + j);
            FN(st)(c + j, FN(nan_quiet)(bias ? FN(add)(x, FN(ld)(bias + j)) : x));
        }
        for (; j < cols; j++) c[j] = FN(quiet)(bias ? c[j] + bias[j] : c[j]);
    }
}

/* A tile at the right edge: computed NR wide in a small buffer, only `cols` columns touch C. */
static void FN(edge_tile)(int rows, int64_t k, const T *a, int64_t lda, const T *panel, T *c, int64_t ldc, int64_t cols, bool first) {
    T buffer[MR * FN(NR)] = { 0 };
    if (!first)
        for (int i = 0; i < rows; i++) FN(copy)(buffer + i * FN(NR), c + i * ldc, cols);
    FN(tile)(rows, k, a, lda, panel, buffer, FN(NR), first);
    for (int i = 0; i < rows; i++) FN(copy)(c + i * ldc, buffer + i * FN(NR), cols);
}

/* Rows r0..r1 x columns j0..j1 for one block of k that is packed in `packed`. */
static void FN(gemm_block)(const FN(gemm_job) *g, const T *packed, int64_t r0, int64_t r1, int64_t j0, int64_t j1, int64_t p0, int64_t kc) {
    bool first = p0 == 0, last = p0 + kc >= g->k;
    for (int64_t r = r0; r < r1; r += MR) {
        int rows = (int)(r1 - r < MR ? r1 - r : MR);
        const T *a = g->a + r * g->lda + p0;
        for (int64_t j = j0; j < j1; j += FN(NR)) {
            T *c = g->c + r * g->ldc + j;
            const T *panel = packed + (j - j0) * kc;
            int64_t cols = j1 - j;
            if (cols >= FN(NR)) FN(tile)(rows, kc, a, g->lda, panel, c, g->ldc, first);
            else FN(edge_tile)(rows, kc, a, g->lda, panel, c, g->ldc, cols, first);
            if (last) FN(finish)(c, g->ldc, rows, cols < FN(NR) ? cols : FN(NR), g->bias ? g->bias + j : NULL);
        }
    }
}

static void FN(gemm_task)(void *ctx, uint64_t i, uint32_t worker) {
    const FN(gemm_job) *g = ctx;
    int64_t j0 = (int64_t)i / g->row_tasks * g->cols_step, r0 = (int64_t)i % g->row_tasks * g->rows_step;
    int64_t j1 = j0 + g->cols_step < g->n ? j0 + g->cols_step : g->n, r1 = r0 + g->rows_step < g->m ? r0 + g->rows_step : g->m;
    T *packed = g->scratch + (int64_t)worker * g->scratch_step;
    int64_t p0 = 0;
    do {
        int64_t kc = g->k - p0 < g->k_step ? g->k - p0 : g->k_step;
        for (int64_t j = j0; j < j1; j += FN(NR))
            FN(pack_panel)(g->b + (g->trans_b ? j * g->ldb + p0 : p0 * g->ldb + j), g->ldb, g->trans_b, j1 - j < FN(NR) ? j1 - j : FN(NR),
                           kc, packed + (j - j0) * kc);
        FN(gemm_block)(g, packed, r0, r1, j0, j1, p0, kc);
        p0 += kc;
    } while (p0 < g->k);
}

static void FN(gemm)(const T *a, int64_t lda, const T *b, int64_t ldb, bool trans_b, const T *bias, T *c, int64_t ldc, int64_t m,
                     int64_t n, int64_t k, uint32_t threads) {
    if (m <= 0 || n <= 0) return;
    uint32_t workers = kernel_workers(threads);
    FN(gemm_job) g = { .a = a, .b = b, .bias = bias, .c = c, .lda = lda, .ldb = ldb, .ldc = ldc, .m = m, .n = n, .k = k, .trans_b = trans_b };
    g.cols_step = PANELS * FN(NR);
    g.k_step = k < K_BLOCK ? k : K_BLOCK;
    int64_t col_tasks = (n + g.cols_step - 1) / g.cols_step;
    g.rows_step = rows_of_task(m, col_tasks, workers, MR);
    g.row_tasks = (m + g.rows_step - 1) / g.rows_step;
    g.scratch_step = (g.cols_step * g.k_step + 15) / 16 * 16;
    void *raw;
    g.scratch = scratch_take((size_t)(g.scratch_step * workers) * sizeof(T), &raw);
    assay_parallel(workers, (uint64_t)(col_tasks * g.row_tasks), FN(gemm_task), &g);
    free(raw);
}
