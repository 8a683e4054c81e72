/* An ML Program from the bytes of a model message: functions, blocks and ops, with names resolved to values. */
#include "program/read.h"
#include "program/wire.h"
#include "base/names.h"
#include <string.h>

enum { MAX_KEYS = 1024, MAX_FUNCTIONS = 4096 };

static void *arena_take(void *arena, size_t n) { return assay_arena_alloc(arena, n ? n : 1); }
static void arena_leave(void *arena, void *p) { (void)arena; (void)p; }
ProtobufCAllocator assay_arena_allocator(assay_arena *passing) { return (ProtobufCAllocator){ arena_take, arena_leave, passing }; }

/* ---- values and arguments */
static assay_status add_value(assay_reader *r, const Mil__NamedType *t, assay_mil_value **out) {
    assay_mil_value *v = assay_arena_alloc(r->p->arena, sizeof *v);
    v->name = assay_read_text(r, t->name);
    if (!*t->name) return assay_fail(r->err, ASSAY_E_INPUT, "a value has no name");
    v->type = assay_read_type(r, &t->type);
    if (!v->type) return assay_wrap(r->err, "value '%s'", t->name);
    if (!assay_scope_add(r->scope, v->name, v)) return assay_fail(r->err, ASSAY_E_INPUT, "the name '%s' is defined twice", t->name);
    *out = v;
    return ASSAY_OK;
}

static assay_status add_values(assay_reader *r, Mil__NamedType *const *list, size_t n, assay_mil_value ***out, uint32_t *n_out) {
    *out = assay_room(r->p, (uint32_t)n, sizeof **out);
    *n_out = (uint32_t)n;
    for (size_t i = 0; i < n; i++) {
        assay_status s = add_value(r, list[i], &(*out)[i]);
        if (s) return s;
    }
    return ASSAY_OK;
}

static assay_status undefined(assay_reader *r, const char *name) {
    char hint[96];
    assay_scope_suggest(r->scope, name, hint);
    return assay_fail(r->err, ASSAY_E_INPUT, "'%s' is not defined before it is used%s", name, hint);
}

static assay_status read_binding(assay_reader *r, const Mil__Binding *b, assay_mil_binding *out) {
    if (b->what_case == MIL__BINDING__WHAT_VALUE) {
        out->literal = assay_read_const(r, b->value);
        return out->literal ? ASSAY_OK : r->err->code;
    }
    const char *name = b->what_case == MIL__BINDING__WHAT_NAME ? b->name : "";
    out->value = assay_scope_find(r->scope, name);
    return out->value ? ASSAY_OK : undefined(r, name);
}

static assay_status read_arg(assay_reader *r, const Mil__ArgumentEntry *e, assay_mil_arg *a) {
    size_t n = e->value ? e->value->n_arguments : 0;
    a->key = assay_read_word(r, e->key);
    a->n = (uint32_t)n;
    a->items = assay_arena_alloc(r->p->arena, n * sizeof *a->items);
    for (size_t i = 0; i < n; i++)
        if (read_binding(r, e->value->arguments[i], &a->items[i])) return assay_wrap(r->err, "input '%s'", e->key);
    return ASSAY_OK;
}

static assay_status read_args(assay_reader *r, const Mil__Operation *m, assay_mil_op *op) {
    if (m->n_inputs > MAX_KEYS) return assay_fail(r->err, ASSAY_E_INPUT, "%zu inputs are too many", m->n_inputs);
    op->args = assay_room(r->p, (uint32_t)m->n_inputs, sizeof *op->args);
    for (size_t i = 0; i < m->n_inputs; i++) {
        uint32_t k = 0;                          /* the last of two equal keys wins */
        while (k < op->n_args && strcmp(op->args[k].key, m->inputs[i]->key)) k++;
        assay_status s = read_arg(r, m->inputs[i], &op->args[k]);
        if (s) return s;
        if (k == op->n_args) op->n_args++;
    }
    return ASSAY_OK;
}

/* ---- blocks and ops */
static assay_status read_block(assay_reader *r, const Mil__Block *m, assay_mil_block **out);

static assay_status read_op_parts(assay_reader *r, const Mil__Operation *m, assay_mil_op *op) {
    assay_status s = read_args(r, m, op);
    if (!s) s = assay_read_attrs(r, m->attributes, m->n_attributes, &op->attrs, &op->n_attrs);
    if (s) return s;
    op->blocks = assay_room(r->p, (uint32_t)m->n_blocks, sizeof *op->blocks);
    for (; op->n_blocks < m->n_blocks; op->n_blocks++) {
        assay_scope_push(r->scope);
        s = read_block(r, m->blocks[op->n_blocks], &op->blocks[op->n_blocks]);
        assay_scope_pop(r->scope);
        if (s) return s;
    }
    return add_values(r, m->outputs, m->n_outputs, &op->outs, &op->n_outs);
}

static assay_status read_op(assay_reader *r, const ProtobufCBinaryData *packed, assay_mil_op **out) {
    assay_mil_op *op = *out = assay_arena_alloc(r->p->arena, sizeof *op);
    assay_arena *passing = r->spare.len ? r->spare.items[--r->spare.len] : assay_arena_new();
    ProtobufCAllocator alloc = assay_arena_allocator(passing);
    const Mil__Operation *m = mil__operation__unpack(&alloc, packed->len, packed->data);
    assay_status s = ASSAY_OK;
    if (!m) s = assay_fail(r->err, ASSAY_E_INPUT, "an op cannot be decoded: the model is damaged");
    else if (!*m->type) s = assay_fail(r->err, ASSAY_E_INPUT, "an op has no type");
    else {
        op->type = assay_read_word(r, m->type);
        s = read_op_parts(r, m, op);
        if (s) assay_wrap(r->err, "op %s '%s'", m->type, m->n_outputs ? m->outputs[0]->name : "");
    }
    assay_arena_reset(passing);
    assay_ptrs_push(&r->spare, passing);
    return s;
}

static assay_status read_block(assay_reader *r, const Mil__Block *m, assay_mil_block **out) {
    assay_mil_block *b = *out = assay_arena_alloc(r->p->arena, sizeof *b);
    assay_status s = add_values(r, m->inputs, m->n_inputs, &b->inputs, &b->n_inputs);
    if (!s) s = assay_read_attrs(r, m->attributes, m->n_attributes, &b->attrs, &b->n_attrs);
    if (s) return s;
    b->ops = assay_room(r->p, (uint32_t)m->n_operations, sizeof *b->ops);
    for (; b->n_ops < m->n_operations; b->n_ops++)
        if ((s = read_op(r, &m->operations[b->n_ops], &b->ops[b->n_ops]))) return s;
    b->outputs = assay_room(r->p, (uint32_t)m->n_outputs, sizeof *b->outputs);
    for (; b->n_outputs < m->n_outputs; b->n_outputs++) {
        b->outputs[b->n_outputs] = assay_scope_find(r->scope, m->outputs[b->n_outputs]);
        if (!b->outputs[b->n_outputs]) {
            undefined(r, m->outputs[b->n_outputs]);
            return assay_wrap(r->err, "block output");
        }
    }
    return ASSAY_OK;
}

static const Mil__Block *block_for(const Mil__Function *m) {
    const Mil__Block *found = NULL;
    for (size_t i = 0; i < m->n_blocks; i++)
        if (!strcmp(m->blocks[i]->key, m->opset)) found = m->blocks[i]->value;
    return found;
}

static assay_status read_function(assay_reader *r, const Mil__Function *m, assay_mil_function *f) {
    f->opset = assay_read_text(r, m->opset);
    const Mil__Block *block = block_for(m);
    if (!block) return assay_fail(r->err, ASSAY_E_INPUT, "there is no block for the function's opset '%s' (block specialization missing)", m->opset);
    r->scope = assay_scope_new(block->n_operations);
    assay_status s = add_values(r, m->inputs, m->n_inputs, &f->inputs, &f->n_inputs);
    if (!s) s = assay_read_attrs(r, m->attributes, m->n_attributes, &f->attrs, &f->n_attrs);
    if (!s) s = read_block(r, block, &f->block);
    assay_scope_free(r->scope);
    r->scope = NULL;
    return s;
}

static assay_status read_functions(assay_reader *r, const Mil__Program *m) {
    assay_program *p = r->p;
    if (m->n_functions == 0) return assay_fail(r->err, ASSAY_E_INPUT, "the program has no functions");
    if (m->n_functions > MAX_FUNCTIONS) return assay_fail(r->err, ASSAY_E_INPUT, "%zu functions are too many", m->n_functions);
    p->functions = assay_room(p, (uint32_t)m->n_functions, sizeof *p->functions);
    for (size_t i = 0; i < m->n_functions; i++) {
        const Mil__FunctionEntry *e = m->functions[i];
        uint32_t k = 0;
        while (k < p->n_functions && strcmp(p->functions[k]->name, e->key)) k++;
        assay_mil_function *f = p->functions[k] = assay_arena_alloc(p->arena, sizeof *f);
        f->name = assay_read_text(r, e->key);
        static const Mil__Function none = MIL__FUNCTION__INIT;
        if (read_function(r, e->value ? e->value : &none, f)) return assay_wrap(r->err, "function %s", e->key);
        if (k == p->n_functions) p->n_functions++;
    }
    if (!p->default_function) p->default_function = p->n_functions == 1 || !assay_program_function(p, "main") ? p->functions[0]->name : "main";
    if (!assay_program_function(p, NULL))
        return assay_fail(r->err, ASSAY_E_INPUT, "the default function '%s' does not exist", p->default_function);
    return ASSAY_OK;
}

static assay_status read_model(assay_reader *r, const Mil__Model *m) {
    assay_program *p = r->p;
    p->spec_version = m->specification_version;
    if (m->program->version != 1)
        return assay_fail(r->err, ASSAY_E_UNSUPPORTED, "program version %lld; only 1 is known", (long long)m->program->version);
    assay_status s = m->description ? assay_read_description(r, m->description) : ASSAY_OK;
    if (!s) s = assay_read_attrs(r, m->program->attributes, m->program->n_attributes, &p->attrs, &p->n_attrs);
    return s ? s : read_functions(r, m->program);
}

static assay_status check_kind(const void *bytes, size_t len, const char *what, assay_error *err) {
    if (assay_is_lfs_pointer(bytes, len))
        return assay_fail(err, ASSAY_E_INPUT, "%s: a Git LFS pointer, not the file: fetch it with `git lfs pull`", what);
    int32_t type = assay_wire_model_type(bytes, len);
    if (type == 0) return assay_fail(err, ASSAY_E_INPUT, "%s: no model in it (the file is empty or not a Core ML model)", what);
    if (type > 0 && type != 502)
        return assay_fail(err, ASSAY_E_UNSUPPORTED, "%s: the model is a %s (field %d); only mlProgram is read", what, assay_model_type_name(type), type);
    return assay_wire_check(&mil__model__descriptor, bytes, len, what, err);
}

assay_status assay_program_parse_model(const void *bytes, size_t len, const char *what, const char *model_dir, assay_program **out, assay_error *err) {
    assay_error local;
    if (!err) err = &local;
    *out = NULL;
    assay_status s = check_kind(bytes, len, what, err);
    if (s) return s;
    assay_program *p = assay_program_empty(what);
    assay_arena *passing = assay_arena_new();
    ProtobufCAllocator alloc = assay_arena_allocator(passing);
    Mil__Model *m = mil__model__unpack(&alloc, len, bytes);
    assay_reader r = { .p = p, .model_dir = model_dir, .err = err };
    if (!m || !m->program) s = assay_fail(err, ASSAY_E_INPUT, "%s: the model is damaged: it cannot be decoded", what);
    else if (read_model(&r, m)) s = assay_wrap(err, "%s", what);
    while (r.spare.len) assay_arena_free(r.spare.items[--r.spare.len]);
    assay_ptrs_free(&r.spare);
    assay_arena_free(passing);
    if (!s) {
        p->raw = bytes;
        p->raw_bytes = len;
        assay_program_index(p);
        s = assay_program_validate(p, 0, err);
    }
    if (s) { assay_program_free(p); return s; }
    *out = p;
    return ASSAY_OK;
}
