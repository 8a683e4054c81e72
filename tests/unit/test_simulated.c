/* The simulated device: what a profile file may say, where its rules place ops, what its numbers and faults do to values, and
 * its invented clock. */
#include "suite.h"
#include "graph.h"
#include "backends/simulated/sim.h"
#include "base/fs.h"
#include <math.h>
#include <unistd.h>

/* ---- profiles */

static char *scratch(const char *name, const char *text) {
    char *path = assay_xprintf("/tmp/assay-sim-%ld-%s.lua", (long)getpid(), name);
    CU_ASSERT_EQUAL(assay_write_file(path, text, strlen(text), NULL), ASSAY_OK);
    return path;
}

static void expect_refusal(const char *body, const char *message) {
    assay_error err = {0};
    assay_sim_profile p;
    char *path = scratch("bad", body);
    CU_ASSERT(assay_sim_profile_load(path, &p, &err) != ASSAY_OK);
    if (!strstr(err.message, message)) printf("\n  got: %s\n  want: %s\n", err.message, message);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, message));
    unlink(path);
    free(path);
}

/* A profile beside the shipped ones' base, written into a folder with a copy of it. */
static char *derived(const char *fields) {
    char *dir = assay_xprintf("/tmp/assay-sim-%ld", (long)getpid()), *base = assay_xprintf("%s/m1-macos15.7.7.lua", dir);
    char *path = assay_xprintf("%s/mine.lua", dir), *text = assay_xprintf("return { schema = 1, id = 'mine', simulated = true, base = 'm1-macos15.7.7', %s }", fields);
    assay_mkdirs(dir, NULL);
    assay_copy_file(ASSAY_SOURCE_DIR "/configs/devices/m1-macos15.7.7.lua", base, NULL);
    CU_ASSERT_EQUAL(assay_write_file(path, text, strlen(text), NULL), ASSAY_OK);
    free(text);
    free(base);
    free(dir);
    return path;
}

static void drop(char *path) {
    char *dir = assay_path_dir(path);
    assay_remove_tree(dir, NULL);
    free(dir);
    free(path);
}

static assay_sim_profile load(const char *fields) {
    assay_error err = {0};
    assay_sim_profile p;
    char *path = derived(fields);
    if (assay_sim_profile_load(path, &p, &err) != ASSAY_OK) {
        printf("\n  %s\n", err.message);
        CU_FAIL_FATAL("the profile does not load");
    }
    drop(path);
    return p;
}

static void refuse(const char *fields, const char *message) {
    assay_error err = {0};
    assay_sim_profile p;
    char *path = derived(fields);
    CU_ASSERT_EQUAL(assay_sim_profile_load(path, &p, &err), ASSAY_E_INPUT);
    if (!strstr(err.message, message)) printf("\n  got: %s\n  want: %s\n", err.message, message);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, message));
    drop(path);
}

static void every_shipped_profile_loads(void) {
    char **names = NULL;
    size_t n = 0, loaded = 0;
    CU_ASSERT_EQUAL_FATAL(assay_list_dir(ASSAY_SOURCE_DIR "/configs/devices", &names, &n, NULL), ASSAY_OK);
    for (size_t i = 0; i < n; i++) {
        char *path = assay_path_join(ASSAY_SOURCE_DIR "/configs/devices", names[i]), *file = NULL;
        assay_sim_profile p;
        assay_error err = {0};
        CU_ASSERT_EQUAL(assay_sim_profile_load(path, &p, &err), ASSAY_OK);
        file = p.id ? assay_xprintf("%s.lua", p.id) : NULL;
        CU_ASSERT_STRING_EQUAL(file ? file : err.message, names[i]);
        loaded++;
        assay_sim_profile_free(&p);
        free(file);
        free(path);
    }
    CU_ASSERT(loaded >= 13);
    assay_list_free(names, n);
}

static void what_is_no_profile_is_refused(void) {
    expect_refusal("return 3", "the file must end with `return { ... }`");
    expect_refusal("return { schema = 2, id = 'x', simulated = true }", "schema: expected 1");
    expect_refusal("return { schema = 1, id = 'x' }", "must say simulated = true");
    expect_refusal("return { schema = 1, id = 'x', simulated = false }", "must say simulated = true");
    expect_refusal("return { schema = 1, id = 'a/b', simulated = true }", "id: a plain name is needed");
    expect_refusal("return { schema = 1, id = 'x', simulated = true, claims = { os = function() end } }", "claims.os: the file is data only, a function cannot stand in it");
    expect_refusal("while true do end", "instructions");
    expect_refusal("return { schema = 1,", "<eof>");
    expect_refusal("return { schema = 1, id = 'x', simulated = true }", "'claims' is missing");
    expect_refusal("return { schema = 1, id = 'x', simulated = true, placement_first = {} }", "there is no base");
}

static void every_name_is_of_a_closed_set(void) {
    refuse("fault = {}", "unknown field 'fault' (did you mean 'faults'?)");
    refuse("faults = { { id = 'a', when = { opp = 'linear' }, effect = 'zero', grade = 'I', source = 's' } }", "faults[1] (a).when: unknown field 'opp' (did you mean 'op'?)");
    refuse("faults = { { id = 'a', when = { op = 'liner' }, effect = 'zero', grade = 'I', source = 's' } }", "unknown op 'liner' (did you mean 'linear'?)");
    refuse("faults = { { id = 'a', when = { on = 'ene' }, effect = 'zero', grade = 'I', source = 's' } }", "unknown 'ene' (did you mean 'ane'?)");
    refuse("faults = { { id = 'a', when = {}, effect = 'zeros', grade = 'I', source = 's' } }", "unknown 'zeros' (did you mean 'zero'?)");
    refuse("placement_first = { { id = 'a', when = { any_dtype = 'fp61' }, device = 'cpu', grade = 'I', source = 's' } }", "unknown type 'fp61' (did you mean 'fp16'?)");
    refuse("placement_first = { { id = 'a', when = { max_rank = {} }, device = 'cpu', grade = 'I', source = 's' } }", "expected a table with gt or lt");
    refuse("faults = { { id = 'a', when = {}, effect = 'zero', grade = 'I', source = 's' }, { id = 'a', when = {}, effect = 'nan', grade = 'I', source = 's' } }", "id 'a' stands twice");
    refuse("cost = { jitter = { spike_p = 2 } }", "cost.jitter.spike_p: must be at most 1");
    refuse("cost = { jitter = { sigma = 1e308 } }", "cost.jitter.sigma: must be at most 10");
    refuse("placement_first = { { id = 'a', when = { on = 'ane' }, device = 'cpu', grade = 'I', source = 's' } }", "unknown field 'on'");
    refuse("placement_first = { { id = 'a', when = {}, device = 'ne', grade = 'I', source = 's' } }", "device: unknown 'ne'");
    refuse("numerics = { ane = { order = 'flush' } }", "unknown 'flush' (did you mean 'flash'?)");
    refuse("base_ = 1", "unknown field 'base_'");
}

static void grades_and_sources_are_mandatory(void) {
    refuse("faults = { { id = 'a', when = {}, effect = 'zero', source = 's' } }", "faults[1] (a): 'grade' is missing");
    refuse("faults = { { id = 'a', when = {}, effect = 'zero', grade = 'I' } }", "faults[1] (a): 'source' is missing");
    refuse("placement_first = { { id = 'a', when = {}, device = 'cpu', grade = 'I' } }", "'source' is missing");
    refuse("placement_first = { { id = 'a', when = {}, device = 'cpu', grade = 'Z', source = 's' } }", "grade: unknown 'Z'");
    refuse("cost = { jitter = { grade = 'C' } }", "cost.jitter: 'source' is missing");
}

static void an_effect_takes_its_own_field_only(void) {
    refuse("faults = { { id = 'a', when = {}, effect = 'gain', grade = 'I', source = 's' } }", "effect 'gain' needs 'x'");
    refuse("faults = { { id = 'a', when = {}, effect = 'zero', x = 2, grade = 'I', source = 's' } }", "effect 'zero' takes no 'x'");
    refuse("faults = { { id = 'a', when = {}, effect = 'flip', every_n = 0, grade = 'I', source = 's' } }", "every_n must be at least 1");
    refuse("cost = { ane = { flops = 0 } }", "cost.ane.flops: must be above 0");
    refuse("placement_first = { { id = 'a', when = {}, device = 'gpu', grade = 'I', source = 's' } }", "numerics.gpu and cost.gpu are missing");
    refuse("placement_first = { { id = 'a', when = {}, grade = 'I', source = 's' } }", "one of 'device' and 'reject = true' is needed");
    refuse("placement_first = { { id = 'a', when = {}, reject = true, otherwise = 'gpu', grade = 'I', source = 's' } }", "'reject' takes no 'otherwise'");
    refuse("placement_first = { { id = 'a', when = {}, device = 'ane', otherwise = 'gpu', grade = 'I', source = 's' } }", "numerics.gpu and cost.gpu are missing");
}

static void a_base_is_joined_before_the_digest(void) {
    assay_sim_profile plain = load("cost = {}"), same = load("cost = { fused = { factor = 1.0 } } --[[ a remark ]]"), other = load("cost = { fused = { factor = 0.5 } }");
    CU_ASSERT_STRING_EQUAL(plain.sha256, same.sha256);
    CU_ASSERT_STRING_NOT_EQUAL(plain.sha256, other.sha256);
    CU_ASSERT_STRING_EQUAL(assay_json_string(assay_json_path(other.json, "cost.jitter"), "seed", ""), "m1-jitter");
    assay_sim_profile_free(&plain);
    assay_sim_profile_free(&same);
    assay_sim_profile_free(&other);
    assay_sim_profile first = load("placement_first = { { id = 'mine', when = {}, device = 'cpu', grade = 'I', source = 's' } }");
    CU_ASSERT_STRING_EQUAL(assay_json_string(assay_json_at(assay_json_get(first.json, "placement"), 0), "id", ""), "mine");
    CU_ASSERT_STRING_EQUAL(assay_json_string(assay_json_at(assay_json_get(first.json, "placement"), 1), "id", ""), "P1");
    assay_sim_profile_free(&first);
    refuse("base = 'mine'", "has a base of its own");
    refuse("base = 'm1-macos15.7.8'", "no such profile (did you mean 'm1-macos15.7.7'?)");
}

/* ---- placement */

enum { B = 1, H = 2, S = 8, E = 4 };

/* x [1, S, H E] through three products to q, k, v, or q, k, v as inputs; then the fused op. */
static graph attention(bool projected, int32_t mask_type) {
    graph g = graph_new();
    int64_t qkv[] = {B, H, S, E}, rows[] = {S, S};
    val in[3];
    const char *names[] = {"q", "k", "v"};
    for (int i = 0; i < 3; i++) {
        in[i] = g_input(&g, names[i], ASSAY_MIL_FP16, 4, qkv);
        char *name = assay_xprintf("%s_made", names[i]);
        if (projected) in[i] = g_op(&g, "mul", name, "x", in[i], "y", g_number(&g, ASSAY_F16, 1), NULL);
        else in[i] = g_op(&g, "transpose", name, "x", in[i], "perm", INTS(&g, 0, 1, 2, 3), NULL);
        free(name);
    }
    val mask = mask_type ? g_input(&g, "mask", mask_type, 2, rows) : NULL;
    val out = mask ? g_op(&g, "scaled_dot_product_attention", "attention", "query", in[0], "key", in[1], "value", in[2], "attn_mask", mask, NULL)
                   : g_op(&g, "scaled_dot_product_attention", "attention", "query", in[0], "key", in[1], "value", in[2], NULL);
    assay_mil_value *outs[] = {out};
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    assay_function_set_outputs(g.p, g.f, outs, 1, NULL);
    assay_program_index(g.p);
    return g;
}

static const assay_sim_op *placed_op(const assay_sim_placed *p, const char *type) {
    for (uint32_t i = 0; i < p->n; i++)
        if (strcmp(p->ops[i].op->type, type) == 0) return &p->ops[i];
    return NULL;
}

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

#define FIRST(when) "placement_first = { { id = 'mine', when = " when ", device = 'cpu', grade = 'I', source = 's' } }"

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

#define FAULT(effect, more) "faults = { { id = 'f', when = { op = 'scaled_dot_product_attention', on = 'ane' }, effect = '" effect "', grade = 'I', source = 's'" more " } }, " \
    "cost = {}, placement_first = { { id = 'all', when = {}, device = 'ane', grade = 'I', source = 's' } }"

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

/* ---- numbers: a function run under a profile */

static void run_under(const char *fields, graph g, const assay_named_tensor *in, uint32_t n_in, uint64_t prediction, double *out) {
    assay_sim_profile p = load(fields);
    assay_sim_placed placed;
    assay_sim_run run = {.placed = &placed, .prediction = prediction};
    CU_ASSERT_EQUAL_FATAL(assay_sim_place(p.json, g.f, "all", &placed, NULL), ASSAY_OK);
    assay_sim_read_numerics(p.json, &run);
    assay_exec_options o = {.threads = 1, .around = assay_sim_around, .around_ctx = &run};
    assay_exec *e = NULL;
    assay_named_tensor t;
    CU_ASSERT_EQUAL_FATAL(assay_exec_open(g.p, &o, &e, NULL), ASSAY_OK);
    CU_ASSERT_EQUAL_FATAL(assay_exec_run(e, in, n_in, NULL), ASSAY_OK);
    CU_ASSERT_EQUAL_FATAL(assay_exec_output(e, 0, &t, NULL), ASSAY_OK);
    assay_tensor_read(&t.t, ASSAY_F64, out);
    assay_exec_close(e);
    assay_sim_placed_free(&placed);
    assay_sim_profile_free(&p);
    assay_program_free(g.p);
}

#define ON_ANE "cost = {}, placement_first = { { id = 'all', when = {}, device = 'ane', grade = 'I', source = 's' } }"
#define ON_CPU "cost = {}, placement_first = { { id = 'all', when = {}, device = 'cpu', grade = 'I', source = 's' } }"

/* y = a * b, one matmul of [1, n] and [n, 1], or an elementwise op. */
static double two_values(const char *fields, const char *op, int64_t n, float a, float b) {
    graph g = graph_new();
    int64_t row[] = {1, n}, column[] = {n, 1};
    bool product = strcmp(op, "matmul") == 0;
    val x = g_input(&g, "x", ASSAY_MIL_FP16, 2, row), y = g_input(&g, "y", ASSAY_MIL_FP16, 2, product ? column : row), z = g_op(&g, op, "z", "x", x, "y", y, NULL);
    assay_mil_value *outs[] = {z};
    assay_function_set_outputs(g.p, g.f, outs, 1, NULL);
    assay_program_index(g.p);
    uint16_t *va = calloc((size_t)n, 2), *vb = calloc((size_t)n, 2);
    double *out = calloc((size_t)n, sizeof *out);
    for (int64_t i = 0; i < n; i++) {
        va[i] = assay_f32_to_f16(a);
        vb[i] = assay_f32_to_f16(b);
    }
    assay_named_tensor in[] = {{"x", assay_tensor_view(ASSAY_F16, 2, row, va)}, {"y", assay_tensor_view(ASSAY_F16, 2, product ? column : row, vb)}};
    run_under(fields, g, in, 2, 1, out);
    double first = out[0];
    free(va);
    free(vb);
    free(out);
    return first;
}

static void a_unit_keeps_numbers_its_own_way(void) {
    CU_ASSERT_EQUAL(two_values(ON_ANE, "matmul", 1, 256, 120), 30720);                   /* below the ceiling 2^15 */
    CU_ASSERT_TRUE(isinf(two_values(ON_ANE, "matmul", 1, 256, 128)));                    /* N3: a stored product of 32768 */
    CU_ASSERT_EQUAL(two_values(ON_CPU, "matmul", 1, 256, 128), 32768);
    CU_ASSERT_EQUAL(two_values(ON_ANE, "mul", 1, 256, 128), 32768);                      /* elementwise paths reach 65504 */
    CU_ASSERT_TRUE(isinf(two_values(ON_ANE, "mul", 1, 256, 256)));                       /* N4 */
    CU_ASSERT_EQUAL(two_values(ON_ANE, "matmul", 1, 0x1p-20f, 1), 0);                    /* N7: flushed in a sum of products */
    CU_ASSERT_EQUAL(two_values(ON_CPU, "matmul", 1, 0x1p-20f, 1), 0x1p-20);
    CU_ASSERT_EQUAL(two_values(ON_ANE, "mul", 1, 0x1p-20f, 1), 0x1p-20);                 /* kept elementwise */
    CU_ASSERT_EQUAL(two_values(ON_ANE ", numerics = { ane = { subnormal_mac = 'unknown->keep' } }", "matmul", 1, 0x1p-20f, 1), 0x1p-20);
    CU_ASSERT_TRUE(isinf(two_values(ON_ANE, "add", 1, (float)NAN, 1)));                  /* N5: NaN comes in as infinity */
    CU_ASSERT_TRUE(isnan(two_values(ON_CPU, "add", 1, (float)NAN, 1)));
    CU_ASSERT_EQUAL(two_values(ON_ANE, "sub", 1, (float)INFINITY, (float)INFINITY), 0);  /* N6 */
    CU_ASSERT_TRUE(isnan(two_values(ON_CPU, "sub", 1, (float)INFINITY, (float)INFINITY)));
}

static void an_fp16_sum_stalls_where_a_wide_one_goes_on(void) {
    CU_ASSERT_EQUAL(two_values(ON_ANE, "matmul", 4096, 1, 1), 4096);                     /* N2 */
    CU_ASSERT_EQUAL(two_values(ON_ANE ", numerics = { ane = { accumulate = 'fp16' } }", "matmul", 4096, 1, 1), 2048);
}

static void rounding_to_fp16_is_that_of_the_conversion(void) {
    float x = 0x1p-26f;
    for (int i = 0; i < 60000; i++, x *= 1.0007f) {
        float want = assay_f16_to_f32(assay_f32_to_f16(x));
        if (assay_sim_round16(x) != want || assay_sim_round16(-x) != -want) CU_FAIL("differs");
    }
    CU_ASSERT_EQUAL(assay_sim_round16(65519.996f), 65504.0f);
    CU_ASSERT_TRUE(isinf(assay_sim_round16(65520.0f)));
    CU_ASSERT_TRUE(isnan(assay_sim_round16((float)NAN)));
}

/* ---- faults */

static double q_[B * H * S * E], out_[B * H * S * E], plain_[B * H * S * E];

/* The fused op on fixed numbers: queries of one size, keys that differ, values by head and row. */
static void attend_with_mask(const char *fields, float size, bool masked, uint64_t prediction, double *out) {
    static uint16_t q[B * H * S * E], k[B * H * S * E], v[B * H * S * E], m[S * S];
    int64_t shape[] = {B, H, S, E}, square[] = {S, S};
    for (int i = 0; i < B * H * S * E; i++) {
        q[i] = assay_f32_to_f16(size * (float)(1 + i % 3));
        k[i] = assay_f32_to_f16((float)((i * 7) % 5) - 2);
        v[i] = assay_f32_to_f16((float)(i / E % S) + (float)(i / (S * E)) * 16);
    }
    for (int i = 0; i < S * S; i++) m[i] = assay_f32_to_f16(i % S > i / S ? -1000.0f : 0.0f);
    assay_named_tensor in[] = {{"q", assay_tensor_view(ASSAY_F16, 4, shape, q)}, {"k", assay_tensor_view(ASSAY_F16, 4, shape, k)},
                               {"v", assay_tensor_view(ASSAY_F16, 4, shape, v)}, {"mask", assay_tensor_view(ASSAY_F16, 2, square, m)}};
    run_under(fields, attention(true, masked ? ASSAY_MIL_FP16 : 0), in, masked ? 4 : 3, prediction, out);
}

static void attend(const char *fields, float size, double *out) { attend_with_mask(fields, size, false, 1, out); }

static double largest_difference(const double *a, const double *b) {
    double d = 0;
    for (int i = 0; i < B * H * S * E; i++) d = fabs(a[i] - b[i]) > d || a[i] != a[i] ? fabs(a[i] - b[i]) : d;
    return d;
}

static void faults_that_fill_fill_everything(void) {
    attend(FAULT("zero", ""), 1, out_);
    for (int i = 0; i < B * H * S * E; i++) CU_ASSERT_EQUAL(out_[i], 0);
    attend(FAULT("constant", ", value = 1.5"), 1, out_);
    for (int i = 0; i < B * H * S * E; i++) CU_ASSERT_EQUAL(out_[i], 1.5);
    attend(FAULT("nan", ""), 1, out_);
    for (int i = 0; i < B * H * S * E; i++) CU_ASSERT_TRUE(isnan(out_[i]));
}

static void faults_that_move_move_what_they_say(void) {
    int head = S * E;
    attend(ON_ANE, 1, plain_);
    attend(FAULT("tail_zero", ", rows = 3"), 1, out_);
    for (int i = 0; i < B * H * S * E; i++) CU_ASSERT_EQUAL(out_[i], i / E % S >= S - 3 ? 0 : plain_[i]);
    attend(FAULT("swap_heads", ""), 1, out_);
    for (int i = 0; i < head; i++) CU_ASSERT(out_[i] == plain_[i + head] && out_[i + head] == plain_[i]);
    attend(FAULT("gain", ", x = 2"), 1, out_);
    for (int i = 0; i < B * H * S * E; i++) CU_ASSERT_EQUAL(out_[i], 2 * plain_[i]);
}

static void faults_of_the_scores_change_them(void) {
    attend(ON_ANE, 1, plain_);
    attend(FAULT("uniform", ""), 1, out_);
    for (int i = 0; i < B * H * S * E; i++) CU_ASSERT_DOUBLE_EQUAL(out_[i], (S - 1) / 2.0 + (i / (S * E)) * 16, 1e-2);
    attend(FAULT("no_scale", ""), 0.5f, out_);                   /* E = 4: the scale is a half */
    CU_ASSERT(largest_difference(out_, plain_) < 0.02);
    attend(FAULT("scale_twice", ""), 2, out_);
    CU_ASSERT(largest_difference(out_, plain_) < 0.02);
    attend(FAULT("scale_twice", ""), 1, out_);
    CU_ASSERT(largest_difference(out_, plain_) > 0.05);
}

static void faults_of_the_mask_need_a_mask(void) {
    attend_with_mask(ON_ANE, 1, true, 1, plain_);
    attend_with_mask(FAULT("ignore_mask", ""), 1, true, 1, out_);
    CU_ASSERT_EQUAL(plain_[0], 0);                               /* the first row sees the first key only */
    CU_ASSERT(out_[0] > 0.1);
    attend(ON_ANE, 1, q_);
    CU_ASSERT(largest_difference(out_, q_) < 0.02);
    attend_with_mask(FAULT("mask_transposed", ""), 1, true, 1, out_);
    CU_ASSERT_DOUBLE_EQUAL(out_[(S - 1) * E], S - 1, 1e-3);      /* and now the last row the last key only */
}

static void without_the_shift_flat_scores_pass_and_peaked_ones_do_not(void) {
    attend(ON_ANE, 0.25f, plain_);
    attend(FAULT("noshift", ""), 0.25f, out_);
    CU_ASSERT(largest_difference(out_, plain_) < 0.05);
    attend(FAULT("noshift", ""), 16, out_);                      /* scores above 11.09: fp16 exp is infinite, the row comes out 0 */
    bool zero_row = false;
    for (int i = 0; i < B * H * S; i++) zero_row |= out_[i * E] == 0 && plain_[i * E] != 0;
    CU_ASSERT_TRUE(zero_row);
}

static void orders_of_attention_agree_within_fp16(void) {
    static const char *const orders[] = {"fold", "preq", "prek", "split", "post"}, *const softmaxes[] = {"f32", "f16wide", "f16rcp", "f16narrow", "noshift"};
    attend(ON_ANE, 0.5f, plain_);
    for (int i = 0; i < 5; i++) {
        char *fields = assay_xprintf(ON_ANE ", numerics = { ane = { order = '%s', softmax = '%s' } }", orders[i], softmaxes[i]);
        attend(fields, 0.5f, out_);
        CU_ASSERT(largest_difference(out_, plain_) < 0.1);
        free(fields);
    }
    /* Only an order that stores unscaled scores meets the ceiling (N3), and then its rows are zero (N6). */
    attend(ON_ANE ", numerics = { ane = { order = 'post' } }", 8192, out_);
    bool zero = false;
    for (int i = 0; i < B * H * S; i++) zero |= out_[i * E] == 0;
    CU_ASSERT_TRUE(zero);
    attend(ON_ANE, 8192, plain_);
    for (int i = S; i < B * H * S; i++) CU_ASSERT(plain_[i * E] != 0);           /* the second head's values are 16 and more */
}

static void some_predictions_differ(void) {
    attend_with_mask(FAULT("stale_first_run", ""), 1, false, 1, out_);
    attend_with_mask(FAULT("stale_first_run", ""), 1, false, 2, plain_);
    CU_ASSERT_EQUAL(out_[S * E], 0);
    CU_ASSERT(plain_[S * E] >= 16);
    attend_with_mask(FAULT("flip", ", every_n = 3"), 1, false, 3, out_);
    CU_ASSERT(largest_difference(out_, plain_) > 0);
    CU_ASSERT(largest_difference(out_, plain_) < 0.02);
    attend_with_mask(FAULT("flip", ", every_n = 3"), 1, false, 4, out_);
    CU_ASSERT_EQUAL(largest_difference(out_, plain_), 0);
}

static void a_fault_stays_where_the_op_was_placed(void) {
    attend(ON_CPU, 1, plain_);
    attend("faults = { { id = 'f', when = { op = 'scaled_dot_product_attention', on = 'ane' }, effect = 'zero', grade = 'I', source = 's' } }, " ON_CPU, 1, out_);
    CU_ASSERT_EQUAL(largest_difference(out_, plain_), 0);
}

/* ---- cost and clock */

static double seconds_of(const char *fields, graph g, const char *units) {
    assay_sim_profile p = load(fields);
    assay_sim_placed placed;
    CU_ASSERT_EQUAL_FATAL(assay_sim_place(p.json, g.f, units, &placed, NULL), ASSAY_OK);
    double s = placed.seconds;
    assay_sim_placed_free(&placed);
    assay_sim_profile_free(&p);
    assay_program_free(g.p);
    return s;
}

static graph spelled_out(void) {
    graph g = graph_new();
    int64_t qkv[] = {B, H, S, E};
    val q = g_input(&g, "q", ASSAY_MIL_FP16, 4, qkv), k = g_input(&g, "k", ASSAY_MIL_FP16, 4, qkv), v = g_input(&g, "v", ASSAY_MIL_FP16, 4, qkv);
    uint8_t yes = 1;
    assay_tensor t = assay_tensor_view(ASSAY_BOOL, 0, NULL, &yes);
    val one = g_number(&g, ASSAY_F16, 1), scaled, scores, weights;
    q = g_op(&g, "mul", "q1", "x", q, "y", one, NULL);
    k = g_op(&g, "mul", "k1", "x", k, "y", one, NULL);
    v = g_op(&g, "mul", "v1", "x", v, "y", one, NULL);
    scaled = g_op(&g, "mul", "scaled", "x", q, "y", g_number(&g, ASSAY_F16, 0.5), NULL);
    scores = g_op(&g, "matmul", "scores", "x", scaled, "y", k, "transpose_y", g_const(&g, "yes", &t), NULL);
    weights = g_op(&g, "softmax", "weights", "x", scores, NULL);
    assay_mil_value *outs[] = {g_op(&g, "matmul", "attention", "x", weights, "y", v, NULL)};
    CU_ASSERT_PTR_NOT_NULL_FATAL(outs[0]);
    assay_function_set_outputs(g.p, g.f, outs, 1, NULL);
    assay_program_index(g.p);
    return g;
}

static void a_factor_of_one_means_no_gain(void) {
    double fused = seconds_of(ON_ANE, attention(true, 0), "all"), explicit_s = seconds_of(ON_ANE, spelled_out(), "all");
    CU_ASSERT_DOUBLE_EQUAL(fused, explicit_s, 1e-15);
    CU_ASSERT(fused > 2.3e-4);
    CU_ASSERT(seconds_of("faults = {}, placement_first = { { id = 'all', when = {}, device = 'ane', grade = 'I', source = 's' } }, cost = { fused = { factor = 0.5 } }",
                         attention(true, 0), "all") < fused);
    CU_ASSERT(seconds_of(FIRST("{ op = 'softmax' }"), spelled_out(), "all") != explicit_s);
}

static void the_clock_is_drawn_from_its_seed(void) {
    assay_sim_profile p = load("cost = { jitter = { sigma = 0.1 } }"), still = load("cost = { jitter = { kind = 'none' } }"), drift = load("cost = { jitter = { kind = 'none', drift_per_trial = 1 } }");
    uint64_t a = assay_sim_tick_ns(p.json, "t", 1e-3), b = assay_sim_tick_ns(p.json, "t", 1e-3);
    CU_ASSERT(a != b && a > 500000 && a < 20000000);
    CU_ASSERT_EQUAL(assay_sim_tick_ns(still.json, "t", 1e-3), 1000000);
    uint64_t c = assay_sim_tick_ns(drift.json, "t", 1e-3), d = assay_sim_tick_ns(drift.json, "t", 1e-3);
    CU_ASSERT_EQUAL(d - c, 1000000);
    CU_ASSERT_EQUAL(assay_sim_draw_load_ns(p.json, "compile_ms", "x"), assay_sim_draw_load_ns(p.json, "compile_ms", "x"));
    CU_ASSERT(assay_sim_draw_load_ns(p.json, "compile_ms", "x") != assay_sim_draw_load_ns(p.json, "compile_ms", "y"));
    assay_sim_profile_free(&p);
    assay_sim_profile_free(&still);
    assay_sim_profile_free(&drift);
}

/* ---- records */

static assay_json *record_of(const char *fields, graph g, const char *name) {
    assay_sim_profile p = load(fields);
    assay_sim_placed placed;
    assay_json *r = NULL;
    CU_ASSERT_EQUAL_FATAL(assay_sim_place(p.json, assay_program_function(g.p, NULL), "cpu_and_ne", &placed, NULL), ASSAY_OK);
    CU_ASSERT_EQUAL(assay_sim_record(&placed, name, &r, NULL), ASSAY_OK);
    assay_sim_placed_free(&placed);
    assay_sim_profile_free(&p);
    assay_program_free(g.p);
    return r;
}

/* The rail of the first sample; NaN: not sampled. */
static double rail(const char *fields, const char *name) {
    assay_json *r = record_of(fields, attention(true, 0), name);
    double mw = assay_json_number(assay_json_get(assay_json_at(assay_json_get(r, "samples"), 0), "rails_mw"), "ane", NAN);
    assay_json_free(r);
    return mw;
}

static void records_follow_what_runs_where(void) {
    CU_ASSERT(rail(ON_ANE, "rails") > 0);
    CU_ASSERT(rail(ON_ANE, "positive") > 0);
    CU_ASSERT_EQUAL(rail(ON_ANE, "cpu_only"), 0);
    CU_ASSERT_EQUAL(rail("placement_first = { { id = 'all', when = {}, device = 'ane', grade = 'I', source = 's' } }, "
                         "faults = { { id = 'f', when = { on = 'ane' }, effect = 'silent_cpu', grade = 'I', source = 's' } }", "rails"), 0);
    CU_ASSERT(isnan(rail("placement_first = { { id = 'all', when = {}, device = 'unknown', grade = 'I', source = 's' } }", "rails")));
    assay_error err = {0};
    assay_sim_placed none = {0};
    assay_json *r = NULL;
    CU_ASSERT_EQUAL(assay_sim_record(&none, "rail", &r, &err), ASSAY_E_UNSUPPORTED);
}

static double peak_of(graph g) {
    assay_json *r = record_of(ON_ANE, g, "memory");
    double bytes = assay_json_number(r, "peak_bytes", NAN);
    assay_json_free(r);
    return bytes;
}

/* Spelled out, the scores and the weights are alive at once; the fused op holds neither. */
static void the_peak_of_memory_counts_what_is_alive(void) {
    CU_ASSERT(peak_of(attention(true, 0)) > 0);
    CU_ASSERT(peak_of(spelled_out()) > peak_of(attention(true, 0)));
}

/* Mean of n differences in units of its standard error. */
static double t_of(const double *d, size_t n) {
    double mean = 0, ss = 0;
    for (size_t i = 0; i < n; i++) mean += d[i] / (double)n;
    for (size_t i = 0; i < n; i++) ss += (d[i] - mean) * (d[i] - mean);
    return mean / sqrt(ss / (double)(n - 1) / (double)n);
}
/* Two equal arms under the drift of sim-drift: one after the other (warm-up and 200 predictions each), then in ABBA blocks. */
static void a_drift_fools_one_arm_after_the_other_and_not_a_paired_rotation(void) {
    enum { WARM = 500, N = 200, BLOCKS = 100 };
    assay_sim_profile p;
    CU_ASSERT_EQUAL_FATAL(assay_sim_profile_load(ASSAY_SOURCE_DIR "/configs/devices/sim-drift.lua", &p, NULL), ASSAY_OK);
    double arm[2][N], d[N], block[BLOCKS];
    for (int a = 0; a < 2; a++)
        for (int i = -WARM; i < N; i++) {
            double ns = (double)assay_sim_tick_ns(p.json, "drift", 4e-3);
            if (i >= 0) arm[a][i] = ns;
        }
    for (size_t i = 0; i < N; i++) d[i] = arm[0][i] - arm[1][i];
    for (size_t b = 0; b < BLOCKS; b++) {
        double ns[4];
        for (int i = 0; i < 4; i++) ns[i] = (double)assay_sim_tick_ns(p.json, "drift", 4e-3);
        block[b] = (ns[0] + ns[3]) / 2 - (ns[1] + ns[2]) / 2;
    }
    CU_ASSERT(t_of(d, N) < -5);                  /* the second arm looks slower, far beyond chance */
    CU_ASSERT(fabs(t_of(block, BLOCKS)) < 2);
    assay_sim_profile_free(&p);
}

ASSAY_SUITE("simulated device", TEST(every_shipped_profile_loads), TEST(what_is_no_profile_is_refused), TEST(every_name_is_of_a_closed_set),
            TEST(grades_and_sources_are_mandatory), TEST(an_effect_takes_its_own_field_only), TEST(a_base_is_joined_before_the_digest),
            TEST(the_first_matching_rule_places), TEST(each_selector_matches_and_does_not), TEST(a_failed_compile_sends_everything_to_the_cpu),
            TEST(a_silent_fallback_keeps_the_plan), TEST(a_unit_keeps_numbers_its_own_way), TEST(an_fp16_sum_stalls_where_a_wide_one_goes_on),
            TEST(rounding_to_fp16_is_that_of_the_conversion), TEST(faults_that_fill_fill_everything), TEST(faults_that_move_move_what_they_say),
            TEST(faults_of_the_scores_change_them), TEST(faults_of_the_mask_need_a_mask), TEST(without_the_shift_flat_scores_pass_and_peaked_ones_do_not),
            TEST(orders_of_attention_agree_within_fp16), TEST(some_predictions_differ), TEST(a_fault_stays_where_the_op_was_placed),
            TEST(a_factor_of_one_means_no_gain), TEST(the_clock_is_drawn_from_its_seed),
            TEST(a_drift_fools_one_arm_after_the_other_and_not_a_paired_rotation), TEST(records_follow_what_runs_where), TEST(the_peak_of_memory_counts_what_is_alive))
