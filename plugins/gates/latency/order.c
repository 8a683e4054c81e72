/* gates/latency/order.c: sorting, type-7 quantiles, distribution-free intervals and the Hodges-Lehmann estimate. */
#include "latency.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

void *lat_alloc(size_t n, size_t size) {
    void *p = calloc(n ? n : 1, size);
    if (!p) abort();
    return p;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void lat_sort(double *v, size_t n) {
    if (n > 1) qsort(v, n, sizeof *v, ascending);
}

double *lat_sorted_copy(const double *v, size_t n) {
    double *c = malloc((n ? n : 1) * sizeof *c);
    if (!c) abort();
    if (n) memcpy(c, v, n * sizeof *c);
    lat_sort(c, n);
    return c;
}

double lat_quantile(const double *sorted, size_t n, double p) {
    if (n == 0) return NAN;
    double at = (double)(n - 1) * p, below = floor(at);
    size_t i = (size_t)below;
    if (i + 1 >= n) return sorted[n - 1];
    return sorted[i] + (at - below) * (sorted[i + 1] - sorted[i]);
}

double lat_median(const double *v, size_t n) {
    double *c = lat_sorted_copy(v, n), r = lat_quantile(c, n, 0.5);
    free(c);
    return r;
}

/* Neumaier's compensated sum. */
static double sum_of(const double *v, size_t n) {
    double s = 0.0, c = 0.0;
    for (size_t i = 0; i < n; i++) {
        double t = s + v[i];
        c += fabs(s) >= fabs(v[i]) ? (s - t) + v[i] : (v[i] - t) + s;
        s = t;
    }
    return s + c;
}

double lat_mean(const double *v, size_t n) { return n ? sum_of(v, n) / (double)n : NAN; }

double lat_sd(const double *v, size_t n) {
    if (n < 2) return NAN;
    double mean = lat_mean(v, n), s = 0.0;
    for (size_t i = 0; i < n; i++) s += (v[i] - mean) * (v[i] - mean);
    return sqrt(s / (double)(n - 1));
}

/* Largest l with P(l <= Binomial(n, 1/2) <= n - l) >= confidence; achieved is that probability. */
lat_interval lat_order_interval(const assay_math_1 *m, const double *v, size_t n, double confidence) {
    lat_interval r = { NAN, NAN, false, 0, 0, NAN };
    for (size_t l = 1; l <= n / 2; l++) {
        double achieved = 1.0 - 2.0 * lat_binomial_below(m, n, 0.5, l);
        if (!(achieved >= confidence)) break;
        r.rank_lo = l;
        r.achieved = achieved;
    }
    if (!r.rank_lo) return r;
    double *s = lat_sorted_copy(v, n);
    r.rank_hi = n + 1 - r.rank_lo;
    r.lo = s[r.rank_lo - 1];
    r.hi = s[r.rank_hi - 1];
    r.defined = true;
    free(s);
    return r;
}

/* Interval of the p-quantile with each tail at most (1 - confidence)/2; undefined = not estimable. */
lat_interval lat_quantile_interval(const assay_math_1 *m, const double *v, size_t n, double p, double confidence) {
    lat_interval r = { NAN, NAN, false, 0, 0, NAN };
    double tail = (1.0 - confidence) / 2.0, below = 0.0, above = 0.0;
    for (size_t l = 1; l <= n; l++) {            /* P(X < l) grows with l */
        double t = lat_binomial_below(m, n, p, l);
        if (!(t <= tail)) break;
        r.rank_lo = l;
        below = t;
    }
    for (size_t u = n; u >= 1; u--) {            /* P(X >= u) = P(n - X <= n - u) grows as u falls */
        double t = lat_binomial_below(m, n, 1.0 - p, n - u + 1);
        if (!(t <= tail)) break;
        r.rank_hi = u;
        above = t;
    }
    if (!r.rank_lo || !r.rank_hi) return r;
    double *s = lat_sorted_copy(v, n);
    r.lo = s[r.rank_lo - 1];
    r.hi = s[r.rank_hi - 1];
    r.achieved = 1.0 - below - above;
    r.defined = true;
    free(s);
    return r;
}

enum { HL_MAX = 400 };                           /* above this the exact table grows beyond its use: no interval */

/* Largest k with 2 P(W+ <= k - 1) <= alpha under the exact signed-rank distribution; 0 when there is none. */
static size_t signed_rank_k(size_t n, double alpha, double *achieved) {
    size_t top = n * (n + 1) / 2;
    double *p = calloc(top + 1, sizeof *p);
    if (!p) abort();
    p[0] = 1.0;
    for (size_t i = 1, reach = 0; i <= n; i++) {
        reach += i;
        for (size_t w = reach + 1; w-- > 0;) p[w] = 0.5 * (p[w] + (w >= i ? p[w - i] : 0.0));
    }
    size_t k = 0;
    double cumulative = 0.0;
    for (size_t w = 0; w <= top / 2; w++) {
        cumulative += p[w];
        if (!(2.0 * cumulative <= alpha)) break;
        k = w + 1;
        *achieved = 1.0 - 2.0 * cumulative;
    }
    free(p);
    return k;
}

lat_hl lat_hodges_lehmann(const double *v, size_t n, double confidence) {
    lat_hl r = { NAN, { NAN, NAN, false, 0, 0, NAN }, 0 };
    if (n == 0 || n > 4000) return r;
    size_t count = n * (n + 1) / 2, at = 0;
    double *w = malloc(count * sizeof *w);
    if (!w) abort();
    for (size_t i = 0; i < n; i++)
        for (size_t j = i; j < n; j++) w[at++] = (v[i] + v[j]) / 2.0;
    lat_sort(w, count);
    r.estimate = lat_quantile(w, count, 0.5);
    if (n <= HL_MAX) r.k = signed_rank_k(n, 1.0 - confidence, &r.ci.achieved);
    if (r.k) {
        r.ci.defined = true;
        r.ci.rank_lo = r.k;
        r.ci.rank_hi = count + 1 - r.k;
        r.ci.lo = w[r.k - 1];
        r.ci.hi = w[count - r.k];
    }
    free(w);
    return r;
}
