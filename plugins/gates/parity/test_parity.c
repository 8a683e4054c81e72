/* The parity gate, rule by rule: a tensor that keeps the rule and one that breaks it. */
#include "test_parity.h"

static bool applied(const assay_json *v, const char *rule) {
    const assay_json *lines = assay_json_get(assay_json_get(v, "details"), "rules");
    for (size_t i = 0; i < assay_json_len(lines); i++)
        if (strcmp(assay_json_string(assay_json_at(lines, i), "rule", ""), rule) == 0)
            return assay_json_bool(assay_json_at(lines, i), "applied", false);
    CU_FAIL("the rule has no line");
    return false;
}

/* M42_yes M57_yes M58_yes M59_yes M60_yes M61_yes */
static void a_rounded_reference_passes_every_rule(void) {
    reset();
    assay_json *v = with_control("{" BHSD "}");
    static const char *const rules[] = {"0", "1", "2", "3", "4", "5", "7", "8", "9", "10", "11", "12", "12c"};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) CU_ASSERT(applied(v, rules[i]));
    CU_ASSERT(!applied(v, "6") && !applied(v, "7s") && !applied(v, "13") && !applied(v, "14"));
    CU_ASSERT(metric(v, "candidate", "snr_db") > 70 && metric(v, "candidate_vs_control", "snr_db") > 40);
    CU_ASSERT(metric(v, "candidate", "max_ulp") <= 1 && metric(v, "candidate", "similarity_met") == 1);
    CU_ASSERT_EQUAL(assay_json_len(assay_json_path(v, "details.worst.row")), 10);
    expect(v, "pass", NULL);
}

static void rule_0_nothing_is_broadcast(void) {
    reset();
    assay_evidence_set *ev = assay_evidence_new();
    const int64_t other[] = {1, H, S, E};
    put(ev, "reference", "", ASSAY_F64, 4, shape, r);
    put(ev, "candidate", "", ASSAY_F16, 4, other, c);
    expect(judge("parity", ev, "{}", NULL), "kill", "shape_mismatch");
}
static void rule_1_a_broken_reference_is_invalid(void) {
    reset();
    r[7] = NAN, c[7] = NAN;
    expect(alone("{}"), "invalid", "reference_not_finite");
}
/* M57_no */
static void rule_2_nan_fails_and_nothing_else_is_computed(void) {
    reset();
    c[100] = NAN;
    assay_json *v = alone("{}");
    CU_ASSERT_EQUAL(metric(v, "candidate", "nan_cand"), 1);
    CU_ASSERT_EQUAL(metric(v, "candidate", "first_nonfinite_cand"), 100);
    CU_ASSERT(isnan(metric(v, "candidate", "cosine")) && isnan(metric(v, "candidate", "max_abs")));
    expect(v, "kill", "nonfinite_output");
    reset();
    c[3] = INFINITY;
    expect(alone("{\"preset\":\"none\",\"max_abs_max\":1e300}"), "kill", "nonfinite_output");
}
/* A fixture without power decides nothing. */
static void rule_3_a_flat_fixture_has_no_power(void) {
    reset();
    for (int i = 0; i < N; i++) r[i] = c[i] = 0.5;
    expect(alone("{}"), "invalid", "fixture_without_power");
    reset();
    for (size_t i = AT(1, 2, 0, 0); i < N; i++) r[i] = c[i] = 0; /* one (batch, head) of the reference */
    expect(alone("{" BHSD "}"), "invalid", "fixture_without_power");
}
/* M61_no */
static void rule_4_dead_outputs(void) {
    reset();
    memset(c, 0, sizeof c);
    assay_json *v = alone("{" BHSD "}");
    CU_ASSERT_EQUAL(metric(v, "candidate", "zero_fraction_cand"), 1);
    expect(v, "kill", "all_zero_output");
    for (int i = 0; i < N; i++) c[i] = 0.25;
    expect(alone("{" BHSD "}"), "kill", "constant_output");
    reset();
    for (size_t i = AT(0, 1, 0, 0); i < AT(0, 2, 0, 0); i++) c[i] = 1; /* one head constant, in one batch only */
    expect(alone("{" BHSD "}"), "kill", "dead_slice");
    reset();
    for (int s = 0; s < S; s++) c[AT(1, 0, s, 3)] = 0; /* one channel zero */
    expect(alone("{" BHSD "}"), "kill", "dead_slice");
    reset();
    for (int e = 0; e < E; e++) c[AT(1, 1, 9, e)] = 0; /* one row zero */
    v = alone("{" BHSD "}");
    CU_ASSERT_EQUAL(metric(v, "candidate", "dead_rows"), 1);
    expect(v, "kill", "dead_row");
}
static void rule_4_decides_before_the_power_of_the_gate(void) {
    reset();
    memset(c, 0, sizeof c);
    expect(alone("{\"preset\":\"none\",\"max_abs_max\":100}"), "kill", "all_zero_output");
}
/* M60_both: the dead arm must be rejected by the rules in force */
static void rule_5_limits_that_pass_anything_are_invalid(void) {
    reset();
    expect(alone("{\"preset\":\"none\",\"max_abs_max\":100}"), "invalid", "gate_has_no_power");
    assay_evidence_set *ev = pair_of(r, c);
    put(ev, "must_fail", "", ASSAY_F16, 4, shape, c); /* "must fail" that is right: it is not rejected */
    expect(judge("parity", ev, "{}", NULL), "invalid", "gate_has_no_power");
    ev = pair_of(r, c);
    memset(k, 0, sizeof k);
    put(ev, "must_fail", "", ASSAY_F16, 4, shape, k);
    expect(judge("parity", ev, "{}", NULL), "pass", NULL);
}
static void rule_6_repeats_must_be_equal(void) {
    const int64_t runs[] = {2, B, H, S, E};
    static double two[2 * N];
    reset();
    memcpy(two, c, sizeof c), memcpy(two + N, c, sizeof c);
    for (int differs = 0; differs < 2; differs++) {
        two[N + 5] += differs * 0x1p-8;
        assay_evidence_set *ev = assay_evidence_new();
        put(ev, "reference", "", ASSAY_F64, 4, shape, r);
        put(ev, "candidate", "", ASSAY_F16, 5, runs, two);
        assay_json *v = judge("parity", ev, "{\"repeat_axis\":0}", NULL);
        CU_ASSERT_EQUAL(metric(v, "candidate", "distinct_outputs"), 1 + differs);
        expect(v, differs ? "inconclusive" : "pass", differs ? "not_deterministic" : NULL);
    }
}
/* M58_no M250_yes: cosine decides, PSNR stands beside it */
static void rule_7_cosine(void) {
    reset();
    for (int i = 0; i < N; i++) c[i] += 0.02 * (i % 2 ? 1 : -1); /* 1 - cos about 2e-4 */
    expect(alone("{}"), "kill", "cosine_below_min");
    expect(alone("{\"cosine_min\":0.999}"), "pass", NULL);
}
static void rule_7s_steps(void) {
    const int64_t steps[] = {4, N / 4};
    for (int bad = 0; bad < 3; bad++) { /* none, the first, the last */
        reset();
        if (bad)
            for (int i = 0; i < N / 4; i++) c[(bad == 1 ? 0 : 3 * N / 4) + i] += 0.05 * (i % 2 ? 1 : -1);
        assay_evidence_set *ev = assay_evidence_new();
        put(ev, "reference", "", ASSAY_F64, 2, steps, r);
        put(ev, "candidate", "", ASSAY_F16, 2, steps, c);
        assay_json *v = judge("parity", ev, "{\"step_axis\":0,\"cosine_min\":0.9995}", NULL);
        CU_ASSERT(bad ? metric(v, "candidate", "first_step_below_min") == (bad == 1 ? 0 : 3)
                      : isnan(metric(v, "candidate", "first_step_below_min")));
        expect(v, bad ? "kill" : "pass", bad == 1 ? "step_below_min" : bad ? "drift_over_steps" : NULL);
    }
}
static void rule_8_one_head_in_one_batch(void) {
    reset();
    for (size_t i = AT(1, 2, 0, 0); i < N; i++) c[i] += 0.02 * (i % 2 ? 1 : -1); /* 1 - cos 2e-4 there, 3e-5 in the tensor */
    expect(alone("{}"), "pass", NULL);                                           /* no head axis: the rule is not applied */
    expect(alone("{\"head_axis\":1}"), "kill", "per_head_cosine_below_min");
}
static void rule_9_one_row_and_rows_that_are_skipped(void) {
    reset();
    for (int e = 0; e < E; e++) c[AT(0, 0, 5, e)] += e % 2 ? 0.1 : -0.1;
    expect(alone("{}"), "kill", "row_cosine_below_min");
    reset();
    for (int e = 0; e < E; e++) r[AT(0, 0, 5, e)] *= 1e-5, c[AT(0, 0, 5, e)] = -r[AT(0, 0, 5, e)];
    assay_json *v = alone("{}");
    CU_ASSERT_EQUAL(metric(v, "candidate", "rows_skipped"), 1);
    expect(v, "pass", NULL);
}
static void rule_10_a_common_mean_hides_nothing(void) {
    reset();
    for (int i = 0; i < N; i++) r[i] = 10 + r[i], c[i] = r[i] + (i % 2 ? 0.08 : -0.08);
    expect(alone("{}"), "pass", NULL); /* cosine 0.99997 */
    expect(alone("{\"layout\":\"BHSD\",\"preset\":\"none\",\"cosine_min\":0.9999,\"centred_cosine_min\":0.999}"), "kill",
           "centred_cosine_below_min");
    for (int i = 0; i < N; i++) r[i] = 1000 + (r[i] - 10), c[i] = r[i];
    assay_json *v = alone("{\"layout\":\"BHSD\",\"preset\":\"none\",\"rel_l2_max\":0.001,\"centred_cosine_min\":1}");
    CU_ASSERT(!applied(v, "10")); /* share 1e-3 < 2^-5: fp16 noise would decide */
    assay_json_free(v);
}
static void rule_11_gain(void) {
    reset();
    for (int i = 0; i < N; i++) c[i] = r[i] * 1.01;
    expect(alone("{}"), "kill", "scale_error");
    expect(alone("{\"gain_tolerance\":0.02}"), "pass", NULL);
    reset();
    for (size_t i = AT(0, 1, 0, 0); i < AT(0, 2, 0, 0); i++) c[i] *= 1.02; /* one head: 0.3 % in the tensor */
    expect(alone("{}"), "pass", NULL);
    expect(alone("{\"head_axis\":1}"), "kill", "scale_error");
}
/* M59_both */
static void rule_12_error_against_the_controls(void) {
    reset();
    for (int i = 0; i < N; i++) c[i] += 0.008 * (i % 2 ? 1 : -1); /* rel_l2 0.008; the control's is 0.001 */
    assay_json *v = with_control("{}");
    CU_ASSERT(has_code(v, "rel_l2_above_control_multiple") && has_code(v, "row_rel_l2_above_control_multiple"));
    CU_ASSERT(metric(v, "candidate", "rel_l2_over_control") > 6);
    expect(v, "kill", NULL);
    expect(alone("{}"), "pass", NULL); /* without a control it is not applied */
    reset();
    c[11] += 0.05;
    expect(with_control("{\"row_cosine_min\":0.9}"), "kill", "max_abs_above_control_multiple");
}
/* M59_yes M59_no: a multiple of a control without error is zero, so the floor alone decides; the preset without one forgives nothing. */
static void rule_12_a_control_without_error_leaves_the_floor(void) {
    reset();
    for (int i = 0; i < N; i++) r[i] = k[i] = assay_f16_to_f32(assay_f64_to_f16(r[i]));
    for (int i = 0; i < N; i++) c[i] = r[i] + (fabs(r[i]) < 0.25 ? 0x1p-13 : 0); /* below 2^-11 of the reference */
    expect(with_control("{}"), "pass", NULL);
    assay_json *v = with_control("{\"preset\":\"calibration-4\"}");
    CU_ASSERT_STRING_EQUAL(assay_json_string(assay_json_path(v, "metrics.candidate"), "letters", "?"), "M");
    expect(v, "kill", NULL);
    c[11] = r[11] + 0.05;
    expect(with_control("{\"row_cosine_min\":0.9}"), "kill", "max_abs_above_control_multiple");
    for (int i = 0; i < N; i++) c[i] = r[i];
    expect(with_control("{\"preset\":\"calibration-4\"}"), "pass", NULL);
}
/* What the control cannot hold either says nothing of the candidate; where the control can, or the candidate is finite, it does. */
static void rule_2e_a_fixture_beyond_both_arms(void) {
    reset();
    k[7] = INFINITY, c[9] = NAN;
    expect(with_control("{}"), "inconclusive", "out_of_envelope");
    for (int i = 0; i < N; i++) c[i] = 0;
    expect(with_control("{}"), "inconclusive", "out_of_envelope");
    k[7] = r[7];
    expect(with_control("{}"), "kill", "all_zero_output");
    reset();
    k[7] = INFINITY;
    expect(with_control("{}"), "invalid", "control_failed");
    r[7] = INFINITY, c[9] = NAN;
    expect(with_control("{}"), "invalid", "reference_not_finite");
    reset();
}
/* M42_no */
static void rule_12c_a_control_that_fails_is_no_measure(void) {
    reset();
    for (int i = 0; i < N; i++) k[i] = r[i] * 1.1;
    expect(with_control("{}"), "invalid", "control_failed");
    k[5] = NAN;
    expect(with_control("{}"), "invalid", "control_failed");
}
static void rule_13_declared_limits(void) {
    static const char *const keeps[] = {"\"rel_l2_max\":0.01", "\"max_abs_max\":0.1", "\"psnr_min_db\":50", "\"snr_min_db\":40",
                                        "\"atol\":0.01,\"rtol\":0.001"};
    static const char *const breaks[] = {"\"rel_l2_max\":0.001", "\"max_abs_max\":0.001", "\"psnr_min_db\":70",
                                         "\"snr_min_db\":60", "\"atol\":0.001"};
    static const char *const codes[] = {"rel_l2_above_max", "max_abs_above_max", "psnr_below_min", "snr_below_min",
                                        "element_rule_failed"};
    reset();
    for (int i = 0; i < N; i++) c[i] += i % 2 ? 0.005 : -0.005;
    for (int i = 0; i < 5; i++) {
        char params[128];
        snprintf(params, sizeof params, "{\"preset\":\"none\",%s}", keeps[i]);
        expect(alone(params), "pass", NULL);
        snprintf(params, sizeof params, "{\"preset\":\"none\",%s}", breaks[i]);
        expect(alone(params), "kill", codes[i]);
    }
}
static void rule_14_one_element_holds_the_energy(void) {
    reset();
    r[77] = 1e4, c[77] = 1e4;
    assay_json *v = alone("{\"preset\":\"none\",\"cosine_min\":0.9999,\"outlier_share_max\":0.5}");
    CU_ASSERT(applied(v, "14"));
    expect(v, "pass", NULL);
    for (int i = 0; i < N; i++)
        if (i != 77) c[i] = r[(i + 1) % N];
    expect(alone("{\"preset\":\"none\",\"cosine_min\":0.9999,\"outlier_share_max\":0.5}"), "kill", "metric_dominated_by_outlier");
}
static void a_pass_needs_rule_7_12_or_13(void) {
    reset();
    expect(alone("{\"preset\":\"none\"}"), "inconclusive", "nothing_decided");
    expect(alone("{\"preset\":\"none\",\"gain_tolerance\":0.01}"), "inconclusive", "nothing_decided");
}

ASSAY_SUITE("parity", TEST(a_rounded_reference_passes_every_rule), TEST(rule_0_nothing_is_broadcast),
            TEST(rule_1_a_broken_reference_is_invalid), TEST(rule_2_nan_fails_and_nothing_else_is_computed),
            TEST(rule_3_a_flat_fixture_has_no_power), TEST(rule_4_dead_outputs),
            TEST(rule_4_decides_before_the_power_of_the_gate), TEST(rule_5_limits_that_pass_anything_are_invalid),
            TEST(rule_6_repeats_must_be_equal), TEST(rule_7_cosine), TEST(rule_7s_steps),
            TEST(rule_8_one_head_in_one_batch), TEST(rule_9_one_row_and_rows_that_are_skipped),
            TEST(rule_10_a_common_mean_hides_nothing), TEST(rule_11_gain), TEST(rule_12_error_against_the_controls), TEST(rule_12_a_control_without_error_leaves_the_floor),
            TEST(rule_2e_a_fixture_beyond_both_arms), TEST(rule_12c_a_control_that_fails_is_no_measure),
            TEST(rule_13_declared_limits), TEST(rule_14_one_element_holds_the_energy),
            TEST(a_pass_needs_rule_7_12_or_13))
