/* gates/latency/resample.c: bootstraps and randomisation tests on the counter-based generator: draw i of a named stream, so the
 * same numbers come out on every machine. Labels: latency/boot/SEED, latency/mbb/SEED, latency/rand/SEED, latency/flip/SEED. */
#include "latency.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t stream_of(const assay_math_1 *m, const char *what, const char *seed) {
    char label[96];
    snprintf(label, sizeof label, "latency/%s/%s", what, seed);
    return m->stream(label);
}

/* Draw i of a stream, as the host's u64 gives it (SplitMix64 in counter form; the worked vectors pin it): a bootstrap takes ten million,
 * and a call through the interface for each would cost more than the draw. */
static inline uint64_t draw(uint64_t seed, uint64_t i) {
    uint64_t z = seed + (i + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

/* floor(u n / 2^64) for n below 2^32, without a 128-bit type. */
static inline size_t index_of(uint64_t u, uint64_t n) { return (size_t)(((u >> 32) * n + (((u & 0xffffffffu) * n) >> 32)) >> 32); }

/* `count` indices below n from draw `at` on. Whole numbers, so every instruction set gives the same; AVX-512 multiplies eight at a time. */
#define INDICES_BODY { for (size_t i = 0; i < count; i++) out[i] = (uint32_t)index_of(draw(seed, at + i), n); }
static void indices_portable(uint64_t seed, uint64_t at, size_t n, size_t count, uint32_t *restrict out) INDICES_BODY
#if defined(__x86_64__) && defined(__GNUC__)
__attribute__((target("avx512f,avx512dq"))) static void indices_avx512(uint64_t seed, uint64_t at, size_t n, size_t count, uint32_t *restrict out) INDICES_BODY
static void indices(uint64_t seed, uint64_t at, size_t n, size_t count, uint32_t *out) {
    if (__builtin_cpu_supports("avx512dq")) indices_avx512(seed, at, n, count, out);
    else indices_portable(seed, at, n, count, out);
}
#else
#define indices indices_portable
#endif

static lat_pair ends(double *t, size_t count, double p_lo, double p_hi) {
    lat_sort(t, count);
    return (lat_pair){ lat_quantile(t, count, p_lo), lat_quantile(t, count, p_hi) };
}

/* Sums of the resamples, each added in the order of its draws; four at a time, because one addition waits for the one before. */
enum { LANES = 4, CHUNK = 256 };
static void boot_sums(const assay_math_1 *m, const double *v, size_t n, const char *seed, uint32_t resamples, double *sums) {
    uint64_t s = stream_of(m, "boot", seed);
    uint32_t index[LANES][CHUNK];
    for (uint32_t b = 0; b < resamples; b += LANES) {
        double sum[LANES] = { 0 };
        for (size_t from = 0; from < n; from += CHUNK) {
            size_t count = n - from < CHUNK ? n - from : CHUNK;
            for (uint32_t k = 0; k < LANES; k++) indices(s, (uint64_t)(b + k) * n + from, n, count, index[k]);
            for (size_t j = 0; j < count; j++)
                for (uint32_t k = 0; k < LANES; k++) sum[k] += v[index[k][j]];
        }
        for (uint32_t k = 0; k < LANES && b + k < resamples; k++) sums[b + k] = sum[k];
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
typedef struct ranked { double *sorted; uint32_t *rank, *count; size_t n; } ranked;
typedef struct keyed { double v; size_t i; } keyed;
static int by_value(const void *a, const void *b) {
    double x = ((const keyed *)a)->v, y = ((const keyed *)b)->v;
    return (x > y) - (x < y);
}

static ranked rank_values(const double *v, size_t n) {
    ranked r = { lat_alloc(n, sizeof(double)), lat_alloc(n, sizeof(uint32_t)), lat_alloc(n, sizeof(uint32_t)), n };
    keyed *k = lat_alloc(n, sizeof *k);
    for (size_t i = 0; i < n; i++) k[i] = (keyed){ v[i], i };
    qsort(k, n, sizeof *k, by_value);
    for (size_t i = 0; i < n; i++) r.sorted[i] = k[i].v, r.rank[k[i].i] = (uint32_t)i;
    free(k);
    return r;
}

static void ranked_free(ranked *r) { free(r->sorted), free(r->rank), free(r->count); }

/* Median of the counted resample; clears the counts. */
static double counted_median(ranked *r) {
    size_t lower = (r->n - 1) / 2, upper = r->n / 2, seen = 0, i = 0;
    while (seen + r->count[i] <= lower) seen += r->count[i++];
    double a = r->sorted[i];
    while (seen + r->count[i] <= upper) seen += r->count[i++];
    double b = r->sorted[i];
    memset(r->count, 0, r->n * sizeof *r->count);
    return a + (b - a) * 0.5;
}

lat_pair lat_boot_median(const assay_math_1 *m, const double *v, size_t n, const char *seed, uint32_t resamples, double confidence) {
    if (n == 0) return (lat_pair){ NAN, NAN };
    uint64_t s = stream_of(m, "boot", seed);
    double *t = lat_alloc(resamples, sizeof *t), tail = (1.0 - confidence) / 2.0;
    ranked r = rank_values(v, n);
    for (uint32_t b = 0; b < resamples; b++) {
        for (size_t j = 0; j < n; j++) r.count[r.rank[index_of(draw(s, (uint64_t)b * n + j), n)]]++;
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
            size_t i = index_of(draw(s, (uint64_t)b * K + k), n);
            for (size_t j = 0; j < L && taken < n; j++, taken++) {
                if (median) r.count[r.rank[i]]++;
                else sum += v[i];
                i = i + 1 < n ? i + 1 : 0;
            }
        }
        t[b] = median ? counted_median(&r) : sum / (double)n;
    }
    lat_pair p = ends(t, resamples, tail, 1.0 - tail);
    ranked_free(&r);
    free(t);
    return p;
}

/* Efron 1987. Replicates are compared with the estimate on their sums, added in the same order. */
lat_bca lat_bca_of_sums(const assay_math_1 *m, const double *v, size_t n, double *sums, uint32_t resamples, double confidence) {
    lat_bca r = { NAN, NAN, NAN, NAN, { NAN, NAN } };
    if (n < 2 || resamples == 0) return r;
    double sum = 0.0, below = 0.0, cube = 0.0, square = 0.0;
    for (size_t i = 0; i < n; i++) sum += v[i];
    for (uint32_t b = 0; b < resamples; b++) below += sums[b] < sum ? 1.0 : sums[b] == sum ? 0.5 : 0.0;
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
    if (!(r.p_lo >= 0.0 && r.p_hi <= 1.0)) return r;
    r.ci = ends(sums, resamples, r.p_lo, r.p_hi);
    r.ci.lo /= (double)n;
    r.ci.hi /= (double)n;
    return r;
}

lat_bca lat_bca_mean(const assay_math_1 *m, const double *v, size_t n, const char *seed, uint32_t resamples, double confidence) {
    double *sums = lat_alloc(resamples, sizeof *sums);
    boot_sums(m, v, n, seed, resamples, sums);
    lat_bca r = lat_bca_of_sums(m, v, n, sums, resamples, confidence);
    free(sums);
    return r;
}

/* ---- randomisation test under the design: orders balanced as realised within each process */
typedef struct flips {
    const double *d; const bool *real; const uint32_t *process; size_t n;
    bool *redrawn; double least, *work;          /* least: the observed abs(median), with room for rounding */
    unsigned char *reaches;                      /* bit r: whether d reaches `least` with redrawn order r; with the other sign bit 1 - r */
    uint64_t hits, total;
} flips;

static void flips_start(flips *f) {
    f->redrawn = lat_alloc(f->n, sizeof *f->redrawn);
    f->work = lat_alloc(f->n, sizeof *f->work);
    f->reaches = lat_alloc(f->n, 1);
    f->least = fabs(lat_median(f->d, f->n)) * (1.0 - 1e-12);
    for (size_t i = 0; i < f->n; i++) {
        unsigned plus = f->d[i] >= f->least, minus = -f->d[i] >= f->least;
        f->reaches[i] = (unsigned char)(f->real[i] ? plus << 1 | minus : minus << 1 | plus);
    }
}

static void flips_free(flips *f) { free(f->redrawn), free(f->work), free(f->reaches); }

/* Whether abs(median) reaches the observed one. Mostly that is clear from how many values lie beyond it: only where exactly half do
 * is the median itself needed. */
static void score(flips *f) {
    size_t above = 0, below = 0, half = f->n / 2;
    for (size_t i = 0; i < f->n; i++) {
        above += f->reaches[i] >> f->redrawn[i] & 1;
        below += f->reaches[i] >> !f->redrawn[i] & 1;
    }
    f->total++;
    if (above > half || below > half) f->hits++;
    if (above > half || below > half || f->n % 2 || (above < half && below < half)) return;
    for (size_t i = 0; i < f->n; i++) f->work[i] = f->redrawn[i] == f->real[i] ? f->d[i] : -f->d[i];
    f->hits += fabs(lat_median_of(f->work, f->n)) >= f->least;
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
static void redraw(flips *f, uint64_t stream, uint64_t round) {
    for (size_t i = 0; i < f->n; i++) f->redrawn[i] = f->real[i];
    for (size_t from = 0; from < f->n;) {
        size_t end = process_end(f, from);
        for (size_t i = end - 1; i > from; i--) {
            size_t j = from + index_of(draw(stream, round * f->n + i), i - from + 1);
            bool t = f->redrawn[i];
            f->redrawn[i] = f->redrawn[j];
            f->redrawn[j] = t;
        }
        from = end;
    }
}

double lat_randomisation_p(const assay_math_1 *m, const double *d, const bool *control_first, const uint32_t *process, size_t n, const char *seed) {
    if (n == 0 || isnan(lat_median(d, n))) return NAN;
    flips f = { .d = d, .real = control_first, .process = process, .n = n };
    double p;
    flips_start(&f);
    if (assignments(&f) <= 20000.0) {
        size_t end = process_end(&f, 0);
        enumerate(&f, 0, end, firsts(&f, 0, end));
        p = (double)f.hits / (double)f.total;
    } else {
        uint64_t stream = stream_of(m, "rand", seed);
        for (uint64_t round = 0; round < 10000; round++) {
            redraw(&f, stream, round);
            score(&f);
        }
        p = (1.0 + (double)f.hits) / (1.0 + (double)f.total);
    }
    flips_free(&f);
    return p;
}

/* ---- sign flips: every d keeps or changes its sign */
typedef struct signs { uint64_t stream, rounds; size_t words; bool all; } signs;
static signs signs_of(const assay_math_1 *m, size_t n, const char *seed) {
    bool all = n <= 14;
    return (signs){ stream_of(m, "flip", seed), all ? (uint64_t)1 << n : 10000, (n + 63) / 64, all };
}
/* Bit i of word w: value 64 w + i changes its sign in this round. */
static uint64_t signs_word(const signs *s, uint64_t round, size_t w) { return s->all ? round : draw(s->stream, round * s->words + w); }
static double signs_p(const signs *s, uint64_t hits) {
    return s->all ? (double)hits / (double)s->rounds : (1.0 + (double)hits) / (1.0 + (double)s->rounds);
}

/* Sum of d with the signs of one round: bit i of `word` for up to 64 values from d on. */
static double signed_sum(const double *d, size_t n, uint64_t word, double sum) {
    for (size_t i = 0; i < n; i++, word >>= 1) sum += word & 1 ? -d[i] : d[i];
    return sum;
}

double lat_sign_flip_p(const assay_math_1 *m, const double *d, size_t n, const char *seed) {
    if (n == 0) return NAN;
    signs s = signs_of(m, n, seed);
    uint64_t hits = 0;
    double observed = fabs(signed_sum(d, n, 0, 0.0)) * (1.0 - 1e-12);
    if (isnan(observed)) return NAN;
    for (uint64_t r = 0; r < s.rounds; r++) {
        double sum = 0.0;
        for (size_t w = 0; w < s.words; w++) sum = signed_sum(d + 64 * w, w + 1 < s.words ? 64 : n - 64 * w, signs_word(&s, r, w), sum);
        hits += fabs(sum) >= observed;
    }
    return signs_p(&s, hits);
}

double lat_sign_flip_p_median(const assay_math_1 *m, const double *d, size_t n, const char *seed) {
    if (n == 0 || isnan(lat_median(d, n))) return NAN;
    signs s = signs_of(m, n, seed);
    bool *kept = lat_alloc(n, sizeof *kept); /* all false */
    flips f = { .d = d, .real = kept, .n = n };
    flips_start(&f);
    for (uint64_t r = 0, word = 0; r < s.rounds; r++) {
        for (size_t i = 0; i < n; i++, word >>= 1) {
            if (i % 64 == 0) word = signs_word(&s, r, i / 64);
            f.redrawn[i] = word & 1;
        }
        score(&f);
    }
    flips_free(&f);
    free(kept);
    return signs_p(&s, f.hits);
}
