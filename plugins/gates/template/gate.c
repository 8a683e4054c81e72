/* The template gate: the candidate's output stays within an absolute distance of the reference. Start from here. */
#include <assay/gate.h>
#include <assay/metrics.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What one gate of an experiment remembers: its parameters, nothing from call to call. */
typedef struct gate_state {
    const assay_metrics_1 *metrics;
    const char *arm, *fixture;
    double max_abs_max;
} gate_state;

/* One table gives parsing, type errors, help text and documentation. */
static const assay_param params[] = {
    {.name = "arm", .def = "@candidate", .help = "arm under test", .min = 1, .type = ASSAY_T_STRING},
    {.name = "fixture", .def = "@use:parity", .help = "fixture to run it on", .min = 1, .type = ASSAY_T_STRING | ASSAY_T_LIST},
    {.name = "max_abs_max",
     .def = "0.01",
     .unit = "unit of the tensor",
     .help = "largest absolute difference",
     .min = 0,
     .max = 1e30,
     .type = ASSAY_T_NUMBER},
    {.name = NULL},
};

static assay_status fail(assay_error *err, assay_status code, const char *message) {
    if (err) {
        err->code = code;
        snprintf(err->message, sizeof err->message, "%s", message);
    }
    return code;
}

static const char *text(const assay_host *h, const assay_params *ps, const char *name) {
    assay_value v;
    return h->param(ps, name, 0, &v) == ASSAY_OK ? v.s : "";
}

static assay_status create(const assay_host *h, const assay_params *ps, void **self, assay_error *err) {
    assay_value v;
    gate_state *g = calloc(1, sizeof *g);
    if (!g) return fail(err, ASSAY_E_NOMEM, "out of memory");
    g->metrics = h->get(h->ctx, ASSAY_METRICS_1);
    g->arm = text(h, ps, "arm");
    g->fixture = text(h, ps, "fixture");
    if (h->param(ps, "max_abs_max", 0, &v) == ASSAY_OK) g->max_abs_max = v.f;
    *self = g;
    return ASSAY_OK;
}

static void destroy(void *self) { free(self); }

/* Ask, do not compute. Outside an experiment the names are empty and the evidence is given. */
static assay_status needs(void *self, const assay_evidence *so_far, const assay_request *req, assay_error *err) {
    const gate_state *g = self;
    (void)so_far;
    if (!*g->arm || !*g->fixture) return ASSAY_OK;
    assay_query q = {.struct_size = sizeof q, .kind = ASSAY_K_OUTPUT, .arm = "@reference", .fixture = g->fixture};
    assay_status st = req->need(req, "reference", g->fixture, &q, err);
    q.arm = g->arm;
    return st ? st : req->need(req, "candidate", g->fixture, &q, err);
}

static bool take(const assay_evidence *ev, const char *role, assay_item *it) {
    memset(it, 0, sizeof *it);
    it->struct_size = sizeof *it;
    return ev->count(ev, role) > 0 && ev->item(ev, role, 0, it, NULL) == ASSAY_OK && it->state == ASSAY_OK_STATE &&
           it->kind == ASSAY_K_OUTPUT;
}

static bool same_shape(const assay_tensor *a, const assay_tensor *b) {
    return a->rank == b->rank && !memcmp(a->shape, b->shape, a->rank * sizeof *a->shape);
}

/* Pure: the same evidence gives the same finding. Comparisons are written so that NaN fails. */
static assay_verdict decide(const gate_state *g, const assay_item *ref, const assay_item *cand, const assay_finding *f,
                            assay_error *err) {
    assay_pair_stats s = {.struct_size = sizeof s};
    if (!same_shape(&ref->tensor, &cand->tensor)) {
        f->reason(f, "shape_mismatch", "reference and candidate have different shapes", cand->label);
        return ASSAY_KILL;
    }
    if (g->metrics->pair(&ref->tensor, &cand->tensor, -1, &s, err)) return 0;
    f->metric(f, "candidate.max_abs", &s.max_abs, 1, "");
    if (!(s.norm_ref > 0)) {
        f->invalid(f, "fixture_without_power", "the reference is all zero: a dead arm would pass", ref->label);
        return ASSAY_INCONCLUSIVE;
    }
    if (!(s.max_abs <= g->max_abs_max)) {
        f->reason(f, "max_abs_above_max", "an element is further from the reference than allowed", cand->label);
        return ASSAY_KILL;
    }
    return ASSAY_PASS;
}

static assay_status judge(void *self, const assay_evidence *ev, const assay_finding *f, assay_error *err) {
    const gate_state *g = self;
    assay_item ref, cand;
    if (!g->metrics) return fail(err, ASSAY_E_UNSUPPORTED, "this host has no " ASSAY_METRICS_1);
    if (!take(ev, "reference", &ref) || !take(ev, "candidate", &cand)) {
        f->reason(f, "no_evidence", "reference or candidate is missing", "");
        f->verdict(f, ASSAY_NOT_MEASURED);
        return ASSAY_OK;
    }
    assay_verdict v = decide(g, &ref, &cand, f, err);
    if (!v) return err ? err->code : ASSAY_E_INTERNAL;
    f->verdict(f, v);
    return ASSAY_OK;
}

static const assay_gate gate = {.struct_size = sizeof gate,
                                .name = "template",
                                .version = "0.1",
                                .summary = "the output stays within an absolute distance of the reference",
                                .params = params,
                                .create = create,
                                .needs = needs,
                                .judge = judge,
                                .destroy = destroy};
ASSAY_GATE_PLUGIN(gate)
