/* The conversion gate on packages that Apple's converter wrote, and on MIL text of ours, rule by rule (M numbers in the names). */
#include "unit/suite.h"
#include "ops/builtin.h"
#include "plugin/evidence.h"
#include <dirent.h>

static assay_registry *registry;
static const char *shared;

static bool ready(void) {
    if (!registry) {
        assay_ops_register();
        registry = assay_registry_new();
        assay_error err = { 0 };
        CU_ASSERT_EQUAL_FATAL(assay_registry_load_file(registry, ASSAY_BUILD_DIR "/bin/gates/conversion.so", &err), ASSAY_OK);
    }
    shared = shared_or_skip();
    return shared != NULL;
}

static void add(assay_evidence_set *ev, const char *role, const char *group, const char *name) {
    char path[512];
    assay_error err = { 0 };
    snprintf(path, sizeof path, "%s/corpus/coremltools/%s/%s/model.mlpackage", shared, group, name);
    if (assay_evidence_add_file(ev, role, path, &err)) printf("\n  %s\n", err.message);
    CU_ASSERT_EQUAL_FATAL(err.code, 0);
}

static assay_json *judge(assay_evidence_set *ev, const char *params) {
    assay_json *p = NULL, *v = NULL;
    assay_error err = { 0 };
    if (params) CU_ASSERT_EQUAL_FATAL(assay_json_parse(params, strlen(params), "params", &p, &err), ASSAY_OK);
    if (assay_judge(registry, "conversion", p, ev, &v, &err)) printf("\n  %s\n", err.message);
    CU_ASSERT_PTR_NOT_NULL_FATAL(v);
    assay_json_free(p);
    assay_evidence_free(ev);
    return v;
}

/* "invalid: arms_not_comparable | attention_not_exposed": validity reasons, then the others, in the order given, each once. */
static void codes_of(const assay_json *list, assay_buf *b) {
    const char *last = "";
    for (size_t i = 0; i < assay_json_len(list); i++) {
        const char *code = assay_json_string(assay_json_at(list, i), "code", "");
        if (strcmp(code, last)) assay_buf_printf(b, " %s", code);
        last = code;
    }
}

static void expect(assay_json *v, const char *want, const char *what) {
    assay_buf b = { 0 };
    assay_buf_printf(&b, "%s:", assay_printed_verdict(v));
    codes_of(assay_json_path(v, "validity.reasons"), &b);
    assay_buf_str(&b, " |");
    codes_of(assay_json_get(v, "reasons"), &b);
    CU_ASSERT_STRING_EQUAL(b.data, want);
    if (strcmp(b.data, want)) {
        char *text = assay_json_pretty(v);
        printf("\n  %s\n  got:  %s\n  want: %s\n%.3000s\n", what, b.data, want, getenv("SHOW") ? text : "");
        free(text);
    }
    assay_buf_free(&b);
    assay_json_free(v);
}

static void pair(const char *candidate, const char *control, const char *want) {
    assay_evidence_set *ev = assay_evidence_new();
    add(ev, "candidate", "attention", candidate);
    add(ev, "control", "attention", control);
    expect(judge(ev, NULL), want, candidate);
}

static void M5_M6_M55_fused_beside_explicit_passes(void) {
    if (!ready()) return;
    pair("fused_tiny_fp16", "explicit_tiny_fp16", "pass: |");
    pair("fused_mid_fp32", "explicit_mid_fp32", "pass: |");
    pair("fused_tiny_fp16io32", "explicit_tiny_fp16io32", "pass: |");
    pair("fused_mid_fp32", "explicit_scale_late_mid_fp32", "pass: |");
}

static void M5_M71_explicit_as_candidate_is_not_fused(void) {
    if (!ready()) return;
    pair("explicit_tiny_fp16", "explicit_tiny_fp16", "kill: | not_fused");
    pair("explicit_mid_fp32", "explicit_mid_fp32", "kill: | not_fused");
    pair("sliced_q_tiny_fp32", "explicit_tiny_fp32", "kill: | not_fused");
}

static void M7_scale_given_twice_is_killed(void) {
    if (!ready()) return;
    pair("double_scale_tiny_fp32", "explicit_tiny_fp32", "kill: | double_scale");
    pair("double_scale_mid_fp32", "explicit_mid_fp32", "kill: | double_scale");
}

static void M15_M36_residual_block_is_not_comparable(void) {
    if (!ready()) return;
    pair("residual_block_tiny_fp32", "explicit_tiny_fp32", "invalid: arms_not_comparable | attention_not_exposed");
    pair("residual_block_mid_fp32", "explicit_mid_fp32", "invalid: arms_not_comparable | attention_not_exposed");
}

static void M35_operands_as_inputs_are_outside(void) {
    if (!ready()) return;
    pair("qkv_inputs_fused_mid_fp16", "qkv_inputs_explicit_mid_fp16", "kill: | projections_outside");
    pair("qkv_inputs_explicit_tiny_fp32", "qkv_inputs_explicit_tiny_fp32", "kill: | projections_outside not_fused");
}

static void M36_dead_path_is_not_exposed(void) {
    if (!ready()) return;
    pair("dead_path_tiny_fp16", "explicit_tiny_fp16", "kill: | attention_not_exposed");
    pair("dead_path_tiny_fp32", "explicit_tiny_fp32", "kill: | attention_not_exposed");
}

static void M6_control_must_be_explicit(void) {
    if (!ready()) return;
    pair("fused_tiny_fp16", "fused_tiny_fp16", "invalid: control_holds_forbidden_op control_not_explicit |");
}

static void M15_precision_and_io_must_match(void) {
    if (!ready()) return;
    pair("fused_tiny_fp16", "explicit_tiny_fp32", "invalid: arms_not_comparable |");
    pair("fused_tiny_fp16", "explicit_tiny_fp16io32", "invalid: arms_not_comparable |");
    pair("fused_mid_fp32", "explicit_tiny_fp32", "invalid: arms_not_comparable |");
}

static void M16_other_weights_are_not_comparable(void) {
    if (!ready()) return;
    pair("all_zero_weights_v_tiny_fp16", "explicit_tiny_fp16", "invalid: arms_not_comparable |");
}

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
    assay_buf codes = { 0 };
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
    if (getenv("SHOW")) printf("\n  %-48s fused %d softmax %d:%s%s", name, (int)fused, (int)softmax, got, bare ? " (written by hand)" : "");
    assay_buf_free(&codes);
    assay_json_free(v);
    assay_json_free(c);
    assay_json_free(t);
}

static void every_package_is_classified_by_its_tags(void) {
    static const char *const groups[] = { "attention", "torch" };
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

ASSAY_SUITE("conversion", TEST(M5_M6_M55_fused_beside_explicit_passes), TEST(M5_M71_explicit_as_candidate_is_not_fused), TEST(M7_scale_given_twice_is_killed),
            TEST(M15_M36_residual_block_is_not_comparable), TEST(M35_operands_as_inputs_are_outside), TEST(M36_dead_path_is_not_exposed),
            TEST(M6_control_must_be_explicit), TEST(M15_precision_and_io_must_match), TEST(M16_other_weights_are_not_comparable),
            TEST(absent_evidence_is_not_measured), TEST(every_package_is_classified_by_its_tags), TEST(tear_down))
