/* Metrics element by element: ULP distances, tolerance counts, differences, reading, equality of bits. */
#include "metrics/metrics.h"
#include "base/mem.h"
#include "tensor/tensor.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef void each_fn(void *ctx, const double *r, const double *c, size_t n, int64_t start);

/* Both tensors in C order, a block at a time. */
static void each_block(const assay_tensor *a, const assay_tensor *b, each_fn *fn, void *ctx) {
    double r[ASSAY_BLOCK], c[ASSAY_BLOCK];
    int64_t total = assay_metrics_count(a);
    if (total <= 0) return;
    assay_reader ra, rb;
    assay_reader_init(&ra, a), assay_reader_init(&rb, b);
    for (int64_t start = 0; start < total; start += ASSAY_BLOCK) {
        size_t n = total - start < ASSAY_BLOCK ? (size_t)(total - start) : ASSAY_BLOCK;
        assay_reader_next(&ra, n, r), assay_reader_next(&rb, n, c);
        fn(ctx, r, c, n, start);
    }
}

/* Halves as integers in order of value: neighbours differ by one, -0 and 0 are the same. The normal halves are rounded here, to
 * nearest even as assay_f64_to_f16 does; the few others there. */
static int32_t ordered(double v) {
    uint64_t u;
    memcpy(&u, &v, sizeof u);
    uint64_t magnitude = u & INT64_MAX;
    int32_t h;
    if (magnitude - 0x3f10000000000000u < 0x40effe0000000000u - 0x3f10000000000000u) { /* 2^-14 to below 65520 */
        uint64_t m = magnitude - 0x3f00000000000000u;
        h = (int32_t)((m + 0x1ffffffffffu + (m >> 42 & 1)) >> 42);
    } else
        h = assay_f64_to_f16(v) & 0x7fff;
    return u >> 63 ? -h : h;
}

enum { ULPS = 2 * 0x8000 };

static void count_ulps(void *ctx, const double *r, const double *c, size_t n, int64_t start) {
    assay_elements *e = ctx;
    (void)start;
    for (size_t i = 0; i < n; i++) {
        if (!(fabs(r[i]) >= e->least) || isnan(c[i])) continue;
        int32_t d = ordered(c[i]) - ordered(r[i]);
        e->at[d < 0 ? -d : d]++;
        e->n++;
    }
}

static void count_over(void *ctx, const double *r, const double *c, size_t n, int64_t start) {
    assay_elements *e = ctx;
    (void)start;
    for (size_t i = 0; i < n; i++) e->over += !(fabs(c[i] - r[i]) <= e->atol + e->rtol * fabs(r[i]));
}

static void count_both(void *ctx, const double *r, const double *c, size_t n, int64_t start) {
    if (((const assay_elements *)ctx)->at) count_ulps(ctx, r, c, n, start);
    count_over(ctx, r, c, n, start);
}
void assay_elements_count(assay_elements *e, const double *r, const double *c, size_t n) { count_both(e, r, c, n, 0); }

static double ulp_of_rank(const assay_elements *e, uint64_t rank) {
    uint64_t seen = 0;
    for (int i = 0; i < ULPS; i++)
        if ((seen += e->at[i]) > rank) return i;
    return NAN;
}

static double ulp_quantile(const assay_elements *e, double p) { /* type 7 */
    double pos = (double)(e->n - 1) * p, low = floor(pos);
    double a = ulp_of_rank(e, (uint64_t)low), b = ulp_of_rank(e, (uint64_t)ceil(pos));
    return a + (b - a) * (pos - low);
}

/* ULPs are left out where the reference has no RMS above 0. */
static void ulps_open(assay_elements *e, double rms_ref) {
    e->least = rms_ref * 0x1p-10;
    if (rms_ref > 0) e->at = assay_xcalloc(ULPS, sizeof *e->at);
}
static void ulps_close(assay_elements *e, double out[3]) {
    out[0] = out[1] = out[2] = NAN;
    if (e->n) out[0] = ulp_quantile(e, 1), out[1] = ulp_quantile(e, 0.5), out[2] = ulp_quantile(e, 0.99);
    free(e->at);
}

assay_status assay_metrics_ulp16(const assay_tensor *ref, const assay_tensor *cand, double out[3], assay_error *err) {
    assay_status st = assay_metrics_check(ref, cand, err);
    if (st != ASSAY_OK) return st;
    assay_pair_stats self;
    assay_elements e = {0};
    assay_pair_compute(ref, ref, -1, &self);
    ulps_open(&e, self.rms_ref);
    if (e.at) each_block(ref, cand, count_ulps, &e);
    ulps_close(&e, out);
    return ASSAY_OK;
}

assay_status assay_metrics_elements_over(const assay_tensor *ref, const assay_tensor *cand, double atol, double rtol, uint64_t *n,
                                         assay_error *err) {
    assay_status st = assay_metrics_check(ref, cand, err);
    assay_elements e = {.atol = atol, .rtol = rtol};
    if (st != ASSAY_OK) return st;
    each_block(ref, cand, count_over, &e);
    *n = e.over;
    return ASSAY_OK;
}

assay_status assay_metrics_further(const assay_tensor *ref, const assay_tensor *cand, assay_further *io, assay_error *err) {
    assay_status st = assay_metrics_check(ref, cand, err);
    assay_elements e = {.atol = io->atol, .rtol = io->rtol};
    io->cosine = io->share = NAN;
    if (st != ASSAY_OK) return st;
    ulps_open(&e, io->rms_ref);
    if (io->axes)
        st = assay_centred_compute(ref, cand, io, &e, err);
    else
        each_block(ref, cand, count_both, &e);
    ulps_close(&e, io->ulp);
    io->over = e.over;
    return st;
}

static void subtract(void *ctx, const double *r, const double *c, size_t n, int64_t start) {
    double *out = (double *)ctx + start;
    for (size_t i = 0; i < n; i++) out[i] = r[i] - c[i];
}
assay_status assay_metrics_difference(const assay_tensor *a, const assay_tensor *b, double *out, assay_error *err) {
    assay_status st = assay_metrics_check(a, b, err);
    if (st == ASSAY_OK) each_block(a, b, subtract, out);
    return st;
}

assay_status assay_metrics_read(const assay_tensor *t, int64_t first, uint64_t n, double *out, assay_error *err) {
    assay_status st = assay_metrics_check(t, t, err);
    if (st != ASSAY_OK) return st;
    int64_t total = assay_metrics_count(t);
    if (first < 0 || first > total || n > (uint64_t)(total - first))
        return assay_fail(err, ASSAY_E_RANGE, "metrics: elements past the end");
    assay_reader rd;
    if (!n) return ASSAY_OK;
    assay_reader_init(&rd, t);
    assay_reader_seek(&rd, first);
    assay_reader_next(&rd, n, out);
    return ASSAY_OK;
}

double assay_metrics_load(const assay_tensor *t, int64_t flat) {
    double v;
    return assay_metrics_read(t, flat, 1, &v, NULL) == ASSAY_OK ? v : NAN;
}

int assay_metrics_bytes_equal(const assay_tensor *a, const assay_tensor *b) {
    if (a->dtype != b->dtype || assay_metrics_check(a, b, NULL) != ASSAY_OK) return 0;
    size_t size = assay_dtype_size(a->dtype);
    int64_t n = assay_metrics_count(a);
    if (assay_tensor_is_contiguous(a) && assay_tensor_is_contiguous(b))
        return n <= 0 || memcmp(a->data, b->data, (size_t)n * size) == 0;
    for (int64_t i = 0; i < n; i++)
        if (memcmp(assay_tensor_at(a, i), assay_tensor_at(b, i), size) != 0) return 0;
    return 1;
}
