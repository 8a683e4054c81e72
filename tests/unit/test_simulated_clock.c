/* The simulated device: its invented clock, and the records of power and memory that follow from what runs where. */
#include "simulated.h"

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

ASSAY_SUITE("simulated device, clock", TEST(a_factor_of_one_means_no_gain), TEST(the_clock_is_drawn_from_its_seed),
            TEST(a_drift_fools_one_arm_after_the_other_and_not_a_paired_rotation),
            TEST(records_follow_what_runs_where), TEST(the_peak_of_memory_counts_what_is_alive))
