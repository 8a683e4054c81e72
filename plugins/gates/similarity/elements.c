/* Looks at single elements, in one pass each: rows, drops to zero, subnormals, axes along which nothing changes. */
#include "similarity.h"
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 1024 };

/* v rounded once, half to even, to `digits` significant bits with least exponent `least`, as the candidate's type would. */
static double rounded(double v, int digits, int least, double overflow) {
    int e;
    if (!(v - v == 0) || v == 0) return v;
    frexp(v, &e);
    double q = ldexp(1, (e - 1 > least ? e - 1 : least) - digits + 1), r = rint(v / q) * q;
    return fabs(r) >= overflow ? copysign(INFINITY, v) : r;
}
static double as_type(double v, int32_t dtype) {
    if (dtype == ASSAY_F16) return rounded(v, 11, -14, 65520);
    if (dtype == ASSAY_BF16) return rounded(v, 8, -126, 0x1p128);
    return dtype == ASSAY_F32 ? (double)(float)v : v;
}

typedef struct look {
    const sim_pair *p;
    sim_elements *o;
    double strong;
    bool differs, row_equal_so_far;
    double best_r, best_c;
    int64_t best_r_at, best_c_at;
    bool bad;
} look;

static void element(look *k, double r, double c, int64_t column, int64_t flat) {
    sim_elements *o = k->o;
    k->bad = k->bad || !(c - c == 0);
    k->differs = k->differs || as_type(r, k->p->c.dtype) != c;
    if (column == 0 || r > k->best_r) k->best_r = r, k->best_r_at = column;
    if (column == 0 || c > k->best_c) k->best_c = c, k->best_c_at = column;
    o->subnormal += c != 0 && fabs(c) < 0x1p-14;
    if (!(fabs(r) >= k->strong)) return;
    o->strong++;
    if (c == 0 && o->dropped++ == 0) o->first_dead = flat;
}
static void end_of_row(look *k) {
    sim_elements *o = k->o;
    o->rows_total++;
    o->rows_nonfinite += k->bad;
    o->argmax_equal = o->argmax_equal && k->best_r_at == k->best_c_at;
    k->row_equal_so_far = k->row_equal_so_far && !k->differs;
    o->leading_rows_equal += k->row_equal_so_far;
    k->bad = k->differs = false;
}

assay_status sim_elements_look(const sim_pair *p, sim_elements *o, assay_error *err) {
    double r[CHUNK], c[CHUNK];
    int64_t n = sim_count(&p->r), width = p->r.rank ? p->r.shape[p->r.rank - 1] : 1;
    *o = (sim_elements){.first_dead = -1, .argmax_equal = true};
    /* RMS is undefined beside non-finite values: then nothing is called strong. */
    look k = {.p = p, .o = o, .strong = p->all.rms_ref > 0 ? 0x1p-5 * p->all.rms_ref : INFINITY, .row_equal_so_far = true};
    for (int64_t at = 0; at < n; at += CHUNK) {
        uint64_t m = n - at < CHUNK ? (uint64_t)(n - at) : CHUNK;
        assay_status st = p->s->m->read(&p->r, at, m, r, err);
        if (st == ASSAY_OK) st = p->s->m->read(&p->c, at, m, c, err);
        if (st != ASSAY_OK) return st;
        int64_t column = at % width;
        for (uint64_t i = 0; i < m; i++) {
            element(&k, r[i], c[i], column, at + (int64_t)i);
            if (++column == width) column = 0, end_of_row(&k);
        }
    }
    return ASSAY_OK;
}

uint64_t sim_differing(const sim *s, const assay_tensor *a, const assay_tensor *b) {
    double x[CHUNK], y[CHUNK];
    uint64_t differ = 0;
    for (int64_t at = 0, n = sim_count(a); at < n; at += CHUNK) {
        uint64_t m = n - at < CHUNK ? (uint64_t)(n - at) : CHUNK;
        if (s->m->read(a, at, m, x, NULL) != ASSAY_OK || s->m->read(b, at, m, y, NULL) != ASSAY_OK) return UINT64_MAX;
        for (uint64_t i = 0; i < m; i++) differ += x[i] != y[i];
    }
    return differ;
}

/* Compares every index of an axis with its first. */
static bool constant_along(const sim *s, const assay_tensor *t, uint32_t axis) {
    assay_tensor first = *t, other = *t;
    first.stride[axis] = 0; /* repeats index 0 along the axis */
    return sim_differing(s, &first, &other) == 0;
}
uint32_t sim_constant_axes(const sim *s, const assay_tensor *t) {
    uint32_t bits = 0;
    for (uint32_t i = 0; i < t->rank; i++)
        if (t->shape[i] > 1 && constant_along(s, t, i)) bits |= 1u << i;
    return bits;
}

/* Largest |q.k| over all pairs of rows with the same leading indices. */
double sim_max_score(const sim *s, const assay_tensor *q, const assay_tensor *k) {
    if (q->rank < 2 || q->rank != k->rank || q->shape[q->rank - 1] != k->shape[k->rank - 1]) return NAN;
    for (uint32_t i = 0; i + 2 < q->rank; i++)
        if (q->shape[i] != k->shape[i]) return NAN;
    int64_t width = q->shape[q->rank - 1], rows_q = q->shape[q->rank - 2], rows_k = k->shape[k->rank - 2];
    if (width <= 0 || rows_q <= 0 || rows_k <= 0) return NAN;
    double *a = malloc(sizeof *a * (size_t)(width * (1 + rows_k))), *b = a ? a + width : NULL, most = NAN;
    for (int64_t g = 0, groups = sim_count(q) / (rows_q * width); a && g < groups; g++) {
        if (s->m->read(k, g * rows_k * width, (uint64_t)(rows_k * width), b, NULL) != ASSAY_OK) break;
        for (int64_t i = 0; i < rows_q; i++) {
            if (s->m->read(q, (g * rows_q + i) * width, (uint64_t)width, a, NULL) != ASSAY_OK) break;
            for (int64_t j = 0; j < rows_k; j++) {
                double sum = 0;
                for (int64_t e = 0; e < width; e++) sum += a[e] * b[j * width + e];
                if (!(fabs(sum) <= most)) most = fabs(sum);
            }
        }
    }
    free(a);
    return most;
}
