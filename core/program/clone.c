/* Deep copy of a program; constants and type records are shared with the original, which must outlive the copy. */
#include "program/internal.h"
#include <stdlib.h>
#include <string.h>

typedef struct copier { assay_program *to; assay_mil_value **map; uint32_t n; } copier;   /* old id -> new value */

static void *dup_array(copier *c, const void *from, size_t n, size_t size) {
    void *to = assay_arena_alloc(c->to->arena, (2 * n + 1) * size);   /* room for the builder's next step */
    if (n) memcpy(to, from, n * size);
    return to;
}

static assay_mil_value *copy_value(copier *c, const assay_mil_value *v) {
    assay_mil_value *w = assay_arena_copy(c->to->arena, v, sizeof *v);
    w->producer = NULL;
    w->users = NULL;
    w->n_users = 0;
    c->map[v->id] = w;
    return w;
}

static assay_mil_block *copy_block(copier *c, const assay_mil_block *b);

static assay_mil_op *copy_op(copier *c, const assay_mil_op *op) {
    assay_mil_op *o = assay_arena_copy(c->to->arena, op, sizeof *op);
    o->args = dup_array(c, op->args, op->n_args, sizeof *op->args);
    for (uint32_t k = 0; k < o->n_args; k++) {
        o->args[k].items = dup_array(c, op->args[k].items, op->args[k].n, sizeof *op->args[k].items);
        for (uint32_t j = 0; j < o->args[k].n; j++)
            if (o->args[k].items[j].value) o->args[k].items[j].value = c->map[o->args[k].items[j].value->id];
    }
    o->attrs = dup_array(c, op->attrs, op->n_attrs, sizeof *op->attrs);
    o->blocks = dup_array(c, op->blocks, op->n_blocks, sizeof *op->blocks);
    for (uint32_t k = 0; k < o->n_blocks; k++) o->blocks[k] = copy_block(c, op->blocks[k]);
    o->outs = dup_array(c, op->outs, op->n_outs, sizeof *op->outs);
    for (uint32_t k = 0; k < o->n_outs; k++) {
        o->outs[k] = copy_value(c, op->outs[k]);
        o->outs[k]->producer = o;
    }
    return o;
}

static assay_mil_block *copy_block(copier *c, const assay_mil_block *b) {
    assay_mil_block *to = assay_arena_copy(c->to->arena, b, sizeof *b);
    to->inputs = dup_array(c, b->inputs, b->n_inputs, sizeof *b->inputs);
    for (uint32_t i = 0; i < b->n_inputs; i++) to->inputs[i] = copy_value(c, b->inputs[i]);
    to->ops = dup_array(c, b->ops, b->n_ops, sizeof *b->ops);
    for (uint32_t i = 0; i < b->n_ops; i++) to->ops[i] = copy_op(c, b->ops[i]);
    to->outputs = dup_array(c, b->outputs, b->n_outputs, sizeof *b->outputs);
    for (uint32_t i = 0; i < b->n_outputs; i++) to->outputs[i] = c->map[b->outputs[i]->id];
    to->attrs = dup_array(c, b->attrs, b->n_attrs, sizeof *b->attrs);
    return to;
}

static assay_mil_function *copy_function(assay_program *to, const assay_mil_function *f) {
    copier c = { .to = to, .n = f->n_values, .map = assay_xcalloc(f->n_values + 1, sizeof *c.map) };
    assay_mil_function *g = assay_arena_copy(to->arena, f, sizeof *f);
    g->names = NULL;
    g->inputs = dup_array(&c, f->inputs, f->n_inputs, sizeof *f->inputs);
    for (uint32_t i = 0; i < f->n_inputs; i++) g->inputs[i] = copy_value(&c, f->inputs[i]);
    g->block = copy_block(&c, f->block);
    g->attrs = dup_array(&c, f->attrs, f->n_attrs, sizeof *f->attrs);
    free(c.map);
    return g;
}

assay_program *assay_program_clone(const assay_program *from) {
    assay_program *p = assay_program_empty(from->source);
    assay_arena *a = p->arena;
    *p = *from;
    p->arena = a;
    p->raw = NULL;
    p->raw_bytes = 0;
    copier c = { .to = p };
    p->functions = dup_array(&c, from->functions, from->n_functions, sizeof *from->functions);
    for (uint32_t i = 0; i < p->n_functions; i++) p->functions[i] = copy_function(p, from->functions[i]);
    p->attrs = dup_array(&c, from->attrs, from->n_attrs, sizeof *from->attrs);
    p->metadata = dup_array(&c, from->metadata, from->n_metadata, sizeof *from->metadata);
    assay_program_index(p);
    return p;
}
