/* The reference executor as a backend: opens a function, binds tensors, predicts on the CPU. */
#include "backends/reference/exec.h"
#include "ops/args.h"
#include "base/threads.h"
#include "ops/kernels/kernels.h"
#include "tensor/tensor.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct session { assay_exec *exec; } session;
typedef struct binding { assay_named_tensor *in, *out; uint32_t n_in, n_out; } binding;

enum { CUT_MAX = 16 };

/* ---- open */
static int32_t precision_code(const char *name) {
    static const char *const names[] = { "declared", "fp16", "fp32", "fp64" };
    for (int32_t i = 0; i < 4; i++)
        if (strcmp(names[i], name) == 0) return i;
    return ASSAY_PREC_DECLARED;
}

static void read_params(const assay_host *h, const assay_params *p, assay_exec_options *o, const char *cut[CUT_MAX]) {
    assay_value v;
    if (!p) return;
    if (h->param(p, "precision", 0, &v) == ASSAY_OK) o->precision = precision_code(v.s);
    if (h->param(p, "threads", 0, &v) == ASSAY_OK && v.i > 0) o->threads = (uint32_t)v.i;
    while (o->n_cut < CUT_MAX && h->param(p, "cut", o->n_cut, &v) == ASSAY_OK) cut[o->n_cut++] = v.s;
    o->cut = cut;
}

void *assay_reference_session(assay_exec *e) {
    session *s = assay_xcalloc(1, sizeof *s);
    s->exec = e;
    return s;
}

static assay_status ref_open(const assay_host *h, const assay_open_args *a, const assay_sink *sink, void **out, assay_error *err) {
    const char *cut[CUT_MAX];
    assay_exec_options o = { .threads = a->threads, .function = a->function };
    (void)sink;
    if (!a->program) return assay_fail(err, ASSAY_E_USAGE, "reference backend: no program was handed over");
    read_params(h, a->params, &o, cut);
    assay_exec *e = NULL;
    ASSAY_TRY(assay_exec_open(a->program, &o, &e, err));
    *out = assay_reference_session(e);
    return ASSAY_OK;
}

static void ref_close(void *self) {
    session *s = self;
    if (!s) return;
    assay_exec_close(s->exec);
    free(s);
}

/* ---- bind, predict, fetch */
static assay_named_tensor *keep(const assay_named_tensor *list, uint32_t n) {
    assay_named_tensor *copy = assay_xcalloc(n + 1u, sizeof *copy);
    for (uint32_t i = 0; i < n; i++) copy[i] = (assay_named_tensor){ assay_xstrdup(list[i].name), list[i].t };
    return copy;
}

static void drop(assay_named_tensor *list, uint32_t n) {
    for (uint32_t i = 0; list && i < n; i++) free((void *)(uintptr_t)list[i].name);
    free(list);
}

static void ref_unbind(void *self, void *bound) {
    binding *b = bound;
    (void)self;
    if (!b) return;
    drop(b->in, b->n_in);
    drop(b->out, b->n_out);
    free(b);
}

static assay_status ref_bind(void *self, const assay_named_tensor *in, uint32_t n_in, const assay_named_tensor *out, uint32_t n_out, void **bound, assay_error *err) {
    session *s = self;
    ASSAY_TRY(assay_exec_check_inputs(s->exec, in, n_in, err));
    for (uint32_t i = 0; i < n_out; i++)
        if (!assay_exec_has_output(s->exec, out[i].name)) return assay_fail(err, ASSAY_E_INPUT, "the function has no output '%s'", out[i].name);
    binding *b = assay_xcalloc(1, sizeof *b);
    *b = (binding){ keep(in, n_in), keep(out, n_out), n_in, n_out };
    *bound = b;
    return ASSAY_OK;
}

static assay_status ref_predict(void *self, void *bound, void *state, assay_error *err) {
    session *s = self;
    binding *b = bound;
    return assay_exec_run_state(s->exec, b->in, b->n_in, state, err);
}

/* The caller's tensor may be padded and of another float type; each element is converted once. */
static assay_status deliver(const assay_tensor *from, const assay_named_tensor *to, assay_error *err) {
    char a[160], b[160];
    if (!assay_tensor_same_shape(from, &to->t))
        return assay_fail(err, ASSAY_E_INPUT, "output '%s' has shape %s, the caller expects %s", to->name, assay_shape_text(from->rank, from->shape, a),
                          assay_shape_text(to->t.rank, to->t.shape, b));
    int64_t n = assay_tensor_count(from);
    if (assay_tensor_is_contiguous(&to->t)) {
        assay_tensor_read(from, to->t.dtype, to->t.data);
        return ASSAY_OK;
    }
    for (int64_t i = 0; i < n; i++) assay_convert(to->t.dtype, assay_tensor_at(&to->t, i), from->dtype, assay_tensor_at(from, i), 1);
    return ASSAY_OK;
}

static assay_status ref_fetch(void *self, void *bound, assay_error *err) {
    session *s = self;
    binding *b = bound;
    for (uint32_t i = 0; i < assay_exec_output_count(s->exec); i++) {
        assay_named_tensor got;
        ASSAY_TRY(assay_exec_output(s->exec, i, &got, err));
        for (uint32_t k = 0; k < b->n_out; k++)
            if (strcmp(b->out[k].name, got.name) == 0) ASSAY_TRY(deliver(&got.t, &b->out[k], err));
    }
    return ASSAY_OK;
}

/* ---- states: zeros at first */
static assay_status ref_state_new(void *self, void **state, assay_error *err) {
    session *s = self;
    return assay_exec_state_new(s->exec, (assay_exec_state **)state, err);
}

static void ref_state_free(void *self, void *state) {
    (void)self;
    assay_exec_state_free(state);
}

static assay_status ref_identity(const assay_host *h, const assay_sink *sink, assay_error *err) {
    (void)h;
    (void)err;
    char cores[16];
    snprintf(cores, sizeof cores, "%u", assay_cpu_count());
    sink->text(sink, "backend.version", ASSAY_VERSION);
    sink->text(sink, "kernels.level", assay_kernels_best()->name);
    sink->text(sink, "cpu.count", cores);
    return ASSAY_OK;
}

static const assay_param params[] = {
    { "precision", "declared", "declared|fp16|fp32|fp64", NULL, "how float values are kept", 1, 0, ASSAY_T_STRING, 0 },
    { "cut", "", NULL, NULL, "values whose ancestors run as declared, everything else in float64", 1, 0, ASSAY_T_STRING | ASSAY_T_LIST, 0 },
    { "threads", "0", NULL, NULL, "0: what the host gives; results do not depend on it", 0, 1024, ASSAY_T_INT, 0 },
    { .name = NULL } };

const assay_backend assay_reference_backend = {
    .struct_size = sizeof(assay_backend), .name = "reference", .version = ASSAY_VERSION, .summary = "the portable oracle: bit-identical on every machine",
    .params = params, .identity = ref_identity, .open = ref_open, .bind = ref_bind, .state_new = ref_state_new, .predict = ref_predict,
    .fetch = ref_fetch, .state_free = ref_state_free, .unbind = ref_unbind, .close = ref_close };
