/* Metrics of tensor pairs: hand-worked values, undefined cases, strides, slices, and the defects of published helpers. */
#include "suite.h"
#include "metrics/metrics.h"
#include "tensor/tensor.h"
#include <math.h>
#include <stdlib.h>

#define NEAR(a, b, tol) CU_ASSERT(fabs((a) - (b)) <= (tol))
static const assay_metrics_1 *m(void) { return assay_metrics_iface(); }

static assay_tensor vec(double *v, int64_t n) { return assay_tensor_view(ASSAY_F64, 1, &n, v); }
static assay_pair_stats pair(double *r, double *c, int64_t n) {
    assay_pair_stats s;
    assay_tensor a = vec(r, n), b = vec(c, n);
    CU_ASSERT_EQUAL_FATAL(m()->pair(&a, &b, -1, &s, NULL), ASSAY_OK);
    return s;
}

static void figures_of_a_hand_worked_pair(void) {
    double r[] = {3, 0, -4, 0}, c[] = {3, 1, -3, 0}; /* |r| 5, r.c 21, |c|^2 19, d 0 1 1 0 */
    assay_pair_stats s = pair(r, c, 4);
    CU_ASSERT_EQUAL(s.count, 4);
    CU_ASSERT_EQUAL(s.zeros_ref, 2);
    CU_ASSERT_EQUAL(s.zeros_cand, 1);
    CU_ASSERT_EQUAL(s.norm_ref, 5);
    NEAR(s.cosine, 21 / (5 * sqrt(19)), 1e-15);
    NEAR(s.gain, 21.0 / 25, 0);
    NEAR(s.rel_l2, sqrt(2) / 5, 1e-16);
    CU_ASSERT_EQUAL(s.max_abs, 1);
    CU_ASSERT_EQUAL(s.max_abs_index, 1);
    CU_ASSERT_EQUAL(s.mean_abs, 0.5);
    CU_ASSERT_EQUAL(s.mse, 0.5);
    CU_ASSERT_EQUAL(s.peak_ref, 4);
    CU_ASSERT_EQUAL(s.energy_share_top1, 16.0 / 25);
    CU_ASSERT_EQUAL(s.energy_top1_index, 2);
    CU_ASSERT_EQUAL(s.rms_ref, 2.5);
    NEAR(s.psnr_db, 10 * 1.505149978319906, 1e-12);                                /* log10(16/0.5) */
    NEAR(s.snr_db, 10 * 1.0969100130080565, 1e-12);                                /* log10(25/2) */
    NEAR(s.pearson, (21 + 0.25 * 1) / (sqrt(25 - 0.25) * sqrt(19 - 0.25)), 1e-15); /* means -1/4 and 1/4 */
    NEAR(s.var_ref, (25 - 0.25) / 4, 1e-15);
}

static void nothing_is_defined_beside_nan(void) {
    double r[] = {1, 2, 3}, c[] = {1, NAN, INFINITY};
    assay_pair_stats s = pair(r, c, 3);
    CU_ASSERT_EQUAL(s.nonfinite_cand, 2);
    CU_ASSERT_EQUAL(s.nan_cand, 1);
    CU_ASSERT_EQUAL(s.first_nonfinite_cand, 1);
    CU_ASSERT(isnan(s.cosine) && isnan(s.max_abs) && isnan(s.psnr_db) && isnan(s.gain) && isnan(s.rel_l2));
    s = pair(c, r, 3);
    CU_ASSERT_EQUAL(s.nonfinite_ref, 2);
    CU_ASSERT(isnan(s.cosine));
}

static void no_elements_no_figures(void) {
    double r[1], c[1];
    assay_pair_stats s = pair(r, c, 0);
    CU_ASSERT_EQUAL(s.count, 0);
    CU_ASSERT(isnan(s.cosine) && isnan(s.max_abs));
}

/* A large common mean costs no digits: the second value of numpy's float128 is what one gets without the mean. */
static void pearson_survives_a_large_mean(void) {
    enum { N = 5000 };
    static double r[N], c[N];
    for (int i = 0; i < N; i++) r[i] = i % 7 - 3, c[i] = r[i] + (i % 3 - 1) * 0.01;
    assay_pair_stats plain = pair(r, c, N);
    for (int i = 0; i < N; i++) r[i] += 0x1p30, c[i] += 0x1p30;
    assay_pair_stats moved = pair(r, c, N);
    NEAR(plain.pearson, moved.pearson, 1e-9);
    NEAR(plain.var_ref, moved.var_ref, 1e-9);
}

static void equal_elements_are_constant_with_variance_zero(void) {
    enum { N = 4099 };
    static double r[N], c[N];
    for (int i = 0; i < N; i++) r[i] = 0.1, c[i] = i == N - 1 ? 0.25 : 0.1;
    assay_pair_stats s = pair(r, c, N);
    CU_ASSERT(s.constant_ref && s.var_ref == 0);
    CU_ASSERT(!s.constant_cand && s.var_cand > 0);
    CU_ASSERT(isnan(s.pearson));
    CU_ASSERT_EQUAL(s.max_abs_index, N - 1);
}

static void an_element_can_be_left_out(void) {
    enum { N = 3000 };
    static double r[N], c[N], r2[N], c2[N];
    for (int i = 0; i < N; i++) r[i] = i % 11 - 5, c[i] = r[i] + (i == 2500 ? 0.5 : 0);
    r[2100] = 1e6, c[2100] = 1e6;
    memcpy(r2, r, sizeof r), memcpy(c2, c, sizeof c);
    for (int i = 2100; i + 1 < N; i++) r2[i] = r[i + 1], c2[i] = c[i + 1];
    assay_tensor a = vec(r, N), b = vec(c, N);
    assay_pair_stats s, want = pair(r2, c2, N - 1);
    CU_ASSERT_EQUAL(m()->pair(&a, &b, 2100, &s, NULL), ASSAY_OK);
    CU_ASSERT_EQUAL(s.count, N - 1);
    NEAR(s.cosine, want.cosine, 1e-15);
    CU_ASSERT_EQUAL(s.max_abs_index, 2500);
    CU_ASSERT_EQUAL(m()->pair(&a, &b, N, &s, NULL), ASSAY_E_RANGE);
}

static void shapes_must_be_equal(void) {
    double r[4] = {1, 2, 3, 4};
    int64_t sa[] = {2, 2}, sb[] = {4};
    assay_tensor a = assay_tensor_view(ASSAY_F64, 2, sa, r), b = assay_tensor_view(ASSAY_F64, 1, sb, r);
    assay_pair_stats s;
    assay_error e;
    CU_ASSERT_EQUAL(m()->pair(&a, &b, -1, &s, &e), ASSAY_E_INPUT);
    CU_ASSERT(strstr(e.message, "[2,2]") != NULL);
}

/* M185_yes: a padded or permuted view is read by its strides. */
static void strides_and_types_do_not_matter(void) {
    enum { ROWS = 37, COLS = 53, PAD = 64 };
    static uint16_t half[ROWS * PAD];
    static double wide[ROWS * COLS], other[ROWS * COLS];
    for (int i = 0; i < ROWS * PAD; i++) half[i] = 0x7e00; /* NaN in the padding */
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLS; j++) {
            half[i * PAD + j] = assay_f64_to_f16((i * 31 + j * 17) % 101 / 64.0 - 0.7);
            wide[i * COLS + j] = assay_load_f64(ASSAY_F16, &half[i * PAD + j]);
            other[i * COLS + j] = wide[i * COLS + j] * 1.001;
        }
    int64_t shape[] = {ROWS, COLS}, turned[] = {COLS, ROWS};
    assay_tensor padded = {
        .dtype = ASSAY_F16, .rank = 2, .shape = {ROWS, COLS}, .stride = {PAD, 1}, .data = half, .nbytes = sizeof half};
    assay_tensor a = assay_tensor_view(ASSAY_F64, 2, shape, wide), b = assay_tensor_view(ASSAY_F64, 2, shape, other);
    assay_pair_stats x, y;
    CU_ASSERT_EQUAL(m()->pair(&a, &b, -1, &x, NULL), ASSAY_OK);
    CU_ASSERT_EQUAL(m()->pair(&padded, &b, -1, &y, NULL), ASSAY_OK);
    CU_ASSERT(memcmp(&x, &y, sizeof x) == 0);
    assay_tensor t = {
        .dtype = ASSAY_F64, .rank = 2, .shape = {COLS, ROWS}, .stride = {1, COLS}, .data = wide, .nbytes = sizeof wide};
    static double flip[ROWS * COLS];
    for (int j = 0; j < COLS; j++)
        for (int i = 0; i < ROWS; i++) flip[j * ROWS + i] = wide[i * COLS + j];
    assay_tensor f = assay_tensor_view(ASSAY_F64, 2, turned, flip);
    CU_ASSERT_EQUAL(m()->pair(&f, &t, -1, &x, NULL), ASSAY_OK);
    CU_ASSERT(x.identical && x.cosine == 1);
}

static void halves_widen_exactly(void) {
    static uint16_t h[65536];
    static double got[65536];
    int64_t n = 65536, wrong = 0;
    for (int i = 0; i < n; i++) h[i] = (uint16_t)i;
    assay_tensor t = assay_tensor_view(ASSAY_F16, 1, &n, h);
    CU_ASSERT_EQUAL(m()->read(&t, 0, (uint64_t)n, got, NULL), ASSAY_OK);
    for (int i = 0; i < n; i++) {
        double want = assay_load_f64(ASSAY_F16, &h[i]);
        wrong += !(got[i] == want || (isnan(got[i]) && isnan(want)));
    }
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_EQUAL(m()->load(&t, 0x3c00), 1);
    CU_ASSERT(isnan(m()->load(&t, n)));
    CU_ASSERT_EQUAL(m()->read(&t, 65530, 7, got, NULL), ASSAY_E_RANGE);
}

static void slices_are_pairs_of_their_own(void) {
    double r[24], c[24];
    for (int i = 0; i < 24; i++) r[i] = i + 1, c[i] = i == 7 ? 0 : i + 1;
    int64_t shape[] = {2, 3, 4};
    assay_tensor a = assay_tensor_view(ASSAY_F64, 3, shape, r), b = assay_tensor_view(ASSAY_F64, 3, shape, c);
    assay_pair_stats s[8];
    CU_ASSERT_EQUAL(m()->slices(&a, &b, 3, s, 6, NULL), ASSAY_OK); /* rows */
    CU_ASSERT_EQUAL(s[1].max_abs, 8);
    CU_ASSERT_EQUAL(s[0].max_abs, 0);
    CU_ASSERT_EQUAL(m()->slices(&a, &b, 5, s, 8, NULL), ASSAY_OK); /* axes 0 and 2: element 7 is (0, 1, 3) */
    CU_ASSERT_EQUAL(s[3].max_abs, 8);
    CU_ASSERT_EQUAL(s[3].count, 3);
    NEAR(s[3].gain, (4 * 4 + 12 * 12) / (16.0 + 64 + 144), 1e-15);
    CU_ASSERT_EQUAL(m()->slices(&a, &b, 0, s, 1, NULL), ASSAY_OK); /* no axis kept: the tensor */
    CU_ASSERT_EQUAL(s[0].count, 24);
    CU_ASSERT_EQUAL(m()->slices(&a, &b, 1, s, 3, NULL), ASSAY_E_INPUT);
}

static void the_token_mean_is_taken_away(void) {
    /* two heads, three tokens, one channel: head 0 is 10+{-1,0,1}, head 1 is 5+{2,0,-2}; the candidate is the mean. */
    double r[] = {9, 10, 11, 7, 5, 3}, c[] = {10, 10, 10, 7, 5, 3};
    int64_t shape[] = {2, 3, 1};
    assay_tensor a = assay_tensor_view(ASSAY_F64, 3, shape, r), b = assay_tensor_view(ASSAY_F64, 3, shape, c);
    assay_axes ax = {-1, 0, 1, 2};
    double cosine, share, bh[2], bs[2];
    CU_ASSERT_EQUAL(m()->centred(&a, &b, &ax, &cosine, &share, bh, bs, 2, NULL), ASSAY_OK);
    NEAR(cosine, 8 / (sqrt(10) * sqrt(8)), 1e-15);
    NEAR(share, sqrt(10.0 / (302 + 83)), 1e-15);
    CU_ASSERT(isnan(bh[0])); /* nothing left of the candidate: undefined, never 1 */
    NEAR(bh[1], 1, 1e-15);
    NEAR(bs[1], sqrt(8.0 / 83), 1e-15);
    ax.token = -1;
    CU_ASSERT_EQUAL(m()->centred(&a, &b, &ax, &cosine, &share, NULL, NULL, 0, NULL), ASSAY_E_INPUT);
    static const assay_axes twice[] = {{1, 1, 0, -1}, {0, -1, 0, -1}, {-1, 0, 0, -1}, {-2, -1, 0, -1}}; /* one axis with two meanings, or none */
    for (size_t i = 0; i < sizeof twice / sizeof *twice; i++)
        CU_ASSERT_EQUAL(m()->centred(&a, &b, &twice[i], &cosine, &share, NULL, NULL, 0, NULL), ASSAY_E_INPUT);
}

static void ulp_distances_are_counted_in_halves(void) {
    double r[] = {1, 1, 1, 1, -1, 1e-6}, c[] = {1, 1 + 0x1p-10, 1 - 0x1p-11, 1, -1 - 0x1p-9, 5};
    int64_t n = 6;
    assay_tensor a = vec(r, n), b = vec(c, n);
    double u[3];
    CU_ASSERT_EQUAL(m()->ulp16(&a, &b, u, NULL), ASSAY_OK); /* the last is far below the RMS: left out */
    CU_ASSERT_EQUAL(u[0], 2);
    CU_ASSERT_EQUAL(u[1], 1);
    double z[2] = {0, 0};
    a = vec(z, 2);
    CU_ASSERT_EQUAL(m()->ulp16(&a, &a, u, NULL), ASSAY_OK);
    CU_ASSERT(isnan(u[0]) && isnan(u[1]) && isnan(u[2]));
}

/* Rounding of every kind of number to halves: the distance of x from each half is that of assay_f64_to_f16(x). */
static void ulp_distances_round_as_halves_do(void) {
    const double odd[] = {0x1p-14, 0x1.ffcp-15, 0x1p-24, 0x1p-25, 0x1.8p-25, 65504, 65519.99, 65520, 1e300, 0x1.002p0, 0x1.006p0, -0x1.ffep-1, -0.0};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        double r[] = {1, 1}, c[] = {1, odd[i]}, u[3];
        uint16_t h = assay_f64_to_f16(odd[i]);
        int32_t at = h & 0x8000 ? -(h & 0x7fff) : h;
        assay_tensor a = vec(r, 2), b = vec(c, 2);
        CU_ASSERT_EQUAL(m()->ulp16(&a, &b, u, NULL), ASSAY_OK);
        CU_ASSERT_EQUAL(u[0], abs(at - 0x3c00));
    }
}
static void elements_over_counts_nan(void) {
    double r[] = {1, 2, 3, 4}, c[] = {1.05, 2.3, NAN, 4};
    assay_tensor a = vec(r, 4), b = vec(c, 4);
    uint64_t n;
    CU_ASSERT_EQUAL(m()->elements_over(&a, &b, 0.1, 0, &n, NULL), ASSAY_OK);
    CU_ASSERT_EQUAL(n, 2);
    CU_ASSERT_EQUAL(m()->elements_over(&a, &b, 0.1, 0.1, &n, NULL), ASSAY_OK);
    CU_ASSERT_EQUAL(n, 1);
}

static void bits_decide_equality(void) {
    double r[] = {0.0, 1}, c[] = {-0.0, 1}, d[2];
    float f[] = {0, 1};
    int64_t n = 2;
    assay_tensor a = vec(r, 2), b = vec(c, 2), g = assay_tensor_view(ASSAY_F32, 1, &n, f);
    CU_ASSERT(m()->bytes_equal(&a, &a));
    CU_ASSERT(!m()->bytes_equal(&a, &b));
    CU_ASSERT(!m()->bytes_equal(&a, &g));
    CU_ASSERT_EQUAL(m()->difference(&a, &g, d, NULL), ASSAY_OK);
    CU_ASSERT(d[0] == 0 && d[1] == 0);
}

/* One block of each type pair: r in one type, c in the other, the same values where halves can hold them. */
typedef struct typed {
    double f64[ASSAY_BLOCK];
    float f32[ASSAY_BLOCK];
    uint16_t f16[ASSAY_BLOCK];
} typed;
static const void *of_type(const typed *t, int type) {
    return type == ASSAY_BLOCK_F16 ? (const void *)t->f16 : type == ASSAY_BLOCK_F32 ? (const void *)t->f32 : t->f64;
}
static void fill_halves(typed *t, double shift, double factor) {
    for (int i = 0; i < ASSAY_BLOCK; i++) {
        t->f16[i] = assay_f64_to_f16(shift + (i % 13 ? factor / (double)(i * i % 97 + 3) - 0.1 : -shift));
        t->f64[i] = assay_load_f64(ASSAY_F16, &t->f16[i]), t->f32[i] = (float)t->f64[i];
    }
}
static void every_level_and_type_gives_the_same_bits(void) {
    static const size_t lengths[] = {1, 7, 8, 9, 63, 1000, ASSAY_BLOCK};
    static typed r, c;
    for (int far = 0; far < 2; far++) { /* far: a mean so large that the central sums are made again */
        fill_halves(&r, far ? 64 : 0, 1), fill_halves(&c, far ? 64 : 0, 1.0625);
        for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
            assay_block_sums want;
            for (int i = 0; i < ASSAY_BLOCK_LEVELS * ASSAY_BLOCK_TYPES * ASSAY_BLOCK_TYPES; i++) {
                int tr = i / ASSAY_BLOCK_TYPES % ASSAY_BLOCK_TYPES, tc = i % ASSAY_BLOCK_TYPES;
                assay_block b = {.r = of_type(&r, tr), .c = of_type(&c, tc), .type_r = tr, .type_c = tc, .n = lengths[k]};
                assay_block_sums got;
                if (!assay_block_sum_at(i / (ASSAY_BLOCK_TYPES * ASSAY_BLOCK_TYPES), &b, &got)) continue;
                if (i == 0) want = got;
                CU_ASSERT(memcmp(&want.r, &got.r, offsetof(assay_block_sums, bad_r)) == 0);
                CU_ASSERT(want.zero_r == got.zero_r && want.zero_c == got.zero_c && want.moved_r == got.moved_r);
            }
        }
    }
}

/* One peak, or one negative zero, among ones: at every place, for every level. */
static void halves_are_counted_wherever_they_lie(void) {
    enum { ONE = 0x3c00, MINUS_THREE = 0xc200, MINUS_ZERO = 0x8000, N = 107 }; /* a vector pair of 64, one of 32, a rest */
    uint16_t h[N], c[N];
    for (int i = 0; i < N; i++) h[i] = c[i] = ONE;
    for (int i = 0; i < N * ASSAY_BLOCK_LEVELS; i++) {
        assay_block b = {.r = h, .c = c, .type_r = ASSAY_BLOCK_F16, .type_c = ASSAY_BLOCK_F16, .n = N};
        assay_block_sums got;
        h[i % N] = MINUS_THREE;
        bool here = assay_block_sum_at(i / N, &b, &got);
        CU_ASSERT(!here || (got.peak == 3 && got.zero_r == 0 && got.zero_c == 0 && got.moved_r && !got.moved_c && got.max_d == 4));
        h[i % N] = MINUS_ZERO;
        here = assay_block_sum_at(i / N, &b, &got);
        CU_ASSERT(!here || (got.peak == 1 && got.zero_r == 1 && got.moved_r));
        h[i % N] = ONE, c[i % N] = MINUS_ZERO;
        here = assay_block_sum_at(i / N, &b, &got);
        CU_ASSERT(!here || (got.peak == 1 && got.zero_r == 0 && got.zero_c == 1 && !got.moved_r && got.moved_c));
        c[i % N] = ONE;
    }
    for (int i = 0; i < N; i++) h[i] = (uint16_t)(i % 2 ? MINUS_ZERO : 0); /* one value, two spellings */
    assay_block b = {.r = h, .c = h, .type_r = ASSAY_BLOCK_F16, .type_c = ASSAY_BLOCK_F16, .n = N};
    assay_block_sums got;
    CU_ASSERT(assay_block_sum_at(0, &b, &got) && got.zero_r == N && got.peak == 0 && !got.moved_r);
}

/* Enough blocks for several windows of several tasks: the figures may not depend on who adds up what. */
static void threads_do_not_matter(void) {
    enum { N = (32 * 64 + 65) * 1024 + 5 };
    float *r = malloc(N * sizeof *r), *c = malloc(N * sizeof *c);
    int64_t n = N;
    CU_ASSERT_FATAL(r && c);
    for (int64_t i = 0; i < n; i++) r[i] = (float)(i * 7919 % 10007) * 0x1p-13f - 0.3f, c[i] = r[i] * 1.0009765f;
    c[N - 70000] += 2, r[N - 3] = 5;
    assay_tensor a = assay_tensor_view(ASSAY_F32, 1, &n, r), b = assay_tensor_view(ASSAY_F32, 1, &n, c);
    assay_pair_stats one, two;
    assay_metrics_set_threads(1);
    CU_ASSERT_EQUAL(m()->pair(&a, &b, N - 70000, &one, NULL), ASSAY_OK);
    CU_ASSERT_EQUAL(one.max_abs_index, N - 3);
    assay_metrics_set_threads(2);
    CU_ASSERT_EQUAL(m()->pair(&a, &b, N - 70000, &two, NULL), ASSAY_OK);
    CU_ASSERT(memcmp(&one, &two, sizeof one) == 0);
    CU_ASSERT_EQUAL(m()->pair(&a, &b, -1, &two, NULL), ASSAY_OK);
    CU_ASSERT_EQUAL(two.energy_top1_index, N - 3);
    c[12345678 % N] = NAN;
    CU_ASSERT_EQUAL(m()->pair(&a, &b, -1, &two, NULL), ASSAY_OK);
    CU_ASSERT_EQUAL(two.first_nonfinite_cand, 12345678 % N);
    assay_metrics_set_threads(0);
    free(r);
    free(c);
}

/* The figures without the strongest element, wherever it lies, are those of a pass without it. */
static void rest_is_the_pair_without_one(void) {
    enum { N = 3 * ASSAY_BLOCK + 77 };
    static float r[N], c[N];
    static const int64_t strongest[] = {0, 1, ASSAY_BLOCK - 1, 2 * ASSAY_BLOCK, N - 1};
    int64_t n = N;
    assay_tensor a = assay_tensor_view(ASSAY_F32, 1, &n, r), b = assay_tensor_view(ASSAY_F32, 1, &n, c);
    for (size_t k = 0; k < 2 * (sizeof strongest / sizeof *strongest); k++) {
        int64_t at = strongest[k / 2];
        for (int i = 0; i < N; i++) r[i] = k % 2 ? 0.5f : (float)(i % 113) * 0x1p-7f - 0.3f, c[i] = r[i] * 1.0009765f; /* odd: constant but for one */
        r[at] = 40, c[at] = 41;
        assay_pair_stats all, rest, all_apart, rest_apart;
        CU_ASSERT_EQUAL(m()->pair_and_rest(&a, &b, &all, &rest, NULL), ASSAY_OK);
        CU_ASSERT_EQUAL(all.energy_top1_index, at);
        CU_ASSERT_EQUAL(m()->pair(&a, &b, -1, &all_apart, NULL), ASSAY_OK);
        CU_ASSERT_EQUAL(m()->pair(&a, &b, at, &rest_apart, NULL), ASSAY_OK);
        CU_ASSERT(memcmp(&all, &all_apart, sizeof all) == 0 && memcmp(&rest, &rest_apart, sizeof rest) == 0);
        CU_ASSERT_EQUAL(rest.constant_ref, k % 2);
    }
}
static void rest_of_nothing_is_undefined(void) {
    float one = 3, nan = NAN;
    int64_t n = 1;
    assay_tensor a = assay_tensor_view(ASSAY_F32, 1, &n, &one), b = assay_tensor_view(ASSAY_F32, 1, &n, &nan);
    assay_pair_stats all, rest;
    CU_ASSERT_EQUAL(m()->pair_and_rest(&a, &a, &all, &rest, NULL), ASSAY_OK);
    CU_ASSERT(all.identical && rest.count == 0 && isnan(rest.cosine));
    CU_ASSERT_EQUAL(m()->pair_and_rest(&a, &b, &all, &rest, NULL), ASSAY_OK);
    CU_ASSERT(isnan(all.cosine) && isnan(rest.cosine) && rest.energy_top1_index == -1);
}

/* One walk finds what the three entries find, bit for bit; tokens before heads, so that rows are strided. */
static void further_is_the_three_together(void) {
    enum { B = 2, S = 301, H = 3, C = 20, N = B * S * H * C };
    static uint16_t r[N], c[N];
    for (int i = 0; i < N; i++) {
        double x = (double)(i * 7919 % 1009) * 0x1p-9 - 0.7;
        r[i] = assay_f64_to_f16(x), c[i] = assay_f64_to_f16(x * 1.003 + (i % 5 ? 0 : 0x1p-9));
    }
    int64_t shape[] = {B, S, H, C};
    assay_tensor a = assay_tensor_view(ASSAY_F16, 4, shape, r), b = assay_tensor_view(ASSAY_F16, 4, shape, c);
    const assay_axes axes = {.batch = 0, .head = 2, .token = 1, .channel = 3};
    double bh[2][B * H], share[2][B * H], cosine, all_share, ulp[3];
    uint64_t over;
    assay_pair_stats s;
    CU_ASSERT_EQUAL(m()->pair(&a, &b, -1, &s, NULL), ASSAY_OK);
    assay_further io = {.struct_size = sizeof io, .axes = &axes, .bh_cosine = bh[0], .bh_share = share[0], .n = B * H, .rms_ref = s.rms_ref, .atol = 1e-4, .rtol = 3e-3};
    CU_ASSERT_EQUAL(m()->further(&a, &b, &io, NULL), ASSAY_OK);
    CU_ASSERT_EQUAL(m()->centred(&a, &b, &axes, &cosine, &all_share, bh[1], share[1], B * H, NULL), ASSAY_OK);
    CU_ASSERT_EQUAL(m()->ulp16(&a, &b, ulp, NULL), ASSAY_OK);
    CU_ASSERT_EQUAL(m()->elements_over(&a, &b, 1e-4, 3e-3, &over, NULL), ASSAY_OK);
    CU_ASSERT(io.cosine == cosine && io.share == all_share && memcmp(io.ulp, ulp, sizeof ulp) == 0);
    CU_ASSERT(io.over == over && over > 0 && over < N && ulp[0] > 0);
    CU_ASSERT(memcmp(bh[0], bh[1], sizeof bh[0]) == 0 && memcmp(share[0], share[1], sizeof share[0]) == 0);
    io.axes = NULL;
    CU_ASSERT_EQUAL(m()->further(&a, &b, &io, NULL), ASSAY_OK);
    CU_ASSERT(isnan(io.cosine) && io.over == over && memcmp(io.ulp, ulp, sizeof ulp) == 0);
    io.rms_ref = NAN;
    CU_ASSERT_EQUAL(m()->further(&a, &b, &io, NULL), ASSAY_OK);
    CU_ASSERT(isnan(io.ulp[0]) && io.over == over);
    io.axes = &(assay_axes){.batch = -1, .head = -1, .token = 4, .channel = -1};
    CU_ASSERT_EQUAL(m()->further(&a, &b, &io, NULL), ASSAY_E_INPUT);
}

/* Values whose squares overflow are finite all the same. */
static void large_doubles_are_finite(void) {
    double r[] = {1e200, 2e200, -1e200}, c[] = {1e200, INFINITY, -1e200};
    CU_ASSERT_EQUAL(pair(r, r, 3).nonfinite_ref, 0);
    CU_ASSERT_EQUAL(pair(r, c, 3).nonfinite_cand, 1);
}

/* statistics.md section 3.2, "Verified defects in published helpers": what our figures say instead. */
static void noise_is_not_divided_by_the_first_axis(void) {
    enum { N = 2 * 5 * 30 * 8 };
    static double r[N], c[N];
    for (int i = 0; i < N; i++) r[i] = i == 9 ? 1 : 0.5, c[i] = r[i] + 0x1p-10;
    int64_t shape[] = {2, 5, 30, 8};
    assay_tensor a = assay_tensor_view(ASSAY_F64, 4, shape, r), b = assay_tensor_view(ASSAY_F64, 4, shape, c);
    assay_pair_stats s;
    CU_ASSERT_EQUAL(m()->pair(&a, &b, -1, &s, NULL), ASSAY_OK);
    NEAR(s.psnr_db, 60.20599913279624, 1e-9); /* -20 log10(2^-10), whatever the shape */
}
static void zeros_against_zeros_have_no_psnr(void) {
    double z[3] = {0, 0, 0}, c[3] = {1e-5, 1e-5, 1e-5};
    assay_pair_stats s = pair(z, z, 3);
    CU_ASSERT(s.identical && isnan(s.psnr_db) && isnan(s.snr_db) && isnan(s.cosine) && isnan(s.gain) && isnan(s.rel_l2));
    s = pair(z, c, 3);
    CU_ASSERT(!s.identical && isnan(s.psnr_db) && isnan(s.snr_db) && isnan(s.cosine) && isnan(s.rel_l2));
}
static void identical_has_no_psnr_whatever_the_peak(void) {
    double peaks[] = {1, 0.5, 0.1, 0.03, 0.01};
    for (int i = 0; i < 5; i++) {
        double r[] = {peaks[i], -peaks[i] / 2};
        assay_pair_stats s = pair(r, r, 2);
        CU_ASSERT(s.identical && isnan(s.psnr_db) && isnan(s.snr_db) && s.cosine == 1 && s.rel_l2 == 0);
    }
}
/* M182_no: a peak taken as the largest value would be wrong */
static void the_peak_of_negative_outputs_is_their_magnitude(void) {
    double r[] = {-2, -8, -4}, c[] = {-2, -8.5, -4};
    assay_pair_stats s = pair(r, c, 3);
    CU_ASSERT_EQUAL(s.peak_ref, 8);
    NEAR(s.psnr_db, 10 * 2.885361220031512, 1e-9); /* log10(64 * 3 / 0.25) */
}
static void a_zero_candidate_scores_the_crest_factor_only(void) {
    double r[] = {1, -1, 1, 3}, z[4] = {0, 0, 0, 0};
    assay_pair_stats s = pair(r, z, 4);
    NEAR(s.psnr_db, 10 * 0.47712125471966244, 1e-12); /* 9 / (12/4) = 3 */
    NEAR(s.snr_db, 0, 0);
    CU_ASSERT(isnan(s.cosine) && s.gain == 0 && s.rel_l2 == 1);
}

ASSAY_SUITE("metrics", TEST(figures_of_a_hand_worked_pair), TEST(nothing_is_defined_beside_nan), TEST(no_elements_no_figures),
            TEST(pearson_survives_a_large_mean), TEST(equal_elements_are_constant_with_variance_zero),
            TEST(an_element_can_be_left_out), TEST(shapes_must_be_equal), TEST(strides_and_types_do_not_matter),
            TEST(halves_widen_exactly), TEST(slices_are_pairs_of_their_own), TEST(the_token_mean_is_taken_away),
            TEST(ulp_distances_are_counted_in_halves), TEST(ulp_distances_round_as_halves_do), TEST(elements_over_counts_nan), TEST(bits_decide_equality),
            TEST(every_level_and_type_gives_the_same_bits), TEST(halves_are_counted_wherever_they_lie), TEST(threads_do_not_matter), TEST(rest_is_the_pair_without_one),
            TEST(rest_of_nothing_is_undefined), TEST(further_is_the_three_together), TEST(large_doubles_are_finite), TEST(noise_is_not_divided_by_the_first_axis),
            TEST(zeros_against_zeros_have_no_psnr), TEST(identical_has_no_psnr_whatever_the_peak),
            TEST(the_peak_of_negative_outputs_is_their_magnitude), TEST(a_zero_candidate_scores_the_crest_factor_only))
