/* The placement gate: is every op of interest preferred on the device, by a plan of the target? Placement never implies
 * correctness, and requested units prove nothing. */
#include "placement.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- reporting */
void placement_reason(report *r, const char *code, const char *where, const char *fmt, ...) {
    char message[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(message, sizeof message, fmt, ap);
    va_end(ap);
    r->f->reason(r->f, code, message, where);
}

void placement_invalid(report *r, const char *code, const char *where, const char *fmt, ...) {
    char message[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(message, sizeof message, fmt, ap);
    va_end(ap);
    r->f->invalid(r->f, code, message, where);
    r->invalid = true;
}

/* kill > inconclusive > not-measured > pass */
static int rank_of(assay_verdict v) {
    return v == ASSAY_KILL ? 4 : v == ASSAY_INCONCLUSIVE ? 3 : v == ASSAY_NOT_MEASURED ? 2 : v == ASSAY_PASS ? 1 : 0;
}

void placement_verdict(report *r, assay_verdict v) {
    if (rank_of(v) > rank_of(r->worst)) r->worst = v;
}

const char *placement_verdict_name(assay_verdict v) {
    return v == ASSAY_KILL ? "kill" : v == ASSAY_INCONCLUSIVE ? "inconclusive" : v == ASSAY_PASS ? "pass" : "not-measured";
}

/* ---- parameters */
static const assay_param params[] = {
    {.name = "arm", .def = "@candidate", .help = "arm under test", .min = 1, .type = ASSAY_T_STRING},
    {.name = "control",
     .def = "@control",
     .help = "arm whose placement shows whether the device can be had",
     .min = 1,
     .type = ASSAY_T_STRING},
    {.name = "op_of_interest",
     .def = "",
     .help = "op types without opset prefix; every op of the type must be preferred on the device",
     .min = 1,
     .type = ASSAY_T_STRING | ASSAY_T_LIST},
    {.name = "require_device", .def = "NE", .choices = "CPU|GPU|NE", .help = "the device", .min = 1, .type = ASSAY_T_STRING},
    {.name = "max_unknown",
     .def = "0",
     .unit = "ops",
     .help = "computing ops without a device that may be tolerated",
     .min = 0,
     .max = 1e9,
     .type = ASSAY_T_INT},
    {.name = "min_match",
     .def = "0.95",
     .unit = "1",
     .help = "share of ops that plan and program must have in common for the plan to count",
     .min = 0,
     .max = 1,
     .type = ASSAY_T_NUMBER},
    {.name = "fail_markers",
     .def = "[\"MILCompilerForANE error\",\"ANECCompile() FAILED\",\"ANECCompileOffline() failed\",\"Failed to build the model "
            "execution plan\",\"failed to load ANE model\",\"com.apple.appleneuralengine.compiler\"]",
     .help = "texts in stderr that mean the Neural Engine compile failed",
     .min = 1,
     .type = ASSAY_T_STRING | ASSAY_T_LIST},
    {.name = NULL},
};

static const char *text_param(const assay_host *h, const assay_params *ps, const char *name) {
    assay_value v;
    return h->param(ps, name, 0, &v) == ASSAY_OK ? v.s : "";
}

static assay_status fail(assay_error *err, assay_status code, const char *message) {
    if (err) {
        err->code = code;
        snprintf(err->message, sizeof err->message, "%s", message);
    }
    return code;
}

static assay_status create(const assay_host *h, const assay_params *ps, void **self, assay_error *err) {
    assay_value v;
    settings *s = calloc(1, sizeof *s);
    if (!s) return fail(err, ASSAY_E_NOMEM, "out of memory");
    s->arm = text_param(h, ps, "arm");
    s->control = text_param(h, ps, "control");
    s->device_name = text_param(h, ps, "require_device");
    s->device = !strcmp(s->device_name, "CPU") ? ASSAY_DEV_CPU : !strcmp(s->device_name, "GPU") ? ASSAY_DEV_GPU : ASSAY_DEV_NE;
    for (uint32_t i = 0; i < OPS_MAX && h->param(ps, "op_of_interest", i, &v) == ASSAY_OK; i++) s->ops[s->n_ops++] = v.s;
    for (uint32_t i = 0; i < MARKERS_MAX && h->param(ps, "fail_markers", i, &v) == ASSAY_OK; i++)
        s->markers[s->n_markers++] = v.s;
    if (h->param(ps, "max_unknown", 0, &v) == ASSAY_OK) s->max_unknown = v.i;
    s->min_match = h->param(ps, "min_match", 0, &v) == ASSAY_OK ? v.f : 1;
    s->program = h->get(h->ctx, ASSAY_PROGRAM_1);
    *self = s;
    return ASSAY_OK;
}

static void destroy(void *self) { free(self); }

static assay_status needs(void *self, const assay_evidence *so_far, const assay_request *req, assay_error *err) {
    const settings *s = self;
    (void)so_far;
    assay_query q = {.struct_size = sizeof q, .kind = ASSAY_K_PLAN, .arm = s->arm};
    assay_status st = *q.arm ? req->need(req, "plan", "", &q, err) : ASSAY_OK;
    q.arm = s->control;
    if (!st && *q.arm) st = req->need(req, "control_plan", "", &q, err);
    q.kind = ASSAY_K_PROGRAM; /* the arm's own: a plan of another program decides nothing */
    q.arm = s->arm;
    return !st && *q.arm ? req->need(req, "program", "", &q, err) : st;
}

/* ---- judging */
static assay_item take(const assay_evidence *ev, const char *role, uint32_t i) {
    assay_item it = {.struct_size = sizeof it};
    if (i >= ev->count(ev, role) || ev->item(ev, role, i, &it, NULL) != ASSAY_OK) it.state = 0;
    return it;
}

static void metric(const assay_finding *f, const char *key, double v, const char *unit) { f->metric(f, key, &v, 1, unit); }

static void report_counts(const assay_finding *f, const counts *c, uint32_t plans) {
    if (plans > 1) metric(f, "plan.plans", plans, "");
    metric(f, "plan.computing_ops", c->computing, "ops");
    metric(f, "plan.not_counted", c->not_counted, "ops");
    metric(f, "plan.on_ne", c->on_ne, "ops");
    metric(f, "plan.supported_on_ne", c->supported_on_ne, "ops");
    metric(f, "plan.on_device", c->on_device, "ops");
    metric(f, "plan.unknown", c->unknown, "ops");
    metric(f, "plan.share_of_ops", c->on_ne / c->computing, "1"); /* 0/0 is undefined, not zero */
    metric(f, "plan.share_of_cost", c->cost_on_ne / c->cost, "1"); /* estimated by the tool that made the plan */
    metric(f, "plan.segments", c->segments, "");
    if (plans == 1) metric(f, "plan.transitions", c->segments > 0 ? c->segments - 1 : 0, "");
}

static void put(const assay_finding *f, const char *key, cJSON *v) {
    char *text = cJSON_PrintUnformatted(v);
    if (text) f->detail(f, key, text);
    free(text);
    cJSON_Delete(v);
}

/* A plan that was asked for and is not there. A planning call that failed with a marker is a failed compile (K1). */
static assay_verdict judge_absent(const assay_item *it, const settings *s, const char *where, report *r) {
    const char *why = it->state == ASSAY_STATE_FAILED && it->why ? it->why : "";
    for (uint32_t i = 0; i < s->n_markers; i++) {
        if (!strstr(why, s->markers[i])) continue;
        placement_reason(r, "ne_compile_failed", where, "%s", why);
        return ASSAY_KILL;
    }
    if (it->state == ASSAY_STATE_FAILED) {
        placement_invalid(r, "probe_crashed", where, "%s", it->why && *it->why ? it->why : "the planning call failed");
        return ASSAY_INCONCLUSIVE;
    }
    placement_reason(r, "no_device_evidence", where, "%s",
                     it->why && *it->why ? it->why : "no plan or device table of the target is there");
    return ASSAY_NOT_MEASURED;
}

static void add_verdict(cJSON *list, cJSON *by_label, const char *label, const char *verdict) {
    cJSON_AddItemToArray(list, cJSON_CreateString(verdict));
    if (*label && !cJSON_GetObjectItemCaseSensitive(by_label, label)) cJSON_AddStringToObject(by_label, label, verdict);
}

/* Only shares of a whole model: they place no op by name, and no share replaces the rule. */
static assay_verdict judge_other(const assay_item *it, const char *where, report *r) {
    if (it->json && strstr(it->json, "\"placement-summary/1\"")) {
        placement_reason(r, "no_named_ops", where, "it gives shares of whole models and places no op by name: it decides nothing");
        return ASSAY_INCONCLUSIVE;
    }
    placement_invalid(r, "not_a_plan", where, "this is no compute-plan/1 document");
    return ASSAY_INCONCLUSIVE;
}

/* Does this plan belong to the program that was meant? True where no program is there. Asked of a single plan: those of a sweep
 * are of other programs. */
static bool judge_match(const settings *s, const assay_evidence *ev, const assay_item *plan, report *r) {
    assay_item program = take(ev, "program", 0);
    if (program.state != ASSAY_OK_STATE || program.kind != ASSAY_K_PROGRAM) return true;
    placement_match m = placement_join(s->program, program.program, plan);
    metric(r->f, "plan.match_rate", m.rate, "1");
    metric(r->f, "plan.crossings", m.crossings, "edges");
    if (m.rate >= s->min_match) return true;
    placement_reason(r, "poor_match", "plan", "%.3g %% of the ops are found in both plan and program, %.3g %% are needed", 100 * m.rate,
                     100 * s->min_match);
    return false;
}

static void compare_with_previous(const assay_evidence *ev, const assay_item *plan, report *r) {
    assay_item before = take(ev, "previous_plan", 0);
    if (before.state != ASSAY_OK_STATE || before.kind != ASSAY_K_PLAN) return;
    cJSON *list = cJSON_CreateArray();
    placement_moved(&before, plan, list);
    metric(r->f, "plan.moved", cJSON_GetArraySize(list), "ops");
    put(r->f, "moved", list);
}

/* False when the plan is of another program: then it neither passes nor kills. */
static bool judge_single(const settings *s, const assay_evidence *ev, const assay_item *plan, const assay_item *control, report *r) {
    if (control) placement_check_policy(plan, control, "plan", r);
    bool matches = judge_match(s, ev, plan, r);
    compare_with_previous(ev, plan, r);
    return matches;
}

/* What a run over several plans gathers. */
typedef struct sweep {
    uint32_t n, judged;
    const assay_item *control;
    cJSON *table, *layers, *verdicts, *by_label;
    counts c;
    bool differ;
    const char *last;                            /* the name of the verdict before */
} sweep;

static void judge_one(const settings *s, const assay_evidence *ev, uint32_t i, sweep *w, report *r) {
    assay_item it = take(ev, "plan", i);
    char where[96];
    snprintf(where, sizeof where, w->n > 1 ? "plan %u%s%.60s" : "plan", i + 1, *it.label ? " " : "", it.label);
    bool here = it.state == ASSAY_OK_STATE && it.kind == ASSAY_K_PLAN, was_invalid = r->invalid;
    r->invalid = false;
    bool matches = !here || w->n > 1 || judge_single(s, ev, &it, w->control, r);
    assay_verdict v = here                         ? placement_judge_plan(&it, w->control, s, where, r, w->table)
                      : it.state == ASSAY_OK_STATE ? judge_other(&it, where, r)
                                                   : judge_absent(&it, s, where, r);
    if (!matches) v = ASSAY_INCONCLUSIVE;
    const char *name = r->invalid ? "invalid" : placement_verdict_name(v);
    r->invalid = r->invalid || was_invalid;
    if (here) placement_count(&it, s, &w->c);
    if (here) placement_flow(&it, s, &w->c.segments, w->layers);
    w->judged += here;
    placement_verdict(r, v);
    add_verdict(w->verdicts, w->by_label, it.label, name);
    w->differ = w->differ || (w->last && strcmp(w->last, name));
    w->last = name;
}

static void report_sweep(sweep *w, report *r) {
    if (w->differ) placement_reason(r, "shape_dependent_placement", "plan", "the plans of this sweep get different verdicts");
    if (w->judged) report_counts(r->f, &w->c, w->n);
    put(r->f, "ops_of_interest", w->table);
    put(r->f, "layers", w->layers);
    bool labelled = cJSON_GetArraySize(w->by_label) == (int)w->n;
    if (w->n > 1) put(r->f, "metrics:gate.verdicts", cJSON_Duplicate(labelled ? w->by_label : w->verdicts, true));
    cJSON_Delete(w->by_label);
    cJSON_Delete(w->verdicts);
}

static void judge_plans(const settings *s, const assay_evidence *ev, report *r) {
    assay_item control = take(ev, "control_plan", 0);
    sweep w = {.n = ev->count(ev, "plan"),
               .control = control.state == ASSAY_OK_STATE && control.kind == ASSAY_K_PLAN ? &control : NULL,
               .table = cJSON_CreateArray(),
               .layers = cJSON_CreateArray(),
               .verdicts = cJSON_CreateArray(),
               .by_label = cJSON_CreateObject()};
    for (uint32_t i = 0; i < w.n; i++) judge_one(s, ev, i, &w, r);
    report_sweep(&w, r);
}

static void judge_run(const settings *s, const assay_evidence *ev, report *r) {
    assay_item run = take(ev, "run", 0), err = take(ev, "stderr", 0);
    cJSON *text = err.state == ASSAY_OK_STATE && err.json && *err.json ? cJSON_Parse(err.json) : NULL;
    if (run.state == ASSAY_OK_STATE)
        placement_verdict(r, placement_judge_run(&run, cJSON_GetStringValue(text), s, r));
    else
        placement_verdict(r, judge_absent(&run, s, "run", r));
    cJSON_Delete(text);
}

static assay_status judge(void *self, const assay_evidence *ev, const assay_finding *f, assay_error *err) {
    const settings *s = self;
    report r = {.f = f};
    uint32_t plans = ev->count(ev, "plan");
    if (plans && s->n_ops == 0)
        return fail(err, ASSAY_E_USAGE,
                    "a plan can only be judged for named ops: give op_of_interest (for example scaled_dot_product_attention)");
    if (ev->count(ev, "run")) judge_run(s, ev, &r);
    if (plans) judge_plans(s, ev, &r);
    if (!r.worst) {
        placement_reason(&r, "no_device_evidence", "", "neither a plan nor a run record was given");
        r.worst = ASSAY_NOT_MEASURED;
    }
    f->verdict(f, r.worst);
    return ASSAY_OK;
}

/* ---- the plugin */
static const assay_gate gate = {
    .struct_size = sizeof gate,
    .name = "placement",
    .version = "1.0",
    .summary = "every op of interest is preferred on the device, by a plan of the target; unknown is never a pass",
    .params = params,
    .create = create,
    .needs = needs,
    .judge = judge,
    .destroy = destroy};
ASSAY_GATE_PLUGIN(gate)
