/* What the parity gate says beside its rules: labels, diagnoses, missing evidence; the defects of published helpers; an older host. */
#include "test_parity.h"
#include "metrics/metrics.h"
#include "plugin/registry.h"
#include <stddef.h>

static void labels_are_judged_one_by_one(void) {
    reset();
    assay_evidence_set *ev = assay_evidence_new();
    put(ev, "reference", "a", ASSAY_F64, 4, shape, r), put(ev, "candidate", "a", ASSAY_F16, 4, shape, c);
    c[9] = NAN;
    put(ev, "reference", "b", ASSAY_F64, 4, shape, r), put(ev, "candidate", "b", ASSAY_F16, 4, shape, c);
    assay_json *v = judge("parity", ev, "{}", NULL);
    const assay_json *of = assay_json_path(v, "metrics.gate.verdicts");
    CU_ASSERT_STRING_EQUAL(assay_json_string(of, "a", ""), "pass");
    CU_ASSERT_STRING_EQUAL(assay_json_string(of, "b", ""), "kill");
    expect(v, "kill", "fixture_disagreement");
}
static void diagnoses_stand_beside_the_deciding_code(void) {
    reset();
    for (int i = 0; i < N; i++) r[i] *= 1e-5, c[i] = r[i] * 1.2;
    expect(alone("{}"), "kill", "fp16_subnormal_range");
    reset();
    for (int i = 0; i < N; i += 10) c[i] = 0;
    expect(alone("{}"), "kill", "hard_drop_to_zero");
    reset();
    for (int i = E; i < N; i++) c[i] = r[(i + 5) % N]; /* M185_no: only row 0 is right, as in a padded buffer read as if it were not */
    expect(alone("{}"), "kill", "layout_mismatch_suspected");
    reset();
    r[0] = 1e5, c[0] = 1e5; /* overflows in fp16 */
    expect(alone("{}"), "kill", "fp16_overflow_suspected");
}
/* M185_yes: what is wrong in another way than rows that start at the wrong place is not called a layout. */
static void other_faults_are_no_layout_mismatch(void) {
    reset();
    for (int i = E; i < N / 4; i++) c[i] = r[(i + 5) % N]; /* row 0 is right, and so are most of the others */
    assay_json *v = alone("{}");
    CU_ASSERT(!has_code(v, "layout_mismatch_suspected"));
    expect(v, "kill", "row_cosine_below_min");
    reset();
    for (int i = 0; i < N; i++) c[i] = r[(i + 5) % N]; /* all rows are wrong, row 0 too */
    v = alone("{}");
    CU_ASSERT(!has_code(v, "layout_mismatch_suspected"));
    expect(v, "kill", "cosine_below_min");
    reset();
    for (int i = 0; i < N; i++) c[i] = r[i] * 1.05; /* each row points where it should */
    v = alone("{}");
    CU_ASSERT(!has_code(v, "layout_mismatch_suspected"));
    expect(v, "kill", "scale_error");
}
/* The limits that would have let it pass are said, stamped, and change nothing. */
static void what_would_have_passed_is_stamped_post_hoc(void) {
    reset();
    for (int i = 0; i < N; i++) c[i] = r[i] * 1.05;
    assay_json *v = alone("{}");
    const assay_json *wish = assay_json_path(v, "details.would_have_passed");
    CU_ASSERT(assay_json_bool(wish, "post_hoc", false) && fabs(assay_json_number(wish, "gain_tolerance", 0) - 0.05) < 1e-3);
    CU_ASSERT(assay_json_get(wish, "cosine_min") == NULL); /* that one was met */
    expect(v, "kill", "post_hoc_tolerance");
    reset();
    v = alone("{}");
    CU_ASSERT(!has_code(v, "post_hoc_tolerance") && assay_json_path(v, "details.would_have_passed") == NULL);
    assay_json_free(v);
    memset(c, 0, sizeof c); /* no limit lets zeros pass */
    v = alone("{}");
    CU_ASSERT(!has_code(v, "post_hoc_tolerance"));
    assay_json_free(v);
}
/* Twelve limits at once are said to the last. */
static void what_would_have_passed_is_said_whole(void) {
    reset();
    for (int i = 0; i < N; i++) c[i] = 1.3 * r[(i + 5) % N];
    assay_json *v = with_control("{\"rel_l2_max\":1e-9,\"max_abs_max\":1e-9,\"psnr_min_db\":200,\"snr_min_db\":200}");
    const assay_json *reasons = assay_json_get(v, "reasons");
    const char *said = "";
    for (size_t i = 0; i < assay_json_len(reasons); i++)
        if (!strcmp(assay_json_string(assay_json_at(reasons, i), "code", ""), "post_hoc_tolerance"))
            said = assay_json_string(assay_json_at(reasons, i), "message", "");
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "with cosine_min "));
    const char *last = strstr(said, ", row_rel_l2_factor_vs_control ");
    CU_ASSERT(last && strtod(last + strlen(", row_rel_l2_factor_vs_control "), NULL) > 1);
    assay_json_free(v);
}
/* Rows behind the valid ones hold anything: NaN in the candidate and in the reference takes no part. */
static void padded_tokens_take_no_part(void) {
    reset();
    for (int i = 0; i < N; i++)
        if (i / E % S >= S - 2) c[i] = NAN, r[i] = i % 2 ? NAN : 5;
    char params[64];
    snprintf(params, sizeof params, "{\"layout\":\"BHSD\",\"valid_tokens\":%d}", S - 2);
    assay_json *v = alone(params);
    CU_ASSERT(metric(v, "candidate", "count") == N / S * (S - 2));
    expect(v, "pass", NULL);
    c[(S - 3) * E] = NAN;
    expect(alone(params), "kill", "nonfinite_output");
    expect(alone("{\"layout\":\"BHSD\"}"), "invalid", "reference_not_finite");
}
static void missing_evidence_is_not_measured(void) {
    reset();
    assay_evidence_set *ev = assay_evidence_new();
    put(ev, "candidate", "", ASSAY_F16, 4, shape, c);
    expect(judge("parity", ev, "{}", NULL), "not-measured", "evidence_missing");
    expect(judge("parity", assay_evidence_new(), "{}", NULL), "not-measured", "nothing_to_compare");
    ev = assay_evidence_new();
    put(ev, "reference", "", ASSAY_F64, 4, shape, r);
    assay_evidence_add_absent(ev, ASSAY_K_OUTPUT, "candidate", "", "fused", ASSAY_STATE_FAILED, "signal 6");
    expect(judge("parity", ev, "{}", NULL), "inconclusive", "evidence_missing");
}
static void axes_that_do_not_exist_are_errors(void) {
    static const char *const bad[] = {"{\"head_axis\":4}", "{\"layout\":\"BSD\"}", "{\"layout\":\"BXSD\"}",
                                      "{\"layout\":\"BBSD\"}", "{\"token_axis\":1,\"channel_axis\":1}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assay_error err = {0};
        reset();
        assay_json *v = judge("parity", pair_of(r, c), bad[i], &err);
        CU_ASSERT_PTR_NULL(v);
        CU_ASSERT(strstr(err.message, "axis") || strstr(err.message, "axes") || strstr(err.message, "letters"));
        assay_json_free(v);
    }
}
static void letters_of_the_calibration_preset(void) {
    const struct {
        double scale;
        const char *letters;
    } rows[] = {{1, ""}, {0, "ZCPSRGM"}, {2, "PSGM"}, {1.02, "SGM"}};
    for (int i = 0; i < 4; i++) {
        reset();
        for (int j = 0; j < N; j++) c[j] = r[j] * rows[i].scale;
        assay_json *v = with_control("{\"preset\":\"calibration-4\"}");
        CU_ASSERT_STRING_EQUAL(assay_json_string(assay_json_path(v, "metrics.candidate"), "letters", "?"), rows[i].letters);
        expect(v, i ? "kill" : "pass", NULL);
    }
}

/* statistics.md section 3.2, "Verified defects in published helpers": the verdicts that are right. */
static void published_zeros_against_zeros_is_no_pass(void) {
    static double zero[N], tiny[N];
    for (int i = 0; i < N; i++) tiny[i] = 1e-5;
    expect(judge("parity", pair_of(zero, zero), "{\"psnr_min_db\":40}", NULL), "invalid", "fixture_without_power");
    expect(judge("parity", pair_of(zero, tiny), "{\"psnr_min_db\":40}", NULL), "invalid", "fixture_without_power");
    expect(judge("parity", pair_of(zero, zero), "{\"preset\":\"none\",\"psnr_min_db\":29.5}", NULL), "invalid",
           "fixture_without_power");
}
/* M182_yes */
static void published_identical_passes_whatever_the_peak(void) {
    const double peaks[] = {1, 0.5, 0.1, 0.03, 0.01};
    for (int i = 0; i < 5; i++) {
        reset();
        double most = 0;
        for (int j = 0; j < N; j++) most = fabs(r[j]) > most ? fabs(r[j]) : most;
        for (int j = 0; j < N; j++) {
            uint16_t h = assay_f64_to_f16(r[j] / most * peaks[i]);
            r[j] = c[j] = assay_f16_to_f32(h);
        }
        assay_json *v = alone("{\"preset\":\"none\",\"psnr_min_db\":70,\"snr_min_db\":70}");
        CU_ASSERT(metric(v, "candidate", "identical") == 1 && isnan(metric(v, "candidate", "psnr_db")));
        expect(v, "pass", NULL);
    }
}
/* M182_no: with a peak of 1 taken for granted these 20 dB would be 60. */
static void published_small_outputs_have_a_small_peak(void) {
    reset();
    for (int i = 0; i < N; i++) r[i] = i % 2 ? 0.01 : -0.01, c[i] = r[i] * 1.1;
    assay_json *v = alone("{\"preset\":\"none\",\"psnr_min_db\":40}");
    CU_ASSERT_DOUBLE_EQUAL(metric(v, "candidate", "psnr_db"), 20, 0.1);
    expect(v, "kill", "psnr_below_min");
}
/* M57_no */
static void published_nan_is_killed_not_skipped(void) {
    reset();
    for (int i = 0; i < N; i++) c[i] = NAN;
    expect(alone("{\"preset\":\"none\",\"cosine_min\":-1}"), "kill", "nonfinite_output");
}

/* A host of an earlier minor offers a shorter table: the gate reads no byte beyond it. */
static uint32_t table_bytes;
static const void *shorter_metrics(void *ctx, const char *name) {
    static assay_metrics_1 m;
    (void)ctx;
    m = *assay_metrics_iface();
    m.struct_size = table_bytes;
    return strcmp(name, ASSAY_METRICS_1) == 0 ? &m : NULL;
}
static void an_older_host_is_refused(void) {
    const assay_gate_type *type = assay_registry_gate(gates_loaded("parity"), "parity", NULL);
    assay_host host = *assay_host_table();
    assay_error err = {0};
    void *self = NULL;
    CU_ASSERT_PTR_NOT_NULL_FATAL(type);
    host.get = shorter_metrics;
    table_bytes = offsetof(assay_metrics_1, further);
    CU_ASSERT_EQUAL(type->create(type, &host, NULL, &self, &err), ASSAY_E_UNSUPPORTED);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "older than this gate"));
}

ASSAY_SUITE("parity, the answer", TEST(labels_are_judged_one_by_one), TEST(diagnoses_stand_beside_the_deciding_code),
            TEST(other_faults_are_no_layout_mismatch), TEST(what_would_have_passed_is_stamped_post_hoc),
            TEST(what_would_have_passed_is_said_whole), TEST(padded_tokens_take_no_part),
            TEST(missing_evidence_is_not_measured), TEST(axes_that_do_not_exist_are_errors),
            TEST(letters_of_the_calibration_preset), TEST(published_zeros_against_zeros_is_no_pass),
            TEST(published_identical_passes_whatever_the_peak), TEST(published_small_outputs_have_a_small_peak),
            TEST(published_nan_is_killed_not_skipped), TEST(an_older_host_is_refused))
