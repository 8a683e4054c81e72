/* gates/latency/test_latency_plan.c: the size of the run that a pilot plans (M63-M66), and the power it has. */
#include "unit/suite.h"
#include "latency.h"
#include "plugin/mathiface.h"
#include "tensor/generate.h"
#include <math.h>

#define NEAR(a, b) CU_ASSERT_DOUBLE_EQUAL(a, b, 1e-12 * (1.0 + fabs((double)(b))))
static const assay_math_1 *M(void) { return assay_math_iface(); }

static lat_question question(double layers, double prize) {
    return (lat_question){ .layers = layers, .min_prize_ms = prize, .expected_gain_ms = NAN, .resolve_ms = NAN, .confidence = 0.95, .processes = 5, .max_blocks = 1000 };
}
static lat_pilot pilot_of(double scale) { return (lat_pilot){ .n = 20, .level = 10, .scale = scale, .complete = true }; }

/* statistics.md 3.4: 5 ms over 32 layers, 1.4826 MAD = 0.25 ms: n0 = 71, m = 16, n = 80. */
static void the_worked_example_is_planned(void) {
    lat_question q = question(32, 5);
    lat_pilot a = pilot_of(0.25);
    lat_size s;
    lat_plan_size(M(), &a, &q, &s);
    NEAR(s.target_ms, 0.15625);
    CU_ASSERT_EQUAL(floor(s.needed + 0.5), 71);
    CU_ASSERT_TRUE(s.blocks == 16 && s.n == 80 && !s.cannot_decide);
    CU_ASSERT_DOUBLE_EQUAL(s.mde_ms, 2.8016 * 1.2533 * 0.375 / sqrt(80), 1e-5);
}
static void the_target_follows_what_is_declared(void) {
    lat_question q = question(NAN, NAN);
    lat_pilot a = pilot_of(0.05);
    lat_size s;
    lat_plan_size(M(), &a, &q, &s);
    NEAR(s.target_ms, 0.1);                      /* 1 % of the level */
    q.resolve_ms = 0.04;
    lat_plan_size(M(), &a, &q, &s);
    NEAR(s.target_ms, 0.04);
    q = question(32, 5);
    q.expected_gain_ms = 0.3;
    lat_plan_size(M(), &a, &q, &s);
    NEAR(s.target_ms, 0.3 - 0.15625);
    q = question(32, 0);                         /* a prize of 0 is none */
    lat_plan_size(M(), &a, &q, &s);
    NEAR(s.target_ms, 0.1);
}
static void more_than_max_blocks_is_refused(void) {
    lat_question q = question(32, 5);
    lat_pilot a = pilot_of(1);                   /* n0 = 1136 */
    lat_size s;
    lat_plan_size(M(), &a, &q, &s);
    CU_ASSERT_TRUE(s.cannot_decide);
    q.max_blocks = 1200;
    lat_plan_size(M(), &a, &q, &s);
    CU_ASSERT_FALSE(s.cannot_decide);
    q.blocks = 16;                               /* fixed by the plan: not enlarged */
    lat_plan_size(M(), &a, &q, &s);
    CU_ASSERT_TRUE(s.cannot_decide && s.n == 80);
    q = question(NAN, NAN);                      /* nothing declared that must be decided: it runs, and says what it can detect */
    q.blocks = 15;
    lat_plan_size(M(), &a, &q, &s);
    CU_ASSERT_TRUE(!s.cannot_decide && s.blocks == 16 && s.mde_ms > 0);
}
static void a_correlated_pilot_enlarges_the_run(void) {
    lat_question q = question(32, 5);
    lat_pilot a = pilot_of(0.25);
    lat_size plain, longer;
    lat_plan_size(M(), &a, &q, &plain);
    a.lag1 = 0.4;                                /* below 2/sqrt(20) = 0.447 */
    lat_plan_size(M(), &a, &q, &longer);
    NEAR(longer.needed, plain.needed);
    a.lag1_rank = 0.5;
    lat_plan_size(M(), &a, &q, &longer);
    NEAR(longer.needed, 3 * plain.needed);
}
static void a_pilot_cut_short_plans_nothing(void) {
    lat_question q = question(32, 5);
    lat_pilot a = pilot_of(5);
    lat_size s;
    a.complete = false;
    lat_plan_size(M(), &a, &q, &s);
    CU_ASSERT_TRUE(s.blocks == 8 && !s.cannot_decide && isnan(s.mde_ms) && isnan(s.needed));
}

/* Blocks of a made machine: level 10 ms, noise of sd 0.2 ms a prediction, `gain` off the candidate. */
static lat_data machine(const char *label, uint32_t processes, uint32_t blocks, double gain) {
    lat_data d = { .paired = true, .order_recorded = true, .live = true, .processes = processes };
    uint64_t stream = assay_stream(label), i = 0;
    for (uint32_t p = 0; p < processes; p++)
        for (uint32_t b = 0; b < blocks; b++) {
            lat_block *k = lat_add_block(&d);
            *k = (lat_block){ .process = p, .control_first = b % 2, .n_control = 2, .n_candidate = 2 };
            for (int j = 0; j < 2; j++) {
                k->control[j] = 10 + 0.2 * assay_normal12(stream, i++);
                k->candidate[j] = 10 - gain + 0.2 * assay_normal12(stream, i++);
                lat_add_duration(&d, false, k->control[j]);
                lat_add_duration(&d, true, k->candidate[j]);
            }
        }
    return d;
}
static lat_params plain_params(void) {
    return (lat_params){ .confidence = 0.95, .min_prize_ms = NAN, .margin_ms = NAN, .layers = NAN, .min_pairs = 20, .resamples = 200, .seed = "1" };
}
static assay_verdict planned_run(int i, double gain, double *alarms) {
    char label[40];
    lat_params p = plain_params();
    lat_question q = question(NAN, NAN);
    lat_pilot a;
    lat_size size;
    lat_series s;
    lat_ruling r;
    snprintf(label, sizeof label, "test/pilot/%d", i);
    lat_data d = machine(label, 2, 10, 0);
    CU_ASSERT_TRUE(lat_pilot_judge(M(), &d, &p, &a));
    *alarms += a.differs;
    lat_data_free(&d);
    lat_plan_size(M(), &a, &q, &size);
    snprintf(label, sizeof label, "test/run/%d", i);
    d = machine(label, 5, size.blocks, gain);
    lat_series_make(&d, &s);
    lat_rule(M(), &d, &s, &p, false, &r);
    lat_series_free(&s);
    lat_data_free(&d);
    return r.verdict;
}
/* The size that the pilot plans finds an effect of the target's size in 84 % of runs (statistics.md 3.4), and no effect rarely. */
static void the_planned_size_has_the_power_it_says(void) {
    double found = 0, alarms = 0;
    int false_pilots_allowed = 16;
    for (int i = 0; i < 200; i++) found += planned_run(i, 0.1, &alarms) == ASSAY_PASS;
    CU_ASSERT_TRUE(found >= 150 && found <= 186);
    CU_ASSERT_TRUE(alarms <= false_pilots_allowed);
    double nothing = 0;
    for (int i = 200; i < 300; i++) {
        assay_verdict v = planned_run(i, 0, &alarms);
        nothing += v == ASSAY_PASS || v == ASSAY_KILL;
    }
    CU_ASSERT_TRUE(nothing <= 8);
}

ASSAY_SUITE("latency, the size of the run", TEST(the_worked_example_is_planned),
            TEST(the_target_follows_what_is_declared), TEST(more_than_max_blocks_is_refused),
            TEST(a_correlated_pilot_enlarges_the_run), TEST(a_pilot_cut_short_plans_nothing),
            TEST(the_planned_size_has_the_power_it_says))
