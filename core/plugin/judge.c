/* Opens a gate with its parameters, collects what it needs, and turns its finding into an assay-verdict/1 object. */
#include "plugin/evidence.h"
#include "base/names.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct assay_gate_run {
    const assay_gate_type *type;
    assay_params *params;
    void *self;
};

assay_status assay_gate_open(const assay_gate_type *type, const assay_json *params, const char *who, assay_gate_run **out,
                             assay_error *err) {
    *out = NULL;
    char name[128];
    snprintf(name, sizeof name, "gate \"%s\"", type->name);
    assay_gate_run *g = assay_xcalloc(1, sizeof *g);
    g->type = type;
    assay_status st = assay_params_make(type->params, params, who ? who : name, &g->params, err);
    if (!st && type->create) {
        st = type->create(type, assay_host_table(), g->params, &g->self, err);
        if (st) assay_wrap(err, "%s", who ? who : name);
    }
    if (st) {
        assay_params_free(g->params);
        free(g);
        return st;
    }
    *out = g;
    return ASSAY_OK;
}

void assay_gate_close(assay_gate_run *g) {
    if (!g) return;
    if (g->type->destroy && g->self) g->type->destroy(g->type, g->self);
    assay_params_free(g->params);
    free(g);
}

const assay_json *assay_gate_params(const assay_gate_run *g) { return assay_params_effective(g->params); }

/* ---- needs */
void assay_need_list_free(assay_need_list *l) {
    if (!l) return;
    free(l->items);
    assay_arena_free(l->arena);
    memset(l, 0, sizeof *l);
}

static const char *keep(assay_arena *a, const char *s) { return s ? assay_arena_strdup(a, s) : NULL; }

static bool same_query(const assay_query *a, const assay_query *b) {
    return a->kind == b->kind && a->repeats == b->repeats && assay_streq(a->arm, b->arm) && assay_streq(a->arm_b, b->arm_b) &&
           assay_streq(a->fixture, b->fixture) && assay_streq(a->output, b->output) && assay_streq(a->record, b->record) &&
           assay_streq(a->perturb, b->perturb);
}

static assay_status take_need(const assay_request *req, const char *role, const char *label, const assay_query *q,
                              assay_error *err) {
    assay_need_list *l = req->ctx;
    if (!role || !*role || !q) return assay_fail(err, ASSAY_E_INTERNAL, "a gate asked for evidence without a role or a query");
    if (q->kind < ASSAY_K_PROGRAM || q->kind > ASSAY_K_RECORD)
        return assay_fail(err, ASSAY_E_INTERNAL, "a gate asked for evidence of unknown kind %d", (int)q->kind);
    for (size_t i = 0; i < l->len; i++)
        if (assay_streq(l->items[i].role, role) && assay_streq(l->items[i].label, label ? label : "") &&
            same_query(&l->items[i].query, q))
            return ASSAY_OK;
    if (l->len == l->cap) {
        l->cap = l->cap ? 2 * l->cap : 8;
        l->items = assay_xrealloc(l->items, l->cap * sizeof *l->items);
    }
    assay_query c = {.struct_size = sizeof c,
                     .kind = q->kind,
                     .arm = keep(l->arena, q->arm),
                     .arm_b = keep(l->arena, q->arm_b),
                     .fixture = keep(l->arena, q->fixture),
                     .output = keep(l->arena, q->output),
                     .record = keep(l->arena, q->record),
                     .perturb = keep(l->arena, q->perturb),
                     .repeats = q->repeats};
    l->items[l->len++] = (assay_need){keep(l->arena, role), keep(l->arena, label ? label : ""), c};
    return ASSAY_OK;
}

assay_status assay_gate_needs(assay_gate_run *g, const assay_evidence_set *so_far, assay_need_list *out, assay_error *err) {
    memset(out, 0, sizeof *out);
    out->arena = assay_arena_new();
    if (!g->type->needs) return ASSAY_OK;
    assay_request req = {.struct_size = sizeof req, .ctx = out, .need = take_need};
    assay_status st = g->type->needs(g->type, g->self, assay_evidence_view(so_far), &req, err);
    if (st) {
        assay_wrap(err, "gate \"%s\"", g->type->name);
        assay_need_list_free(out);
    }
    return st;
}

/* ---- finding */
typedef struct finding_ctx {
    assay_json *metrics, *units, *reasons, *invalid, *details;
    assay_verdict verdict;
    assay_error fault;
} finding_ctx;

static assay_json *child(assay_json *obj, const char *key) {
    assay_json *c = assay_json_get(obj, key);
    return c ? c : assay_json_set(obj, key, assay_json_object());
}

/* Sets "candidate:b9.cosine" as name "cosine" of group "candidate:b9"; the group of a key without a dot is "gate". */
static void put_grouped(assay_json *root, const char *key, assay_json *value) {
    const char *dot = strrchr(key, '.');
    char *group = dot ? assay_xstrndup(key, (size_t)(dot - key)) : assay_xstrdup("gate");
    assay_json_set(child(root, group), dot ? dot + 1 : key, value);
    free(group);
}

static void put_metric(const assay_finding *f, const char *key, const double *v, uint64_t n, const char *unit) {
    finding_ctx *c = f->ctx;
    if (!key || (!v && n)) return;
    assay_json *value = n == 1 ? assay_json_new_number(v[0]) : assay_json_array();
    for (uint64_t i = 0; n != 1 && i < n; i++) assay_json_append(value, assay_json_new_number(v[i]));
    put_grouped(c->metrics, key, value);
    if (unit && *unit) put_grouped(c->units, key, assay_json_new_string(unit));
}

static void put_reason(assay_json *list, const char *code, const char *message, const char *where) {
    assay_json *r = assay_json_append(list, assay_json_object());
    assay_json_set_string(r, "code", code ? code : "");
    assay_json_set_string(r, "message", message ? message : "");
    assay_json_set_string(r, "where", where ? where : "");
}

static void put_plain_reason(const assay_finding *f, const char *code, const char *message, const char *where) {
    put_reason(((finding_ctx *)f->ctx)->reasons, code, message, where);
}
static void put_invalid(const assay_finding *f, const char *code, const char *message, const char *where) {
    put_reason(((finding_ctx *)f->ctx)->invalid, code, message, where);
}

static void put_detail(const assay_finding *f, const char *key, const char *json) {
    finding_ctx *c = f->ctx;
    if (!key || !json) return;
    char what[128];
    snprintf(what, sizeof what, "detail '%.80s'", key);
    assay_json *v = NULL;
    if (assay_json_parse(json, strlen(json), what, &v, &c->fault)) return;
    if (assay_starts_with(key, "metrics:")) put_grouped(c->metrics, key + 8, v);
    else assay_json_set(c->details, key, v);
}

static void put_verdict(const assay_finding *f, assay_verdict v) { ((finding_ctx *)f->ctx)->verdict = v; }

static const char *verdict_name(assay_verdict v) {
    static const char *const names[] = {NULL, "pass", "kill", "inconclusive", "not-measured"};
    return v >= ASSAY_PASS && v <= ASSAY_NOT_MEASURED ? names[v] : NULL;
}

static const char *origin_name(int32_t origin) {
    static const char *const names[] = {NULL, "device", "reference", "simulated", "imported"};
    return origin >= ASSAY_ORIGIN_DEVICE && origin <= ASSAY_ORIGIN_IMPORTED ? names[origin] : NULL;
}

const char *assay_kind_name(int32_t kind) {
    switch (kind) {
    case ASSAY_K_PROGRAM: return "program";
    case ASSAY_K_OUTPUT: return "output";
    case ASSAY_K_PLAN: return "plan";
    case ASSAY_K_TIMING: return "timing";
    case ASSAY_K_RECORD: return "record";
    default: return "unknown";
    }
}

static assay_json *evidence_list(const assay_evidence_set *ev) {
    static const char *const states[] = {"", "ok", "not-measured", "failed", "unavailable"};
    assay_json *list = assay_json_array();
    for (size_t i = 0; i < assay_evidence_len(ev); i++) {
        const assay_item *it = assay_evidence_at(ev, i);
        assay_json *e = assay_json_append(list, assay_json_object());
        assay_json_set_string(e, "role", it->role);
        assay_json_set_string(e, "label", it->label);
        assay_json_set_string(e, "sha256", it->sha256);
        assay_json_set_string(e, "kind", assay_kind_name(it->kind));
        assay_json_set_string(e, "origin", origin_name(it->origin));
        if (*it->arm) assay_json_set_string(e, "arm", it->arm);
        if (it->state == ASSAY_OK_STATE) continue;
        assay_json_set_string(e, "state", it->state > 0 && it->state <= ASSAY_STATE_UNAVAILABLE ? states[it->state] : "unknown");
        assay_json_set_string(e, "why", it->why);
    }
    return list;
}

/* Takes over the parts of `c`. */
static assay_json *verdict_object(const assay_gate_run *g, const assay_evidence_set *ev, const finding_ctx *c) {
    assay_json *j = assay_json_object();
    assay_json_set_string(j, "schema", "assay-verdict/1");
    assay_json_set_string(j, "gate", g->type->name);
    assay_json_set_string(j, "version", g->type->version);
    assay_json_set_string(j, "verdict", verdict_name(c->verdict));
    assay_json *validity = assay_json_set(j, "validity", assay_json_object());
    assay_json_set_bool(validity, "valid", assay_json_len(c->invalid) == 0);
    assay_json_set(validity, "reasons", c->invalid);
    assay_json_set(j, "reasons", c->reasons);
    assay_json_set(j, "metrics", c->metrics);
    assay_json_set(j, "units", c->units);
    assay_json_set(j, "details", c->details);
    assay_json_set(j, "params", assay_json_clone(assay_params_effective(g->params)));
    assay_json_set(j, "evidence", evidence_list(ev));
    return j;
}

static void finding_free(finding_ctx *c) {
    assay_json_free(c->metrics);
    assay_json_free(c->units);
    assay_json_free(c->reasons);
    assay_json_free(c->invalid);
    assay_json_free(c->details);
}

assay_status assay_gate_judge(assay_gate_run *g, const assay_evidence_set *ev, assay_json **verdict, assay_error *err) {
    *verdict = NULL;
    finding_ctx c = {.metrics = assay_json_object(),
                     .units = assay_json_object(),
                     .reasons = assay_json_array(),
                     .invalid = assay_json_array(),
                     .details = assay_json_object()};
    const assay_finding f = {.struct_size = sizeof f,
                             .ctx = &c,
                             .metric = put_metric,
                             .reason = put_plain_reason,
                             .invalid = put_invalid,
                             .detail = put_detail,
                             .verdict = put_verdict};
    assay_status st = g->type->judge(g->type, g->self, assay_evidence_view(ev), &f, err);
    if (st) {
        assay_wrap(err, "gate \"%s\"", g->type->name);
    } else if (c.fault.code) {
        st = assay_fail(err, ASSAY_E_INTERNAL, "gate \"%s\": %s", g->type->name, c.fault.message);
    } else if (!verdict_name(c.verdict)) {
        st = assay_fail(err, ASSAY_E_INTERNAL, "gate \"%s\" gave no verdict: judge() must call finding->verdict once",
                        g->type->name);
    }
    if (st) {
        finding_free(&c);
        return st;
    }
    *verdict = verdict_object(g, ev, &c);
    return ASSAY_OK;
}

assay_status assay_judge(const assay_registry *r, const char *gate, const assay_json *params, const assay_evidence_set *ev,
                         assay_json **verdict, assay_error *err) {
    *verdict = NULL;
    const assay_gate_type *type = assay_registry_gate(r, gate, err);
    if (!type) return err && err->code ? err->code : ASSAY_E_INPUT;
    assay_gate_run *g = NULL;
    assay_status st = assay_gate_open(type, params, NULL, &g, err);
    if (!st) st = assay_gate_judge(g, ev, verdict, err);
    assay_gate_close(g);
    return st;
}

const char *assay_printed_verdict(const assay_json *verdict) {
    if (!assay_json_bool(assay_json_get(verdict, "validity"), "valid", false)) return "invalid";
    return assay_json_string(verdict, "verdict", "inconclusive");
}
