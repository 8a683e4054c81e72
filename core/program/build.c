/* Building programs: functions, inputs, constants and ops, with names kept unique and types from the op table's rules. */
#include "program/optable.h"
#include "program/internal.h"
#include "base/names.h"
#include <ctype.h>
#include <string.h>

assay_program *assay_program_empty(const char *source) {
    assay_arena *a = assay_arena_new();
    assay_program *p = assay_arena_alloc(a, sizeof *p);
    p->arena = a;
    p->source = assay_arena_strdup(a, source);
    return p;
}

assay_program *assay_program_new(int32_t spec_version) {
    assay_program *p = assay_program_empty("built");
    p->spec_version = spec_version;
    return p;
}

void assay_program_free(assay_program *p) {
    if (!p) return;
    for (uint32_t i = 0; i < p->n_functions; i++) assay_scope_free(p->functions[i]->names);
    assay_arena_free(p->arena);
}

/* Room in steps of powers of two, so that appending one at a time stays linear. */
void *assay_grow(assay_program *p, void *items, uint32_t n, size_t size) {
    if (n && (n & (n - 1))) return items;
    void *more = assay_arena_alloc(p->arena, (n ? 2 * (size_t)n : 1) * size);
    if (n) memcpy(more, items, n * size);
    return more;
}

void *assay_room(assay_program *p, uint32_t n, size_t size) {
    size_t room = 1;
    if (n == 0) return NULL;
    while (room < n) room *= 2;
    return assay_arena_alloc(p->arena, room * size);
}

assay_mil_function *assay_program_add_function(assay_program *p, const char *name, const char *opset) {
    assay_mil_function *f = assay_arena_alloc(p->arena, sizeof *f);
    f->name = assay_arena_strdup(p->arena, name);
    f->opset = assay_arena_strdup(p->arena, assay_opset_rank(opset) ? assay_opset_name(assay_opset_rank(opset)) : opset);
    f->block = assay_arena_alloc(p->arena, sizeof *f->block);
    assay_mil_function **list = assay_arena_alloc(p->arena, (p->n_functions + 1) * sizeof *list);
    if (p->n_functions) memcpy(list, p->functions, p->n_functions * sizeof *list);
    list[p->n_functions++] = f;
    p->functions = list;
    if (!p->default_function) p->default_function = f->name;
    p->raw = NULL;
    return f;
}

const assay_mil_type *assay_type_tensor(assay_program *p, int32_t mil_dtype, uint32_t rank, const int64_t *dims) {
    if (rank > ASSAY_RANK_MAX) return NULL;
    assay_mil_type *t = assay_arena_alloc(p->arena, sizeof *t);
    t->kind = ASSAY_TYPE_TENSOR;
    t->dtype = mil_dtype;
    t->rank = rank;
    if (rank) memcpy(t->dims, dims, rank * sizeof *dims);
    return t;
}

/* ---- names */
static void note_names(assay_mil_function *f, const assay_mil_block *b) {
    for (uint32_t i = 0; i < b->n_inputs; i++) assay_scope_add(f->names, b->inputs[i]->name, b->inputs[i]);
    for (uint32_t i = 0; i < b->n_ops; i++) {
        for (uint32_t k = 0; k < b->ops[i]->n_outs; k++) assay_scope_add(f->names, b->ops[i]->outs[k]->name, b->ops[i]->outs[k]);
        for (uint32_t k = 0; k < b->ops[i]->n_blocks; k++) note_names(f, b->ops[i]->blocks[k]);
    }
}

static assay_scope *names_of(assay_mil_function *f) {
    if (f->names) return f->names;
    f->names = assay_scope_new(f->block->n_ops);
    for (uint32_t i = 0; i < f->n_inputs; i++) assay_scope_add(f->names, f->inputs[i]->name, f->inputs[i]);
    note_names(f, f->block);
    return f->names;
}

/* MIL identifiers are [A-Za-z_][A-Za-z0-9_@]*; other characters become '_'. */
static char *identifier(assay_program *p, const char *name) {
    char *s = assay_arena_printf(p->arena, "%s%s", isdigit((unsigned char)name[0]) || !name[0] ? "_" : "", name);
    for (char *c = s; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '_' && *c != '@') *c = '_';
    return s;
}

static const char *free_name(assay_program *p, assay_mil_function *f, const char *wanted) {
    const char *base = identifier(p, wanted), *name = base;
    for (int k = 1; assay_scope_find(names_of(f), name); k++) name = assay_arena_printf(p->arena, "%s_%d", base, k);
    return name;
}

static assay_mil_value *new_value(assay_program *p, assay_mil_function *f, const char *name, const assay_mil_type *type) {
    assay_mil_value *v = assay_arena_alloc(p->arena, sizeof *v);
    v->name = free_name(p, f, name);
    v->type = type;
    v->id = f->n_values++;
    assay_scope_add(f->names, v->name, v);
    return v;
}

assay_mil_value *assay_function_add_input(assay_program *p, assay_mil_function *f, const char *name, const assay_mil_type *type) {
    assay_mil_value *v = new_value(p, f, name, type);
    f->inputs = assay_grow(p, f->inputs, f->n_inputs, sizeof *f->inputs);
    f->inputs[f->n_inputs++] = v;
    p->raw = NULL;
    return v;
}

/* ---- ops */
static void insert_op(assay_program *p, assay_mil_block *b, assay_mil_op *before, assay_mil_op *op) {
    b->ops = assay_grow(p, b->ops, b->n_ops, sizeof *b->ops);
    uint32_t at = b->n_ops;
    while (before && at > 0 && b->ops[at - 1] != before) at--;
    if (before) at = at ? at - 1 : b->n_ops;     /* `before` is not in this block: append */
    memmove(b->ops + at + 1, b->ops + at, (b->n_ops - at) * sizeof *b->ops);
    b->ops[at] = op;
    b->n_ops++;
    p->raw = NULL;
}

static void add_attr(assay_program *p, assay_mil_op *op, const char *key, const assay_mil_const *c) {
    op->attrs = assay_grow(p, op->attrs, op->n_attrs, sizeof *op->attrs);
    op->attrs[op->n_attrs++] = (assay_mil_attr){ assay_arena_strdup(p->arena, key), c };
}

static void give_output(assay_program *p, assay_mil_function *f, assay_mil_op *op, const char *name, const assay_mil_type *type) {
    assay_mil_value *v = new_value(p, f, name, type);
    v->producer = op;
    v->producer_index = op->n_outs;
    op->outs = assay_grow(p, op->outs, op->n_outs, sizeof *op->outs);
    op->outs[op->n_outs++] = v;
}

assay_mil_value *assay_block_add_const(assay_program *p, assay_mil_function *f, assay_mil_block *b, assay_mil_op *before, const char *name,
                                       const assay_mil_const *c) {
    if (!c) return NULL;
    assay_mil_op *op = assay_arena_alloc(p->arena, sizeof *op);
    op->type = "const";
    give_output(p, f, op, name, c->type);
    add_attr(p, op, "name", assay_const_string(p, op->outs[0]->name));
    add_attr(p, op, "val", c);
    insert_op(p, b, before, op);
    return op->outs[0];
}

static const char *at(const char *where) { return where ? where : "program"; }

static const assay_op_param *find_param(const assay_op_def *def, const char *key) {
    for (const assay_op_param *q = def->params; q && q->name; q++)
        if (!strcmp(q->name, key)) return q;
    return NULL;
}

static assay_status unknown_param(const assay_op_def *def, const char *key, const char *where, assay_error *err) {
    const char *names[64];
    size_t n = 0;
    for (const assay_op_param *q = def->params; q && q->name && n < 64; q++) names[n++] = q->name;
    char hint[96];
    return assay_fail(err, ASSAY_E_INPUT, "%s: %s has no parameter '%s'%s", at(where), def->type, key, assay_did_you_mean(hint, key, names, n));
}

static assay_status check_args(const assay_op_def *def, const char *where, const assay_build_arg *args, uint32_t n_args, assay_error *err) {
    for (uint32_t i = 0; i < n_args; i++) {
        const assay_op_param *q = find_param(def, args[i].key);
        if (!q) return unknown_param(def, args[i].key, where, err);
        if (args[i].n != 1 && !(q->flags & ASSAY_ARG_VARIADIC))
            return assay_fail(err, ASSAY_E_INPUT, "%s: %s takes one value for '%s', not %u", at(where), def->type, args[i].key, args[i].n);
        for (uint32_t k = 0; k < args[i].n; k++)
            if (!args[i].items[k].value && !args[i].items[k].literal)
                return assay_fail(err, ASSAY_E_INPUT, "%s: %s has no value for '%s'", at(where), def->type, args[i].key);
    }
    for (const assay_op_param *q = def->params; q && q->name; q++) {
        bool given = false;
        for (uint32_t i = 0; i < n_args; i++) given |= !strcmp(args[i].key, q->name);
        if ((q->flags & ASSAY_ARG_REQUIRED) && !given) return assay_fail(err, ASSAY_E_INPUT, "%s: %s needs '%s'", at(where), def->type, q->name);
    }
    return ASSAY_OK;
}

static const assay_op_def *find_def(const assay_mil_function *f, const char *type, const char *where, assay_error *err) {
    const assay_op_def *def = assay_optable_find(type);
    char hint[96];
    if (!def) {
        assay_fail(err, ASSAY_E_INPUT, "%s: there is no op '%s'%s", at(where), type, assay_optable_suggest(hint, type));
        return NULL;
    }
    int need = assay_opset_rank(def->opset_min), have = assay_opset_rank(f->opset);
    if (have && need > have) {
        assay_fail(err, ASSAY_E_INPUT, "%s: %s needs opset %s (%s) or later, the function has %s", at(where), type, def->opset_min,
                   assay_opset_target(need), f->opset);
        return NULL;
    }
    return def;
}

/* A literal stands as a const op of its own, as the converter writes it; constexpr parameters stay literals (attributes
 * before CoreML8). */
static void bind_args(assay_program *p, assay_mil_function *f, assay_mil_block *b, assay_mil_op *before, assay_mil_op *op, const char *name,
                      const assay_op_def *def, const assay_build_arg *args, uint32_t n_args) {
    op->args = assay_arena_alloc(p->arena, (n_args + 1) * sizeof *op->args);
    bool constexpr_op = (def->flags & ASSAY_OP_CONSTEXPR) != 0;
    for (uint32_t i = 0; i < n_args; i++) {
        if (constexpr_op && args[i].items[0].literal && assay_opset_rank(f->opset) < 8) {
            add_attr(p, op, args[i].key, args[i].items[0].literal);
            continue;
        }
        assay_mil_arg *a = &op->args[op->n_args++];
        a->key = assay_arena_strdup(p->arena, args[i].key);
        a->n = args[i].n;
        a->items = assay_arena_alloc(p->arena, (a->n + 1) * sizeof *a->items);
        for (uint32_t k = 0; k < a->n; k++) {
            a->items[k] = args[i].items[k];
            const assay_mil_const *c = a->items[k].literal;
            if (!c || constexpr_op || c->kind == ASSAY_CONST_ITEMS) continue;
            a->items[k].value = assay_block_add_const(p, f, b, before, assay_arena_printf(p->arena, "%s_%s_%u", name, a->key, k), c);
            a->items[k].literal = NULL;
        }
    }
}

static void enter_uses(assay_program *p, assay_mil_op *op) {
    for (uint32_t i = 0; i < op->n_args; i++)
        for (uint32_t k = 0; k < op->args[i].n; k++)
            if (op->args[i].items[k].value) assay_value_add_user(p, op->args[i].items[k].value, op);
}

static assay_status infer_outputs(assay_program *p, assay_mil_op *op, const assay_op_def *def, const char *where, const assay_mil_type ***types,
                                  uint32_t *n, assay_error *err) {
    *n = def->count_outputs ? def->count_outputs(op) : 1;
    if (*n > 4096) return assay_fail(err, ASSAY_E_INPUT, "%s: %s would have %u outputs", at(where), op->type, *n);
    *types = assay_arena_alloc(p->arena, (*n + 1) * sizeof **types);
    if (!def->infer) return assay_fail(err, ASSAY_E_UNSUPPORTED, "%s: %s has no type rule", at(where), op->type);
    if (def->infer(p, op, *types, *n, err)) return assay_wrap(err, "%s: %s", at(where), op->type);
    return ASSAY_OK;
}

assay_status assay_block_add_op(assay_program *p, assay_mil_function *f, assay_mil_block *b, assay_mil_op *before, const char *type,
                                const char *name, const char *where, const assay_build_arg *args, uint32_t n_args, assay_mil_op **out,
                                assay_error *err) {
    assay_error local;
    if (!err) err = &local;
    *out = NULL;
    const assay_op_def *def = find_def(f, type, where, err);
    if (!def) return err->code;
    assay_status s = check_args(def, where, args, n_args, err);
    if (s) return s;
    assay_mil_op *op = assay_arena_alloc(p->arena, sizeof *op);
    op->type = def->type;
    op->where = where ? assay_arena_strdup(p->arena, where) : NULL;
    name = free_name(p, f, name && *name ? name : type);
    add_attr(p, op, "name", assay_const_string(p, name));
    uint32_t kept = b->n_ops;
    bind_args(p, f, b, before, op, name, def, args, n_args);
    const assay_mil_type **types = NULL;
    uint32_t n = 0;
    s = infer_outputs(p, op, def, where, &types, &n, err);
    if (s) {
        if (!before) b->n_ops = kept;            /* the consts made for its literals go too; with `before` they stay, unused */
        return s;
    }
    for (uint32_t i = 0; i < n; i++) give_output(p, f, op, n == 1 ? name : assay_arena_printf(p->arena, "%s_%u", name, i), types[i]);
    enter_uses(p, op);
    insert_op(p, b, before, op);
    *out = op;
    return ASSAY_OK;
}

assay_status assay_function_set_outputs(assay_program *p, assay_mil_function *f, assay_mil_value *const *outs, uint32_t n, assay_error *err) {
    if (n == 0) return assay_fail(err, ASSAY_E_INPUT, "function %s: an output is needed", f->name);
    for (uint32_t i = 0; i < n; i++)
        if (!outs[i] || assay_scope_find(names_of(f), outs[i]->name) != outs[i])
            return assay_fail(err, ASSAY_E_INPUT, "function %s: output %u is not a value of this function", f->name, i);
    f->block->outputs = assay_arena_copy(p->arena, outs, n * sizeof *outs);
    f->block->n_outputs = n;
    p->raw = NULL;
    assay_program_index(p);
    return ASSAY_OK;
}
