/* gates/latency/report.c: figures that are printed and never decide: arms, second opinions, sessions. */
#include "latency.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void lat_metric(const assay_finding *f, const char *group, const char *name, double v, const char *unit) {
    char key[128];
    snprintf(key, sizeof key, "%s.%s", group, name);
    f->metric(f, key, &v, 1, unit);
}

void lat_interval_metric(const assay_finding *f, const char *key, const lat_interval *iv, double sign) {
    char name[128], json[256];
    snprintf(name, sizeof name, "metrics:%s", key);
    if (!iv->defined) {
        f->detail(f, name, "null");
        return;
    }
    double lo = sign < 0.0 ? -iv->hi : iv->lo, hi = sign < 0.0 ? -iv->lo : iv->hi;
    snprintf(json, sizeof json, "{\"lo\":%.17g,\"hi\":%.17g,\"rank_lo\":%zu,\"rank_hi\":%zu,\"achieved\":%.17g}", lo + 0.0, hi + 0.0, iv->rank_lo, iv->rank_hi, iv->achieved);
    f->detail(f, name, json);
}

void lat_pair_metric(const assay_finding *f, const char *key, lat_pair iv) {
    char name[128], json[128];
    snprintf(name, sizeof name, "metrics:%s", key);
    if (isfinite(iv.lo) && isfinite(iv.hi)) snprintf(json, sizeof json, "{\"lo\":%.17g,\"hi\":%.17g}", iv.lo + 0.0, iv.hi + 0.0);
    else snprintf(json, sizeof json, "null");
    f->detail(f, name, json);
}

void lat_arm_figures(const assay_math_1 *m, const assay_finding *f, const char *group, const double *v, size_t n, double confidence) {
    double *s = lat_sorted_copy(v, n);
    char key[128];
    lat_metric(f, group, "n", (double)n, "1");
    lat_metric(f, group, "mean", lat_mean(v, n), "ms");
    lat_metric(f, group, "min", n ? s[0] : NAN, "ms");
    lat_metric(f, group, "max", n ? s[n - 1] : NAN, "ms");
    lat_metric(f, group, "p50", lat_quantile(s, n, 0.5), "ms");
    lat_metric(f, group, "p90", lat_quantile(s, n, 0.9), "ms");
    lat_metric(f, group, "p95", lat_quantile(s, n, 0.95), "ms");
    lat_metric(f, group, "p99", lat_quantile(s, n, 0.99), "ms");
    const struct { const char *name; double p; } q[] = { { "p50_ci", 0.5 }, { "p95_ci", 0.95 }, { "p99_ci", 0.99 } };
    for (size_t i = 0; i < 3; i++) {             /* null = not estimable from n samples */
        lat_interval iv = q[i].p == 0.5 ? lat_order_interval(m, v, n, confidence) : lat_quantile_interval(m, v, n, q[i].p, confidence);
        snprintf(key, sizeof key, "%s.%s", group, q[i].name);
        lat_interval_metric(f, key, &iv, 1.0);
    }
    free(s);
}

static lat_pair t_interval(const assay_math_1 *m, const double *v, size_t n, double confidence) {
    if (n < 2) return (lat_pair){ NAN, NAN };
    double half = lat_t_quantile(m, 0.5 + confidence / 2.0, (double)n - 1.0) * lat_sd(v, n) / sqrt((double)n), mean = lat_mean(v, n);
    return (lat_pair){ mean - half, mean + half };
}

static void per_session(const assay_math_1 *m, const lat_series *s, const lat_params *p, const assay_finding *f) {
    double *means = malloc((s->processes ? s->processes : 1) * sizeof *means);
    if (!means) abort();
    char list[4096] = "[";
    size_t at = 1, k = 0;
    for (size_t i = 0, j; i < s->n; i = j) {
        for (j = i + 1; j < s->n && s->process[j] == s->process[i]; j++) {}
        double *delta = malloc((j - i) * sizeof *delta);
        if (!delta) abort();
        for (size_t t = i; t < j; t++) delta[t - i] = -s->d[t];
        lat_pair b = lat_boot_mean(m, delta, j - i, p->seed, LAT_RESAMPLES, p->confidence);
        means[k] = lat_mean(delta, j - i);
        if (at < sizeof list - 160)
            at += (size_t)snprintf(list + at, sizeof list - at, "%s{\"mean_delta\":%.17g,\"boot_ci95_mean\":{\"lo\":%.17g,\"hi\":%.17g}}", k ? "," : "", means[k], b.lo, b.hi);
        free(delta);
        k++;
    }
    snprintf(list + at, sizeof list - at, "]");
    f->detail(f, "metrics:sessions.sessions", list);
    f->metric(f, "sessions.mean_delta", means, k, "ms");
    lat_metric(f, "sessions", "mean_of_session_means", lat_mean(means, k), "ms");
    lat_pair_metric(f, "sessions.t_ci95_of_session_means", t_interval(m, means, k, p->confidence));
    free(means);
}

/* Welch's t-test of the two arms as if they were unpaired: for contrast. */
static double welch_p(const assay_math_1 *m, const lat_data *d) {
    if (d->n_control < 2 || d->n_candidate < 2) return NAN;
    double va = lat_sd(d->control, d->n_control), vb = lat_sd(d->candidate, d->n_candidate);
    va = va * va / (double)d->n_control;
    vb = vb * vb / (double)d->n_candidate;
    double df = (va + vb) * (va + vb) / (va * va / ((double)d->n_control - 1.0) + vb * vb / ((double)d->n_candidate - 1.0));
    return lat_t_two_sided(m, (lat_mean(d->candidate, d->n_candidate) - lat_mean(d->control, d->n_control)) / sqrt(va + vb), df);
}

static void unpaired(const assay_math_1 *m, const lat_data *d, const assay_finding *f) {
    lat_metric(f, "gate", "mean_difference", lat_mean(d->candidate, d->n_candidate) - lat_mean(d->control, d->n_control), "ms");
    lat_metric(f, "gate", "welch_p", welch_p(m, d), "1");
}

/* Hodges-Lehmann, log ratio and the randomisation tests. */
static void opinions(const assay_math_1 *m, const lat_series *s, const lat_data *data, const lat_params *p, const assay_finding *f) {
    lat_hl hl = lat_hodges_lehmann(s->d, s->n, p->confidence);
    lat_metric(f, "paired", "hodges_lehmann_delta", -hl.estimate, "ms");
    lat_interval_metric(f, "paired.hodges_lehmann_ci", &hl.ci, -1.0);
    double rand = data->alternating || !data->order_recorded ? NAN : lat_randomisation_p(m, s->d, s->control_first, s->process, s->n, p->seed);
    lat_metric(f, "gate", "randomisation_p", rand, "1");
    lat_metric(f, "gate", "sign_flip_p_two_sided", lat_sign_flip_p(m, s->d, s->n, p->seed), "1");
    lat_metric(f, "gate", "sign_flip_p_median", lat_sign_flip_p_median(m, s->d, s->n, p->seed), "1");
}

void lat_second_opinions(const assay_math_1 *m, const lat_series *s, const lat_data *data, const lat_params *p, const assay_finding *f) {
    unpaired(m, data, f);
    if (!data->paired || s->n == 0) return;
    double *delta = malloc(s->n * sizeof *delta);
    if (!delta) abort();
    for (size_t i = 0; i < s->n; i++) delta[i] = -s->d[i];
    lat_metric(f, "paired", "n_pairs", (double)s->n, "1");
    lat_metric(f, "paired", "mean_delta", lat_mean(delta, s->n), "ms");
    lat_metric(f, "paired", "median_delta", lat_median(delta, s->n), "ms");
    lat_metric(f, "paired", "sd_delta", lat_sd(delta, s->n), "ms");
    lat_pair_metric(f, "paired.t_ci95_mean", t_interval(m, delta, s->n, p->confidence));
    lat_pair_metric(f, "paired.boot_ci95_mean", lat_boot_mean(m, delta, s->n, p->seed, LAT_RESAMPLES, p->confidence));
    lat_pair_metric(f, "paired.boot_ci95_median", lat_boot_median(m, delta, s->n, p->seed, LAT_RESAMPLES, p->confidence));
    lat_pair_metric(f, "paired.block_boot_ci95_mean", lat_block_boot(m, delta, s->n, p->block_length, false, p->seed, LAT_RESAMPLES, p->confidence));
    lat_bca bca = lat_bca_mean(m, delta, s->n, p->seed, LAT_RESAMPLES, p->confidence);
    lat_pair_metric(f, "paired.bca_ci95_mean", bca.ci);
    f->detail(f, "metrics:paired.bca_estimable", s->n >= 100 ? "true" : "false");      /* below, one-sided spikes cost coverage */
    opinions(m, s, data, p, f);
    if (s->processes > 1) per_session(m, s, p, f);
    free(delta);
}

static void print_decision(const lat_series *s, const lat_params *p, const lat_decision *r, const assay_finding *f) {
    char json[1600] = "[", line[256];
    lat_metric(f, "gate", "gain_ms", r->gain, "ms");
    lat_metric(f, "gate", "delta_ms", -r->gain, "ms");
    lat_metric(f, "gate", "gain_ms_ci_low", r->lo, "ms");
    lat_metric(f, "gate", "gain_ms_ci_high", r->hi, "ms");
    lat_metric(f, "gate", "achieved_confidence", r->achieved, "1");
    lat_metric(f, "gate", "lag1_autocorrelation", r->lag1, "1");
    lat_metric(f, "gate", "lag1_rank", r->lag1_rank, "1");
    lat_metric(f, "gate", "effective_n", r->effective_n, "1");
    lat_metric(f, "gate", "timer_step", r->timer_step, "ms");
    lat_metric(f, "paired", "ties_fraction", r->ties, "1");
    lat_metric(f, "gate", "p_process", r->p_process, "1");
    lat_metric(f, "gate", "drift_rel", lat_theil_sen(s->level, s->n) * ((double)s->n - 1.0) / lat_median(s->level, s->n), "1");
    lat_interval_metric(f, "paired.order_ci95_median", &r->order, -1.0);
    snprintf(line, sizeof line, "\"%s\"", r->method);
    f->detail(f, "metrics:gate.interval_method", line);
    f->detail(f, "metrics:gate.unit", r->unit == LAT_UNIT_PROCESS ? "\"process\"" : "\"block\"");
    size_t at = 1;
    for (size_t i = 0; i < r->n_change_points && at < sizeof json - 32; i++)
        at += (size_t)snprintf(json + at, sizeof json - at, "%s%zu", i ? "," : "", r->change_points[i]);
    snprintf(json + at, sizeof json - at, "]");
    f->detail(f, "metrics:gate.change_points", json);
    if (r->modes.defined && isfinite(r->modes.d)) {
        snprintf(line, sizeof line, "{\"d\":%.17g,\"ratio\":%.17g,\"two\":%s}", r->modes.d, r->modes.ratio, r->modes.two ? "true" : "false");
        f->detail(f, "metrics:gate.modes", line);
    } else f->detail(f, "metrics:gate.modes", "null");
    lat_metric(f, "gate", "projected_gain_ms", p->layers * r->gain, "ms");
    lat_metric(f, "gate", "projected_gain_mean_ms", p->layers * lat_mean(s->d, s->n), "ms");
    lat_metric(f, "gate", "prize_low_ms", p->layers * r->lo, "ms");
    lat_metric(f, "gate", "prize_high_ms", p->layers * r->hi, "ms");
}

static void print_ruling(const lat_ruling *r, const assay_finding *f) {
    char notes[512] = "[";
    size_t at = 1;
    for (size_t i = 0; i < r->n_reasons; i++) f->reason(f, r->reasons[i].code, r->reasons[i].text, "");
    for (size_t i = 0; i < r->n_notes; i++) at += (size_t)snprintf(notes + at, sizeof notes - at, "%s\"%s\"", i ? "," : "", r->notes[i]);
    snprintf(notes + at, sizeof notes - at, "]");
    f->detail(f, "notes", notes);
    f->detail(f, "metrics:gate.decided", r->decided ? "true" : "false");
    f->verdict(f, r->verdict);
}

void lat_decide(const assay_math_1 *m, const lat_data *data, const lat_params *p, const assay_finding *f, bool invalid) {
    lat_series s;
    lat_series_make(data, &s);
    lat_second_opinions(m, &s, data, p, f);
    if (data->paired && s.n > 0) {
        lat_ruling r;
        lat_rule(m, data, &s, p, invalid, &r);
        print_decision(&s, p, &r.figures, f);
        lat_figures(m, &s, data, &r.figures, p, f);
        print_ruling(&r, f);
    } else f->verdict(f, ASSAY_INCONCLUSIVE);
    lat_series_free(&s);
}
