/* The gate "parity": does the candidate compute what the reference computes? Rules 0-16 of statistics.md section 3.2; rows M57-M59. */
#include "similarity.h"
#include <stdlib.h>

static const assay_param params[] = {
    SIM_PARAMS("@use:parity", ASSAY_PARAM_PREREGISTERED),
    SIM_AXIS("step_axis", "the tensors hold successive steps: cosine_min holds for each"),
    SIM_AXIS("repeat_axis", "the candidate has one axis more: repeated runs of one call"),
    {"repeats", "1", 0, "calls", "how often the candidate is called on each fixture: all outputs must be equal", 1, 64, ASSAY_T_INT, 0},
    {"valid_tokens", "0", 0, "tokens", "tokens from here on are padding and take no part (0: none is)", 0, 0x1p40, ASSAY_T_INT, 0},
    {0},
};

static assay_status needs(void *self, const assay_evidence *so_far, const assay_request *req, assay_error *err) {
    (void)so_far;
    return sim_ask_fixtures(self, req, err);
}

static void rules(sim_label *l, const assay_finding *f) {
    sim_pair *p = &l->pair, *k = l->has_control && sim_finite(&l->control) ? &l->control : NULL;
    sim_report *out = &l->report;
    double *steps;
    uint64_t n;
    int64_t first;
    char group[160];
    sim_rule_finite_ref(p, out);
    if (p->all.nonfinite_ref || sim_rule_envelope(p, l->has_control ? &l->control : NULL, out)) return;
    sim_rule_finite_cand(p, out);
    if (p->all.nonfinite_cand) return;
    sim_rule_fixture(p, out);
    sim_rule_dead(p, out);
    sim_rule_power(p, k, l->must_fail, l->n_must_fail, out);
    sim_rules_absolute(p, out);
    sim_rule_steps(p, out, &steps, &n, &first);
    sim_rules_relative(p, k, out);
    sim_rule_control(l->has_control ? &l->control : NULL, out);
    sim_rules_declared(p, out);
    sim_rule_outlier(p, out);
    if (!sim_applied(out, "7") && !sim_applied(out, "12") && !sim_applied(out, "13"))
        sim_add(out, 15, SIM_UNDECIDED, "nothing_decided", "", "no rule of 7, 12 and 13 is applied: a pass needs one of them");
    if (n) {
        sim_metric_list(f, sim_group(group, "candidate", l->label), "per_step_cosine", steps, n, "1");
        sim_metric(f, group, "first_step_below_min", first < 0 ? NAN : (double)first, "step");
    }
    free(steps);
}

static assay_status judge(void *self, const assay_evidence *ev, const assay_finding *f, assay_error *err) {
    return sim_judge_labels(self, ev, rules, f, err);
}

static const assay_gate gate = {
    .struct_size = sizeof gate,
    .name = "parity",
    .version = "1.0",
    .params = params,
    .summary =
        "the candidate's output agrees with the reference, as a whole, by head and by row, and against the control's own error",
    .create = sim_create,
    .needs = needs,
    .judge = judge,
    .destroy = free,
};
ASSAY_GATE_PLUGIN(gate)
