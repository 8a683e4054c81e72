/* The gate "references": before the float64 executor may judge, a second spelling of attention that shares nothing with it must
 * give the same output from the same q, k, v. */
#include "second.h"
#include <stdio.h>
#include <stdlib.h>

static const assay_param params[] = {
    SIM_TEXT("control", "@control", "arm whose experiment this is; empty outside of one"),
    SIM_TEXTS("fixture", "@use:parity", "fixtures on which both references are computed"),
    SIM_TEXT("query", "q", "value of the reference's program, [B, H, S, E], before any scale"),
    SIM_TEXT("key", "k", "likewise"),
    SIM_TEXT("value", "v", "likewise"),
    SIM_TEXT("mask", "", "value that is added to the scores, or a boolean mask (none: no mask)"),
    SIM_TEXT("output", "", "value that holds the attention, [B, H, S, E] (none: the first output)"),
    SIM_NUMBER("scale", "1", 0, 1e300, "of the scores (default 1/sqrt(E))"),
    {"tolerance", "1e-12", 0, "", "largest difference over the rms of the output", 0, 1, ASSAY_T_NUMBER, 0},
    {"rows", "64", 0, "rows", "evenly spaced query rows of each head that are computed; 0: all", 0, 1e9, ASSAY_T_INT, 0},
    {0},
};

typedef struct evidence {
    const assay_item *output, *q, *k, *v, *mask;
} evidence;

/* The first piece that is needed and not there; NULL: all are. */
static const char *find(const sim_items *items, const char *label, evidence *e) {
    const struct {
        const char *role;
        const assay_item **to;
    } all[] = {{"reference", &e->output}, {"query", &e->q}, {"key", &e->k}, {"value", &e->v}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        *all[i].to = sim_item(items, all[i].role, label);
        if (!sim_usable(*all[i].to)) return all[i].role;
    }
    e->mask = sim_item(items, "mask", label);
    return e->mask && !sim_usable(e->mask) ? "mask" : NULL;
}

static assay_status judge_label(const sim *s, const sim_items *items, const char *label, bool *missing, const assay_finding *f, assay_error *err) {
    evidence e = {0};
    const char *role = find(items, label, &e);
    if (role) {
        sim_tell_missing(items, role, label, f);
        *missing = true;
        return ASSAY_OK;
    }
    second in = {.m = s->m, .math = s->host->get(s->host->ctx, ASSAY_MATH_1), .q = &e.q->tensor, .k = &e.k->tensor, .v = &e.v->tensor};
    if (!in.math) return sim_fail(err, ASSAY_E_ABI, "references: the host has no %s", ASSAY_MATH_1);
    in.mask = e.mask ? &e.mask->tensor : NULL;
    in.scale = sim_param_number(s, "scale", NAN), in.rows = (int64_t)sim_param_number(s, "rows", 64);
    second_answer a;
    assay_status st = second_compare(&in, &e.output->tensor, &a, err);
    if (st != ASSAY_OK) return st;
    double tolerance = sim_param_number(s, "tolerance", 1e-12);
    double off = a.rms > 0 && a.rms < INFINITY ? a.worst / a.rms : a.worst; /* squares that overflow must not hide a difference */
    char group[160], text[300];
    sim_metric(f, sim_group(group, "second", label), "max_abs_over_rms", off, "1");
    sim_metric(f, group, "max_abs_index", a.at < 0 ? NAN : (double)a.at, "index");
    sim_metric(f, group, "rows_compared", (double)a.rows, "rows");
    if (off <= tolerance) return ASSAY_OK;
    snprintf(text, sizeof text, "the executor and the second spelling differ by %.3g of the output's rms at element %lld (at most %.3g): "
             "neither may judge before this is explained", off, (long long)a.at, tolerance);
    f->invalid(f, "references_disagree", text, label);
    return ASSAY_OK;
}

static assay_status judge(void *self, const assay_evidence *ev, const assay_finding *f, assay_error *err) {
    static const char *const roles[] = {"reference", "query", "key", "value", "mask", NULL};
    const char *labels[SIM_LABELS];
    sim_items items;
    assay_status st = sim_items_load(ev, roles, &items, err);
    if (st != ASSAY_OK) return st;
    size_t n = sim_labels(&items, "reference", labels, SIM_LABELS);
    bool missing = n == 0;
    if (missing) f->reason(f, "evidence_missing", "an output of the reference with its query, key and value is needed", "");
    for (size_t i = 0; st == ASSAY_OK && i < n; i++) st = judge_label(self, &items, labels[i], &missing, f, err);
    if (st == ASSAY_OK) f->verdict(f, missing ? ASSAY_NOT_MEASURED : ASSAY_PASS);
    sim_items_free(&items);
    return st;
}

static assay_status ask(const assay_request *req, const char *role, const char *fixture, const char *value, assay_error *err) {
    assay_query q = {.struct_size = sizeof q, .kind = ASSAY_K_OUTPUT, .arm = "@reference", .fixture = fixture, .output = *value ? value : NULL};
    return req->need(req, role, fixture, &q, err);
}

static assay_status needs(void *self, const assay_evidence *so_far, const assay_request *req, assay_error *err) {
    const sim *s = self;
    const char *fixture, *mask = sim_param_text(s, "mask", 0);
    assay_status st = ASSAY_OK;
    (void)so_far;
    for (uint32_t i = 0; s->in_run && st == ASSAY_OK && *(fixture = sim_param_text(s, "fixture", i)); i++) {
        st = ask(req, "reference", fixture, sim_param_text(s, "output", 0), err);
        if (st == ASSAY_OK) st = ask(req, "query", fixture, sim_param_text(s, "query", 0), err);
        if (st == ASSAY_OK) st = ask(req, "key", fixture, sim_param_text(s, "key", 0), err);
        if (st == ASSAY_OK) st = ask(req, "value", fixture, sim_param_text(s, "value", 0), err);
        if (st == ASSAY_OK && *mask) st = ask(req, "mask", fixture, mask, err);
    }
    return st;
}

static const assay_gate gate = {
    .struct_size = sizeof gate,
    .name = "references",
    .version = "1.0",
    .params = params,
    .summary = "a second spelling of attention, written apart, agrees with the float64 executor",
    .create = sim_create_plain,
    .needs = needs,
    .judge = judge,
    .destroy = free,
};
ASSAY_GATE_PLUGIN(gate)
