/* Messages of the program itself: ops, blocks, functions, model. */
#include "program/write.h"
#include <stdlib.h>
#include <string.h>

static char *text(const char *s) { return (char *)(uintptr_t)(s ? s : ""); }

static Mil__NamedType **encode_values(assay_encoder *e, assay_mil_value *const *values, uint32_t n) {
    Mil__NamedType **out = assay_arena_alloc(e->arena, (n + 1) * sizeof *out);
    for (uint32_t i = 0; i < n; i++) {
        out[i] = ASSAY_MSG(e, NamedType, MIL__NAMED_TYPE__INIT);
        out[i]->name = text(values[i]->name);
        out[i]->type = assay_encode_type(e, values[i]->type);
    }
    return out;
}

static Mil__Binding *encode_binding(assay_encoder *e, const assay_mil_binding *b) {
    Mil__Binding *m = ASSAY_MSG(e, Binding, MIL__BINDING__INIT);
    if (b->literal) {
        m->what_case = MIL__BINDING__WHAT_VALUE;
        m->value = assay_encode_const(e, b->literal);
    } else {
        m->what_case = MIL__BINDING__WHAT_NAME;
        m->name = text(b->value->name);
    }
    return m;
}

static Mil__ArgumentEntry *encode_arg(assay_encoder *e, const assay_mil_arg *a) {
    Mil__ArgumentEntry *m = ASSAY_MSG(e, ArgumentEntry, MIL__ARGUMENT_ENTRY__INIT);
    m->key = text(a->key);
    m->value = ASSAY_MSG(e, Argument, MIL__ARGUMENT__INIT);
    m->value->n_arguments = a->n;
    m->value->arguments = assay_arena_alloc(e->arena, (a->n + 1) * sizeof *m->value->arguments);
    for (uint32_t i = 0; i < a->n; i++) m->value->arguments[i] = encode_binding(e, &a->items[i]);
    return m;
}

static int by_key(const void *a, const void *b) {
    const assay_mil_arg *x = a, *y = b;
    return strcmp(x->key, y->key);
}

static Mil__ArgumentEntry **encode_args(assay_encoder *e, const assay_mil_op *op) {
    assay_mil_arg *sorted = assay_arena_alloc(e->arena, (op->n_args + 1) * sizeof *sorted);
    if (op->n_args) memcpy(sorted, op->args, op->n_args * sizeof *sorted);
    qsort(sorted, op->n_args, sizeof *sorted, by_key);
    Mil__ArgumentEntry **out = assay_arena_alloc(e->arena, (op->n_args + 1) * sizeof *out);
    for (uint32_t i = 0; i < op->n_args; i++) out[i] = encode_arg(e, &sorted[i]);
    return out;
}

static Mil__Block *encode_block(assay_encoder *e, const assay_mil_block *b);

static Mil__Operation *encode_op(assay_encoder *e, const assay_mil_op *op) {
    Mil__Operation *m = ASSAY_MSG(e, Operation, MIL__OPERATION__INIT);
    m->type = text(op->type);
    m->n_inputs = op->n_args;
    m->inputs = encode_args(e, op);
    assay_encode_attrs(e, op->attrs, op->n_attrs, &m->attributes, &m->n_attributes);
    m->n_blocks = op->n_blocks;
    m->blocks = assay_arena_alloc(e->arena, (op->n_blocks + 1) * sizeof *m->blocks);
    for (uint32_t i = 0; i < op->n_blocks; i++) m->blocks[i] = encode_block(e, op->blocks[i]);
    m->n_outputs = op->n_outs;
    m->outputs = encode_values(e, op->outs, op->n_outs);
    return m;
}

static ProtobufCBinaryData pack_op(assay_encoder *e, const assay_mil_op *op) {
    Mil__Operation *m = encode_op(e, op);
    ProtobufCBinaryData out = { .len = mil__operation__get_packed_size(m) };
    out.data = assay_arena_alloc(e->arena, out.len + 1);
    mil__operation__pack(m, out.data);
    return out;
}

static Mil__Block *encode_block(assay_encoder *e, const assay_mil_block *b) {
    Mil__Block *m = ASSAY_MSG(e, Block, MIL__BLOCK__INIT);
    m->n_inputs = b->n_inputs;
    m->inputs = encode_values(e, b->inputs, b->n_inputs);
    m->n_operations = b->n_ops;
    m->operations = assay_arena_alloc(e->arena, (b->n_ops + 1) * sizeof *m->operations);
    for (uint32_t i = 0; i < b->n_ops; i++) m->operations[i] = pack_op(e, b->ops[i]);
    m->n_outputs = b->n_outputs;
    m->outputs = assay_arena_alloc(e->arena, (b->n_outputs + 1) * sizeof *m->outputs);
    for (uint32_t i = 0; i < b->n_outputs; i++) m->outputs[i] = text(b->outputs[i]->name);
    assay_encode_attrs(e, b->attrs, b->n_attrs, &m->attributes, &m->n_attributes);
    return m;
}

static Mil__FunctionEntry *encode_function(assay_encoder *e, const assay_mil_function *f) {
    Mil__FunctionEntry *m = ASSAY_MSG(e, FunctionEntry, MIL__FUNCTION_ENTRY__INIT);
    Mil__BlockEntry *b = ASSAY_MSG(e, BlockEntry, MIL__BLOCK_ENTRY__INIT);
    m->key = text(f->name);
    m->value = ASSAY_MSG(e, Function, MIL__FUNCTION__INIT);
    m->value->n_inputs = f->n_inputs;
    m->value->inputs = encode_values(e, f->inputs, f->n_inputs);
    m->value->opset = b->key = text(f->opset);
    assay_encode_attrs(e, f->attrs, f->n_attrs, &m->value->attributes, &m->value->n_attributes);
    b->value = encode_block(e, f->block);
    m->value->n_blocks = 1;
    m->value->blocks = assay_arena_copy(e->arena, &b, sizeof(Mil__BlockEntry *));
    return m;
}

static int by_name(const void *a, const void *b) {
    const assay_mil_function *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

Mil__Model *assay_encode_model(assay_encoder *e) {
    const assay_program *p = e->p;
    Mil__Model *m = ASSAY_MSG(e, Model, MIL__MODEL__INIT);
    m->specification_version = e->spec;
    m->description = assay_encode_description(e);
    m->program = ASSAY_MSG(e, Program, MIL__PROGRAM__INIT);
    m->program->version = 1;
    assay_encode_attrs(e, p->attrs, p->n_attrs, &m->program->attributes, &m->program->n_attributes);
    assay_mil_function **sorted = assay_arena_copy(e->arena, p->functions, p->n_functions * sizeof *sorted);
    qsort(sorted, p->n_functions, sizeof *sorted, by_name);
    m->program->n_functions = p->n_functions;
    m->program->functions = assay_arena_alloc(e->arena, (p->n_functions + 1) * sizeof *m->program->functions);
    for (uint32_t i = 0; i < p->n_functions; i++) m->program->functions[i] = encode_function(e, sorted[i]);
    return m;
}
