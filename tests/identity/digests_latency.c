/* tests/identity/digests_latency.c: every figure, code and verdict of the latency gate on simulated machines, as one digest each. */
#include "digests.h"
#include "gates/latency/calibrate.h"
#include "plugin/mathiface.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static uint64_t h;

static void add_text(const char *s) { h = digest_add(h, s, strlen(s) + 1); }
static void on_metric(const assay_finding *f, const char *key, const double *v, uint64_t n, const char *unit) {
    (void)f, (void)unit;
    add_text(key);
    for (uint64_t i = 0; i < n; i++) {           /* what is undefined is undefined, whatever its bits */
        double x = isnan(v[i]) ? -1e300 : v[i];
        h = digest_add(h, &x, sizeof x);
    }
}
static void on_reason(const assay_finding *f, const char *code, const char *message, const char *where) { (void)f, (void)where, add_text(code), add_text(message); }
static void on_detail(const assay_finding *f, const char *key, const char *json) { (void)f, add_text(key), add_text(json); }
static void on_verdict(const assay_finding *f, assay_verdict v) { (void)f, h = digest_add(h, &(int32_t){ (int32_t)v }, sizeof(int32_t)); }

void show_latency(void) {
    const lat_params p = { .confidence = 0.95, .min_prize_ms = 5.0, .margin_ms = NAN, .layers = 32.0, .min_pairs = 20, .seed = "1" };
    const assay_finding f = { .struct_size = sizeof f, .metric = on_metric, .reason = on_reason, .invalid = on_reason, .detail = on_detail, .verdict = on_verdict };
    for (size_t i = 0; i < lat_condition_count; i++) {
        char name[64];
        lat_data data;
        h = DIGEST_START;
        lat_simulate(assay_math_iface(), &lat_conditions[i], 40, 0.1, 1, &data);
        lat_arm_figures(assay_math_iface(), &f, "control", data.control, data.n_control, 0.95);
        lat_decide(assay_math_iface(), &data, &p, &f, false);
        lat_data_free(&data);
        snprintf(name, sizeof name, "latency_%s", lat_conditions[i].name);
        show(name, &h, sizeof h);
    }
}
