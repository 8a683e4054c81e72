/* Rules 1-4, 7-11, 13 and 14 of statistics.md section 3.2: those that need the reference and the candidate only. */
#include "similarity.h"
#include <stdio.h>
#include <stdlib.h>

static bool on(double limit) { return !isnan(limit); }
static const double least_share = 0x1p-5; /* of the centred signal: below it fp16 noise decides rule 10 */

void sim_rule_finite_ref(sim_pair *p, sim_report *out) {
    sim_line_add(out, "1", true, "");
    if (p->all.nonfinite_ref)
        sim_add(out, 1, SIM_INVALID, "reference_not_finite", "",
                "%llu of %llu reference elements are NaN or infinite: mend the reference or leave them out with a region",
                (unsigned long long)p->all.nonfinite_ref, (unsigned long long)p->all.count);
}

void sim_rule_finite_cand(sim_pair *p, sim_report *out) {
    sim_line_add(out, "2", true, "");
    if (p->all.nonfinite_cand)
        sim_add(out, 2, SIM_KILL, "nonfinite_output", "", "%llu of %llu elements are not finite (%llu NaN), the first at %lld",
                (unsigned long long)p->all.nonfinite_cand, (unsigned long long)p->all.count, (unsigned long long)p->all.nan_cand,
                (long long)p->all.first_nonfinite_cand);
}

void sim_rule_fixture(sim_pair *p, sim_report *out) {
    char at[96];
    sim_line_add(out, "3", true, "");
    if (!(p->all.norm_ref > 0) || !(p->all.var_ref > 0)) {
        sim_add(out, 3, SIM_INVALID, "fixture_without_power", "", "the reference is %s: it cannot tell right from wrong",
                p->all.norm_ref > 0 ? "constant" : "zero");
        return;
    }
    const sim_slices *bh = sim_pair_slices(p, SIM_BH);
    for (uint64_t i = 0; i < bh->n; i++)
        if (!(bh->at[i].norm_ref > 0) || !(bh->at[i].var_ref > 0)) {
            sim_add(out, 3, SIM_INVALID, "fixture_without_power", sim_index_text(&p->r, bh->keep, (int64_t)i, at),
                    "the reference of this (batch, head) is %s", bh->at[i].norm_ref > 0 ? "constant" : "zero");
            return;
        }
}

static bool all_zero(const assay_pair_stats *a) { return a->zeros_cand == a->count; }

/* One code for the first slice found, with the number of all. A slice of one element says nothing. */
static void dead_slices(sim_pair *p, int kind, sim_report *out) {
    const sim_slices *sl = sim_pair_slices(p, kind);
    uint64_t n = 0, first = 0;
    for (uint64_t i = 0; i < sl->n; i++) {
        const assay_pair_stats *a = &sl->at[i];
        bool zero = all_zero(a) && a->norm_ref > 0, constant = kind == SIM_BH && a->constant_cand && !a->constant_ref;
        if (a->count > 1 && (zero || constant) && n++ == 0) first = i;
    }
    char at[96];
    if (n)
        sim_add(out, 4, SIM_KILL, "dead_slice", sim_index_text(&p->r, sl->keep, (int64_t)first, at),
                "%llu of %llu %s are %s, this one first", (unsigned long long)n, (unsigned long long)sl->n,
                kind == SIM_BH ? "(batch, head) slices" : "channels", kind == SIM_BH ? "zero or constant" : "zero");
}

static void dead_rows(sim_pair *p, sim_report *out) {
    const sim_rows *rows = sim_pair_rows(p);
    char at[96];
    if (rows->dead)
        sim_add(out, 4, SIM_KILL, "dead_row", sim_index_text(&p->r, p->slices[SIM_ROW].keep, rows->first_dead, at),
                "%llu of %llu rows are all zero, this one first", (unsigned long long)rows->dead,
                (unsigned long long)rows->total);
}

void sim_rule_dead(sim_pair *p, sim_report *out) {
    sim_line_add(out, "4", true, "");
    if (all_zero(&p->all))
        sim_add(out, 4, SIM_KILL, "all_zero_output", "", "all %llu elements are 0", (unsigned long long)p->all.count);
    else if (p->all.constant_cand)
        sim_add(out, 4, SIM_KILL, "constant_output", "", "all %llu elements are equal", (unsigned long long)p->all.count);
    else if (p->s->lim.slices_dead) {
        dead_slices(p, SIM_BH, out);
        dead_slices(p, SIM_CHANNEL, out);
        dead_rows(p, out);
    }
}

void sim_check_cosine(const sim *s, const assay_pair_stats *a, sim_report *out) {
    if (!(a->cosine >= s->lim.cosine_min))
        sim_add(out, 7, SIM_KILL, "cosine_below_min", "", "cosine %.9g, at least %.9g is wanted", a->cosine, s->lim.cosine_min);
}
void sim_check_gain(const sim *s, const assay_pair_stats *a, const char *where, sim_report *out) {
    if (!(fabs(a->gain - 1) <= s->lim.gain_tolerance))
        sim_add(out, 11, SIM_KILL, "scale_error", where, "gain %.9g, within %.3g of 1 is wanted", a->gain, s->lim.gain_tolerance);
}

static void rule_heads(sim_pair *p, sim_report *out) {
    const sim_slices *bh = sim_pair_slices(p, SIM_BH);
    double limit = p->s->lim.per_head_cosine_min, worst = 0;
    uint64_t n = 0, first = 0;
    sim_line_add(out, "8", on(limit) && bh->n, on(limit) ? "no head axis" : "no per_head_cosine_min");
    if (!on(limit)) return;
    for (uint64_t i = 0; i < bh->n; i++)
        if (!(bh->at[i].cosine >= limit) && (n++ == 0 || (!isnan(worst) && !(bh->at[i].cosine >= worst))))
            first = i, worst = bh->at[i].cosine;
    char at[96];
    if (n)
        sim_add(out, 8, SIM_KILL, "per_head_cosine_below_min", sim_index_text(&p->r, bh->keep, (int64_t)first, at),
                "cosine %.9g here, at least %.9g is wanted; %llu of %llu slices are below", worst, limit, (unsigned long long)n,
                (unsigned long long)bh->n);
}

static void rule_rows(sim_pair *p, sim_report *out) {
    double limit = p->s->lim.row_cosine_min;
    const sim_rows *rows = sim_pair_rows(p);
    sim_line_add(out, "9", on(limit) && rows->applied,
                 !on(limit)    ? "no row_cosine_min"
                 : rows->total ? "every row is skipped"
                               : "no channel axis");
    char at[96];
    if (on(limit) && rows->applied && !(rows->cosine >= limit))
        sim_add(out, 9, SIM_KILL, "row_cosine_below_min", sim_index_text(&p->r, p->slices[SIM_ROW].keep, rows->worst, at),
                "cosine %.9g of the worst row, at least %.9g is wanted", rows->cosine, limit);
}

static void rule_centred(sim_pair *p, sim_report *out) {
    double limit = p->s->lim.centred_cosine_min;
    const sim_centred *c = on(limit) ? sim_pair_centred(p) : &(sim_centred){0};
    bool tensor = c->applied && c->share >= least_share, any = tensor;
    char at[96];
    if (tensor && !(c->cosine >= limit))
        sim_add(out, 10, SIM_KILL, "centred_cosine_below_min", "", "centred cosine %.9g, at least %.9g is wanted", c->cosine,
                limit);
    for (uint64_t i = 0; c->applied && i < c->n; i++) {
        if (!(c->bh_share[i] >= least_share)) continue;
        any = true;
        if (c->bh_cosine[i] >= limit) continue;
        sim_add(out, 10, SIM_KILL, "centred_cosine_below_min", sim_index_text(&p->r, p->slices[SIM_BH].keep, (int64_t)i, at),
                "centred cosine %.9g here, at least %.9g is wanted", c->bh_cosine[i], limit);
        break;
    }
    sim_line_add(out, "10", any,
                 !on(limit)   ? "no centred_cosine_min"
                 : c->applied ? "low_centred_power: centred share below 2^-5"
                              : "no token axis");
}

static void rule_gain(sim_pair *p, sim_report *out) {
    sim_line_add(out, "11", on(p->s->lim.gain_tolerance), "no gain_tolerance");
    if (!on(p->s->lim.gain_tolerance)) return;
    size_t before = out->n;
    sim_check_gain(p->s, &p->all, "", out);
    if (p->s->preset == SIM_PRESET_CALIBRATION) return;
    const sim_slices *bh = sim_pair_slices(p, SIM_BH);
    char at[96];
    for (uint64_t i = 0; i < bh->n && out->n < before + 2; i++)
        sim_check_gain(p->s, &bh->at[i], sim_index_text(&p->r, bh->keep, (int64_t)i, at), out);
}

void sim_rules_absolute(sim_pair *p, sim_report *out) {
    sim_line_add(out, "7", on(p->s->lim.cosine_min), "no cosine_min");
    if (on(p->s->lim.cosine_min)) sim_check_cosine(p->s, &p->all, out);
    rule_heads(p, out);
    rule_rows(p, out);
    rule_centred(p, out);
    rule_gain(p, out);
}

bool sim_element_rule(const sim *s) { return on(s->lim.atol) || on(s->lim.rtol); }
double sim_atol(const sim *s) { return on(s->lim.atol) ? s->lim.atol : 0; }
double sim_rtol(const sim *s) { return on(s->lim.rtol) ? s->lim.rtol : 0; }

/* `over`: elements beyond atol + rtol abs(r). Identical tensors meet a limit in dB. */
void sim_check_declared(const sim *s, const assay_pair_stats *a, uint64_t over, sim_report *out) {
    const sim_limits *l = &s->lim;
    if (on(l->rel_l2_max) && !(a->rel_l2 <= l->rel_l2_max))
        sim_add(out, 13, SIM_KILL, "rel_l2_above_max", "", "rel_l2 %.6g, at most %.6g is allowed", a->rel_l2, l->rel_l2_max);
    if (on(l->max_abs_max) && !(a->max_abs <= l->max_abs_max))
        sim_add(out, 13, SIM_KILL, "max_abs_above_max", "", "max_abs %.6g, at most %.6g is allowed", a->max_abs, l->max_abs_max);
    if (on(l->psnr_min_db) && !(a->psnr_db >= l->psnr_min_db) && !a->identical)
        sim_add(out, 13, SIM_KILL, "psnr_below_min", "", "PSNR %.4g dB, at least %.4g dB is wanted", a->psnr_db, l->psnr_min_db);
    if (on(l->snr_min_db) && !(a->snr_db >= l->snr_min_db) && !a->identical)
        sim_add(out, 13, SIM_KILL, "snr_below_min", "", "SNR %.4g dB, at least %.4g dB is wanted", a->snr_db, l->snr_min_db);
    if (over)
        sim_add(out, 13, SIM_KILL, "element_rule_failed", "", "%llu of %llu elements are beyond atol + rtol abs(r)",
                (unsigned long long)over, (unsigned long long)a->count);
}

void sim_rules_declared(sim_pair *p, sim_report *out) {
    const sim_limits *l = &p->s->lim;
    bool any = on(l->rel_l2_max) || on(l->max_abs_max) || on(l->psnr_min_db) || on(l->snr_min_db) || sim_element_rule(p->s);
    sim_line_add(out, "13", any, "no absolute limit is declared");
    if (any) sim_check_declared(p->s, &p->all, sim_element_rule(p->s) ? sim_pair_further(p)->over : 0, out);
}

/* Does the left-out element itself break the element rule? Then it is not counted without it. */
static uint64_t over_without(sim_pair *p, int64_t at) {
    uint64_t n = sim_pair_further(p)->over;
    double r = p->s->m->load(&p->r, at), c = p->s->m->load(&p->c, at);
    bool itself = !(fabs(c - r) <= sim_atol(p->s) + sim_rtol(p->s) * fabs(r));
    return n && itself ? n - 1 : n;
}

void sim_rule_outlier(sim_pair *p, sim_report *out) {
    double share = p->all.energy_share_top1, limit = p->s->lim.outlier_share_max;
    bool applies = on(limit) && share > limit;
    sim_line_add(out, "14", applies, on(limit) ? "no element holds so much of the energy" : "no outlier_share_max");
    if (!applies) return;
    sim_report without = {0};
    if (on(p->s->lim.cosine_min)) sim_check_cosine(p->s, &p->rest, &without);
    if (on(p->s->lim.gain_tolerance)) sim_check_gain(p->s, &p->rest, "", &without);
    sim_check_declared(p->s, &p->rest, sim_element_rule(p->s) ? over_without(p, p->all.energy_top1_index) : 0, &without);
    if (without.n)
        sim_add(out, 14, SIM_KILL, "metric_dominated_by_outlier", "", "element %lld holds %.6g of the energy; without it: %.150s",
                (long long)p->all.energy_top1_index, share, without.items[0].message);
    sim_report_free(&without);
}

/* Rule 7 for each step. */
void sim_rule_steps(sim_pair *p, sim_report *out, double **cosines, uint64_t *n, int64_t *first_below) {
    const sim *s = p->s;
    *cosines = NULL, *n = 0, *first_below = -1;
    bool applies = s->step_axis >= 0 && s->step_axis < (int32_t)p->r.rank && on(s->lim.cosine_min);
    sim_line_add(out, "7s", applies, "no step axis");
    if (!applies) return;
    uint64_t steps = (uint64_t)p->r.shape[s->step_axis];
    assay_pair_stats *at = calloc(steps + 1, sizeof *at);
    *cosines = calloc(steps + 1, sizeof **cosines);
    if (at && *cosines && s->m->slices(&p->r, &p->c, 1u << s->step_axis, at, steps, NULL) == ASSAY_OK) *n = steps;
    for (uint64_t i = 0; i < *n; i++) {
        (*cosines)[i] = at[i].cosine;
        if (*first_below < 0 && !(at[i].cosine >= s->lim.cosine_min)) *first_below = (int64_t)i;
    }
    free(at);
    if (*first_below < 0) return;
    char where[96];
    snprintf(where, sizeof where, "step %lld", (long long)*first_below);
    sim_add(out, 7, SIM_KILL, *first_below ? "drift_over_steps" : "step_below_min", where,
            "cosine %.9g at this step, at least %.9g is wanted", (*cosines)[*first_below], s->lim.cosine_min);
}
