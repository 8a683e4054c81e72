/* Several labels of one gate: the worst decides, and a fault that shows at some labels only is said so. */
#include "similarity.h"
#include <stdlib.h>

void sim_tally_add(sim_tally *t, const char *label, assay_verdict v, bool invalid, const assay_tensor *shape) {
    if (t->n == SIM_LABELS) return;
    t->label[t->n] = label, t->verdict[t->n] = v, t->invalid[t->n] = invalid, t->shape[t->n] = shape ? *shape : (assay_tensor){0};
    t->n++;
}

static int rank_of(assay_verdict v) {
    return v == ASSAY_KILL ? 3 : v == ASSAY_INCONCLUSIVE ? 2 : v == ASSAY_NOT_MEASURED ? 1 : 0;
}
assay_verdict sim_tally_verdict(const sim_tally *t) {
    assay_verdict worst = t->n ? ASSAY_PASS : ASSAY_NOT_MEASURED;
    for (size_t i = 0; i < t->n; i++)
        if (rank_of(t->verdict[i]) > rank_of(worst)) worst = t->verdict[i];
    return worst;
}

static const char *printed(const sim_tally *t, size_t i) {
    if (t->invalid[i]) return "invalid";
    return t->verdict[i] == ASSAY_PASS           ? "pass"
           : t->verdict[i] == ASSAY_KILL         ? "kill"
           : t->verdict[i] == ASSAY_INCONCLUSIVE ? "inconclusive"
                                                 : "not-measured";
}

static void emit_verdicts(const sim_tally *t, const assay_finding *f) {
    sim_text s = {0};
    bool labelled = t->n > 1;
    for (size_t i = 0; i < t->n; i++) labelled = labelled || t->label[i][0];
    if (!labelled) return;
    sim_text_add(&s, "{");
    for (size_t i = 0; i < t->n; i++) {
        sim_text_add(&s, i ? "," : ""), sim_text_string(&s, t->label[i]);
        sim_text_add(&s, ":\"%s\"", printed(t, i));
    }
    sim_text_add(&s, "}");
    sim_metric_json(f, "gate", "verdicts", s.s);
    free(s.s);
}

static void emit_smallest(const sim_tally *t, const assay_finding *f) {
    size_t best = t->n;
    for (size_t i = 0; i < t->n; i++)
        if (!t->invalid[i] && t->verdict[i] == ASSAY_KILL && t->shape[i].data &&
            (best == t->n || sim_count(&t->shape[i]) < sim_count(&t->shape[best])))
            best = i;
    if (best == t->n || !t->label[best][0]) return;
    sim_text s = {0};
    sim_text_string(&s, t->label[best]);
    sim_metric_json(f, "gate", "smallest_failing_shape", s.s);
    free(s.s);
}

/* Labels that pass beside labels that are killed. */
static void disagreement(const sim_tally *t, const assay_finding *f) {
    const assay_tensor *first = NULL;
    bool pass = false, kill = false, shapes_differ = false;
    for (size_t i = 0; i < t->n; i++) {
        if (t->invalid[i] || !t->shape[i].data) continue;
        pass = pass || t->verdict[i] == ASSAY_PASS, kill = kill || t->verdict[i] == ASSAY_KILL;
        shapes_differ = shapes_differ || (first && !sim_same_shape(first, &t->shape[i]));
        first = first ? first : &t->shape[i];
    }
    if (!pass || !kill) return;
    if (shapes_differ)
        f->reason(f, "shape_dependent_fault", "some shapes pass and some are killed", "");
    else
        f->reason(f, "fixture_disagreement",
                  "some fixtures pass and some are killed: those that pass have no power for this fault", "");
}

void sim_tally_give(const sim_tally *t, const assay_finding *f) {
    emit_verdicts(t, f);
    emit_smallest(t, f);
    disagreement(t, f);
    if (!t->n) f->reason(f, "nothing_to_compare", "there is no candidate tensor", "");
    f->verdict(f, sim_tally_verdict(t));
}
