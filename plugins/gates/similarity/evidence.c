/* Evidence by role and label, and the questions a similarity gate asks in a run. */
#include "similarity.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

assay_status sim_items_load(const assay_evidence *ev, const char *const *roles, sim_items *out, assay_error *err) {
    size_t n = 0;
    *out = (sim_items){0};
    for (size_t i = 0; roles[i]; i++) n += ev->count(ev, roles[i]);
    out->at = calloc(n + 1, sizeof *out->at);
    if (!out->at) return sim_fail(err, ASSAY_E_NOMEM, "no memory for %zu pieces of evidence", n);
    for (size_t i = 0; roles[i]; i++)
        for (uint32_t k = 0, many = ev->count(ev, roles[i]); k < many && out->n < n; k++) {
            assay_item *it = &out->at[out->n];
            it->struct_size = sizeof *it;
            assay_status st = ev->item(ev, roles[i], k, it, err);
            if (st != ASSAY_OK) {
                sim_items_free(out);
                return st;
            }
            out->n++;
        }
    return ASSAY_OK;
}
void sim_items_free(sim_items *s) {
    free(s->at);
    *s = (sim_items){0};
}

const assay_item *sim_item(const sim_items *s, const char *role, const char *label) {
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->at[i].role, role) == 0 && strcmp(s->at[i].label, label) == 0) return &s->at[i];
    return NULL;
}
bool sim_usable(const assay_item *it) {
    return it && it->kind == ASSAY_K_OUTPUT && it->state == ASSAY_OK_STATE && it->tensor.data;
}

void sim_tell_missing(const sim_items *s, const char *role, const char *label, const assay_finding *f) {
    const assay_item *it = sim_item(s, role, label);
    const char *why = it && it->why ? it->why : "";
    char text[300];
    snprintf(text, sizeof text, "the %s is not there%s%.200s", role, *why ? ": " : "", why);
    f->reason(f, "evidence_missing", text, label);
}

size_t sim_labels(const sim_items *s, const char *role, const char **out, size_t max) {
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++) {
        bool known = strcmp(s->at[i].role, role) != 0;
        for (size_t k = 0; k < n && !known; k++) known = strcmp(out[k], s->at[i].label) == 0;
        if (!known && n < max) out[n++] = s->at[i].label;
    }
    return n;
}

size_t sim_named_of(const sim_items *s, const char *role, const char *label, sim_named *out, size_t max) {
    size_t n = 0;
    for (size_t i = 0; i < s->n && n < max; i++) {
        const assay_item *it = &s->at[i];
        if (strcmp(it->role, role) == 0 && strcmp(it->label, label) == 0 && sim_usable(it))
            out[n++] = (sim_named){it->tensor, it->arm ? it->arm : ""};
    }
    return n;
}

assay_status sim_ask(const assay_request *req, const char *role, const char *label, const char *arm, const char *fixture,
                     const char *perturb, assay_error *err) {
    assay_query q = {.struct_size = sizeof q, .kind = ASSAY_K_OUTPUT, .arm = arm, .fixture = fixture, .perturb = perturb};
    return req->need(req, role, label, &q, err);
}

static assay_status ask_arms(const sim *s, const assay_request *req, const char *role, const char *fixture, assay_error *err) {
    for (uint32_t i = 0; *sim_param_text(s, role, i); i++) {
        assay_status st = sim_ask(req, role, fixture, sim_param_text(s, role, i), fixture, NULL, err);
        if (st != ASSAY_OK) return st;
    }
    return ASSAY_OK;
}

static assay_status ask_candidate(const sim *s, const assay_request *req, const char *fixture, assay_error *err) {
    assay_query q = {.struct_size = sizeof q, .kind = ASSAY_K_OUTPUT, .arm = sim_param_text(s, "arm", 0), .fixture = fixture};
    if (s->repeats > 1) q.repeats = s->repeats;
    return req->need(req, "candidate", fixture, &q, err);
}

assay_status sim_ask_fixtures(const sim *s, const assay_request *req, assay_error *err) {
    if (!s->in_run) return ASSAY_OK; /* files on the command line or in a case: there is nothing to ask for */
    assay_status st = ASSAY_OK;
    const char *control = sim_param_text(s, "control", 0), *fixture;
    for (uint32_t i = 0; st == ASSAY_OK && *(fixture = sim_param_text(s, "fixture", i)); i++) {
        st = sim_ask(req, "reference", fixture, "@reference", fixture, NULL, err);
        if (st == ASSAY_OK && *control) st = sim_ask(req, "control", fixture, control, fixture, NULL, err);
        if (st == ASSAY_OK) st = ask_candidate(s, req, fixture, err);
        if (st == ASSAY_OK) st = ask_arms(s, req, "must_fail", fixture, err);
        if (st == ASSAY_OK) st = ask_arms(s, req, "negative", fixture, err);
    }
    return st;
}
