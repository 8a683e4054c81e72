/* tests/bench/bench_stats.c: the latency gate's arithmetic on one core: BCa of the mean of 1,000 differences with 10,000 resamples, and
 * the full analysis of 10,000 samples (2,500 ABBA blocks). `bench_stats data` writes the differences for a peer. Least of the rounds. */
#include "gates/latency/calibrate.h"
#include "plugin/mathiface.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PAIRS = 1000, BLOCKS = 2500 };

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void no_metric(const assay_finding *f, const char *key, const double *v, uint64_t n, const char *unit) { (void)f, (void)key, (void)v, (void)n, (void)unit; }
static void no_reason(const assay_finding *f, const char *code, const char *message, const char *where) { (void)f, (void)code, (void)message, (void)where; }
static void no_detail(const assay_finding *f, const char *key, const char *json) { (void)f, (void)key, (void)json; }
static void no_verdict(const assay_finding *f, assay_verdict v) { (void)f, (void)v; }

/* Log-normal-like differences: a skewed sample, where BCa has work to do. */
static void differences(const assay_math_1 *m, double *d) {
    uint64_t s = m->stream("bench/stats");
    for (uint64_t i = 0; i < PAIRS; i++) d[i] = m->exp(0.5 * m->normal12(s, i)) - 0.9;
}

static double time_bca(const assay_math_1 *m, const double *d) {
    double t = now_ms();
    lat_bca b = lat_bca_mean(m, d, PAIRS, "1", 10000, 0.95);
    t = now_ms() - t;
    return isfinite(b.ci.lo) ? t : INFINITY;
}

static double time_analysis(const assay_math_1 *m) {
    const lat_condition c = { .noise_ms = 0.2, .drift_phi = 0.9, .drift_ms = 0.5 };
    const lat_params p = { .confidence = 0.95, .min_prize_ms = 5.0, .margin_ms = NAN, .layers = 32.0, .min_pairs = 20, .seed = "1" };
    const assay_finding f = { .struct_size = sizeof f, .metric = no_metric, .reason = no_reason, .invalid = no_reason, .detail = no_detail, .verdict = no_verdict };
    lat_data data;
    lat_simulate(m, &c, BLOCKS, 0.3, 1, &data);
    double t = now_ms();
    lat_arm_figures(m, &f, "control", data.control, data.n_control, 0.95);
    lat_arm_figures(m, &f, "candidate", data.candidate, data.n_candidate, 0.95);
    lat_decide(m, &data, &p, &f, false);
    t = now_ms() - t;
    lat_data_free(&data);
    return t;
}

int main(int argc, char **argv) {
    const assay_math_1 *m = assay_math_iface();
    static double d[PAIRS];
    double bca = INFINITY, analysis = INFINITY;
    differences(m, d);
    if (argc > 1 && strcmp(argv[1], "data") == 0) {
        for (size_t i = 0; i < PAIRS; i++) printf("%.17g\n", d[i]);
        return 0;
    }
    int rounds = argc > 1 ? atoi(argv[1]) : 15;
    for (int i = 0; i < rounds; i++) bca = fmin(bca, time_bca(m, d));
    for (int i = 0; i < (rounds + 4) / 5; i++) analysis = fmin(analysis, time_analysis(m));
    printf("bca_mean 1000 pairs, 10000 resamples: %.2f ms\nfull analysis of 10000 samples: %.1f ms\n", bca, analysis);
    return 0;
}
