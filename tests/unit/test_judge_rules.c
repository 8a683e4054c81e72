/* The judge's rules, each with a case that must hold and one that must not. */
#include "suite.h"
#include "run/judge.h"
#include "base/names.h"

static assay_json *parse(const char *text) {
    assay_json *j = NULL;
    assay_error err = {0};
    CU_ASSERT_EQUAL_FATAL(assay_json_parse(text, strlen(text), "test", &j, &err), ASSAY_OK);
    return j;
}
static const char *str(const assay_json *j, const char *key) { return assay_json_string(j, key, "(absent)"); }
static bool has_code(const assay_json *list, const char *code) {
    for (size_t i = 0; i < assay_json_len(list); i++)
        if (assay_streq(str(assay_json_at(list, i), "code"), code)) return true;
    return false;
}

#define VERDICT(v) "\"verdict\":{\"schema\":\"assay-verdict/1\",\"gate\":\"g\",\"version\":\"1\",\"verdict\":\"" v "\",\"validity\":{\"valid\":true,\"reasons\":[]},\"reasons\":[],\"metrics\":{}}"

static const assay_json *plan_of_rows;           /* NULL: a target of another framework */
static assay_json *row_for(const char *verdict_part, const char *asked) {
    char *text = assay_xprintf("{%s,\"asked\":%s,\"missing\":[]}", verdict_part, asked);
    assay_json *answer = parse(text), *gate = parse("{\"use\":\"g\",\"version\":\"1\",\"params\":{\"arm\":\"fused\"}}");
    assay_json *row = assay_rule_row(plan_of_rows, gate, answer);
    assay_json_free(answer);
    assay_json_free(gate);
    free(text);
    return row;
}

/* ---- the target rule */

static void target_question_on_the_reference_backend_is_not_measured(void) {
    assay_json *row = row_for(VERDICT("pass"), "[{\"role\":\"samples\",\"kind\":\"timing\",\"state\":\"ok\",\"origin\":\"reference\"}]");
    CU_ASSERT_STRING_EQUAL(str(row, "printed"), "not-measured");
    CU_ASSERT_STRING_EQUAL(str(row, "information_verdict"), "pass");
    CU_ASSERT_TRUE(has_code(assay_json_get(row, "reasons"), "not_the_target"));
    assay_json_free(row);
}
static void an_experiment_about_the_reference_backend_is_decided_there(void) {
    assay_json *plan = parse("{\"target\":{\"framework\":\"reference\",\"unit\":\"CPU\"}}");
    plan_of_rows = plan;
    assay_json *row = row_for(VERDICT("pass"), "[{\"role\":\"samples\",\"kind\":\"timing\",\"state\":\"ok\",\"origin\":\"reference\"}]");
    plan_of_rows = NULL;
    CU_ASSERT_STRING_EQUAL(str(row, "printed"), "pass");
    CU_ASSERT_TRUE(assay_json_bool(row, "target_question", false));
    assay_json_free(row);
    assay_json_free(plan);
}
static void target_question_on_a_device_stands(void) {
    assay_json *row = row_for(VERDICT("kill"), "[{\"role\":\"samples\",\"kind\":\"timing\",\"state\":\"ok\",\"origin\":\"device\"}]");
    CU_ASSERT_STRING_EQUAL(str(row, "printed"), "kill");
    CU_ASSERT_STRING_EQUAL(str(row, "origin"), "device");
    assay_json_free(row);
}
static void target_question_without_any_evidence_is_not_measured(void) {
    assay_json *row = row_for(VERDICT("pass"), "[{\"role\":\"plan\",\"kind\":\"plan\",\"state\":\"unavailable\"}]");
    CU_ASSERT_STRING_EQUAL(str(row, "printed"), "not-measured");
    CU_ASSERT_TRUE(has_code(assay_json_get(row, "reasons"), "no_device_evidence"));
    assay_json_free(row);
}
static void an_output_question_is_decided_anywhere(void) {
    assay_json *row = row_for(VERDICT("pass"), "[{\"role\":\"candidate\",\"kind\":\"output\",\"state\":\"ok\",\"origin\":\"reference\"}]");
    CU_ASSERT_STRING_EQUAL(str(row, "printed"), "pass");
    CU_ASSERT_FALSE(assay_json_bool(row, "target_question", true));
    assay_json_free(row);
}
static void a_failed_gate_is_invalid(void) {
    assay_json *row = row_for("\"verdict\":null,\"error\":{\"message\":\"it was ended by SIGSEGV\"}", "[]");
    CU_ASSERT_STRING_EQUAL(str(row, "printed"), "invalid");
    CU_ASSERT_TRUE(has_code(assay_json_path(row, "validity.reasons"), "gate_failed"));
    assay_json_free(row);
}
static void missing_evidence_is_no_verdict(void) {
    assay_json *row = row_for("\"verdict\":null", "[]");
    CU_ASSERT_STRING_EQUAL(str(row, "printed"), "not-measured");
    CU_ASSERT_TRUE(has_code(assay_json_get(row, "reasons"), "evidence_missing"));
    assay_json_free(row);
}

/* ---- kills */

static assay_json *kill_row(const char *kill, const char *metrics, const char *verdict, assay_json **row) {
    char *plan_text = assay_xprintf("{\"kills\":[%s]}", kill);
    char *row_text = assay_xprintf("{\"gate\":\"g\",\"arm\":\"fused\",\"verdict\":\"%s\",\"printed\":\"%s\",\"validity\":{\"valid\":true,\"reasons\":[]},\"reasons\":[],\"metrics\":%s}",
                                   verdict, verdict, metrics);
    assay_json *plan = parse(plan_text), *kills = assay_json_array();
    *row = parse(row_text);
    assay_rule_kills(plan, *row, kills);
    assay_json_free(plan);
    free(plan_text);
    free(row_text);
    return kills;
}
static void check_kill(const char *kill, const char *metrics, const char *state, const char *printed) {
    assay_json *row, *kills = kill_row(kill, metrics, "pass", &row);
    CU_ASSERT_EQUAL_FATAL(assay_json_len(kills), 1);
    CU_ASSERT_STRING_EQUAL(str(assay_json_at(kills, 0), "state"), state);
    CU_ASSERT_STRING_EQUAL(str(row, "printed"), printed);
    assay_json_free(row);
    assay_json_free(kills);
}
static void a_kill_fires_at_its_bound(void) {
    check_kill("{\"gate\":\"g\",\"metric\":\"x\",\"at_most\":0,\"why\":\"w\"}", "{\"gate\":{\"x\":0}}", "fired", "kill");
    check_kill("{\"gate\":\"g\",\"metric\":\"x\",\"at_least\":2,\"why\":\"w\"}", "{\"candidate:a\":{\"x\":1},\"candidate:b\":{\"x\":2}}", "fired", "kill");
    check_kill("{\"gate\":\"g\",\"metric\":\"x\",\"equals\":true,\"why\":\"w\"}", "{\"gate\":{\"x\":true}}", "fired", "kill");
    check_kill("{\"gate\":\"g\",\"metric\":\"control:a.x\",\"at_least\":1,\"why\":\"w\"}", "{\"control:a\":{\"x\":1}}", "fired", "kill");
}
static void a_kill_stays_quiet_beyond_its_bound(void) {
    check_kill("{\"gate\":\"g\",\"metric\":\"x\",\"at_most\":0,\"why\":\"w\"}", "{\"gate\":{\"x\":1e-9}}", "quiet", "pass");
    check_kill("{\"gate\":\"g\",\"metric\":\"x\",\"at_least\":2,\"why\":\"w\",\"fixture\":\"a\"}", "{\"candidate:a\":{\"x\":1},\"candidate:b\":{\"x\":2}}", "quiet", "pass");
    check_kill("{\"gate\":\"g\",\"metric\":\"x\",\"equals\":true,\"why\":\"w\"}", "{\"gate\":{\"x\":false}}", "quiet", "pass");
}
static void an_unknown_metric_is_inconclusive(void) {
    check_kill("{\"gate\":\"g\",\"metric\":\"y\",\"at_most\":0,\"why\":\"w\"}", "{\"gate\":{\"x\":1}}", "unknown", "inconclusive");
    check_kill("{\"gate\":\"g\",\"metric\":\"y\",\"at_most\":0,\"why\":\"w\",\"claim\":\"c\"}", "{\"gate\":{\"x\":1}}", "unknown", "inconclusive");
}
static void an_undefined_metric_is_inconclusive(void) {
    check_kill("{\"gate\":\"g\",\"metric\":\"x\",\"at_most\":0,\"why\":\"w\"}", "{\"gate\":{\"x\":null}}", "unknown", "inconclusive");
}
static void a_kill_of_a_claim_leaves_the_gate(void) {
    check_kill("{\"gate\":\"g\",\"metric\":\"x\",\"at_most\":0,\"why\":\"w\",\"claim\":\"faster\"}", "{\"gate\":{\"x\":-1}}", "fired", "pass");
}
/* The kill on x <= 0 of the claim `faster`, on a row with x = -1; `claims` is the plan's list. */
static void check_claims_kill(const char *claims, const char *metrics, const char *verdict, const char *state, const char *printed) {
    char *plan_text = assay_xprintf("{\"claims\":%s,\"kills\":[{\"gate\":\"g\",\"metric\":\"x\",\"at_most\":0,\"why\":\"no gain\",\"claim\":\"faster\"}]}", claims);
    char *row_text = assay_xprintf("{\"gate\":\"g\",\"verdict\":\"%s\",\"printed\":\"%s\",\"validity\":{\"valid\":true,\"reasons\":[]},\"reasons\":[],\"metrics\":{\"gate\":%s}}",
                                   verdict, verdict, metrics);
    assay_json *plan = parse(plan_text), *row = parse(row_text), *kills = assay_json_array();
    assay_rule_kills(plan, row, kills);
    CU_ASSERT_STRING_EQUAL(str(assay_json_at(kills, 0), "state"), state);
    CU_ASSERT_STRING_EQUAL(str(row, "printed"), printed);
    CU_ASSERT_EQUAL(has_code(assay_json_get(row, "reasons"), "kill_condition"), assay_streq(printed, "kill"));
    assay_json_free(plan);
    assay_json_free(row);
    assay_json_free(kills);
    free(plan_text);
    free(row_text);
}
#define FASTER "{\"id\":\"faster\",\"needs\":[\"g\"]}"
static void M67_yes_refuting_the_only_claim_kills_an_undecided_gate(void) {
    check_claims_kill("[" FASTER ",{\"id\":\"right\",\"needs\":[\"h\"]}]", "{\"x\":-1}", "inconclusive", "fired", "kill");
    check_claims_kill("[" FASTER "]", "{\"x\":-1,\"decided\":true}", "inconclusive", "fired", "kill");
}
static void M67_no_a_gate_that_others_rest_on_or_that_passed_stays(void) {
    check_claims_kill("[" FASTER ",{\"id\":\"right\",\"needs\":[\"g\"]}]", "{\"x\":-1}", "inconclusive", "fired", "inconclusive");
    check_claims_kill("[" FASTER "]", "{\"x\":-1}", "pass", "fired", "pass");
    check_claims_kill("[" FASTER "]", "{\"x\":1}", "inconclusive", "quiet", "inconclusive");
    check_claims_kill("[]", "{\"x\":-1}", "inconclusive", "fired", "inconclusive");
}
static void M67_no_figures_that_decide_nothing_kill_nothing(void) {
    check_claims_kill("[" FASTER "]", "{\"x\":-1,\"decided\":false}", "inconclusive", "not-applied", "inconclusive");
}
static void a_kill_names_its_gate_and_arm(void) {
    assay_json *row, *kills = kill_row("{\"gate\":\"g\",\"arm\":\"other\",\"metric\":\"x\",\"at_most\":0,\"why\":\"w\"}", "{\"gate\":{\"x\":-1}}", "pass", &row);
    CU_ASSERT_EQUAL(assay_json_len(kills), 0);
    CU_ASSERT_STRING_EQUAL(str(row, "printed"), "pass");
    assay_json_free(row);
    assay_json_free(kills);
}
static void a_kill_does_not_touch_what_was_not_measured(void) {
    assay_json *row, *kills = kill_row("{\"gate\":\"g\",\"metric\":\"x\",\"at_most\":0,\"why\":\"w\"}", "{\"gate\":{\"x\":-1}}", "not-measured", &row);
    CU_ASSERT_STRING_EQUAL(str(assay_json_at(kills, 0), "state"), "not-applied");
    CU_ASSERT_STRING_EQUAL(str(row, "printed"), "not-measured");
    assay_json_free(row);
    assay_json_free(kills);
}

/* ---- validity, verdict, claims */

static const char plan_text[] = "{\"target\":{\"framework\":\"coreml\",\"unit\":\"NE\"},\"weights\":{\"provenance\":\"trained\"},\"fixtures\":[{\"name\":\"s\",\"provenance\":\"recorded\"}],"
    "\"arms\":[{\"name\":\"dead\",\"role\":\"must_fail\"}],\"claims\":[{\"id\":\"right\",\"text\":\"t\",\"needs\":[\"g\"]}]}";
static const char pass_row[] = "[{\"gate\":\"g\",\"arm\":\"fused\",\"printed\":\"pass\",\"reasons\":[],\"validity\":{\"valid\":true,\"reasons\":[]}}]";

static void check_validity(const char *rows_text, const char *asked_text, bool complete, const char *code) {
    assay_json *plan = parse(plan_text), *rows = parse(rows_text), *asked = parse(asked_text);
    assay_json *reasons = assay_rule_validity(plan, rows, asked, complete);
    if (code) CU_ASSERT_TRUE(has_code(reasons, code));
    if (!code) CU_ASSERT_EQUAL(assay_json_len(reasons), 0);
    assay_json_free(reasons);
    assay_json_free(plan);
    assay_json_free(rows);
    assay_json_free(asked);
}
#define SAW_DEAD "[[{\"role\":\"must_fail\",\"arm\":\"dead\",\"state\":\"ok\",\"origin\":\"reference\",\"kind\":\"output\"}]]"
static void a_must_fail_arm_must_be_seen_rejected(void) {
    check_validity(pass_row, SAW_DEAD, true, NULL);
    check_validity(pass_row, "[[]]", true, "must_fail_not_rejected");
    check_validity(pass_row, "[[{\"role\":\"must_fail\",\"arm\":\"dead\",\"state\":\"failed\"}]]", true, "must_fail_not_rejected");
    check_validity("[{\"gate\":\"g\",\"printed\":\"invalid\",\"reasons\":[],\"validity\":{\"valid\":false,\"reasons\":[{\"code\":\"gate_has_no_power\"}]}}]", SAW_DEAD, true,
                   "must_fail_not_rejected");
}
/* Two fixtures, a and b; `reasons` of a gate that was given the arm on both. */
static void check_tried(const char *printed, const char *reasons, const char *code, size_t rejected) {
    static const char asked_text[] = "[[{\"role\":\"must_fail\",\"arm\":\"dead\",\"state\":\"ok\",\"fixture\":\"a\"},{\"role\":\"must_fail\",\"arm\":\"dead\",\"state\":\"ok\",\"fixture\":\"b\"}]]";
    char *text = assay_xprintf("[{\"gate\":\"g\",\"printed\":\"%s\",\"reasons\":[%s],\"validity\":{\"valid\":true,\"reasons\":[]}}]", printed, reasons);
    check_validity(text, asked_text, true, code);
    assay_json *plan = parse(plan_text), *rows = parse(text), *asked = parse(asked_text), *list = assay_rule_must_fail(plan, rows, asked);
    CU_ASSERT_EQUAL(assay_json_len(assay_json_path(assay_json_at(list, 0), "rejected_by")), rejected);
    assay_json_free(list);
    assay_json_free(plan);
    assay_json_free(rows);
    assay_json_free(asked);
    free(text);
}
#define SAYS(code, where) "{\"code\":\"" code "\",\"where\":\"" where "\"}"
static void rejected_on_one_fixture_is_rejected(void) {
    check_tried("pass", "", NULL, 1);
    check_tried("pass", SAYS("must_fail_alive", "a dead"), NULL, 1);
    check_tried("pass", SAYS("must_fail_alive", "a dead") "," SAYS("must_fail_alive", "b dead"), "must_fail_not_rejected", 0);
    check_tried("pass", SAYS("must_fail_alive", "dead"), "must_fail_not_rejected", 0);
    check_tried("pass", SAYS("must_fail_alive", "a undead") "," SAYS("must_fail_alive", "b undead"), NULL, 1);
}
static void an_arm_that_was_not_tried_is_not_rejected(void) {
    const char *both = SAYS("must_fail_not_tried", "a") "," SAYS("must_fail_not_tried", "b");
    check_tried("inconclusive", both, NULL, 0);
    check_tried("kill", both, NULL, 0);
    check_tried("inconclusive", SAYS("must_fail_not_tried", "a"), NULL, 1);
    check_tried("inconclusive", SAYS("must_fail_not_tried", "a") "," SAYS("must_fail_alive", "b dead"), "must_fail_not_rejected", 0);
    check_tried("pass", both, "must_fail_not_rejected", 0); /* a pass rests on arms that were rejected, whatever the gate says */
}
static void what_was_not_reached_is_not_held_against_the_run(void) { check_validity(pass_row, "[[]]", false, NULL); }
static void nothing_compared_is_invalid(void) {
    check_validity("[{\"gate\":\"g\",\"printed\":\"not-measured\",\"reasons\":[],\"validity\":{\"valid\":true,\"reasons\":[]}}]", "[[]]", true, "nothing_compared");
    check_validity("[]", "[]", true, "nothing_compared");
}
static void check_run(const char *rows_text, const char *invalid, const char *want) {
    assay_json *rows = parse(rows_text), *reasons = parse(invalid);
    CU_ASSERT_STRING_EQUAL(assay_rule_run_verdict(rows, NULL, reasons), want);
    assay_json_free(rows);
    assay_json_free(reasons);
}
static void invalid_goes_before_kill_before_inconclusive_before_pass(void) {
    check_run("[{\"printed\":\"pass\"},{\"printed\":\"kill\"}]", "[{\"code\":\"x\"}]", "invalid");
    check_run("[{\"printed\":\"inconclusive\"},{\"printed\":\"kill\"}]", "[]", "kill");
    check_run("[{\"printed\":\"pass\"},{\"printed\":\"inconclusive\"}]", "[]", "inconclusive");
    check_run("[{\"printed\":\"pass\"},{\"printed\":\"not-measured\",\"reasons\":[{\"code\":\"not_the_target\"}]}]", "[]", "pass");
    check_run("[{\"printed\":\"pass\"},{\"printed\":\"not-measured\",\"reasons\":[{\"code\":\"evidence_missing\"}]}]", "[]", "inconclusive");
    check_run("[{\"printed\":\"not-measured\"}]", "[]", "inconclusive");
}
static void check_claim(const char *rows_text, const char *asked_text, const char *kills_text, bool valid, const char *fate, int level) {
    assay_json *plan = parse(plan_text), *rows = parse(rows_text), *asked = parse(asked_text), *kills = parse(kills_text);
    assay_json *claims = assay_rule_claims(plan, rows, asked, kills, valid);
    const assay_json *c = assay_json_at(claims, 0);
    CU_ASSERT_STRING_EQUAL(str(c, "fate"), fate);
    CU_ASSERT_EQUAL(assay_json_int(c, "level", 0), level);
    CU_ASSERT_STRING_EQUAL(str(c, "class"), "model");
    assay_json_free(claims);
    assay_json_free(plan);
    assay_json_free(rows);
    assay_json_free(asked);
    assay_json_free(kills);
}
#define DEVICE "[[{\"role\":\"candidate\",\"kind\":\"output\",\"state\":\"ok\",\"origin\":\"device\"}]]"
#define REHEARSED "[[{\"role\":\"candidate\",\"kind\":\"output\",\"state\":\"ok\",\"origin\":\"reference\"}]]"
static void a_claim_has_its_own_fate(void) {
    check_claim(pass_row, DEVICE, "[]", true, "confirmed", 6);
    check_claim(pass_row, DEVICE, "[{\"claim\":\"right\",\"state\":\"fired\"}]", true, "refuted", 6);
    check_claim(pass_row, DEVICE, "[]", false, "undecided", 6);
    check_claim("[{\"gate\":\"g\",\"printed\":\"kill\"}]", DEVICE, "[]", true, "refuted", 2);
    check_claim("[{\"gate\":\"g\",\"printed\":\"not-measured\"}]", DEVICE, "[]", true, "undecided", 2);
    check_claim("[]", "[]", "[]", true, "undecided", 2);
}
static void the_reference_backend_never_lifts_a_claim_above_its_files(void) { check_claim(pass_row, REHEARSED, "[]", true, "confirmed", 2); }
/* One claim about a kind of evidence, and one passed gate that saw `kind`. */
static void check_about(const char *about, const char *kind, const char *fate) {
    char *plan_of = assay_xprintf("{\"claims\":[{\"id\":\"c\",\"text\":\"it is faster\",\"needs\":[\"g\"],\"about\":\"%s\"}]}", about);
    char *saw = assay_xprintf("[[{\"role\":\"candidate\",\"kind\":\"%s\",\"state\":\"ok\",\"origin\":\"device\"}]]", kind);
    assay_json *plan = parse(plan_of), *rows = parse(pass_row), *asked = parse(saw), *kills = assay_json_array();
    assay_json *claims = assay_rule_claims(plan, rows, asked, kills, true);
    CU_ASSERT_STRING_EQUAL(str(assay_json_at(claims, 0), "fate"), fate);
    CU_ASSERT_EQUAL(assay_json_get(assay_json_at(claims, 0), "why") != NULL, assay_streq(fate, "undecided"));
    assay_json *const owned[] = {claims, plan, rows, asked, kills};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) assay_json_free(owned[i]);
    free(plan_of);
    free(saw);
}
/* M79_yes M253_yes */
static void a_claim_is_confirmed_by_evidence_of_its_kind(void) {
    check_about("timing", "timing", "confirmed");
    check_about("program", "program", "confirmed");
}
static void M79_no_placement_and_power_are_no_latency(void) {
    check_about("timing", "plan", "undecided");
    check_about("timing", "record", "undecided");
}
static void M253_no_a_rule_that_passed_is_not_faster(void) { check_about("timing", "program", "undecided"); }
static void M44_no_a_plan_is_no_execution(void) { check_about("output", "plan", "undecided"); }
/* M54_no */
static void random_weights_cap_a_claim_at_probe_M54(void) {
    assay_json *plan = parse("{\"weights\":{\"provenance\":\"synthetic\"},\"fixtures\":[{\"provenance\":\"recorded\"}],\"claims\":[{\"id\":\"a\",\"text\":\"t\",\"needs\":[]}]}"), *none = assay_json_array();
    assay_json *claims = assay_rule_claims(plan, none, none, none, true);
    CU_ASSERT_STRING_EQUAL(str(assay_json_at(claims, 0), "class"), "probe");
    assay_json_free(claims);
    assay_json_free(plan);
    assay_json_free(none);
}
static void standing_is_target_only_with_the_targets_own_evidence(void) {
    assay_json *plan = parse(plan_text), *rows = parse(pass_row), *device = parse(DEVICE), *rehearsed = parse(REHEARSED);
    CU_ASSERT_STRING_EQUAL(assay_rule_standing(plan, rows, device), "target");
    CU_ASSERT_STRING_EQUAL(assay_rule_standing(plan, rows, rehearsed), "rehearsal");
    assay_json_free(plan);
    assay_json_free(rows);
    assay_json_free(device);
    assay_json_free(rehearsed);
}

/* ---- what the judge adds to a row */

#define SIMULATED_OUTPUT(role, arm, sha, rules) "{\"role\":\"" role "\",\"arm\":\"" arm "\",\"kind\":\"output\",\"fixture\":\"f\",\"state\":\"ok\",\"origin\":\"simulated\",\"sha256\":\"" sha "\",\"rules\":" rules "}"

static void simulated_evidence_keeps_its_weakest_grade(void) {
    assay_json *row = row_for(VERDICT("pass"), "[" SIMULATED_OUTPUT("candidate", "fused", "a", "{\"placement.P9\":\"F\",\"numerics.ane\":\"C\"}") ","
                                                   SIMULATED_OUTPUT("control", "explicit", "b", "{\"placement.dflt\":\"D\"}") "]");
    CU_ASSERT_STRING_EQUAL(str(row, "grade"), "C");
    CU_ASSERT_STRING_EQUAL(str(assay_json_get(row, "rules"), "placement.dflt"), "D");
    assay_json_free(row);
    row = row_for(VERDICT("pass"), "[" SIMULATED_OUTPUT("candidate", "fused", "a", "{\"x.a\":\"I\",\"x.b\":\"D\",\"x.c\":\"X\"}") "]");
    CU_ASSERT_STRING_EQUAL(str(row, "grade"), "X");
    assay_json_free(row);
    row = row_for(VERDICT("pass"), "[{\"role\":\"candidate\",\"kind\":\"output\",\"state\":\"ok\",\"origin\":\"device\"}]");
    CU_ASSERT_STRING_EQUAL(str(row, "grade"), "(absent)");
    assay_json_free(row);
}

static void a_killed_arm_that_equals_the_dead_path_says_so(void) {
    assay_json *row = row_for(VERDICT("kill"), "[" SIMULATED_OUTPUT("candidate", "fused", "a", "{}") "," SIMULATED_OUTPUT("must_fail", "dead", "a", "{}") "]");
    CU_ASSERT_TRUE(has_code(assay_json_get(row, "reasons"), "same_as_must_fail"));
    assay_json_free(row);
    row = row_for(VERDICT("kill"), "[" SIMULATED_OUTPUT("candidate", "fused", "a", "{}") "," SIMULATED_OUTPUT("must_fail", "dead", "b", "{}") "]");
    CU_ASSERT_FALSE(has_code(assay_json_get(row, "reasons"), "same_as_must_fail"));
    assay_json_free(row);
}

static void a_pass_whose_negative_died_is_inconclusive(void) {
    const char *died = "[{\"role\":\"negative\",\"arm\":\"cpu_only\",\"kind\":\"output\",\"state\":\"failed\",\"why\":\"the worker was ended by SIGSEGV\"}]";
    assay_json *row = row_for(VERDICT("pass"), died);
    CU_ASSERT_STRING_EQUAL(str(row, "printed"), "inconclusive");
    CU_ASSERT_TRUE(has_code(assay_json_get(row, "reasons"), "negative_failed"));
    assay_json_free(row);
    row = row_for(VERDICT("kill"), died);
    CU_ASSERT_STRING_EQUAL(str(row, "printed"), "kill");
    assay_json_free(row);
    row = row_for(VERDICT("pass"), "[" SIMULATED_OUTPUT("negative", "cpu_only", "a", "{}") "]");
    CU_ASSERT_STRING_EQUAL(str(row, "printed"), "pass");
    assay_json_free(row);
}

ASSAY_SUITE("judge rules", TEST(a_claim_is_confirmed_by_evidence_of_its_kind), TEST(M79_no_placement_and_power_are_no_latency),
            TEST(M253_no_a_rule_that_passed_is_not_faster), TEST(M44_no_a_plan_is_no_execution), TEST(simulated_evidence_keeps_its_weakest_grade), TEST(a_killed_arm_that_equals_the_dead_path_says_so),
            TEST(a_pass_whose_negative_died_is_inconclusive), TEST(target_question_on_the_reference_backend_is_not_measured), TEST(an_experiment_about_the_reference_backend_is_decided_there), TEST(target_question_on_a_device_stands),
            TEST(target_question_without_any_evidence_is_not_measured), TEST(an_output_question_is_decided_anywhere), TEST(a_failed_gate_is_invalid),
            TEST(missing_evidence_is_no_verdict), TEST(a_kill_fires_at_its_bound), TEST(a_kill_stays_quiet_beyond_its_bound),
            TEST(an_unknown_metric_is_inconclusive), TEST(an_undefined_metric_is_inconclusive), TEST(a_kill_of_a_claim_leaves_the_gate),
            TEST(M67_yes_refuting_the_only_claim_kills_an_undecided_gate), TEST(M67_no_a_gate_that_others_rest_on_or_that_passed_stays),
            TEST(M67_no_figures_that_decide_nothing_kill_nothing),
            TEST(a_kill_names_its_gate_and_arm), TEST(a_kill_does_not_touch_what_was_not_measured), TEST(a_must_fail_arm_must_be_seen_rejected), TEST(rejected_on_one_fixture_is_rejected),
            TEST(an_arm_that_was_not_tried_is_not_rejected),
            TEST(what_was_not_reached_is_not_held_against_the_run), TEST(nothing_compared_is_invalid),
            TEST(invalid_goes_before_kill_before_inconclusive_before_pass), TEST(a_claim_has_its_own_fate),
            TEST(the_reference_backend_never_lifts_a_claim_above_its_files), TEST(random_weights_cap_a_claim_at_probe_M54),
            TEST(standing_is_target_only_with_the_targets_own_evidence))
