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

/* Hoare's selection: afterwards v[k] is the value of rank k, smaller ones stand before it, larger ones behind. */
static double select_rank(double *v, size_t n, size_t k) {
    for (size_t lo = 0, hi = n - 1; lo < hi;) {
        double pivot = v[lo + (hi - lo) / 2];
        size_t i = lo, j = hi;
        for (;;) {
            while (v[i] < pivot) i++;
            while (v[j] > pivot) j--;
            if (i >= j) break;
            double t = v[i];
            v[i++] = v[j];
            v[j--] = t;
        }
        if (k <= j) hi = j;
        else lo = j + 1;
    }
    return v[k];
}

double lat_median_of(double *v, size_t n) {
    if (n == 0) return NAN;
    double a = select_rank(v, n, (n - 1) / 2), b = a;
    if (n % 2 == 0) {
        b = v[n / 2];
        for (size_t i = n / 2 + 1; i < n; i++) b = v[i] < b ? v[i] : b;
    }
    return a + 0.5 * (b - a);
}

double lat_median(const double *v, size_t n) {
    double *c = lat_alloc(n, sizeof *c);
    if (n) memcpy(c, v, n * sizeof *c);
    double r = lat_median_of(c, n);
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
    lat_binomial x = lat_binomial_start(m, n, 0.5);
    for (size_t l = 1; l <= n / 2; l++) {
        double achieved = 1.0 - 2.0 * lat_binomial_next(m, &x);
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

/* Largest l with P(Binomial(n, p) < l) <= tail; 0 when there is none. */
static size_t tail_rank(const assay_math_1 *m, size_t n, double p, double tail, double *below) {
    lat_binomial x = lat_binomial_start(m, n, p);
    for (size_t l = 1; l <= n; l++) {
        double t = lat_binomial_next(m, &x);
        if (!(t <= tail)) return l - 1;
        *below = t;
    }
    return n;
}

/* Interval of the p-quantile with each tail at most (1 - confidence)/2; undefined = not estimable. */
lat_interval lat_quantile_interval(const assay_math_1 *m, const double *v, size_t n, double p, double confidence) {
    lat_interval r = { NAN, NAN, false, 0, 0, NAN };
    double below = 0.0, above = 0.0;
    r.rank_lo = tail_rank(m, n, p, (1.0 - confidence) / 2.0, &below);
    size_t from_top = tail_rank(m, n, 1.0 - p, (1.0 - confidence) / 2.0, &above);      /* P(X >= u) = P(n - X < n + 1 - u) */
    if (!r.rank_lo || !from_top) return (lat_interval){ NAN, NAN, false, 0, 0, NAN };
    r.rank_hi = n + 1 - from_top;
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

/* Doubles in their order as unsigned integers, and back. */
static uint64_t key_of(double x) {
    uint64_t u;
    memcpy(&u, &x, sizeof u);
    return u >> 63 ? ~u : u | (uint64_t)1 << 63;
}
static double of_key(uint64_t k) {
    double x;
    k = k >> 63 ? k & ~((uint64_t)1 << 63) : ~k;
    memcpy(&x, &k, sizeof x);
    return x;
}

/* Walsh averages (s_i + s_j)/2, i <= j, that are at most x: both indices move one way only. */
static size_t walsh_at_most(const double *s, size_t n, double x) {
    size_t count = 0;
    for (size_t i = 0, j = n; i < j; i++) {
        while (j > i && (s[i] + s[j - 1]) / 2.0 > x) j--;
        count += j - i;
    }
    return count;
}

/* The k-th smallest Walsh average (k from 1): bisection over the doubles themselves, so the result is one of the averages, exactly. */
static double walsh_rank(const double *s, size_t n, size_t k) {
    uint64_t lo = key_of(s[0]), hi = key_of(s[n - 1]);
    while (lo < hi) {
        uint64_t mid = lo + (hi - lo) / 2;
        if (walsh_at_most(s, n, of_key(mid)) >= k) hi = mid;
        else lo = mid + 1;
    }
    return of_key(lo) + 0.0;
}

lat_hl lat_hodges_lehmann(const double *v, size_t n, double confidence) {
    lat_hl r = { NAN, { NAN, NAN, false, 0, 0, NAN }, 0 };
    if (n == 0) return r;
    size_t count = n * (n + 1) / 2;
    double *s = lat_sorted_copy(v, n), low = walsh_rank(s, n, (count + 1) / 2), high = walsh_rank(s, n, count / 2 + 1);
    r.estimate = low + 0.5 * (high - low);
    if (n <= HL_MAX) r.k = signed_rank_k(n, 1.0 - confidence, &r.ci.achieved);
    if (r.k) {
        r.ci.defined = true;
        r.ci.rank_lo = r.k;
        r.ci.rank_hi = count + 1 - r.k;
        r.ci.lo = walsh_rank(s, n, r.ci.rank_lo);
        r.ci.hi = walsh_rank(s, n, r.ci.rank_hi);
    }
    free(s);
    return r;
}
