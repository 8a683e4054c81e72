/* Programs from MIL text: the grammar of functions, blocks and ops (formats/mil-text.md), both dialects. */
#include "program/mil_value.h"
#include "program/optable.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_KEYS = 1024 };

/* ---- values */
static assay_status define(mil_parser *m, const assay_mil_type *t, const char *name, int line, assay_mil_value **out) {
    assay_mil_value *v = assay_arena_alloc(m->p->arena, sizeof *v);
    v->name = name;
    v->type = t;
    *out = v;
    if (assay_scope_add(m->scope, name, v)) return ASSAY_OK;
    return assay_fail(m->x.err, ASSAY_E_INPUT, "%s:%d: the name '%s' is defined twice", m->x.what, line, name);
}

static assay_status find(mil_parser *m, assay_mil_value **out) {
    const char *name;
    int line = m->x.tok.line;
    assay_status s = mil_lex_ident(&m->x, &name);
    if (s) return s;
    *out = assay_scope_find(m->scope, name);
    if (*out) return ASSAY_OK;
    char hint[96];
    assay_scope_suggest(m->scope, name, hint);
    return assay_fail(m->x.err, ASSAY_E_INPUT, "%s:%d: '%s' is not defined before it is used%s", m->x.what, line, name, hint);
}

/* type name, type name ... until `shut`; names become values at once. */
static assay_status parse_params(mil_parser *m, int shut, assay_mil_value ***out, uint32_t *n) {
    while (!mil_lex_is(&m->x, shut)) {
        const assay_mil_type *t;
        const char *name;
        int line = m->x.tok.line;
        assay_status s = mil_parse_type(m, &t);
        if (!s) s = mil_lex_ident(&m->x, &name);
        if (s) return s;
        *out = assay_grow(m->p, *out, *n, sizeof **out);
        if ((s = define(m, t, name, line, &(*out)[*n]))) return s;
        (*n)++;
        if (!mil_lex_take(&m->x, ',')) break;
    }
    return mil_lex_want(&m->x, shut);
}

/* ---- ops */
typedef struct pending { const assay_mil_type *type; const char *name; int line; } pending;
enum { MAX_OUTPUTS = 4096 };

/* The left side: "type name, type name =", perhaps in brackets; nothing for an op without outputs. */
static assay_status parse_left(mil_parser *m, pending **outs, uint32_t *n) {
    mil_lexer *x = &m->x;
    int shut = mil_lex_take(x, '(') ? ')' : mil_lex_take(x, '[') ? ']' : 0;
    if (!shut && !mil_at_type(m)) return ASSAY_OK;
    assay_status s = ASSAY_OK;
    do {
        if (*n == MAX_OUTPUTS) return mil_lex_error(x, ASSAY_E_INPUT, "more than %d outputs", MAX_OUTPUTS);
        *outs = assay_grow(m->p, *outs, *n, sizeof **outs);
        pending *o = &(*outs)[(*n)++];
        o->line = x->tok.line;
        s = mil_parse_type(m, &o->type);
        if (!s) s = mil_lex_ident(x, &o->name);
    } while (!s && mil_lex_take(x, ','));
    if (!s && shut) s = mil_lex_want(x, shut);
    return s ? s : mil_lex_want(x, '=');
}

static assay_status parse_operand(mil_parser *m, assay_mil_arg *a) {
    a->items = assay_grow(m->p, a->items, a->n, sizeof *a->items);
    assay_mil_binding *b = &a->items[a->n++];
    *b = (assay_mil_binding){ 0 };
    return mil_at_type(m) ? mil_parse_typed(m, &b->literal) : find(m, &b->value);
}

static assay_status parse_arg(mil_parser *m, assay_mil_op *op) {
    mil_lexer *x = &m->x;
    if (op->n_args == MAX_KEYS) return mil_lex_error(x, ASSAY_E_INPUT, "more than %d arguments", MAX_KEYS);
    op->args = assay_grow(m->p, op->args, op->n_args, sizeof *op->args);
    assay_mil_arg *a = &op->args[op->n_args++];
    *a = (assay_mil_arg){ 0 };
    assay_status s = mil_lex_ident(x, &a->key);
    if (!s && assay_op_arg(op, a->key) != a) s = mil_lex_error(x, ASSAY_E_INPUT, "argument '%s' is given twice", a->key);
    if (!s) s = mil_lex_want(x, '=');
    if (s || !mil_lex_take(x, '(')) return s ? s : parse_operand(m, a);
    while (!s && !mil_lex_is(x, ')')) {
        s = parse_operand(m, a);
        if (!s && !mil_lex_take(x, ',') && !mil_lex_is(x, ')')) s = mil_lex_fail(x, "',' or ')' is wanted here");
    }
    return s ? s : mil_lex_want(x, ')');
}

static assay_status parse_args(mil_parser *m, assay_mil_op *op) {
    mil_lexer *x = &m->x;
    assay_status s = mil_lex_want(x, '(');
    while (!s && !mil_lex_is(x, ')')) {
        s = parse_arg(m, op);
        if (!s && !mil_lex_take(x, ',') && !mil_lex_is(x, ')')) s = mil_lex_fail(x, "',' or ')' is wanted here");
    }
    return s ? s : mil_lex_want(x, ')');
}

static assay_status parse_block(mil_parser *m, assay_mil_block **out);

/* A nested block: its inputs in brackets if it has any, then like a function's. */
static assay_status parse_nested(mil_parser *m, assay_mil_op *op) {
    op->blocks = assay_grow(m->p, op->blocks, op->n_blocks, sizeof *op->blocks);
    assay_status s = mil_lex_enter(&m->x);
    assay_scope_push(m->scope);
    if (!s) s = parse_block(m, &op->blocks[op->n_blocks]);
    if (!s) op->n_blocks++;
    assay_scope_pop(m->scope);
    mil_lex_leave(&m->x);
    return s;
}

static assay_status parse_op(mil_parser *m, assay_mil_op **out) {
    mil_lexer *x = &m->x;
    assay_mil_op *op = *out = assay_arena_alloc(m->p->arena, sizeof *op);
    pending *outs = NULL;
    uint32_t n = 0;
    assay_status s = parse_left(m, &outs, &n);
    if (!s) s = mil_lex_ident(x, &op->type);
    if (!s && mil_lex_take(x, '<')) {
        s = mil_lex_ident(x, &op->opset);
        if (!s) s = mil_lex_want(x, '>');
    }
    if (!s) s = parse_args(m, op);
    if (!s) s = mil_parse_attrs(m, &op->attrs, &op->n_attrs);
    while (!s && (mil_lex_is(x, '{') || mil_lex_is(x, '('))) s = parse_nested(m, op);
    if (!s) s = mil_lex_want(x, ';');
    op->outs = assay_room(m->p, n, sizeof *op->outs);
    for (; !s && op->n_outs < n; op->n_outs++)
        s = define(m, outs[op->n_outs].type, outs[op->n_outs].name, outs[op->n_outs].line, &op->outs[op->n_outs]);
    return s;
}

static assay_status parse_block(mil_parser *m, assay_mil_block **out) {
    mil_lexer *x = &m->x;
    assay_mil_block *b = *out = assay_arena_alloc(m->p->arena, sizeof *b);
    assay_status s = mil_lex_take(x, '(') ? parse_params(m, ')', &b->inputs, &b->n_inputs) : ASSAY_OK;
    if (!s) s = mil_lex_want(x, '{');
    while (!s && !mil_lex_is(x, '}')) {
        b->ops = assay_grow(m->p, b->ops, b->n_ops, sizeof *b->ops);
        s = parse_op(m, &b->ops[b->n_ops]);
        if (!s) b->n_ops++;
    }
    if (!s) s = mil_lex_want(x, '}');
    if (!s) s = mil_lex_want(x, TOK_ARROW);
    if (!s) s = mil_lex_want(x, '(');
    while (!s && !mil_lex_is(x, ')')) {
        b->outputs = assay_grow(m->p, b->outputs, b->n_outputs, sizeof *b->outputs);
        s = find(m, &b->outputs[b->n_outputs]);
        if (!s) b->n_outputs++;
        if (!s && !mil_lex_take(x, ',') && !mil_lex_is(x, ')')) s = mil_lex_fail(x, "',' or ')' is wanted here");
    }
    return s ? s : mil_lex_want(x, ')');
}

/* ---- functions and the program */
static assay_status parse_function(mil_parser *m) {
    mil_lexer *x = &m->x;
    const char *name, *opset = "";
    if (!mil_lex_word(x, "func")) return mil_lex_fail(x, "'func' is wanted here");
    mil_lex_next(x);
    assay_status s = mil_lex_ident(x, &name);
    if (!s) s = mil_lex_want(x, '<');
    if (!s) s = mil_lex_ident(x, &opset);
    if (!s && !assay_opset_rank(opset)) s = mil_lex_error(x, ASSAY_E_UNSUPPORTED, "function %s: unknown opset '%s'", name, opset);
    if (!s && m->p->n_functions == 4096) s = mil_lex_error(x, ASSAY_E_INPUT, "more than 4096 functions");
    for (uint32_t i = 0; !s && i < m->p->n_functions; i++)
        if (!strcmp(m->p->functions[i]->name, name)) s = mil_lex_error(x, ASSAY_E_INPUT, "function %s is defined twice", name);
    if (!s) s = mil_lex_want(x, '>');
    if (!s) s = mil_lex_want(x, '(');
    if (s) return s;
    assay_mil_function *f = assay_program_add_function(m->p, name, opset);
    m->scope = assay_scope_new(0);
    s = parse_params(m, ')', &f->inputs, &f->n_inputs);
    if (!s) s = mil_parse_attrs(m, &f->attrs, &f->n_attrs);
    if (!s) s = parse_block(m, &f->block);
    if (!s) mil_lex_take(x, ';');
    assay_scope_free(m->scope);
    m->scope = NULL;
    return s;
}

static assay_status parse_program(mil_parser *m) {
    mil_lexer *x = &m->x;
    if (!mil_lex_word(x, "program")) return mil_lex_fail(x, "MIL text begins with 'program('");
    mil_lex_next(x);
    assay_status s = mil_lex_want(x, '(');
    if (!s) s = mil_lex_want(x, TOK_NUMBER);
    if (!s) s = mil_lex_want(x, ')');
    if (!s) s = mil_parse_attrs(m, &m->p->attrs, &m->p->n_attrs);
    if (!s) s = mil_lex_want(x, '{');
    while (!s && !mil_lex_is(x, '}')) s = parse_function(m);
    if (!s) s = mil_lex_want(x, '}');
    if (!s && !mil_lex_is(x, TOK_END)) s = mil_lex_fail(x, "the program ends here");
    if (!s && m->p->n_functions == 0) s = mil_lex_error(x, ASSAY_E_INPUT, "the program has no functions");
    return s;
}

assay_status assay_program_parse_mil(const char *text, size_t len, const char *what, const char *model_dir, assay_program **out, assay_error *err) {
    assay_error local;
    if (!err) err = &local;
    *out = NULL;
    if (assay_is_lfs_pointer(text, len)) return assay_fail(err, ASSAY_E_INPUT, "%s: a Git LFS pointer, not the file: fetch it with `git lfs pull`", what);
    if (!assay_text_is_clean(text, len)) return assay_fail(err, ASSAY_E_INPUT, "%s: not valid UTF-8 text", what);
    mil_parser m = { .p = assay_program_empty(what), .model_dir = model_dir };
    mil_lex_start(&m.x, text, len, what, m.p->arena, err);
    assay_status s = parse_program(&m);
    if (!s) {
        if (assay_program_function(m.p, "main")) m.p->default_function = "main";
        assay_program_index(m.p);
        assay_program_flexible(m.p);
        s = assay_program_validate(m.p, 0, err);
    }
    if (s) { assay_program_free(m.p); return s; }
    *out = m.p;
    return ASSAY_OK;
}
