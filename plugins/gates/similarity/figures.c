/* Figures of one pair on demand: slices, rows, centred cosine. What is computed once is kept with the pair. */
#include "similarity.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int64_t sim_count(const assay_tensor *t) {
    int64_t n = 1;
    for (uint32_t i = 0; i < t->rank; i++) n *= t->shape[i];
    return n;
}

int64_t sim_head_copies(const assay_tensor *q, const assay_tensor *k) {
    uint32_t n = q->rank;
    if (n < 2 || k->rank != n) return 0;
    for (uint32_t i = 0; i + 3 < n; i++)
        if (k->shape[i] != q->shape[i]) return 0;
    if (n == 2) return 1;
    int64_t heads = q->shape[n - 3], shared = k->shape[n - 3];
    return shared > 0 && heads % shared == 0 ? heads / shared : 0;
}
bool sim_same_shape(const assay_tensor *a, const assay_tensor *b) {
    return a->rank == b->rank && memcmp(a->shape, b->shape, a->rank * sizeof a->shape[0]) == 0;
}

assay_status sim_pair_open(const sim *s, const assay_tensor *r, const assay_tensor *c, sim_pair *p, assay_error *err) {
    *p = (sim_pair){.s = s, .r = *r, .c = *c};
    assay_status st = sim_axes(s, r->rank, &p->axes, err);
    return st == ASSAY_OK ? s->m->pair_and_rest(r, c, &p->all, &p->rest, err) : st;
}
void sim_pair_close(sim_pair *p) {
    for (int i = 0; i < SIM_KINDS; i++) free(p->slices[i].at);
    free(p->further.centred.bh_cosine);
    *p = (sim_pair){0};
}
bool sim_finite(const sim_pair *p) { return p->all.nonfinite_ref == 0 && p->all.nonfinite_cand == 0; }

static uint32_t bit(int32_t axis) { return axis < 0 ? 0u : 1u << axis; }

/* Axes that count the slices; 0 = there is no such slice. */
static uint32_t keep_of(const sim_pair *p, int kind) {
    const assay_axes *a = &p->axes;
    uint32_t all = (1u << p->r.rank) - 1;
    switch (kind) {
    case SIM_BH:
        return a->head < 0 ? 0 : bit(a->head) | bit(a->batch);
    case SIM_HEAD:
        return bit(a->head);
    case SIM_ROW:
        return a->channel < 0 ? 0 : all & ~bit(a->channel);
    default:
        return a->channel < 0 ? 0 : bit(a->channel) | bit(a->batch) | bit(a->head);
    }
}

const sim_slices *sim_pair_slices(sim_pair *p, int kind) {
    sim_slices *sl = &p->slices[kind];
    if (sl->done) return sl;
    sl->done = true;
    sl->keep = keep_of(p, kind);
    uint64_t n = 1;
    for (uint32_t i = 0; i < p->r.rank; i++)
        if (sl->keep >> i & 1) n *= (uint64_t)p->r.shape[i];
    if (!sl->keep || !n) return sl;
    sl->at = calloc(n, sizeof *sl->at);
    if (sl->at && p->s->m->slices(&p->r, &p->c, sl->keep, sl->at, n, NULL) == ASSAY_OK) sl->n = n;
    return sl;
}

/* Rows with a norm below row_skip x rms of the row norms take no part (2^-10; 0: only zero rows are left out). */
static double row_floor(const sim *s, const sim_slices *rows) {
    double sum = 0;
    for (uint64_t i = 0; i < rows->n; i++) sum += rows->at[i].norm_ref * rows->at[i].norm_ref;
    return s->lim.row_skip * sqrt(sum / (double)rows->n);
}
static bool skipped(const sim_rows *o, double norm) { return !(norm > 0) || norm < o->floor; }

static void take_row(sim_rows *o, const assay_pair_stats *row, int64_t i) {
    if (skipped(o, row->norm_ref)) {
        o->skipped++;
        return;
    }
    bool worse = isnan(row->cosine) ? !isnan(o->cosine) : row->cosine < o->cosine;
    if (!o->applied || worse) o->cosine = row->cosine, o->worst = i;
    if (!o->applied || row->rel_l2 > o->rel_l2) o->rel_l2 = row->rel_l2, o->worst_error = i;
    o->applied = true;
    if (row->count > 1 && row->zeros_cand == row->count && o->dead++ == 0) o->first_dead = i;
}

const sim_rows *sim_pair_rows(sim_pair *p) {
    if (p->rows_done) return &p->rows;
    p->rows_done = true;
    const sim_slices *rows = sim_finite(p) ? sim_pair_slices(p, SIM_ROW) : &(sim_slices){0};
    p->rows = (sim_rows){.total = rows->n, .first_dead = -1, .worst = -1, .worst_error = -1, .cosine = NAN, .rel_l2 = NAN};
    if (!rows->n) return &p->rows;
    p->rows.floor = row_floor(p->s, rows);
    for (uint64_t i = 0; i < rows->n; i++) take_row(&p->rows, &rows->at[i], (int64_t)i);
    return &p->rows;
}

static bool can_centre(sim_pair *p, sim_centred *o) {
    if (p->axes.token < 0 || !sim_finite(p)) return false;
    o->n = sim_pair_slices(p, SIM_BH)->n;
    o->bh_cosine = calloc(2 * o->n + 1, sizeof *o->bh_cosine);
    o->bh_share = o->bh_cosine ? o->bh_cosine + o->n : NULL;
    return o->bh_cosine != NULL;
}

const sim_further *sim_pair_further(sim_pair *p) {
    sim_further *o = &p->further;
    if (o->done) return o;
    o->done = true;
    sim_centred *c = &o->centred;
    assay_axes a = p->axes;
    if (a.head < 0) a.batch = -1; /* without heads only the tensor is judged */
    bool centre = can_centre(p, c);
    assay_further io = {.struct_size = sizeof io, .axes = centre ? &a : NULL, .bh_cosine = c->n ? c->bh_cosine : NULL, .bh_share = c->bh_share, .n = c->n,
                        .rms_ref = p->all.rms_ref, .atol = sim_atol(p->s), .rtol = sim_rtol(p->s)};
    bool found = p->s->m->further(&p->r, &p->c, &io, NULL) == ASSAY_OK;
    c->applied = centre && found, c->cosine = io.cosine, c->share = io.share;
    for (int i = 0; i < 3; i++) o->ulp[i] = found ? io.ulp[i] : NAN;
    o->over = !sim_element_rule(p->s) ? 0 : found ? io.over : p->all.count; /* what was not counted does not pass */
    return o;
}
const sim_centred *sim_pair_centred(sim_pair *p) { return &sim_pair_further(p)->centred; }

const char *sim_index_text(const assay_tensor *t, uint32_t keep, int64_t flat, char out[96]) {
    int64_t at[ASSAY_RANK_MAX] = {0};
    for (uint32_t i = t->rank; i-- > 0;) {
        if (!(keep >> i & 1)) continue;
        at[i] = flat % t->shape[i];
        flat /= t->shape[i];
    }
    size_t n = 0;
    const char *sep = "[";
    for (uint32_t i = 0; i < t->rank && n < 80; i++)
        if (keep >> i & 1) n += (size_t)snprintf(out + n, 96 - n, "%s%lld", sep, (long long)at[i]), sep = ",";
    snprintf(out + n, 96 - n, "%s", n ? "]" : "[]");
    return out;
}
