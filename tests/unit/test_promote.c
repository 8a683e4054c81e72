/* What may be said of the target: levels, refusals and words of `promote`, on small receipts (M numbers in the names). */
#include "unit/suite.h"
#include "base/fs.h"
#include "base/names.h"
#include "run/promote.h"

static assay_json *parse(const char *text) {
    assay_json *j = NULL;
    assay_error err = {0};
    if (assay_json_parse(text, strlen(text), "test", &j, &err)) printf("\n  %s\n", err.message);
    CU_ASSERT_PTR_NOT_NULL_FATAL(j);
    return j;
}

/* The variable parts of a receipt with one claim and one passed gate. */
typedef struct small { const char *framework, *identity, *evidence, *fate, *class_, *gate; bool unsealed, invalid; } small;

#define MINI "{\"os.build\":\"24G720\",\"os.version\":\"15.7.7\",\"chip\":\"M1\",\"hardware.model\":\"Macmini9,1\",\"compiled.sha256\":\"ab\"}"
#define OUTPUT(origin) "{\"role\":\"candidate\",\"kind\":\"output\",\"origin\":\"" origin "\"}"
#define PLAN(origin) "{\"role\":\"plan\",\"kind\":\"plan\",\"origin\":\"" origin "\"}"
#define PROGRAM "{\"role\":\"candidate\",\"kind\":\"program\",\"origin\":\"reference\"}"
#define REFERENCE "{\"role\":\"reference\",\"kind\":\"output\",\"origin\":\"reference\"}"

static assay_json *promote(small s) {
    static const char format[] = "{\"experiment\":\"e\",\"sealed\":%s,\"validity\":{\"valid\":%s},\"target\":{\"framework\":\"%s\"},\"scripts\":[1],"
                                 "\"arms\":[{\"role\":\"candidate\",\"tree\":\"0123456789abcdef\"}],\"identity\":[%s],"
                                 "\"gates\":[{\"gate\":\"%s\",\"printed\":\"pass\",\"evidence\":[%s]}],"
                                 "\"claims\":[{\"id\":\"c\",\"text\":\"it holds\",\"needs\":[\"%s\"],\"fate\":\"%s\",\"class\":\"%s\"}]}";
    assay_json *frameworks = NULL;
    CU_ASSERT_EQUAL_FATAL(assay_json_read_file(ASSAY_SOURCE_DIR "/scripts/data/frameworks.json", &frameworks, NULL), ASSAY_OK);
    const char *gate = s.gate ? s.gate : "g";
    char *text = assay_xprintf(format, s.unsealed ? "false" : "true", s.invalid ? "false" : "true", s.framework ? s.framework : "coreml",
                               s.identity ? s.identity : MINI, gate, s.evidence, gate, s.fate ? s.fate : "confirmed", s.class_ ? s.class_ : "model");
    assay_json *receipt = parse(text), *p = assay_promote(receipt, frameworks);
    assay_json_free(receipt);
    assay_json_free(frameworks);
    free(text);
    return p;
}

/* "LEVEL promoted" or the codes of refusal. */
static void expect(small s, const char *want) {
    assay_json *p = promote(s);
    const assay_json *c = assay_json_at(assay_json_get(p, "claims"), 0), *refused = assay_json_get(c, "refused");
    assay_buf b = {0};
    if (assay_json_bool(c, "promoted", false)) assay_buf_printf(&b, "%lld promoted", (long long)assay_json_int(c, "level", 0));
    for (size_t i = 0; i < assay_json_len(refused); i++) assay_buf_printf(&b, "%s%s", i ? " " : "", assay_json_string(assay_json_at(refused, i), "code", ""));
    CU_ASSERT_STRING_EQUAL(b.data, want);
    if (strcmp(b.data, want)) printf("\n  got:  %s\n  want: %s\n", b.data, want);
    assay_buf_free(&b);
    assay_json_free(p);
}

static bool says(small s, const char *words) {
    assay_json *p = promote(s);
    const char *statement = assay_json_string(assay_json_at(assay_json_get(p, "claims"), 0), "statement", "");
    bool yes = strstr(statement, words) != NULL;
    assay_json_free(p);
    return yes;
}

/* Is level `at` held by a claim on `evidence`, in a receipt with these scripts and this identity? */
static bool holds(int at, const char *scripts, const char *identity, const char *evidence) {
    char *text = assay_xprintf("{\"scripts\":[%s],\"arms\":[],\"identity\":[%s],\"gates\":[{\"gate\":\"g\",\"printed\":\"pass\","
                               "\"evidence\":[%s]}],\"claims\":[{\"id\":\"c\",\"text\":\"t\",\"needs\":[\"g\"],\"fate\":\"confirmed\"}]}",
                               scripts, identity, evidence);
    assay_json *receipt = parse(text), *none = assay_json_object(), *p = assay_promote(receipt, none);
    const assay_json *levels = assay_json_get(assay_json_at(assay_json_get(p, "claims"), 0), "levels");
    bool held = assay_json_bool(assay_json_at(levels, (size_t)at - 1), "held", false);
    assay_json_free(p);
    assay_json_free(none);
    assay_json_free(receipt);
    free(text);
    return held;
}

static void M37_yes_M37_no_level_1_is_the_digests_of_the_sources(void) {
    CU_ASSERT(holds(1, "{\"path\":\"x.lua\",\"sha256\":\"ab\"}", MINI, PROGRAM));
    CU_ASSERT_FALSE(holds(1, "", MINI, PROGRAM));
}

/* Level 3 is a compiled digest with its OS build, out of evidence of the device. */
static void M39_yes_M39_no_level_3_names_the_compiled_files_and_the_build(void) {
    CU_ASSERT(holds(3, "1", MINI, PLAN("device")));
    CU_ASSERT_FALSE(holds(3, "1", "{\"os.build\":\"24G720\",\"chip\":\"M1\"}", PLAN("device")));
    CU_ASSERT_FALSE(holds(3, "1", "{\"compiled.sha256\":\"ab\",\"chip\":\"M1\"}", PLAN("device")));
    CU_ASSERT_FALSE(holds(3, "1", MINI, PLAN("simulated")));
    CU_ASSERT_FALSE(holds(3, "1", MINI, PROGRAM));
}

static void M38_yes_program_files_carry_level_2(void) {
    expect((small){.evidence = PROGRAM}, "2 promoted");
    expect((small){.evidence = PROGRAM, .identity = ""}, "2 promoted");
    CU_ASSERT(says((small){.evidence = PROGRAM}, "In the program file 0123456789ab"));
}

static void M40_yes_M44_yes_a_plan_is_capped_at_level_4(void) {
    expect((small){.evidence = PLAN("device")}, "4 promoted");
    CU_ASSERT(says((small){.evidence = PLAN("device")}, "says nothing of correctness"));
    expect((small){.evidence = PLAN("simulated")}, "rehearsal");
}

static void M41_yes_M41_no_only_corroborated_records_carry_level_5(void) {
    static const char record[] = "{\"role\":\"rails\",\"kind\":\"record\",\"origin\":\"imported\"}";
    expect((small){.evidence = record, .gate = "corroboration"}, "5 promoted");
    CU_ASSERT(says((small){.evidence = record, .gate = "corroboration"}, "corroborated while it ran"));
    expect((small){.evidence = record, .gate = "placement"}, "3 promoted");
}

static void M42_yes_M42_no_outputs_of_the_device_carry_level_6(void) {
    expect((small){.evidence = REFERENCE "," OUTPUT("device")}, "6 promoted");
    expect((small){.evidence = REFERENCE "," OUTPUT("reference")}, "rehearsal");
    CU_ASSERT(says((small){.evidence = OUTPUT("device")}, "On M1, build 24G720"));
}

static void simulated_and_mixed_evidence_is_refused(void) {
    expect((small){.evidence = OUTPUT("simulated")}, "rehearsal");
    expect((small){.evidence = PLAN("device") "," OUTPUT("simulated")}, "mixed_origins");
}

static void M51_no_a_machine_has_a_build_and_a_chip(void) {
    expect((small){.evidence = OUTPUT("device"), .identity = "{\"os.version\":\"15.7\",\"chip\":\"M1\"}"}, "machine_unknown");
    expect((small){.evidence = OUTPUT("device"), .identity = MINI "," MINI}, "several_machines");
}

static void M54_yes_M54_no_stand_ins_make_a_probe(void) {
    CU_ASSERT(says((small){.evidence = OUTPUT("device"), .class_ = "probe"}, "As a probe"));
    CU_ASSERT_FALSE(says((small){.evidence = OUTPUT("device"), .class_ = "model"}, "As a probe"));
}

#define ON(version, model) "{\"os.build\":\"b\",\"os.version\":\"" version "\",\"chip\":\"M5\",\"hardware.model\":\"" model "\"}"

static void evidence_from_before_the_framework_is_refused(void) {
    expect((small){.framework = "coreai", .evidence = OUTPUT("device"), .identity = ON("26.5.2", "Mac16,1")}, "below_version_floor");
    expect((small){.framework = "coreai", .evidence = OUTPUT("device"), .identity = ON("", "Mac16,1")}, "below_version_floor");
    expect((small){.framework = "coreai", .evidence = OUTPUT("device"), .identity = ON("27", "Mac16,1")}, "6 promoted");
    expect((small){.framework = "coreai", .evidence = OUTPUT("device"), .identity = ON("27.0.1", "Mac16,1")}, "6 promoted");
    expect((small){.framework = "coreai", .evidence = OUTPUT("device"), .identity = ON("27.0", "iPhone 17 Simulator")}, "emulated_device");
}

static void M78_yes_M78_no_private_interfaces_promote_nothing(void) {
    static const char private[] = "{\"os.build\":\"24G720\",\"os.version\":\"15.7.7\",\"chip\":\"M1\",\"private_api\":true}";
    static const char public[] = "{\"os.build\":\"24G720\",\"os.version\":\"15.7.7\",\"chip\":\"M1\",\"private_api\":false}";
    expect((small){.evidence = OUTPUT("device"), .identity = private}, "private_interface");
    expect((small){.evidence = OUTPUT("device"), .identity = public}, "6 promoted");
}

static void what_is_not_confirmed_or_not_sealed_is_refused(void) {
    expect((small){.evidence = OUTPUT("device"), .unsealed = true}, "exploratory");
    expect((small){.evidence = OUTPUT("device"), .fate = "undecided"}, "not_confirmed");
    expect((small){.evidence = OUTPUT("device"), .invalid = true, .fate = "undecided"}, "invalid_run not_confirmed");
}

/* M75_no M75_yes: a faster arm that drifts, beside a transcript gate without a policy, with one, and beside a parity that passes. */
static const char *speed(const char *parity, const char *transcript) {
    char *text = assay_xprintf("{\"sealed\":true,\"validity\":{\"valid\":true},\"arms\":[],\"scripts\":[1],\"gates\":["
                               "{\"gate\":\"latency\",\"printed\":\"pass\",\"evidence\":[" PROGRAM "]},"
                               "{\"gate\":\"parity\",\"printed\":\"%s\"}%s],\"claims\":[{\"id\":\"faster\",\"text\":\"t\","
                               "\"needs\":[\"latency\"],\"fate\":\"confirmed\"}]}", parity, transcript);
    assay_json *receipt = parse(text), *none = assay_json_object(), *p = assay_promote(receipt, none);
    const assay_json *refused = assay_json_get(assay_json_at(assay_json_get(p, "claims"), 0), "refused");
    static char last[64];
    snprintf(last, sizeof last, "%s", "");
    for (size_t i = 0; i < assay_json_len(refused); i++)
        if (assay_streq(assay_json_string(assay_json_at(refused, i), "code", ""), "speed_with_drift")) snprintf(last, sizeof last, "refused");
    assay_json_free(p);
    assay_json_free(none);
    assay_json_free(receipt);
    free(text);
    return last;
}

static void M75_speed_with_drift_needs_a_transcript_and_a_policy(void) {
    CU_ASSERT_STRING_EQUAL(speed("pass", ""), "");
    CU_ASSERT_STRING_EQUAL(speed("kill", ""), "refused");
    CU_ASSERT_STRING_EQUAL(speed("kill", ",{\"gate\":\"transcript\",\"printed\":\"pass\"}"), "refused");
    CU_ASSERT_STRING_EQUAL(speed("kill", ",{\"gate\":\"transcript\",\"printed\":\"kill\",\"params\":{\"policy\":\"p\"}}"), "refused");
    CU_ASSERT_STRING_EQUAL(speed("kill", ",{\"gate\":\"transcript\",\"printed\":\"pass\",\"params\":{\"policy\":\"p\"}}"), "");
}

ASSAY_SUITE("promote", TEST(M75_speed_with_drift_needs_a_transcript_and_a_policy), TEST(M78_yes_M78_no_private_interfaces_promote_nothing), TEST(M37_yes_M37_no_level_1_is_the_digests_of_the_sources),
            TEST(M39_yes_M39_no_level_3_names_the_compiled_files_and_the_build), TEST(M38_yes_program_files_carry_level_2), TEST(M40_yes_M44_yes_a_plan_is_capped_at_level_4), TEST(M41_yes_M41_no_only_corroborated_records_carry_level_5), TEST(M42_yes_M42_no_outputs_of_the_device_carry_level_6),
            TEST(simulated_and_mixed_evidence_is_refused), TEST(M51_no_a_machine_has_a_build_and_a_chip), TEST(M54_yes_M54_no_stand_ins_make_a_probe),
            TEST(evidence_from_before_the_framework_is_refused), TEST(what_is_not_confirmed_or_not_sealed_is_refused))
