/* gates/latency/series.c: correlation, process effects, change points, clock modes, drift and timer step of a series in time. */
#include "latency.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct keyed { double v; size_t i; } keyed;
static int by_value(const void *a, const void *b) {
    double x = ((const keyed *)a)->v, y = ((const keyed *)b)->v;
    return (x > y) - (x < y);
}

void lat_midranks(const double *v, size_t n, double *ranks) {
    keyed *k = lat_alloc(n, sizeof *k);
    for (size_t i = 0; i < n; i++) k[i] = (keyed){ v[i], i };
    if (n > 1) qsort(k, n, sizeof *k, by_value);
    for (size_t i = 0, j; i < n; i = j) {
        for (j = i + 1; j < n && k[j].v == k[i].v; j++) {}
        for (size_t t = i; t < j; t++) ranks[k[t].i] = ((double)i + (double)j + 1.0) / 2.0;
    }
    free(k);
}

double lat_lag1(const double *v, size_t n) {
    double mean = lat_mean(v, n), num = 0.0, den = 0.0;
    for (size_t i = 0; i < n; i++) {
        den += (v[i] - mean) * (v[i] - mean);
        if (i + 1 < n) num += (v[i] - mean) * (v[i + 1] - mean);
    }
    return den > 0.0 ? num / den : 0.0;
}

double lat_lag1_rank(const double *v, size_t n) {
    double *r = lat_alloc(n, sizeof *r);
    lat_midranks(v, n, r);
    double x = lat_lag1(r, n);
    free(r);
    return x;
}

/* lag-1 of v minus its process mean, products only within processes. */
double lat_lag1_within(const double *v, const uint32_t *process, size_t n) {
    double num = 0.0, den = 0.0;
    for (size_t i = 0, j; i < n; i = j) {
        for (j = i + 1; j < n && process[j] == process[i]; j++) {}
        double mean = lat_mean(v + i, j - i);
        for (size_t t = i; t < j; t++) {
            den += (v[t] - mean) * (v[t] - mean);
            if (t + 1 < j) num += (v[t] - mean) * (v[t + 1] - mean);
        }
    }
    return den > 0.0 ? num / den : 0.0;
}

lat_kw lat_kruskal_wallis(const assay_math_1 *m, const double *v, const uint32_t *process, size_t n, uint32_t processes) {
    lat_kw r = { NAN, NAN, NAN, NAN };
    if (processes < 2 || n < 2) return r;
    double *ranks = lat_alloc(n, sizeof *ranks), *sorted = lat_sorted_copy(v, n), h = 0.0, ties = 0.0, N = (double)n;
    lat_midranks(v, n, ranks);
    for (uint32_t p = 0; p < processes; p++) {
        double sum = 0.0, count = 0.0;
        for (size_t i = 0; i < n; i++)
            if (process[i] == p) sum += ranks[i], count += 1.0;
        if (count > 0.0) h += sum * sum / count;
    }
    for (size_t i = 0, j; i < n; i = j) {
        for (j = i + 1; j < n && sorted[j] == sorted[i]; j++) {}
        double t = (double)(j - i);
        ties += t * t * t - t;
    }
    r.h = 12.0 / (N * (N + 1.0)) * h - 3.0 * (N + 1.0);
    r.tie_factor = 1.0 - ties / (N * N * N - N);
    r.corrected = r.tie_factor > 0.0 ? r.h / r.tie_factor : 0.0;
    r.p = lat_chi2_upper(m, r.corrected, (double)processes - 1.0);
    free(ranks);
    free(sorted);
    return r;
}

/* Pettitt 1979 on midranks. */
lat_pettitt lat_pettitt_test(const assay_math_1 *m, const double *v, size_t n) {
    lat_pettitt r = { 0.0, 0, 1.0 };
    double *ranks = lat_alloc(n, sizeof *ranks), sum = 0.0, N = (double)n;
    lat_midranks(v, n, ranks);
    for (size_t k = 1; k < n; k++) {
        sum += ranks[k - 1];
        double u = fabs(2.0 * sum - (double)k * (N + 1.0));
        if (u > r.k) r.k = u, r.at = k;
    }
    if (r.at) r.p = 2.0 * m->exp(-6.0 * r.k * r.k / (N * N * N + N * N));
    if (!(r.p < 1.0)) r.p = 1.0;
    free(ranks);
    return r;
}

enum { SEGMENT_MIN = 8 };
static void split(const assay_math_1 *m, const double *v, size_t from, size_t n, size_t *out, size_t max, size_t *count) {
    if (n < 2 * SEGMENT_MIN || *count >= max) return;
    lat_pettitt t = lat_pettitt_test(m, v + from, n);
    if (!(t.p < 0.01) || t.at < SEGMENT_MIN || n - t.at < SEGMENT_MIN) return;
    split(m, v, from, t.at, out, max, count);
    if (*count < max) out[(*count)++] = from + t.at;
    split(m, v, from + t.at, n - t.at, out, max, count);
}

size_t lat_change_points(const assay_math_1 *m, const double *v, size_t n, size_t *out, size_t max) {
    size_t count = 0;
    split(m, v, 0, n, out, max, &count);
    return count;
}

/* Approximate greatest common divisor of the gaps between distinct durations. */
double lat_timer_step(const double *durations, size_t n) {
    double *s = lat_sorted_copy(durations, n), g = 0.0, top = n ? s[n - 1] : 0.0, median = lat_quantile(s, n, 0.5);
    double zero = 1e-9 * top;
    size_t distinct = n ? 1 : 0;
    for (size_t i = 1; i < n; i++) {
        double a = s[i] - s[i - 1], b = g;
        if (!(a > 0.0)) continue;
        distinct++;
        while (b > 0.0) {
            double r = fmod(a, b);
            if (r < zero || b - r < zero) r = 0.0;
            a = b;
            b = r;
        }
        g = a;
        if (g < 1e-6 * median) break;
    }
    free(s);
    return distinct < 2 || !(g >= 1e-6 * median) ? NAN : g;
}

/* Where to cut sorted y, each side at least `least` long, so that the squares within the sides are least: those between are largest. */
static size_t best_cut(const double *y, size_t n, size_t least) {
    double centre = lat_mean(y, n), total = 0.0, sum = 0.0, most = -INFINITY;
    size_t best = least;
    for (size_t i = 0; i < n; i++) total += y[i] - centre;
    for (size_t k = 1; k + least <= n; k++) {
        sum += y[k - 1] - centre;
        double between = sum * sum / (double)k + (total - sum) * (total - sum) / (double)(n - k);
        if (k >= least && between > most) most = between, best = k;
    }
    return best;
}

/* Best least-squares split of the sorted logarithms of the levels; Ashman's D. */
lat_modes lat_two_modes(const assay_math_1 *m, const double *levels, size_t n) {
    lat_modes r = { false, false, NAN, NAN, NAN };
    size_t least = (n + 9) / 10 > 5 ? (n + 9) / 10 : 5;
    if (n < 2 * least) return r;
    double *s = lat_sorted_copy(levels, n), *y = lat_alloc(n, sizeof *y), ss[2] = { 0, 0 };
    for (size_t i = 0; i < n; i++) y[i] = m->log(s[i]);
    size_t best = best_cut(y, n, least);
    double mean[2] = { lat_mean(y, best), lat_mean(y + best, n - best) };
    for (size_t i = 0; i < n; i++) ss[i >= best] += (y[i] - mean[i >= best]) * (y[i] - mean[i >= best]);
    double spread = sqrt(ss[0] / (double)best + ss[1] / (double)(n - best));
    r.defined = true;
    r.ratio = m->exp(mean[1] - mean[0]);
    r.d = spread > 0.0 ? sqrt(2.0) * (mean[1] - mean[0]) / spread : (mean[1] > mean[0] ? INFINITY : 0.0);
    r.two = r.d > 5.0 && r.ratio > 1.1;
    r.split = (s[best - 1] + s[best]) / 2.0;
    free(s);
    free(y);
    return r;
}

double lat_theil_sen(const double *v, size_t n) {
    if (n < 2 || n > 5000) return NAN;
    double *s = lat_alloc(n * (n - 1) / 2, sizeof *s);
    size_t at = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++) s[at++] = (v[j] - v[i]) / (double)(j - i);
    double r = lat_median_of(s, at);
    free(s);
    return r;
}

double lat_mad(const double *v, size_t n) {
    double med = lat_median(v, n), *a = lat_alloc(n, sizeof *a);
    for (size_t i = 0; i < n; i++) a[i] = fabs(v[i] - med);
    double r = lat_median_of(a, n);
    free(a);
    return r;
}
