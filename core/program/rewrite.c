/* Changing programs: replacing values, removing what reaches no output, keeping ops in topological order. */
#include "program/internal.h"
#include <stdlib.h>
#include <string.h>

/* ---- walking the values that an op reads, nested blocks included */
typedef void (*use_fn)(assay_mil_value **use, void *ctx);

static void each_use(assay_mil_op *op, use_fn fn, void *ctx) {
    for (uint32_t k = 0; k < op->n_args; k++)
        for (uint32_t j = 0; j < op->args[k].n; j++)
            if (op->args[k].items[j].value) fn(&op->args[k].items[j].value, ctx);
    for (uint32_t k = 0; k < op->n_blocks; k++) {
        assay_mil_block *b = op->blocks[k];
        for (uint32_t i = 0; i < b->n_ops; i++) each_use(b->ops[i], fn, ctx);
        for (uint32_t i = 0; i < b->n_outputs; i++) fn(&b->outputs[i], ctx);
    }
}

/* ---- topological order of a function's top-level ops: an op moves forward only if something before it needs it. */
typedef struct sorter { assay_mil_op **out; uint32_t n; int64_t *place; char *done; assay_mil_op **ops; uint32_t n_values; } sorter;

static void emit(sorter *s, uint32_t i);

static void emit_producer(assay_mil_value **use, void *ctx) {
    sorter *s = ctx;
    const assay_mil_value *v = *use;
    if (v->id < s->n_values && s->place[v->id] >= 0) emit(s, (uint32_t)s->place[v->id]);
}

static void emit(sorter *s, uint32_t i) {
    if (s->done[i]) return;
    s->done[i] = 1;
    each_use(s->ops[i], emit_producer, s);
    s->out[s->n++] = s->ops[i];
}

static void sort_ops(assay_program *p, assay_mil_function *f) {
    assay_mil_block *b = f->block;
    sorter s = { .ops = b->ops, .n_values = f->n_values };
    s.out = assay_arena_alloc(p->arena, ((size_t)b->n_ops * 2 + 1) * sizeof *s.out);   /* room for the builder's next step */
    s.place = assay_xmalloc((f->n_values + 1) * sizeof *s.place);
    s.done = assay_xcalloc(b->n_ops + 1, 1);
    for (uint32_t i = 0; i < f->n_values; i++) s.place[i] = -1;
    for (uint32_t i = 0; i < b->n_ops; i++)
        for (uint32_t k = 0; k < b->ops[i]->n_outs; k++) s.place[b->ops[i]->outs[k]->id] = i;
    for (uint32_t i = 0; i < b->n_ops; i++) emit(&s, i);
    b->ops = s.out;
    free(s.place);
    free(s.done);
}

/* ---- replacing a value */
typedef struct swap { const assay_mil_value *old; assay_mil_value *with; } swap;

static void swap_use(assay_mil_value **use, void *ctx) {
    const swap *s = ctx;
    if (*use == s->old) *use = s->with;
}

/* Marks the ops that `v` is computed from: their use of the old value must stay, or the graph would have a cycle. */
static void mark_sources(assay_mil_value **use, void *ctx) {
    assay_mil_op *op = (*use)->producer;
    if (!op || op->reachable) return;
    op->reachable = true;
    each_use(op, mark_sources, ctx);
}

static bool in_block(const assay_mil_block *b, const assay_mil_op *op) {
    for (uint32_t i = 0; i < b->n_ops; i++) if (b->ops[i] == op) return true;
    return false;
}

assay_status assay_value_replace(assay_program *p, assay_mil_function *f, assay_mil_value *old, assay_mil_value *with, assay_error *err) {
    if (old == with) return ASSAY_OK;
    if (!assay_type_equal(old->type, with->type)) {
        char a[96], b[96];
        return assay_fail(err, ASSAY_E_TYPE, "cannot replace %s (%s) by %s (%s): the types differ", old->name, assay_type_text(old->type, a),
                          with->name, assay_type_text(with->type, b));
    }
    if (with->producer && !in_block(f->block, with->producer))
        return assay_fail(err, ASSAY_E_INPUT, "cannot replace %s by %s: that value is made inside a nested block", old->name, with->name);
    assay_program_index(p);
    for (uint32_t i = 0; i < f->n_all_ops; i++) f->all_ops[i]->reachable = false;   /* used as the mark; index sets it again */
    assay_mil_value *start = with;
    mark_sources(&start, NULL);
    swap s = { old, with };
    for (uint32_t i = 0; i < f->block->n_ops; i++)
        if (!f->block->ops[i]->reachable) each_use(f->block->ops[i], swap_use, &s);
    for (uint32_t i = 0; i < f->block->n_outputs; i++) swap_use(&f->block->outputs[i], &s);
    sort_ops(p, f);
    p->raw = NULL;
    assay_program_index(p);
    return ASSAY_OK;
}

/* The attribute that holds an op's own name. */
static assay_mil_attr *name_attr(assay_mil_op *op) {
    for (uint32_t i = 0; op && op->n_outs == 1 && i < op->n_attrs; i++)
        if (strcmp(op->attrs[i].key, "name") == 0) return &op->attrs[i];
    return NULL;
}

void assay_value_swap_names(assay_program *p, assay_mil_function *f, assay_mil_value *a, assay_mil_value *b) {
    const char *name = a->name;
    a->name = b->name;
    b->name = name;
    assay_mil_attr *na = name_attr(a->producer), *nb = name_attr(b->producer);
    if (na) na->value = assay_const_string(p, a->name);
    if (nb) nb->value = assay_const_string(p, b->name);
    assay_scope_free(f->names);                  /* built again when the next name is asked for */
    f->names = NULL;
    p->raw = NULL;
    assay_program_index(p);
}

/* ---- removing dead ops */
static void drop_dead(assay_mil_block *b) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < b->n_ops; i++) {
        if (!b->ops[i]->reachable) continue;
        for (uint32_t k = 0; k < b->ops[i]->n_blocks; k++) drop_dead(b->ops[i]->blocks[k]);
        b->ops[n++] = b->ops[i];
    }
    b->n_ops = n;
}

void assay_program_remove_dead(assay_program *p, assay_mil_function *f) {
    assay_program_index(p);
    drop_dead(f->block);
    p->raw = NULL;
    assay_scope_free(f->names);                  /* the names of what is gone are free again */
    f->names = NULL;
    assay_program_index(p);
}
