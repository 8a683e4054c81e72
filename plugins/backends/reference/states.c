/* States of a function: tensors that live from run to run, held as the run holds them. */
#include "backends/reference/exec_plan.h"
#include <stdlib.h>
#include <string.h>

struct assay_exec_state { uint32_t n; uint32_t *ids; assay_named_tensor *named; assay_own_tensor *own; };

void assay_exec_state_free(assay_exec_state *s) {
    if (!s) return;
    for (uint32_t i = 0; i < s->n; i++) assay_tensor_free(&s->own[i]);
    free(s->ids);
    free(s->named);
    free(s->own);
    free(s);
}

static assay_status add_state(const assay_exec *e, const assay_mil_value *v, assay_exec_state *s, assay_error *err) {
    const assay_mil_type *t = v->type->n_sub == 1 ? v->type->sub[0] : NULL;
    int32_t held = assay_exec_held(e, v);
    if (!t || !held) return assay_fail(err, ASSAY_E_UNSUPPORTED, "state '%s' is not a tensor that can be held", v->name);
    for (uint32_t i = 0; i < t->rank; i++)
        if (t->dims[i] < 0) return assay_fail(err, ASSAY_E_UNSUPPORTED, "state '%s' has no fixed shape", v->name);
    ASSAY_TRY(assay_tensor_new(held, t->rank, t->dims, &s->own[s->n], err));
    s->named[s->n] = (assay_named_tensor){ v->name, s->own[s->n].t };
    s->ids[s->n++] = v->id;
    return ASSAY_OK;
}

assay_status assay_exec_state_new(const assay_exec *e, assay_exec_state **out, assay_error *err) {
    uint32_t n = e->f->n_inputs + 1u;
    assay_exec_state *s = assay_xcalloc(1, sizeof *s);
    s->ids = assay_xcalloc(n, sizeof *s->ids);
    s->named = assay_xcalloc(n, sizeof *s->named);
    s->own = assay_xcalloc(n, sizeof *s->own);
    for (uint32_t i = 0; i < e->f->n_inputs; i++) {
        if (!assay_exec_is_state(e->f->inputs[i])) continue;
        assay_status st = add_state(e, e->f->inputs[i], s, err);
        if (st != ASSAY_OK) { assay_exec_state_free(s); return st; }
    }
    *out = s;
    return ASSAY_OK;
}

uint32_t assay_exec_state_count(const assay_exec_state *s) { return s->n; }
assay_named_tensor assay_exec_state_at(const assay_exec_state *s, uint32_t i) { return s->named[i]; }

assay_status assay_exec_states_in(assay_exec *e, const assay_exec_state *s, assay_error *err) {
    for (uint32_t i = 0; i < s->n; i++) {
        assay_own_tensor copy;
        ASSAY_TRY(assay_pool_copy(e->pool, &s->own[i].t, s->own[i].t.dtype, &copy, err));
        assay_slot_own(e->pool, &e->slots[s->ids[i]], &copy);
    }
    return ASSAY_OK;
}

void assay_exec_states_out(const assay_exec *e, assay_exec_state *s) {
    for (uint32_t i = 0; i < s->n; i++) {
        const assay_tensor *now = &e->slots[s->ids[i]].t;
        if (now->dtype) assay_tensor_read(now, s->own[i].t.dtype, s->own[i].t.data);
    }
}
