/* Figures of a fixture's power. Exact attention in float64 on up to SAMPLE query rows of every (batch, head). */
#include "power.h"
#include <stdlib.h>
#include <string.h>

enum { SAMPLE = 32 };

typedef struct work {
    const power_inputs *in;
    int64_t groups, copies, heads, batches, queries, keys, width, width_v, rows; /* copies: query heads to a key head; rows: sampled */
    double *q, *k, *v, *score, *added, *p;                               /* of one group; score, added, p: of one row */
    double *out;                                                         /* [groups][rows][width_v] */
    double *var;                                                         /* [groups]: sum over rows of the scores' variance */
    double entropy, changed, twice, energy, mean_energy, v_energy, asym, spread, masked, masked_weight, lost;
    uint64_t entropy_rows, masked_rows;
} work;

static int64_t row_at(const work *w, int64_t i) { return w->rows == w->queries ? i : (2 * i + 1) * w->queries / (2 * w->rows); }

static assay_status measure(work *w, assay_error *err) {
    const assay_tensor *q = w->in->q, *k = w->in->k, *v = w->in->v, *mask = w->in->mask;
    uint32_t n = q->rank;
    w->copies = sim_head_copies(q, k);
    if (w->copies == 0 || sim_head_copies(q, v) != w->copies || k->shape[n - 1] != q->shape[n - 1] || v->shape[n - 2] != k->shape[n - 2])
        return sim_fail(err, ASSAY_E_INPUT, "power: query, key and value are [..., tokens, width] with equal leading axes (fewer heads of key and value: a divisor) and fitting sizes");
    w->queries = q->shape[n - 2], w->width = q->shape[n - 1], w->keys = k->shape[n - 2], w->width_v = v->shape[n - 1];
    w->heads = n > 2 ? q->shape[n - 3] : 1, w->batches = n > 3 ? q->shape[0] : 1;
    w->groups = 1;
    for (uint32_t i = 0; i + 2 < n; i++) w->groups *= q->shape[i];
    if (w->groups <= 0 || w->queries <= 0 || w->keys <= 0 || w->width <= 0 || w->width_v <= 0)
        return sim_fail(err, ASSAY_E_INPUT, "power: query, key or value is empty");
    if (mask && (mask->rank < 2 || mask->shape[mask->rank - 1] != w->keys ||
                 (mask->shape[mask->rank - 2] != w->queries && mask->shape[mask->rank - 2] != 1)))
        return sim_fail(err, ASSAY_E_INPUT, "power: the mask is [..., queries or 1, keys]");
    w->rows = w->queries < SAMPLE ? w->queries : SAMPLE;
    return ASSAY_OK;
}

static assay_status take_memory(work *w, assay_error *err) {
    size_t per_group = (size_t)(w->queries * w->width + w->keys * (w->width + w->width_v + 3));
    size_t kept = (size_t)w->groups * (size_t)(w->rows * w->width_v + 1);
    double *all = calloc(per_group + kept, sizeof *all);
    if (!all) return sim_fail(err, ASSAY_E_NOMEM, "power: no memory for %zu numbers", per_group + kept);
    w->q = all, w->k = w->q + w->queries * w->width, w->v = w->k + w->keys * w->width;
    w->score = w->v + w->keys * w->width_v, w->added = w->score + w->keys, w->p = w->added + w->keys;
    w->out = w->p + w->keys, w->var = w->out + w->groups * w->rows * w->width_v;
    return ASSAY_OK;
}

static double dot(const double *a, const double *b, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* added[j] for one query row: 0 or -inf of a boolean mask, else the number itself. The mask's leading axes repeat. */
static void read_mask(work *w, int64_t group, int64_t row) {
    const assay_tensor *mask = w->in->mask;
    if (!mask) return;
    int64_t rows = mask->shape[mask->rank - 2], planes = sim_count(mask) / (rows * w->keys);
    int64_t plane = planes == w->groups ? group : planes == w->batches ? group / (w->groups / w->batches) : planes == w->heads ? group % w->heads : 0;
    w->in->m->read(mask, (plane * rows + (rows == 1 ? 0 : row)) * w->keys, (uint64_t)w->keys, w->added, NULL);
    for (int64_t j = 0; j < w->keys && mask->dtype == ASSAY_BOOL; j++) w->added[j] = w->added[j] != 0 ? 0 : -INFINITY;
}
/* A score that large and negative takes no part: the masks in use reach from -1e4 to -inf. */
static bool takes_part(const work *w, int64_t j) { return w->added[j] > -1e3; }

/* p = softmax of factor * score over the keys that take part, or over all of them. False: there is none. */
static bool softmax(work *w, double factor, bool all) {
    double most = -INFINITY, sum = 0;
    for (int64_t j = 0; j < w->keys; j++)
        if ((all || takes_part(w, j)) && factor * w->score[j] > most) most = factor * w->score[j];
    if (!(most > -INFINITY)) return false;
    for (int64_t j = 0; j < w->keys; j++) {
        w->p[j] = all || takes_part(w, j) ? w->in->math->exp(factor * w->score[j] - most) : 0;
        sum += w->p[j];
    }
    for (int64_t j = 0; j < w->keys; j++) w->p[j] /= sum;
    return sum > 0;
}

static void weigh(const work *w, double shift, bool by_score, double *out) {
    memset(out, 0, (size_t)w->width_v * sizeof *out);
    for (int64_t j = 0; j < w->keys; j++) {
        double f = by_score ? w->p[j] * (w->score[j] - shift) : w->p[j];
        for (int64_t e = 0; e < w->width_v; e++) out[e] += f * w->v[j * w->width_v + e];
    }
}

/* Variance and entropy of the row; its scores about their weighted mean are the derivative by the scale. */
static double row_figures(work *w, int64_t group) {
    double sum = 0, squares = 0, entropy = 0, mean = 0;
    int64_t n = 0;
    for (int64_t j = 0; j < w->keys; j++) {
        if (!takes_part(w, j)) continue;
        n++, sum += w->score[j];
        if (w->p[j] > 0) entropy -= w->p[j] * w->in->math->log(w->p[j]), mean += w->p[j] * w->score[j];
    }
    for (int64_t j = 0; j < w->keys; j++)
        if (takes_part(w, j)) squares += (w->score[j] - sum / (double)n) * (w->score[j] - sum / (double)n);
    w->var[group] += squares / (double)n;
    if (n > 1) w->entropy += entropy / w->in->math->log((double)n), w->entropy_rows++;
    return mean;
}

static void ignored_mask(work *w) {
    double weight = 0, masked = 0;
    if (!w->in->mask || !softmax(w, 1, true)) return;
    for (int64_t j = 0; j < w->keys; j++)
        if (!takes_part(w, j)) masked++, weight += w->p[j];
    w->masked += masked / (double)w->keys;
    if (masked > 0) w->masked_weight += weight, w->masked_rows++;
}

static double squared(const double *a, const double *b, int64_t n) { /* b NULL: of a itself */
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += (a[i] - (b ? b[i] : 0)) * (a[i] - (b ? b[i] : 0));
    return sum;
}

static void take_row(work *w, int64_t group, int64_t i, double *scratch) {
    int64_t row = row_at(w, i);
    double scale = 1 / sqrt((double)w->width), *out = w->out + (group * w->rows + i) * w->width_v;
    read_mask(w, group, row);
    for (int64_t j = 0; j < w->keys; j++) {
        w->score[j] = scale * dot(w->q + row * w->width, w->k + j * w->width, w->width);
        if (takes_part(w, j)) w->score[j] += w->added[j];
    }
    ignored_mask(w);
    if (!softmax(w, 1, false)) {
        w->lost++;
        return;
    }
    weigh(w, 0, false, out);
    w->energy += squared(out, NULL, w->width_v);
    weigh(w, row_figures(w, group), true, scratch);
    w->changed += squared(scratch, NULL, w->width_v);
    softmax(w, scale, false);
    weigh(w, 0, false, scratch);
    w->twice += squared(scratch, out, w->width_v);
}

/* Scores of the sampled rows against their transpose: what tells q and k apart. */
static void asymmetry(work *w) {
    if (w->queries != w->keys) return;
    double sum = 0, squares = 0, n = (double)(w->rows * w->rows);
    for (int64_t i = 0; i < w->rows; i++)
        for (int64_t j = 0; j < w->rows; j++) {
            int64_t a = row_at(w, i), b = row_at(w, j);
            double x = dot(w->q + a * w->width, w->k + b * w->width, w->width);
            double y = dot(w->q + b * w->width, w->k + a * w->width, w->width);
            sum += x, squares += x * x, w->asym += (x - y) * (x - y);
        }
    w->spread += squares - sum * sum / n;
}

static void common_mode(work *w, double *mean) {
    memset(mean, 0, (size_t)w->width_v * sizeof *mean);
    for (int64_t j = 0; j < w->keys; j++)
        for (int64_t e = 0; e < w->width_v; e++) mean[e] += w->v[j * w->width_v + e];
    w->mean_energy += squared(mean, NULL, w->width_v) / (double)w->keys;
    w->v_energy += squared(w->v, NULL, w->keys * w->width_v);
}

static assay_status take_group(work *w, int64_t g, double *scratch, assay_error *err) {
    const power_inputs *in = w->in;
    assay_status st = in->m->read(in->q, g * w->queries * w->width, (uint64_t)(w->queries * w->width), w->q, err);
    int64_t shared = g / w->copies;
    if (st == ASSAY_OK) st = in->m->read(in->k, shared * w->keys * w->width, (uint64_t)(w->keys * w->width), w->k, err);
    if (st == ASSAY_OK) st = in->m->read(in->v, shared * w->keys * w->width_v, (uint64_t)(w->keys * w->width_v), w->v, err);
    if (st != ASSAY_OK) return st;
    common_mode(w, scratch);
    asymmetry(w);
    for (int64_t i = 0; i < w->rows; i++) take_row(w, g, i, scratch);
    return ASSAY_OK;
}

/* Relative change of the sampled outputs when index i of an axis is taken for i + 1; `step` outputs lie between the two. */
static double distance(const work *w, int64_t size, int64_t step) {
    double sum = 0;
    int64_t n = w->groups * w->rows;
    if (size < 2) return NAN;
    for (int64_t i = 0; i < n; i++) {
        int64_t at = i / step % size, other = at + 1 < size ? i + step : i - step * (size - 1);
        sum += squared(w->out + i * w->width_v, w->out + other * w->width_v, w->width_v);
    }
    return w->energy > 0 ? sqrt(sum / w->energy) : NAN;
}

static double dead_rows(const work *w) {
    double n = (double)(w->groups * w->rows), least = 0x1p-20 * w->energy / n, dead = 0;
    for (int64_t i = 0; i < w->groups * w->rows; i++) dead += !(squared(w->out + i * w->width_v, NULL, w->width_v) > least);
    return dead / n; /* rows without a key left their output at zero: they are among them */
}

static double mask_asymmetry(const power_inputs *in) {
    const assay_tensor *mask = in->mask;
    if (!mask || mask->shape[mask->rank - 1] != mask->shape[mask->rank - 2]) return NAN;
    int64_t n = mask->shape[mask->rank - 1], planes = sim_count(mask) / (n * n), differ = 0;
    for (int64_t i = 0; i < planes * n * n; i++) {
        int64_t base = i / (n * n) * n * n, row = i % (n * n) / n, column = i % n;
        differ += column > row && in->m->load(mask, i) != in->m->load(mask, base + column * n + row);
    }
    return n > 1 ? 2 * (double)differ / (double)(planes * n * (n - 1)) : NAN;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static assay_status logit_sds(work *w, power_figures *o, assay_error *err) {
    o->head_logit_sd = calloc((size_t)w->heads, sizeof *o->head_logit_sd);
    if (!o->head_logit_sd) return sim_fail(err, ASSAY_E_NOMEM, "power: no memory");
    o->heads = (uint64_t)w->heads;
    for (int64_t g = 0; g < w->groups; g++) o->head_logit_sd[g % w->heads] += w->var[g] / (double)w->rows;
    for (int64_t h = 0; h < w->heads; h++) o->head_logit_sd[h] = sqrt(o->head_logit_sd[h] * (double)w->heads / (double)w->groups);
    qsort(w->var, (size_t)w->groups, sizeof *w->var, by_value);
    int64_t low = (w->groups - 1) / 2, high = w->groups / 2;
    o->logit_sd_median = (sqrt(w->var[low] / (double)w->rows) + sqrt(w->var[high] / (double)w->rows)) / 2;
    return ASSAY_OK;
}

static double ratio(double a, double b) { return b > 0 ? a / b : NAN; }

static void conclude(work *w, power_figures *o) {
    double gap = o->logit_sd_median * (1 - 1 / sqrt((double)w->width)), rows = (double)(w->groups * w->rows);
    o->predicted_cosine = w->in->math->exp(-gap * gap / 2);
    o->entropy_share = ratio(w->entropy, (double)w->entropy_rows);
    o->common_mode = sqrt(ratio(w->mean_energy, w->v_energy));
    o->dead_rows = dead_rows(w);
    o->scale_response = sqrt(ratio(w->changed, w->energy));
    o->scale_twice = sqrt(ratio(w->twice, w->energy));
    o->token_distance = distance(w, w->rows, 1);
    o->head_distance = distance(w, w->heads, w->rows);
    o->batch_distance = distance(w, w->batches, w->rows * (w->groups / w->batches));
    o->qk_asymmetry = sqrt(ratio(w->asym, w->spread));
    o->masked_share = w->in->mask ? w->masked / rows : NAN;
    o->masked_weight = w->masked_rows ? w->masked_weight / (double)w->masked_rows : NAN;
    o->mask_asymmetry = mask_asymmetry(w->in);
}

/* NaN and infinities; a mask may hold them. */
static assay_status count_nonfinite(const power_inputs *in, uint64_t *n, assay_error *err) {
    const assay_tensor *all[] = {in->q, in->k, in->v};
    assay_status st = ASSAY_OK;
    for (size_t i = 0; st == ASSAY_OK && i < sizeof all / sizeof *all; i++) {
        assay_pair_stats stats = {.struct_size = sizeof stats};
        st = in->m->pair(all[i], all[i], -1, &stats, err);
        *n += stats.nonfinite_ref;
    }
    return st;
}

assay_status power_figures_of(const power_inputs *in, power_figures *out, assay_error *err) {
    work w = {.in = in};
    *out = (power_figures){0};
    assay_status st = measure(&w, err);
    if (st == ASSAY_OK) st = count_nonfinite(in, &out->nonfinite, err);
    if (st == ASSAY_OK) st = take_memory(&w, err);
    double *scratch = st == ASSAY_OK ? calloc((size_t)w.width_v, sizeof *scratch) : NULL;
    if (st == ASSAY_OK && !scratch) st = sim_fail(err, ASSAY_E_NOMEM, "power: no memory");
    for (int64_t g = 0; st == ASSAY_OK && g < w.groups; g++) st = take_group(&w, g, scratch, err);
    if (st == ASSAY_OK) st = logit_sds(&w, out, err);
    if (st == ASSAY_OK) conclude(&w, out);
    free(scratch);
    free(w.q);
    return st;
}

void power_free(power_figures *f) { free(f->head_logit_sd); }
