/* Opening a function for the reference executor, its inputs and outputs. */
#include "backends/reference/exec_plan.h"
#include "ops/builtin.h"
#include "base/names.h"
#include "base/threads.h"
#include <stdlib.h>
#include <string.h>

/* ---- open */
static assay_status pick_function(assay_exec *e, assay_error *err) {
    e->f = assay_program_function(e->p, e->o.function);
    if (e->f) return ASSAY_OK;
    const char *names[64];
    size_t n = 0;
    for (uint32_t i = 0; i < e->p->n_functions && n < 64; i++) names[n++] = e->p->functions[i]->name;
    char hint[96];
    const char *name = e->o.function ? e->o.function : "main";
    return assay_fail(err, ASSAY_E_INPUT, "%s: no function '%s'%s", e->p->source, name, assay_did_you_mean(hint, name, names, n));
}

static void keep_options(assay_exec *e, const assay_exec_options *o) {
    e->o = *o;
    if (e->o.threads == 0) e->o.threads = assay_cpu_count();
    const char **cut = assay_arena_alloc(e->arena, (o->n_cut + 1u) * sizeof *cut);
    for (uint32_t i = 0; i < o->n_cut; i++) cut[i] = assay_arena_strdup(e->arena, o->cut[i]);
    e->o.cut = cut;
}

assay_status assay_exec_open(const assay_program *p, const assay_exec_options *o, assay_exec **out, assay_error *err) {
    *out = NULL;
    assay_ops_register();
    assay_exec *e = assay_xcalloc(1, sizeof *e);
    e->p = p;
    e->arena = assay_arena_new();
    e->types = assay_program_new(p->spec_version);
    e->k = assay_kernels_best();
    e->pool = assay_pool_new();
    keep_options(e, o);
    assay_status s = pick_function(e, err);
    if (s == ASSAY_OK) {
        e->slots = assay_xcalloc(e->f->n_values + 1u, sizeof *e->slots);
        s = assay_exec_mark_cut(e, err);
    }
    if (s == ASSAY_OK) s = assay_exec_plan_block(e, e->f->block, &e->body, err);
    if (s != ASSAY_OK) { assay_exec_close(e); return s; }
    *out = e;
    return ASSAY_OK;
}

static void clear_slots(assay_exec *e) {
    for (uint32_t i = 0; e->slots && i < e->f->n_values; i++) assay_slot_clear(&e->slots[i]);
}

void assay_exec_close(assay_exec *e) {
    if (!e) return;
    clear_slots(e);
    free(e->slots);
    assay_pool_free(e->pool);
    assay_program_free(e->types);
    assay_arena_free(e->arena);
    free(e);
}

/* ---- inputs */
static bool is_kind(int32_t a, int32_t b) { return assay_dtype_is_float(a) == assay_dtype_is_float(b); }

static assay_status check_input(const assay_mil_value *v, const assay_tensor *t, assay_error *err) {
    const assay_mil_type *want = v->type;
    if (want->kind != ASSAY_TYPE_TENSOR) return assay_fail(err, ASSAY_E_UNSUPPORTED, "input '%s' is not a tensor", v->name);
    bool fits = t->rank == want->rank;
    for (uint32_t i = 0; fits && i < want->rank; i++) fits = want->dims[i] < 0 ? t->shape[i] >= 0 : t->shape[i] == want->dims[i];
    /* A scalar travels as one element of shape [1] (formats/mlpackage.md section 7). */
    if (!fits && want->rank == 0 && t->rank == 1 && t->shape[0] == 1) fits = true;
    char a[160], b[160];
    if (!fits)
        return assay_fail(err, ASSAY_E_INPUT, "input '%s': expected shape %s, got %s", v->name, assay_shape_text(want->rank, want->dims, a),
                          assay_shape_text(t->rank, t->shape, b));
    int32_t dtype = assay_mil_to_dtype(want->dtype);
    if (dtype == 0) return assay_fail(err, ASSAY_E_UNSUPPORTED, "input '%s': element type %s cannot be fed", v->name, assay_mil_dtype_name(want->dtype));
    if (!is_kind(dtype, t->dtype))
        return assay_fail(err, ASSAY_E_TYPE, "input '%s': expected %s, got %s", v->name, assay_dtype_name(dtype), assay_dtype_name(t->dtype));
    return ASSAY_OK;
}

/* First the rounding to the declared type, then the exact change to the type that the run holds. */
static assay_status set_input(assay_exec *e, const assay_mil_value *v, const assay_tensor *given, assay_error *err) {
    int32_t declared = assay_mil_to_dtype(v->type->dtype), held = assay_exec_held(e, v);
    assay_tensor t = *given;
    t.rank = v->type->rank;
    assay_own_tensor as_declared, as_held;
    ASSAY_TRY(assay_pool_copy(e->pool, &t, declared, &as_declared, err));
    assay_canonical_nan(&as_declared.t);
    if (held != declared) {
        assay_status s = assay_pool_copy(e->pool, &as_declared.t, held, &as_held, err);
        assay_tensor_free(&as_declared);
        if (s != ASSAY_OK) return s;
        as_declared = as_held;
    }
    assay_slot_own(e->pool, &e->slots[v->id], &as_declared);
    if (e->o.observe) e->o.observe(e->o.observe_ctx, NULL, v, &e->slots[v->id].t);
    return ASSAY_OK;
}

static const assay_tensor *find_named(const assay_named_tensor *in, uint32_t n_in, const char *name) {
    for (uint32_t k = 0; k < n_in; k++)
        if (strcmp(in[k].name, name) == 0) return &in[k].t;
    return NULL;
}

static assay_status check_names(const assay_exec *e, const assay_named_tensor *in, uint32_t n_in, assay_error *err) {
    const char *names[64];
    size_t n = 0;
    for (uint32_t i = 0; i < e->f->n_inputs && n < 64; i++)
        if (!assay_exec_is_state(e->f->inputs[i])) names[n++] = e->f->inputs[i]->name;
    for (uint32_t k = 0; k < n_in; k++) {
        bool found = false;
        for (uint32_t i = 0; i < e->f->n_inputs; i++) found |= !assay_exec_is_state(e->f->inputs[i]) && strcmp(e->f->inputs[i]->name, in[k].name) == 0;
        char hint[96];
        if (!found)
            return assay_fail(err, ASSAY_E_INPUT, "function '%s' has no input '%s'%s", e->f->name, in[k].name, assay_did_you_mean(hint, in[k].name, names, n));
    }
    return ASSAY_OK;
}

assay_status assay_exec_check_inputs(const assay_exec *e, const assay_named_tensor *in, uint32_t n_in, assay_error *err) {
    ASSAY_TRY(check_names(e, in, n_in, err));
    for (uint32_t i = 0; i < e->f->n_inputs; i++) {
        const assay_mil_value *v = e->f->inputs[i];
        if (assay_exec_is_state(v)) continue;
        const assay_tensor *given = find_named(in, n_in, v->name);
        if (!given) return assay_fail(err, ASSAY_E_INPUT, "input '%s' is missing", v->name);
        ASSAY_TRY(check_input(v, given, err));
    }
    return ASSAY_OK;
}

/* ---- run */
static assay_status set_inputs(assay_exec *e, const assay_named_tensor *in, uint32_t n_in, assay_error *err) {
    ASSAY_TRY(assay_exec_check_inputs(e, in, n_in, err));
    for (uint32_t i = 0; i < e->f->n_inputs; i++)
        if (!assay_exec_is_state(e->f->inputs[i])) ASSAY_TRY(set_input(e, e->f->inputs[i], find_named(in, n_in, e->f->inputs[i]->name), err));
    return ASSAY_OK;
}

static bool has_states(const assay_exec *e) {
    for (uint32_t i = 0; i < e->f->n_inputs; i++)
        if (assay_exec_is_state(e->f->inputs[i])) return true;
    return false;
}

assay_status assay_exec_run_state(assay_exec *e, const assay_named_tensor *in, uint32_t n_in, assay_exec_state *state, assay_error *err) {
    assay_exec_state *zeros = NULL;
    clear_slots(e);
    assay_status s = set_inputs(e, in, n_in, err);
    if (s == ASSAY_OK && !state && has_states(e)) s = assay_exec_state_new(e, &zeros, err);
    if (s == ASSAY_OK && (state || zeros)) s = assay_exec_states_in(e, state ? state : zeros, err);
    if (s == ASSAY_OK) s = assay_exec_run_block(e, e->body, err);
    if (s == ASSAY_OK && state) assay_exec_states_out(e, state);
    assay_exec_state_free(zeros);
    assay_program_free(e->run_types);
    e->run_types = NULL;
    if (s != ASSAY_OK) clear_slots(e);
    return s;
}

assay_status assay_exec_run(assay_exec *e, const assay_named_tensor *in, uint32_t n_in, assay_error *err) {
    return assay_exec_run_state(e, in, n_in, NULL, err);
}

bool assay_exec_has_output(const assay_exec *e, const char *name) {
    for (uint32_t i = 0; i < e->f->block->n_outputs; i++)
        if (strcmp(e->f->block->outputs[i]->name, name) == 0) return true;
    return false;
}

uint32_t assay_exec_output_count(const assay_exec *e) { return e->f->block->n_outputs; }

assay_status assay_exec_output(const assay_exec *e, uint32_t i, assay_named_tensor *out, assay_error *err) {
    if (i >= e->f->block->n_outputs) return ASSAY_E_RANGE;
    const assay_mil_value *v = e->f->block->outputs[i];
    const assay_slot *s = &e->slots[v->id];
    if (!s->t.dtype) return assay_fail(err, ASSAY_E_MISSING, "output '%s' has no value", v->name);
    *out = (assay_named_tensor){ v->name, s->t };
    return ASSAY_OK;
}
