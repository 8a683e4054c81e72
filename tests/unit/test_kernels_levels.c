/* tests/unit/test_kernels_levels.c: every level of this machine gives the bits of the portable one, for odd shapes, ends of the
 * number range and 1 and 2 threads. */
#include "unit/suite.h"
#include "ops/kernels/kernels.h"
#include <math.h>

static uint64_t state;
static uint64_t draw(void) {
    state += 0x9e3779b97f4a7c15u;
    uint64_t z = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Ordinary numbers; `wild` mixes in subnormals, infinities, NaN, -0 and the ends of the range, one in `wild`. */
static double number(unsigned wild) {
    static const double odd[] = { INFINITY, -INFINITY, NAN, -NAN, 0.0, -0.0, 0x1p-149, -0x1.8p-140, 0x1p-1070, 3e38, -1e-310, 1e300 };
    if (wild && draw() % wild == 0) return odd[draw() % (sizeof odd / sizeof *odd)];
    return (double)(int64_t)draw() * 0x1p-62;
}

typedef struct block { void *want, *got; size_t bytes; } block;
static block block_new(size_t bytes) {
    block b = { malloc(bytes + 1), malloc(bytes + 1), bytes };
    if (!b.want || !b.got) exit(70);
    memset(b.want, 0xa5, bytes + 1);
    memset(b.got, 0xa5, bytes + 1);
    return b;
}
/* Equal to the last byte, with the byte after the end untouched. */
static bool block_same(const block *b) { return memcmp(b->want, b->got, b->bytes + 1) == 0; }
static void block_free(block *b) {
    free(b->want);
    free(b->got);
}
static float *floats(size_t n, unsigned wild) {
    float *p = malloc((n + 1) * sizeof *p);
    if (!p) exit(70);
    for (size_t i = 0; i < n; i++) p[i] = (float)number(wild);
    return p;
}
static double *doubles(size_t n, unsigned wild) {
    double *p = malloc((n + 1) * sizeof *p);
    if (!p) exit(70);
    for (size_t i = 0; i < n; i++) p[i] = number(wild);
    return p;
}

static const assay_kernels *const *levels(size_t *n) {
    const assay_kernels *const *all = assay_kernels_all(n);
    (*n)--;
    return all + 1;                              /* portable is first, and what the others are compared with */
}
static const assay_kernels *P(void) { return assay_kernels_find("portable"); }

typedef struct shape { int64_t m, n, k, pad; unsigned wild; } shape;
static const shape shapes[] = {
    { 1, 1, 1, 0, 0 }, { 1, 1, 0, 0, 0 }, { 3, 5, 0, 1, 0 }, { 14, 32, 17, 0, 0 }, { 15, 33, 64, 3, 0 }, { 13, 31, 63, 0, 0 }, { 28, 64, 5, 1, 0 },
    { 7, 130, 40, 2, 0 }, { 130, 7, 40, 2, 0 }, { 2, 16, 1537, 0, 0 }, { 5, 40, 3100, 1, 0 }, { 29, 67, 33, 1, 7 }, { 16, 48, 20, 0, 40 }, { 301, 45, 9, 0, 0 } };

static void check_gemm_f32(const assay_kernels *l, const shape *s, bool trans, bool bias, uint32_t threads) {
    int64_t lda = s->k + s->pad, ldb = (trans ? s->k : s->n) + s->pad, ldc = s->n + s->pad;
    float *a = floats((size_t)(s->m * lda), s->wild), *b = floats((size_t)((trans ? s->n : s->k) * ldb), s->wild), *v = floats((size_t)s->n, 0);
    block c = block_new((size_t)(s->m * ldc) * sizeof(float));
    P()->gemm_f32(a, lda, b, ldb, trans, bias ? v : NULL, c.want, ldc, s->m, s->n, s->k, threads);
    l->gemm_f32(a, lda, b, ldb, trans, bias ? v : NULL, c.got, ldc, s->m, s->n, s->k, threads);
    if (!block_same(&c)) printf("\n  gemm_f32 %s m%d n%d k%d trans%d bias%d ", l->name, (int)s->m, (int)s->n, (int)s->k, trans, bias);
    CU_ASSERT(block_same(&c));
    block_free(&c);
    free(a), free(b), free(v);
}

static void check_gemm_f64(const assay_kernels *l, const shape *s, bool trans, bool bias, uint32_t threads) {
    int64_t lda = s->k + s->pad, ldb = (trans ? s->k : s->n) + s->pad, ldc = s->n + s->pad;
    double *a = doubles((size_t)(s->m * lda), s->wild), *b = doubles((size_t)((trans ? s->n : s->k) * ldb), s->wild), *v = doubles((size_t)s->n, 0);
    block c = block_new((size_t)(s->m * ldc) * sizeof(double));
    P()->gemm_f64(a, lda, b, ldb, trans, bias ? v : NULL, c.want, ldc, s->m, s->n, s->k, threads);
    l->gemm_f64(a, lda, b, ldb, trans, bias ? v : NULL, c.got, ldc, s->m, s->n, s->k, threads);
    if (!block_same(&c)) printf("\n  gemm_f64 %s m%d n%d k%d trans%d bias%d ", l->name, (int)s->m, (int)s->n, (int)s->k, trans, bias);
    CU_ASSERT(block_same(&c));
    block_free(&c);
    free(a), free(b), free(v);
}

static void gemm_has_the_same_bits(void) {
    size_t n;
    const assay_kernels *const *all = levels(&n);
    for (size_t i = 0; i < n; i++)
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
            for (unsigned f = 0; f < 8; f++) {
                check_gemm_f32(all[i], &shapes[s], f & 1, f & 2, 1 + (f >> 2));
                check_gemm_f64(all[i], &shapes[s], f & 1, f & 2, 1 + (f >> 2));
            }
}

/* Every fp16 pattern widened; every rounding boundary narrowed (each half, and the floats beside the midpoints). */
static void halves_have_the_same_bits(void) {
    size_t n;
    const assay_kernels *const *all = levels(&n);
    enum { N = 65536 };
    uint16_t *h = malloc(N * sizeof *h);
    float *mid = malloc(5 * N * sizeof *mid);
    if (!h || !mid) exit(70);
    for (int i = 0; i < N; i++) h[i] = (uint16_t)i;
    for (size_t i = 0; i < n; i++) {
        block w = block_new(N * sizeof(float)), r = block_new(5 * N * sizeof(uint16_t));
        P()->f16_to_f32(h, w.want, N);
        all[i]->f16_to_f32(h, w.got, N);
        CU_ASSERT(block_same(&w));
        for (int j = 0; j < N; j++) {
            uint32_t u, half = (j & 0x7c00) ? 0x1000 : 0;
            memcpy(&u, (float *)w.want + j, sizeof u);
            uint32_t near[5] = { u, u + half - 1, u + half, u + half + 1, (uint32_t)draw() };
            memcpy(mid + 5 * j, near, sizeof near);
        }
        P()->f32_to_f16(mid, r.want, 5 * N);
        all[i]->f32_to_f16(mid, r.got, 5 * N);
        CU_ASSERT(block_same(&r));
        for (int64_t len = 0; len < 40; len++) {
            block t = block_new(40 * sizeof(uint16_t)), d = block_new(40 * sizeof(float));
            P()->f32_to_f16(mid + 2048, t.want, len), all[i]->f32_to_f16(mid + 2048, t.got, len);
            P()->f16_to_f32(h + 31700, d.want, len), all[i]->f16_to_f32(h + 31700, d.got, len);
            CU_ASSERT(block_same(&t) && block_same(&d));
            block_free(&t), block_free(&d);
        }
        block_free(&w), block_free(&r);
    }
    free(h), free(mid);
}

/* A stride through all float patterns: negative, NaN, subnormal results included. */
static void exp_has_the_same_bits(void) {
    size_t n;
    const assay_kernels *const *all = levels(&n);
    enum { N = 1 << 20 };
    float *x = malloc(N * sizeof *x);
    double *d = malloc(N * sizeof *d);
    if (!x || !d) exit(70);
    for (uint32_t i = 0; i < N; i++) {
        uint32_t u = i * 4096u + 77u * (i & 31);
        memcpy(x + i, &u, sizeof u);
        d[i] = i & 1 ? (double)x[i] * 7.3 : number(50) * 400;
    }
    for (size_t i = 0; i < n; i++) {
        block f = block_new(N * sizeof *x), g = block_new(N * sizeof *d);
        for (int64_t len = 0, at = 0; at < N; at += len, len = len < 50 ? len + 1 : N - at) {
            P()->exp_f32(x + at, (float *)f.want + at, len), all[i]->exp_f32(x + at, (float *)f.got + at, len);
            P()->exp_f64(d + at, (double *)g.want + at, len), all[i]->exp_f64(d + at, (double *)g.got + at, len);
        }
        CU_ASSERT(block_same(&f));
        CU_ASSERT(block_same(&g));
        block_free(&f), block_free(&g);
    }
    free(x), free(d);
}

static void check_rows(const assay_kernels *l, int64_t rows, int64_t n, unsigned wild, uint32_t threads) {
    float *x = floats((size_t)(rows * n), wild), *h = floats((size_t)(rows * n), wild);
    double *d = doubles((size_t)(rows * n), wild);
    for (int64_t i = 0; i < rows * n; i++) {
        x[i] *= 20, d[i] *= 90;
        uint16_t u;
        float v = h[i] * 9;
        P()->f32_to_f16(&v, &u, 1), P()->f16_to_f32(&u, h + i, 1);
    }
    block a = block_new((size_t)(rows * n) * 4), b = block_new((size_t)(rows * n) * 4), c = block_new((size_t)(rows * n) * 8);
    P()->softmax_f32(x, a.want, rows, n, threads), l->softmax_f32(x, a.got, rows, n, threads);
    P()->softmax_f16wide(h, b.want, rows, n, threads), l->softmax_f16wide(h, b.got, rows, n, threads);
    P()->softmax_f64(d, c.want, rows, n, threads), l->softmax_f64(d, c.got, rows, n, threads);
    CU_ASSERT(block_same(&a));
    CU_ASSERT(block_same(&b));
    CU_ASSERT(block_same(&c));
    float s[2] = { P()->sum_f32(x, rows * n), l->sum_f32(x, rows * n) };
    double t[2] = { P()->sum_f64(d, rows * n), l->sum_f64(d, rows * n) };
    CU_ASSERT(memcmp(s, s + 1, sizeof *s) == 0 && memcmp(t, t + 1, sizeof *t) == 0);
    block_free(&a), block_free(&b), block_free(&c);
    free(x), free(h), free(d);
}

static void rows_have_the_same_bits(void) {
    size_t n;
    const assay_kernels *const *all = levels(&n);
    for (size_t i = 0; i < n; i++) {
        for (int64_t len = 1; len < 70; len++) check_rows(all[i], 3, len, 0, 1);
        for (int64_t len = 1; len < 70; len++) check_rows(all[i], 5, len, (unsigned)(len % 40) + 2, 2);
        check_rows(all[i], 11, 750, 0, 2);
        check_rows(all[i], 2, 70001, 0, 1);      /* more than fp16 can sum */
    }
}

typedef struct attention { int64_t batch, L, S, E, Ev; int mask; unsigned wild; } attention;
static const attention attentions[] = {
    { 1, 1, 1, 1, 1, 0, 0 }, { 2, 3, 5, 4, 7, 0, 0 }, { 3, 30, 30, 64, 64, 0, 0 }, { 1, 14, 32, 16, 32, 1, 0 }, { 2, 29, 61, 15, 15, 1, 0 },
    { 2, 17, 100, 33, 70, 2, 0 }, { 1, 200, 40, 8, 16, 3, 0 }, { 2, 9, 47, 12, 20, 1, 30 }, { 1, 20, 33, 64, 64, 4, 200 }, { 1, 3, 0, 4, 4, 0, 0 } };

/* mask: 1 a row each, 2 one row for all, 3 strided along the keys, 4 some rows without any key. */
static void mask_strides(const attention *s, int64_t out[3]) {
    int64_t along = s->mask == 3 ? 2 : 1;
    out[2] = along, out[1] = s->mask == 2 ? 0 : along * s->S, out[0] = out[1] * s->L;
}

static void check_sdpa_f32(const assay_kernels *l, const attention *s, uint32_t threads) {
    float *q = floats((size_t)(s->batch * s->L * s->E), s->wild), *k = floats((size_t)(s->batch * s->S * s->E), s->wild);
    float *v = floats((size_t)(s->batch * s->S * s->Ev), s->wild), *mask = floats((size_t)(s->batch * s->L * s->S * 2), 4);
    for (int64_t i = 0; i < s->batch * s->L * s->S * 2; i++)
        mask[i] = s->mask == 4 && i / (s->S ? s->S : 1) % 3 == 0 ? -INFINITY : mask[i] == mask[i] && mask[i] < 1e30f ? mask[i] : 0;
    block o = block_new((size_t)(s->batch * s->L * s->Ev) * sizeof *q);
    assay_sdpa_args a = { .q = q, .k = k, .v = v, .out = o.want, .batch = s->batch, .L = s->L, .S = s->S, .E = s->E, .Ev = s->Ev,
                          .scale = 0.3, .threads = threads };
    int64_t stride[3];
    mask_strides(s, stride);
    if (s->mask) a.mask = mask, a.mask_b = stride[0], a.mask_l = stride[1], a.mask_s = stride[2];
    P()->sdpa_f32(&a);
    a.out = o.got;
    l->sdpa_f32(&a);
    CU_ASSERT(block_same(&o));
    block_free(&o);
    free(q), free(k), free(v), free(mask);
}

static void check_sdpa_f64(const assay_kernels *l, const attention *s, uint32_t threads) {
    double *q = doubles((size_t)(s->batch * s->L * s->E), s->wild), *k = doubles((size_t)(s->batch * s->S * s->E), s->wild);
    double *v = doubles((size_t)(s->batch * s->S * s->Ev), s->wild), *mask = doubles((size_t)(s->batch * s->L * s->S * 2), 0);
    for (int64_t i = 0; i < s->batch * s->L * s->S * 2; i++)
        mask[i] = s->mask == 4 && i / (s->S ? s->S : 1) % 3 == 0 ? -INFINITY : mask[i];
    block o = block_new((size_t)(s->batch * s->L * s->Ev) * sizeof *q);
    assay_sdpa_args a = { .q = q, .k = k, .v = v, .out = o.want, .batch = s->batch, .L = s->L, .S = s->S, .E = s->E, .Ev = s->Ev,
                          .scale = 0.3, .threads = threads };
    int64_t stride[3];
    mask_strides(s, stride);
    if (s->mask) a.mask = mask, a.mask_b = stride[0], a.mask_l = stride[1], a.mask_s = stride[2];
    P()->sdpa_f64(&a);
    a.out = o.got;
    l->sdpa_f64(&a);
    CU_ASSERT(block_same(&o));
    block_free(&o);
    free(q), free(k), free(v), free(mask);
}

static void attention_has_the_same_bits(void) {
    size_t n;
    const assay_kernels *const *all = levels(&n);
    for (size_t i = 0; i < n; i++)
        for (size_t s = 0; s < sizeof attentions / sizeof *attentions; s++)
            for (uint32_t threads = 1; threads <= 2; threads++) {
                check_sdpa_f32(all[i], &attentions[s], threads);
                check_sdpa_f64(all[i], &attentions[s], threads);
            }
}

/* Says which levels were compared; a machine with the portable level only has nothing to compare. */
static void there_is_a_vector_level(void) {
    size_t n;
    const assay_kernels *const *all = assay_kernels_all(&n);
    for (size_t i = 0; i < n; i++) printf("%s ", all[i]->name);
    CU_ASSERT(n >= 1 && strcmp(all[0]->name, "portable") == 0);
}

ASSAY_SUITE("kernels_levels", TEST(there_is_a_vector_level), TEST(gemm_has_the_same_bits), TEST(halves_have_the_same_bits),
            TEST(exp_has_the_same_bits), TEST(rows_have_the_same_bits), TEST(attention_has_the_same_bits))
