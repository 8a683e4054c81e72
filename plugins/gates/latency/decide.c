/* gates/latency/decide.c: the decision of statistics.md 3.6.1: unit, interval, timer, regimes, verdict and codes. */
#include "latency.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *need(size_t n, size_t size) {
    void *p = calloc(n ? n : 1, size);
    if (!p) abort();
    return p;
}

void lat_series_make(const lat_data *data, lat_series *s) {
    memset(s, 0, sizeof *s);
    s->d = need(data->n_blocks, sizeof *s->d);
    s->level = need(data->n_blocks, sizeof *s->level);
    s->control_first = need(data->n_blocks, sizeof *s->control_first);
    s->process = need(data->n_blocks, sizeof *s->process);
    s->processes = data->processes;
    for (size_t i = 0; i < data->n_blocks; i++) {
        const lat_block *b = &data->blocks[i];
        if (b->dropped || b->n_control == 0 || b->n_control != b->n_candidate || b->n_control > 2) continue;
        double a = b->control[0], c = b->candidate[0];
        if (b->n_control == 2) a = (a + b->control[1]) / 2.0, c = (c + b->candidate[1]) / 2.0;
        s->d[s->n] = a - c;
        s->level[s->n] = (a + c) / 2.0;
        s->control_first[s->n] = b->control_first;
        s->process[s->n++] = b->process;
    }
}

void lat_series_free(lat_series *s) { free(s->d), free(s->level), free(s->control_first), free(s->process); }

typedef struct bounds { double lo, hi; const char *method; double achieved; bool correlated, starved; } bounds;

static void hull(bounds *b, double lo, double hi, const char *method) {
    if (!(lo >= b->lo)) b->lo = lo;
    if (!(hi <= b->hi)) b->hi = hi;
    b->method = method;
    b->achieved = NAN;
}

/* Sorted-rank interval with l = floor((n - z sqrt(n v))/2); unbounded when l < 1. */
static void effective_n(const assay_math_1 *m, const lat_series *s, double v, double confidence, bounds *b) {
    double n = (double)s->n, z = m->normal_quantile(0.5 + confidence / 2.0), l = floor((n - z * sqrt(n * v)) / 2.0);
    if (!(l >= 1.0)) {
        hull(b, -INFINITY, INFINITY, "effective-n");
        return;
    }
    double *x = lat_sorted_copy(s->d, s->n);
    hull(b, x[(size_t)l - 1], x[s->n - (size_t)l], "effective-n");
    free(x);
}

/* Circular moving blocks of the median, widened about the centre for the six blocks it rests on. */
static void moving_block(const assay_math_1 *m, const lat_series *s, const lat_params *p, double confidence, bounds *b) {
    lat_pair iv = lat_block_boot(m, s->d, s->n, p->block_length, true, p->seed, 10000, confidence);
    double q = 0.5 + confidence / 2.0, widen = lat_t_quantile(m, q, 5.0) / m->normal_quantile(q);
    double centre = (iv.lo + iv.hi) / 2.0, half = (iv.hi - iv.lo) / 2.0 * widen;
    hull(b, centre - half, centre + half, "moving-block");
}

static double inflation(double r, double extra) {
    double rc = r + extra;
    if (!(rc < 0.99)) rc = 0.99;
    return (1.0 + rc) / (1.0 - rc);
}

static bounds block_interval(const assay_math_1 *m, const lat_series *s, const lat_params *p, double r, double confidence) {
    lat_interval o = lat_order_interval(m, s->d, s->n, confidence);
    bounds b = { o.defined ? o.lo : -INFINITY, o.defined ? o.hi : INFINITY, o.defined ? "order-statistic" : "none", o.achieved, false, false };
    double n = (double)s->n;
    if (!(r > 2.0 / sqrt(n))) return b;
    double v = inflation(r, (1.0 + 4.0 * r) / n);
    b.correlated = true;
    b.starved = !(n / v >= 10.0);
    if (r <= 0.5) effective_n(m, s, v, confidence, &b);
    else moving_block(m, s, p, confidence, &b);
    return b;
}

/* Medians of d per process; returns their number. */
static size_t process_medians(const lat_series *s, double *out) {
    size_t k = 0;
    for (size_t i = 0, j; i < s->n; i = j) {
        for (j = i + 1; j < s->n && s->process[j] == s->process[i]; j++) {}
        out[k++] = lat_median(s->d + i, j - i);
    }
    return k;
}

static bounds process_interval(const assay_math_1 *m, const lat_series *s, const lat_params *p, double confidence, double *gain) {
    double *medians = need(s->n, sizeof *medians);
    size_t P = process_medians(s, medians);
    bounds b = { -INFINITY, INFINITY, "process-t", confidence, false, false };
    *gain = lat_mean(medians, P);
    if (P >= 3) {
        double half = lat_t_quantile(m, 0.5 + confidence / 2.0, (double)P - 1.0) * lat_sd(medians, P) / sqrt((double)P);
        b.lo = *gain - half;
        b.hi = *gain + half;
    }
    double n = (double)s->n, r = lat_lag1_within(s->d, s->process, s->n);
    if (r > 2.0 / sqrt(n)) {
        b.correlated = true;
        b.starved = !(n / inflation(r, (1.0 + 4.0 * r) * (double)P / n) >= 10.0);
        if (P >= 3) moving_block(m, s, p, confidence, &b);
    }
    free(medians);
    return b;
}

static bool fives(const lat_series *s) {         /* at least 5 blocks in each process */
    for (size_t i = 0, j; i < s->n; i = j) {
        for (j = i + 1; j < s->n && s->process[j] == s->process[i]; j++) {}
        if (j - i < 5) return false;
    }
    return true;
}

/* Which side of 0 a set of blocks lies on by its order-statistic interval: -1, 0 (cannot tell), 1. */
static int side(const assay_math_1 *m, const double *d, size_t n, double confidence) {
    lat_interval o = lat_order_interval(m, d, n, confidence);
    return !o.defined ? 0 : o.lo > 0.0 ? 1 : o.hi < 0.0 ? -1 : 0;
}

static bool modes_disagree(const assay_math_1 *m, const lat_series *s, const lat_modes *modes, double confidence) {
    double *low = need(s->n, sizeof *low), *high = need(s->n, sizeof *high);
    size_t a = 0, b = 0;
    for (size_t i = 0; i < s->n; i++)
        if (s->level[i] <= modes->split) low[a++] = s->d[i];
        else high[b++] = s->d[i];
    bool r = side(m, low, a, confidence) * side(m, high, b, confidence) < 0;
    free(low);
    free(high);
    return r;
}

/* Segments between change points with opposite gains, or levels more than 1.5 apart. */
static bool regimes_change(const assay_math_1 *m, const lat_series *s, const lat_params *p, lat_decision *r) {
    double *centred = need(s->n, sizeof *centred), least = INFINITY, most = 0.0;
    bool positive = false, negative = false;
    memcpy(centred, s->d, s->n * sizeof *centred);
    for (size_t i = 0, j; r->unit == LAT_UNIT_PROCESS && i < s->n; i = j) {
        for (j = i + 1; j < s->n && s->process[j] == s->process[i]; j++) {}
        double med = lat_median(s->d + i, j - i);
        for (size_t t = i; t < j; t++) centred[t] -= med;
    }
    r->n_change_points = lat_change_points(m, centred, s->n, r->change_points, 64);
    free(centred);
    for (size_t k = 0, from = 0; r->n_change_points && k <= r->n_change_points; k++) {
        size_t to = k < r->n_change_points ? r->change_points[k] : s->n;
        int w = side(m, s->d + from, to - from, p->confidence);
        double level = lat_median(s->level + from, to - from);
        positive |= w > 0;
        negative |= w < 0;
        least = level < least ? level : least;
        most = level > most ? level : most;
        from = to;
    }
    return (positive && negative) || (r->n_change_points && most > 1.5 * least) || (r->modes.two && modes_disagree(m, s, &r->modes, p->confidence));
}

/* One to 5 % of flagged blocks that move the mean by more than half the width of the interval. */
static bool outlier_dominates(const lat_series *s, double width) {
    double med = lat_median(s->d, s->n), scale = 1.4826 * lat_mad(s->d, s->n), sum = 0.0, kept = 0.0;
    size_t flagged = 0, most = s->n / 20 > 1 ? s->n / 20 : 1;
    if (!(scale > 0.0)) {
        for (size_t i = 0; i < s->n; i++) sum += fabs(s->d[i] - med);
        scale = 1.2533 * sum / (double)s->n;
    }
    if (!(scale > 0.0)) return false;
    for (size_t i = 0; i < s->n; i++)
        if (fabs(s->d[i] - med) / scale > 10.0) flagged++;
        else kept += s->d[i];
    if (flagged == 0 || flagged > most || flagged == s->n) return false;
    return fabs(lat_mean(s->d, s->n) - kept / (double)(s->n - flagged)) > width / 2.0;
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
    lat_metric(f, "gate", "drift_rel", r->drift_rel, "1");
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

static void figures(const assay_math_1 *m, const lat_data *data, const lat_series *s, const lat_params *p, lat_decision *r) {
    double n = (double)s->n, zeros = 0.0, *all = need(data->n_control + data->n_candidate, sizeof *all);
    for (size_t i = 0; i < s->n; i++) zeros += s->d[i] == 0.0;
    memcpy(all, data->control, data->n_control * sizeof *all);
    memcpy(all + data->n_control, data->candidate, data->n_candidate * sizeof *all);
    r->ties = zeros / n;
    r->timer_step = lat_timer_step(all, data->n_control + data->n_candidate);
    free(all);
    r->lag1 = lat_lag1(s->d, s->n);
    r->lag1_rank = lat_lag1_rank(s->d, s->n);
    r->effective_n = n * (1.0 - r->lag1) / (1.0 + r->lag1);
    if (!(r->effective_n < n)) r->effective_n = n;
    r->order = lat_order_interval(m, s->d, s->n, p->confidence);
    r->p_process = s->processes >= 2 && fives(s) ? lat_kruskal_wallis(m, s->d, s->process, s->n, s->processes).p : NAN;
    r->modes = lat_two_modes(m, s->level, s->n);
    r->drift_rel = lat_theil_sen(s->level, s->n) * (n - 1.0) / lat_median(s->level, s->n);
    r->unit = p->unit;
    if (r->unit == LAT_UNIT_AUTO) r->unit = data->is_sessions || r->p_process < 0.4 ? LAT_UNIT_PROCESS : LAT_UNIT_BLOCK;
}

/* The deciding interval at a confidence, by the method that fits the data. */
static bounds interval(const assay_math_1 *m, const lat_series *s, const lat_params *p, const lat_decision *r, double confidence, double *gain) {
    if (r->unit == LAT_UNIT_PROCESS) return process_interval(m, s, p, confidence, gain);
    *gain = lat_median(s->d, s->n);
    return block_interval(m, s, p, r->lag1 > r->lag1_rank ? r->lag1 : r->lag1_rank, confidence);
}

typedef struct codes { const assay_finding *f; bool undecided; } codes;
static void undecided(codes *c, bool when, const char *code, const char *message) {
    if (!when) return;
    c->f->reason(c->f, code, message, "");
    c->undecided = true;
}

static bool is_equivalent(const assay_math_1 *m, const lat_series *s, const lat_params *p, const lat_decision *r) {
    double margin = isnan(p->margin_ms) ? p->min_prize_ms / p->layers : p->margin_ms, gain;
    if (!(margin > 0.0)) return false;
    bounds b = interval(m, s, p, r, 1.0 - 2.0 * (1.0 - p->confidence), &gain);
    return b.lo > -margin && b.hi < margin;
}

/* Codes that explain an inconclusive verdict, and are notes beside another one. */
static void explain(const assay_math_1 *m, const lat_series *s, const lat_params *p, const lat_decision *r, const bounds *b, bool inconclusive, const assay_finding *f) {
    bool prize = p->layers > 0.0 && !isnan(p->min_prize_ms), session = r->unit == LAT_UNIT_PROCESS;
    const struct { bool holds; const char *code, *text; } rows[] = {
        { !(r->lo > 0.0) && !(r->hi < 0.0), "interval_includes_zero", "the interval of the gain contains 0" },
        { prize && !(p->layers * r->lo >= p->min_prize_ms) && !(p->layers * r->hi < p->min_prize_ms), "prize_not_decided", "the prize lies inside the interval" },
        { r->coarse, "timer_resolution", "the timer's step is too coarse: measure several predictions per slot" },
        { b->correlated, "autocorrelation", "successive blocks hang together: use longer processes" },
        { session && !(r->lo > 0.0) && !(r->hi < 0.0), "between_session_variance", "processes differ more than blocks within one: use more processes" },
        { outlier_dominates(s, r->hi - r->lo), "outlier_dominates_mean", "a few blocks carry the mean" },
        { is_equivalent(m, s, p, r), "equivalent", "the 90 % interval lies inside the margin" },
    };
    char notes[512] = "[";
    size_t at = 1;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!rows[i].holds) continue;
        if (inconclusive) f->reason(f, rows[i].code, rows[i].text, "");
        else at += (size_t)snprintf(notes + at, sizeof notes - at, "%s\"%s\"", at > 1 ? "," : "", rows[i].code);
    }
    snprintf(notes + at, sizeof notes - at, "]");
    f->detail(f, "notes", notes);
}

static assay_verdict decide(const lat_params *p, const lat_decision *r, bool undecided_, const assay_finding *f) {
    bool prize = p->layers > 0.0 && !isnan(p->min_prize_ms);
    char text[160];
    if (undecided_) return ASSAY_INCONCLUSIVE;
    if (r->hi < 0.0) {
        f->reason(f, "slower", "the whole interval of the gain lies below 0", "");
        return ASSAY_KILL;
    }
    if (prize && p->layers * r->hi < p->min_prize_ms) {
        snprintf(text, sizeof text, "%g layers gain at most %.6g ms, the prize is %g ms", p->layers, p->layers * r->hi, p->min_prize_ms);
        f->reason(f, "below_prize", text, "");
        return ASSAY_KILL;
    }
    if (r->lo > 0.0 && (!prize || p->layers * r->lo >= p->min_prize_ms)) {
        f->reason(f, "faster", prize ? "the lower bound of the gain reaches the prize" : "the whole interval of the gain lies above 0", "");
        return ASSAY_PASS;
    }
    return ASSAY_INCONCLUSIVE;
}

void lat_decide(const assay_math_1 *m, const lat_data *data, const lat_params *p, const assay_finding *f, bool invalid) {
    lat_series s;
    lat_series_make(data, &s);
    lat_second_opinions(m, &s, data, p, f);
    if (!data->paired || s.n == 0) {
        f->verdict(f, ASSAY_INCONCLUSIVE);
        lat_series_free(&s);
        return;
    }
    lat_decision r = { 0 };
    figures(m, data, &s, p, &r);
    bounds b = interval(m, &s, p, &r, p->confidence, &r.gain);
    r.method = b.method;
    r.achieved = b.achieved;
    r.coarse = !isnan(r.timer_step) && (r.timer_step >= (b.hi - b.lo) / 2.0 || r.ties >= 0.1);
    r.lo = r.coarse ? b.lo - r.timer_step : b.lo;
    r.hi = r.coarse ? b.hi + r.timer_step : b.hi;
    codes c = { f, false };
    if (!invalid) {
        undecided(&c, s.n < p->min_pairs, "too_few_pairs", "fewer blocks than min_pairs after the warm-up");
        undecided(&c, (double)data->dropped > 0.1 * (double)data->n_blocks, "blocks_dropped", "guards dropped more than 10 % of the blocks");
        undecided(&c, data->unsteady, "no_steady_state", "the warm-up never settled");
        undecided(&c, r.unit == LAT_UNIT_PROCESS && s.processes < 3, "too_few_processes", "fewer than 3 processes, which are the unit here");
        undecided(&c, r.unit == LAT_UNIT_PROCESS && s.processes < 3, "between_session_variance", "processes differ and are too few to say by how much");
        undecided(&c, b.starved, "autocorrelation", "fewer than 10 independent observations are left: use longer processes");
    }
    bool regime = regimes_change(m, &s, p, &r);
    print_decision(&s, p, &r, f);
    assay_verdict v = ASSAY_INCONCLUSIVE;
    if (!invalid) {
        undecided(&c, regime, "regime_change", "the gain or the level changes between segments of the run");
        v = decide(p, &r, c.undecided, f);
        explain(m, &s, p, &r, &b, v == ASSAY_INCONCLUSIVE, f);
    }
    f->verdict(f, v);
    lat_series_free(&s);
}
