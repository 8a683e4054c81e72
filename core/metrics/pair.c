/* All figures of one pair of tensors, in one pass over both (statistics.md section 3.2, rules 1-4, 7, 11-15); float64 sums, the peak
 * from the reference (M182). */
#include "metrics/metrics.h"
#include "base/error.h"
#include "base/fmath.h"
#include "base/mem.h"
#include "base/threads.h"
#include <math.h>
#include <stdlib.h>
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
    bool moved_r, moved_c;
    int64_t peak_block, max_block;
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

/* A pair cut into blocks; `skip` = flat index left out, or -1. */
typedef struct cut {
    const assay_tensor *ref, *cand;
    int64_t total, skip, blocks;
    int64_t window, span; /* blocks that `sums` holds: the first, and how many */
    assay_block_sums *sums;
} cut;
typedef struct buffers {
    double r[ASSAY_BLOCK], c[ASSAY_BLOCK];
} buffers;

/* The next block of two readers that stand at its start. */
static assay_block next_block(const cut *p, int64_t index, assay_reader *ra, assay_reader *rb, buffers *b) {
    int64_t start = index * ASSAY_BLOCK, left = p->total - start;
    assay_block k = {.n = left < ASSAY_BLOCK ? (size_t)left : ASSAY_BLOCK};
    if (p->skip < start || p->skip >= start + (int64_t)k.n) {
        k.r = assay_reader_span(ra, k.n, b->r, &k.type_r);
        k.c = assay_reader_span(rb, k.n, b->c, &k.type_c);
        return k;
    }
    assay_reader_next(ra, k.n, b->r), assay_reader_next(rb, k.n, b->c);
    size_t hole = (size_t)(p->skip - start), rest = (--k.n - hole) * sizeof *b->r;
    memmove(b->r + hole, b->r + hole + 1, rest), memmove(b->c + hole, b->c + hole + 1, rest);
    k.r = b->r, k.c = b->c; /* two arrays of double: types 0 */
    return k;
}
static void read_at(const cut *p, int64_t block, assay_reader *ra, assay_reader *rb) {
    assay_reader_init(ra, p->ref), assay_reader_init(rb, p->cand);
    assay_reader_seek(ra, block * ASSAY_BLOCK), assay_reader_seek(rb, block * ASSAY_BLOCK);
}

enum { TASK_BLOCKS = 64, WINDOW_BLOCKS = 32 * TASK_BLOCKS, FEW_BLOCKS = 16 };
static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static void sum_range(const cut *p, int64_t first, int64_t end) {
    assay_reader ra, rb;
    buffers b;
    read_at(p, first, &ra, &rb);
    for (int64_t i = first; i < end; i++) {
        assay_block k = next_block(p, i, &ra, &rb, &b);
        if (k.n)
            assay_block_sum(&k, &p->sums[i - p->window]);
        else
            p->sums[i - p->window] = (assay_block_sums){0}; /* its only element is left out */
    }
}
static void sum_blocks(void *ctx, uint64_t task, uint32_t worker) {
    const cut *p = ctx;
    int64_t first = p->window + (int64_t)task * TASK_BLOCKS;
    (void)worker;
    sum_range(p, first, least(first + TASK_BLOCKS, p->blocks));
}

/* One block as doubles; returns the number of elements. */
static size_t block_as_doubles(const cut *p, int64_t block, buffers *b) {
    assay_reader ra, rb;
    read_at(p, block, &ra, &rb);
    size_t n = (size_t)least(ASSAY_BLOCK, p->total - block * ASSAY_BLOCK);
    assay_reader_next(&ra, n, b->r), assay_reader_next(&rb, n, b->c);
    return n;
}

/* Flat index of the first element of a block that fits; the one left out never does. */
typedef bool fits_fn(double r, double c, double value);
static bool fits_peak(double r, double c, double value) { return (void)c, fabs(r) == value; }
static bool fits_difference(double r, double c, double value) { return fabs(c - r) == value; }
static bool fits_nonfinite(double r, double c, double value) { return (void)r, (void)value, !(c - c == 0); }
static int64_t index_of(const cut *p, int64_t block, fits_fn *fits, double value) {
    buffers b;
    size_t n = block_as_doubles(p, block, &b);
    for (size_t i = 0; i < n; i++)
        if (block * ASSAY_BLOCK + (int64_t)i != p->skip && fits(b.r[i], b.c[i], value)) return block * ASSAY_BLOCK + (int64_t)i;
    return -1;
}

static void take_block(running *t, assay_pair_stats *o, const cut *p, int64_t block) {
    const assay_block_sums *b = &p->sums[block - p->window];
    int64_t n = least(ASSAY_BLOCK, p->total - block * ASSAY_BLOCK) - (p->skip >= 0 && p->skip / ASSAY_BLOCK == block);
    if (!n) return;
    if (!o->count) t->first_r = b->first_r, t->first_c = b->first_c;
    o->count += (uint64_t)n;
    if (b->bad_c && o->first_nonfinite_cand < 0) o->first_nonfinite_cand = index_of(p, block, fits_nonfinite, 0);
    o->nonfinite_ref += b->bad_r, o->nonfinite_cand += b->bad_c, o->nan_cand += b->nan_c;
    o->zeros_ref += b->zero_r, o->zeros_cand += b->zero_c;
    t->moved_r |= b->moved_r || b->first_r != t->first_r, t->moved_c |= b->moved_c || b->first_c != t->first_c;
    if (o->nonfinite_ref || o->nonfinite_cand) return;
    if (b->peak > t->peak) t->peak = b->peak, t->peak_block = block;
    if (b->max_d > t->max_d) t->max_d = b->max_d, t->max_block = block;
    assay_neumaier_add(&t->rr, b->rr), assay_neumaier_add(&t->cc, b->cc), assay_neumaier_add(&t->rc, b->rc);
    assay_neumaier_add(&t->abs_d, b->abs_d), assay_neumaier_add(&t->dd, b->dd);
    join_moments(t, b, (double)n);
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

static void conclude(const running *t, const cut *p, assay_pair_stats *o) {
    double n = (double)o->count, rr = assay_neumaier_value(&t->rr), cc = assay_neumaier_value(&t->cc),
           rc = assay_neumaier_value(&t->rc);
    o->constant_ref = !t->moved_r, o->constant_cand = !t->moved_c;
    o->mean_ref = t->mean_r, o->mean_cand = t->mean_c;
    o->norm_ref = sqrt(rr), o->norm_cand = sqrt(cc);
    o->var_ref = o->constant_ref ? 0 : t->var_r / n, o->var_cand = o->constant_cand ? 0 : t->var_c / n;
    o->cosine = clamp1(over(rc, norm_product(rr, cc)));
    o->pearson = o->constant_ref || o->constant_cand ? NAN : clamp1(over(t->cov, norm_product(t->var_r, t->var_c)));
    o->gain = over(rc, rr);
    o->identical = t->max_d == 0;
    o->max_abs = t->max_d, o->max_abs_index = o->identical ? -1 : index_of(p, t->max_block, fits_difference, t->max_d);
    o->mean_abs = assay_neumaier_value(&t->abs_d) / n;
    o->mse = assay_neumaier_value(&t->dd) / n, o->rmse = sqrt(o->mse);
    o->rel_l2 = over(sqrt(assay_neumaier_value(&t->dd)), o->norm_ref);
    o->peak_ref = t->peak, o->rms_ref = sqrt(rr / n);
    o->max_abs_over_rms = over(o->max_abs, o->rms_ref);
    o->energy_share_top1 = over(t->peak * t->peak, rr);
    o->energy_top1_index = t->peak > 0 ? index_of(p, t->peak_block, fits_peak, t->peak) : -1;
    decibels(o);
}

static uint32_t threads_wanted;
void assay_metrics_set_threads(uint32_t threads) { threads_wanted = threads; }
static uint32_t threads_for(int64_t blocks) {
    if (blocks <= 1024) return 1;
    return threads_wanted ? threads_wanted : assay_cpu_count();
}

static void clear(assay_pair_stats *o) {
    *o = (assay_pair_stats){.struct_size = sizeof *o, .first_nonfinite_cand = -1};
    undefined(o);
}
static void finish(const running *t, const cut *p, assay_pair_stats *o) {
    if (!o->nonfinite_ref && !o->nonfinite_cand) conclude(t, p, o);
}

/* The figures without element `skip`, from the sums of all blocks: only its own block is read again. */
static void replay(cut *p, int64_t skip, assay_pair_stats *o) {
    running t = {.n = 0};
    p->skip = skip;
    sum_range(p, skip / ASSAY_BLOCK, skip / ASSAY_BLOCK + 1);
    for (int64_t i = 0; i < p->blocks; i++) take_block(&t, o, p, i);
    finish(&t, p, o);
}

/* rest: NULL, or the figures without the element of most energy; then the sums of all blocks are kept, 7 % of a tensor of halves. */
static void compute(const assay_tensor *ref, const assay_tensor *cand, int64_t skip, assay_pair_stats *o, assay_pair_stats *rest) {
    cut p = {.ref = ref, .cand = cand, .total = assay_metrics_count(ref), .skip = skip};
    assay_block_sums few[FEW_BLOCKS];
    running t = {.n = 0};
    clear(o);
    if (rest) clear(rest);
    if (p.total <= (skip >= 0)) return;
    p.blocks = (p.total + ASSAY_BLOCK - 1) / ASSAY_BLOCK;
    p.span = rest ? p.blocks : least(p.blocks, WINDOW_BLOCKS);
    p.sums = p.blocks <= FEW_BLOCKS ? few : assay_xcalloc((size_t)p.span, sizeof *p.sums);
    for (int64_t next = 0; next < p.blocks; next += p.span) {
        int64_t n = least(p.span, p.blocks - next);
        p.window = next;
        assay_parallel(threads_for(p.blocks), (uint64_t)(n + TASK_BLOCKS - 1) / TASK_BLOCKS, sum_blocks, &p);
        for (int64_t i = 0; i < n; i++) take_block(&t, o, &p, next + i);
    }
    finish(&t, &p, o);
    if (rest && p.total > 1 && o->energy_top1_index >= 0) replay(&p, o->energy_top1_index, rest);
    if (p.sums != few) free(p.sums);
}

void assay_pair_compute(const assay_tensor *ref, const assay_tensor *cand, int64_t skip, assay_pair_stats *out) {
    compute(ref, cand, skip, out, NULL);
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

assay_status assay_metrics_pair_and_rest(const assay_tensor *ref, const assay_tensor *cand, assay_pair_stats *all,
                                         assay_pair_stats *rest, assay_error *err) {
    assay_status st = assay_metrics_check(ref, cand, err);
    if (st == ASSAY_OK) compute(ref, cand, -1, all, rest);
    return st;
}
