/* The simulated device: where the rules of a profile place each op. */
#include "simulated.h"

static void expect_place(graph g, const char *profile, const char *units, int32_t unit, const char *rule) {
    assay_sim_profile p;
    assay_sim_placed placed;
    CU_ASSERT_EQUAL_FATAL(assay_sim_profile_load(profile, &p, NULL), ASSAY_OK);
    CU_ASSERT_EQUAL_FATAL(assay_sim_place(p.json, g.f, units, &placed, NULL), ASSAY_OK);
    const assay_sim_op *o = placed_op(&placed, "scaled_dot_product_attention");
    CU_ASSERT_EQUAL(o->preferred, unit);
    CU_ASSERT_STRING_EQUAL(assay_json_string(o->rule, "id", ""), rule);
    assay_sim_placed_free(&placed);
    assay_sim_profile_free(&p);
    assay_program_free(g.p);
}

/* Rules of the shipped profile without P8 (the graphs here are small). */
static void expect_rule(graph g, const char *fields, int32_t unit, const char *rule) {
    assay_sim_profile p = load(fields);
    assay_sim_placed placed;
    for (assay_json *r = assay_json_first(assay_json_get(p.json, "placement")); r; r = assay_json_next(r))
        if (strcmp(assay_json_string(r, "id", ""), "P8") == 0) {
            assay_json *never = assay_json_set(r, "when", assay_json_object());
            assay_json_set_string(never, "op", "lstm");
        }
    CU_ASSERT_EQUAL_FATAL(assay_sim_place(p.json, g.f, "cpu_and_ne", &placed, NULL), ASSAY_OK);
    const assay_sim_op *o = placed_op(&placed, "scaled_dot_product_attention");
    CU_ASSERT_EQUAL(o->preferred, unit);
    if (strcmp(assay_json_string(o->rule, "id", ""), rule) != 0) printf("\n  rule %s, expected %s\n", assay_json_string(o->rule, "id", ""), rule);
    CU_ASSERT_STRING_EQUAL(assay_json_string(o->rule, "id", ""), rule);
    assay_sim_placed_free(&placed);
    assay_sim_profile_free(&p);
    assay_program_free(g.p);
}

static void the_first_matching_rule_places(void) {
    expect_rule(attention(true, 0), "cost = {}", ASSAY_DEV_NE, "dflt");
    expect_rule(attention(false, 0), "cost = {}", ASSAY_DEV_CPU, "P9");       /* a transpose is no producer */
    expect_rule(attention(true, ASSAY_MIL_FP16), "cost = {}", ASSAY_DEV_NE, "dflt");
    expect_rule(attention(true, ASSAY_MIL_BOOL), FIRST("{ arg_dtype = { attn_mask = 'fp16' } }"), ASSAY_DEV_CPU, "P3");
    expect_place(attention(true, 0), "m1-macos15.7.7", "cpu_and_ne", ASSAY_DEV_CPU, "P8");
    expect_place(attention(true, ASSAY_MIL_BOOL), "m2ultra-macos26.5.2", "cpu_and_ne", ASSAY_DEV_NE, "N12b");
    expect_place(attention(true, ASSAY_MIL_BOOL), "m2ultra-macos26.5.2", "cpu_only", ASSAY_DEV_CPU, "N12b");
}

static void each_selector_matches_and_does_not(void) {
    static const char *const hits[] = {"{ op = 'scaled_dot_product_attention' }", "{ op = { 'linear', 'scaled_dot_product_attention' } }", "{ op_count = { lt = 2 } }",
        "{ op_count = { op = 'mul', gt = 2 } }", "{ max_rank = { gt = 3 } }", "{ any_dtype = 'fp16' }", "{ compute_dtype = { 'fp16' } }", "{ arg_dtype = { query = 'fp16' } }",
        "{ shape = 'static' }", "{ any_dim = { gt = 7, axis = { -2 } } }", "{ elements = { arg = 'key', gt = 63, lt = 65 } }", "{ producers = { value = 'mul' } }",
        "{ graph_flops = { gt = 1 } }"};
    static const char *const misses[] = {"{ op = 'linear' }", "{ op = { 'linear', 'matmul' } }", "{ op_count = { gt = 1 } }", "{ op_count = { op = 'mul', gt = 3 } }",
        "{ max_rank = { gt = 4 } }", "{ any_dtype = 'fp32' }", "{ compute_dtype = { 'int32' } }", "{ arg_dtype = { attn_mask = 'fp16' } }", "{ shape = 'dynamic' }",
        "{ any_dim = { gt = 7, axis = { -1 } } }", "{ elements = { arg = 'key', gt = 64 } }", "{ producers = { value = 'input' } }", "{ graph_flops = { lt = 1 } }",
        "{ const_weight = true }", "{ stride = { gt = 0 } }"};
    for (size_t i = 0; i < sizeof hits / sizeof *hits; i++) {
        char *fields = assay_xprintf(FIRST("%s"), hits[i]);
        expect_rule(attention(true, 0), fields, ASSAY_DEV_CPU, "mine");
        free(fields);
    }
    for (size_t i = 0; i < sizeof misses / sizeof *misses; i++) {
        char *fields = assay_xprintf(FIRST("%s"), misses[i]);
        expect_rule(attention(true, 0), fields, ASSAY_DEV_NE, "dflt");
        free(fields);
    }
}

static void a_failed_compile_sends_everything_to_the_cpu(void) {
    assay_sim_profile p = load(FAULT("compile_fail", ""));
    graph g = attention(true, 0);
    assay_sim_placed placed;
    CU_ASSERT_EQUAL_FATAL(assay_sim_place(p.json, g.f, "all", &placed, NULL), ASSAY_OK);
    CU_ASSERT_TRUE(placed.compile_failed);
    for (uint32_t i = 0; i < placed.n; i++) CU_ASSERT(placed.ops[i].runs_on == ASSAY_DEV_CPU || placed.ops[i].runs_on == ASSAY_DEV_NONE);
    assay_sim_placed_free(&placed);
    CU_ASSERT_EQUAL_FATAL(assay_sim_place(p.json, g.f, "cpu_only", &placed, NULL), ASSAY_OK);      /* nothing was compiled for it */
    CU_ASSERT_FALSE(placed.compile_failed);
    assay_sim_placed_free(&placed);
    assay_sim_profile_free(&p);
    assay_program_free(g.p);
}

static void a_silent_fallback_keeps_the_plan(void) {
    assay_sim_profile p = load(FAULT("silent_cpu", ""));
    graph g = attention(true, 0);
    assay_sim_placed placed;
    CU_ASSERT_EQUAL_FATAL(assay_sim_place(p.json, g.f, "all", &placed, NULL), ASSAY_OK);
    const assay_sim_op *o = placed_op(&placed, "scaled_dot_product_attention");
    CU_ASSERT_EQUAL(o->preferred, ASSAY_DEV_NE);
    CU_ASSERT_EQUAL(o->runs_on, ASSAY_DEV_CPU);
    assay_sim_placed_free(&placed);
    assay_sim_profile_free(&p);
    assay_program_free(g.p);
}

ASSAY_SUITE("simulated device, placement", TEST(the_first_matching_rule_places),
            TEST(each_selector_matches_and_does_not), TEST(a_failed_compile_sends_everything_to_the_cpu),
            TEST(a_silent_fallback_keeps_the_plan))
