/* A backend and a gate that misbehave on demand, for the tests of supervision. ASSAY_TEST_FAULT says how the backend ends when
 * it runs an arm whose path holds ASSAY_TEST_ARM: abort, exit, hang, error, fpmode; otherwise it gives zeros. */
#include "assay/backend.h"
#include "assay/gate.h"
#include <fenv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct session { int is_the_arm; const assay_named_tensor *out; uint32_t n_out; } session;

static assay_status identity(const assay_host *h, const assay_sink *s, assay_error *e) {
    (void)h, (void)e;
    s->text(s, "os.build", "test");
    return ASSAY_OK;
}
static assay_status open_arm(const assay_host *h, const assay_open_args *a, const assay_sink *s, void **out, assay_error *e) {
    (void)h, (void)s, (void)e;
    const char *arm = getenv("ASSAY_TEST_ARM");
    session *x = calloc(1, sizeof *x);
    if (!x) return ASSAY_E_NOMEM;
    x->is_the_arm = !arm || strstr(a->path, arm) != NULL;
    *out = x;
    return ASSAY_OK;
}
static assay_status bind(void *self, const assay_named_tensor *in, uint32_t n_in, const assay_named_tensor *out, uint32_t n_out, void **b, assay_error *e) {
    session *x = self;
    (void)in, (void)n_in, (void)e;
    x->out = out;
    x->n_out = n_out;
    *b = x;
    return ASSAY_OK;
}
static assay_status predict(void *self, void *b, void *state, assay_error *e) {
    session *x = self;
    const char *fault = getenv("ASSAY_TEST_FAULT");
    (void)b, (void)state;
    if (!fault || !x->is_the_arm) return ASSAY_OK;
    if (strcmp(fault, "abort") == 0) abort();
    if (strcmp(fault, "exit") == 0) _exit(9);
    if (strcmp(fault, "hang") == 0) for (;;) sleep(1000);
    if (strcmp(fault, "fpmode") == 0) fesetround(FE_UPWARD);
    if (strcmp(fault, "error") == 0) {
        e->code = ASSAY_E_UNSUPPORTED;
        snprintf(e->message, sizeof e->message, "op 'x' is not supported here");
        return ASSAY_E_UNSUPPORTED;
    }
    return ASSAY_OK;
}
static assay_status fetch(void *self, void *b, assay_error *e) {
    session *x = self;
    (void)b, (void)e;
    for (uint32_t i = 0; i < x->n_out; i++) memset(x->out[i].t.data, 0, (size_t)x->out[i].t.nbytes);
    return ASSAY_OK;
}
static void unbind(void *self, void *b) { (void)self, (void)b; }
static void close_arm(void *self) { free(self); }

static const assay_backend backend = {.struct_size = sizeof backend, .name = "faulty", .version = "1", .summary = "misbehaves on demand (tests)",
    .identity = identity, .open = open_arm, .bind = bind, .predict = predict, .fetch = fetch, .unbind = unbind, .close = close_arm};

/* ---- a gate that does not survive its judging */

static const assay_param params[] = {
    {"arm", "@candidate", NULL, NULL, "arm", 1, 0, ASSAY_T_STRING, 0},
    {NULL, NULL, NULL, NULL, NULL, 0, 0, 0, 0},
};
static int nothing;
static assay_status create(const assay_host *h, const assay_params *p, void **self, assay_error *e) {
    (void)h, (void)p, (void)e;
    *self = &nothing;
    return ASSAY_OK;
}
static assay_status needs(void *self, const assay_evidence *ev, const assay_request *r, assay_error *e) {
    (void)self, (void)ev, (void)r, (void)e;
    return ASSAY_OK;
}
static assay_status judge(void *self, const assay_evidence *ev, const assay_finding *f, assay_error *e) {
    (void)self, (void)ev, (void)f, (void)e;
    abort();
}
static void destroy(void *self) { (void)self; }
static const assay_gate gate = {.struct_size = sizeof gate, .name = "crasher", .version = "1", .summary = "crashes while judging (tests)",
    .params = params, .create = create, .needs = needs, .judge = judge, .destroy = destroy};

static const assay_gate *const gates[] = {&gate};
static const assay_backend *const backends[] = {&backend};
static const assay_plugin plugin = {.struct_size = sizeof plugin, .abi = ASSAY_ABI, .gate_count = 1, .backend_count = 1, .gates = gates, .backends = backends};

ASSAY_EXPORT const assay_plugin *assay_plugin_query(uint32_t host_abi, assay_error *e);
ASSAY_EXPORT const assay_plugin *assay_plugin_query(uint32_t host_abi, assay_error *e) {
    (void)host_abi, (void)e;
    return &plugin;
}
