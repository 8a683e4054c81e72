/* Rules 2e, 12 and 12c: the candidate's error against the control's, and whether the control is fit to be a measure. */
#include "similarity.h"
#include <stdio.h>

typedef struct relative {
    const char *name, *code;
    double factor, cand, control, floor;
} relative;

static void check(const relative *r, sim_report *out) {
    if (isnan(r->factor)) return;
    double limit = r->factor * r->control + r->floor;
    if (!(r->cand <= limit))
        sim_add(out, 12, SIM_KILL, r->code, "", "%s %.6g, at most %.6g = %.3g x the control's %.6g + %.3g is allowed", r->name,
                r->cand, limit, r->factor, r->control, r->floor);
}

void sim_rules_relative(sim_pair *p, sim_pair *control, sim_report *out) {
    const sim_limits *l = &p->s->lim;
    bool any = !isnan(l->rel_l2_factor) || !isnan(l->max_abs_factor) || !isnan(l->row_rel_l2_factor);
    sim_line_add(out, "12", control && any, control ? "no factor is in force" : "no control arm");
    if (!control || !any) return;
    double floor = l->control_floor;
    const relative tensor[] = {
        {"rel_l2", "rel_l2_above_control_multiple", l->rel_l2_factor, p->all.rel_l2, control->all.rel_l2, floor},
        {"max_abs", "max_abs_above_control_multiple", l->max_abs_factor, p->all.max_abs, control->all.max_abs,
         floor * p->all.rms_ref},
    };
    for (int i = 0; i < 2; i++) check(&tensor[i], out);
    if (isnan(l->row_rel_l2_factor)) return;
    const sim_rows *a = sim_pair_rows(p), *b = sim_pair_rows(control);
    if (!a->applied || !b->applied) return;
    check(&(relative){"row_rel_l2", "row_rel_l2_above_control_multiple", l->row_rel_l2_factor, a->rel_l2, b->rel_l2, floor}, out);
}

bool sim_rule_envelope(const sim_pair *p, const sim_pair *control, sim_report *out) {
    sim_line_add(out, "2e", control != NULL, "no control arm");
    bool lost = p->all.nonfinite_cand || p->all.zeros_cand == p->all.count;
    if (!control || !control->all.nonfinite_cand || !lost) return false;
    sim_add(out, 2, SIM_UNDECIDED, "out_of_envelope", "",
            "%llu of %llu elements of the control are not finite either, while the reference is finite: this fixture leaves the range "
            "that the arms can hold and says nothing about the change (take it out with use)",
            (unsigned long long)control->all.nonfinite_cand, (unsigned long long)control->all.count);
    return true;
}

void sim_rule_control(sim_pair *control, sim_report *out) {
    sim_line_add(out, "12c", control != NULL, "no control arm");
    if (!control) return;
    sim_report own = {0};
    sim_rule_finite_cand(control, &own);
    if (sim_finite(control)) {
        sim_rule_dead(control, &own);
        sim_rules_absolute(control, &own);
    }
    if (own.n)
        sim_add(out, 12, SIM_INVALID, "control_failed", own.items[0].where, "the control itself fails: %s: %.180s",
                own.items[0].code, own.items[0].message);
    sim_report_free(&own);
}
