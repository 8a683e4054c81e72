/* All figures of one pair of tensors, in one pass over both (statistics.md section 3.2, rules 1-4, 7, 11-15). */
#include "metrics/metrics.h"
#include "base/error.h"
#include "base/fmath.h"
#include <math.h>
#include <string.h>

/* Neumaier's compensated sum: block sums of very different size lose nothing. */
void assay_neumaier_add(assay_neumaier *s, double x) {
    double t = s->sum + x;
    s->comp += fabs(s->sum) >= fabs(x) ? (s->sum - t) + x : (x - t) + s->sum;
    s->sum = t;
}
double assay_neumaier_value(const assay_neumaier *s) {
    double v = s->sum + s->comp;
    return isnan(v) ? s->sum : v; /* an infinite sum has no compensation */
}

typedef struct running {
    assay_neumaier rr, cc, rc, abs_d, dd;
    double n, mean_r, mean_c, var_r, var_c, cov, peak, max_d, first_r, first_c;
    uint64_t moved_r, moved_c;
    int64_t peak_at, max_at;
} running;

/* Joins a block's central sums with those before it (Chan, Golub and LeVeque's update). */
static void join_moments(running *t, const assay_block_sums *b, double n) {
    double dr = b->r / n - t->mean_r, dc = b->c / n - t->mean_c, all = t->n + n, w = t->n * n / all;
    t->var_r += b->var_r + dr * dr * w;
    t->var_c += b->var_c + dc * dc * w;
    t->cov += b->cov + dr * dc * w;
    t->mean_r += dr * (n / all);
    t->mean_c += dc * (n / all);
    t->n = all;
}

static int64_t first_at(const double *r, const double *c, size_t n, double value) {
    for (size_t i = 0; i < n; i++)
        if (fabs((c ? c[i] - r[i] : r[i])) == value) return (int64_t)i;
    return 0;
}
static int64_t first_bad(const double *c, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!(c[i] - c[i] == 0)) return (int64_t)i;
    return 0;
}

static void take_block(running *t, assay_pair_stats *o, double *r, double *c, size_t n, int64_t start) {
    assay_block_sums b;
    if (start == 0) t->first_r = r[0], t->first_c = c[0];
    assay_block_kernel(r, c, n, t->first_r, t->first_c, &b);
    if (b.bad_c && o->first_nonfinite_cand < 0) o->first_nonfinite_cand = start + first_bad(c, n);
    o->nonfinite_ref += b.bad_r, o->nonfinite_cand += b.bad_c, o->nan_cand += b.nan_c;
    o->zeros_ref += b.zero_r, o->zeros_cand += b.zero_c;
    t->moved_r += b.moved_r, t->moved_c += b.moved_c;
    if (o->nonfinite_ref || o->nonfinite_cand) return;
    if (b.peak > t->peak) t->peak = b.peak, t->peak_at = start + first_at(r, NULL, n, b.peak);
    if (b.max_d > t->max_d) t->max_d = b.max_d, t->max_at = start + first_at(r, c, n, b.max_d);
    assay_neumaier_add(&t->rr, b.rr), assay_neumaier_add(&t->cc, b.cc), assay_neumaier_add(&t->rc, b.rc);
    assay_neumaier_add(&t->abs_d, b.abs_d), assay_neumaier_add(&t->dd, b.dd);
    join_moments(t, &b, (double)n);
}

static double over(double a, double b) { return b > 0 ? a / b : NAN; }
/* The root of the product is exact for equal norms: identical tensors have cosine 1. */
static double norm_product(double rr, double cc) {
    double p = rr * cc;
    return p > 0x1p-960 && p < 0x1p960 ? sqrt(p) : sqrt(rr) * sqrt(cc);
}
static double clamp1(double x) { return x > 1 ? 1 : x < -1 ? -1 : x; } /* beyond 1 is rounding only */

static void undefined(assay_pair_stats *o) {
    o->mean_ref = o->mean_cand = o->norm_ref = o->norm_cand = o->var_ref = o->var_cand = o->cosine = o->pearson = o->gain = NAN;
    o->max_abs = o->mean_abs = o->mse = o->rmse = o->rel_l2 = o->snr_db = o->psnr_db = NAN;
    o->peak_ref = o->rms_ref = o->max_abs_over_rms = o->energy_share_top1 = NAN;
    o->max_abs_index = o->energy_top1_index = -1;
}

static void decibels(assay_pair_stats *o) {
    o->snr_db = !o->identical && o->rel_l2 > 0 ? -20 * assay_log10(o->rel_l2) : NAN;
    o->psnr_db = !o->identical && o->peak_ref > 0 && o->mse > 0 ? 20 * assay_log10(o->peak_ref) - 10 * assay_log10(o->mse) : NAN;
}

static void conclude(const running *t, assay_pair_stats *o) {
    double n = (double)o->count, rr = assay_neumaier_value(&t->rr), cc = assay_neumaier_value(&t->cc),
           rc = assay_neumaier_value(&t->rc);
    o->constant_ref = t->moved_r == 0, o->constant_cand = t->moved_c == 0;
    o->mean_ref = t->mean_r, o->mean_cand = t->mean_c;
    o->norm_ref = sqrt(rr), o->norm_cand = sqrt(cc);
    o->var_ref = o->constant_ref ? 0 : t->var_r / n, o->var_cand = o->constant_cand ? 0 : t->var_c / n;
    o->cosine = clamp1(over(rc, norm_product(rr, cc)));
    o->pearson = o->constant_ref || o->constant_cand ? NAN : clamp1(over(t->cov, norm_product(t->var_r, t->var_c)));
    o->gain = over(rc, rr);
    o->identical = t->max_d == 0;
    o->max_abs = t->max_d, o->max_abs_index = o->identical ? -1 : t->max_at;
    o->mean_abs = assay_neumaier_value(&t->abs_d) / n;
    o->mse = assay_neumaier_value(&t->dd) / n, o->rmse = sqrt(o->mse);
    o->rel_l2 = over(sqrt(assay_neumaier_value(&t->dd)), o->norm_ref);
    o->peak_ref = t->peak, o->rms_ref = sqrt(rr / n);
    o->max_abs_over_rms = over(o->max_abs, o->rms_ref);
    o->energy_share_top1 = over(t->peak * t->peak, rr), o->energy_top1_index = t->peak > 0 ? t->peak_at : -1;
    decibels(o);
}

/* Indices count all elements, the skipped one too. */
static void undo_skip(int64_t skip, int64_t *index) {
    if (skip >= 0 && *index >= skip) ++*index;
}

void assay_pair_compute(const assay_tensor *ref, const assay_tensor *cand, int64_t skip, assay_pair_stats *o) {
    double r[ASSAY_BLOCK + ASSAY_LANES], c[ASSAY_BLOCK + ASSAY_LANES];
    int64_t total = assay_metrics_count(ref), taken = 0;
    running t = {.peak_at = 0};
    assay_reader a, b;
    *o = (assay_pair_stats){.struct_size = sizeof *o, .first_nonfinite_cand = -1};
    undefined(o);
    if (total > 0) assay_reader_init(&a, ref), assay_reader_init(&b, cand);
    for (int64_t start = 0; start < total; start += ASSAY_BLOCK) {
        size_t n = total - start < ASSAY_BLOCK ? (size_t)(total - start) : ASSAY_BLOCK;
        assay_reader_next(&a, n, r);
        assay_reader_next(&b, n, c);
        if (skip >= start && skip < start + (int64_t)n) {
            size_t k = (size_t)(skip - start), rest = (--n - k) * sizeof *r;
            memmove(r + k, r + k + 1, rest);
            memmove(c + k, c + k + 1, rest);
        }
        if (n) take_block(&t, o, r, c, n, taken);
        taken += (int64_t)n;
    }
    o->count = (uint64_t)taken;
    if (taken && !o->nonfinite_ref && !o->nonfinite_cand) conclude(&t, o);
    undo_skip(skip, &o->first_nonfinite_cand), undo_skip(skip, &o->max_abs_index), undo_skip(skip, &o->energy_top1_index);
}

assay_status assay_metrics_pair(const assay_tensor *ref, const assay_tensor *cand, int64_t skip, assay_pair_stats *out,
                                assay_error *err) {
    assay_status st = assay_metrics_check(ref, cand, err);
    if (st != ASSAY_OK) return st;
    if (skip >= assay_metrics_count(ref))
        return assay_fail(err, ASSAY_E_RANGE, "metrics: element %lld to leave out is past the end", (long long)skip);
    assay_pair_compute(ref, cand, skip < 0 ? -1 : skip, out);
    return ASSAY_OK;
}
