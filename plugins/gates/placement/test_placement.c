/* The placement gate: the case files, and each rule by itself on small plans (M numbers in the names). */
#include "unit/suite.h"
#include "plugin/evidence.h"
#include <math.h>

static assay_registry *registry;

static void open_gate(void) {
    assay_error err = {0};
    if (registry) return;
    registry = assay_registry_new();
    CU_ASSERT_EQUAL_FATAL(assay_registry_load_file(registry, ASSAY_BUILD_DIR "/bin/gates/placement.so", &err), ASSAY_OK);
}

static assay_json *parse(const char *text) {
    assay_json *j = NULL;
    assay_error err = {0};
    if (assay_json_parse(text, strlen(text), "test", &j, &err)) printf("\n  %s\n", err.message);
    CU_ASSERT_PTR_NOT_NULL_FATAL(j);
    return j;
}

static void add_text(assay_evidence_set *ev, const char *role, const char *label, const char *json) {
    assay_json *j = parse(json);
    assay_evidence_add_json(ev, role, label, NULL, ASSAY_ORIGIN_IMPORTED, "", j);
    assay_json_free(j);
}

static assay_json *judge(assay_evidence_set *ev, const char *params) {
    assay_json *p = parse(params), *v = NULL;
    assay_error err = {0};
    open_gate();
    if (assay_judge(registry, "placement", p, ev, &v, &err)) printf("\n  %s\n", err.message);
    assay_json_free(p);
    assay_evidence_free(ev);
    CU_ASSERT_PTR_NOT_NULL_FATAL(v);
    return v;
}

/* Verdict and, in order, the codes of validity and reasons. */
static void expect(assay_json *v, const char *want) {
    assay_buf b = {0};
    assay_buf_str(&b, assay_printed_verdict(v));
    const assay_json *lists[] = {assay_json_path(v, "validity.reasons"), assay_json_get(v, "reasons")};
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < assay_json_len(lists[k]); i++)
            assay_buf_printf(&b, " %s", assay_json_string(assay_json_at(lists[k], i), "code", ""));
    CU_ASSERT_STRING_EQUAL(b.data, want);
    if (strcmp(b.data, want)) printf("\n  got:  %s\n  want: %s\n", b.data, want);
    assay_buf_free(&b);
    assay_json_free(v);
}

#define OP(type, name, dev, cost)                                                                                                \
    "{\"type\":\"" type "\",\"name\":\"" name "\",\"preferred\":" dev ",\"supported\":[\"CPU\",\"NE\"],\"cost\":" cost "}"
#define PLAN(ops) "{\"schema\":\"compute-plan/1\",\"requested_units\":\"cpuAndNeuralEngine\",\"operations\":[" ops "]}"
#define SDPA "ios18.scaled_dot_product_attention"
#define WANT "{\"op_of_interest\":[\"scaled_dot_product_attention\",\"linear\"]}"
#define CONST_OP "{\"type\":\"const\",\"name\":\"w\",\"preferred\":null}"

static const char *const placed =
    PLAN(OP("ios18.linear", "q", "\"NE\"", "0.25") "," OP(SDPA, "attn", "\"ANE\"", "0.75") "," CONST_OP);
static const char *const on_cpu = PLAN(OP("ios18.linear", "q", "\"NE\"", "0.25") "," OP(SDPA, "attn", "\"CPU\"", "0.75"));
static const char *const half_known = PLAN(OP("ios18.linear", "q", "\"NE\"", "0.25") "," OP(SDPA, "attn", "null", "0.75"));
static const char *const unknown = PLAN(OP("ios18.linear", "q", "null", "null") "," OP(SDPA, "attn", "null", "null"));
static const char *const explicit_placed = PLAN(OP("ios18.linear", "q", "\"NE\"", "0.5") "," OP(
    "ios18.matmul", "s", "\"NE\"", "0.25") "," OP("ios16.softmax", "p", "\"NE\"", "0.25"));

static assay_json *one(const char *plan, const char *control, const char *params) {
    assay_evidence_set *ev = assay_evidence_new();
    add_text(ev, "plan", "", plan);
    if (control) add_text(ev, "control_plan", "", control);
    return judge(ev, params);
}

/* M40_yes M43_yes M44_yes M49_yes M56_yes */
static void M40_preferred_ops_pass(void) {
    assay_json *v = one(placed, NULL, WANT);
    const assay_json *m = assay_json_path(v, "metrics.plan");
    CU_ASSERT_EQUAL(assay_json_number(m, "computing_ops", -1), 2);
    CU_ASSERT_EQUAL(assay_json_number(m, "not_counted", -1), 1);
    CU_ASSERT_EQUAL(assay_json_number(m, "share_of_cost", -1), 1);
    /* M43, M44: four fields apart; what was requested is not where it is, and a plan has not observed anything. */
    const assay_json *row = assay_json_at(assay_json_path(v, "details.ops_of_interest"), 0);
    CU_ASSERT_STRING_EQUAL(assay_json_string(row, "requested", ""), "cpuAndNeuralEngine");
    CU_ASSERT_STRING_EQUAL(assay_json_string(row, "preferred", ""), "NE");
    CU_ASSERT_EQUAL(assay_json_kind(assay_json_get(row, "observed")), ASSAY_J_NULL);
    expect(v, "pass");
}

/* M40_no M49_no M56_no */
static void M49_other_device_kills(void) {
    expect(one(on_cpu, NULL, WANT), "kill op_of_interest_not_on_ne");
    expect(one(on_cpu, NULL, "{\"op_of_interest\":\"scaled_dot_product_attention\",\"require_device\":\"CPU\"}"), "pass");
    expect(one(on_cpu, NULL, "{\"op_of_interest\":\"linear\",\"require_device\":\"GPU\"}"), "kill op_of_interest_not_on_gpu");
}

/* Unknown is no pass; it kills only where the control shows that the device could be had. */
/* M49_both M43_no */
static void M49_unknown_kills_only_beside_a_placed_control(void) {
    expect(one(half_known, NULL, WANT), "inconclusive too_many_unknown too_many_unknown");
    expect(one(half_known, NULL, "{\"op_of_interest\":\"linear\",\"max_unknown\":1}"), "pass");
    expect(one(half_known, NULL, "{\"op_of_interest\":\"scaled_dot_product_attention\",\"max_unknown\":1}"),
           "inconclusive too_many_unknown");
    expect(one(half_known, explicit_placed, WANT), "kill op_of_interest_not_on_ne too_many_unknown");
    expect(one(half_known, unknown, WANT), "inconclusive too_many_unknown too_many_unknown");
    expect(one(unknown, NULL, WANT), "inconclusive no_device_usage");
    expect(one(unknown, unknown, WANT), "inconclusive no_device_usage");
    expect(one(unknown, explicit_placed, WANT), "kill op_of_interest_not_on_ne op_of_interest_not_on_ne too_many_unknown");
}

static void missing_op_is_invalid(void) {
    expect(one(placed, NULL, "{\"op_of_interest\":\"conv\"}"), "invalid op_of_interest_missing");
}

static void missing_cost_leaves_the_share_undefined(void) {
    assay_json *v = one(PLAN(OP("linear", "q", "\"NE\"", "null") "," OP("linear", "k", "\"NE\"", "0.5")), NULL,
                        "{\"op_of_interest\":\"linear\"}");
    CU_ASSERT(isnan(assay_json_value(assay_json_path(v, "metrics.plan.share_of_cost"))));
    CU_ASSERT_EQUAL(assay_json_value(assay_json_path(v, "metrics.plan.share_of_ops")), 1);
    expect(v, "pass");
}

static void sweep_reports_each_plan(void) {
    assay_evidence_set *ev = assay_evidence_new();
    char *list = assay_xprintf("[%s,%s]", placed, on_cpu);
    add_text(ev, "plan", "", list);
    free(list);
    assay_json *v = judge(ev, WANT);
    CU_ASSERT_EQUAL(assay_json_value(assay_json_path(v, "metrics.plan.plans")), 2);
    CU_ASSERT_EQUAL(assay_json_value(assay_json_path(v, "metrics.plan.on_ne")), 3);
    CU_ASSERT_STRING_EQUAL(assay_json_text(assay_json_at(assay_json_path(v, "metrics.gate.verdicts"), 1)), "kill");
    expect(v, "kill op_of_interest_not_on_ne shape_dependent_placement");
    ev = assay_evidence_new();
    add_text(ev, "plan", "S750", placed);
    add_text(ev, "plan", "S1500", placed);
    v = judge(ev, WANT);
    CU_ASSERT_STRING_EQUAL(assay_json_string(assay_json_path(v, "metrics.gate.verdicts"), "S1500", ""), "pass");
    expect(v, "pass");
}

static void absent_evidence_is_not_measured(void) {
    expect(judge(assay_evidence_new(), "{}"), "not-measured no_device_evidence");
    assay_evidence_set *ev = assay_evidence_new();
    assay_evidence_add_absent(ev, ASSAY_K_PLAN, "plan", "", "fused", ASSAY_STATE_UNAVAILABLE,
                              "the reference backend has no devices");
    expect(judge(ev, WANT), "not-measured no_device_evidence");
    ev = assay_evidence_new();
    assay_evidence_add_absent(ev, ASSAY_K_PLAN, "plan", "", "fused", ASSAY_STATE_FAILED, "signal 6");
    expect(judge(ev, WANT), "invalid probe_crashed");
    ev = assay_evidence_new();                   /* K1: the planning call says that the compile failed */
    assay_evidence_add_absent(ev, ASSAY_K_PLAN, "plan", "", "fused", ASSAY_STATE_FAILED, "ANECCompile() FAILED (11)");
    expect(judge(ev, WANT), "kill ne_compile_failed");
}

static void a_plan_needs_named_ops(void) {
    open_gate();
    assay_evidence_set *ev = assay_evidence_new();
    assay_json *v = NULL;
    assay_error err = {0};
    add_text(ev, "plan", "", placed);
    CU_ASSERT_EQUAL(assay_judge(registry, "placement", NULL, ev, &v, &err), ASSAY_E_USAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "give op_of_interest"));
    assay_evidence_free(ev);
}

static assay_json *run(const char *record, const char *stderr_text) {
    assay_evidence_set *ev = assay_evidence_new();
    add_text(ev, "run", "", record);
    if (stderr_text) {
        assay_json *s = assay_json_new_string(stderr_text);
        assay_evidence_add_json(ev, "stderr", "", NULL, ASSAY_ORIGIN_IMPORTED, "", s);
        assay_json_free(s);
    }
    return judge(ev, "{}");
}

/* M155_no: a compile without an error and without a region there. M155_yes: one with regions. */
static void exit_code_zero_proves_nothing(void) {
    expect(run("{\"exit_code\":0,\"signal\":null}", "x ANECCompile() FAILED (11)"), "kill ne_compile_failed silent_fallback");
    expect(run("{\"exit_code\":null,\"signal\":9}", "x ANECCompile() FAILED"), "kill ne_compile_failed");
    expect(run("{\"exit_code\":0,\"signal\":null,\"artifact\":{\"regions\":{\"ANE\":0,\"GPU\":3}}}", ""),
           "kill op_of_interest_not_on_ne");
    expect(run("{\"exit_code\":0,\"signal\":null,\"artifact\":{\"regions\":{\"ANE\":2}}}", NULL), "inconclusive no_device_usage");
    /* A count that is not there is not zero. */
    expect(run("{\"exit_code\":0,\"signal\":null,\"artifact\":{\"regions\":{}}}", NULL), "inconclusive no_device_usage");
    expect(run("{\"exit_code\":0,\"signal\":null,\"artifact\":{\"regions\":{\"ANE\":null,\"GPU\":3}}}", NULL), "inconclusive no_device_usage");
}

static void M45_a_crashed_probe_is_invalid(void) {
    expect(run("{\"exit_code\":null,\"signal\":6,\"path_kind\":\"mlpackage\"}", "terminating"),
           "invalid probe_crashed plan_needs_compiled_model");
    expect(run("{\"exit_code\":null,\"signal\":11,\"path_kind\":\"mlmodelc\"}", NULL), "invalid probe_crashed");
    expect(run("{\"exit_code\":1,\"signal\":null}", "usage"), "invalid probe_crashed");
}

/* M45_yes: the compiled folder, the model kept, the same files before and after; a record that says less is judged by the rest. */
static void M45_no_a_plan_of_a_released_or_changed_model_is_invalid(void) {
#define PROBE(fields) "{\"exit_code\":0,\"signal\":null," fields "\"artifact\":{\"regions\":{\"ANE\":2}}}"
    expect(run(PROBE("\"path_kind\":\"mlmodelc\",\"model_alive\":true,\"compiled_sha256_before\":\"ab\",\"compiled_sha256_after\":\"ab\","), NULL),
           "inconclusive no_device_usage");
    expect(run(PROBE("\"path_kind\":\"mlpackage\","), NULL), "invalid plan_needs_compiled_model");
    expect(run(PROBE("\"model_alive\":false,"), NULL), "invalid model_released");
    expect(run(PROBE("\"compiled_sha256_before\":\"ab\",\"compiled_sha256_after\":\"cd\","), NULL), "invalid compiled_model_changed");
    expect(run(PROBE("\"compiled_sha256_before\":\"ab\","), NULL), "inconclusive no_device_usage");
}

/* ---- two plans, a plan and its program, the way from op to op */
#define PLAN_FOR(units, ops) "{\"schema\":\"compute-plan/1\",\"requested_units\":\"" units "\",\"operations\":[" ops "]}"
#define LINEAR(name, dev) OP("ios18.linear", name, dev, "0.25")
#define WANT_LINEAR "{\"op_of_interest\":\"linear\"}"

/* M40_yes M43_yes: one policy in two spellings. M40_no: another one. */
static void plans_of_one_policy_only(void) {
    const char *ours = PLAN_FOR("cpuAndNeuralEngine", LINEAR("q", "\"NE\""));
    expect(one(ours, PLAN_FOR("CPU_AND_NE", LINEAR("q", "\"NE\"")), WANT_LINEAR), "pass");
    expect(one(ours, PLAN_FOR("ALL", LINEAR("q", "\"NE\"")), WANT_LINEAR), "invalid policies_differ");
}

/* M154_yes: layer 0 stays on one unit. M154_no: layer 1 leaves it, and that is counted. */
static void a_layer_has_segments_and_transitions(void) {
    assay_json *v = one(PLAN(LINEAR("layers_0_q", "\"NE\"") "," LINEAR("layers_0_k", "\"NE\"") "," OP("ios16.gather", "layers_1_g", "\"CPU\"", "0") ","
                                 LINEAR("layers_1_q", "\"NE\"")), NULL, WANT_LINEAR);
    CU_ASSERT_EQUAL(assay_json_value(assay_json_path(v, "metrics.plan.segments")), 3);
    CU_ASSERT_EQUAL(assay_json_value(assay_json_path(v, "metrics.plan.transitions")), 2);
    const assay_json *layers = assay_json_path(v, "details.layers");
    CU_ASSERT_EQUAL(assay_json_len(layers), 2);
    CU_ASSERT_EQUAL(assay_json_number(assay_json_at(layers, 0), "transitions", -1), 0);
    CU_ASSERT_EQUAL(assay_json_number(assay_json_at(layers, 1), "transitions", -1), 1);
    expect(v, "pass");
}

static void what_moved_and_why(void) {
    assay_evidence_set *ev = assay_evidence_new();
    add_text(ev, "plan", "", PLAN(LINEAR("q", "\"CPU\"") "," LINEAR("k", "\"NE\"")));
    add_text(ev, "previous_plan", "", PLAN(LINEAR("k", "\"NE\"") "," LINEAR("q", "\"NE\"")));
    assay_json *v = judge(ev, WANT_LINEAR);
    const assay_json *moved = assay_json_path(v, "details.moved");
    CU_ASSERT_EQUAL(assay_json_len(moved), 1);
    CU_ASSERT_STRING_EQUAL(assay_json_string(assay_json_at(moved, 0), "op", ""), "q");
    CU_ASSERT_STRING_EQUAL(assay_json_string(assay_json_at(moved, 0), "from", ""), "NE");
    CU_ASSERT_STRING_EQUAL(assay_json_string(assay_json_at(moved, 0), "why", ""), "still supported there: the choice changed");
    expect(v, "kill op_of_interest_not_on_ne");
}

static assay_json *beside_program(const char *plan) {
    static const char mil[] = "program(1.3)\n{\n func main<ios18>(tensor<fp16, [1, 4]> x) {\n"
                              "  tensor<fp16, [1, 4]> a = relu(x = x);\n  tensor<fp16, [1, 4]> b = sigmoid(x = a);\n } -> (b);\n}\n";
    assay_evidence_set *ev = assay_evidence_new();
    assay_program *p = NULL;
    assay_error err = {0};
    CU_ASSERT_EQUAL_FATAL(assay_program_parse_mil(mil, strlen(mil), "test", NULL, &p, &err), ASSAY_OK);
    add_text(ev, "plan", "", plan);
    assay_evidence_add_program(ev, "program", "", NULL, ASSAY_ORIGIN_IMPORTED, "", p);
    return judge(ev, "{\"op_of_interest\":\"relu\"}");
}

#define STEP(type, name, dev) "{\"type\":\"" type "\",\"name\":\"" name "\",\"preferred\":" dev "}"

/* M40_yes: joined by name, or by order and type where there are no names. M40_no: a poor match decides nothing. */
static void a_plan_is_joined_to_its_program(void) {
    assay_json *v = beside_program(PLAN(STEP("ios16.relu", "a", "\"NE\"") "," STEP("sigmoid", "b", "\"CPU\"")));
    CU_ASSERT_EQUAL(assay_json_value(assay_json_path(v, "metrics.plan.match_rate")), 1);
    CU_ASSERT_EQUAL(assay_json_value(assay_json_path(v, "metrics.plan.crossings")), 1);
    expect(v, "pass");
    expect(beside_program(PLAN(STEP("relu", "", "\"NE\"") "," STEP("sigmoid", "", "\"NE\""))), "pass");
    expect(beside_program(PLAN(STEP("relu", "z", "\"NE\"") "," STEP("sigmoid", "b", "\"NE\""))), "inconclusive poor_match");
    expect(beside_program(PLAN(STEP("relu", "", "\"NE\""))), "inconclusive poor_match");
    expect(beside_program(PLAN(STEP("relu", "z", "\"CPU\"") "," STEP("sigmoid", "b", "\"NE\""))), "inconclusive poor_match op_of_interest_not_on_ne");
}

static void shares_of_whole_models_decide_nothing(void) {
    expect(one("{\"schema\":\"placement-summary/1\",\"rows\":[]}", NULL, WANT_LINEAR), "inconclusive no_named_ops");
    expect(one("{\"schema\":\"something/1\"}", NULL, WANT_LINEAR), "invalid not_a_plan");
}

/* The two analytics files: all on the unit; and one refused op that took the whole graph with it. */
static void analytics_name_the_op_that_was_refused(void) {
    static const char *const files[][2] = {{"affine", "pass"}, {"argsort_w", "kill refused_by_compiler op_of_interest_not_on_ne"}};
    const char *shared = shared_or_skip();
    for (size_t i = 0; shared && i < 2; i++) {
        char *path = assay_xprintf("%s/corpus/evidence/analytics-mil/%s.analytics.mil", shared, files[i][0]);
        assay_evidence_set *ev = assay_evidence_new();
        assay_error err;
        CU_ASSERT_EQUAL_FATAL(assay_evidence_add_file(ev, "plan", path, &err), ASSAY_OK);
        expect(judge(ev, "{\"op_of_interest\":\"conv\"}"), files[i][1]);
        free(path);
    }
}

/* ---- the case folders, each part as it stands */
static void judge_part(const char *dir, const assay_json *part) {
    assay_evidence_set *ev = assay_evidence_new();
    assay_error err = {0};
    const assay_json *inputs = assay_json_get(part, "inputs"), *want = assay_json_get(part, "expected");
    for (size_t i = 0; i < assay_json_len(inputs); i++) {
        char *path = assay_xprintf("%s/%s", dir, assay_json_string(assay_json_at(inputs, i), "file", ""));
        CU_ASSERT_EQUAL(assay_evidence_add_file(ev, assay_json_key_at(inputs, i), path, &err), ASSAY_OK);
        free(path);
    }
    char *params = assay_json_print(assay_json_get(part, "params"));
    assay_json *v = judge(ev, params);
    free(params);
    CU_ASSERT_STRING_EQUAL(assay_printed_verdict(v), assay_json_string(want, "verdict", ""));
    const assay_json *groups = assay_json_get(want, "metrics");
    for (size_t g = 0; g < assay_json_len(groups); g++)
        for (size_t i = 0; i < assay_json_len(assay_json_at(groups, g)); i++) {
            const assay_json *a = assay_json_at(assay_json_at(groups, g), i);
            const assay_json *b = assay_json_get(assay_json_get(assay_json_get(v, "metrics"), assay_json_key_at(groups, g)),
                                                 assay_json_key_at(assay_json_at(groups, g), i));
            bool close = assay_json_kind(a) == ASSAY_J_NUMBER && fabs(assay_json_value(a) - assay_json_value(b)) <= 1e-6;
            CU_ASSERT(b && (close || assay_json_equal(a, b)));
        }
    assay_json_free(v);
}

static void case_folders_get_their_verdicts(void) {
    static const char *const names[] = {"ane-compile-failed-exit-zero", "attention-on-cpu-at-98-percent",
                                        "compute-plan-all-unknown", "compute-plan-probe-aborts", "supported-is-not-preferred"};
    const char *shared = shared_or_skip();
    for (size_t i = 0; shared && i < sizeof names / sizeof *names; i++) {
        char *dir = assay_xprintf("%s/cases/%s", shared, names[i]), *path = assay_xprintf("%s/expected.json", dir);
        assay_json *e = NULL;
        CU_ASSERT_EQUAL_FATAL(assay_json_read_file(path, &e, NULL), ASSAY_OK);
        for (size_t k = 0; k < assay_json_len(assay_json_get(e, "parts")); k++)
            judge_part(dir, assay_json_at(assay_json_get(e, "parts"), k));
        assay_json_free(e);
        free(path);
        free(dir);
    }
}

static void tear_down(void) { assay_registry_free(registry); }

ASSAY_SUITE("placement", TEST(M40_preferred_ops_pass), TEST(M49_other_device_kills),
            TEST(M49_unknown_kills_only_beside_a_placed_control), TEST(missing_op_is_invalid),
            TEST(missing_cost_leaves_the_share_undefined), TEST(sweep_reports_each_plan), TEST(absent_evidence_is_not_measured),
            TEST(a_plan_needs_named_ops), TEST(exit_code_zero_proves_nothing), TEST(M45_a_crashed_probe_is_invalid),
            TEST(M45_no_a_plan_of_a_released_or_changed_model_is_invalid),
            TEST(plans_of_one_policy_only), TEST(a_layer_has_segments_and_transitions), TEST(what_moved_and_why),
            TEST(a_plan_is_joined_to_its_program), TEST(shares_of_whole_models_decide_nothing),
            TEST(analytics_name_the_op_that_was_refused), TEST(case_folders_get_their_verdicts), TEST(tear_down))
