/* One label of a similarity gate: its tensors, rules 0 and 6, and everything that is printed about it. */
#include "similarity.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static assay_status not_measured(sim_label *l, const assay_finding *f, const char *what, const assay_item *it) {
    char text[300];
    snprintf(text, sizeof text, "the %s is not there%s%.200s", what, it && it->why && *it->why ? ": " : "",
             it && it->why ? it->why : "");
    f->reason(f, "evidence_missing", text, l->label);
    l->verdict = it && it->state == ASSAY_STATE_FAILED ? ASSAY_INCONCLUSIVE : ASSAY_NOT_MEASURED;
    return ASSAY_OK;
}

/* The view of run i of a candidate that holds repeated runs. */
static assay_tensor run_of(const sim *s, const assay_tensor *c, int64_t i) {
    assay_tensor t = *c;
    uint32_t axis = (uint32_t)s->repeat_axis;
    size_t size = (size_t)(c->nbytes / (uint64_t)(sim_count(c) > 0 ? sim_count(c) : 1));
    t.data = (unsigned char *)t.data + (size_t)(i * c->stride[axis]) * size;
    for (uint32_t k = axis; k + 1 < c->rank; k++) t.shape[k] = c->shape[k + 1], t.stride[k] = c->stride[k + 1];
    t.rank--;
    return sim_valid(s, &t);
}

/* Rule 6, and per_run_cosine; the run with the worst cosine is judged. */
static void repeats(sim_label *l, const assay_tensor *r, const assay_tensor *c, const assay_finding *f) {
    const sim *s = l->s;
    int64_t runs = c->shape[s->repeat_axis], worst = 0, distinct = 0;
    double *cosine = calloc((size_t)runs + 1, sizeof *cosine), most = 0;
    char group[160];
    for (int64_t i = 0; cosine && i < runs; i++) {
        assay_tensor a = run_of(s, c, i), b;
        assay_pair_stats st;
        bool seen = false;
        cosine[i] = s->m->pair(r, &a, -1, &st, NULL) == ASSAY_OK ? st.cosine : NAN;
        if (isnan(cosine[i]) ? !isnan(cosine[worst]) : cosine[i] < cosine[worst]) worst = i;
        for (int64_t k = 0; k < i; k++) {
            b = run_of(s, c, k);
            seen = seen || s->m->bytes_equal(&a, &b);
            if (s->m->pair(&b, &a, -1, &st, NULL) != ASSAY_OK || !(st.max_abs <= most)) most = st.max_abs;
        }
        distinct += !seen;
    }
    sim_group(group, "candidate", l->label);
    if (cosine) sim_metric_list(f, group, "per_run_cosine", cosine, (uint64_t)runs, "1");
    sim_metric(f, group, "distinct_outputs", (double)distinct, "outputs");
    sim_metric(f, group, "max_abs_between_runs", most, "tensor");
    if (distinct > 1)
        sim_add(&l->report, 6, SIM_UNDECIDED, "not_deterministic", "", "%lld runs of one call gave %lld different outputs",
                (long long)runs, (long long)distinct);
    sim_line_add(&l->report, "6", runs > 1, "one repeat");
    l->run = run_of(s, c, worst);
    free(cosine);
}

static void shape_text(const assay_tensor *t, char out[160]) {
    size_t n = (size_t)snprintf(out, 160, "[");
    for (uint32_t i = 0; i < t->rank && n < 140; i++)
        n += (size_t)snprintf(out + n, 160 - n, "%s%lld", i ? "," : "", (long long)t->shape[i]);
    snprintf(out + n, 160 - n, "]");
}
static void shapes_differ(sim_label *l, const assay_tensor *r, const assay_tensor *c) {
    char a[160], b[160];
    shape_text(r, a), shape_text(c, b);
    sim_add(&l->report, 0, SIM_KILL, "shape_mismatch", "",
            "the candidate has shape %.90s, the reference %.90s; nothing is broadcast", b, a);
}

static void open_control(sim_label *l, const assay_tensor *r) {
    const assay_item *k = sim_item(l->items, "control", l->label);
    if (!sim_usable(k)) return;
    assay_tensor control = sim_valid(l->s, &k->tensor);
    if (!sim_same_shape(r, &control))
        sim_add(&l->report, 12, SIM_INVALID, "control_failed", "", "the control has another shape than the reference");
    else
        l->has_control = sim_pair_open(l->s, r, &control, &l->control, NULL) == ASSAY_OK;
}

static size_t named_of(const sim_label *l, const char *role, sim_named at[SIM_ARMS]) {
    size_t n = sim_named_of(l->items, role, l->label, at, SIM_ARMS);
    for (size_t i = 0; i < n; i++) at[i].t = sim_valid(l->s, &at[i].t);
    return n;
}

static double score_of(const sim_label *l) {
    const assay_item *q = sim_item(l->items, "query", l->label), *k = sim_item(l->items, "key", l->label);
    return sim_usable(q) && sim_usable(k) ? sim_max_score(l->s, &q->tensor, &k->tensor) : NAN;
}

assay_status sim_label_open(const sim *s, const sim_items *items, const char *label, const assay_finding *f, sim_label *l,
                            assay_error *err) {
    *l = (sim_label){.s = s, .label = label, .items = items, .max_score = NAN};
    const assay_item *r = sim_item(items, "reference", label), *c = sim_item(items, "candidate", label);
    if (!sim_usable(c)) return not_measured(l, f, "candidate", c);
    if (!sim_usable(r)) return not_measured(l, f, "reference", r);
    assay_tensor ref = sim_valid(s, &r->tensor);
    l->run = c->tensor;
    if (s->repeat_axis >= 0 && c->tensor.rank == r->tensor.rank + 1 && s->repeat_axis < (int32_t)c->tensor.rank) {
        assay_tensor first = run_of(s, &c->tensor, 0);
        if (sim_same_shape(&ref, &first)) repeats(l, &ref, &c->tensor, f);
    } else
        sim_line_add(&l->report, "6", false, "one repeat");
    l->run = sim_valid(s, &l->run);
    sim_line_add(&l->report, "0", true, "");
    if (!sim_same_shape(&ref, &l->run)) {
        shapes_differ(l, &ref, &l->run);
        return ASSAY_OK;
    }
    assay_status st = sim_pair_open(s, &ref, &l->run, &l->pair, err);
    if (st != ASSAY_OK) return st;
    l->has_pair = true;
    open_control(l, &ref);
    l->n_must_fail = named_of(l, "must_fail", l->must_fail);
    l->max_score = score_of(l);
    return sim_elements_look(&l->pair, &l->elements, err);
}

void sim_label_close(sim_label *l) {
    if (l->has_pair) sim_pair_close(&l->pair);
    if (l->has_control) sim_pair_close(&l->control);
    sim_report_free(&l->report);
}

static void emit_met(sim_label *l, const assay_finding *f, const char *group, sim_pair *p) {
    bool any;
    if (sim_finite(p))
        sim_metric_json(f, group, "similarity_met", sim_met(p, l->has_control ? &l->control : NULL, &any) ? "true" : "false");
}

/* Arms that are shown beside the candidate: must_fail and negative; the second and later ones carry their arm's name. */
static void emit_arms(sim_label *l, const assay_finding *f, const char *role) {
    sim_named at[SIM_ARMS];
    size_t n = named_of(l, role, at);
    for (size_t i = 0; i < n; i++) {
        char group[160], name[200];
        sim_pair q;
        if (!sim_same_shape(&l->pair.r, &at[i].t) || sim_pair_open(l->s, &l->pair.r, &at[i].t, &q, NULL) != ASSAY_OK) continue;
        snprintf(name, sizeof name, "%s%s%s", sim_group(group, role, l->label), i ? "/" : "", i ? at[i].arm : "");
        sim_emit_pair(f, name, &q, NULL);
        emit_met(l, f, name, &q);
        sim_pair_close(&q);
    }
}

static void emit_candidate(sim_label *l, const assay_finding *f) {
    char group[160], letters[8];
    sim_pair *k = l->has_control ? &l->control : NULL;
    sim_group(group, "candidate", l->label);
    sim_emit_pair(f, group, &l->pair, &l->elements);
    sim_emit_ratios(f, group, &l->pair, k);
    emit_met(l, f, group, &l->pair);
    if (k) sim_metric(f, group, "differs_from_control", (double)sim_differing(l->s, &l->pair.c, &k->c), "elements");
    const assay_item *in = sim_item(l->items, "input", l->label);
    if (l->elements.first_dead >= 0 && sim_usable(in) && sim_count(&in->tensor) == (int64_t)l->pair.all.count)
        sim_metric(f, group, "first_dead_input", l->s->m->load(&in->tensor, l->elements.first_dead), "tensor");
    if (l->s->preset != SIM_PRESET_CALIBRATION) return;
    sim_text t = {0};
    sim_letters(&l->pair, k, letters);
    sim_text_string(&t, letters);
    sim_metric_json(f, group, "letters", t.s);
    free(t.s);
}

static void emit_control(sim_label *l, const assay_finding *f) {
    char group[160];
    sim_pair against;
    if (!l->has_control) return;
    sim_emit_pair(f, sim_group(group, "control", l->label), &l->control, NULL);
    if (sim_pair_open(l->s, &l->control.c, &l->pair.c, &against, NULL) != ASSAY_OK) return;
    sim_emit_pair(f, sim_group(group, "candidate_vs_control", l->label), &against, NULL);
    sim_pair_close(&against);
}

assay_status sim_label_finish(sim_label *l, const assay_finding *f, assay_error *err) {
    (void)err;
    if (l->has_pair) {
        sim_diagnose(&l->pair, &l->elements, l->max_score, &l->report);
        sim_post_hoc(f, l->label, &l->pair, l->has_control ? &l->control : NULL, &l->report);
        emit_candidate(l, f);
        emit_control(l, f);
        emit_arms(l, f, "must_fail");
        emit_arms(l, f, "negative");
        sim_emit_worst(f, l->label, &l->pair);
        if (!isnan(l->max_score)) sim_metric(f, "gate", "max_abs_unscaled_score", l->max_score, "1");
    }
    sim_emit_lines(f, l->label, &l->report);
    sim_report_give(&l->report, l->label, f);
    l->verdict = sim_decide(&l->report, &l->invalid);
    return ASSAY_OK;
}
