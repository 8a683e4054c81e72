/* gates/latency/figures.c: figures that describe where a difference sits: tails, slots, processes, clock modes, outliers. None decides.
 * Each series by itself (M64). */
#include "latency.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* JSON text under way; what does not fit is cut by closing the list early, never in the middle of an element. */
typedef struct list { char text[6000]; size_t at; bool full; } list;

__attribute__((format(printf, 2, 3))) static void add(list *l, const char *fmt, ...) {
    char one[256];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(one, sizeof one, fmt, ap);
    va_end(ap);
    if (l->full || n < 0 || (size_t)n >= sizeof one || l->at + (size_t)n + 3 > sizeof l->text) {
        l->full = true;
        return;
    }
    l->at += (size_t)snprintf(l->text + l->at, sizeof l->text - l->at, "%s%s", l->at ? "," : "[", one);
}

static void put_list(const assay_finding *f, const char *key, list *l) {
    snprintf(l->text + l->at, sizeof l->text - l->at, "%s]", l->at ? "" : "[");
    f->detail(f, key, l->text);
}

/* Differences of quantiles, candidate minus control (Doksum and Sievers 1976): a tail shows at its right end. */
static void shift_function(const assay_finding *f, const lat_data *data) {
    static const double at[] = { 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99 };
    double *a = lat_sorted_copy(data->control, data->n_control), *b = lat_sorted_copy(data->candidate, data->n_candidate);
    list l = { .at = 0 };
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        double delta = lat_quantile(b, data->n_candidate, at[i]) - lat_quantile(a, data->n_control, at[i]);
        if (isfinite(delta)) add(&l, "{\"delta_ms\":%.17g,\"p\":%g}", delta + 0.0, at[i]);
    }
    put_list(f, "metrics:paired.shift_function", &l);
    lat_metric(f, "paired", "p95_difference", lat_quantile(b, data->n_candidate, 0.95) - lat_quantile(a, data->n_control, 0.95), "ms");
    free(a);
    free(b);
}

/* Mean duration by position: pairs have two, ABBA blocks four. */
static void positions(const assay_finding *f, const lat_data *data) {
    double sum[4] = { 0, 0, 0, 0 }, mean[4];
    size_t n = 0, slots = 2;
    for (size_t i = 0; i < data->n_blocks; i++) {
        const lat_block *b = &data->blocks[i];
        if (b->dropped || b->n_control != b->n_candidate || b->n_control == 0 || b->n_control > 2) continue;
        const double *outer = b->control_first ? b->control : b->candidate, *inner = b->control_first ? b->candidate : b->control;
        sum[0] += outer[0];
        sum[1] += inner[0];
        if (b->n_control == 2) sum[2] += inner[1], sum[3] += outer[1], slots = 4;
        n++;
    }
    for (size_t i = 0; i < 4; i++) mean[i] = n && data->order_recorded ? sum[i] / (double)n : NAN;
    lat_metric(f, "gate", "mean_first_position", mean[0], "ms");
    lat_metric(f, "gate", "mean_second_position", mean[1], "ms");
    if (slots == 4) f->metric(f, "gate.mean_by_slot", mean, 4, "ms");
}

static void level_change_points(const assay_math_1 *m, const assay_finding *f, const lat_series *s) {
    size_t at[64], n = lat_change_points(m, s->level, s->n, at, 64);
    list l = { .at = 0 };
    for (size_t i = 0; i < n; i++) add(&l, "%zu", at[i]);
    put_list(f, "metrics:gate.level_change_points", &l);
}

/* Gain and order-statistic interval in each of two clock modes. */
static void modes(const assay_math_1 *m, const assay_finding *f, const lat_series *s, const lat_modes *found, double confidence) {
    list l = { .at = 0 };
    double *d = lat_alloc(s->n, sizeof *d), *level = lat_alloc(s->n, sizeof *level);
    for (int high = 0; high < 2 && found->two; high++) {
        size_t n = 0;
        for (size_t i = 0; i < s->n; i++)
            if ((s->level[i] > found->split) == (high == 1)) d[n] = s->d[i], level[n++] = s->level[i];
        lat_interval iv = lat_order_interval(m, d, n, confidence);
        double gain = lat_median(d, n), at = lat_median(level, n);
        if (iv.defined) add(&l, "{\"gain_ms\":%.17g,\"gain_ms_ci_high\":%.17g,\"gain_ms_ci_low\":%.17g,\"level_ms\":%.17g,\"n\":%zu}", gain + 0.0, iv.hi + 0.0, iv.lo + 0.0, at, n);
        else add(&l, "{\"gain_ms\":%.17g,\"gain_ms_ci_high\":null,\"gain_ms_ci_low\":null,\"level_ms\":%.17g,\"n\":%zu}", gain + 0.0, at, n);
    }
    put_list(f, "metrics:gate.mode_gains", &l);
    free(d);
    free(level);
}

/* Blocks more than ten robust standard deviations from the median: kept, and named by their index. */
static void outliers(const assay_finding *f, const lat_series *s) {
    double med = lat_median(s->d, s->n), scale = lat_outlier_scale(s->d, s->n);
    size_t n = 0;
    list l = { .at = 0 };
    for (size_t i = 0; i < s->n && scale > 0.0; i++) {
        double z = fabs(s->d[i] - med) / scale;
        if (!(z > LAT_OUTLIER_Z)) continue;
        n++;
        add(&l, "{\"block\":%zu,\"gain_ms\":%.17g,\"z\":%.6g}", i, s->d[i] + 0.0, z);
    }
    lat_metric(f, "paired", "outliers", (double)n, "1");
    put_list(f, "metrics:paired.outlier_blocks", &l);
}

/* One-way analysis of variance of d over processes: the standard deviation between them beyond what blocks explain, and within. */
static void process_spread(const assay_finding *f, const lat_series *s) {
    double n = (double)s->n, k = 0.0, squares = 0.0, between = 0.0, within = 0.0, mean = lat_mean(s->d, s->n);
    for (size_t i = 0, j; i < s->n; i = j) {
        for (j = i + 1; j < s->n && s->process[j] == s->process[i]; j++) {}
        double size = (double)(j - i), own = lat_mean(s->d + i, j - i);
        between += size * (own - mean) * (own - mean);
        for (size_t t = i; t < j; t++) within += (s->d[t] - own) * (s->d[t] - own);
        squares += size * size;
        k += 1.0;
    }
    bool defined = k >= 2.0 && n > k;
    double ms_within = defined ? within / (n - k) : NAN, ms_between = defined ? between / (k - 1.0) : NAN;
    double beyond = (ms_between - ms_within) / ((n - squares / n) / (k - 1.0));
    lat_metric(f, "gate", "between_process_sd", defined ? sqrt(beyond > 0.0 ? beyond : 0.0) : NAN, "ms");
    lat_metric(f, "gate", "within_process_sd", defined ? sqrt(ms_within) : NAN, "ms");
}

/* log(control / candidate) of each block: its median, and the order-statistic interval of that (Fleming and Wallace 1986). */
static void log_ratio(const assay_math_1 *m, const assay_finding *f, const lat_series *s, double confidence) {
    double *ratio = lat_alloc(s->n, sizeof *ratio);
    for (size_t i = 0; i < s->n; i++) ratio[i] = m->log((s->level[i] + s->d[i] / 2.0) / (s->level[i] - s->d[i] / 2.0));
    lat_interval iv = lat_order_interval(m, ratio, s->n, confidence);
    lat_metric(f, "paired", "median_log_ratio", lat_median(ratio, s->n), "1");
    lat_interval_metric(f, "paired.log_ratio_ci", &iv, 1.0);
    free(ratio);
}

void lat_figures(const assay_math_1 *m, const lat_series *s, const lat_data *data, const lat_decision *r, const lat_params *p, const assay_finding *f) {
    shift_function(f, data);
    positions(f, data);
    level_change_points(m, f, s);
    modes(m, f, s, &r->modes, p->confidence);
    outliers(f, s);
    process_spread(f, s);
    log_ratio(m, f, s, p->confidence);
    lat_metric(f, "gate", "dropped_blocks", (double)data->dropped, "1");
}
