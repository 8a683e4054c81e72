/* The conversion gate: is the op under test really in the program, in an experiment that can show something? */
#include "conversion.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct conversion {
    settings s;
    const assay_program_1 *p;
} conversion;

/* ---- reporting */
__attribute__((format(printf, 5, 0)))
static void say(report *r, bool invalid, const char *code, const char *where, const char *fmt, va_list ap) {
    char message[400];
    vsnprintf(message, sizeof message, fmt, ap);
    if (invalid)
        r->f->invalid(r->f, code, message, where);
    else
        r->f->reason(r->f, code, message, where);
}

void conversion_kill(report *r, const char *code, const char *where, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    say(r, false, code, where, fmt, ap);
    va_end(ap);
    r->killed = true;
}

void conversion_invalid(report *r, const char *code, const char *where, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    say(r, true, code, where, fmt, ap);
    va_end(ap);
    r->invalid = true;
}

void conversion_rule(report *r, const char *rule, bool applied, const char *note) {
    cJSON *row = cJSON_CreateObject();
    cJSON_AddStringToObject(row, "rule", rule);
    cJSON_AddBoolToObject(row, "applied", applied);
    cJSON_AddStringToObject(row, "note", note);
    cJSON_AddItemToArray(r->rules, row);
}

/* ---- parameters */
static const assay_param params[] = {
    {.name = "arm", .def = "@candidate", .help = "arm under test", .min = 1, .type = ASSAY_T_STRING},
    {.name = "control", .def = "@control", .help = "arm it is compared with", .min = 1, .type = ASSAY_T_STRING},
    {.name = "function", .def = "main", .help = "function under test", .min = 1, .type = ASSAY_T_STRING},
    {.name = "require",
     .def = "{\"" ATTENTION_OP "\":1}",
     .unit = "ops",
     .help = "op types that must reach an output of the candidate, exactly so many times",
     .min = 0,
     .max = 1e6,
     .type = ASSAY_T_INT | ASSAY_T_MAP},
    {.name = "forbid_in_control",
     .def = "[\"" ATTENTION_OP "\"]",
     .help = "op types that must not reach an output of the control",
     .min = 1,
     .type = ASSAY_T_STRING | ASSAY_T_LIST},
    {.name = "same",
     .def = "[\"opset\",\"input_types\",\"output_types\"]",
     .choices = "opset|input_types|output_types",
     .help = "what must be equal in both arms",
     .min = 1,
     .type = ASSAY_T_STRING | ASSAY_T_LIST},
    {.name = "batch_dims",
     .def = "equal",
     .choices = "equal|broadcast",
     .help = "batch axes of the fused op: equal (the converter's own validator) or broadcast (the report); see docs/reference/sources.md",
     .min = 1,
     .type = ASSAY_T_STRING},
    {.name = "tested_pairs",
     .def = "[]",
     .help = "versions that were tested together, such as 'torch==2.5.0 coremltools 8.1'; another pair is told; empty: nothing is",
     .min = 1,
     .type = ASSAY_T_STRING | ASSAY_T_LIST},
    {.name = NULL},
};

static const char *text_param(const assay_host *h, const assay_params *ps, const char *name) {
    assay_value v;
    return h->param(ps, name, 0, &v) == ASSAY_OK ? v.s : "";
}

static void read_settings(const assay_host *h, const assay_params *ps, settings *s) {
    assay_value v;
    s->arm = text_param(h, ps, "arm");
    s->control = text_param(h, ps, "control");
    s->function = text_param(h, ps, "function");
    s->broadcast = !strcmp(text_param(h, ps, "batch_dims"), "broadcast");
    for (uint32_t i = 0; i < NAMES_MAX && h->param(ps, "require", i, &v) == ASSAY_OK; i++, s->n_require++) {
        s->require[i] = v.key;
        s->count[i] = v.i;
    }
    for (uint32_t i = 0; i < NAMES_MAX && h->param(ps, "forbid_in_control", i, &v) == ASSAY_OK; i++)
        s->forbid[s->n_forbid++] = v.s;
    for (uint32_t i = 0; i < NAMES_MAX && h->param(ps, "tested_pairs", i, &v) == ASSAY_OK; i++) s->tested[s->n_tested++] = v.s;
    for (uint32_t i = 0; h->param(ps, "same", i, &v) == ASSAY_OK; i++) {
        s->same_opset = s->same_opset || !strcmp(v.s, "opset");
        s->same_inputs = s->same_inputs || !strcmp(v.s, "input_types");
        s->same_outputs = s->same_outputs || !strcmp(v.s, "output_types");
    }
}

static assay_status fail(assay_error *err, assay_status code, const char *message) {
    if (err) {
        err->code = code;
        snprintf(err->message, sizeof err->message, "%s", message);
    }
    return code;
}

static assay_status create(const assay_host *h, const assay_params *ps, void **self, assay_error *err) {
    const assay_program_1 *p = h->get(h->ctx, ASSAY_PROGRAM_1);
    if (!p) return fail(err, ASSAY_E_UNSUPPORTED, "this host has no " ASSAY_PROGRAM_1);
    conversion *g = calloc(1, sizeof *g);
    if (!g) return fail(err, ASSAY_E_NOMEM, "out of memory");
    g->p = p;
    read_settings(h, ps, &g->s);
    *self = g;
    return ASSAY_OK;
}

static void destroy(void *self) { free(self); }

/* ---- evidence */
static assay_status needs(void *self, const assay_evidence *so_far, const assay_request *req, assay_error *err) {
    const conversion *g = self;
    (void)so_far;
    assay_query q = {.struct_size = sizeof q, .kind = ASSAY_K_PROGRAM, .arm = g->s.arm};
    assay_status st = *q.arm ? req->need(req, "candidate", "", &q, err) : ASSAY_OK;
    q.arm = g->s.control;
    return !st && *q.arm ? req->need(req, "control", "", &q, err) : st;
}

/* The program of a role; false with *item filled when it is there in another state, or state 0 when it was never given. */
static bool take_arm(const conversion *g, const assay_evidence *ev, const char *role, arm *a, assay_item *item) {
    memset(item, 0, sizeof *item);
    item->struct_size = sizeof *item;
    if (ev->count(ev, role) == 0 || ev->item(ev, role, 0, item, NULL) != ASSAY_OK) {
        item->state = 0;
        return false;
    }
    if (item->state != ASSAY_OK_STATE || item->kind != ASSAY_K_PROGRAM || !item->program) return false;
    a->role = role;
    a->name = item->arm && *item->arm ? item->arm : role;
    a->program = item->program;
    a->fn = g->p->function(item->program, g->s.function);
    return true;
}

static void missing_function(const conversion *g, const arm *a, report *r) {
    char names[200] = "";
    size_t n = 0;
    for (uint32_t i = 0; i < g->p->function_count(a->program) && n < sizeof names - 1; i++)
        n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", i ? ", " : "",
                              g->p->function_name(g->p->function_at(a->program, i)));
    conversion_invalid(r, "function_missing", a->name, "no function '%s'; there are: %s", g->s.function, names);
}

/* No program to look at: a failed conversion of the candidate kills, one of the control makes the experiment invalid. */
static void judge_absent(const assay_item *item, const char *role, report *r) {
    bool control = !strcmp(role, "control");
    if (item->state == ASSAY_STATE_FAILED && control)
        conversion_invalid(r, "control_conversion_failed", role, "%s", item->why);
    else if (item->state == ASSAY_STATE_FAILED)
        conversion_kill(r, "conversion_failed", role, "%s", item->why);
    else if (item->state == ASSAY_OK_STATE)
        conversion_invalid(r, "not_a_program", role, "the conversion gate judges programs (.mlpackage, .mlmodel, .mil)");
}

static void judge_arms(const conversion *g, arm *cand, arm *ctrl, report *r) {
    double folded;
    const char *folded_role;
    if (!conversion_find_sites(g->p, cand) || (ctrl && !conversion_find_sites(g->p, ctrl))) {
        conversion_invalid(r, "out_of_memory", "", "no memory for the attentions of the arms");
        return;
    }
    conversion_census(g->p, &g->s, cand, ctrl, r->f);
    conversion_compare_contract(g->p, &g->s, cand, ctrl, r);
    conversion_compare_weights(g->p, cand, ctrl, r, &folded, &folded_role);
    if (ctrl) conversion_judge_control(g->p, &g->s, ctrl, r);
    conversion_judge_candidate(g->p, &g->s, cand, folded, folded_role, r);
    conversion_check_converter(g->p, &g->s, cand, r);
    conversion_report_facts(g->p, cand, r->f);
    if (ctrl) conversion_report_facts(g->p, ctrl, r->f);
}

static assay_status judge(void *self, const assay_evidence *ev, const assay_finding *f, assay_error *err) {
    const conversion *g = self;
    (void)err;
    arm cand = {0}, ctrl = {0};
    assay_item cand_item, ctrl_item;
    report r = {.f = f, .rules = cJSON_CreateArray()};
    bool have_cand = take_arm(g, ev, "candidate", &cand, &cand_item), have_ctrl = take_arm(g, ev, "control", &ctrl, &ctrl_item);
    if (!have_cand) judge_absent(&cand_item, "candidate", &r);
    if (!have_ctrl) judge_absent(&ctrl_item, "control", &r);
    if (have_cand && !cand.fn) missing_function(g, &cand, &r);
    if (have_ctrl && !ctrl.fn) missing_function(g, &ctrl, &r);
    bool judged = cand.fn && (!have_ctrl || ctrl.fn);
    if (judged) judge_arms(g, &cand, have_ctrl ? &ctrl : NULL, &r);
    conversion_report_rules(&r);
    free(cand.sites);
    free(ctrl.sites);
    f->verdict(f, r.killed ? ASSAY_KILL : r.invalid ? ASSAY_INCONCLUSIVE : judged ? ASSAY_PASS : ASSAY_NOT_MEASURED);
    return ASSAY_OK;
}

/* ---- the plugin */
static const assay_gate gate = {
    .struct_size = sizeof gate,
    .name = "conversion",
    .version = "1.0",
    .summary = "the op under test is in the program, fused, exposed, fed by its own projections, beside a comparable control",
    .params = params,
    .create = create,
    .needs = needs,
    .judge = judge,
    .destroy = destroy};
ASSAY_GATE_PLUGIN(gate)
