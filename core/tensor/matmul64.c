/* tensor/matmul64.c: one blocked double matrix product for the front end and the stem: vectors of four, sums in ascending k,
 * product and sum rounded apart, so that every instruction set gives the same bits. */
#include "tensor/fixtures_internal.h"
#include <stdlib.h>
#include <string.h>

enum { MR = 4, NR = 12, K_BLOCK = 256, N_BLOCK = 504 };
typedef double v4 __attribute__((vector_size(32)));

/* C[4,12] += A panel [k][4] * B panel [k][12]; written out because the twelve sums must stay in registers. */
#define LOAD(i) v4 s##i##0, s##i##1, s##i##2; memcpy(&s##i##0, c + i * NR, 32); memcpy(&s##i##1, c + i * NR + 4, 32); memcpy(&s##i##2, c + i * NR + 8, 32)
#define STEP(i) s##i##0 += a[i] * y0; s##i##1 += a[i] * y1; s##i##2 += a[i] * y2
#define SAVE(i) memcpy(c + i * NR, &s##i##0, 32); memcpy(c + i * NR + 4, &s##i##1, 32); memcpy(c + i * NR + 8, &s##i##2, 32)
#define PANEL_BODY                                                                                                              \
    LOAD(0); LOAD(1); LOAD(2); LOAD(3);                                                                                         \
    for (int64_t p = 0; p < k; p++, a += MR, b += NR) {                                                                         \
        v4 y0, y1, y2;                                                                                                          \
        memcpy(&y0, b, 32); memcpy(&y1, b + 4, 32); memcpy(&y2, b + 8, 32);                                                     \
        STEP(0); STEP(1); STEP(2); STEP(3);                                                                                     \
    }                                                                                                                           \
    SAVE(0); SAVE(1); SAVE(2); SAVE(3);

typedef void panel_fn(int64_t k, const double *a, const double *b, double *c);
static void panel_plain(int64_t k, const double *a, const double *b, double *c) { PANEL_BODY }

#if defined(__x86_64__)
/* avx2 has no fma here: the sums are written as two steps */
__attribute__((target("avx2"))) static void panel_wide(int64_t k, const double *a, const double *b, double *c) { PANEL_BODY }
static panel_fn *pick_panel(void) { return __builtin_cpu_supports("avx2") ? panel_wide : panel_plain; }
#else
static panel_fn *pick_panel(void) { return panel_plain; }
#endif

/* Packs rows [0,m) of a column block into panels of `width` rows: [panel][k][width], zeros where rows are missing. */
static void pack_rows(const double *src, int64_t stride, int64_t rows, int64_t k, double *dst) {
    for (int64_t r = 0; r < rows; r += MR)
        for (int64_t p = 0; p < k; p++)
            for (int64_t i = 0; i < MR; i++) *dst++ = r + i < rows ? src[(r + i) * stride + p] : 0;
}

static void pack_columns(const double *src, int64_t stride, int64_t columns, int64_t k, double *dst) {
    for (int64_t c = 0; c < columns; c += NR)
        for (int64_t p = 0; p < k; p++)
            for (int64_t j = 0; j < NR; j++) *dst++ = c + j < columns ? src[p * stride + c + j] : 0;
}

/* One tile of C goes through a local copy, so that edges need no second kernel. */
static void tile(panel_fn *panel, int64_t k, const double *a, const double *b, double *c, int64_t stride, int64_t rows, int64_t columns) {
    double local[MR * NR] = {0};
    for (int64_t i = 0; i < rows; i++) memcpy(local + i * NR, c + i * stride, (size_t)columns * sizeof *c);
    panel(k, a, b, local);
    for (int64_t i = 0; i < rows; i++) memcpy(c + i * stride, local + i * NR, (size_t)columns * sizeof *c);
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

void assay_matmul_f64(int64_t m, int64_t n, int64_t k, const double *a, const double *b, double *c) {
    panel_fn *panel = pick_panel();
    const int64_t rows_up = (m + MR - 1) / MR * MR;
    double *pa = assay_xmalloc((size_t)(rows_up * K_BLOCK) * sizeof *pa), *pb = assay_xmalloc((size_t)N_BLOCK * K_BLOCK * sizeof *pb);
    memset(c, 0, (size_t)(m * n) * sizeof *c);
    for (int64_t p = 0; p < k; p += K_BLOCK) {
        const int64_t kb = least(K_BLOCK, k - p);
        pack_rows(a + p, k, m, kb, pa);
        for (int64_t j = 0; j < n; j += N_BLOCK) {
            const int64_t nb = least(N_BLOCK, n - j);
            pack_columns(b + p * n + j, n, nb, kb, pb);
            for (int64_t i = 0; i < m; i += MR)
                for (int64_t q = 0; q < nb; q += NR)
                    tile(panel, kb, pa + i * kb, pb + q * kb, c + i * n + j + q, n, least(MR, m - i), least(NR, nb - q));
        }
    }
    free(pa);
    free(pb);
}
