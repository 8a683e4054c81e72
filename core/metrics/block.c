/* Sums of one block of a pair: eight lanes, written with vector types so that each instruction set does the same additions. */
#include "metrics/metrics.h"
#include <string.h>

typedef double lanes __attribute__((vector_size(64)));
typedef int64_t masks __attribute__((vector_size(64)));
#define INLINE static inline __attribute__((always_inline))

/* Lane tree: ((0+4)+(2+6)) + ((1+5)+(3+7)), whatever the width of the machine's vectors. */
INLINE double tree(const lanes *v) {
    double a[ASSAY_LANES];
    memcpy(a, v, sizeof a);
    return ((a[0] + a[4]) + (a[2] + a[6])) + ((a[1] + a[5]) + (a[3] + a[7]));
}
INLINE double largest(const lanes *v) {
    double m = 0;
    for (int i = 0; i < ASSAY_LANES; i++) m = (*v)[i] > m ? (*v)[i] : m;
    return m;
}
INLINE uint64_t total(const masks *v) { /* a true comparison is -1 */
    int64_t n = 0;
    for (int i = 0; i < ASSAY_LANES; i++) n -= (*v)[i];
    return (uint64_t)n;
}
INLINE void raise_to(lanes *m, const lanes *x) { /* per lane: m = max(m, x) */
    masks more = *x > *m;
    *m = (lanes)(((masks)*x & more) | ((masks)*m & ~more));
}
INLINE void magnitude(lanes *x) { *x = (lanes)((masks)*x & INT64_MAX); }
INLINE void fetch(lanes *v, const double *p) { memcpy(v, p, sizeof *v); }

INLINE void classify(const double *r, const double *c, size_t n, double first_r, double first_c, assay_block_sums *o) {
    masks bad_r = {0}, bad_c = {0}, nan_c = {0}, zero_r = {0}, zero_c = {0}, moved_r = {0}, moved_c = {0};
    size_t i = 0;
    for (; i + ASSAY_LANES <= n; i += ASSAY_LANES) {
        lanes x, y;
        fetch(&x, r + i);
        fetch(&y, c + i);
        bad_r += ~(x - x == 0);
        bad_c += ~(y - y == 0);
        nan_c += y != y;
        zero_r += x == 0;
        zero_c += y == 0;
        moved_r += x != first_r;
        moved_c += y != first_c;
    }
    o->bad_r = total(&bad_r), o->bad_c = total(&bad_c), o->nan_c = total(&nan_c);
    o->zero_r = total(&zero_r), o->zero_c = total(&zero_c), o->moved_r = total(&moved_r), o->moved_c = total(&moved_c);
    for (; i < n; i++) {
        o->bad_r += !(r[i] - r[i] == 0), o->bad_c += !(c[i] - c[i] == 0), o->nan_c += c[i] != c[i];
        o->zero_r += r[i] == 0, o->zero_c += c[i] == 0, o->moved_r += r[i] != first_r, o->moved_c += c[i] != first_c;
    }
}

/* Sets the elements that fill up the last group of lanes; returns the number of groups. */
INLINE size_t pad(double *v, size_t n, double with) {
    size_t groups = (n + ASSAY_LANES - 1) / ASSAY_LANES;
    for (size_t i = n; i < groups * ASSAY_LANES; i++) v[i] = with;
    return groups;
}

INLINE void raw_sums(double *r, double *c, size_t n, assay_block_sums *o) {
    lanes sr = {0}, sc = {0}, rr = {0}, cc = {0}, rc = {0};
    size_t groups = pad(r, n, 0);
    pad(c, n, 0);
    for (size_t g = 0; g < groups; g++) {
        lanes x, y;
        fetch(&x, r + g * ASSAY_LANES);
        fetch(&y, c + g * ASSAY_LANES);
        sr += x, sc += y, rr += x * x, cc += y * y, rc += x * y;
    }
    o->r = tree(&sr), o->c = tree(&sc), o->rr = tree(&rr), o->cc = tree(&cc), o->rc = tree(&rc);
}

INLINE void distances(const double *r, const double *c, size_t n, assay_block_sums *o) {
    lanes sum = {0}, dd = {0}, max_d = {0}, peak = {0};
    for (size_t g = 0; g < (n + ASSAY_LANES - 1) / ASSAY_LANES; g++) {
        lanes x, y;
        fetch(&x, r + g * ASSAY_LANES);
        fetch(&y, c + g * ASSAY_LANES);
        y -= x;
        dd += y * y;
        magnitude(&y);
        magnitude(&x);
        sum += y;
        raise_to(&max_d, &y);
        raise_to(&peak, &x);
    }
    o->abs_d = tree(&sum), o->dd = tree(&dd), o->max_d = largest(&max_d), o->peak = largest(&peak);
}

/* About the block's own means, so that a large common mean costs no digits. */
INLINE void central_sums(double *r, double *c, size_t n, assay_block_sums *o) {
    double mean_r = o->r / (double)n, mean_c = o->c / (double)n;
    lanes rr = {0}, cc = {0}, rc = {0};
    size_t groups = pad(r, n, mean_r);
    pad(c, n, mean_c);
    for (size_t g = 0; g < groups; g++) {
        lanes x, y;
        fetch(&x, r + g * ASSAY_LANES);
        fetch(&y, c + g * ASSAY_LANES);
        x -= mean_r, y -= mean_c;
        rr += x * x, cc += y * y, rc += x * y;
    }
    o->var_r = tree(&rr), o->var_c = tree(&cc), o->cov = tree(&rc);
}

INLINE void kernel(double *r, double *c, size_t n, double first_r, double first_c, assay_block_sums *o) {
    classify(r, c, n, first_r, first_c, o);
    raw_sums(r, c, n, o);
    distances(r, c, n, o);
    central_sums(r, c, n, o);
}

typedef void kernel_fn(double *, double *, size_t, double, double, assay_block_sums *);
static void kernel_portable(double *r, double *c, size_t n, double fr, double fc, assay_block_sums *o) {
    kernel(r, c, n, fr, fc, o);
}
#if defined(__x86_64__)
__attribute__((target("avx2"))) static void kernel_avx2(double *r, double *c, size_t n, double fr, double fc,
                                                        assay_block_sums *o) {
    kernel(r, c, n, fr, fc, o);
}
__attribute__((target("avx512f,avx512dq"))) static void kernel_avx512(double *r, double *c, size_t n, double fr, double fc,
                                                                      assay_block_sums *o) {
    kernel(r, c, n, fr, fc, o);
}
enum { LEVELS = 3 };
static kernel_fn *kernel_at(int level) {
    if (level == 2) return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") ? kernel_avx512 : NULL;
    if (level == 1) return __builtin_cpu_supports("avx2") ? kernel_avx2 : NULL;
    return kernel_portable;
}
#else
enum { LEVELS = 1 };
static kernel_fn *kernel_at(int level) { return level == 0 ? kernel_portable : NULL; }
#endif

bool assay_block_kernel_at(int level, double *r, double *c, size_t n, double first_r, double first_c, assay_block_sums *out) {
    kernel_fn *fn = level >= 0 && level < LEVELS ? kernel_at(level) : NULL;
    if (fn) fn(r, c, n, first_r, first_c, out);
    return fn != NULL;
}

void assay_block_kernel(double *r, double *c, size_t n, double first_r, double first_c, assay_block_sums *out) {
    for (int level = LEVELS - 1; !assay_block_kernel_at(level, r, c, n, first_r, first_c, out); level--) {
    }
}
