/* gates/latency/test_latency_figures.c: the describing figures of the latency gate on hand-worked blocks. */
#include "unit/suite.h"
#include "latency.h"
#include "base/json.h"
#include "base/names.h"
#include "plugin/mathiface.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NEAR(a, b) CU_ASSERT_DOUBLE_EQUAL(a, b, 1e-12 * (1.0 + fabs((double)(b))))

/* A finding that keeps what is reported: figures as JSON by key, codes in order, the verdict. */
typedef struct record { assay_json *metrics, *details; char codes[512]; assay_verdict verdict; } record;

static void on_metric(const assay_finding *f, const char *key, const double *v, uint64_t n, const char *unit) {
    assay_json *list = assay_json_array();
    (void)unit;
    for (uint64_t i = 0; i < n; i++) assay_json_append(list, assay_json_new_number(v[i]));
    assay_json_set(((record *)f->ctx)->metrics, key, list);
}
static void on_reason(const assay_finding *f, const char *code, const char *message, const char *where) {
    record *r = f->ctx;
    (void)message, (void)where;
    strncat(r->codes, code, sizeof r->codes - strlen(r->codes) - 2);
    strcat(r->codes, " ");
}
static void on_detail(const assay_finding *f, const char *key, const char *json) {
    assay_json *j = NULL;
    CU_ASSERT_EQUAL(assay_json_parse(json, strlen(json), key, &j, NULL), ASSAY_OK);
    if (j) assay_json_set(((record *)f->ctx)->details, key, j);
}
static void on_verdict(const assay_finding *f, assay_verdict v) { ((record *)f->ctx)->verdict = v; }

static record judge(lat_data *d) {
    const lat_params p = { .confidence = 0.95, .min_prize_ms = NAN, .margin_ms = NAN, .layers = NAN, .min_pairs = 20, .seed = "1" };
    record r = { .metrics = assay_json_object(), .details = assay_json_object() };
    assay_finding f = { .struct_size = sizeof f, .ctx = &r, .metric = on_metric, .reason = on_reason, .invalid = on_reason, .detail = on_detail, .verdict = on_verdict };
    lat_decide(assay_math_iface(), d, &p, &f, false);
    lat_data_free(d);
    return r;
}
static void done(record *r) { assay_json_free(r->metrics), assay_json_free(r->details); }
static double figure(const record *r, const char *key) { return assay_json_value(assay_json_at(assay_json_get(r->metrics, key), 0)); }
static const assay_json *detail(const record *r, const char *key) { return assay_json_get(r->details, key); }
static bool noted(const record *r, const char *note) {
    const assay_json *notes = detail(r, "notes");
    for (size_t i = 0; i < assay_json_len(notes); i++)
        if (assay_streq(assay_json_text(assay_json_at(notes, i)), note)) return true;
    return false;
}

/* n ABBA or BAAB blocks in turn, per_process to a process; slot k of block b takes 10 + k/8 + level(b) ms, a candidate gain(b) less. */
static lat_data blocks(size_t n, size_t per_process, double (*level)(size_t), double (*gain)(size_t)) {
    lat_data d = { .paired = true, .order_recorded = true };
    d.blocks = lat_alloc(n, sizeof *d.blocks);
    d.control = lat_alloc(2 * n, sizeof(double));
    d.candidate = lat_alloc(2 * n, sizeof(double));
    d.n_blocks = n;
    d.processes = (uint32_t)((n + per_process - 1) / per_process);
    for (size_t i = 0; i < n; i++) {
        lat_block *b = &d.blocks[i];
        *b = (lat_block){ .process = (uint32_t)(i / per_process), .control_first = i % 2 == 0, .n_control = 2, .n_candidate = 2 };
        for (size_t k = 0; k < 4; k++) {
            bool outer = k == 0 || k == 3, control = outer == b->control_first;
            double ms = 10.0 + (double)k / 8.0 + level(i) - (control ? 0.0 : gain(i));
            (control ? b->control : b->candidate)[k / 2] = ms;
            if (control) d.control[d.n_control++] = ms;
            else d.candidate[d.n_candidate++] = ms;
        }
    }
    return d;
}
static double none(size_t i) { return (void)i, 0.0; }
static double small(size_t i) { return (double)(i % 5) / 32.0; }
static double one_spike(size_t i) { return i == 7 ? 9.0 : small(i); }
static double two_clocks(size_t i) { return i % 20 < 10 ? 0.0 : 5.0; }
static double stepped(size_t i) { return i < 20 ? 0.0 : 1.0; }
static double by_process(size_t i) { return (i / 8) % 2 ? 0.5 : 0.0; }

static void slots_and_positions(void) {
    lat_data d = blocks(40, 8, none, none);
    record r = judge(&d);
    const assay_json *slots = assay_json_get(r.metrics, "gate.mean_by_slot");
    CU_ASSERT_EQUAL(assay_json_len(slots), 4);
    for (size_t k = 0; k < 4; k++) NEAR(assay_json_value(assay_json_at(slots, k)), 10.0 + (double)k / 8.0);
    NEAR(figure(&r, "gate.mean_first_position"), 10.0);
    NEAR(figure(&r, "gate.mean_second_position"), 10.125);
    done(&r);
    d = blocks(40, 8, none, none);
    d.order_recorded = false;                    /* who went first is unknown: no figure */
    r = judge(&d);
    CU_ASSERT_TRUE(isnan(figure(&r, "gate.mean_first_position")));
    done(&r);
}

static void outliers_are_named_and_kept(void) {
    lat_data d = blocks(40, 40, none, one_spike);
    record r = judge(&d);
    NEAR(figure(&r, "paired.outliers"), 1.0);
    const assay_json *at = assay_json_at(detail(&r, "metrics:paired.outlier_blocks"), 0);
    CU_ASSERT_EQUAL(assay_json_int(at, "block", -1), 7);
    NEAR(assay_json_number(at, "gain_ms", 0.0), 9.0);
    CU_ASSERT_DOUBLE_EQUAL(assay_json_number(at, "z", 0.0), 8.9375 * 32.0 / 1.4826, 1e-3);      /* median 1/16, MAD 1/32; printed to 6 digits */
    NEAR(figure(&r, "paired.n_pairs"), 40.0);
    done(&r);
    d = blocks(40, 40, none, small);
    r = judge(&d);
    NEAR(figure(&r, "paired.outliers"), 0.0);
    CU_ASSERT_EQUAL(assay_json_len(detail(&r, "metrics:paired.outlier_blocks")), 0);
    done(&r);
}

/* M64_yes: the tail has figures of its own. */
static void tails_in_the_shift_function(void) {
    lat_data d = blocks(40, 40, none, none);
    for (size_t i = 0; i < 6; i++) d.candidate[i] += 4.0;   /* 6 of 80: the top decile, not the middle */
    record r = judge(&d);
    const assay_json *shift = detail(&r, "metrics:paired.shift_function");
    CU_ASSERT_EQUAL(assay_json_len(shift), 11);
    CU_ASSERT_DOUBLE_EQUAL(assay_json_number(assay_json_at(shift, 4), "delta_ms", 9.0), 0.0, 0.2);
    CU_ASSERT_TRUE(assay_json_number(assay_json_at(shift, 10), "delta_ms", 0.0) > 3.0);
    CU_ASSERT_TRUE(figure(&r, "paired.p95_difference") > 3.0);
    done(&r);
}

static void clock_modes_have_their_own_gains(void) {
    lat_data d = blocks(40, 40, two_clocks, small);
    record r = judge(&d);
    const assay_json *modes = detail(&r, "metrics:gate.mode_gains");
    CU_ASSERT_EQUAL(assay_json_len(modes), 2);
    CU_ASSERT_TRUE(assay_json_number(assay_json_at(modes, 0), "level_ms", 0.0) < assay_json_number(assay_json_at(modes, 1), "level_ms", 0.0));
    CU_ASSERT_EQUAL(assay_json_int(assay_json_at(modes, 0), "n", 0), 20);
    NEAR(assay_json_number(assay_json_at(modes, 0), "gain_ms", 0.0), 0.0625);
    CU_ASSERT_TRUE(noted(&r, "two_modes"));
    CU_ASSERT_TRUE(assay_json_len(detail(&r, "metrics:gate.level_change_points")) <= 3);
    done(&r);
    d = blocks(40, 40, none, small);
    r = judge(&d);
    CU_ASSERT_EQUAL(assay_json_len(detail(&r, "metrics:gate.mode_gains")), 0);
    CU_ASSERT_FALSE(noted(&r, "two_modes"));
    done(&r);
}

static void a_level_shift_is_printed_and_decides_nothing(void) {
    lat_data d = blocks(40, 40, stepped, small);
    record r = judge(&d);
    const assay_json *at = detail(&r, "metrics:gate.level_change_points");
    CU_ASSERT_EQUAL(assay_json_len(at), 1);
    NEAR(assay_json_value(assay_json_at(at, 0)), 20.0);
    CU_ASSERT_EQUAL(assay_json_len(detail(&r, "metrics:gate.change_points")), 0);
    CU_ASSERT_PTR_NULL(strstr(r.codes, "regime_change"));
    done(&r);
}

/* Five processes of eight equal blocks with means 0, .5, 0, .5, 0: mean square between 8 x 0.3 / 4 = 0.6, within 0. */
static void spread_between_processes(void) {
    lat_data d = blocks(40, 8, none, by_process);
    record r = judge(&d);
    NEAR(figure(&r, "gate.between_process_sd"), sqrt(0.6 / 8.0));
    NEAR(figure(&r, "gate.within_process_sd"), 0.0);
    done(&r);
    d = blocks(40, 40, none, small);
    r = judge(&d);
    CU_ASSERT_TRUE(isnan(figure(&r, "gate.between_process_sd")));   /* one process: unknown, not 0 */
    done(&r);
}

static void log_ratio_interval(void) {
    lat_data d = blocks(40, 40, none, small);
    record r = judge(&d);
    const assay_json *iv = detail(&r, "metrics:paired.log_ratio_ci");
    double median = figure(&r, "paired.median_log_ratio");
    NEAR(median, assay_math_iface()->log(10.1875 / 10.125));        /* gain 1/16 at a control of 10.1875 */
    CU_ASSERT_EQUAL(assay_json_int(iv, "rank_lo", 0), 14);
    CU_ASSERT_TRUE(assay_json_number(iv, "lo", 1.0) <= median && median <= assay_json_number(iv, "hi", 0.0));
    CU_ASSERT_FALSE(assay_json_truth(detail(&r, "metrics:paired.bca_estimable")));
    done(&r);
}

ASSAY_SUITE("latency figures", TEST(slots_and_positions), TEST(outliers_are_named_and_kept), TEST(tails_in_the_shift_function), TEST(clock_modes_have_their_own_gains),
            TEST(a_level_shift_is_printed_and_decides_nothing), TEST(spread_between_processes), TEST(log_ratio_interval))
