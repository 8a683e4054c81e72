/* gates/latency/decide.c: the decision of statistics.md 3.6.1: unit, interval, timer, regimes, verdict and codes.
 * No speed-up is assumed or asked for unless the plan does (M65, M67). */
#include "latency.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    double *low = lat_alloc(s->n, sizeof *low), *high = lat_alloc(s->n, sizeof *high);
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
    double *centred = lat_alloc(s->n, sizeof *centred), least = INFINITY, most = 0.0;
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

double lat_outlier_scale(const double *d, size_t n) {
    double med = lat_median(d, n), scale = 1.4826 * lat_mad(d, n), sum = 0.0;
    if (scale > 0.0) return scale;
    for (size_t i = 0; i < n; i++) sum += fabs(d[i] - med);
    return 1.2533 * sum / (double)n;
}

/* One to 5 % of flagged blocks that move the mean by more than half the width of the interval. */
static bool outlier_dominates(const lat_series *s, double width) {
    double med = lat_median(s->d, s->n), scale = lat_outlier_scale(s->d, s->n), kept = 0.0;
    size_t flagged = 0, most = s->n / 20 > 1 ? s->n / 20 : 1;
    if (!(scale > 0.0)) return false;
    for (size_t i = 0; i < s->n; i++)
        if (fabs(s->d[i] - med) / scale > LAT_OUTLIER_Z) flagged++;
        else kept += s->d[i];
    if (flagged == 0 || flagged > most || flagged == s->n) return false;
    return fabs(lat_mean(s->d, s->n) - kept / (double)(s->n - flagged)) > width / 2.0;
}

static void figures(const assay_math_1 *m, const lat_data *data, const lat_series *s, const lat_params *p, lat_decision *r) {
    double n = (double)s->n, zeros = 0.0, *all = lat_alloc(data->n_control + data->n_candidate, sizeof *all);
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
    r->unit = p->unit;
    if (r->unit == LAT_UNIT_AUTO) r->unit = data->is_sessions || r->p_process < 0.4 ? LAT_UNIT_PROCESS : LAT_UNIT_BLOCK;
}

/* Raises a code once. */
static void raise_code(lat_ruling *r, const char *code, const char *text) {
    for (size_t i = 0; i < r->n_reasons; i++)
        if (strcmp(r->reasons[i].code, code) == 0) return;
    if (r->n_reasons == LAT_CODES_MAX) return;
    r->reasons[r->n_reasons].code = code;
    snprintf(r->reasons[r->n_reasons++].text, sizeof r->reasons->text, "%s", text);
}

typedef struct row { bool holds; const char *code, *text; } row;

/* Codes that leave the question open whatever the interval says; returns whether there was one. */
static bool undecided(const lat_data *data, const lat_series *s, const lat_params *p, const lat_bounds *b, bool regime, lat_ruling *r) {
    bool few = r->figures.unit == LAT_UNIT_PROCESS && s->processes < 3;
    const row rows[] = {
        { s->n < p->min_pairs, "too_few_pairs", "fewer blocks than min_pairs after the warm-up" },
        { (double)data->dropped > 0.1 * (double)data->n_blocks, "blocks_dropped", "guards dropped more than 10 % of the blocks" },
        { data->unsteady, "no_steady_state", "the warm-up never settled" },
        { few, "too_few_processes", "fewer than 3 processes, which are the unit here" },
        { few, "between_session_variance", "processes differ and are too few to say by how much" },
        { b->starved, "autocorrelation", "fewer than 10 independent observations are left: use longer processes" },
        { regime, "regime_change", "the gain or the level changes between segments of the run" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].holds) raise_code(r, rows[i].code, rows[i].text);
    return r->n_reasons > 0;
}

static bool has_prize(const lat_params *p) { return p->layers > 0.0 && !isnan(p->min_prize_ms); }

static assay_verdict decide(const lat_params *p, lat_ruling *r) {
    double lo = r->figures.lo, hi = r->figures.hi;
    char text[160];
    if (hi < 0.0) {
        raise_code(r, "slower", "the whole interval of the gain lies below 0");
        return ASSAY_KILL;
    }
    if (has_prize(p) && p->layers * hi < p->min_prize_ms) {
        snprintf(text, sizeof text, "%g layers gain at most %.6g ms, the prize is %g ms", p->layers, p->layers * hi, p->min_prize_ms);
        raise_code(r, "below_prize", text);
        return ASSAY_KILL;
    }
    if (lo > 0.0 && (!has_prize(p) || p->layers * lo >= p->min_prize_ms)) {
        raise_code(r, "faster", has_prize(p) ? "the lower bound of the gain reaches the prize" : "the whole interval of the gain lies above 0");
        return ASSAY_PASS;
    }
    return ASSAY_INCONCLUSIVE;
}

static bool is_equivalent(const assay_math_1 *m, const lat_series *s, const lat_params *p, const lat_decision *r) {
    double margin = isnan(p->margin_ms) ? p->min_prize_ms / p->layers : p->margin_ms, gain;
    if (!(margin > 0.0)) return false;
    lat_bounds b = lat_deciding_interval(m, s, p, r, 1.0 - 2.0 * (1.0 - p->confidence), &gain);
    return b.lo > -margin && b.hi < margin;
}

/* Codes that explain an inconclusive verdict, and are notes beside another one. */
static void explain(const assay_math_1 *m, const lat_series *s, const lat_params *p, const lat_bounds *b, lat_ruling *r) {
    const lat_decision *d = &r->figures;
    bool open = !(d->lo > 0.0) && !(d->hi < 0.0);
    bool reaches = p->layers * d->lo >= p->min_prize_ms, misses = p->layers * d->hi < p->min_prize_ms;
    const row rows[] = {
        { open, "interval_includes_zero", "the interval of the gain contains 0" },
        { has_prize(p) && !reaches && !misses, "prize_not_decided", "the prize lies inside the interval" },
        { d->coarse, "timer_resolution", "the timer's step is too coarse: measure several predictions per slot" },
        { b->correlated, "autocorrelation", "successive blocks hang together: use longer processes" },
        { open && d->unit == LAT_UNIT_PROCESS, "between_session_variance", "processes differ more than blocks within one: use more processes" },
        { outlier_dominates(s, d->hi - d->lo), "outlier_dominates_mean", "a few blocks carry the mean" },
        { is_equivalent(m, s, p, d), "equivalent", "the 90 % interval lies inside the margin" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!rows[i].holds) continue;
        if (r->verdict == ASSAY_INCONCLUSIVE) raise_code(r, rows[i].code, rows[i].text);
        else r->notes[r->n_notes++] = rows[i].code;
    }
}

void lat_rule(const assay_math_1 *m, const lat_data *data, const lat_series *s, const lat_params *p, bool invalid, lat_ruling *out) {
    lat_decision *r = &out->figures;
    *out = (lat_ruling){ .verdict = ASSAY_INCONCLUSIVE };
    figures(m, data, s, p, r);
    lat_bounds b = lat_deciding_interval(m, s, p, r, p->confidence, &r->gain);
    r->method = b.method;
    r->achieved = b.achieved;
    r->coarse = !isnan(r->timer_step) && (r->timer_step >= (b.hi - b.lo) / 2.0 || r->ties >= 0.1);
    r->lo = r->coarse ? b.lo - r->timer_step : b.lo;
    r->hi = r->coarse ? b.hi + r->timer_step : b.hi;
    bool regime = regimes_change(m, s, p, r);
    if (invalid) return;
    out->decided = !undecided(data, s, p, &b, regime, out);
    if (out->decided) out->verdict = decide(p, out);
    explain(m, s, p, &b, out);
    if (r->modes.two) out->notes[out->n_notes++] = "two_modes";
}
