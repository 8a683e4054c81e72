/* The qualification gate: each rule on small receipts (M numbers in the names); the case files run with all the others. */
#include "unit/suite.h"
#include "plugin/evidence.h"

static assay_registry *registry;

static void open_gate(void) {
    assay_error err = {0};
    if (registry) return;
    registry = assay_registry_new();
    CU_ASSERT_EQUAL_FATAL(assay_registry_load_file(registry, ASSAY_BUILD_DIR "/bin/gates/qualification.so", &err), ASSAY_OK);
}

static assay_json *parse(const char *text) {
    assay_json *j = NULL;
    assay_error err = {0};
    if (assay_json_parse(text, strlen(text), "test", &j, &err)) printf("\n  %s\n", err.message);
    CU_ASSERT_PTR_NOT_NULL_FATAL(j);
    return j;
}

/* Judges a list of receipts; verdict, then the codes of validity and reasons, in order. */
static void expect(const char *receipts, const char *want) {
    assay_evidence_set *ev = assay_evidence_new();
    assay_error err = {0};
    assay_buf b = {0};
    assay_json *v = NULL, *doc = parse(receipts), *p = parse("{\"op_of_interest\":[\"scaled_dot_product_attention\"]}");
    open_gate();
    assay_evidence_add_json(ev, "receipts", "", NULL, ASSAY_ORIGIN_IMPORTED, "", doc);
    CU_ASSERT_EQUAL_FATAL(assay_judge(registry, "qualification", p, ev, &v, &err), ASSAY_OK);
    assay_buf_str(&b, assay_printed_verdict(v));
    const assay_json *lists[] = {assay_json_path(v, "validity.reasons"), assay_json_get(v, "reasons")};
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < assay_json_len(lists[k]); i++)
            assay_buf_printf(&b, " %s", assay_json_string(assay_json_at(lists[k], i), "code", ""));
    CU_ASSERT_STRING_EQUAL(b.data, want);
    if (strcmp(b.data, want)) printf("\n  got:  %s\n  want: %s\n", b.data, want);
    assay_buf_free(&b);
    assay_json_free(v);
    assay_json_free(doc);
    assay_json_free(p);
    assay_evidence_free(ev);
}

#define RECEIPT(package, build, chip, device, parity)                                                                            \
    "{\"package_digest\":\"" package "\",\"host\":{\"build\":\"" build "\",\"chip\":\"" chip "\"},"                              \
    "\"placement\":{\"scaled_dot_product_attention\":\"" device "\"},\"parity\":" parity "}"
#define RIGHT "{\"cosine\":0.99999,\"zero_fraction\":0,\"nonfinite\":0}"
#define ZEROS "{\"cosine\":null,\"zero_fraction\":1,\"nonfinite\":0}"

static void M51_yes_M51_no_a_cell_names_its_build_and_chip(void) {
    expect("[" RECEIPT("p", "24G720", "M1", "NE", RIGHT) "]", "pass");
    expect("[" RECEIPT("p", "", "M1", "NE", RIGHT) "]", "inconclusive receipt_incomplete");
    expect("[" RECEIPT("p", "24G720", "", "NE", RIGHT) "]", "inconclusive receipt_incomplete");
    expect("[" RECEIPT("", "24G720", "M1", "NE", RIGHT) "]", "inconclusive receipt_incomplete");
}

static void M51_no_a_verdict_is_carried_over(void) {
    expect("[" RECEIPT("p", "24G720", "M1", "NE", RIGHT) "," RECEIPT("p", "25F84", "M1", "NE", RIGHT) "]", "pass");
    expect("[" RECEIPT("p", "24G720", "M1", "NE", RIGHT) "," RECEIPT("p", "25F84", "M1", "NE", ZEROS) "]",
           "kill all_zero_output verdict_not_transferable");
    expect("[" RECEIPT("p", "24G720", "M1", "NE", RIGHT) "," RECEIPT("other", "25F84", "M1", "NE", ZEROS) "]",
           "kill all_zero_output");
}

/* M52_yes: placed, and shown right by its own evidence. */
static void placed_and_right_qualifies(void) { expect("[" RECEIPT("p", "24G720", "M1", "NE", RIGHT) "]", "pass"); }

static void M52_no_placement_never_implies_correctness(void) {
    expect("[" RECEIPT("p", "24G720", "M1", "NE", "null") "]", "inconclusive no_parity");
    expect("[" RECEIPT("p", "24G720", "M1", "NE", "{}") "]", "kill cosine_below_min");
    expect("[" RECEIPT("p", "24G720", "M1", "CPU", RIGHT) "]", "inconclusive op_of_interest_not_on_ne");
    expect("[" RECEIPT("p", "24G720", "M1", "unknown", RIGHT) "]", "inconclusive no_device_usage");
}

static void M57_no_non_finite_output_is_killed(void) {
    expect("[" RECEIPT("p", "24G720", "M1", "NE", "{\"cosine\":0.99999,\"nonfinite\":3}") "]", "kill nonfinite_output");
}

/* What was not measured never passes; what kills still kills. */
static void M51_no_absent_or_impossible_figures_do_not_pass(void) {
    static const char *const lacking[] = {"{\"cosine\":0.99999}",
                                          "{\"cosine\":0.99999,\"nonfinite\":0}",
                                          "{\"cosine\":0.99999,\"nonfinite\":\"3\",\"zero_fraction\":0}",
                                          "{\"cosine\":0.99999,\"nonfinite\":-1,\"zero_fraction\":0}",
                                          "{\"cosine\":0.99999,\"nonfinite\":0,\"zero_fraction\":\"NaN\"}",
                                          "{\"cosine\":1e300,\"nonfinite\":0,\"zero_fraction\":0}"};
    for (size_t i = 0; i < sizeof lacking / sizeof *lacking; i++) {
        char *receipt = assay_xprintf("[{\"package_digest\":\"p\",\"host\":{\"build\":\"b\",\"chip\":\"c\"},\"placement\":{\"scaled_dot_product_attention\":\"NE\"},\"parity\":%s}]", lacking[i]);
        expect(receipt, "inconclusive parity_incomplete");
        free(receipt);
    }
    expect("[" RECEIPT("p", "24G720", "M1", "NE", "{\"cosine\":\"0.99999\",\"nonfinite\":0,\"zero_fraction\":0}") "]", "kill cosine_below_min");
}

#define OWN_ROWS(verdict, standing, identity, rows)                                                                              \
    "{\"schema\":\"assay-receipt/1\",\"verdict\":\"" verdict "\",\"standing\":\"" standing                                       \
    "\",\"arms\":[{\"role\":\"candidate\",\"tree\":\"p\"}],"                                                                     \
    "\"gates\":[" rows "],\"identity\":[" identity "]}"
#define OWN(verdict, standing, identity) OWN_ROWS(verdict, standing, identity, "{\"printed\":\"" verdict "\"}")
#define MINI "{\"os.build\":\"24G720\",\"chip\":\"M1\"}"

static void receipts_of_assay_keep_their_standing(void) {
    expect(OWN("pass", "target", MINI), "pass");
    expect(OWN("pass", "rehearsal", MINI), "inconclusive not_the_target");
    expect(OWN("pass", "target", ""), "inconclusive receipt_incomplete");
    expect(OWN("kill", "target", MINI), "kill");
    expect(OWN("invalid", "target", MINI), "invalid receipt_invalid");
}

static void edited_receipts_contradict_themselves(void) {
    expect(OWN_ROWS("pass", "target", MINI, "{\"printed\":\"pass\"},{\"printed\":\"not-measured\"}"), "pass");
    expect(OWN_ROWS("pass", "target", MINI, "{\"printed\":\"pass\"},{\"printed\":\"kill\"}"), "invalid receipt_contradicts_itself");
    expect(OWN_ROWS("pass", "target", MINI, "{\"printed\":\"pass\"},7"), "invalid receipt_contradicts_itself");
    expect(OWN_ROWS("pass", "target", MINI, ""), "invalid receipt_contradicts_itself");
}

static void other_documents_are_no_receipts(void) {
    expect("[]", "not-measured no_receipts");
    expect("{\"schema\":\"compute-plan/1\"}", "invalid not_a_receipt");
    expect("[3]", "invalid not_a_receipt");
}

static void tear_down(void) { assay_registry_free(registry); }

ASSAY_SUITE("qualification", TEST(M51_yes_M51_no_a_cell_names_its_build_and_chip), TEST(M51_no_a_verdict_is_carried_over),
            TEST(placed_and_right_qualifies),
            TEST(M52_no_placement_never_implies_correctness), TEST(M57_no_non_finite_output_is_killed),
            TEST(M51_no_absent_or_impossible_figures_do_not_pass),
            TEST(receipts_of_assay_keep_their_standing), TEST(edited_receipts_contradict_themselves), TEST(other_documents_are_no_receipts), TEST(tear_down))
