/* gates/latency/resample.c: bootstraps and randomisation tests on the counter-based generator: draw i of a named stream, so the
 * same numbers come out on every machine. Labels: latency/boot/SEED, latency/mbb/SEED, latency/rand/SEED, latency/flip/SEED. */
#include "latency.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t stream_of(const assay_math_1 *m, const char *what, const char *seed) {
    char label[96];
    snprintf(label, sizeof label, "latency/%s/%s", what, seed);
    return m->stream(label);
}

/* floor(u n / 2^64) without a 128-bit type. */
static size_t index_of(uint64_t u, uint64_t n) {
    uint64_t lo = u & 0xffffffffu, hi = u >> 32;
    return (size_t)((hi * n + ((lo * n) >> 32)) >> 32);
}

static lat_pair ends(double *t, size_t count, double p_lo, double p_hi) {
    lat_sort(t, count);
    return (lat_pair){ lat_quantile(t, count, p_lo), lat_quantile(t, count, p_hi) };
}

static void boot_sums(const assay_math_1 *m, const double *v, size_t n, const char *seed, uint32_t resamples, double *sums) {
    uint64_t s = stream_of(m, "boot", seed);
    for (uint32_t b = 0; b < resamples; b++) {
        double sum = 0.0;
        for (size_t j = 0; j < n; j++) sum += v[index_of(m->u64(s, (uint64_t)b * n + j), n)];
        sums[b] = sum;
    }
}

lat_pair lat_boot_mean(const assay_math_1 *m, const double *v, size_t n, const char *seed, uint32_t resamples, double confidence) {
    if (n == 0) return (lat_pair){ NAN, NAN };
    double *t = lat_alloc(resamples, sizeof *t), tail = (1.0 - confidence) / 2.0;
    boot_sums(m, v, n, seed, resamples, t);
    lat_pair r = ends(t, resamples, tail, 1.0 - tail);
    free(t);
    return (lat_pair){ r.lo / (double)n, r.hi / (double)n };
}

/* Order of the values, so that the median of a resample is found by counting ranks instead of sorting. */
typedef struct ranked { double *sorted; size_t *rank, *count, n; } ranked;
typedef struct keyed { double v; size_t i; } keyed;
static int by_value(const void *a, const void *b) {
    double x = ((const keyed *)a)->v, y = ((const keyed *)b)->v;
    return (x > y) - (x < y);
}

static ranked rank_values(const double *v, size_t n) {
    ranked r = { lat_alloc(n, sizeof(double)), lat_alloc(n, sizeof(size_t)), lat_alloc(n, sizeof(size_t)), n };
    keyed *k = lat_alloc(n, sizeof *k);
    for (size_t i = 0; i < n; i++) k[i] = (keyed){ v[i], i };
    qsort(k, n, sizeof *k, by_value);
    for (size_t i = 0; i < n; i++) r.sorted[i] = k[i].v, r.rank[k[i].i] = i;
    free(k);
    return r;
}

static void ranked_free(ranked *r) { free(r->sorted), free(r->rank), free(r->count); }

/* Median of the counted resample; clears the counts. */
static double counted_median(ranked *r) {
    size_t lower = (r->n - 1) / 2, upper = r->n / 2, seen = 0;
    double a = NAN, b = NAN;
    for (size_t i = 0; i < r->n; i++) {
        size_t c = r->count[i];
        r->count[i] = 0;
        if (c && lower >= seen && lower < seen + c) a = r->sorted[i];
        if (c && upper >= seen && upper < seen + c) b = r->sorted[i];
        seen += c;
    }
    return a + (b - a) * 0.5;
}

lat_pair lat_boot_median(const assay_math_1 *m, const double *v, size_t n, const char *seed, uint32_t resamples, double confidence) {
    if (n == 0) return (lat_pair){ NAN, NAN };
    uint64_t s = stream_of(m, "boot", seed);
    double *t = lat_alloc(resamples, sizeof *t), tail = (1.0 - confidence) / 2.0;
    ranked r = rank_values(v, n);
    for (uint32_t b = 0; b < resamples; b++) {
        for (size_t j = 0; j < n; j++) r.count[r.rank[index_of(m->u64(s, (uint64_t)b * n + j), n)]]++;
        t[b] = counted_median(&r);
    }
    lat_pair p = ends(t, resamples, tail, 1.0 - tail);
    ranked_free(&r);
    free(t);
    return p;
}

lat_pair lat_block_boot(const assay_math_1 *m, const double *v, size_t n, size_t block_length, bool median, const char *seed, uint32_t resamples, double confidence) {
    if (n == 0) return (lat_pair){ NAN, NAN };
    size_t L = (n + 5) / 6;
    if (block_length > L) L = block_length < n ? block_length : n;
    size_t K = (n + L - 1) / L;
    uint64_t s = stream_of(m, "mbb", seed);
    double *t = lat_alloc(resamples, sizeof *t), tail = (1.0 - confidence) / 2.0;
    ranked r = rank_values(v, n);
    for (uint32_t b = 0; b < resamples; b++) {
        double sum = 0.0;
        size_t taken = 0;
        for (size_t k = 0; k < K; k++) {
            size_t at = index_of(m->u64(s, (uint64_t)b * K + k), n);
            for (size_t j = 0; j < L && taken < n; j++, taken++) {
                size_t i = (at + j) % n;
                sum += v[i];
                r.count[r.rank[i]]++;
            }
        }
        double med = counted_median(&r);
        t[b] = median ? med : sum / (double)n;
    }
    lat_pair p = ends(t, resamples, tail, 1.0 - tail);
    ranked_free(&r);
    free(t);
    return p;
}

/* Efron 1987. Replicates are compared with the estimate on their sums, added in the same order. */
lat_bca lat_bca_mean(const assay_math_1 *m, const double *v, size_t n, const char *seed, uint32_t resamples, double confidence) {
    lat_bca r = { NAN, NAN, NAN, NAN, { NAN, NAN } };
    if (n < 2) return r;
    double *t = lat_alloc(resamples, sizeof *t), sum = 0.0, below = 0.0, cube = 0.0, square = 0.0;
    for (size_t i = 0; i < n; i++) sum += v[i];
    boot_sums(m, v, n, seed, resamples, t);
    for (uint32_t b = 0; b < resamples; b++) below += t[b] < sum ? 1.0 : t[b] == sum ? 0.5 : 0.0;
    for (size_t i = 0; i < n; i++) {             /* jm - j_i = (v_i - mean)/(n - 1) */
        double u = (v[i] - sum / (double)n) / (double)(n - 1);
        cube += u * u * u;
        square += u * u;
    }
    r.z0 = m->normal_quantile(below / resamples);
    r.a = square > 0.0 ? cube / (6.0 * square * sqrt(square)) : 0.0;
    double z = m->normal_quantile(0.5 + confidence / 2.0), lo = r.z0 - z, hi = r.z0 + z;
    r.p_lo = m->normal_cdf(r.z0 + lo / (1.0 - r.a * lo));
    r.p_hi = m->normal_cdf(r.z0 + hi / (1.0 - r.a * hi));
    if (r.p_lo >= 0.0 && r.p_hi <= 1.0) {
        r.ci = ends(t, resamples, r.p_lo, r.p_hi);
        r.ci.lo /= (double)n;
        r.ci.hi /= (double)n;
    }
    free(t);
    return r;
}

/* ---- randomisation test under the design: orders balanced as realised within each process */
typedef struct flips {
    const double *d; const bool *real; const uint32_t *process; size_t n;
    bool *redrawn; double observed, *work; uint64_t hits, total;
} flips;

static void score(flips *f) {
    for (size_t i = 0; i < f->n; i++) f->work[i] = f->redrawn[i] == f->real[i] ? f->d[i] : -f->d[i];
    double stat = fabs(lat_median(f->work, f->n));
    f->hits += stat >= f->observed * (1.0 - 1e-12);
    f->total++;
}

static size_t process_end(const flips *f, size_t from) {
    size_t end = from + 1;
    while (end < f->n && f->process[end] == f->process[from]) end++;
    return end;
}

static size_t firsts(const flips *f, size_t from, size_t end) {
    size_t k = 0;
    for (size_t i = from; i < end; i++) k += f->real[i];
    return k;
}

static double assignments(const flips *f) {
    double all = 1.0;
    for (size_t from = 0; from < f->n;) {
        size_t end = process_end(f, from), k = firsts(f, from, end), size = end - from;
        for (size_t i = 0; i < k && all < 1e9; i++) all = all * (double)(size - i) / (double)(i + 1);
        from = end;
    }
    return floor(all + 0.5);
}

/* All ways to choose `left` firsts among [at, end), then the next process. */
static void enumerate(flips *f, size_t at, size_t end, size_t left) {
    if (at == end) {
        if (end == f->n) score(f);
        else {
            size_t next = process_end(f, end);
            enumerate(f, end, next, firsts(f, end, next));
        }
        return;
    }
    if (left > 0) {
        f->redrawn[at] = true;
        enumerate(f, at + 1, end, left - 1);
    }
    if (end - at > left) {
        f->redrawn[at] = false;
        enumerate(f, at + 1, end, left);
    }
}

/* One random redraw: Fisher-Yates within each process. */
static void redraw(const assay_math_1 *m, flips *f, uint64_t stream, uint64_t draw) {
    for (size_t i = 0; i < f->n; i++) f->redrawn[i] = f->real[i];
    for (size_t from = 0; from < f->n;) {
        size_t end = process_end(f, from);
        for (size_t i = end - 1; i > from; i--) {
            size_t j = from + index_of(m->u64(stream, draw * f->n + i), i - from + 1);
            bool t = f->redrawn[i];
            f->redrawn[i] = f->redrawn[j];
            f->redrawn[j] = t;
        }
        from = end;
    }
}

double lat_randomisation_p(const assay_math_1 *m, const double *d, const bool *control_first, const uint32_t *process, size_t n, const char *seed) {
    if (n == 0) return NAN;
    flips f = { d, control_first, process, n, lat_alloc(n, sizeof(bool)), fabs(lat_median(d, n)), lat_alloc(n, sizeof(double)), 0, 0 };
    double p;
    if (assignments(&f) <= 20000.0) {
        size_t end = process_end(&f, 0);
        enumerate(&f, 0, end, firsts(&f, 0, end));
        p = (double)f.hits / (double)f.total;
    } else {
        uint64_t stream = stream_of(m, "rand", seed);
        for (uint64_t draw = 0; draw < 10000; draw++) {
            redraw(m, &f, stream, draw);
            score(&f);
        }
        p = (1.0 + (double)f.hits) / (1.0 + (double)f.total);
    }
    free(f.redrawn);
    free(f.work);
    return p;
}

double lat_sign_flip_p(const assay_math_1 *m, const double *d, size_t n, const char *seed) {
    if (n == 0) return NAN;
    bool all = n <= 14;
    uint64_t stream = stream_of(m, "flip", seed), rounds = all ? (uint64_t)1 << n : 10000, hits = 0;
    double observed = 0.0;
    for (size_t i = 0; i < n; i++) observed += d[i];
    observed = fabs(observed) * (1.0 - 1e-12);
    for (uint64_t r = 0; r < rounds; r++) {
        double sum = 0.0;
        for (size_t i = 0; i < n; i++) {
            uint64_t bit = all ? r >> i : m->u64(stream, r * ((n + 63) / 64) + i / 64) >> (i % 64);
            sum += bit & 1 ? -d[i] : d[i];
        }
        hits += fabs(sum) >= observed;
    }
    return all ? (double)hits / (double)rounds : (1.0 + (double)hits) / (1.0 + (double)rounds);
}
