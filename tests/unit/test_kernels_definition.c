/* tests/unit/test_kernels_definition.c: the portable kernels against values worked out by hand or kept from high precision. */
#include "unit/suite.h"
#include "ops/kernels/kernels.h"
#include <math.h>

static const assay_kernels *K(void) { return assay_kernels_find("portable"); }
static uint32_t bits(float x) {
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}
static float exp32(float x) {
    float y;
    K()->exp_f32(&x, &y, 1);
    return y;
}
static double exp64(double x) {
    double y;
    K()->exp_f64(&x, &y, 1);
    return y;
}

static void gemm_adds_bias_after_the_sum(void) {
    const float a[] = { 1, 2, 3, 4, 5, 6 }, b[] = { 1, 0, 0, 1, 2, 3 }, bt[] = { 1, 0, 2, 0, 1, 3 }, bias[] = { 10, 20 };
    float c[8] = { 0 };
    K()->gemm_f32(a, 3, b, 2, false, bias, c, 2, 2, 2, 3, 1);
    CU_ASSERT(c[0] == 17 && c[1] == 31 && c[2] == 26 && c[3] == 43);
    K()->gemm_f32(a, 3, bt, 3, true, NULL, c, 4, 2, 2, 3, 1);
    CU_ASSERT(c[0] == 7 && c[1] == 11 && c[4] == 16 && c[5] == 23);
    /* 2^24 + 1 + 1: the bias joins after the sum has been rounded */
    const float big[] = { 16777216, 1 }, ones[] = { 1, 1 }, one[] = { 1 };
    K()->gemm_f32(big, 2, ones, 1, false, one, c, 1, 1, 1, 2, 1);
    CU_ASSERT(c[0] == 16777216.0f);
}

static void gemm_fuses_multiply_and_add(void) {
    const float e = 0x1p-12f, a[] = { -1, 1 + e }, b[] = { 1 + 2 * e, 1 + e };
    float c;
    K()->gemm_f32(a, 2, b, 1, false, NULL, &c, 1, 1, 1, 2, 1);
    CU_ASSERT(c == e * e);                       /* 0 if the product were rounded first */
}

static void exp_has_exact_ends(void) {
    CU_ASSERT(bits(exp32(-INFINITY)) == 0 && exp32(INFINITY) == INFINITY && exp32(0) == 1 && exp32(-0.0f) == 1);
    CU_ASSERT(bits(exp32(-NAN)) == 0x7fc00000u && bits(exp32((float)NAN)) == 0x7fc00000u);
    CU_ASSERT(exp32(-103.98f) == 0 && exp32(-103.97f) == 0x1p-149f && exp32(88.73f) == INFINITY && exp32(88.72f) < INFINITY);
    CU_ASSERT(exp64(-INFINITY) == 0 && exp64(INFINITY) == INFINITY && exp64(0) == 1 && isnan(exp64((double)NAN)));
    CU_ASSERT(exp64(-745.2) == 0 && exp64(-745.1) == 0x1p-1074 && exp64(709.8) == INFINITY && exp64(709.7) < INFINITY);
}

static void exp_is_within_an_ulp(void) {
    /* 60-digit decimal arithmetic, rounded once */
    static const double x[] = { 1.0, -1.0, 0.5, -0.34657, 10.25, -37.5, 700.0, -700.0, 1e-9, -20.125 };
    static const double y[] = { 0x1.5bf0a8b145769p+1, 0x1.78b56362cef38p-2, 0x1.a61298e1e069cp+0, 0x1.6a0a3b975afaep-1, 0x1.b9ea2aed2a0f1p+14,
                                0x1.dd5c566301ec8p-55, 0x1.d945df4f8ec8ep+1009, 0x1.14f2b0fb9307fp-1010, 0x1.000000044b830p+0, 0x1.f3fe0cb68b20cp-30 };
    for (size_t i = 0; i < sizeof x / sizeof *x; i++) CU_ASSERT(fabs(exp64(x[i]) - y[i]) <= 0x1p-52 * y[i]);
    double worst = 0;
    for (float v = -87; v < 88; v += 0.01337f) {
        double want = exp64((double)v), err = fabs((double)exp32(v) - want) / want;
        worst = err > worst ? err : worst;
    }
    CU_ASSERT(worst <= 0x1p-23);
}

static void softmax_of_a_dead_row_is_nan(void) {
    const float inf = INFINITY;
    float rows[4][3] = { { -inf, -inf, -inf }, { 1, (float)NAN, 2 }, { 0, inf, 0 }, { 0, -inf, 0 } }, out[4][3];
    K()->softmax_f32(rows[0], out[0], 4, 3, 1);
    for (int r = 0; r < 3; r++)
        for (int i = 0; i < 3; i++) CU_ASSERT(bits(out[r][i]) == 0x7fc00000u);
    CU_ASSERT(out[3][0] == 0.5f && bits(out[3][1]) == 0 && out[3][2] == 0.5f);
    K()->softmax_f16wide(rows[0], out[0], 4, 3, 1);
    for (int r = 0; r < 3; r++) CU_ASSERT(bits(out[r][0]) == 0x7fc00000u);
    CU_ASSERT(out[3][0] == 0.5f && out[3][1] == 0);
}

static void f16wide_rounds_at_each_step(void) {
    /* exp(-1) = 0.36787944 -> fp16 0.36791992; sum 1.36791992 -> fp16 1.3681641; 1/sum -> 0.7309 and 0.26891 in fp16 */
    const float row[] = { 3, 2 };
    float out[2];
    K()->softmax_f16wide(row, out, 1, 2, 1);
    CU_ASSERT(out[0] == 0x1.764p-1f && out[1] == 0x1.134p-2f);
}

static void sums_use_sixteen_lanes(void) {
    float x[33] = { 0 };
    x[0] = 0x1p24f, x[16] = 1, x[32] = 1;        /* one lane: each 1 is lost */
    CU_ASSERT(K()->sum_f32(x, 33) == 0x1p24f);
    x[32] = 0, x[1] = 1, x[17] = 1, x[16] = 0;   /* another lane: 2 survives */
    CU_ASSERT(K()->sum_f32(x, 33) == 0x1p24f + 2);
    CU_ASSERT(K()->sum_f32(x, 0) == 0);
    double d[17] = { 0 };
    d[0] = 0x1p53, d[8] = 1, d[16] = 1;
    CU_ASSERT(K()->sum_f64(d, 17) == 0x1p53);
    d[16] = 0, d[8] = 0, d[1] = 1, d[9] = 1;
    CU_ASSERT(K()->sum_f64(d, 17) == 0x1p53 + 2);
}

static void halves_convert_both_ways(void) {
    const uint16_t h[] = { 0x3c00, 0x0001, 0x8000, 0x7c00, 0xfe01, 0x03ff };
    float f[6];
    uint16_t back[6];
    K()->f16_to_f32(h, f, 6);
    CU_ASSERT(f[0] == 1 && f[1] == 0x1p-24f && bits(f[2]) == 0x80000000u && f[3] == INFINITY && bits(f[4]) == 0x7fc00000u);
    K()->f32_to_f16(f, back, 6);
    CU_ASSERT(back[0] == 0x3c00 && back[1] == 1 && back[2] == 0x8000 && back[3] == 0x7c00 && back[4] == 0x7e00 && back[5] == 0x3ff);
    const float ties[] = { 1 + 0x1p-11f, 1 + 0x3p-11f, 65520, 65519, 0x1p-25f, 0x1.8p-24f };
    K()->f32_to_f16(ties, back, 6);
    CU_ASSERT(back[0] == 0x3c00 && back[1] == 0x3c02 && back[2] == 0x7c00 && back[3] == 0x7bff && back[4] == 0 && back[5] == 2);
}

static void attention_equals_its_steps(void) {
    enum { L = 3, S = 5, E = 4 };
    float q[L * E], k[S * E], v[S * E], mask[L * S], out[L * E], p[L * S], want[L * E];
    for (int i = 0; i < L * E; i++) q[i] = (float)(i % 7) - 3;
    for (int i = 0; i < S * E; i++) k[i] = (float)(i % 5) - 2, v[i] = (float)(i % 3) / 4;
    for (int i = 0; i < L * S; i++) mask[i] = i % S > i / S ? -INFINITY : 0;
    assay_sdpa_args a = { .q = q, .k = k, .v = v, .out = out, .batch = 1, .L = L, .S = S, .E = E, .Ev = E,
                          .mask = mask, .mask_l = S, .mask_s = 1, .scale = 0.5, .threads = 1 };
    K()->sdpa_f32(&a);
    K()->gemm_f32(q, E, k, E, true, NULL, p, S, L, S, E, 1);
    for (int i = 0; i < L * S; i++) p[i] = p[i] * 0.5f + mask[i];
    K()->softmax_f32(p, p, L, S, 1);
    K()->gemm_f32(p, S, v, E, false, NULL, want, E, L, E, S, 1);
    for (int i = 0; i < L * E; i++) CU_ASSERT(fabsf(out[i] - want[i]) <= 1e-6f);
    CU_ASSERT(out[0] == v[0] && out[1] == v[1]); /* the first row sees the first key only */
}

static void attention_without_a_key_is_nan(void) {
    const float q[2] = { 1, 2 }, k[2] = { 1, 1 }, v[2] = { 5, 6 }, mask[2] = { -INFINITY, 0 };
    float out[2];
    assay_sdpa_args a = { .q = q, .k = k, .v = v, .out = out, .batch = 1, .L = 2, .S = 1, .E = 1, .Ev = 1,
                          .mask = mask, .mask_l = 1, .mask_s = 1, .scale = 1, .threads = 1 };
    K()->sdpa_f32(&a);
    CU_ASSERT(bits(out[0]) == 0x7fc00000u && out[1] == 5);
}

static void unknown_level_is_not_found(void) {
    CU_ASSERT(assay_kernels_find("avx9") == NULL);
    CU_ASSERT(assay_kernels_best() != NULL);
}

ASSAY_SUITE("kernels_definition", TEST(gemm_adds_bias_after_the_sum), TEST(gemm_fuses_multiply_and_add), TEST(exp_has_exact_ends),
            TEST(exp_is_within_an_ulp), TEST(softmax_of_a_dead_row_is_nan), TEST(f16wide_rounds_at_each_step),
            TEST(sums_use_sixteen_lanes), TEST(halves_convert_both_ways), TEST(attention_equals_its_steps),
            TEST(attention_without_a_key_is_nan), TEST(unknown_level_is_not_found))
