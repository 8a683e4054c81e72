/* Rule 5: before a candidate is believed, the similarity rules must reject zeros, the constant mean and the must_fail arms.
 * Finite, zero and constant tests (rules 2 and 4) do not count here: the next wrong tensor is neither. */
#include "similarity.h"
#include <stdio.h>

/* Cheap rules first: the first rejection is enough. */
static bool rejected(sim_pair *p, sim_pair *control, bool *any) {
    sim_report out = {0};
    sim_rules_declared(p, &out);
    if (!isnan(p->s->lim.cosine_min)) sim_check_cosine(p->s, &p->all, &out);
    if (!sim_has(&out, SIM_KILL)) sim_rules_relative(p, control, &out);
    if (!sim_has(&out, SIM_KILL)) sim_rules_absolute(p, &out);
    static const char *const rules[] = {"7", "8", "9", "10", "11", "12", "13"};
    bool is = sim_has(&out, SIM_KILL);
    *any = is;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) *any = *any || sim_applied(&out, rules[i]);
    sim_report_free(&out);
    return is;
}

bool sim_met(sim_pair *p, sim_pair *control, bool *any) { return !rejected(p, control, any) && *any; }

static bool rejects(sim_pair *p, sim_pair *control, const assay_tensor *c, bool *any) {
    sim_pair q;
    *any = true;
    if (sim_pair_open(p->s, &p->r, c, &q, NULL) != ASSAY_OK) return false;
    bool is = rejected(&q, control, any);
    sim_pair_close(&q);
    return is;
}

/* A tensor of the reference's shape that repeats one number: all strides are 0. */
static assay_tensor repeated(const assay_tensor *like, double *value) {
    assay_tensor t = *like;
    t.dtype = ASSAY_F64, t.data = value, t.nbytes = sizeof *value;
    for (uint32_t i = 0; i < t.rank; i++) t.stride[i] = 0;
    return t;
}

void sim_rule_power(sim_pair *p, sim_pair *control, const sim_named *must_fail, size_t n, sim_report *out) {
    double values[] = {0, p->all.mean_ref};
    static const char *const names[] = {"a tensor of zeros", "the constant mean of the reference"};
    bool any = true;
    for (int i = 0; i < 2 && any; i++) {
        assay_tensor t = repeated(&p->r, &values[i]);
        if (!rejects(p, control, &t, &any) && any)
            sim_add(out, 5, SIM_INVALID, "gate_has_no_power", "", "no similarity rule in force rejects %s: tighten the limits",
                    names[i]);
    }
    sim_line_add(out, "5", any, "no similarity rule is applied");
    for (size_t i = 0; i < n && any; i++) {
        char who[200];
        snprintf(who, sizeof who, "the must_fail tensor%s%s", *must_fail[i].arm ? " of arm " : "", must_fail[i].arm);
        if (!sim_same_shape(&p->r, &must_fail[i].t))
            sim_add(out, 5, SIM_INVALID, "gate_has_no_power", "", "%s has another shape than the reference: it shows nothing",
                    who);
        else if (!rejects(p, control, &must_fail[i].t, &any) && any)
            sim_add(out, 5, SIM_INVALID, "gate_has_no_power", "",
                    "no similarity rule in force rejects %s: tighten the limits or choose another fixture", who);
    }
}
