/* What a killed candidate would have passed with. Said beside the kill and stamped: a limit that is chosen after looking at the
 * result decides nothing; it belongs into the plan of the next experiment, with a reason. */
#include "similarity.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct wish {
    const char *name;
    double limit, got; /* got: the figure that the limit is held against; NaN: no limit helps */
    bool at_least;
} wish;

static double worst_head(sim_pair *p) {
    const sim_slices *bh = sim_pair_slices(p, SIM_BH);
    double worst = INFINITY;
    for (uint64_t i = 0; i < bh->n; i++)
        if (!(bh->at[i].cosine >= worst)) worst = bh->at[i].cosine;
    return bh->n ? worst : NAN;
}

static double worst_gain(sim_pair *p) {
    const sim_slices *bh = sim_pair_slices(p, SIM_BH);
    double worst = fabs(p->all.gain - 1);
    for (uint64_t i = 0; i < bh->n && p->s->preset != SIM_PRESET_CALIBRATION; i++)
        if (!(fabs(bh->at[i].gain - 1) <= worst)) worst = fabs(bh->at[i].gain - 1);
    return worst;
}

static double worst_centred(sim_pair *p) {
    const sim_centred *c = sim_pair_centred(p);
    double worst = c->applied && c->share >= 0x1p-5 ? c->cosine : INFINITY;
    for (uint64_t i = 0; c->applied && i < c->n; i++)
        if (c->bh_share[i] >= 0x1p-5 && !(c->bh_cosine[i] >= worst)) worst = c->bh_cosine[i];
    return worst;
}

/* The factor with which e(c) <= factor e(k) + floor holds. */
static double factor(double cand, double control, double floor) { return control > 0 ? (cand - floor) / control : NAN; }

static size_t wishes(sim_pair *p, sim_pair *k, wish *out) {
    const sim_limits *l = &p->s->lim;
    const sim_rows *rows = sim_pair_rows(p);
    size_t n = 0;
    out[n++] = (wish){"cosine_min", l->cosine_min, p->all.cosine, true};
    out[n++] = (wish){"per_head_cosine_min", l->per_head_cosine_min, worst_head(p), true};
    if (rows->applied) out[n++] = (wish){"row_cosine_min", l->row_cosine_min, rows->cosine, true};
    out[n++] = (wish){"centred_cosine_min", l->centred_cosine_min, worst_centred(p), true};
    out[n++] = (wish){"gain_tolerance", l->gain_tolerance, worst_gain(p), false};
    out[n++] = (wish){"rel_l2_max", l->rel_l2_max, p->all.rel_l2, false};
    out[n++] = (wish){"max_abs_max", l->max_abs_max, p->all.max_abs, false};
    out[n++] = (wish){"psnr_min_db", l->psnr_min_db, p->all.psnr_db, true};
    out[n++] = (wish){"snr_min_db", l->snr_min_db, p->all.snr_db, true};
    if (!k) return n;
    double floor = l->control_floor;
    out[n++] = (wish){"rel_l2_factor_vs_control", l->rel_l2_factor, factor(p->all.rel_l2, k->all.rel_l2, floor), false};
    out[n++] = (wish){"max_abs_factor_vs_control", l->max_abs_factor, factor(p->all.max_abs, k->all.max_abs, floor * p->all.rms_ref), false};
    if (rows->applied && sim_pair_rows(k)->applied)
        out[n++] = (wish){"row_rel_l2_factor_vs_control", l->row_rel_l2_factor, factor(rows->rel_l2, sim_pair_rows(k)->rel_l2, floor), false};
    return n;
}

static bool unmet(const wish *w) {
    if (isnan(w->limit) || isinf(w->got)) return false; /* not in force, or the rule had nothing to look at */
    return w->at_least ? !(w->got >= w->limit) : !(w->got <= w->limit);
}

/* One rule that no limit of a parameter could have met: rules 0 to 6 and 14. */
static bool hopeless(const sim_report *r) {
    for (size_t i = 0; i < r->n; i++)
        if (r->items[i].kind == SIM_KILL && (r->items[i].rule <= 6 || r->items[i].rule == 14)) return true;
    return false;
}

void sim_post_hoc(const assay_finding *f, const char *label, sim_pair *p, sim_pair *control, sim_report *out) {
    wish all[16];
    char key[160], text[400] = "";    /* all twelve fit */
    sim_text t = {0};
    size_t at = 0, n = 0;
    if (!sim_has(out, SIM_KILL) || !sim_finite(p) || hopeless(out)) return;
    sim_text_add(&t, "{\"post_hoc\":true");
    for (size_t i = 0, count = wishes(p, control && sim_finite(control) ? control : NULL, all); i < count; i++) {
        if (!unmet(&all[i])) continue;
        sim_text_add(&t, ",\"%s\":", all[i].name), sim_text_number(&t, all[i].got);
        if (at < sizeof text)
            at += (size_t)snprintf(text + at, sizeof text - at, "%s%s %.6g", n++ ? ", " : "", all[i].name, all[i].got);
    }
    sim_text_add(&t, "}");
    if (n) {
        f->detail(f, sim_group(key, "would_have_passed", label), t.s);
        sim_add(out, 15, SIM_DIAGNOSIS, "post_hoc_tolerance", "", "post-hoc, no result: it would have passed with %s", text);
    }
    free(t.s);
}
