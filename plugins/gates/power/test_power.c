/* The power gate: what each kind of fixture can show, and that one able fixture of a set is enough. */
#include "base/fmath.h"
#include "unit/gate_pair.h"
#include "base/fmath.h"

enum { B = 2, H = 2, S = 24, E = 16, N = B * H * S * E };
static const int64_t shape[] = {B, H, S, E};
static double q[N], k[N], v[N];

/* Normal numbers; score sd about `gain`. */
static void reset(double gain) {
    fill(q, N, "test/power/q"), fill(k, N, "test/power/k"), fill(v, N, "test/power/v");
    for (int i = 0; i < N; i++) q[i] *= gain;
}
static void add(assay_evidence_set *ev, const char *label) {
    put(ev, "query", label, ASSAY_F64, 4, shape, q);
    put(ev, "key", label, ASSAY_F64, 4, shape, k);
    put(ev, "value", label, ASSAY_F64, 4, shape, v);
}
static assay_evidence_set *one(void) {
    assay_evidence_set *ev = assay_evidence_new();
    add(ev, "x");
    return ev;
}
static bool able(const assay_json *answer, const char *label, const char *question) {
    char group[64], name[64];
    snprintf(group, sizeof group, "fixture:%s", label), snprintf(name, sizeof name, "power_for_%s", question);
    return metric(answer, group, name) == 1;
}

static void normal_numbers_can_show_scale_and_parity(void) {
    reset(1);
    assay_json *a = judge("power", one(), "{}", NULL);
    CU_ASSERT(able(a, "x", "scale") && able(a, "x", "parity"));
    double sd = metric(a, "fixture:x", "logit_sd_median");
    CU_ASSERT(sd > 0.7 && sd < 1.3);
    double gap = sd * (1 - 1.0 / 4); /* width 16: twice is a quarter */
    CU_ASSERT(fabs(metric(a, "fixture:x", "predicted_cosine_scale_twice") - assay_exp(-gap * gap / 2)) < 1e-12);
    CU_ASSERT(metric(a, "fixture:x", "smallest_scale_error") < 0.05);
    CU_ASSERT(metric(a, "fixture:x", "head_distance") > 1 && metric(a, "fixture:x", "qk_asymmetry") > 0.5);
    expect(a, "pass", NULL);
}

/* Fewer key heads: the figures are those of the keys written out for every query head. */
static void grouped_heads_have_the_figures_of_repeated_keys(void) {
    int64_t few[] = {B, 1, S, E}, none[] = {B, 3, S, E};
    double k1[B * S * E], v1[B * S * E], k3[B * 3 * S * E] = {0};
    assay_error err = {0};
    reset(1);
    for (int b = 0; b < B; b++)
        for (int i = 0; i < S * E; i++) {
            k[(b * H + 1) * S * E + i] = k1[b * S * E + i] = k[b * H * S * E + i];
            v[(b * H + 1) * S * E + i] = v1[b * S * E + i] = v[b * H * S * E + i];
        }
    assay_evidence_set *ev = assay_evidence_new();
    put(ev, "query", "x", ASSAY_F64, 4, shape, q);
    put(ev, "key", "x", ASSAY_F64, 4, few, k1);
    put(ev, "value", "x", ASSAY_F64, 4, few, v1);
    assay_json *a = judge("power", ev, "{}", NULL), *b = judge("power", one(), "{}", NULL);
    CU_ASSERT(metric(a, "fixture:x", "logit_sd_median") == metric(b, "fixture:x", "logit_sd_median"));
    CU_ASSERT(metric(a, "fixture:x", "head_distance") == metric(b, "fixture:x", "head_distance"));
    expect(a, "pass", NULL);
    assay_json_free(b);
    ev = assay_evidence_new();
    put(ev, "query", "x", ASSAY_F64, 4, shape, q);
    put(ev, "key", "x", ASSAY_F64, 4, none, k3);
    put(ev, "value", "x", ASSAY_F64, 4, few, v1);
    CU_ASSERT(judge("power", ev, "{}", &err) == NULL && strstr(err.message, "fewer heads") != NULL);
}

/* Scores that are all alike: uniform attention, whatever the scale. */
static void flat_scores_cannot_show_a_scale(void) {
    reset(0.01);
    assay_json *a = judge("power", one(), "{}", NULL);
    CU_ASSERT(!able(a, "x", "scale") && able(a, "x", "parity") == (metric(a, "fixture:x", "token_distance") > 0.01414));
    CU_ASSERT(metric(a, "fixture:x", "entropy_share") > 0.999);
    expect(a, "invalid", "no_fixture_with_power");
}

/* A V that is its mean hides the scores: the cosine of any two mixtures is 1. */
static void a_common_mode_hides_the_scale(void) {
    reset(1);
    for (int i = 0; i < N; i++) v[i] = 5 + 0.01 * v[i];
    assay_json *a = judge("power", one(), "{}", NULL);
    CU_ASSERT(metric(a, "fixture:x", "common_mode_share") > 0.999);
    CU_ASSERT(metric(a, "fixture:x", "logit_sd_median") > 0.7);
    CU_ASSERT(!able(a, "x", "scale") && !able(a, "x", "parity"));
    expect(a, "invalid", "no_fixture_with_power");
}

static void equal_heads_cannot_show_their_order(void) {
    reset(1);
    for (int b = 0; b < B; b++) {
        double *at[] = {q + b * H * S * E, k + b * H * S * E, v + b * H * S * E};
        for (int i = 0; i < 3; i++) memcpy(at[i] + S * E, at[i], S * E * sizeof *q);
    }
    assay_json *a = judge("power", one(), "{}", NULL);
    CU_ASSERT(metric(a, "fixture:x", "head_distance") == 0);
    CU_ASSERT(able(a, "x", "scale") && !able(a, "x", "parity"));
    expect(a, "invalid", "no_fixture_with_power");
}

/* The set decides: a flat fixture beside an able one, and one that is not meant for the question. */
static void one_able_fixture_is_enough(void) {
    assay_evidence_set *ev = assay_evidence_new();
    reset(0.001);
    add(ev, "flat");
    reset(1);
    add(ev, "normal");
    assay_json *a = judge("power", ev, "{}", NULL);
    CU_ASSERT(!able(a, "flat", "scale") && able(a, "normal", "scale"));
    expect(a, "pass", NULL);
    ev = assay_evidence_new();
    reset(0.001);
    add(ev, "flat");
    reset(1);
    add(ev, "normal");
    expect(judge("power", ev, "{\"scale\":[\"flat\"]}", NULL), "invalid", "no_fixture_with_power");
}

static assay_json *with_mask(int (*open)(int row, int key)) {
    double mask[S * S];
    int64_t square[] = {1, 1, S, S};
    assay_evidence_set *ev = one();
    for (int i = 0; i < S * S; i++) mask[i] = open(i / S, i % S);
    put(ev, "mask", "x", ASSAY_BOOL, 4, square, mask);
    return judge("power", ev, "{}", NULL);
}
static int causal(int row, int key) { return key <= row; }
static int band(int row, int key) { return abs(key - row) < 5; }
static int everything(int row, int key) { return row >= 0 && key >= 0; }
static int nothing_for_row_0(int row, int key) { return row > 0 && key <= row; }

static void a_mask_must_take_something_and_have_a_direction(void) {
    reset(1);
    assay_json *a = with_mask(causal);
    CU_ASSERT(able(a, "x", "mask") && fabs(metric(a, "fixture:x", "masked_share") - (S - 1) / (2.0 * S)) < 1e-12);
    CU_ASSERT(metric(a, "fixture:x", "mask_asymmetry") == 1);
    expect(a, "pass", NULL);
    a = with_mask(band);
    CU_ASSERT(metric(a, "fixture:x", "mask_asymmetry") == 0);
    expect(a, "invalid", "no_fixture_with_power");
    expect(with_mask(everything), "invalid", "no_fixture_with_power");
    a = with_mask(nothing_for_row_0);
    CU_ASSERT(fabs(metric(a, "fixture:x", "dead_row_share") - 1.0 / S) < 1e-12);
    expect(a, "pass", NULL);
}

/* One such value is enough, in any of the three, and another fixture that is able makes up for it. */
static void what_is_not_finite_has_no_power(void) {
    double *const all[] = {q, k, v};
    const double bad[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < 9; i++) {
        reset(1);
        all[i % 3][N / 2] = bad[i / 3];
        assay_json *a = judge("power", one(), "{}", NULL);
        CU_ASSERT(!able(a, "x", "scale") && !able(a, "x", "parity"));
        CU_ASSERT(metric(a, "fixture:x", "nonfinite") == 1);
        expect(a, "invalid", "no_fixture_with_power");
    }
    assay_evidence_set *ev = assay_evidence_new();
    reset(1);
    add(ev, "y");
    q[0] = NAN;
    add(ev, "x");
    expect(judge("power", ev, "{}", NULL), "pass", NULL);
}

static void what_is_missing_or_does_not_fit_is_said(void) {
    assay_evidence_set *ev = assay_evidence_new();
    assay_error err = {0};
    int64_t other[] = {B, H, S, E / 2};
    reset(1);
    put(ev, "query", "x", ASSAY_F64, 4, shape, q);
    put(ev, "key", "x", ASSAY_F64, 4, shape, k);
    expect(judge("power", ev, "{}", NULL), "not-measured", "evidence_missing");
    ev = assay_evidence_new();
    put(ev, "query", "x", ASSAY_F64, 4, shape, q);
    put(ev, "key", "x", ASSAY_F64, 4, other, k);
    put(ev, "value", "x", ASSAY_F64, 4, shape, v);
    CU_ASSERT(judge("power", ev, "{}", &err) == NULL && strstr(err.message, "fitting sizes") != NULL);
}

ASSAY_SUITE("power", TEST(normal_numbers_can_show_scale_and_parity), TEST(grouped_heads_have_the_figures_of_repeated_keys), TEST(flat_scores_cannot_show_a_scale),
            TEST(a_common_mode_hides_the_scale), TEST(equal_heads_cannot_show_their_order), TEST(one_able_fixture_is_enough),
            TEST(a_mask_must_take_something_and_have_a_direction), TEST(what_is_not_finite_has_no_power), TEST(what_is_missing_or_does_not_fit_is_said))
