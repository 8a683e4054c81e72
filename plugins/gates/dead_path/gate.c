/* The gate "dead_path": is the attention branch alive? Rules 2 and 4 of statistics.md section 3.2 on the arm's own output:
 * finite, not zero, not constant, by slice as well. Similarity does not decide here: zeros can score 40 dB. Row M60. */
#include "similarity.h"
#include <stdlib.h>
#include <string.h>

static const assay_param params[] = {SIM_PARAMS("@use:dead", 0), {0}};

static assay_status needs(void *self, const assay_evidence *so_far, const assay_request *req, assay_error *err) {
    (void)so_far;
    return sim_ask_fixtures(self, req, err);
}

static bool is_dead(const sim_label *l, const sim_named *arm) {
    sim_pair q;
    sim_report out = {0};
    if (!sim_same_shape(&l->pair.r, &arm->t) || sim_pair_open(l->s, &l->pair.r, &arm->t, &q, NULL) != ASSAY_OK) return false;
    sim_rule_finite_cand(&q, &out);
    if (!out.n) sim_rule_dead(&q, &out);
    bool dead = out.n > 0;
    sim_report_free(&out);
    sim_pair_close(&q);
    return dead;
}

/* At least one must_fail arm has to be found dead, or this gate shows nothing; those that are not are left to other gates. */
static void power(sim_label *l) {
    bool found = l->n_must_fail == 0;
    for (size_t i = 0; i < l->n_must_fail; i++) {
        if (is_dead(l, &l->must_fail[i])) found = true;
        else
            sim_add(&l->report, 5, SIM_DIAGNOSIS, "must_fail_alive", l->must_fail[i].arm, "this must_fail arm is not dead: another gate has to reject it");
    }
    sim_line_add(&l->report, "5", l->n_must_fail > 0, "no must_fail tensor");
    if (!found)
        sim_add(&l->report, 5, SIM_INVALID, "gate_has_no_power", "",
                "no must_fail tensor is found zero, constant or non-finite: it is no dead path, or the gate cannot see one");
}

/* After the residual sum a dead branch can hide: agreement there shows nothing. */
static void block(sim_label *l) {
    bool any, met = sim_met(&l->pair, l->has_control ? &l->control : NULL, &any);
    if (met || sim_has(&l->report, SIM_KILL) == false)
        sim_add(&l->report, 15, SIM_UNDECIDED, met ? "dead_path_not_visible_at_block_output" : "nothing_decided", "",
                met ? "the pair after the residual sum agrees, and would with a dead branch too: take the output of the op itself"
                    : "the pair after the residual sum differs, but that does not say whether the branch is dead");
}

static void rules(sim_label *l, const assay_finding *f) {
    (void)f;
    sim_pair *p = &l->pair;
    sim_rule_finite_ref(p, &l->report);
    if (p->all.nonfinite_ref || sim_rule_envelope(p, l->has_control ? &l->control : NULL, &l->report)) return;
    sim_rule_finite_cand(p, &l->report);
    if (p->all.nonfinite_cand) return;
    sim_rule_fixture(p, &l->report);
    sim_rule_dead(p, &l->report);
    if (strcmp(l->label, "block") == 0)
        block(l);
    else
        power(l);
}

static assay_status judge(void *self, const assay_evidence *ev, const assay_finding *f, assay_error *err) {
    return sim_judge_labels(self, ev, rules, f, err);
}

static const assay_gate gate = {
    .struct_size = sizeof gate,
    .name = "dead_path",
    .version = "1.0",
    .params = params,
    .summary = "the attention output itself is finite, not zero and not constant, as a whole and by slice",
    .create = sim_create,
    .needs = needs,
    .judge = judge,
    .destroy = free,
};
ASSAY_GATE_PLUGIN(gate)
