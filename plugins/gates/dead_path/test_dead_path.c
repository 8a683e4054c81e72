/* The dead_path gate: what is alive, what is dead, what hides behind a residual sum. */
#include "unit/gate_pair.h"

enum { H = 2, S = 30, E = 8, N = H * S * E };
static const int64_t shape[] = {1, H, S, E};
static double r[N], c[N];
static void reset(void) {
    fill(r, N, "test/dead/r");
    memcpy(c, r, sizeof c);
}
static assay_evidence_set *labelled(const char *label, const double *ref, const double *cand) {
    assay_evidence_set *ev = assay_evidence_new();
    put(ev, "reference", label, ASSAY_F64, 4, shape, ref);
    put(ev, "candidate", label, ASSAY_F16, 4, shape, cand);
    return ev;
}
#define PARAMS "{\"layout\":\"BHSD\"}"

/* M61_yes */
static void a_wrong_but_live_output_is_not_dead(void) {
    reset();
    for (int i = 0; i < N; i++) c[i] = r[N - 1 - i];
    expect(judge("dead_path", labelled("attention", r, c), PARAMS, NULL), "pass", NULL);
}
/* M61_no M60_no */
static void zeros_constants_and_nan_are_killed(void) {
    reset();
    memset(c, 0, sizeof c);
    expect(judge("dead_path", labelled("", r, c), PARAMS, NULL), "kill", "all_zero_output");
    for (int i = 0; i < N; i++) c[i] = -3;
    expect(judge("dead_path", labelled("", r, c), PARAMS, NULL), "kill", "constant_output");
    c[4] = NAN;
    expect(judge("dead_path", labelled("", r, c), PARAMS, NULL), "kill", "nonfinite_output");
}
static void one_dead_head_or_row_is_killed(void) {
    reset();
    for (int i = 0; i < S * E; i++) c[i] = 0;
    expect(judge("dead_path", labelled("", r, c), PARAMS, NULL), "kill", "dead_slice");
    reset();
    for (int i = 0; i < E; i++) c[5 * E + i] = 0;
    expect(judge("dead_path", labelled("", r, c), PARAMS, NULL), "kill", "dead_row");
}
static void agreement_after_the_residual_shows_nothing(void) {
    reset();
    for (int i = 0; i < N; i++) r[i] += 0.0001 * c[i];
    expect(judge("dead_path", labelled("block", r, c), PARAMS, NULL), "inconclusive", "dead_path_not_visible_at_block_output");
    for (int i = 0; i < N; i++) c[i] = r[N - 1 - i];
    expect(judge("dead_path", labelled("block", r, c), PARAMS, NULL), "inconclusive", "nothing_decided");
}
/* M60_both */
static void must_fail_has_to_be_found_dead(void) {
    static double zero[N];
    reset();
    assay_evidence_set *ev = labelled("", r, c);
    put(ev, "must_fail", "", ASSAY_F16, 4, shape, zero);
    expect(judge("dead_path", ev, PARAMS, NULL), "pass", NULL);
    ev = labelled("", r, c);
    put(ev, "must_fail", "", ASSAY_F16, 4, shape, r);
    expect(judge("dead_path", ev, PARAMS, NULL), "invalid", "gate_has_no_power");
    ev = labelled("", r, c);
    put(ev, "must_fail", "", ASSAY_F16, 4, shape, r);
    expect(judge("dead_path", ev, PARAMS, NULL), "invalid", "must_fail_alive");
}
static void a_verdict_before_the_must_fail_arms_says_so(void) {
    static double zero[N];
    reset();
    c[9] = NAN;
    assay_evidence_set *ev = labelled("", r, c);
    put(ev, "must_fail", "", ASSAY_F16, 4, shape, zero);
    expect(judge("dead_path", ev, PARAMS, NULL), "kill", "must_fail_not_tried");
    reset();
    ev = labelled("block", r, c);
    put(ev, "must_fail", "block", ASSAY_F16, 4, shape, zero);
    expect(judge("dead_path", ev, PARAMS, NULL), "inconclusive", "must_fail_not_tried");
}
static void a_zero_reference_is_no_fixture(void) {
    static double zero[N];
    reset();
    expect(judge("dead_path", labelled("", zero, zero), PARAMS, NULL), "invalid", "fixture_without_power");
    r[3] = NAN;
    expect(judge("dead_path", labelled("", r, c), PARAMS, NULL), "invalid", "reference_not_finite");
}

ASSAY_SUITE("dead_path", TEST(a_wrong_but_live_output_is_not_dead), TEST(zeros_constants_and_nan_are_killed),
            TEST(one_dead_head_or_row_is_killed), TEST(agreement_after_the_residual_shows_nothing),
            TEST(must_fail_has_to_be_found_dead), TEST(a_verdict_before_the_must_fail_arms_says_so), TEST(a_zero_reference_is_no_fixture))
