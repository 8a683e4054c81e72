/* Derived facts of a program: users, ids, reachability, the flat list of ops, and the description's features. */
#include "program/internal.h"
#include <string.h>

/* ---- users */
static uint32_t room_for(uint32_t n) {
    uint32_t room = 1;
    while (room < n) room *= 2;
    return room;
}

void assay_value_add_user(assay_program *p, assay_mil_value *v, assay_mil_op *user) {
    uint32_t n = v->n_users;
    if (n == 0 || n == room_for(n)) {
        assay_mil_op **more = assay_arena_alloc(p->arena, room_for(n + 1) * sizeof *more);
        if (n) memcpy(more, v->users, n * sizeof *more);
        v->users = more;
    }
    v->users[v->n_users++] = user;
}

typedef struct walk { assay_program *p; assay_mil_function *f; assay_ptrs ops; uint32_t next_id; } walk;

static void reset_value(walk *w, assay_mil_value *v) {
    v->n_users = 0;
    v->users = NULL;
    v->n_block_outputs = 0;
    v->id = w->next_id++;
}

static void number_block(walk *w, assay_mil_block *b) {
    for (uint32_t i = 0; i < b->n_inputs; i++) reset_value(w, b->inputs[i]);
    for (uint32_t i = 0; i < b->n_ops; i++) {
        assay_mil_op *op = b->ops[i];
        assay_ptrs_push(&w->ops, op);
        op->reachable = false;
        for (uint32_t k = 0; k < op->n_outs; k++) {
            reset_value(w, op->outs[k]);
            op->outs[k]->producer = op;
            op->outs[k]->producer_index = k;
        }
        for (uint32_t k = 0; k < op->n_blocks; k++) number_block(w, op->blocks[k]);
    }
}

static void count_uses(walk *w, assay_mil_block *b) {
    for (uint32_t i = 0; i < b->n_outputs; i++) b->outputs[i]->n_block_outputs++;
    for (uint32_t i = 0; i < b->n_ops; i++) {
        assay_mil_op *op = b->ops[i];
        for (uint32_t k = 0; k < op->n_args; k++)
            for (uint32_t j = 0; j < op->args[k].n; j++)
                if (op->args[k].items[j].value) assay_value_add_user(w->p, op->args[k].items[j].value, op);
        for (uint32_t k = 0; k < op->n_blocks; k++) count_uses(w, op->blocks[k]);
    }
}

/* ---- reachability: from the block's outputs backwards. An op that has no result (write_state) is an effect and counts as a
 * root; so does an op with nested blocks that hold such an effect. */
static bool has_effect(const assay_mil_op *op) {
    if (op->n_outs == 0) return true;
    for (uint32_t k = 0; k < op->n_blocks; k++)
        for (uint32_t i = 0; i < op->blocks[k]->n_ops; i++)
            if (has_effect(op->blocks[k]->ops[i])) return true;
    return false;
}

static void mark_value(const assay_mil_value *v) {
    if (v && v->producer) v->producer->reachable = true;
}

static void mark_block(assay_mil_block *b) {
    for (uint32_t i = 0; i < b->n_outputs; i++) mark_value(b->outputs[i]);
    for (uint32_t i = b->n_ops; i-- > 0;) {
        assay_mil_op *op = b->ops[i];
        if (has_effect(op)) op->reachable = true;
        if (!op->reachable) continue;
        for (uint32_t k = op->n_blocks; k-- > 0;) mark_block(op->blocks[k]);
        for (uint32_t k = 0; k < op->n_args; k++)
            for (uint32_t j = 0; j < op->args[k].n; j++) mark_value(op->args[k].items[j].value);
    }
}

/* ---- features */
static void feature_from_type(assay_feature *f, const char *name, const assay_mil_type *t) {
    memset(f, 0, sizeof *f);
    f->name = name;
    f->kind = t->kind == ASSAY_TYPE_STATE ? ASSAY_FEATURE_STATE : t->kind == ASSAY_TYPE_DICT ? ASSAY_FEATURE_DICT
            : t->kind == ASSAY_TYPE_LIST ? ASSAY_FEATURE_SEQUENCE : ASSAY_FEATURE_TENSOR;
    if (t->kind == ASSAY_TYPE_STATE && t->n_sub == 1) t = t->sub[0];
    if (t->kind != ASSAY_TYPE_TENSOR) return;
    if (t->dtype == ASSAY_MIL_STRING) f->kind = ASSAY_FEATURE_STRING;
    f->dtype = assay_mil_to_dtype(t->dtype);
    f->rank = t->rank;
    for (uint32_t i = 0; i < t->rank; i++) {
        f->shape[i] = t->dims[i];
        if (t->dims[i] < 0) f->rank = 0;         /* an output of unknown size has an empty shape */
    }
}

/* Does a feature that was read still describe a value of this type? */
static bool still_fits(const assay_feature *f, const assay_mil_type *t) {
    if (f->kind != ASSAY_FEATURE_TENSOR && f->kind != ASSAY_FEATURE_STATE) return true;
    assay_feature want;
    feature_from_type(&want, f->name, t);
    if (want.kind != f->kind || want.dtype != f->dtype) return false;
    return f->flexible || want.rank == 0 || (want.rank == f->rank && !memcmp(want.shape, f->shape, want.rank * sizeof *want.shape));
}

static assay_feature *features_of(assay_program *p, assay_mil_value *const *values, uint32_t n, bool states, const assay_feature *old,
                                  uint32_t n_old, uint32_t *n_out) {
    assay_feature *list = assay_arena_alloc(p->arena, (n + 1) * sizeof *list);
    *n_out = 0;
    for (uint32_t i = 0; i < n; i++) {
        if ((values[i]->type->kind == ASSAY_TYPE_STATE) != states) continue;
        assay_feature *f = &list[(*n_out)++];
        feature_from_type(f, values[i]->name, values[i]->type);
        for (uint32_t k = 0; k < n_old; k++)
            if (!strcmp(old[k].name, f->name) && still_fits(&old[k], values[i]->type)) *f = old[k];
    }
    return list;
}

assay_signature *assay_program_signature(assay_program *p, const assay_mil_function *f) {
    for (uint32_t i = 0; i < p->n_signatures; i++) {
        assay_signature *s = &p->signatures[i];
        if (s->name ? !strcmp(s->name, f->name) : p->n_functions == 1) return s;
    }
    return NULL;
}

static void describe(assay_program *p) {
    assay_signature *list = assay_arena_alloc(p->arena, (p->n_functions + 1) * sizeof *list);
    for (uint32_t i = 0; i < p->n_functions; i++) {
        const assay_mil_function *f = p->functions[i];
        const assay_signature *was = assay_program_signature(p, f);
        static const assay_signature none;
        if (!was) was = &none;
        assay_signature *s = &list[i];
        *s = *was;
        s->name = p->n_functions > 1 ? f->name : NULL;
        s->inputs = features_of(p, f->inputs, f->n_inputs, false, was->inputs, was->n_inputs, &s->n_inputs);
        s->states = features_of(p, f->inputs, f->n_inputs, true, was->states, was->n_states, &s->n_states);
        s->outputs = features_of(p, f->block->outputs, f->block->n_outputs, false, was->outputs, was->n_outputs, &s->n_outputs);
    }
    p->signatures = list;
    p->n_signatures = p->n_functions;
}

void assay_program_index(assay_program *p) {
    for (uint32_t i = 0; i < p->n_functions; i++) {
        walk w = { .p = p, .f = p->functions[i] };
        for (uint32_t k = 0; k < w.f->n_inputs; k++) reset_value(&w, w.f->inputs[k]);
        number_block(&w, w.f->block);
        w.f->n_values = w.next_id;
        count_uses(&w, w.f->block);
        mark_block(w.f->block);
        w.f->all_ops = w.ops.len ? assay_arena_copy(p->arena, w.ops.items, w.ops.len * sizeof *w.ops.items) : NULL;
        w.f->n_all_ops = (uint32_t)w.ops.len;
        assay_ptrs_free(&w.ops);
    }
    if (!p->raw) describe(p);                    /* a program as read keeps the description it came with */
}
