/* The simulated device: what its numbers and its faults do to values. */
#include "simulated.h"

static void run_under(const char *fields, graph g, const assay_named_tensor *in, uint32_t n_in, uint64_t prediction, double *out) {
    assay_sim_profile p = load(fields);
    assay_sim_placed placed;
    assay_sim_run run = {.placed = &placed, .prediction = prediction};
    CU_ASSERT_EQUAL_FATAL(assay_sim_place(p.json, g.f, "all", &placed, NULL), ASSAY_OK);
    assay_sim_read_numerics(p.json, &run);
    assay_exec_options o = {.threads = 1, .around = assay_sim_around, .around_ctx = &run};
    assay_exec *e = NULL;
    assay_named_tensor t;
    CU_ASSERT_EQUAL_FATAL(assay_exec_open(g.p, &o, &e, NULL), ASSAY_OK);
    CU_ASSERT_EQUAL_FATAL(assay_exec_run(e, in, n_in, NULL), ASSAY_OK);
    CU_ASSERT_EQUAL_FATAL(assay_exec_output(e, 0, &t, NULL), ASSAY_OK);
    assay_tensor_read(&t.t, ASSAY_F64, out);
    assay_exec_close(e);
    assay_sim_placed_free(&placed);
    assay_sim_profile_free(&p);
    assay_program_free(g.p);
}

/* y = a * b, one matmul of [1, n] and [n, 1], or an elementwise op. */
static double two_values(const char *fields, const char *op, int64_t n, float a, float b) {
    graph g = graph_new();
    int64_t row[] = {1, n}, column[] = {n, 1};
    bool product = strcmp(op, "matmul") == 0;
    val x = g_input(&g, "x", ASSAY_MIL_FP16, 2, row), y = g_input(&g, "y", ASSAY_MIL_FP16, 2, product ? column : row), z = g_op(&g, op, "z", "x", x, "y", y, NULL);
    assay_mil_value *outs[] = {z};
    assay_function_set_outputs(g.p, g.f, outs, 1, NULL);
    assay_program_index(g.p);
    uint16_t *va = calloc((size_t)n, 2), *vb = calloc((size_t)n, 2);
    double *out = calloc((size_t)n, sizeof *out);
    for (int64_t i = 0; i < n; i++) {
        va[i] = assay_f32_to_f16(a);
        vb[i] = assay_f32_to_f16(b);
    }
    assay_named_tensor in[] = {{"x", assay_tensor_view(ASSAY_F16, 2, row, va)}, {"y", assay_tensor_view(ASSAY_F16, 2, product ? column : row, vb)}};
    run_under(fields, g, in, 2, 1, out);
    double first = out[0];
    free(va);
    free(vb);
    free(out);
    return first;
}

static void a_unit_keeps_numbers_its_own_way(void) {
    CU_ASSERT_EQUAL(two_values(ON_ANE, "matmul", 1, 256, 120), 30720);                   /* below the ceiling 2^15 */
    CU_ASSERT_TRUE(isinf(two_values(ON_ANE, "matmul", 1, 256, 128)));                    /* N3: a stored product of 32768 */
    CU_ASSERT_EQUAL(two_values(ON_CPU, "matmul", 1, 256, 128), 32768);
    CU_ASSERT_EQUAL(two_values(ON_ANE, "mul", 1, 256, 128), 32768);                      /* elementwise paths reach 65504 */
    CU_ASSERT_TRUE(isinf(two_values(ON_ANE, "mul", 1, 256, 256)));                       /* N4 */
    CU_ASSERT_EQUAL(two_values(ON_ANE, "matmul", 1, 0x1p-20f, 1), 0);                    /* N7: flushed in a sum of products */
    CU_ASSERT_EQUAL(two_values(ON_CPU, "matmul", 1, 0x1p-20f, 1), 0x1p-20);
    CU_ASSERT_EQUAL(two_values(ON_ANE, "mul", 1, 0x1p-20f, 1), 0x1p-20);                 /* kept elementwise */
    CU_ASSERT_EQUAL(two_values(ON_ANE ", numerics = { ane = { subnormal_mac = 'unknown->keep' } }", "matmul", 1, 0x1p-20f, 1), 0x1p-20);
    CU_ASSERT_TRUE(isinf(two_values(ON_ANE, "add", 1, (float)NAN, 1)));                  /* N5: NaN comes in as infinity */
    CU_ASSERT_TRUE(isnan(two_values(ON_CPU, "add", 1, (float)NAN, 1)));
    CU_ASSERT_EQUAL(two_values(ON_ANE, "sub", 1, (float)INFINITY, (float)INFINITY), 0);  /* N6 */
    CU_ASSERT_TRUE(isnan(two_values(ON_CPU, "sub", 1, (float)INFINITY, (float)INFINITY)));
}

static void an_fp16_sum_stalls_where_a_wide_one_goes_on(void) {
    CU_ASSERT_EQUAL(two_values(ON_ANE, "matmul", 4096, 1, 1), 4096);                     /* N2 */
    CU_ASSERT_EQUAL(two_values(ON_ANE ", numerics = { ane = { accumulate = 'fp16' } }", "matmul", 4096, 1, 1), 2048);
}

static void rounding_to_fp16_is_that_of_the_conversion(void) {
    float x = 0x1p-26f;
    for (int i = 0; i < 60000; i++, x *= 1.0007f) {
        float want = assay_f16_to_f32(assay_f32_to_f16(x));
        if (assay_sim_round16(x) != want || assay_sim_round16(-x) != -want) CU_FAIL("differs");
    }
    CU_ASSERT_EQUAL(assay_sim_round16(65519.996f), 65504.0f);
    CU_ASSERT_TRUE(isinf(assay_sim_round16(65520.0f)));
    CU_ASSERT_TRUE(isnan(assay_sim_round16((float)NAN)));
}

/* ---- faults */

static double q_[B * H * S * E], out_[B * H * S * E], plain_[B * H * S * E];

/* The fused op on fixed numbers: queries of one size, keys that differ, values by head and row. */
static void attend_with_mask(const char *fields, float size, bool masked, uint64_t prediction, double *out) {
    static uint16_t q[B * H * S * E], k[B * H * S * E], v[B * H * S * E], m[S * S];
    int64_t shape[] = {B, H, S, E}, square[] = {S, S};
    for (int i = 0; i < B * H * S * E; i++) {
        q[i] = assay_f32_to_f16(size * (float)(1 + i % 3));
        k[i] = assay_f32_to_f16((float)((i * 7) % 5) - 2);
        v[i] = assay_f32_to_f16((float)(i / E % S) + (float)(i / (S * E)) * 16);
    }
    for (int i = 0; i < S * S; i++) m[i] = assay_f32_to_f16(i % S > i / S ? -1000.0f : 0.0f);
    assay_named_tensor in[] = {{"q", assay_tensor_view(ASSAY_F16, 4, shape, q)}, {"k", assay_tensor_view(ASSAY_F16, 4, shape, k)},
                               {"v", assay_tensor_view(ASSAY_F16, 4, shape, v)}, {"mask", assay_tensor_view(ASSAY_F16, 2, square, m)}};
    run_under(fields, attention(true, masked ? ASSAY_MIL_FP16 : 0), in, masked ? 4 : 3, prediction, out);
}

static void attend(const char *fields, float size, double *out) { attend_with_mask(fields, size, false, 1, out); }

static double largest_difference(const double *a, const double *b) {
    double d = 0;
    for (int i = 0; i < B * H * S * E; i++) d = fabs(a[i] - b[i]) > d || a[i] != a[i] ? fabs(a[i] - b[i]) : d;
    return d;
}

static void faults_that_fill_fill_everything(void) {
    attend(FAULT("zero", ""), 1, out_);
    for (int i = 0; i < B * H * S * E; i++) CU_ASSERT_EQUAL(out_[i], 0);
    attend(FAULT("constant", ", value = 1.5"), 1, out_);
    for (int i = 0; i < B * H * S * E; i++) CU_ASSERT_EQUAL(out_[i], 1.5);
    attend(FAULT("nan", ""), 1, out_);
    for (int i = 0; i < B * H * S * E; i++) CU_ASSERT_TRUE(isnan(out_[i]));
}

static void faults_that_move_move_what_they_say(void) {
    int head = S * E;
    attend(ON_ANE, 1, plain_);
    attend(FAULT("tail_zero", ", rows = 3"), 1, out_);
    for (int i = 0; i < B * H * S * E; i++) CU_ASSERT_EQUAL(out_[i], i / E % S >= S - 3 ? 0 : plain_[i]);
    attend(FAULT("swap_heads", ""), 1, out_);
    for (int i = 0; i < head; i++) CU_ASSERT(out_[i] == plain_[i + head] && out_[i + head] == plain_[i]);
    attend(FAULT("gain", ", x = 2"), 1, out_);
    for (int i = 0; i < B * H * S * E; i++) CU_ASSERT_EQUAL(out_[i], 2 * plain_[i]);
}

static void faults_of_the_scores_change_them(void) {
    attend(ON_ANE, 1, plain_);
    attend(FAULT("uniform", ""), 1, out_);
    for (int i = 0; i < B * H * S * E; i++) CU_ASSERT_DOUBLE_EQUAL(out_[i], (S - 1) / 2.0 + (i / (S * E)) * 16, 1e-2);
    attend(FAULT("no_scale", ""), 0.5f, out_);                   /* E = 4: the scale is a half */
    CU_ASSERT(largest_difference(out_, plain_) < 0.02);
    attend(FAULT("scale_twice", ""), 2, out_);
    CU_ASSERT(largest_difference(out_, plain_) < 0.02);
    attend(FAULT("scale_twice", ""), 1, out_);
    CU_ASSERT(largest_difference(out_, plain_) > 0.05);
}

static void faults_of_the_mask_need_a_mask(void) {
    attend_with_mask(ON_ANE, 1, true, 1, plain_);
    attend_with_mask(FAULT("ignore_mask", ""), 1, true, 1, out_);
    CU_ASSERT_EQUAL(plain_[0], 0);                               /* the first row sees the first key only */
    CU_ASSERT(out_[0] > 0.1);
    attend(ON_ANE, 1, q_);
    CU_ASSERT(largest_difference(out_, q_) < 0.02);
    attend_with_mask(FAULT("mask_transposed", ""), 1, true, 1, out_);
    CU_ASSERT_DOUBLE_EQUAL(out_[(S - 1) * E], S - 1, 1e-3);      /* and now the last row the last key only */
}

static void without_the_shift_flat_scores_pass_and_peaked_ones_do_not(void) {
    attend(ON_ANE, 0.25f, plain_);
    attend(FAULT("noshift", ""), 0.25f, out_);
    CU_ASSERT(largest_difference(out_, plain_) < 0.05);
    attend(FAULT("noshift", ""), 16, out_);                      /* scores above 11.09: fp16 exp is infinite, the row comes out 0 */
    bool zero_row = false;
    for (int i = 0; i < B * H * S; i++) zero_row |= out_[i * E] == 0 && plain_[i * E] != 0;
    CU_ASSERT_TRUE(zero_row);
}

static void orders_of_attention_agree_within_fp16(void) {
    static const char *const orders[] = {"fold", "preq", "prek", "split", "post"}, *const softmaxes[] = {"f32", "f16wide", "f16rcp", "f16narrow", "noshift"};
    attend(ON_ANE, 0.5f, plain_);
    for (int i = 0; i < 5; i++) {
        char *fields = assay_xprintf(ON_ANE ", numerics = { ane = { order = '%s', softmax = '%s' } }", orders[i], softmaxes[i]);
        attend(fields, 0.5f, out_);
        CU_ASSERT(largest_difference(out_, plain_) < 0.1);
        free(fields);
    }
    /* Only an order that stores unscaled scores meets the ceiling (N3), and then its rows are zero (N6). */
    attend(ON_ANE ", numerics = { ane = { order = 'post' } }", 8192, out_);
    bool zero = false;
    for (int i = 0; i < B * H * S; i++) zero |= out_[i * E] == 0;
    CU_ASSERT_TRUE(zero);
    attend(ON_ANE, 8192, plain_);
    for (int i = S; i < B * H * S; i++) CU_ASSERT(plain_[i * E] != 0);           /* the second head's values are 16 and more */
}

static void some_predictions_differ(void) {
    attend_with_mask(FAULT("stale_first_run", ""), 1, false, 1, out_);
    attend_with_mask(FAULT("stale_first_run", ""), 1, false, 2, plain_);
    CU_ASSERT_EQUAL(out_[S * E], 0);
    CU_ASSERT(plain_[S * E] >= 16);
    attend_with_mask(FAULT("flip", ", every_n = 3"), 1, false, 3, out_);
    CU_ASSERT(largest_difference(out_, plain_) > 0);
    CU_ASSERT(largest_difference(out_, plain_) < 0.02);
    attend_with_mask(FAULT("flip", ", every_n = 3"), 1, false, 4, out_);
    CU_ASSERT_EQUAL(largest_difference(out_, plain_), 0);
}

static void a_fault_stays_where_the_op_was_placed(void) {
    attend(ON_CPU, 1, plain_);
    attend("faults = { { id = 'f', when = { op = 'scaled_dot_product_attention', on = 'ane' }, effect = 'zero', grade = 'I', source = 's' } }, " ON_CPU, 1, out_);
    CU_ASSERT_EQUAL(largest_difference(out_, plain_), 0);
}

ASSAY_SUITE("simulated device, values", TEST(a_unit_keeps_numbers_its_own_way),
            TEST(an_fp16_sum_stalls_where_a_wide_one_goes_on), TEST(rounding_to_fp16_is_that_of_the_conversion),
            TEST(faults_that_fill_fill_everything), TEST(faults_that_move_move_what_they_say),
            TEST(faults_of_the_scores_change_them), TEST(faults_of_the_mask_need_a_mask),
            TEST(without_the_shift_flat_scores_pass_and_peaked_ones_do_not),
            TEST(orders_of_attention_agree_within_fp16), TEST(some_predictions_differ),
            TEST(a_fault_stays_where_the_op_was_placed))
