/* The simulated device as a backend: the reference executor under a device profile. */
#include "backends/simulated/backend.h"
#include "backends/simulated/sim.h"
#include "backends/reference/exec.h"
#include "base/names.h"
#include "ops/args.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* `inner` is a session of the reference backend on an executor with the profile's numbers: binding and fetching are its own. */
typedef struct session {
    assay_sim_profile profile;
    assay_sim_placed placed;
    assay_sim_run run;
    void *inner;
    const char *function;
    char *trial;
    const struct binding *current;               /* whose outputs the executor holds */
    uint64_t last_ns;
} session;
/* Inputs are read by the first prediction of a binding; later ones give the same numbers and are not computed again, unless a
 * planted fault tells them apart or there are states: a timing trial asks thousands of times, and its durations are invented.
 * Once fetched, the numbers stand in the caller's tensors. */
typedef struct binding { void *inner; bool computed, differs, fetched; } binding;

static assay_status load_profile(const assay_host *h, const assay_params *p, assay_sim_profile *out, assay_error *err) {
    assay_value v;
    if (!p || h->param(p, "device", 0, &v) != ASSAY_OK || !*v.s)
        return assay_fail(err, ASSAY_E_USAGE, "the simulated backend imitates a device profile: name one with --device");
    return assay_sim_profile_load(v.s, out, err);
}

static void close_session(void *self) {
    session *s = self;
    if (!s) return;
    if (s->inner) assay_reference_backend.close(s->inner);
    assay_sim_placed_free(&s->placed);
    assay_sim_profile_free(&s->profile);
    free(s->trial);
    free(s);
}

static void report_load(const session *s, const assay_program *p, const assay_sink *sink) {
    char digest[65];
    assay_program_digest(p, digest);
    sink->number(sink, "compile", (double)assay_sim_draw_load_ns(s->profile.json, "compile_ms", digest), "ns");
    sink->number(sink, "load", (double)assay_sim_draw_load_ns(s->profile.json, "warm_ms", digest), "ns");
}

static void report_identity(const session *s, const assay_sink *sink) {
    static const char *const claims[] = {"hardware", "os", "build", "toolchain"};
    const assay_json *given = assay_json_get(s->profile.json, "claims");
    sink->text(sink, "profile.id", s->profile.id);
    sink->text(sink, "profile.sha256", s->profile.sha256);
    for (size_t i = 0; i < sizeof claims / sizeof *claims; i++) {
        char key[64];
        snprintf(key, sizeof key, "profile.imitates.%s", claims[i]);
        sink->text(sink, key, assay_json_string(given, claims[i], ""));
    }
}

static assay_status open_inner(session *s, const assay_open_args *a, assay_error *err) {
    assay_exec_options o = {.threads = a->threads, .function = a->function, .around = assay_sim_around, .around_ctx = &s->run};
    assay_exec *e = NULL;
    ASSAY_TRY(assay_exec_open(a->program, &o, &e, err));
    s->inner = assay_reference_session(e);
    const assay_mil_function *f = assay_program_function(a->program, a->function);
    s->function = f->name;
    return assay_sim_place(s->profile.json, f, a->compute_units, &s->placed, err);
}

static assay_status sim_open(const assay_host *h, const assay_open_args *a, const assay_sink *sink, void **out, assay_error *err) {
    assay_value v;
    if (!a->program) return assay_fail(err, ASSAY_E_USAGE, "simulated backend: no program was handed over");
    session *s = assay_xcalloc(1, sizeof *s);
    s->trial = assay_xstrdup(a->params && h->param(a->params, "trial", 0, &v) == ASSAY_OK ? v.s : "");
    assay_status st = load_profile(h, a->params, &s->profile, err);
    if (st == ASSAY_OK) st = open_inner(s, a, err);
    if (st != ASSAY_OK) {
        close_session(s);
        return st;
    }
    s->run.placed = &s->placed;
    assay_sim_read_numerics(s->profile.json, &s->run);
    report_identity(s, sink);
    assay_sim_report_rules(&s->placed, sink);
    report_load(s, a->program, sink);
    *out = s;
    return ASSAY_OK;
}

static assay_status sim_identity(const assay_host *h, const assay_sink *sink, assay_error *err) {
    (void)h;
    (void)err;
    sink->text(sink, "backend.version", ASSAY_VERSION);
    return ASSAY_OK;
}

/* ---- plan */

static assay_status sim_plan(void *self, const assay_sink *sink, assay_error *err) {
    const session *s = self;
    double total = 0;
    if (s->placed.compile_failed) return assay_fail(err, ASSAY_E_UNSUPPORTED, "ANECCompile() FAILED (simulated): the model was loaded without the Neural Engine");
    for (uint32_t i = 0; i < s->placed.n; i++) total += s->placed.ops[i].seconds;
    for (uint32_t i = 0; i < s->placed.n; i++) {
        const assay_sim_op *o = &s->placed.ops[i];
        assay_op_row row = {.function = s->function, .output = o->op->n_outs ? o->op->outs[0]->name : "", .type = o->op->type, .preferred = o->preferred,
                            .supported = o->supported, .cost = total > 0 ? o->seconds / total : 0};
        sink->op(sink, &row);
    }
    return ASSAY_OK;
}

/* ---- bind, predict, fetch */

static assay_status sim_bind(void *self, const assay_named_tensor *in, uint32_t n_in, const assay_named_tensor *out, uint32_t n_out, void **bound, assay_error *err) {
    session *s = self;
    void *inner = NULL;
    ASSAY_TRY(assay_reference_backend.bind(s->inner, in, n_in, out, n_out, &inner, err));
    binding *b = assay_xcalloc(1, sizeof *b);
    b->inner = inner;
    *bound = b;
    return ASSAY_OK;
}

static void sim_unbind(void *self, void *bound) {
    session *s = self;
    binding *b = bound;
    if (!b) return;
    if (s->current == b) s->current = NULL;
    assay_reference_backend.unbind(s->inner, b->inner);
    free(b);
}

static assay_status sim_predict(void *self, void *bound, void *state, assay_error *err) {
    session *s = self;
    binding *b = bound;
    bool differs = assay_sim_prediction_differs(&s->placed, ++s->run.prediction);
    if (!b->computed || state || differs || b->differs || (s->current != b && !b->fetched)) {
        s->current = NULL;
        ASSAY_TRY(assay_reference_backend.predict(s->inner, b->inner, state, err));
        s->current = b;
        *b = (binding){.inner = b->inner, .computed = true, .differs = differs};
    }
    s->last_ns = assay_sim_tick_ns(s->profile.json, s->trial, s->placed.seconds);
    return ASSAY_OK;
}

static assay_status sim_fetch(void *self, void *bound, assay_error *err) {
    session *s = self;
    binding *b = bound;
    if (s->current != b) return ASSAY_OK;        /* they are there */
    b->fetched = true;
    return assay_reference_backend.fetch(s->inner, b->inner, err);
}

/* ---- states: those of the executor, none for a program without them */
static assay_status sim_state_new(void *self, void **state, assay_error *err) {
    ASSAY_TRY(assay_reference_backend.state_new(((session *)self)->inner, state, err));
    if (assay_exec_state_count(*state)) return ASSAY_OK;
    assay_reference_backend.state_free(((session *)self)->inner, *state);
    *state = NULL;
    return ASSAY_OK;
}

static void sim_state_free(void *self, void *state) { assay_reference_backend.state_free(((session *)self)->inner, state); }

uint64_t assay_simulated_last_ns(void *self) { return ((session *)self)->last_ns; }

assay_status assay_simulated_record(void *self, const char *name, assay_json **out, assay_error *err) {
    return assay_sim_record(&((session *)self)->placed, name, out, err);
}

static const assay_param params[] = {
    {"device", "", NULL, NULL, "device profile: a name of configs/devices, or a .lua file", 1, 0, ASSAY_T_STRING, 0},
    {"trial", "", NULL, NULL, "id of the trial, given by the worker: the jitter is drawn from it", 1, 0, ASSAY_T_STRING, 0},
    {.name = NULL}};

const assay_backend assay_simulated_backend = {
    .struct_size = sizeof(assay_backend), .name = "simulated", .version = ASSAY_VERSION, .summary = "the reference executor under a device profile: a rehearsal, never evidence",
    .params = params, .identity = sim_identity, .open = sim_open, .plan = sim_plan, .bind = sim_bind, .state_new = sim_state_new, .predict = sim_predict,
    .fetch = sim_fetch, .state_free = sim_state_free, .unbind = sim_unbind, .close = close_session};
