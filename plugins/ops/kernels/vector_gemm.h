/* plugins/ops/kernels/vector_gemm.h: matrix product for one element type at one vector level. B is packed into panels of NR
 * columns ([k][NR], zero-padded); a register tile of MR rows x NR columns runs over k with one fma for each output element and k.
 * Cutting k into blocks stores the partial sums and loads them again, which rounds nothing, so the order is that of portable.c. */
enum { FN(NR) = 2 * FN(VL) };

/* What a run over one block of k does to C: begin at 0 or go on from what is there; leave partial sums or complete them. */
typedef struct FN(step) {
    int64_t k;
    bool first, last;
    const T *bias;                               /* of these columns, whole panels of it; NULL: none */
} FN(step);

static inline __attribute__((always_inline)) void FN(tile_of)(const int rows, const FN(step) *step, const T *a, int64_t lda,
                                                              const T *panel, int64_t panels, T *c, int64_t ldc) {
    const int64_t k = step->k;
    for (int64_t j = 0; j < panels; j++, c += FN(NR)) {
        VEC c0[MR], c1[MR];
        UNROLL for (int i = 0; i < rows; i++) {
            c0[i] = step->first ? FN(set)(0) : FN(ld)(c + i * ldc);
            c1[i] = step->first ? FN(set)(0) : FN(ld)(c + i * ldc + FN(VL));
        }
        for (int64_t p = 0; p < k; p++, panel += FN(NR)) {
            VEC b0 = FN(ld)(panel), b1 = FN(ld)(panel + FN(VL));
            UNROLL for (int i = 0; i < rows; i++) {
                VEC x = FN(set)(a[i * lda + p]);
                c0[i] = FN(fma)(x, b0, c0[i]);
                c1[i] = FN(fma)(x, b1, c1[i]);
            }
        }
        if (step->last && step->bias) {
            VEC b0 = FN(ld)(step->bias + j * FN(NR)), b1 = FN(ld)(step->bias + j * FN(NR) + FN(VL));
            UNROLL for (int i = 0; i < rows; i++) c0[i] = FN(add)(c0[i], b0), c1[i] = FN(add)(c1[i], b1);
        }
        if (step->last)
            UNROLL for (int i = 0; i < rows; i++) c0[i] = FN(nan_quiet)(c0[i]), c1[i] = FN(nan_quiet)(c1[i]);
        UNROLL for (int i = 0; i < rows; i++) {
            FN(st)(c + i * ldc, c0[i]);
            FN(st)(c + i * ldc + FN(VL), c1[i]);
        }
    }
}

/* C[rows, panels x NR] (+)= A[rows, k] panels. One body for each height, so that all accumulators stay in registers. */
static __attribute__((noinline)) void FN(tile)(int rows, const FN(step) *step, const T *a, int64_t lda, const T *panel, int64_t panels,
                                               T *c, int64_t ldc) {
    switch (rows) {
#define HEIGHT(R) case R: FN(tile_of)(R, step, a, lda, panel, panels, c, ldc); break;
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

static void FN(pack)(const T *b, int64_t ldb, bool trans_b, int64_t cols, int64_t k, T *packed) {
    for (int64_t j = 0; j < cols; j += FN(NR))
        FN(pack_panel)(b + (trans_b ? j * ldb : j), ldb, trans_b, cols - j < FN(NR) ? cols - j : FN(NR), k, packed + j * k);
}

typedef struct FN(gemm_job) {
    const T *a, *b, *bias;
    T *c, *scratch;
    int64_t lda, ldb, ldc, m, n, k;
    int64_t cols_step, rows_step, row_tasks, k_step, scratch_step;
    bool trans_b;
} FN(gemm_job);

/* The tile at the right edge: computed NR wide in a small buffer, only `cols` columns touch C. */
static void FN(edge_tile)(int rows, const FN(step) *step, const T *a, int64_t lda, const T *panel, T *c, int64_t ldc, int64_t cols) {
    T buffer[MR * FN(NR)] = { 0 }, bias[FN(NR)] = { 0 };
    FN(step) edge = *step;
    if (step->bias) {
        FN(copy)(bias, step->bias, cols);
        edge.bias = bias;
    }
    if (!step->first)
        for (int i = 0; i < rows; i++) FN(copy)(buffer + i * FN(NR), c + i * ldc, cols);
    FN(tile)(rows, &edge, a, lda, panel, 1, buffer, FN(NR));
    for (int i = 0; i < rows; i++) FN(copy)(c + i * ldc, buffer + i * FN(NR), cols);
}

/* A[rows, k] x packed panels -> C[rows, cols]. */
static void FN(row_of_tiles)(int rows, const FN(step) *step, const T *a, int64_t lda, const T *packed, T *c, int64_t ldc, int64_t cols) {
    int64_t whole = cols / FN(NR), done = whole * FN(NR);
    if (whole) FN(tile)(rows, step, a, lda, packed, whole, c, ldc);
    if (done == cols) return;
    FN(step) edge = *step;
    if (edge.bias) edge.bias += done;
    FN(edge_tile)(rows, &edge, a, lda, packed + done * step->k, c + done, ldc, cols - done);
}

static void FN(gemm_task)(void *ctx, uint64_t i, uint32_t worker) {
    const FN(gemm_job) *g = ctx;
    int64_t j0 = (int64_t)i / g->row_tasks * g->cols_step, r0 = (int64_t)i % g->row_tasks * g->rows_step;
    int64_t cols = g->n - j0 < g->cols_step ? g->n - j0 : g->cols_step, r1 = r0 + g->rows_step < g->m ? r0 + g->rows_step : g->m;
    T *packed = g->scratch + (int64_t)worker * g->scratch_step;
    int64_t p = 0;
    do {
        FN(step) step = { .k = g->k - p < g->k_step ? g->k - p : g->k_step, .first = p == 0, .bias = g->bias ? g->bias + j0 : NULL };
        step.last = p + step.k == g->k;
        FN(pack)(g->b + (g->trans_b ? j0 * g->ldb + p : p * g->ldb + j0), g->ldb, g->trans_b, cols, step.k, packed);
        for (int64_t r = r0; r < r1; r += MR)
            FN(row_of_tiles)((int)(r1 - r < MR ? r1 - r : MR), &step, g->a + r * g->lda + p, g->lda, packed, g->c + r * g->ldc + j0, g->ldc, cols);
        p += step.k;
    } while (p < g->k);
}

static void FN(gemm)(const T *a, int64_t lda, const T *b, int64_t ldb, bool trans_b, const T *bias, T *c, int64_t ldc, int64_t m,
                     int64_t n, int64_t k, uint32_t threads) {
    if (m <= 0 || n <= 0) return;
    uint32_t workers = kernel_workers(threads);
    FN(gemm_job) g = { .a = a, .b = b, .bias = bias, .c = c, .lda = lda, .ldb = ldb, .ldc = ldc, .m = m, .n = n, .k = k, .trans_b = trans_b };
    g.k_step = k < K_BLOCK ? k : K_BLOCK;
    int64_t panel_bytes = (g.k_step + 1) * FN(NR) * (int64_t)sizeof(T), whole = (n + FN(NR) - 1) / FN(NR), fit = PACKED_BYTES / panel_bytes;
    g.cols_step = (fit < 1 ? 1 : fit < whole ? fit : whole) * FN(NR);
    int64_t col_tasks = (n + g.cols_step - 1) / g.cols_step;
    g.rows_step = rows_of_task(m, col_tasks, workers, MR);
    g.row_tasks = (m + g.rows_step - 1) / g.rows_step;
    g.scratch_step = (g.cols_step * g.k_step + 15) / 16 * 16;
    g.scratch = assay_mem_spare(ASSAY_SPARE_GEMM, (size_t)(g.scratch_step * workers) * sizeof(T));
    assay_parallel(workers, (uint64_t)(col_tasks * g.row_tasks), FN(gemm_task), &g);
}
