/* A gate that judges label by label: creating it, and the loop over its evidence. */
#include "similarity.h"
#include <stdlib.h>

assay_status sim_create(const assay_host *host, const assay_params *given, void **self, assay_error *err) {
    sim *s = calloc(1, sizeof *s);
    if (!s) return sim_fail(err, ASSAY_E_NOMEM, "no memory for the gate");
    assay_status st = sim_open(s, host, given, err);
    if (st == ASSAY_OK)
        *self = s;
    else
        free(s);
    return st;
}

assay_status sim_create_plain(const assay_host *host, const assay_params *given, void **self, assay_error *err) {
    const assay_metrics_1 *m = sim_metrics(host, err);
    if (!m) return ASSAY_E_UNSUPPORTED;
    sim *s = calloc(1, sizeof *s);
    if (!s) return sim_fail(err, ASSAY_E_NOMEM, "no memory for the gate");
    *s = (sim){.host = host, .params = given, .m = m};
    s->in_run = *sim_param_text(s, "control", 0) != 0;
    *self = s;
    return ASSAY_OK;
}

/* An earlier rule ended this label: the arms that must fail were given and never tried, so they were not rejected here either. */
static void tell_untried(const sim_label *l, const assay_finding *f) {
    if (sim_usable(sim_item(l->items, "must_fail", l->label)) && !sim_applied(&l->report, "5"))
        f->reason(f, "must_fail_not_tried", "an earlier rule decided: whether this gate rejects the must_fail arms was not tried", l->label);
}

static assay_status judge_label(const sim *s, const sim_items *items, const char *label, sim_rules_fn *rules, sim_tally *tally,
                                const assay_finding *f, assay_error *err) {
    sim_label l;
    assay_status st = sim_label_open(s, items, label, f, &l, err);
    if (st == ASSAY_OK && !l.verdict) { /* no verdict yet: there is something to judge */
        if (l.has_pair) rules(&l, f);
        st = sim_label_finish(&l, f, err);
    }
    if (st == ASSAY_OK) tell_untried(&l, f);
    if (st == ASSAY_OK) sim_tally_add(tally, label, l.verdict, l.invalid, l.run.data ? &l.run : NULL);
    sim_label_close(&l);
    return st;
}

assay_status sim_judge_labels(const sim *s, const assay_evidence *ev, sim_rules_fn *rules, const assay_finding *f,
                              assay_error *err) {
    static const char *const roles[] = {"reference", "control", "candidate", "must_fail", "negative",
                                        "input",     "query",   "key",       NULL};
    const char *labels[SIM_LABELS];
    sim_items items;
    sim_tally tally = {.n = 0};
    assay_status st = sim_items_load(ev, roles, &items, err);
    if (st != ASSAY_OK) return st;
    size_t n = sim_labels(&items, "candidate", labels, SIM_LABELS);
    for (size_t i = 0; st == ASSAY_OK && i < n; i++) st = judge_label(s, &items, labels[i], rules, &tally, f, err);
    if (st == ASSAY_OK) {
        sim_emit_limits(f, s);
        sim_tally_give(&tally, f);
    }
    sim_items_free(&items);
    return st;
}
