/* The references gate: a right output passes, one wrong element or a wrong formula does not, masks and scales are read. */
#include "unit/gate_pair.h"
#include "base/fmath.h"

enum { B = 2, H = 2, S = 9, E = 8, N = B * H * S * E };
static const int64_t shape[] = {B, H, S, E};
static double q[N], k[N], v[N], o[N], mask[S * S];

/* The output by the plainest loops; `added` NULL: no mask. */
static void attend(double scale, const double *added) {
    for (int g = 0; g < B * H; g++)
        for (int i = 0; i < S; i++) {
            double w[S], sum = 0;
            for (int j = 0; j < S; j++) {
                double s = 0;
                for (int e = 0; e < E; e++) s += q[(g * S + i) * E + e] * k[(g * S + j) * E + e];
                w[j] = added && added[i * S + j] < -1e30 ? 0 : assay_exp(scale * s + (added ? added[i * S + j] : 0));
                sum += w[j];
            }
            for (int e = 0; e < E; e++) {
                double x = 0;
                for (int j = 0; j < S; j++) x += w[j] / sum * v[(g * S + j) * E + e];
                o[(g * S + i) * E + e] = x;
            }
        }
}
static void reset(void) {
    fill(q, N, "test/references/q"), fill(k, N, "test/references/k"), fill(v, N, "test/references/v");
    attend(1 / sqrt(E), NULL);
}
static assay_evidence_set *given(void) {
    assay_evidence_set *ev = assay_evidence_new();
    put(ev, "reference", "x", ASSAY_F64, 4, shape, o);
    put(ev, "query", "x", ASSAY_F64, 4, shape, q);
    put(ev, "key", "x", ASSAY_F64, 4, shape, k);
    put(ev, "value", "x", ASSAY_F64, 4, shape, v);
    return ev;
}

static void two_spellings_agree_to_1e_12(void) {
    reset();
    assay_json *a = judge("references", given(), "{}", NULL);
    CU_ASSERT(metric(a, "second:x", "max_abs_over_rms") < 1e-13);
    CU_ASSERT(metric(a, "second:x", "rows_compared") == B * H * S);
    expect(a, "pass", NULL);
}
static void one_element_a_little_off_is_seen(void) {
    reset();
    o[N - 3] += 1e-11;
    assay_json *a = judge("references", given(), "{}", NULL);
    CU_ASSERT(metric(a, "second:x", "max_abs_index") == N - 3);
    expect(a, "invalid", "references_disagree");
    o[N - 3] = NAN;
    expect(judge("references", given(), "{}", NULL), "invalid", "references_disagree");
}
/* The squares of such values overflow, so the rms is infinite; a difference over it must not become 0. */
static void a_difference_of_huge_values_is_seen(void) {
    reset();
    for (int i = 0; i < N; i++) v[i] *= 1e300;
    expect(judge("references", given(), "{}", NULL), "invalid", "references_disagree");
}
static void another_scale_is_another_formula(void) {
    reset();
    attend(0.35, NULL);
    expect(judge("references", given(), "{}", NULL), "invalid", "references_disagree");
    expect(judge("references", given(), "{\"scale\":0.35}", NULL), "pass", NULL);
}
static void masks_are_added_or_boolean(void) {
    int64_t square[] = {1, 1, S, S};
    double open[S * S];
    reset();
    for (int i = 0; i < S * S; i++) open[i] = i % S <= i / S, mask[i] = open[i] != 0 ? 0 : -INFINITY;
    attend(1 / sqrt(E), mask);
    expect(judge("references", given(), "{}", NULL), "invalid", "references_disagree");
    assay_evidence_set *ev = given();
    put(ev, "mask", "x", ASSAY_F64, 4, square, mask);
    expect(judge("references", ev, "{}", NULL), "pass", NULL);
    ev = given();
    put(ev, "mask", "x", ASSAY_BOOL, 2, square + 2, open);
    expect(judge("references", ev, "{}", NULL), "pass", NULL);
}
/* A row whose every key is masked has no answer: both say NaN. */
static void a_fully_masked_row_is_nan_in_both(void) {
    int64_t square[] = {S, S};
    reset();
    for (int i = 0; i < S * S; i++) mask[i] = i / S == 2 ? -INFINITY : 0;
    for (int g = 0; g < B * H; g++)
        for (int e = 0; e < E; e++) o[(g * S + 2) * E + e] = NAN;
    assay_evidence_set *ev = given();
    put(ev, "mask", "x", ASSAY_F64, 2, square, mask);
    expect(judge("references", ev, "{}", NULL), "pass", NULL);
}
static void a_sample_of_rows_can_be_asked_for(void) {
    reset();
    assay_json *a = judge("references", given(), "{\"rows\":3}", NULL);
    CU_ASSERT(metric(a, "second:x", "rows_compared") == 3 * B * H);
    expect(a, "pass", NULL);
}
/* Two query heads share the key head of their batch row; a wrong group, or heads that do not divide, are told. */
static void grouped_heads_share_their_keys(void) {
    int64_t few[] = {B, 1, S, E}, three[] = {B, 3, S, E};
    double k1[B * S * E], v1[B * S * E], k3[B * 3 * S * E] = {0};
    assay_error err = {0};
    reset();
    for (int b = 0; b < B; b++)
        for (int i = 0; i < S * E; i++) {
            k[(b * H + 1) * S * E + i] = k1[b * S * E + i] = k[b * H * S * E + i];
            v[(b * H + 1) * S * E + i] = v1[b * S * E + i] = v[b * H * S * E + i];
        }
    attend(1 / sqrt(E), NULL);
    for (int wrong = 0; wrong < 3; wrong++) {
        assay_evidence_set *ev = assay_evidence_new();
        if (wrong == 1)
            for (int i = 0; i < S * E; i++) v1[i] = v1[S * E + i];
        put(ev, "reference", "x", ASSAY_F64, 4, shape, o);
        put(ev, "query", "x", ASSAY_F64, 4, shape, q);
        put(ev, "key", "x", ASSAY_F64, 4, wrong == 2 ? three : few, wrong == 2 ? k3 : k1);
        put(ev, "value", "x", ASSAY_F64, 4, few, v1);
        if (wrong < 2) expect(judge("references", ev, "{}", NULL), wrong ? "invalid" : "pass", wrong ? "references_disagree" : NULL);
        else CU_ASSERT(judge("references", ev, "{}", &err) == NULL && strstr(err.message, "fewer heads") != NULL);
    }
}
static void what_is_missing_or_does_not_fit_is_said(void) {
    assay_evidence_set *ev = assay_evidence_new();
    assay_error err = {0};
    int64_t other[] = {B, H, S - 1, E};
    reset();
    put(ev, "reference", "x", ASSAY_F64, 4, shape, o);
    put(ev, "query", "x", ASSAY_F64, 4, shape, q);
    expect(judge("references", ev, "{}", NULL), "not-measured", "evidence_missing");
    expect(judge("references", assay_evidence_new(), "{}", NULL), "not-measured", "evidence_missing");
    ev = given();
    put(ev, "mask", "x", ASSAY_F64, 4, other, q);
    CU_ASSERT(judge("references", ev, "{}", &err) == NULL && strstr(err.message, "the mask is") != NULL);
}

ASSAY_SUITE("references", TEST(two_spellings_agree_to_1e_12), TEST(one_element_a_little_off_is_seen), TEST(a_difference_of_huge_values_is_seen), TEST(another_scale_is_another_formula),
            TEST(masks_are_added_or_boolean), TEST(a_fully_masked_row_is_nan_in_both), TEST(a_sample_of_rows_can_be_asked_for),
            TEST(grouped_heads_share_their_keys), TEST(what_is_missing_or_does_not_fit_is_said))
