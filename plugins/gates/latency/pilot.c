/* gates/latency/pilot.c: the A/A pilot and the size of the run that follows from it (statistics.md 3.4). */
#include "latency.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A pilot of 20 blocks knows its own spread badly, and the interval that decides is wider than the ideal one: with this factor the
 * planned run finds an effect of the size of the target in 84 % of cases ([sim] of statistics.md 3.4). */
#define SAFETY 1.5
/* Standard error of a median over that of a mean, normal noise. */
#define MEDIAN_FACTOR 1.2533

bool lat_pilot_judge(const assay_math_1 *m, const lat_data *d, const lat_params *params, lat_pilot *out) {
    lat_params p = { .confidence = params->confidence, .min_prize_ms = NAN, .margin_ms = NAN, .layers = NAN, .min_pairs = LAT_PILOT_BLOCKS * LAT_PILOT_PROCESSES,
                     .unit = LAT_UNIT_BLOCK, .resamples = params->resamples };
    lat_series s;
    lat_ruling r;
    snprintf(p.seed, sizeof p.seed, "%s", params->seed);
    lat_series_make(d, &s);
    *out = (lat_pilot){ .n = s.n };
    if (s.n > 0) {
        lat_rule(m, d, &s, &p, false, &r);
        *out = (lat_pilot){ .n = s.n, .gain = r.figures.gain, .lo = r.figures.lo, .hi = r.figures.hi, .level = lat_median(s.level, s.n),
                            .scale = 1.4826 * lat_mad(s.d, s.n), .lag1 = r.figures.lag1, .lag1_rank = r.figures.lag1_rank,
                            .timer_step = r.figures.timer_step, .differs = r.verdict == ASSAY_PASS || r.verdict == ASSAY_KILL,
                            .complete = !d->harness.cut_short && d->processes >= LAT_PILOT_PROCESSES };
    }
    lat_series_free(&s);
    return s.n > 0;
}

bool lat_has_prize(const lat_question *q) { return q->layers > 0.0 && q->min_prize_ms > 0.0; }

/* What the run must resolve per layer: the prize, or how far the expected gain lies from it; without a prize resolve_ms, or 1 % of the
 * level. */
static double target(const lat_pilot *a, const lat_question *q) {
    if (lat_has_prize(q)) {
        double per_layer = q->min_prize_ms / q->layers;
        return isnan(q->expected_gain_ms) ? per_layer : fabs(q->expected_gain_ms - per_layer);
    }
    return isnan(q->resolve_ms) ? 0.01 * a->level : q->resolve_ms;
}

void lat_plan_size(const assay_math_1 *m, const lat_pilot *a, const lat_question *q, lat_size *out) {
    double z = m->normal_quantile(0.5 + q->confidence / 2.0) + m->normal_quantile(0.8), spread = MEDIAN_FACTOR * SAFETY * a->scale;
    double r = a->lag1 > a->lag1_rank ? a->lag1 : a->lag1_rank, P = q->processes;
    *out = (lat_size){ .target_ms = target(a, q), .needed = NAN, .mde_ms = NAN, .blocks = LAT_BLOCKS_MIN };
    if (a->complete) {
        double root = z * spread / out->target_ms, inflation = r > 2.0 / sqrt((double)a->n) ? (1.0 + fmin(r, 0.99)) / (1.0 - fmin(r, 0.99)) : 1.0;
        out->needed = spread > 0.0 ? root * root * inflation : 0.0;
        double blocks = 2.0 * ceil(out->needed / (2.0 * P));
        if (!(blocks * P <= q->max_blocks)) out->cannot_decide = true;
        else if (blocks > LAT_BLOCKS_MIN) out->blocks = (uint32_t)blocks;
    }
    if (q->blocks) {                             /* the plan fixed it: not enlarged; refused where it says what must be decided */
        out->blocks = q->blocks + q->blocks % 2;
        out->cannot_decide = (lat_has_prize(q) || !isnan(q->resolve_ms)) && out->needed > out->blocks * P;
    }
    out->n = out->blocks * q->processes;
    if (a->complete) out->mde_ms = z * spread / sqrt((double)out->n);
}

void lat_pilot_figures(const lat_pilot *a, unsigned runs, const lat_question *q, const lat_size *s, const assay_finding *f) {
    double layers = lat_has_prize(q) ? q->layers : NAN;
    const struct { const char *name; double v; const char *unit; } rows[] = {
        { "n", (double)a->n, "blocks" }, { "runs", runs, "runs" }, { "gain_ms", a->gain, "ms" }, { "gain_ms_ci_low", a->lo, "ms" }, { "gain_ms_ci_high", a->hi, "ms" },
        { "noise_floor_ms", a->hi - a->lo, "ms" }, { "level_ms", a->level, "ms" }, { "scale_ms", a->scale, "ms" }, { "lag1_autocorrelation", a->lag1, "1" },
        { "lag1_rank", a->lag1_rank, "1" }, { "timer_step", a->timer_step, "ms" }, { "target_ms", s->target_ms, "ms" }, { "needed_blocks", s->needed, "blocks" },
        { "processes", q->processes, "processes" }, { "blocks_per_process", s->blocks, "blocks" }, { "planned_blocks", s->n, "blocks" }, { "mde_ms", s->mde_ms, "ms" },
        { "mde_total_ms", layers * s->mde_ms, "ms" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) lat_metric(f, "pilot", rows[i].name, rows[i].v, rows[i].unit);
}

void lat_pilot_say(const lat_pilot *a, const lat_question *q, const lat_size *s, char *out, size_t size) {
    if (!a->complete) {
        snprintf(out, size, "A/A pilot: %zu blocks at %.4g ms; cut short, so that nothing is planned from it", a->n, a->level);
        return;
    }
    size_t at = (size_t)snprintf(out, size, "A/A pilot: %zu blocks at %.4g ms, gain of nothing %.3g to %.3g ms, lag-1 %.2f", a->n, a->level, a->lo, a->hi, a->lag1);
    at += (size_t)snprintf(out + at, size - at, "; plan: %u processes of %u blocks, detects %.3g ms", q->processes, s->blocks, s->mde_ms);
    if (lat_has_prize(q)) at += (size_t)snprintf(out + at, size - at, " per layer, %.3g ms over %g layers", q->layers * s->mde_ms, q->layers);
    if (s->cannot_decide) snprintf(out + at, size - at, "; %.0f blocks would be needed for %.3g ms: refused", ceil(s->needed), s->target_ms);
}
