/* Validation: what every program must hold before it is used, and the op table's type rules against the declared types. */
#include "program/optable.h"
#include "program/internal.h"
#include <string.h>

typedef struct checker { assay_program *p; const assay_mil_function *f; assay_scope *scope; int mode; assay_error *err; } checker;

static const char *op_name(const assay_mil_op *op) { return op->n_outs ? op->outs[0]->name : "(no output)"; }

/* ---- structure */
/* The names of a program as read were resolved by its reader, and nothing has changed since. */
static assay_status define(checker *c, assay_mil_value *v) {
    if (c->p->raw) return ASSAY_OK;
    if (!v || !v->name || !v->type) return assay_fail(c->err, ASSAY_E_INPUT, "a value without name or type");
    if (!assay_scope_add(c->scope, v->name, v)) return assay_fail(c->err, ASSAY_E_INPUT, "the name '%s' is defined twice", v->name);
    return ASSAY_OK;
}

static assay_status defined(checker *c, const assay_mil_value *v) {
    if (c->p->raw || (v && assay_scope_find(c->scope, v->name) == v)) return ASSAY_OK;
    return assay_fail(c->err, ASSAY_E_INPUT, "'%s' is not defined before it is used", v ? v->name : "(nothing)");
}

static assay_status check_uses(checker *c, const assay_mil_op *op) {
    for (uint32_t k = 0; k < op->n_args; k++)
        for (uint32_t j = 0; j < op->args[k].n; j++) {
            const assay_mil_binding *b = &op->args[k].items[j];
            if (!b->value == !b->literal) return assay_fail(c->err, ASSAY_E_INPUT, "input '%s' is bound to nothing", op->args[k].key);
            if (b->value && defined(c, b->value)) return assay_wrap(c->err, "input '%s'", op->args[k].key);
        }
    return ASSAY_OK;
}

static assay_status check_const(checker *c, const assay_mil_op *op) {
    const assay_mil_const *val = assay_op_attr(op, "val");
    char a[96], b[96];
    if (!val) return assay_fail(c->err, ASSAY_E_INPUT, "the const has no value");
    if (op->n_outs != 1) return assay_fail(c->err, ASSAY_E_INPUT, "the const has %u outputs", op->n_outs);
    if (!assay_type_fits(val->type, op->outs[0]->type))
        return assay_fail(c->err, ASSAY_E_TYPE, "the value is %s, the output is declared %s", assay_type_text(val->type, a), assay_type_text(op->outs[0]->type, b));
    return ASSAY_OK;
}

/* ---- type rules */
static assay_status check_types(checker *c, const assay_mil_op *op) {
    const assay_op_def *def = assay_optable_find(op->type);
    char hint[96];
    if (!def && c->mode >= 2)
        return assay_fail(c->err, ASSAY_E_UNSUPPORTED, "unknown op type%s", assay_optable_suggest(hint, op->type));
    if (!def) return ASSAY_OK;
    int need = assay_opset_rank(def->opset_min), have = assay_opset_rank(op->opset ? op->opset : c->f->opset);
    if (need > have) return assay_fail(c->err, ASSAY_E_INPUT, "the op needs opset %s or later, the function has %s", def->opset_min, c->f->opset);
    if (!def->infer || op->n_outs == 0) return ASSAY_OK;
    const assay_mil_type **types = assay_arena_alloc(c->p->arena, op->n_outs * sizeof *types);
    if (def->infer(c->p, op, types, op->n_outs, c->err)) return c->err->code;
    for (uint32_t k = 0; k < op->n_outs; k++) {
        char a[96], b[96];
        if (types[k] && !assay_type_fits(types[k], op->outs[k]->type))
            return assay_fail(c->err, ASSAY_E_TYPE, "output '%s' is declared %s, its inputs make it %s", op->outs[k]->name,
                              assay_type_text(op->outs[k]->type, a), assay_type_text(types[k], b));
    }
    return ASSAY_OK;
}

/* ---- walking */
static assay_status check_block(checker *c, const assay_mil_block *b);

static assay_status check_op(checker *c, const assay_mil_op *op) {
    assay_status s = check_uses(c, op);
    for (uint32_t k = 0; !s && k < op->n_blocks; k++) {
        assay_scope_push(c->scope);
        s = check_block(c, op->blocks[k]);
        assay_scope_pop(c->scope);
    }
    for (uint32_t k = 0; !s && k < op->n_outs; k++) s = define(c, op->outs[k]);
    bool is_const = !strcmp(op->type, "const");
    if (!s && is_const) s = check_const(c, op);
    return !s && !is_const && c->mode >= 1 ? check_types(c, op) : s;
}

static assay_status check_block(checker *c, const assay_mil_block *b) {
    for (uint32_t i = 0; i < b->n_inputs; i++)
        if (define(c, b->inputs[i])) return c->err->code;
    for (uint32_t i = 0; i < b->n_ops; i++) {
        const assay_mil_op *op = b->ops[i];
        if (check_op(c, op)) return assay_wrap(c->err, "%s%sop %s '%s'", op->where ? op->where : "", op->where ? ": " : "", op->type, op_name(op));
    }
    for (uint32_t i = 0; i < b->n_outputs; i++)
        if (defined(c, b->outputs[i])) return assay_wrap(c->err, "block output");
    return ASSAY_OK;
}

/* ---- the description must speak of inputs and outputs that the function has. */
static bool names_one(const char *name, assay_mil_value *const *list, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) if (!strcmp(list[i]->name, name)) return true;
    return false;
}

static assay_status check_features(checker *c, const assay_feature *list, uint32_t n, assay_mil_value *const *values, uint32_t n_values, const char *what) {
    for (uint32_t i = 0; i < n; i++)
        if (!names_one(list[i].name, values, n_values))
            return assay_fail(c->err, ASSAY_E_INPUT, "the description names %s '%s', which the function does not have", what, list[i].name);
    return ASSAY_OK;
}

static assay_status check_signature(checker *c) {
    const assay_signature *s = assay_program_signature(c->p, c->f);
    if (!s) return ASSAY_OK;
    assay_status st = check_features(c, s->inputs, s->n_inputs, c->f->inputs, c->f->n_inputs, "input");
    if (!st) st = check_features(c, s->states, s->n_states, c->f->inputs, c->f->n_inputs, "state");
    return st ? st : check_features(c, s->outputs, s->n_outputs, c->f->block->outputs, c->f->block->n_outputs, "output");
}

static assay_status check_function(checker *c) {
    if (!assay_opset_rank(c->f->opset)) return assay_fail(c->err, ASSAY_E_UNSUPPORTED, "unknown opset '%s'", c->f->opset);
    c->scope = assay_scope_new(c->p->raw ? 0 : c->f->n_values);
    assay_status s = ASSAY_OK;
    for (uint32_t i = 0; !s && i < c->f->n_inputs; i++) s = define(c, c->f->inputs[i]);
    if (!s) s = check_block(c, c->f->block);
    assay_scope_free(c->scope);
    return s ? s : check_signature(c);
}

assay_status assay_program_validate(const assay_program *p, int mode, assay_error *err) {
    assay_error local;
    checker c = { .p = (assay_program *)(uintptr_t)p, .mode = mode, .err = err ? err : &local };   /* type rules allocate in p's arena */
    if (p->n_functions == 0) return assay_fail(c.err, ASSAY_E_INPUT, "%s: the program has no functions", p->source);
    for (uint32_t i = 0; i < p->n_functions; i++) {
        c.f = p->functions[i];
        if (check_function(&c)) return assay_wrap(c.err, "%s: function %s", p->source, c.f->name);
    }
    return ASSAY_OK;
}
