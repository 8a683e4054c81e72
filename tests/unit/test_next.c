/* The decision tree: which leaf a receipt ends at, by small receipts (M numbers in the names). */
#include "unit/suite.h"
#include "report/next.h"
#include "base/mem.h"

/* A receipt with one gate row beside passed ones; expects the id of the leaf. */
static void expect(const char *verdict, const char *standing, const char *rows, const char *want) {
    char *text = assay_xprintf("{\"experiment\":\"e\",\"plan_sha256\":\"0123456789abcdef\",\"verdict\":\"%s\",\"standing\":\"%s\",\"gates\":[%s]}", verdict, standing, rows);
    assay_json *receipt = NULL;
    assay_error err = {0};
    assay_next next;
    CU_ASSERT_EQUAL_FATAL(assay_json_parse(text, strlen(text), "test", &receipt, &err), ASSAY_OK);
    CU_ASSERT_EQUAL_FATAL(assay_next_find(receipt, &next, &err), ASSAY_OK);
    const char *got = next.leaf ? assay_json_string(next.leaf, "id", "") : "none";
    CU_ASSERT_STRING_EQUAL(got, want);
    if (strcmp(got, want)) printf("\n  got:  %s\n  want: %s\n", got, want);
    assay_next_free(&next);
    assay_json_free(receipt);
    free(text);
}

#define ROW(gate, printed, code) "{\"gate\":\"" gate "\",\"printed\":\"" printed "\",\"reasons\":[{\"code\":\"" code "\",\"message\":\"\"}]}"
#define PASSED(gate) "{\"gate\":\"" gate "\",\"printed\":\"pass\",\"reasons\":[]}"

static void M71_yes_a_decomposed_candidate(void) {
    expect("kill", "rehearsal", ROW("conversion", "kill", "not_fused"), "decomposed");
    expect("kill", "rehearsal", ROW("conversion", "kill", "double_scale"), "scaled_twice");
}

static void M71_no_another_gate_is_another_leaf(void) { expect("kill", "rehearsal", PASSED("conversion") "," ROW("parity", "kill", "cosine_below_min"), "different"); }

static void M72_yes_fused_and_not_placed(void) {
    expect("kill", "target", PASSED("conversion") "," ROW("placement", "kill", "op_of_interest_not_on_ne"), "not_placed");
    expect("kill", "target", ROW("conversion", "kill", "projections_outside"), "wrong_probe");
}

static void M72_no_unknown_is_not_elsewhere(void) { expect("inconclusive", "target", ROW("placement", "inconclusive", "no_device_usage"), "placement_unknown"); }

static void M73_yes_zero_or_constant(void) {
    expect("kill", "target", PASSED("placement") "," ROW("dead_path", "kill", "all_zero_output"), "zero_or_constant");
    expect("kill", "target", ROW("parity", "kill", "constant_output"), "zero_or_constant");
}

static void M73_no_a_diagnosis_beside_a_pass(void) { expect("pass", "rehearsal", ROW("parity", "pass", "all_zero_output"), "rehearsed"); }

static void M74_yes_right_and_no_faster(void) { expect("kill", "target", PASSED("parity") "," ROW("latency", "kill", "interval_includes_zero"), "no_gain"); }
static void M74_no_an_undecided_clock(void) { expect("inconclusive", "target", PASSED("parity") "," ROW("latency", "inconclusive", "too_few_pairs"), "latency_undecided"); }

static void M75_yes_faster_and_different(void) { expect("kill", "target", ROW("parity", "kill", "cosine_below_min") "," PASSED("latency"), "faster_but_different"); }
static void M75_no_different_alone(void) { expect("kill", "target", ROW("parity", "kill", "cosine_below_min"), "different"); }

static void every_verdict_has_a_leaf(void) {
    expect("kill", "target", ROW("own_gate", "kill", "own_code"), "killed");
    expect("inconclusive", "target", ROW("own_gate", "inconclusive", "own_code"), "undecided");
    expect("invalid", "target", PASSED("parity"), "invalid");
    expect("pass", "target", PASSED("parity"), "survived");
}

/* Issue 5: after every verdict the next experiment is there as a script, with the names filled in. */
static void every_leaf_has_a_script(void) {
    static const char text[] = "{\"experiment\":\"e\",\"plan_sha256\":\"0123456789abcdef\",\"verdict\":\"kill\",\"standing\":\"target\",\"gates\":[]}";
    assay_json *receipt = NULL;
    assay_next next;
    CU_ASSERT_EQUAL_FATAL(assay_json_parse(text, strlen(text), "test", &receipt, NULL), ASSAY_OK);
    CU_ASSERT_EQUAL_FATAL(assay_next_find(receipt, &next, NULL), ASSAY_OK);
    for (const assay_json *l = assay_json_first(assay_json_get(next.tree, "leaves")); l; l = assay_json_next(l)) {
        const char *id = assay_json_string(l, "id", "");
        char *stub = NULL;
        next.leaf = l;
        CU_ASSERT_EQUAL(assay_next_stub(&next, receipt, &stub, NULL), ASSAY_OK);
        CU_ASSERT_PTR_NOT_NULL_FATAL(stub);
        CU_ASSERT_PTR_NULL(strchr(stub, '@'));
        CU_ASSERT_PTR_NOT_NULL(strstr(stub, id));
        free(stub);
    }
    assay_next_free(&next);
    assay_json_free(receipt);
}

ASSAY_SUITE("next", TEST(M71_yes_a_decomposed_candidate), TEST(M71_no_another_gate_is_another_leaf), TEST(M72_yes_fused_and_not_placed),
            TEST(M72_no_unknown_is_not_elsewhere), TEST(M73_yes_zero_or_constant), TEST(M73_no_a_diagnosis_beside_a_pass), TEST(M74_yes_right_and_no_faster),
            TEST(M74_no_an_undecided_clock), TEST(M75_yes_faster_and_different), TEST(M75_no_different_alone), TEST(every_verdict_has_a_leaf),
            TEST(every_leaf_has_a_script))
