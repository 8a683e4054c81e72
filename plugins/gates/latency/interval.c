/* gates/latency/interval.c: the blocks as a series, and the interval of the gain that decides (statistics.md 3.6.1, step 6). */
#include "latency.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

void lat_series_make(const lat_data *data, lat_series *s) {
    memset(s, 0, sizeof *s);
    s->d = lat_alloc(data->n_blocks, sizeof *s->d);
    s->level = lat_alloc(data->n_blocks, sizeof *s->level);
    s->control_first = lat_alloc(data->n_blocks, sizeof *s->control_first);
    s->process = lat_alloc(data->n_blocks, sizeof *s->process);
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

static void hull(lat_bounds *b, double lo, double hi, const char *method) {
    if (!(lo >= b->lo)) b->lo = lo;
    if (!(hi <= b->hi)) b->hi = hi;
    b->method = method;
    b->achieved = NAN;
}

/* Sorted-rank interval with l = floor((n - z sqrt(n v))/2); unbounded when l < 1. */
static void effective_n(const assay_math_1 *m, const lat_series *s, double v, double confidence, lat_bounds *b) {
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
static void moving_block(const assay_math_1 *m, const lat_series *s, const lat_params *p, double confidence, lat_bounds *b) {
    lat_pair iv = lat_block_boot(m, s->d, s->n, p->block_length, true, p->seed, p->resamples ? p->resamples : LAT_RESAMPLES, confidence);
    double q = 0.5 + confidence / 2.0, widen = lat_t_quantile(m, q, 5.0) / m->normal_quantile(q);
    double centre = (iv.lo + iv.hi) / 2.0, half = (iv.hi - iv.lo) / 2.0 * widen;
    hull(b, centre - half, centre + half, "moving-block");
}

static double inflation(double r, double extra) {
    double rc = r + extra;
    if (!(rc < 0.99)) rc = 0.99;
    return (1.0 + rc) / (1.0 - rc);
}

static lat_bounds block_interval(const assay_math_1 *m, const lat_series *s, const lat_params *p, double r, double confidence) {
    lat_interval o = lat_order_interval(m, s->d, s->n, confidence);
    lat_bounds b = { o.defined ? o.lo : -INFINITY, o.defined ? o.hi : INFINITY, o.defined ? "order-statistic" : "none", o.achieved, false, false };
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

static lat_bounds process_interval(const assay_math_1 *m, const lat_series *s, const lat_params *p, double confidence, double *gain) {
    double *medians = lat_alloc(s->n, sizeof *medians);
    size_t P = process_medians(s, medians);
    lat_bounds b = { -INFINITY, INFINITY, "process-t", confidence, false, false };
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

/* The deciding interval at a confidence, by the unit and the method that fit the data. */
lat_bounds lat_deciding_interval(const assay_math_1 *m, const lat_series *s, const lat_params *p, const lat_decision *r, double confidence, double *gain) {
    if (r->unit == LAT_UNIT_PROCESS) return process_interval(m, s, p, confidence, gain);
    *gain = lat_median(s->d, s->n);
    return block_interval(m, s, p, r->lag1 > r->lag1_rank ? r->lag1 : r->lag1_rank, confidence);
}
