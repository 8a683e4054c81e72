/* The response D = output(state) - output(base): splitting it into rows that must move and rows that must not, and its rules. */
#include "response.h"
#include <stdlib.h>
#include <string.h>

/* A row's cosine is judged where the reference's row moves by at least this share of itself: below it fp16 rounding of the two
 * outputs (each up to 2^-11 of the row, more behind rounded projections) would decide. */
static const double row_share = 0x1p-3;
/* A (batch, head) slice that moves by this share cannot stay the same in fp16 everywhere. */
static const double dead_share = 0x1p-8;

static assay_tensor contiguous(const assay_tensor *like, double *data) {
    assay_tensor t = *like;
    int64_t step = 1;
    t.dtype = ASSAY_F64, t.data = data, t.nbytes = (uint64_t)sim_count(like) * sizeof *data;
    for (uint32_t i = t.rank; i-- > 0;) t.stride[i] = step, step *= t.shape[i];
    return t;
}

/* The view with the channel axis last: a row is then a run of C order. */
static assay_tensor rows_view(const assay_tensor *t, int32_t channel) {
    assay_tensor v = *t;
    if (channel < 0) return v;
    uint32_t k = 0;
    for (uint32_t i = 0; i < t->rank; i++)
        if ((int32_t)i != channel) v.shape[k] = t->shape[i], v.stride[k++] = t->stride[i];
    v.shape[k] = t->shape[channel], v.stride[k] = t->stride[channel];
    return v;
}

static double row_norm(const double *v, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += v[i] * v[i];
    return sqrt(sum);
}
static double row_peak(const double *v, int64_t n) {
    double most = 0;
    for (int64_t i = 0; i < n; i++)
        if (!(fabs(v[i]) <= most)) most = fabs(v[i]);
    return most;
}

/* A row moves when the reference's moves at all; without a channel axis the whole tensor is one row. */
static assay_status split_rows(response *o, const states *st, const assay_axes *axes, assay_error *err) {
    int64_t count = sim_count(&o->r), width = axes->channel < 0 ? count : o->r.shape[axes->channel], rows = count / width;
    assay_tensor r = rows_view(&o->r, axes->channel), c = rows_view(&o->c, axes->channel),
                 base = rows_view(&st->ref_base->tensor, axes->channel);
    double *scratch = malloc(sizeof *scratch * (size_t)width);
    o->rows_r = malloc(sizeof *o->rows_r * (size_t)count), o->rows_c = malloc(sizeof *o->rows_c * (size_t)count);
    o->row_scale = malloc(sizeof *o->row_scale * (size_t)rows);
    assay_status status = scratch && o->rows_r && o->rows_c && o->row_scale
                              ? ASSAY_OK
                              : sim_fail(err, ASSAY_E_NOMEM, "no memory for %lld elements", (long long)count);
    for (int64_t i = 0; i < rows && status == ASSAY_OK; i++) {
        double *dr = o->rows_r + (int64_t)o->n_moving * width, *dc = o->rows_c + (int64_t)o->n_moving * width;
        status = o->s->m->read(&r, i * width, (uint64_t)width, dr, err);
        if (status == ASSAY_OK) status = o->s->m->read(&c, i * width, (uint64_t)width, dc, err);
        if (status == ASSAY_OK) status = o->s->m->read(&base, i * width, (uint64_t)width, scratch, err);
        if (status != ASSAY_OK) break;
        if (row_peak(dr, width) > 0)
            o->row_scale[o->n_moving++] = row_norm(scratch, width);
        else {
            double peak = row_peak(dc, width);
            o->n_still++;
            if (!(peak <= o->still_max_abs)) o->still_max_abs = peak;
        }
    }
    free(scratch);
    return status;
}

assay_status response_open(const sim *s, const states *st, response *o, assay_error *err) {
    *o = (response){.s = s};
    int64_t n = sim_count(&st->ref->tensor);
    assay_axes axes;
    assay_status status = sim_axes(s, st->ref->tensor.rank, &axes, err);
    if (status != ASSAY_OK) return status;
    o->buffer = malloc(2 * sizeof *o->buffer * (size_t)(n > 0 ? n : 1));
    if (!o->buffer || n <= 0)
        return sim_fail(err, o->buffer ? ASSAY_E_INPUT : ASSAY_E_NOMEM,
                        o->buffer ? "sensitivity: an output without elements" : "no memory");
    o->r = contiguous(&st->ref->tensor, o->buffer), o->c = contiguous(&st->ref->tensor, o->buffer + n);
    status = s->m->difference(&st->ref->tensor, &st->ref_base->tensor, o->buffer, err);
    if (status == ASSAY_OK) status = s->m->difference(&st->cand->tensor, &st->cand_base->tensor, o->buffer + n, err);
    if (status == ASSAY_OK) status = sim_pair_open(s, &o->r, &o->c, &o->all, err);
    if (status != ASSAY_OK) return status;
    o->has_all = true;
    status = split_rows(o, st, &axes, err);
    if (status != ASSAY_OK || !o->n_moving) return status;
    o->moving_sim = *s;
    o->moving_sim.given = (assay_axes){-1, -1, -1, 1}, o->moving_sim.any_axis = true, o->moving_sim.layout[0] = 0,
    o->moving_sim.step_axis = -1;
    assay_tensor shape = {.rank = 2, .shape = {(int64_t)o->n_moving, axes.channel < 0 ? n : o->r.shape[axes.channel]}};
    assay_tensor r = contiguous(&shape, o->rows_r), c = contiguous(&shape, o->rows_c);
    status = sim_pair_open(&o->moving_sim, &r, &c, &o->moving, err);
    o->has_moving = status == ASSAY_OK;
    return status;
}

void response_close(response *o) {
    if (o->has_all) sim_pair_close(&o->all);
    if (o->has_moving) sim_pair_close(&o->moving);
    free(o->buffer), free(o->rows_r), free(o->rows_c), free(o->row_scale);
    *o = (response){0};
}

/* Worst row among those that move enough; -1: none does. */
static int64_t worst_row(response *o, double *cosine) {
    const sim_slices *rows = sim_pair_slices(&o->moving, SIM_ROW);
    int64_t worst = -1;
    *cosine = NAN;
    for (uint64_t i = 0; i < rows->n; i++) {
        if (!(rows->at[i].norm_ref >= row_share * o->row_scale[i]) || !(o->row_scale[i] > 0)) continue;
        bool worse = isnan(rows->at[i].cosine) ? !isnan(*cosine) : rows->at[i].cosine < *cosine;
        if (worst < 0 || worse) worst = (int64_t)i, *cosine = rows->at[i].cosine;
    }
    return worst;
}

static void dead_slice(response *o, const states *st, sim_report *out) {
    const sim_slices *d = sim_pair_slices(&o->all, SIM_BH);
    sim_pair base;
    if (!d->n || sim_pair_open(o->s, &st->ref_base->tensor, &st->ref_base->tensor, &base, NULL) != ASSAY_OK) return;
    const sim_slices *own = sim_pair_slices(&base, SIM_BH);
    char at[96];
    for (uint64_t i = 0; i < d->n && i < own->n; i++)
        if (d->at[i].zeros_cand == d->at[i].count && own->at[i].norm_ref > 0 &&
            d->at[i].norm_ref >= dead_share * own->at[i].norm_ref) {
            sim_add(out, 4, SIM_KILL, "response_disagrees", sim_index_text(&o->r, d->keep, (int64_t)i, at),
                    "this (batch, head) does not move, the reference's does by %.3g of itself",
                    d->at[i].norm_ref / own->at[i].norm_ref);
            break;
        }
    sim_pair_close(&base);
}

static void still_rows(response *o, const states *st, sim_report *out) {
    sim_line_add(out, "still", o->n_still > 0 && st->floor_known,
                 o->n_still ? "no repeated call to take the noise from" : "every row must move");
    if (o->n_still && st->floor_known && !(o->still_max_abs <= st->noise_floor))
        sim_add(out, 9, SIM_KILL, "response_disagrees", "", "rows that must not move moved by %.6g, at most %.6g is noise",
                o->still_max_abs, st->noise_floor);
}

static void moving_rows(response *o, double cosine_min, sim_report *out) {
    const assay_pair_stats *a = &o->moving.all;
    double worst, tolerance = o->s->lim.gain_tolerance;
    int64_t row = worst_row(o, &worst);
    sim_line_add(out, "7", true, ""), sim_line_add(out, "9", row >= 0, "no row moves by 1/8 of itself"),
        sim_line_add(out, "11", !isnan(tolerance), "no gain_tolerance");
    if (!(a->cosine >= cosine_min))
        sim_add(out, 7, SIM_KILL, "response_disagrees", "", "cosine %.9g of the responses, at least %.6g is wanted", a->cosine,
                cosine_min);
    if (row >= 0 && !(worst >= cosine_min))
        sim_add(out, 9, SIM_KILL, "response_disagrees", "", "cosine %.9g of the worst row that moves, at least %.6g is wanted",
                worst, cosine_min);
    if (!isnan(tolerance) && !(fabs(a->gain - 1) <= tolerance))
        sim_add(out, 11, SIM_KILL, "response_disagrees", "", "gain %.6g of the responses, within %.3g of 1 is wanted", a->gain,
                tolerance);
}

/* A mask that is turned around lets the other keys take part, and the output moves the opposite way in every row: the part that
 * the right mask takes away and the part that it leaves weigh against each other. */
static void polarity(response *o, sim_report *out) {
    const sim_slices *rows = sim_pair_slices(&o->moving, SIM_ROW);
    uint64_t turned = 0;
    for (uint64_t i = 0; i < rows->n; i++) turned += rows->at[i].cosine <= -0.9;
    if (sim_has(out, SIM_KILL) && rows->n && 2 * turned >= rows->n)
        sim_add(out, 15, SIM_DIAGNOSIS, "polarity_suspected", "",
                "%llu of %llu rows move the opposite way: is the mask turned around (true = takes part)?", (unsigned long long)turned,
                (unsigned long long)rows->n);
}

void response_rules(response *o, const states *st, double cosine_min, sim_report *out) {
    if (!(o->all.all.norm_ref > 0)) {
        sim_add(out, 3, SIM_INVALID, "fixture_without_power", "",
                "the reference does not respond: choose another token or state");
        return;
    }
    if (!(o->all.all.norm_cand > 0)) {
        sim_add(out, 4, SIM_KILL, "no_response", "", "the reference moves by %.6g (norm), the candidate not at all",
                o->all.all.norm_ref);
        return;
    }
    dead_slice(o, st, out);
    moving_rows(o, cosine_min, out);
    still_rows(o, st, out);
    polarity(o, out);
}

void response_emit(response *o, const states *st, const char *label, const assay_finding *f) {
    char group[160];
    double worst;
    sim_group(group, "response", label);
    sim_metric(f, group, "reference_response_l2", o->all.all.norm_ref, "tensor");
    sim_metric(f, group, "candidate_response_l2", o->all.all.norm_cand, "tensor");
    sim_metric(f, group, "rows_moving", (double)o->n_moving, "rows");
    sim_metric(f, group, "rows_still", (double)o->n_still, "rows");
    sim_metric(f, group, "still_max_abs", o->still_max_abs, "tensor");
    sim_metric(f, group, "noise_floor", st->floor_known ? st->noise_floor : NAN, "tensor");
    sim_emit_pair(f, group, &o->all, NULL);
    if (!o->has_moving) return;
    worst_row(o, &worst);
    sim_metric(f, group, "response_cosine", o->moving.all.cosine, "1");
    sim_metric(f, group, "response_gain", o->moving.all.gain, "1");
    sim_metric(f, group, "response_rel_l2", o->moving.all.rel_l2, "1");
    sim_metric(f, group, "response_row_cosine", worst, "1");
}
