/* gates/latency/test_latency_run.c: the run side of the gate: pilot, prize, watched mode, guards (M63-M66). The gate is driven as a
 * run does it: asked, given what it asked for, asked again. */
#include "unit/suite.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/names.h"
#include "plugin/evidence.h"
#include "tensor/generate.h"
#include <math.h>

#define NEAR(a, b) CU_ASSERT_DOUBLE_EQUAL(a, b, 1e-12 * (1.0 + fabs((double)(b))))

static assay_registry *gate(void) {
    static assay_registry *r;
    if (r) return r;
    char path[1024];
    assay_error err = {0};
    r = assay_registry_new();
    snprintf(path, sizeof path, "%s/bin/gates/latency.so", ASSAY_BUILD_DIR);
    if (assay_registry_load_file(r, path, &err)) printf("\n  %s\n", err.message);
    return r;
}
static assay_json *parse(const char *text) {
    assay_json *j = NULL;
    CU_ASSERT_EQUAL_FATAL(assay_json_parse(text, strlen(text), "test", &j, NULL), ASSAY_OK);
    return j;
}
static int processes_made;                       /* of one test: each has noise of its own */
static assay_gate_run *open_gate(const char *more) {
    processes_made = 0;
    char *text = assay_xprintf("{\"arm\":\"fused\",\"control\":\"explicit\",\"fixture\":[\"a\",\"b\"]%s}", more);
    assay_json *params = parse(text);
    assay_gate_run *g = NULL;
    assay_error err = {0};
    if (assay_gate_open(assay_registry_gate(gate(), "latency", NULL), params, "test", &g, &err) != ASSAY_OK) printf("\n  %s\n", err.message);
    CU_ASSERT_PTR_NOT_NULL_FATAL(g);
    assay_json_free(params);
    free(text);
    return g;
}

/* How many needs of a role (and label) the gate has now; *record: the design of the last. */
static size_t needs(assay_gate_run *g, const assay_evidence_set *set, const char *role, const char *label, char *record, size_t size) {
    assay_need_list list = {0};
    size_t n = 0;
    CU_ASSERT_EQUAL_FATAL(assay_gate_needs(g, set, &list, NULL), ASSAY_OK);
    for (size_t i = 0; i < list.len; i++) {
        if (!assay_streq(list.items[i].role, role) || (label && !assay_streq(list.items[i].label, label))) continue;
        n++;
        if (record) snprintf(record, size, "%s", list.items[i].query.record);
    }
    assay_need_list_free(&list);
    return n;
}

/* A process of ABBA and BAAB blocks in turn: arm 1 is `gain` ms faster; noise of sd 0.2 ms a prediction. */
static void add_process(assay_evidence_set *set, const char *role, const char *label, uint32_t blocks, double gain, const char *facts) {
    assay_sample *s = calloc(blocks * 4u, sizeof *s);
    char *name = assay_xprintf("test/process/%d", processes_made++);
    uint64_t stream = assay_stream(name);
    for (uint32_t i = 0; i < blocks * 4; i++) {
        uint32_t slot = i % 4, block = i / 4, arm = (slot == 1 || slot == 2) != (block % 2);
        double ms = 10 - (arm ? gain : 0) + 0.2 * assay_normal12(stream, i);
        s[i] = (assay_sample){ .block = block, .slot = slot, .arm = arm, .dur_ns = (uint64_t)(ms * 1e6) };
    }
    assay_json *doc = parse(facts);
    assay_evidence_add_samples(set, role, label, "explicit", ASSAY_ORIGIN_DEVICE, "", s, blocks * 4u, doc);
    assay_json_free(doc);
    free(name);
    free(s);
}
static void add_processes(assay_evidence_set *set, const char *role, const char *label, int n, uint32_t blocks, double gain) {
    for (int i = 0; i < n; i++) add_process(set, role, label, blocks, gain, "{\"cut_short\":false}");
}
static bool has_code(const assay_json *v, const char *code) {
    const assay_json *lists[] = { assay_json_path(v, "validity.reasons"), assay_json_get(v, "reasons") };
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < assay_json_len(lists[k]); i++)
            if (assay_streq(assay_json_string(assay_json_at(lists[k], i), "code", ""), code)) return true;
    return false;
}
static assay_json *judged(assay_gate_run *g, const assay_evidence_set *set) {
    assay_json *v = NULL;
    assay_error err = {0};
    if (assay_gate_judge(g, set, &v, &err) != ASSAY_OK) printf("\n  %s\n", err.message);
    CU_ASSERT_PTR_NOT_NULL_FATAL(v);
    return v;
}
static double metric(const assay_json *v, const char *path) { return assay_json_value(assay_json_path(assay_json_get(v, "metrics"), path)); }
static bool says(const assay_json *v, const char *verdict, const char *code) {
    bool ok = assay_streq(assay_json_string(v, "verdict", ""), verdict) && has_code(v, code);
    if (!ok) {
        char *text = assay_json_pretty(assay_json_get(v, "reasons"));
        printf("\n  %s %s\n", assay_json_string(v, "verdict", ""), text);
        free(text);
    }
    return ok;
}

static void the_pilot_comes_first_and_sizes_the_run(void) {
    assay_gate_run *g = open_gate("");
    assay_evidence_set *set = assay_evidence_new();
    char design[600];
    CU_ASSERT_EQUAL(needs(g, set, "samples", NULL, NULL, 0), 0);
    CU_ASSERT_EQUAL(needs(g, set, "pilot", "1", design, sizeof design), 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(design, "\"pilot\":true"));
    CU_ASSERT_PTR_NOT_NULL(strstr(design, "\"blocks\":10"));
    CU_ASSERT_PTR_NOT_NULL(strstr(design, "\"fixtures\":[\"b\"]"));
    add_processes(set, "pilot", "1", 2, 10, 0);
    CU_ASSERT_EQUAL(needs(g, set, "pilot", "2", NULL, 0), 0);
    CU_ASSERT_EQUAL(needs(g, set, "samples", NULL, design, sizeof design), 5);
    CU_ASSERT_PTR_NULL(strstr(design, "watch"));
    add_processes(set, "samples", "", 5, 20, 0.5);
    assay_json *v = judged(g, set);
    CU_ASSERT_TRUE(says(v, "pass", "faster"));
    NEAR(metric(v, "pilot.n"), 20);
    NEAR(metric(v, "pilot.target_ms"), metric(v, "pilot.level_ms") / 100);
    char blocks[40];
    snprintf(blocks, sizeof blocks, "\"blocks\":%.0f,", metric(v, "pilot.blocks_per_process"));
    CU_ASSERT_PTR_NOT_NULL(strstr(design, blocks));                        /* judged from the plan that was run */
    CU_ASSERT_TRUE(metric(v, "pilot.noise_floor_ms") > 0 && metric(v, "pilot.mde_ms") > 0);
    assay_json_free(v);
    assay_gate_close(g);
    assay_evidence_free(set);
}
static void a_pilot_that_differs_is_repeated_once(void) {
    assay_gate_run *g = open_gate("");
    assay_evidence_set *set = assay_evidence_new();
    char first[600], second[600];
    needs(g, set, "pilot", "1", first, sizeof first);
    add_processes(set, "pilot", "1", 2, 10, 1);
    CU_ASSERT_EQUAL(needs(g, set, "samples", NULL, NULL, 0), 0);
    CU_ASSERT_EQUAL(needs(g, set, "pilot", "2", second, sizeof second), 2);
    CU_ASSERT_STRING_NOT_EQUAL(first, second);                             /* a new seed */
    add_processes(set, "pilot", "2", 2, 10, 0);
    CU_ASSERT_EQUAL(needs(g, set, "samples", NULL, NULL, 0), 5);
    assay_gate_close(g);
    assay_evidence_free(set);
}
static void two_differing_pilots_are_a_biased_harness(void) {
    assay_gate_run *g = open_gate("");
    assay_evidence_set *set = assay_evidence_new();
    add_processes(set, "pilot", "1", 2, 10, 1);
    add_processes(set, "pilot", "2", 2, 10, -1);
    CU_ASSERT_EQUAL(needs(g, set, "samples", NULL, NULL, 0), 0);
    assay_json *v = judged(g, set);
    CU_ASSERT_TRUE(has_code(v, "harness_biased"));
    CU_ASSERT_FALSE(assay_json_truth(assay_json_path(v, "validity.valid")));
    assay_json_free(v);
    assay_gate_close(g);
    assay_evidence_free(set);
}
static void a_run_that_cannot_decide_is_refused(void) {
    assay_gate_run *g = open_gate(",\"layers\":32,\"min_prize_ms\":0.5");
    assay_evidence_set *set = assay_evidence_new();
    add_processes(set, "pilot", "1", 2, 10, 0);
    CU_ASSERT_EQUAL(needs(g, set, "samples", NULL, NULL, 0), 0);
    assay_json *v = judged(g, set);
    CU_ASSERT_TRUE(says(v, "inconclusive", "cannot_decide"));
    assay_json_free(v);
    assay_gate_close(g);
    assay_evidence_free(set);
}
static void a_pilot_that_fails_measures_nothing(void) {
    assay_gate_run *g = open_gate("");
    assay_evidence_set *set = assay_evidence_new();
    assay_evidence_add_absent(set, ASSAY_K_TIMING, "pilot", "1", "explicit", ASSAY_STATE_FAILED, "the worker was ended by SIGSEGV");
    CU_ASSERT_EQUAL(needs(g, set, "samples", NULL, NULL, 0), 0);
    assay_json *v = judged(g, set);
    CU_ASSERT_TRUE(says(v, "not-measured", "pilot_failed"));
    assay_json_free(v);
    assay_gate_close(g);
    assay_evidence_free(set);
}

/* ---- the prize */

static void add_table(assay_evidence_set *set, const char *label, const char *const *devices) {
    assay_json *doc = parse("{\"schema\":\"compute-plan/1\",\"operations\":[]}");
    for (size_t i = 0; devices[i]; i++) {
        assay_json *row = assay_json_append(assay_json_get(doc, "operations"), assay_json_object());
        assay_json_set_string(row, "function", "main");
        assay_json_set_string(row, "name", "y");
        assay_json_set_string(row, "type", "add");
        assay_json_set_string(row, "preferred", *devices[i] ? devices[i] : NULL);
    }
    assay_evidence_add_json(set, "plan", label, label, ASSAY_ORIGIN_DEVICE, "", doc);
    assay_json_free(doc);
}
static const char *const whole[] = { "none", "NE", "NE", NULL }, *const cut[] = { "NE", "CPU", "NE", NULL }, *const unknown[] = { "NE", "", NULL };

/* A prize of 3.2 ms over 32 layers, a gain of 0.5 ms a layer. */
static assay_json *prize_run(const char *more, const char *const *control, const char *const *candidate, double probe_gain) {
    char *params = assay_xprintf(",\"layers\":32,\"min_prize_ms\":3.2,\"blocks\":60%s", more);
    assay_gate_run *g = open_gate(params);
    assay_evidence_set *set = assay_evidence_new();
    CU_ASSERT_EQUAL(needs(g, set, "plan", NULL, NULL, 0), 2);
    add_processes(set, "pilot", "1", 2, 10, 0);
    add_table(set, "control", control);
    add_table(set, "candidate", candidate);
    add_processes(set, "samples", "", 5, 40, 0.5);
    CU_ASSERT_EQUAL(needs(g, set, "probe", NULL, NULL, 0), probe_gain > 0 ? 5 : 0);
    if (probe_gain > 0) add_processes(set, "probe", "", 5, 40, probe_gain);
    assay_json *v = judged(g, set);
    assay_gate_close(g);
    assay_evidence_free(set);
    free(params);
    return v;
}
static void equal_regions_make_a_prize(void) {
    assay_json *v = prize_run("", whole, whole, 0);
    CU_ASSERT_TRUE(says(v, "pass", "faster"));
    CU_ASSERT_TRUE(metric(v, "gate.prize_low_ms") >= 3.2);
    NEAR(metric(v, "prize.control_regions"), 1);
    CU_ASSERT_TRUE(isnan(metric(v, "gate.gap_left_ms")));                  /* undeclared: faster, never continue */
    assay_json_free(v);
}
static void unequal_or_unknown_regions_make_none(void) {
    assay_json *v = prize_run("", whole, cut, 0);
    CU_ASSERT_TRUE(says(v, "inconclusive", "prize_not_comparable"));
    CU_ASSERT_TRUE(isnan(metric(v, "gate.prize_low_ms")));
    NEAR(metric(v, "prize.candidate_regions"), 3);
    assay_json_free(v);
    v = prize_run("", unknown, unknown, 0);
    CU_ASSERT_TRUE(says(v, "inconclusive", "prize_not_comparable"));
    assay_json_free(v);
}
static void a_probe_of_two_layers_decides_instead(void) {
    static const char probes[] = ",\"probe_control\":\"e2\",\"probe_arm\":\"f2\"";
    assay_json *v = prize_run(probes, whole, cut, 1.2);                    /* a further layer gains 0.7 */
    CU_ASSERT_TRUE(says(v, "pass", "faster"));
    CU_ASSERT_DOUBLE_EQUAL(metric(v, "prize.marginal_gain_ms"), 0.7, 0.1);
    assay_json_free(v);
    v = prize_run(probes, whole, cut, 0.3);                                /* it loses 0.2 */
    CU_ASSERT_TRUE(says(v, "kill", "below_prize"));
    assay_json_free(v);
    v = prize_run(probes, whole, cut, 0.6);                                /* 0.1 is the prize itself */
    CU_ASSERT_TRUE(says(v, "inconclusive", "prize_not_decided"));
    assay_json_free(v);
}
/* M66_yes, M66_no */
static void a_declared_gap_says_continue_or_not(void) {
    assay_json *v = prize_run(",\"gap_ms\":5", whole, whole, 0);
    CU_ASSERT_TRUE(says(v, "pass", "gap_closed"));                         /* 32 x 0.5 = 16 ms */
    assay_json_free(v);
    v = prize_run(",\"gap_ms\":50", whole, whole, 0);
    CU_ASSERT_TRUE(says(v, "pass", "gap_not_closed"));
    CU_ASSERT_TRUE(metric(v, "gate.gap_left_ms") > 30);
    assay_json_free(v);
}

/* ---- the watched mode */

static assay_json *watched_run(uint32_t blocks, double gain, const char *stopped) {
    assay_gate_run *g = open_gate(",\"watched\":true,\"blocks\":100,\"layers\":32,\"min_prize_ms\":0");
    assay_evidence_set *set = assay_evidence_new();
    char design[600], *facts = assay_xprintf("{\"watch\":{\"alpha\":0.05,\"t_opt\":100,\"target_ms\":null,\"stopped\":%s}}", stopped);
    add_processes(set, "pilot", "1", 2, 10, 0);
    CU_ASSERT_EQUAL(needs(g, set, "samples", NULL, design, sizeof design), 5);
    CU_ASSERT_PTR_NOT_NULL(strstr(design, "\"watch\":{\"alpha\":0.05,\"t_opt\":100,\"target_ms\":null}"));
    for (int i = 0; i < 5; i++) add_process(set, "samples", "", blocks, gain, facts);
    assay_json *v = judged(g, set);
    assay_gate_close(g);
    assay_evidence_free(set);
    free(facts);
    return v;
}
static void the_judge_repeats_every_stop(void) {
    assay_json *v = watched_run(20, 2, "\"faster\"");                      /* decided at the first look */
    CU_ASSERT_FALSE(has_code(v, "stopping_disagrees"));
    NEAR(metric(v, "harness.stopped_processes"), 5);
    assay_json_free(v);
    v = watched_run(20, 0, "\"faster\"");                                  /* stopped where nothing was decided */
    CU_ASSERT_TRUE(has_code(v, "stopping_disagrees"));
    assay_json_free(v);
    v = watched_run(30, 2, "null");                                        /* went on although it was */
    CU_ASSERT_TRUE(has_code(v, "stopping_disagrees"));
    assay_json_free(v);
    v = watched_run(20, 2, "\"futile\"");                                  /* for another reason */
    CU_ASSERT_TRUE(has_code(v, "stopping_disagrees"));
    assay_json_free(v);
    v = watched_run(100, 0, "null");
    CU_ASSERT_FALSE(has_code(v, "stopping_disagrees"));
    assay_json_free(v);
}

/* ---- guards */

static void dropped_blocks_are_counted_by_reason(void) {
    assay_gate_run *g = open_gate(",\"blocks\":10");
    assay_evidence_set *set = assay_evidence_new();
    assay_sample s[40];
    add_processes(set, "pilot", "1", 2, 10, 0);
    for (uint32_t p = 0; p < 5; p++) {
        for (uint32_t i = 0; i < 40; i++)
            s[i] = (assay_sample){ .block = i / 4, .slot = i % 4, .arm = (i % 4 == 1 || i % 4 == 2) != (i / 4 % 2), .dur_ns = 10000000 + (i * 7919 + p * 104729) % 50000,
                                   .flags = i / 4 < 2 };
        assay_json *facts = parse(p ? "{\"dropped\":{\"load\":2}}" : "{\"dropped\":{\"throttled\":1,\"load\":1}}");
        assay_evidence_add_samples(set, "samples", "", "explicit", ASSAY_ORIGIN_DEVICE, "", s, 40, facts);
        assay_json_free(facts);
    }
    assay_json *v = judged(g, set);
    CU_ASSERT_TRUE(says(v, "inconclusive", "blocks_dropped"));             /* 10 of 50 */
    NEAR(metric(v, "paired.n_pairs"), 40);
    NEAR(metric(v, "harness.dropped_by.load"), 9);
    NEAR(metric(v, "harness.dropped_by.throttled"), 1);
    assay_json_free(v);
    assay_gate_close(g);
    assay_evidence_free(set);
}

/* A pilot of 10 blocks in which the first `dropped` were dropped, and what the gate says and asks for. */
static void expect_after_drops(uint32_t dropped, uint32_t trials, const char *code) {
    assay_gate_run *g = open_gate("");
    assay_evidence_set *set = assay_evidence_new();
    assay_sample s[40];
    for (uint32_t i = 0; i < 40; i++)
        s[i] = (assay_sample){ .block = i / 4, .slot = i % 4, .arm = (i % 4 == 1 || i % 4 == 2) != (i / 4 % 2), .dur_ns = 10000000 + (i * 7919) % 50000,
                               .flags = i / 4 < dropped };
    assay_json *facts = parse("{\"dropped\":{\"waited\":1}}");
    for (int p = 0; p < 2; p++) assay_evidence_add_samples(set, "pilot", "1", "explicit", ASSAY_ORIGIN_DEVICE, "", s, 40, facts);
    CU_ASSERT_EQUAL(needs(g, set, "samples", NULL, NULL, 0), trials);
    assay_json *v = judged(g, set);
    CU_ASSERT_EQUAL(says(v, "not-measured", code), true);
    assay_json_free(v);
    assay_json_free(facts);
    assay_gate_close(g);
    assay_evidence_free(set);
}
static void a_pilot_of_dropped_blocks_plans_nothing(void) {
    expect_after_drops(10, 0, "pilot_disturbed");
    expect_after_drops(6, 0, "pilot_disturbed");
    expect_after_drops(5, 5, "nothing_to_compare");                        /* half is enough to go on */
}

ASSAY_SUITE("latency, the run", TEST(the_pilot_comes_first_and_sizes_the_run),
            TEST(a_pilot_that_differs_is_repeated_once), TEST(two_differing_pilots_are_a_biased_harness),
            TEST(a_run_that_cannot_decide_is_refused), TEST(a_pilot_that_fails_measures_nothing),
            TEST(equal_regions_make_a_prize), TEST(unequal_or_unknown_regions_make_none),
            TEST(a_probe_of_two_layers_decides_instead), TEST(a_declared_gap_says_continue_or_not),
            TEST(the_judge_repeats_every_stop), TEST(dropped_blocks_are_counted_by_reason),
            TEST(a_pilot_of_dropped_blocks_plans_nothing))
