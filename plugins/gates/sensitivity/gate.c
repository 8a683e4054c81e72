/* The gate "sensitivity": does a change of the input move the output as it moves the reference's? One changed token, or a
 * mask that is off and on. statistics.md section 3.2, "Sensitivity gate"; rows M27, M62. */
#include "response.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const assay_param params[] = {
    SIM_PARAMS("@use:parity", 0),
    {"token", "", 0, "", "token to change, {batch, position}, counted from 0", 0, 0x1p40, ASSAY_T_INT | ASSAY_T_MAP, 0},
    SIM_TEXTS("tokens", "", "several tokens, each a state of its own: \"BATCH:POSITION\", counted from 0"),
    SIM_TEXT("off", "", "arm of the base state, in place of a token"),
    SIM_TEXT("on", "", "arm of the other state (default: arm)"),
    SIM_TEXT("base", "", "label of the unperturbed state"),
    {"response_cosine_min", "0.99", 0, "", "cosine of the candidate's response with the reference's", -1, 1, ASSAY_T_NUMBER, 0},
    {0},
};

static bool token_of(const sim *s, int64_t *batch, int64_t *position) {
    assay_value v;
    *batch = 0, *position = -1;
    for (uint32_t i = 0; s->host->param(s->params, "token", i, &v) == ASSAY_OK; i++) {
        if (strcmp(v.key, "batch") == 0)
            *batch = v.i;
        else if (strcmp(v.key, "position") == 0)
            *position = v.i;
        else
            return false;
    }
    return *position >= 0;
}

/* "1:500" into numbers; false: it is something else. */
static bool read_token(const char *text, long long *batch, long long *position) {
    int end = 0;
    return sscanf(text, "%9lld:%15lld%n", batch, position, &end) == 2 && text[end] == 0 && *batch >= 0 && *position >= 0;
}

static assay_status check_tokens(const sim *s, assay_error *err) {
    long long b, p;
    for (uint32_t i = 0; *sim_param_text(s, "tokens", i); i++)
        if (!read_token(sim_param_text(s, "tokens", i), &b, &p))
            return sim_fail(err, ASSAY_E_INPUT, "tokens: '%.60s' is not BATCH:POSITION, both counted from 0, such as \"1:500\"", sim_param_text(s, "tokens", i));
    return ASSAY_OK;
}

static assay_status create(const assay_host *host, const assay_params *given, void **self, assay_error *err) {
    assay_status st = sim_create(host, given, self, err);
    if (st != ASSAY_OK) return st;
    sim *s = *self;
    int64_t b, p;
    assay_value v;
    bool any = s->host->param(s->params, "token", 0, &v) == ASSAY_OK, good = token_of(s, &b, &p);
    if (any && !good)
        st = sim_fail(err, ASSAY_E_INPUT, "token: expected {batch = B, position = P}, both counted from 0");
    else if (s->in_run && !good && !*sim_param_text(s, "tokens", 0) && !*sim_param_text(s, "off", 0))
        st = sim_fail(err, ASSAY_E_INPUT, "say what to change: token = { batch = 0, position = 1 }, several tokens, or the arms off and on");
    if (st == ASSAY_OK) st = check_tokens(s, err);
    if (st == ASSAY_OK) return st;
    free(s);
    *self = NULL;
    return st;
}

static const char *base_label(const sim *s) {
    const char *base = sim_param_text(s, "base", 0), *off = sim_param_text(s, "off", 0);
    return *base ? base : *off ? off : "base";
}

static assay_status ask_mask(const sim *s, const assay_request *req, const char *fixture, assay_error *err) {
    const char *off = sim_param_text(s, "off", 0), *on = sim_param_text(s, "on", 0);
    if (!*on) on = sim_param_text(s, "arm", 0);
    /* The reference computes the intent of the state "on"; both differences start from the same base output. */
    assay_status st = sim_ask(req, "reference", off, off, fixture, NULL, err);
    if (st == ASSAY_OK) st = sim_ask(req, "candidate", off, off, fixture, NULL, err);
    if (st == ASSAY_OK) st = sim_ask(req, "reference", on, "@reference", fixture, NULL, err);
    return st == ASSAY_OK ? sim_ask(req, "candidate", on, on, fixture, NULL, err) : st;
}

/* What ran on hardware may differ from call to call: one repeat tells by how much. */
static assay_status ask_repeat(const sim *s, const assay_evidence *ev, const assay_request *req, const char *fixture,
                               assay_error *err) {
    for (uint32_t i = 0, n = ev->count(ev, "candidate"); i < n; i++) {
        assay_item it = {.struct_size = sizeof it};
        if (ev->item(ev, "candidate", i, &it, err) != ASSAY_OK || it.state != ASSAY_OK_STATE || it.origin != ASSAY_ORIGIN_DEVICE)
            continue;
        assay_query q = {.struct_size = sizeof q,
                         .kind = ASSAY_K_OUTPUT,
                         .arm = sim_param_text(s, "arm", 0),
                         .fixture = fixture,
                         .repeats = 2};
        return req->need(req, "repeat", "base", &q, err);
    }
    return ASSAY_OK;
}

static assay_status ask_token(const sim *s, const assay_request *req, const char *fixture, const char *label, long long batch,
                              long long position, assay_error *err) {
    char perturb[128];
    snprintf(perturb, sizeof perturb, "{\"token\":{\"batch\":%lld,\"position\":%lld}}", batch, position);
    assay_status st = sim_ask(req, "reference", label, "@reference", fixture, perturb, err);
    return st == ASSAY_OK ? sim_ask(req, "candidate", label, sim_param_text(s, "arm", 0), fixture, perturb, err) : st;
}

static assay_status needs(void *self, const assay_evidence *so_far, const assay_request *req, assay_error *err) {
    const sim *s = self;
    const char *fixture = sim_param_text(s, "fixture", 0), *token;
    int64_t b, p;
    long long batch, position;
    bool one = token_of(s, &b, &p);
    if (!s->in_run || !*fixture) return ASSAY_OK;
    if (!one && !*sim_param_text(s, "tokens", 0)) return ask_mask(s, req, fixture, err);
    assay_status st = sim_ask(req, "reference", "base", "@reference", fixture, NULL, err);
    if (st == ASSAY_OK) st = sim_ask(req, "candidate", "base", sim_param_text(s, "arm", 0), fixture, NULL, err);
    if (st == ASSAY_OK && one) st = ask_token(s, req, fixture, "token", b, p, err);
    for (uint32_t i = 0; st == ASSAY_OK && *(token = sim_param_text(s, "tokens", i)); i++)
        if (read_token(token, &batch, &position)) st = ask_token(s, req, fixture, token, batch, position, err);
    return st == ASSAY_OK ? ask_repeat(s, so_far, req, fixture, err) : st;
}

/* A trial stacks its repeats along a new first axis: call i of it. Other tensors are one call. */
static assay_tensor call_of(const assay_tensor *t, const assay_tensor *like, int64_t i) {
    assay_tensor one = *t;
    if (t->rank != like->rank + 1 || i >= t->shape[0] || sim_count(t) == 0) return one;
    one.data = (unsigned char *)t->data + (size_t)(i * t->stride[0]) * (size_t)(t->nbytes / (uint64_t)sim_count(t));
    one.rank--;
    for (uint32_t k = 0; k < one.rank; k++) one.shape[k] = t->shape[k + 1], one.stride[k] = t->stride[k + 1];
    return one;
}

/* The noise of a repeated call; 0 for outputs of the reference backend, which has none, and for files without a repeat. */
static void noise(const sim *s, const sim_items *items, states *st) {
    const assay_item *again = sim_item(items, "repeat", st->cand_base->label);
    assay_pair_stats d;
    st->noise_floor = 0, st->floor_known = st->cand->origin != ASSAY_ORIGIN_DEVICE;
    if (!sim_usable(again)) return;
    const assay_tensor *base = &st->cand_base->tensor;
    assay_tensor first = again->tensor.rank > base->rank ? call_of(&again->tensor, base, 0) : *base, other = call_of(&again->tensor, base, 1);
    if (s->m->pair(&first, &other, -1, &d, NULL) != ASSAY_OK) return;
    st->noise_floor = d.max_abs, st->floor_known = true;
}

/* Rules 0-2 and the axes along which nothing changes, for one state. */
static assay_status judge_state(const sim *s, const assay_item *r, const assay_item *c, sim_report *out, const assay_finding *f,
                                bool *go_on, assay_error *err) {
    sim_pair p;
    sim_elements e;
    char group[160];
    *go_on = false;
    if (!sim_same_shape(&r->tensor, &c->tensor)) {
        sim_add(out, 0, SIM_KILL, "shape_mismatch", c->label, "the candidate has another shape than the reference");
        return ASSAY_OK;
    }
    assay_status st = sim_pair_open(s, &r->tensor, &c->tensor, &p, err);
    if (st != ASSAY_OK) return st;
    st = sim_elements_look(&p, &e, err);
    if (st == ASSAY_OK) sim_emit_pair(f, sim_group(group, "candidate", c->label), &p, &e);
    sim_rule_finite_ref(&p, out), sim_rule_finite_cand(&p, out);
    uint32_t still = sim_constant_axes(s, &c->tensor) & ~sim_constant_axes(s, &r->tensor);
    for (uint32_t i = 0; i < c->tensor.rank && sim_finite(&p); i++)
        if (still >> i & 1)
            sim_add(out, 8, SIM_KILL, "constant_along_axis", c->label,
                    "the candidate does not vary along axis %u, the reference does", i);
    *go_on = sim_finite(&p);
    sim_pair_close(&p);
    return st;
}

/* How the arm answers to the change of state, beside how the reference does. */
static assay_status judge_response(const sim *s, const sim_items *items, states *st, const char *label, sim_report *out, const assay_finding *f,
                                   assay_error *err) {
    response d;
    noise(s, items, st);
    assay_status status = response_open(s, st, &d, err);
    if (status == ASSAY_OK) {
        response_rules(&d, st, sim_param_number(s, "response_cosine_min", 0.99), out);
        response_emit(&d, st, label, f);
    }
    response_close(&d);
    return status;
}

static assay_status judge_label(const sim *s, const sim_items *items, const char *base, const char *label, sim_tally *tally,
                                const assay_finding *f, assay_error *err) {
    states st = {.ref_base = sim_item(items, "reference", base),
                 .ref = sim_item(items, "reference", label),
                 .cand_base = sim_item(items, "candidate", base),
                 .cand = sim_item(items, "candidate", label)};
    if (!sim_usable(st.ref_base) || !sim_usable(st.ref) || !sim_usable(st.cand_base) || !sim_usable(st.cand)) {
        f->reason(f, "evidence_missing", "one of reference and candidate, at the base or in this state, is not there", label);
        sim_tally_add(tally, label, ASSAY_NOT_MEASURED, false, NULL);
        return ASSAY_OK;
    }
    sim_report out = {0};
    bool go_base, go = false, invalid;
    assay_status status = judge_state(s, st.ref_base, st.cand_base, &out, f, &go_base, err);
    if (status == ASSAY_OK) status = judge_state(s, st.ref, st.cand, &out, f, &go, err);
    bool same = sim_same_shape(&st.ref->tensor, &st.ref_base->tensor);
    if (!same) sim_add(&out, 0, SIM_INVALID, "states_differ_in_shape", label, "the reference has another shape in this state than at the base");
    if (status == ASSAY_OK && go && go_base && same) status = judge_response(s, items, &st, label, &out, f, err);
    sim_emit_lines(f, label, &out);
    sim_report_give(&out, label, f);
    assay_verdict v = sim_decide(&out, &invalid);
    sim_tally_add(tally, label, v, invalid, &st.cand->tensor);
    sim_report_free(&out);
    return status;
}

static assay_status judge(void *self, const assay_evidence *ev, const assay_finding *f, assay_error *err) {
    static const char *const roles[] = {"reference", "candidate", "repeat", NULL};
    const char *labels[SIM_LABELS], *base = base_label(self);
    sim_items items;
    sim_tally tally = {.n = 0};
    assay_status st = sim_items_load(ev, roles, &items, err);
    if (st != ASSAY_OK) return st;
    size_t n = sim_labels(&items, "candidate", labels, SIM_LABELS);
    if (n && !sim_item(&items, "candidate", base))
        st = sim_fail(err, ASSAY_E_INPUT, "no candidate is labelled '%s': say with base= which state is unperturbed", base);
    for (size_t i = 0; st == ASSAY_OK && i < n; i++)
        if (strcmp(labels[i], base) != 0) st = judge_label(self, &items, base, labels[i], &tally, f, err);
    if (st == ASSAY_OK) sim_tally_give(&tally, f);
    sim_items_free(&items);
    return st;
}

static const assay_gate gate = {
    .struct_size = sizeof gate,
    .name = "sensitivity",
    .version = "1.0",
    .params = params,
    .summary = "a changed token or mask moves the output as it moves the reference's, and nothing else",
    .create = create,
    .needs = needs,
    .judge = judge,
    .destroy = free,
};
ASSAY_GATE_PLUGIN(gate)
