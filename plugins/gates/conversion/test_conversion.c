/* The conversion gate on packages that Apple's converter wrote, rule by rule (M numbers in the names). */
#include "test_conversion.h"
#include <dirent.h>

static void pair(const char *candidate, const char *control, const char *want) {
    assay_evidence_set *ev = assay_evidence_new();
    add(ev, "candidate", "attention", candidate);
    add(ev, "control", "attention", control);
    expect(judge(ev, NULL), want, candidate);
}

/* M1_yes M2_yes M4_yes M5_yes M6_yes M7_yes M8_yes M9_yes M17_yes M11_yes M12_yes M13_yes M15_yes M16_yes M35_yes M36_yes M38_yes M55_yes M71_yes */
static void M5_M6_M55_fused_beside_explicit_passes(void) {
    if (!ready()) return;
    pair("fused_tiny_fp16", "explicit_tiny_fp16", "pass: |");
    pair("fused_mid_fp32", "explicit_mid_fp32", "pass: |");
    pair("fused_tiny_fp16io32", "explicit_tiny_fp16io32", "pass: |");
    pair("fused_mid_fp32", "explicit_scale_late_mid_fp32", "pass: |");
}

/* M5_no M38_no M55_no M71_no M19_no: a program that was written is not fused for that */
static void M5_M71_explicit_as_candidate_is_not_fused(void) {
    if (!ready()) return;
    pair("explicit_tiny_fp16", "explicit_tiny_fp16", "kill: | not_fused");
    pair("explicit_mid_fp32", "explicit_mid_fp32", "kill: | not_fused");
    pair("sliced_q_tiny_fp32", "explicit_tiny_fp32", "kill: | not_fused");
}

/* M7_no */
static void M7_scale_given_twice_is_killed(void) {
    if (!ready()) return;
    pair("double_scale_tiny_fp32", "explicit_tiny_fp32", "kill: | double_scale");
    pair("double_scale_mid_fp32", "explicit_mid_fp32", "kill: | double_scale");
}

/* M15_no M36_no M17_no: a residual sum is no exposed attention */
static void M15_M36_residual_block_is_not_comparable(void) {
    if (!ready()) return;
    pair("residual_block_tiny_fp32", "explicit_tiny_fp32", "invalid: arms_not_comparable | attention_not_exposed");
    pair("residual_block_mid_fp32", "explicit_mid_fp32", "invalid: arms_not_comparable | attention_not_exposed");
}

/* M35_no */
static void M35_operands_as_inputs_are_outside(void) {
    if (!ready()) return;
    pair("qkv_inputs_fused_mid_fp16", "qkv_inputs_explicit_mid_fp16", "kill: | projections_outside");
    pair("qkv_inputs_explicit_tiny_fp32", "qkv_inputs_explicit_tiny_fp32", "kill: | projections_outside not_fused");
}

/* M36_no */
static void M36_dead_path_is_not_exposed(void) {
    if (!ready()) return;
    pair("dead_path_tiny_fp16", "explicit_tiny_fp16", "kill: | attention_not_exposed");
    pair("dead_path_tiny_fp32", "explicit_tiny_fp32", "kill: | attention_not_exposed");
}

/* M6_no */
static void M6_control_must_be_explicit(void) {
    if (!ready()) return;
    pair("fused_tiny_fp16", "fused_tiny_fp16", "invalid: control_holds_forbidden_op control_not_explicit |");
}

/* M15_no M55_no M14_no: nor are arms of other shapes compared */
static void M15_precision_and_io_must_match(void) {
    if (!ready()) return;
    pair("fused_tiny_fp16", "explicit_tiny_fp32", "invalid: arms_not_comparable |");
    pair("fused_tiny_fp16", "explicit_tiny_fp16io32", "invalid: arms_not_comparable |");
    pair("fused_mid_fp32", "explicit_tiny_fp32", "invalid: arms_not_comparable |");
}

/* M16_no */
static void M16_other_weights_are_not_comparable(void) {
    if (!ready()) return;
    pair("all_zero_weights_v_tiny_fp16", "explicit_tiny_fp16", "invalid: arms_not_comparable |");
}

/* M55_no: a conversion that failed */
static void absent_evidence_is_not_measured(void) {
    if (!ready()) return;
    expect(judge(assay_evidence_new(), NULL), "not-measured: |", "no evidence");
    assay_evidence_set *ev = assay_evidence_new();
    assay_evidence_add_absent(ev, ASSAY_K_PROGRAM, "candidate", "", "fused", ASSAY_STATE_FAILED, "the converter said no");
    expect(judge(ev, NULL), "kill: | conversion_failed", "failed candidate");
    ev = assay_evidence_new();
    add(ev, "candidate", "attention", "fused_tiny_fp16");
    assay_evidence_add_absent(ev, ASSAY_K_PROGRAM, "control", "", "explicit", ASSAY_STATE_FAILED, "no");
    expect(judge(ev, NULL), "invalid: control_conversion_failed |", "failed control");
    ev = assay_evidence_new();
    add(ev, "candidate", "attention", "fused_tiny_fp16");
    expect(judge(ev, "{\"function\":\"other\"}"), "invalid: function_missing |", "no such function");
}

#define TESTED "milinternal coremltools 9.1.dev1"

static assay_json *converted_by(const char *params) {
    assay_evidence_set *ev = assay_evidence_new();
    add(ev, "candidate", "attention", "fused_mid_fp32");
    add(ev, "control", "attention", "explicit_mid_fp32");
    return judge(ev, params);
}

/* M18_yes M18_no: the versions stand in the package; a pair that is not in the list is told, and so is a program that names none. */
static void M18_a_pair_that_nobody_tested_is_flagged(void) {
    if (!ready()) return;
    expect(converted_by(NULL), "pass: |", "no list of tested pairs: nothing is said");
    expect(converted_by("{\"tested_pairs\":[\"torch==1.0 coremltools 4.0\",\"" TESTED "\"]}"), "pass: |", "a tested pair");
    expect(converted_by("{\"tested_pairs\":[\"torch==1.0 coremltools 4.0\"]}"), "pass: | converter_untested", "another pair");
    assay_evidence_set *ev = assay_evidence_new();
    add_mil(ev, "candidate", T "x", PROJECTIONS SDPA("attn", "q", "k", "v"), "attn");
    says(judge(ev, "{\"tested_pairs\":[\"" TESTED "\"]}"), "converter_untested", "names no converter");
}

/* M18_yes: what the package says of itself is reported, and so is a mask (M17). */
static void M17_M18_facts_are_reported(void) {
    if (!ready()) return;
    assay_evidence_set *ev = assay_evidence_new();
    add(ev, "candidate", "attention", "fused_boolmask_const_tiny_fp32");
    assay_json *v = judge(ev, NULL);
    const assay_json *details = assay_json_get(v, "details"),
                     *site = assay_json_at(assay_json_get(details, "attention.candidate"), 0);
    CU_ASSERT(assay_json_bool(site, "masked", false));
    CU_ASSERT_EQUAL(assay_json_int(assay_json_get(details, "facts.candidate"), "spec_version", 0), 9);
    CU_ASSERT_FALSE(assay_json_bool(assay_json_get(details, "facts.candidate"), "has_state", true));
    CU_ASSERT_PTR_NOT_NULL(assay_json_string(assay_json_get(details, "facts.candidate"), "version", NULL));
    assay_json_free(v);
}

static void absent_weight_file_is_said(void) {
    char path[512];
    if (!ready()) return;
    assay_evidence_set *ev = assay_evidence_new();
    assay_error err = {0};
    snprintf(path, sizeof path, "%s/cases/fused-only-in-a-name/good.mil", shared);
    CU_ASSERT_EQUAL_FATAL(assay_evidence_add_file(ev, "candidate", path, &err), ASSAY_OK);
    snprintf(path, sizeof path, "%s/cases/fused-only-in-a-name/control.mil", shared);
    CU_ASSERT_EQUAL_FATAL(assay_evidence_add_file(ev, "control", path, &err), ASSAY_OK);
    assay_json *v = judge(ev, NULL);
    char *text = assay_json_print(assay_json_path(v, "details.rules"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "weight file absent"));
    free(text);
    expect(v, "pass: |", "by type and place");
}

/* ---- every package by its tags: what the gate says of it alone */
static bool has_tag(const assay_json *tags, const char *tag) {
    for (size_t i = 0; i < assay_json_len(tags); i++)
        if (!strcmp(assay_json_text(assay_json_at(tags, i)), tag)) return true;
    return false;
}

static void classify(const char *group, const char *name) {
    char path[512];
    assay_json *c = NULL, *t = NULL;
    snprintf(path, sizeof path, "%s/corpus/coremltools/%s/%s/case.json", shared, group, name);
    CU_ASSERT_EQUAL_FATAL(assay_json_read_file(path, &c, NULL), ASSAY_OK);
    snprintf(path, sizeof path, "%s/corpus/coremltools/%s/%s/truth.json", shared, group, name);
    CU_ASSERT_EQUAL_FATAL(assay_json_read_file(path, &t, NULL), ASSAY_OK);
    const assay_json *tags = assay_json_get(c, "tags"), *hist = assay_json_path(t, "functions.main.op_histogram");
    int64_t fused = assay_json_int(hist, "scaled_dot_product_attention", 0), softmax = assay_json_int(hist, "softmax", 0);
    assay_evidence_set *ev = assay_evidence_new();
    add(ev, "candidate", group, name);
    assay_json *v = judge(ev, NULL);
    assay_buf codes = {0};
    codes_of(assay_json_get(v, "reasons"), &codes);
    const char *got = codes.data ? codes.data : "";
    bool twice = strstr(name, "double_scale") || strstr(name, "prescaled_noscale"), bare = !strcmp(name, "manual_iOS18_fp16");
    /* As many attentions as the converter's own reading has fused ops and softmaxes. */
    CU_ASSERT_EQUAL((int64_t)assay_json_number(assay_json_path(v, "metrics.candidate"), "attention_sites", -1), fused + softmax);
    CU_ASSERT_EQUAL(strstr(got, "not_fused") != NULL, fused != 1);
    CU_ASSERT_EQUAL(strstr(got, "double_scale") != NULL, twice);
    if (has_tag(tags, "explicit") && !has_tag(tags, "fused")) CU_ASSERT_PTR_NOT_NULL(strstr(got, "not_fused"));
    if (has_tag(tags, "no-projection")) CU_ASSERT_PTR_NOT_NULL(strstr(got, "projections_outside"));
    if (!has_tag(tags, "no-projection") && !strcmp(group, "attention")) CU_ASSERT_PTR_NULL(strstr(got, "projections_outside"));
    if (has_tag(tags, "residual")) CU_ASSERT_PTR_NOT_NULL(strstr(got, "attention_not_exposed"));
    if (getenv("SHOW"))
        printf("\n  %-48s fused %d softmax %d:%s%s", name, (int)fused, (int)softmax, got, bare ? " (written by hand)" : "");
    assay_buf_free(&codes);
    assay_json_free(v);
    assay_json_free(c);
    assay_json_free(t);
}

static void every_package_is_classified_by_its_tags(void) {
    static const char *const groups[] = {"attention", "torch"};
    if (!ready()) return;
    int n = 0;
    for (size_t i = 0; i < 2; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/corpus/coremltools/%s", shared, groups[i]);
        DIR *d = opendir(path);
        CU_ASSERT_PTR_NOT_NULL_FATAL(d);
        for (struct dirent *e; (e = readdir(d)) != NULL;) {
            if (e->d_name[0] == '.') continue;
            classify(groups[i], e->d_name);
            n++;
        }
        closedir(d);
    }
    CU_ASSERT(n >= 90);
}

static void tear_down(void) { assay_registry_free(registry); }

ASSAY_SUITE("conversion", TEST(M5_M6_M55_fused_beside_explicit_passes),
            TEST(M5_M71_explicit_as_candidate_is_not_fused), TEST(M7_scale_given_twice_is_killed),
            TEST(M15_M36_residual_block_is_not_comparable), TEST(M35_operands_as_inputs_are_outside),
            TEST(M36_dead_path_is_not_exposed), TEST(M6_control_must_be_explicit),
            TEST(M15_precision_and_io_must_match), TEST(M16_other_weights_are_not_comparable),
            TEST(absent_evidence_is_not_measured), TEST(M17_M18_facts_are_reported),
            TEST(M18_a_pair_that_nobody_tested_is_flagged), TEST(absent_weight_file_is_said),
            TEST(every_package_is_classified_by_its_tags), TEST(tear_down))
