/* In the worker: opens one arm on a backend and binds its inputs and outputs. */
#include "run/work.h"
#include "base/digest.h"
#include "base/fs.h"
#include "base/names.h"
#include "base/process.h"
#include "tensor/npy.h"
#include <stdlib.h>
#include <string.h>

/* ---- the sink: facts of a backend become JSON */

static void sink_text(const assay_sink *s, const char *key, const char *value) {
    if (s->ctx) assay_json_set_string(s->ctx, key, value);
}

static void sink_number(const assay_sink *s, const char *key, double value, const char *unit) {
    if (!s->ctx) return;
    assay_json *numbers = assay_json_get(s->ctx, "numbers");
    if (!numbers) numbers = assay_json_set(s->ctx, "numbers", assay_json_object());
    assay_json *row = assay_json_set(numbers, key, assay_json_object());
    assay_json_set_number(row, "value", value);
    assay_json_set_string(row, "unit", unit ? unit : "");
}

static void sink_op(const assay_sink *s, const assay_op_row *row) { (void)s, (void)row; }

static assay_sink facts_sink(assay_json *facts) {
    return (assay_sink){.struct_size = sizeof(assay_sink), .ctx = facts, .text = sink_text, .number = sink_number, .op = sink_op};
}

/* Only what the backend's own table declares is handed to it: `precision` means nothing to a device. */
static assay_status backend_params(const assay_work *w, assay_params **out, assay_error *err) {
    const assay_json *asked = assay_json_path(w->job, "request.params");
    assay_json *given = w->device ? assay_json_clone(w->device) : assay_json_object();
    for (const assay_param *p = w->backend->backend->params; p && p->name; p++) {
        const assay_json *v = assay_json_get(asked, p->name);
        if (v) assay_json_set(given, p->name, assay_json_clone(v));
        if (assay_streq(p->name, "trial") && w->backend->origin == ASSAY_ORIGIN_SIMULATED) assay_json_set_string(given, "trial", assay_json_string(w->job, "id", ""));
    }
    static const assay_param none[] = {{.name = NULL}};
    const assay_param *table = w->backend->backend->params;
    char *who = assay_xprintf("backend \"%s\"", w->backend->backend->name);
    assay_status st = assay_params_make(table ? table : none, given, who, out, err);
    free(who);
    assay_json_free(given);
    return st;
}

static uint64_t fact_ns(const assay_json *facts, const char *key) {
    const assay_json *row = assay_json_get(assay_json_get(facts, "numbers"), key);
    double v = assay_json_number(row, "value", -1);
    return v >= 0 && assay_streq(assay_json_string(row, "unit", ""), "ns") ? (uint64_t)v : 0;
}

/* An input, or a value that is computed at the top level of the function. */
static assay_mil_value *value_of(const assay_mil_function *f, const char *name, assay_ptrs *names) {
    for (uint32_t i = 0; i < f->n_inputs; i++)
        if (assay_streq(f->inputs[i]->name, name)) return f->inputs[i];
    for (uint32_t i = 0; i < f->block->n_ops; i++)
        for (uint32_t k = 0; k < f->block->ops[i]->n_outs; k++) {
            assay_mil_value *v = f->block->ops[i]->outs[k];
            if (assay_streq(v->name, name)) return v;
            assay_ptrs_push(names, (void *)(uintptr_t)v->name);
        }
    return NULL;
}

/* A job for a value inside the program makes that value the only output: what it does not need is not run. Only a backend
 * that is handed the program can do it; one that opens the package by its path says that it has no such output. */
static assay_status expose_value(const assay_work *w, assay_program *p, assay_error *err) {
    const char *name = assay_json_string(assay_json_get(w->job, "request"), "value", NULL);
    assay_mil_function *f = (assay_mil_function *)(uintptr_t)assay_program_function(p, NULL);
    if (!name || !f || !f->block) return ASSAY_OK;
    for (uint32_t i = 0; i < f->block->n_outputs; i++)
        if (assay_streq(f->block->outputs[i]->name, name)) return ASSAY_OK;
    assay_ptrs names = {0};
    char hint[96];
    assay_mil_value *v = value_of(f, name, &names);
    assay_status st = v ? assay_function_set_outputs(p, f, &v, 1, err)
                        : assay_fail(err, ASSAY_E_INPUT, "the program has no value '%s'%s", name,
                                     assay_did_you_mean(hint, name, (const char *const *)names.items, names.len));
    if (st == ASSAY_OK) assay_program_index(p);
    assay_ptrs_free(&names);
    return st;
}

assay_status assay_arm_open(const assay_work *w, const char *path, const char *compute_units, assay_json *facts, assay_bound_arm *a, assay_error *err) {
    memset(a, 0, sizeof *a);
    a->b = w->backend->backend;
    char *abs = assay_path_join(w->dir, path);
    a->scratch = assay_path_join(w->out, "scratch");
    assay_json *own = facts ? facts : assay_json_object();
    assay_status st = assay_mkdirs(a->scratch, err);
    if (st == ASSAY_OK) st = assay_program_read(abs, &a->program, err);
    if (st == ASSAY_OK) st = expose_value(w, a->program, err);
    if (st == ASSAY_OK) st = backend_params(w, &a->params, err);
    if (st == ASSAY_OK) {
        const assay_mil_function *f = assay_program_function(a->program, NULL);
        assay_sink sink = facts_sink(own);
        assay_open_args args = {.struct_size = sizeof args, .threads = w->threads, .path = abs, .program = a->program,
                                .function = f ? f->name : "main", .compute_units = compute_units, .scratch = a->scratch, .params = a->params};
        int64_t t0 = assay_now_ns();
        st = a->b->open(assay_host_table(), &args, &sink, &a->session, err);
        a->load_ns = (uint64_t)(assay_now_ns() - t0);
        a->compile_ns = fact_ns(own, "compile");
        if (w->backend->last_ns) a->load_ns = fact_ns(own, "load");
    }
    if (!facts) assay_json_free(own);
    free(abs);
    return st;
}

/* ---- binding */

static assay_status bind_input(const assay_work *w, const assay_json *inputs, const assay_mil_value *v, assay_own_tensor *t, assay_error *err) {
    for (size_t i = 0; i < assay_json_len(inputs); i++) {
        const assay_json *in = assay_json_at(inputs, i);
        if (!assay_streq(assay_json_string(in, "name", ""), v->name)) continue;
        char *path = assay_path_join(w->dir, assay_json_string(in, "file", "")), hex[ASSAY_HEX];
        assay_status st = assay_sha256_file(path, hex, err);
        if (st == ASSAY_OK && !assay_streq(hex, assay_json_string(in, "sha256", "")))
            st = assay_fail(err, ASSAY_E_IO, "%s: the fixture was altered since it was planned", path);
        if (st == ASSAY_OK) st = assay_npy_read(path, t, err);
        free(path);
        return st;
    }
    return assay_fail(err, ASSAY_E_INPUT, "the fixture has no input '%s', which the arm takes", v->name);
}

/* float64 and float32 runs hand back what they computed in; everything else as declared (bfloat16 has no .npy type). */
static int32_t output_dtype(const assay_work *w, int32_t declared) {
    const char *precision = assay_json_string(assay_json_path(w->job, "request.params"), "precision", "declared");
    if (!assay_dtype_is_float(declared)) return declared;
    if (assay_streq(precision, "fp64")) return ASSAY_F64;
    if (assay_streq(precision, "fp32") || declared == ASSAY_BF16) return ASSAY_F32;
    return declared;
}

static assay_status make_output(const assay_work *w, const assay_mil_value *v, assay_own_tensor *t, assay_error *err) {
    const assay_mil_type *type = v->type;
    int32_t dtype = type && type->kind == ASSAY_TYPE_TENSOR ? assay_mil_to_dtype(type->dtype) : 0;
    if (!dtype) return assay_fail(err, ASSAY_E_UNSUPPORTED, "output '%s' is no tensor of a type that can be stored", v->name);
    for (uint32_t k = 0; k < type->rank; k++)
        if (type->dims[k] < 0) return assay_fail(err, ASSAY_E_UNSUPPORTED, "output '%s' has no fixed shape", v->name);
    return assay_tensor_new(output_dtype(w, dtype), type->rank, type->dims, t, err);
}

assay_status assay_arm_bind(const assay_work *w, assay_bound_arm *a, assay_error *err) {
    const assay_mil_function *f = assay_program_function(a->program, NULL);
    if (!f || !f->block) return assay_fail(err, ASSAY_E_INPUT, "the program has no function to run");
    const assay_json *inputs = a->inputs ? a->inputs : assay_json_get(w->job, "inputs");
    a->in = assay_xcalloc(f->n_inputs + 1, sizeof *a->in);
    a->in_names = assay_xcalloc(f->n_inputs + 1, sizeof *a->in_names);
    a->out = assay_xcalloc(f->block->n_outputs + 1, sizeof *a->out);
    a->out_names = assay_xcalloc(f->block->n_outputs + 1, sizeof *a->out_names);
    assay_status st = ASSAY_OK;
    for (uint32_t i = 0; st == ASSAY_OK && i < f->n_inputs; i++) {
        if (f->inputs[i]->type && f->inputs[i]->type->kind == ASSAY_TYPE_STATE) continue;
        st = bind_input(w, inputs, f->inputs[i], &a->in[a->n_in], err);
        a->in_names[a->n_in] = (assay_named_tensor){.name = f->inputs[i]->name, .t = a->in[a->n_in].t};
        a->n_in++;
    }
    for (uint32_t i = 0; st == ASSAY_OK && i < f->block->n_outputs; i++) {
        st = make_output(w, f->block->outputs[i], &a->out[i], err);
        a->out_names[i] = (assay_named_tensor){.name = f->block->outputs[i]->name, .t = a->out[i].t};
        a->n_out++;
    }
    if (st == ASSAY_OK) st = a->b->bind(a->session, a->in_names, a->n_in, a->out_names, a->n_out, &a->binding, err);
    if (st == ASSAY_OK && a->b->state_new) st = a->b->state_new(a->session, &a->state, err);
    return st;
}

void assay_arm_share(const assay_bound_arm *of, const assay_json *inputs, assay_bound_arm *out) {
    *out = (assay_bound_arm){.b = of->b, .program = of->program, .session = of->session, .inputs = inputs};
}

void assay_arm_unbind(assay_bound_arm *a) {
    if (a->session && a->state && a->b->state_free) a->b->state_free(a->session, a->state);
    if (a->session && a->binding && a->b->unbind) a->b->unbind(a->session, a->binding);
    for (uint32_t i = 0; i < a->n_in; i++) assay_tensor_free(&a->in[i]);
    for (uint32_t i = 0; i < a->n_out; i++) assay_tensor_free(&a->out[i]);
    free(a->in);
    free(a->in_names);
    free(a->out);
    free(a->out_names);
}

void assay_arm_close(assay_bound_arm *a) {
    assay_arm_unbind(a);
    if (a->session && a->b->close) a->b->close(a->session);
    assay_params_free(a->params);
    assay_program_free(a->program);
    if (a->scratch) assay_remove_tree(a->scratch, NULL);
    free(a->scratch);
    memset(a, 0, sizeof *a);
}
