/* Centred cosine: what is left of both tensors once the reference's token mean of every channel is taken away (rule 10). */
#include "metrics/metrics.h"
#include "base/error.h"
#include "base/mem.h"
#include "tensor/dtype.h"
#include <math.h>
#include <stdlib.h>

typedef struct sums {
    double rr, cc, rc, raw;
} sums; /* raw: sum of r^2 before centring */

/* One (batch, head): tokens first, then the `width` other positions. */
typedef struct group {
    assay_tensor r, c;
    int64_t tokens;
    size_t width;
    double *mean;
    assay_elements *elements; /* counted in the first pass, or NULL */
} group;

enum { CHUNK = 256 }; /* tokens that are added up plainly before their sum is added with compensation */

static void add_row(const double *restrict row, size_t width, double *restrict sum, double *restrict squares) {
    for (size_t i = 0; i < width; i++) sum[i] += row[i], squares[i] += row[i] * row[i];
}

/* Rows from token t on that are read at once: not beyond a chunk. */
static size_t rows_at(const group *g, int64_t t) {
    size_t rows = g->width < ASSAY_BLOCK ? ASSAY_BLOCK / g->width : 1, left = (size_t)(g->tokens - t), chunk = (size_t)(CHUNK - t % CHUNK);
    rows = rows < left ? rows : left;
    return rows < chunk ? rows : chunk;
}

/* First pass: the mean of each channel of the reference; returns the sum of all its squares. */
static double token_mean(group *g) {
    size_t room = g->width < ASSAY_BLOCK ? ASSAY_BLOCK : g->width;
    assay_neumaier *means = assay_xcalloc(g->width, sizeof *means), raw = {0, 0};
    double *r = assay_xcalloc(2 * room + 2 * g->width, sizeof *r), *c = r + room, *sum = c + room, *squares = sum + g->width;
    assay_reader ra, rb;
    assay_reader_init(&ra, &g->r), assay_reader_init(&rb, &g->c);
    for (int64_t t = 0; t < g->tokens;) {
        size_t rows = rows_at(g, t), n = rows * g->width;
        assay_reader_next(&ra, n, r);
        if (g->elements) assay_reader_next(&rb, n, c), assay_elements_count(g->elements, r, c, n);
        for (size_t k = 0; k < rows; k++) add_row(r + k * g->width, g->width, sum, squares);
        t += (int64_t)rows;
        if (t % CHUNK != 0 && t < g->tokens) continue;
        for (size_t i = 0; i < g->width; i++) {
            assay_neumaier_add(&means[i], sum[i]), assay_neumaier_add(&raw, squares[i]);
            sum[i] = squares[i] = 0;
        }
    }
    for (size_t i = 0; i < g->width; i++) g->mean[i] = assay_neumaier_value(&means[i]) / (double)g->tokens;
    free(r);
    free(means);
    return assay_neumaier_value(&raw);
}

/* Takes the means away from n elements of both, the first of which stands at channel `position`; returns the next position. */
static size_t centre(const group *g, double *restrict r, double *restrict c, size_t n, size_t position) {
    for (size_t i = 0; i < n;) {
        size_t run = g->width - position < n - i ? g->width - position : n - i;
        const double *mean = g->mean + position;
        for (size_t k = 0; k < run; k++) r[i + k] -= mean[k], c[i + k] -= mean[k];
        i += run, position += run;
        if (position == g->width) position = 0;
    }
    return position;
}

/* Second pass, over both. The block kernel adds up rr, cc and rc in the order all metrics use. */
static sums group_sums(group *g) {
    assay_neumaier rr = {0, 0}, cc = {0, 0}, rc = {0, 0};
    double r[ASSAY_BLOCK], c[ASSAY_BLOCK], raw = token_mean(g);
    size_t total = g->width * (size_t)g->tokens, position = 0;
    assay_reader ra, rb;
    assay_reader_init(&ra, &g->r), assay_reader_init(&rb, &g->c);
    for (size_t start = 0; start < total; start += ASSAY_BLOCK) {
        size_t n = total - start < ASSAY_BLOCK ? total - start : ASSAY_BLOCK;
        assay_block block = {.r = r, .c = c, .n = n};
        assay_block_sums b;
        assay_reader_next(&ra, n, r), assay_reader_next(&rb, n, c);
        position = centre(g, r, c, n, position);
        assay_block_sum(&block, &b);
        assay_neumaier_add(&rr, b.rr), assay_neumaier_add(&cc, b.cc), assay_neumaier_add(&rc, b.rc);
    }
    return (sums){assay_neumaier_value(&rr), assay_neumaier_value(&cc), assay_neumaier_value(&rc), raw};
}

static double cosine_of(const sums *s) {
    double d = sqrt(s->rr) * sqrt(s->cc), v = d > 0 ? s->rc / d : NAN;
    return v > 1 ? 1 : v < -1 ? -1 : v;
}
static double share_of(const sums *s) { return s->raw > 0 ? sqrt(s->rr) / sqrt(s->raw) : NAN; }

/* t with the token axis first and the batch and head axes (where there are any) fixed at an index. */
static assay_tensor view(const assay_tensor *t, const assay_axes *a, int64_t b, int64_t h) {
    assay_tensor v = *t;
    int64_t offset = (a->batch >= 0 ? b * t->stride[a->batch] : 0) + (a->head >= 0 ? h * t->stride[a->head] : 0);
    v.data = (unsigned char *)t->data + (size_t)offset * assay_dtype_size(t->dtype);
    v.rank = 1;
    v.shape[0] = t->shape[a->token], v.stride[0] = t->stride[a->token];
    for (uint32_t i = 0; i < t->rank; i++) {
        if ((int32_t)i == a->token || (int32_t)i == a->batch || (int32_t)i == a->head) continue;
        v.shape[v.rank] = t->shape[i], v.stride[v.rank++] = t->stride[i];
    }
    return v;
}

/* A token axis of the tensor; batch and head absent (-1), or axes of their own: one axis with two meanings would be walked twice. */
static bool axes_ok(const assay_axes *a, uint32_t rank) {
    if (a->token < 0 || a->token >= (int32_t)rank) return false;
    if (a->batch < -1 || a->batch >= (int32_t)rank || a->head < -1 || a->head >= (int32_t)rank) return false;
    return a->batch != a->token && a->head != a->token && (a->batch < 0 || a->batch != a->head);
}

assay_status assay_centred_compute(const assay_tensor *ref, const assay_tensor *cand, assay_further *io, assay_elements *e, assay_error *err) {
    const assay_axes *a = io->axes;
    if (!axes_ok(a, ref->rank))
        return assay_fail(err, ASSAY_E_INPUT, "metrics: the centred cosine needs a token axis of the tensor, and no axis twice (batch %d, head %d, token %d of rank %u)", a->batch,
                          a->head, a->token, ref->rank);
    int64_t nb = a->batch >= 0 ? ref->shape[a->batch] : 1, nh = a->head >= 0 ? ref->shape[a->head] : 1;
    if (io->bh_cosine && io->n != (uint64_t)(nb * nh))
        return assay_fail(err, ASSAY_E_INPUT, "metrics: %llu slices asked for, batch and head have %llu", (unsigned long long)io->n,
                          (unsigned long long)(nb * nh));
    assay_neumaier acc[4] = {{0, 0}};
    for (int64_t i = 0; i < nb * nh; i++) {
        group g = {.r = view(ref, a, i / nh, i % nh), .c = view(cand, a, i / nh, i % nh), .tokens = ref->shape[a->token], .elements = e};
        g.width = g.tokens ? (size_t)(assay_metrics_count(&g.r) / g.tokens) : 0;
        g.mean = assay_xcalloc(g.width + 1, sizeof *g.mean);
        sums s = g.width ? group_sums(&g) : (sums){0, 0, 0, 0};
        free(g.mean);
        assay_neumaier_add(&acc[0], s.rr), assay_neumaier_add(&acc[1], s.cc), assay_neumaier_add(&acc[2], s.rc),
            assay_neumaier_add(&acc[3], s.raw);
        if (io->bh_cosine) io->bh_cosine[i] = cosine_of(&s), io->bh_share[i] = share_of(&s);
    }
    sums all = {assay_neumaier_value(&acc[0]), assay_neumaier_value(&acc[1]), assay_neumaier_value(&acc[2]),
                assay_neumaier_value(&acc[3])};
    io->cosine = cosine_of(&all), io->share = share_of(&all);
    return ASSAY_OK;
}

assay_status assay_metrics_centred(const assay_tensor *ref, const assay_tensor *cand, const assay_axes *axes, double *cosine,
                                   double *share, double *bh_cosine, double *bh_share, uint64_t n, assay_error *err) {
    assay_further io = {.axes = axes, .bh_cosine = bh_cosine, .bh_share = bh_share, .n = n};
    assay_status st = assay_metrics_check(ref, cand, err);
    if (st == ASSAY_OK) st = assay_centred_compute(ref, cand, &io, NULL, err);
    if (st == ASSAY_OK) *cosine = io.cosine, *share = io.share;
    return st;
}
