/* The sensitivity gate: responses that agree, that are missing, that go elsewhere; what it asks for in a run. */
#include "unit/gate_pair.h"

enum { B = 2, H = 2, S = 20, E = 8, N = B * H * S * E, HALF = N / 2 };
static const int64_t shape[] = {B, H, S, E};
static double r0[N], r1[N], c0[N], c1[N];

/* The second batch half moves by half of its own size, the first does not. */
static void reset(void) {
    static double d[N];
    fill(r0, N, "test/sens/r"), fill(d, N, "test/sens/d");
    for (int i = 0; i < N; i++) r1[i] = r0[i] + (i >= HALF ? 0.5 * d[i] : 0), c0[i] = r0[i], c1[i] = r1[i];
}
static assay_evidence_set *states(int32_t origin) {
    assay_evidence_set *ev = assay_evidence_new();
    const struct {
        const char *role, *label;
        int32_t dtype;
        const double *v;
    } all[] = {{"reference", "base", ASSAY_F64, r0},
               {"candidate", "base", ASSAY_F16, c0},
               {"reference", "token", ASSAY_F64, r1},
               {"candidate", "token", ASSAY_F16, c1}};
    for (int k = 0; k < 4; k++) {
        assay_own_tensor own;
        CU_ASSERT_EQUAL_FATAL(assay_tensor_new(all[k].dtype, 4, shape, &own, NULL), ASSAY_OK);
        for (int i = 0; i < N; i++) assay_store_f64(all[k].dtype, assay_tensor_at(&own.t, i), all[k].v[i]);
        assay_evidence_add_tensor(ev, all[k].role, all[k].label, "fused", origin, "", &own);
    }
    return ev;
}
#define PARAMS "{\"layout\":\"BHSD\"}"
static assay_json *answer(void) { return judge("sensitivity", states(ASSAY_ORIGIN_REFERENCE), PARAMS, NULL); }

/* M62_yes M27_yes */
static void the_same_response_passes(void) {
    reset();
    assay_json *v = answer();
    CU_ASSERT(metric(v, "response:token", "response_cosine") > 0.99999);
    CU_ASSERT_EQUAL(metric(v, "response:token", "rows_moving"), H * S);
    CU_ASSERT_EQUAL(metric(v, "response:token", "rows_still"), H * S);
    CU_ASSERT_EQUAL(metric(v, "response:token", "still_max_abs"), 0);
    expect(v, "pass", NULL);
}
/* M62_no M27_no */
static void no_response_is_killed(void) {
    reset();
    memcpy(c1, c0, sizeof c1);
    expect(answer(), "kill", "no_response");
}
/* M62_no M27_no */
static void another_direction_or_size_is_killed(void) {
    reset();
    for (int i = 0; i < N; i++) c1[i] = 2 * c0[i] - r1[i];
    expect(answer(), "kill", "response_disagrees");
    reset();
    for (int i = 0; i < N; i++) c1[i] = c0[i] + 1.05 * (r1[i] - r0[i]); /* cosine 1, gain 1.05 */
    expect(answer(), "kill", "response_disagrees");
}
static void one_head_that_stays_is_killed(void) {
    reset();
    for (int i = HALF; i < HALF + S * E; i++) c1[i] = c0[i];
    expect(judge("sensitivity", states(ASSAY_ORIGIN_REFERENCE),
                 "{\"layout\":\"BHSD\",\"response_cosine_min\":0.5,\"gain_tolerance\":0.9}", NULL),
           "kill", "response_disagrees");
}
static void rows_that_must_stay_stay(void) {
    reset();
    c1[3] += 0.01;
    expect(answer(), "kill", "response_disagrees");
    /* On hardware a repeated call tells the noise: 0.02 there covers it, and without a repeat the rule is not applied. */
    expect(judge("sensitivity", states(ASSAY_ORIGIN_DEVICE), PARAMS, NULL), "pass", NULL);
    assay_evidence_set *ev = states(ASSAY_ORIGIN_DEVICE);
    c0[9] += 0.02;
    put(ev, "repeat", "base", ASSAY_F16, 4, shape, c0);
    assay_json *v = judge("sensitivity", ev, PARAMS, NULL);
    CU_ASSERT(metric(v, "response:token", "noise_floor") > 0.019);
    expect(v, "pass", NULL);
    reset();
    ev = states(ASSAY_ORIGIN_DEVICE);
    put(ev, "repeat", "base", ASSAY_F16, 4, shape, c0);
    expect(judge("sensitivity", ev, PARAMS, NULL), "pass", NULL);
}
static void a_reference_that_does_not_move_is_no_fixture(void) {
    reset();
    memcpy(r1, r0, sizeof r1);
    expect(answer(), "invalid", "fixture_without_power");
}
static void nan_in_either_state_is_killed(void) {
    reset();
    c0[1] = NAN;
    expect(answer(), "kill", "nonfinite_output");
    reset();
    c1[1] = NAN;
    expect(answer(), "kill", "nonfinite_output");
}
static void constant_along_an_axis_is_killed(void) {
    reset();
    for (int i = 0; i < N; i++) c0[i] = c0[i % E], c1[i] = c1[i % E];
    expect(answer(), "kill", "constant_along_axis");
}
/* Outputs of two unlike calls: nothing was compared, so nothing passes. */
static void a_base_of_another_shape_decides_nothing(void) {
    static const int64_t other[] = {B, H, S / 2, E};
    reset();
    assay_evidence_set *ev = assay_evidence_new();
    put(ev, "reference", "base", ASSAY_F64, 4, other, r0), put(ev, "candidate", "base", ASSAY_F16, 4, other, c0);
    put(ev, "reference", "token", ASSAY_F64, 4, shape, r1), put(ev, "candidate", "token", ASSAY_F16, 4, shape, c1);
    expect(judge("sensitivity", ev, PARAMS, NULL), "invalid", "states_differ_in_shape");
}
static void the_base_must_be_named(void) {
    assay_error err = {0};
    reset();
    CU_ASSERT_PTR_NULL(judge("sensitivity", states(ASSAY_ORIGIN_REFERENCE), "{\"base\":\"off\"}", &err));
    CU_ASSERT(strstr(err.message, "base=") != NULL);
}

static size_t needs_of(const char *params, const char *role, char *perturb, size_t size) {
    assay_json *p = NULL;
    assay_gate_run *g = NULL;
    assay_need_list l;
    size_t n = 0;
    assay_error err = {0};
    CU_ASSERT_EQUAL_FATAL(assay_json_parse(params, strlen(params), "test", &p, NULL), ASSAY_OK);
    const assay_gate_type *t = assay_registry_gate(gates_loaded("sensitivity"), "sensitivity", &err);
    if (assay_gate_open(t, p, NULL, &g, &err) == ASSAY_OK) {
        assay_evidence_set *none = assay_evidence_new();
        CU_ASSERT_EQUAL_FATAL(assay_gate_needs(g, none, &l, &err), ASSAY_OK);
        for (size_t i = 0; i < l.len; i++) {
            n += strcmp(l.items[i].role, role) == 0;
            if (l.items[i].query.perturb) snprintf(perturb, size, "%s", l.items[i].query.perturb);
        }
        assay_need_list_free(&l);
        assay_evidence_free(none);
    } else
        snprintf(perturb, size, "%s", err.message);
    assay_gate_close(g);
    assay_json_free(p);
    return n;
}
static void a_run_is_asked_for_both_states(void) {
    char text[512] = "";
    CU_ASSERT_EQUAL(needs_of("{\"arm\":\"fused\",\"fixture\":[\"stress\",\"speech\"],\"token\":{\"batch\":1,\"position\":5}}",
                             "candidate", text, sizeof text),
                    2);
    CU_ASSERT_STRING_EQUAL(text, "{\"token\":{\"batch\":1,\"position\":5}}");
    CU_ASSERT_EQUAL(needs_of("{\"arm\":\"bool\",\"off\":\"nomask\",\"fixture\":[\"stress\"]}", "reference", text, sizeof text),
                    2);
    CU_ASSERT_EQUAL(needs_of("{}", "candidate", text, sizeof text), 0);
    CU_ASSERT_EQUAL(needs_of("{\"arm\":\"fused\",\"fixture\":[\"stress\"]}", "candidate", text, sizeof text), 0);
    CU_ASSERT(strstr(text, "say what to change") != NULL);
}

static void several_tokens_are_states_of_their_own(void) {
    char text[512] = "";
    CU_ASSERT_EQUAL(needs_of("{\"arm\":\"fused\",\"fixture\":[\"stress\"],\"tokens\":[\"0:3\",\"1:19\"]}", "candidate", text, sizeof text), 3);
    CU_ASSERT_STRING_EQUAL(text, "{\"token\":{\"batch\":1,\"position\":19}}");
    CU_ASSERT_EQUAL(needs_of("{\"arm\":\"fused\",\"fixture\":[\"stress\"],\"tokens\":[\"3\"]}", "candidate", text, sizeof text), 0);
    CU_ASSERT(strstr(text, "'3' is not BATCH:POSITION") != NULL);
    /* One that is not answered is enough. */
    reset();
    assay_evidence_set *ev = states(ASSAY_ORIGIN_REFERENCE);
    put(ev, "reference", "1:19", ASSAY_F64, 4, shape, r1);
    put(ev, "candidate", "1:19", ASSAY_F16, 4, shape, c0);
    expect(judge("sensitivity", ev, PARAMS, NULL), "kill", "no_response");
}
/* Both calls of a repeated trial stand in one tensor. */
static void a_stacked_repeat_tells_the_noise(void) {
    static double both[2 * N];
    const int64_t stacked[] = {2, B, H, S, E};
    reset();
    memcpy(both, c0, sizeof c0), memcpy(both + N, c0, sizeof c0);
    c1[3] += 0.01;
    assay_evidence_set *ev = states(ASSAY_ORIGIN_DEVICE);
    put(ev, "repeat", "base", ASSAY_F16, 5, stacked, both);
    expect(judge("sensitivity", ev, PARAMS, NULL), "kill", "response_disagrees");
    both[N + 9] += 0.02;
    ev = states(ASSAY_ORIGIN_DEVICE);
    put(ev, "repeat", "base", ASSAY_F16, 5, stacked, both);
    assay_json *v = judge("sensitivity", ev, PARAMS, NULL);
    CU_ASSERT(metric(v, "response:token", "noise_floor") > 0.019);
    expect(v, "pass", NULL);
}
/* Half of the keys of row i, kept or masked: w x kept + (1 - w) x masked is the output without a mask. */
static void a_mask_turned_around_moves_the_other_way(void) {
    static double kept[N], masked[N];
    fill(kept, N, "test/sens/kept"), fill(masked, N, "test/sens/masked");
    for (int i = 0; i < N; i++) r0[i] = c0[i] = 0.4 * kept[i] + 0.6 * masked[i], r1[i] = c1[i] = kept[i];
    assay_json *v = answer();
    CU_ASSERT(!has_code(v, "polarity_suspected"));
    expect(v, "pass", NULL);
    memcpy(c1, masked, sizeof c1);
    expect(answer(), "kill", "polarity_suspected");
}

ASSAY_SUITE("sensitivity", TEST(the_same_response_passes), TEST(no_response_is_killed), TEST(another_direction_or_size_is_killed),
            TEST(one_head_that_stays_is_killed), TEST(rows_that_must_stay_stay),
            TEST(a_reference_that_does_not_move_is_no_fixture), TEST(nan_in_either_state_is_killed),
            TEST(constant_along_an_axis_is_killed), TEST(a_base_of_another_shape_decides_nothing), TEST(the_base_must_be_named), TEST(a_run_is_asked_for_both_states),
            TEST(several_tokens_are_states_of_their_own), TEST(a_stacked_repeat_tells_the_noise),
            TEST(a_mask_turned_around_moves_the_other_way))
