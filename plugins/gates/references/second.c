/* One element of attention after another: out = sum_j e^(s_j - s_max) v_j / sum_j e^(s_j - s_max), s_j = scale q.k_j + mask_j.
 * Sums are compensated and run from the last key to the first; the executor's run the other way in lanes. */
#include "second.h"
#include <stdlib.h>
#include <string.h>

typedef struct head {
    int64_t queries, keys, width, width_v;
    double *q, *k, *v, *added, *weight; /* q: one row; added, weight: of its keys */
} head;

typedef struct sum {
    double value, lost;
} sum;
static void add(sum *s, double x) { /* Neumaier */
    double t = s->value + x;
    s->lost += fabs(s->value) >= fabs(x) ? (s->value - t) + x : (x - t) + s->value;
    s->value = t;
}
static double total(const sum *s) { return isfinite(s->lost) ? s->value + s->lost : s->value; }

static double score(const head *h, int64_t key, double scale) {
    sum s = {0, 0};
    for (int64_t e = h->width; e-- > 0;) add(&s, h->q[e] * h->k[key * h->width + e]);
    return scale * total(&s) + h->added[key];
}

/* The weights of a row before they are divided by their sum, which is returned: NaN when no key takes part. */
static double weigh(const second *in, const head *h, double scale) {
    double most = -INFINITY;
    sum s = {0, 0};
    for (int64_t j = h->keys; j-- > 0;) {
        h->weight[j] = score(h, j, scale);
        if (isnan(h->weight[j])) return NAN;
        most = h->weight[j] > most ? h->weight[j] : most;
    }
    if (!(most > -INFINITY)) return NAN;
    for (int64_t j = h->keys; j-- > 0;) {
        h->weight[j] = in->math->exp(h->weight[j] - most);
        add(&s, h->weight[j]);
    }
    return total(&s);
}

static double element(const head *h, double all, int64_t e) {
    sum s = {0, 0};
    for (int64_t j = h->keys; j-- > 0;) add(&s, h->weight[j] * h->v[j * h->width_v + e]);
    return total(&s) / all;
}

/* Where the mask's plane for a head begins: its leading axes are those of q, or 1. */
static int64_t mask_plane(const second *in, int64_t head_index) {
    const assay_tensor *q = in->q, *mask = in->mask;
    int64_t plane = 0, step = 1;
    for (uint32_t i = q->rank - 2; i-- > 0;) {
        int64_t at = head_index % q->shape[i];
        int64_t axis = (int64_t)i + (int64_t)mask->rank - (int64_t)q->rank;
        head_index /= q->shape[i];
        if (axis < 0) continue;
        if (mask->shape[axis] != 1) plane += at * step;
        step *= mask->shape[axis];
    }
    return plane;
}

static assay_status read_mask(const second *in, head *h, int64_t index, int64_t row, assay_error *err) {
    memset(h->added, 0, (size_t)h->keys * sizeof *h->added);
    if (!in->mask) return ASSAY_OK;
    int64_t rows = in->mask->shape[in->mask->rank - 2];
    assay_status st = in->m->read(in->mask, (mask_plane(in, index) * rows + (rows == 1 ? 0 : row)) * h->keys, (uint64_t)h->keys, h->added, err);
    for (int64_t j = 0; st == ASSAY_OK && in->mask->dtype == ASSAY_BOOL && j < h->keys; j++) h->added[j] = h->added[j] != 0 ? 0 : -INFINITY;
    return st;
}

static void compare(second_answer *out, double got, double want, int64_t at, sum *squares) {
    double off = fabs(got - want);
    if (isnan(got) && isnan(want)) return;
    add(squares, want * want);
    if (!(off <= out->worst)) out->worst = isnan(off) ? INFINITY : off, out->at = at;
}

static assay_status take_row(const second *in, head *h, int64_t index, int64_t row, const assay_tensor *output, second_answer *out,
                             sum *squares, assay_error *err) {
    double scale = isnan(in->scale) ? 1 / sqrt((double)h->width) : in->scale;
    int64_t at = (index * h->queries + row) * h->width_v;
    assay_status st = in->m->read(in->q, (index * h->queries + row) * h->width, (uint64_t)h->width, h->q, err);
    if (st == ASSAY_OK) st = read_mask(in, h, index, row, err);
    if (st != ASSAY_OK) return st;
    double all = weigh(in, h, scale);
    for (int64_t e = 0; e < h->width_v; e++) compare(out, in->m->load(output, at + e), element(h, all, e), at + e, squares);
    out->rows++;
    return ASSAY_OK;
}

static assay_status measure(const second *in, const assay_tensor *output, head *h, int64_t *heads, assay_error *err) {
    uint32_t n = in->q->rank;
    int64_t copies = sim_head_copies(in->q, in->k);
    bool fits = copies > 0 && sim_head_copies(in->q, in->v) == copies && output->rank == n;
    *heads = 1;
    for (uint32_t i = 0; fits && i + 2 < n; i++) {
        fits = output->shape[i] == in->q->shape[i];
        *heads *= in->q->shape[i];
    }
    fits = fits && in->k->shape[n - 1] == in->q->shape[n - 1] && in->v->shape[n - 2] == in->k->shape[n - 2] &&
           output->shape[n - 2] == in->q->shape[n - 2] && output->shape[n - 1] == in->v->shape[n - 1];
    if (!fits) return sim_fail(err, ASSAY_E_INPUT, "references: query, key, value and output are [..., heads, tokens, width] with equal leading axes; key and value may have fewer heads, of which the query's are a multiple");
    *h = (head){.queries = in->q->shape[n - 2], .width = in->q->shape[n - 1], .keys = in->k->shape[n - 2], .width_v = in->v->shape[n - 1]};
    const assay_tensor *mask = in->mask;
    fits = !mask || (mask->rank >= 2 && mask->rank <= n && mask->shape[mask->rank - 1] == h->keys &&
                     (mask->shape[mask->rank - 2] == h->queries || mask->shape[mask->rank - 2] == 1));
    for (uint32_t i = 0; fits && mask && i + 2 < mask->rank; i++)
        fits = mask->shape[i] == 1 || mask->shape[i] == in->q->shape[i + n - mask->rank];
    return fits ? ASSAY_OK : sim_fail(err, ASSAY_E_INPUT, "references: the mask is [..., queries or 1, keys], its leading axes those of the query or 1");
}

assay_status second_compare(const second *in, const assay_tensor *output, second_answer *out, assay_error *err) {
    head h = {0};
    int64_t heads = 0;
    sum squares = {0, 0};
    *out = (second_answer){.at = -1};
    assay_status st = measure(in, output, &h, &heads, err);
    if (st != ASSAY_OK) return st;
    size_t n = (size_t)(h.width + h.keys * (h.width + h.width_v + 2));
    h.q = calloc(n + 1, sizeof *h.q);
    if (!h.q) return sim_fail(err, ASSAY_E_NOMEM, "references: no memory for %zu numbers", n);
    h.k = h.q + h.width, h.v = h.k + h.keys * h.width, h.added = h.v + h.keys * h.width_v, h.weight = h.added + h.keys;
    int64_t rows = in->rows > 0 && in->rows < h.queries ? in->rows : h.queries;
    for (int64_t i = 0; st == ASSAY_OK && i < heads; i++) {
        int64_t shared = i / sim_head_copies(in->q, in->k);
        st = in->m->read(in->k, shared * h.keys * h.width, (uint64_t)(h.keys * h.width), h.k, err);
        if (st == ASSAY_OK) st = in->m->read(in->v, shared * h.keys * h.width_v, (uint64_t)(h.keys * h.width_v), h.v, err);
        for (int64_t r = 0; st == ASSAY_OK && r < rows; r++)
            st = take_row(in, &h, i, rows == h.queries ? r : (2 * r + 1) * h.queries / (2 * rows), output, out, &squares, err);
    }
    if (out->rows) out->rms = sqrt(total(&squares) / (double)(out->rows * h.width_v));
    free(h.q);
    return st;
}
