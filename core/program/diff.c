/* Compares two programs by walking both backwards from outputs of the same name. Each value has the hash of what it is computed
 * from, so equal parts are known at once, wherever they stand and whatever they are called. */
#include "program/diff.h"
#include "program/internal.h"
#include "base/names.h"
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 4000, ROWS_MAX = 200 };
typedef char hex64[65];
typedef struct side {
    const assay_mil_function *f;
    hex64 *hash;         /* by value id */
    const char **sorted; /* all hashes */
    uint32_t n;
} side;
typedef struct differ {
    side a, b;
    uint32_t *paired; /* by value id of a: id + 1 of the value of b that it was compared with last */
    assay_json *rows;
    const char *output;
} differ;

static int by_text(const void *x, const void *y) { return strcmp(*(const char *const *)x, *(const char *const *)y); }

static side side_of(const assay_mil_function *f) {
    side s = {.f = f,
              .hash = assay_xcalloc(f->n_values + 1u, sizeof(hex64)),
              .sorted = assay_xcalloc(f->n_values + 1u, sizeof(char *))};
    assay_function_hashes(f, s.hash);
    for (uint32_t i = 0; i < f->n_values; i++)
        if (s.hash[i][0]) s.sorted[s.n++] = s.hash[i];
    qsort(s.sorted, s.n, sizeof *s.sorted, by_text);
    return s;
}
static void side_free(side *s) {
    free(s->hash);
    free(s->sorted);
}
static bool has(const side *s, const char *hash) { return s->n && bsearch(&hash, s->sorted, s->n, sizeof *s->sorted, by_text); }

/* ---- rows */
/* The row's list of op types, to be filled; NULL when there are too many rows. */
static assay_json *row(assay_json *rows, const char *where, const char *a, const char *b) {
    if (assay_json_len(rows) >= ROWS_MAX) return NULL;
    assay_json *r = assay_json_append(rows, assay_json_object());
    assay_json_set_string(r, "where", where);
    assay_json_set_string(r, "a", a);
    assay_json_set_string(r, "b", b);
    return assay_json_set(r, "ops", assay_json_array());
}
static void about(assay_json *ops, const assay_mil_value *v, const char *key) {
    const char *type = v->producer ? v->producer->type : "input";
    char *name = assay_xprintf("%s%s%s", type, key ? "." : "", key ? key : "");
    if (ops) assay_json_append(ops, assay_json_new_string(name));
    free(name);
}

static char *value_text(const assay_mil_value *v) {
    char type[96];
    if (!v) return assay_xstrdup("nothing");
    const char *what = v->producer ? v->producer->type : "input";
    return assay_xprintf("%s '%s' %s", what, v->name, assay_type_text(v->type, type));
}

static char *const_text(const assay_mil_const *c) {
    char type[96], hex[65];
    double v;
    if (c->kind == ASSAY_CONST_STRINGS && c->n_strings == 1) return assay_xprintf("\"%s\"", c->strings[0]);
    if (assay_const_scalar(c, &v)) return assay_xprintf("%.9g %s", v, assay_type_text(c->type, type));
    assay_const_digest(c, hex);
    return assay_xprintf("%s %.12s", assay_type_text(c->type, type), c->absent ? "(absent)" : hex);
}

static char *binding_text(const assay_mil_binding *b) {
    const assay_mil_const *c = !b ? NULL : b->literal ? b->literal : assay_value_const(b->value);
    return c ? const_text(c) : b ? value_text(b->value) : NULL;
}

static assay_json *differ_row(differ *d, const char *where, char *a, char *b) {
    assay_json *ops = row(d->rows, where, a, b);
    free(a);
    free(b);
    return ops;
}

static char *place(const differ *d, const assay_mil_value *v, const char *key) {
    return assay_xprintf("%s: %s '%s'%s%s", d->output, v->producer ? v->producer->type : "input", v->name, key ? " " : "",
                         key ? key : "");
}

/* ---- what one side does where the other does something else */
static void collect(const side *s, const side *other, const assay_mil_value *v, uint8_t *seen, assay_json *census, int depth) {
    const assay_mil_op *op = v ? v->producer : NULL;
    if (!op || depth > DEPTH_MAX || seen[v->id] || assay_value_const(v) || has(other, s->hash[v->id])) return;
    for (uint32_t i = 0; i < op->n_outs; i++) seen[op->outs[i]->id] = 1;
    assay_json_set_int(census, op->type, assay_json_int(census, op->type, 0) + 1);
    for (uint32_t i = 0; i < op->n_args; i++)
        for (uint32_t k = 0; k < op->args[i].n; k++) collect(s, other, op->args[i].items[k].value, seen, census, depth + 1);
}

static char *region(const side *s, const side *other, const assay_mil_value *v, assay_json *ops) {
    uint8_t *seen = assay_xcalloc(s->f->n_values + 1u, 1);
    assay_json *census = assay_json_object();
    assay_buf b = {0};
    collect(s, other, v, seen, census, 0);
    for (const assay_json *j = assay_json_first(census); j; j = assay_json_next(j)) {
        assay_buf_printf(&b, "%s%.0f %s", b.len ? ", " : "", assay_json_value(j), assay_json_key(j));
        assay_json_append(ops, assay_json_new_string(assay_json_key(j)));
    }
    char *head = value_text(v), *out = b.len ? assay_xprintf("%s (in all: %s)", head, b.data)
                                             : assay_xprintf("%s (which the other side has elsewhere)", head);
    free(head);
    assay_buf_free(&b);
    assay_json_free(census);
    free(seen);
    return out;
}

/* ---- walking */
static void walk(differ *d, const assay_mil_value *a, const assay_mil_value *b, int depth);

static bool same_binding(const differ *d, const assay_mil_binding *a, const assay_mil_binding *b) {
    const assay_mil_const *x = a->literal ? a->literal : assay_value_const(a->value),
                          *y = b->literal ? b->literal : assay_value_const(b->value);
    if (!x != !y) return false;
    if (!x) return !strcmp(d->a.hash[a->value->id], d->b.hash[b->value->id]);
    char p[65], q[65];
    assay_const_digest(x, p);
    assay_const_digest(y, q);
    return assay_type_equal(x->type, y->type) && x->absent == y->absent && !strcmp(p, q);
}

/* One argument of two ops of the same type: constants by value, computed ones by walking on. */
static bool compare_arg(differ *d, const assay_mil_value *v, const char *key, const assay_mil_arg *a, const assay_mil_arg *b,
                        int depth) {
    bool same = true;
    uint32_t n = a->n > b->n ? a->n : b->n;
    for (uint32_t i = 0; i < n; i++) {
        const assay_mil_binding *x = i < a->n ? &a->items[i] : NULL, *y = i < b->n ? &b->items[i] : NULL;
        if (x && y && same_binding(d, x, y)) continue;
        same = false;
        bool computed = x && y && x->value && y->value && !assay_value_const(x->value) && !assay_value_const(y->value);
        char *where = place(d, v, key);
        if (computed)
            walk(d, x->value, y->value, depth + 1);
        else
            about(differ_row(d, where, binding_text(x), binding_text(y)), v, key);
        free(where);
    }
    return same;
}

/* A parameter may stand among the arguments or the attributes. */
static assay_mil_binding attr_binding(const assay_mil_const *c) { return (assay_mil_binding){.literal = c}; }
static bool parameter(const assay_mil_op *op, const char *key, assay_mil_binding *room, assay_mil_arg *out) {
    const assay_mil_arg *a = assay_op_arg(op, key);
    const assay_mil_const *c = a ? NULL : assay_op_attr(op, key);
    *room = attr_binding(c);
    *out = a ? *a : (assay_mil_arg){key, room, c ? 1u : 0u};
    return a || c;
}

static bool compare_key(differ *d, const assay_mil_value *v, const char *key, const assay_mil_op *a, const assay_mil_op *b,
                        int depth) {
    assay_mil_binding ra, rb;
    assay_mil_arg x, y;
    parameter(a, key, &ra, &x);
    parameter(b, key, &rb, &y);
    return compare_arg(d, v, key, &x, &y, depth);
}

/* Keys of `op`; with `other`: only those that `other` lacks. */
static bool compare_keys(differ *d, const assay_mil_value *v, const assay_mil_op *op, const assay_mil_op *other,
                         const assay_mil_op *a, const assay_mil_op *b, int depth) {
    bool same = true;
    assay_mil_binding r;
    assay_mil_arg x;
    for (uint32_t i = 0; i < op->n_args; i++)
        if (!other || !parameter(other, op->args[i].key, &r, &x)) same = compare_key(d, v, op->args[i].key, a, b, depth) && same;
    for (uint32_t i = 0; i < op->n_attrs; i++)
        if (strcmp(op->attrs[i].key, "name") && (!other || !parameter(other, op->attrs[i].key, &r, &x)))
            same = compare_key(d, v, op->attrs[i].key, a, b, depth) && same;
    return same;
}

static void same_type(differ *d, const assay_mil_value *a, const assay_mil_value *b, int depth) {
    const assay_mil_op *x = a->producer, *y = b->producer;
    for (uint32_t i = 0; i < x->n_outs && i < y->n_outs; i++) d->paired[x->outs[i]->id] = y->outs[i]->id + 1; /* said once an op */
    bool same = compare_keys(d, a, x, NULL, x, y, depth);
    same = compare_keys(d, a, y, x, x, y, depth) && same;
    if (!same) return;
    char *where = place(d, a, NULL);
    if (x->n_blocks)
        about(row(d->rows, where, "nested blocks", "other nested blocks"), a, NULL);
    else if (!assay_type_equal(a->type, b->type))
        about(differ_row(d, where, value_text(a), value_text(b)), a, NULL);
    else
        about(row(d->rows, where, "reads or writes states", "after other effects"), a, NULL);
    free(where);
}

/* The operand of v's op from which the other side goes on: computed alike, else made by an op of that type. */
static const assay_mil_value *passed(const side *s, const assay_mil_value *v, const char *hash, const char *type) {
    const assay_mil_op *op = v->producer;
    for (int alike = 1; op && alike >= 0; alike--)
        for (uint32_t i = 0; i < op->n_args; i++)
            for (uint32_t k = 0; k < op->args[i].n; k++) {
                const assay_mil_value *w = op->args[i].items[k].value;
                if (!w || assay_value_const(w)) continue;
                if (alike ? !strcmp(s->hash[w->id], hash) : type && w->producer && !strcmp(w->producer->type, type)) return w;
            }
    return NULL;
}

static void other_type(differ *d, const assay_mil_value *a, const assay_mil_value *b, int depth) {
    const char *ta = a->producer ? a->producer->type : NULL, *tb = b->producer ? b->producer->type : NULL;
    const assay_mil_value *over_b = passed(&d->b, b, d->a.hash[a->id], ta), *over_a = passed(&d->a, a, d->b.hash[b->id], tb);
    char *where = place(d, a, NULL);
    if (over_b) {
        about(differ_row(d, where, NULL, value_text(b)), b, NULL);
        walk(d, a, over_b, depth + 1);
    } else if (over_a) {
        about(differ_row(d, where, value_text(a), NULL), a, NULL);
        walk(d, over_a, b, depth + 1);
    } else {
        assay_json *ops = assay_json_array();
        char *all_a = region(&d->a, &d->b, a, ops), *all_b = region(&d->b, &d->a, b, ops);
        assay_json *to = differ_row(d, where, all_a, all_b);
        for (size_t i = 0; to && i < assay_json_len(ops); i++) assay_json_append(to, assay_json_clone(assay_json_at(ops, i)));
        assay_json_free(ops);
    }
    free(where);
}

static void walk(differ *d, const assay_mil_value *a, const assay_mil_value *b, int depth) {
    if (depth > DEPTH_MAX || d->paired[a->id] == b->id + 1 || !strcmp(d->a.hash[a->id], d->b.hash[b->id])) return;
    d->paired[a->id] = b->id + 1;
    if (a->producer && b->producer && !strcmp(a->producer->type, b->producer->type) && a->producer_index == b->producer_index)
        same_type(d, a, b, depth);
    else
        other_type(d, a, b, depth);
}

/* ---- functions */
static const assay_mil_value *named(assay_mil_value *const *list, uint32_t n, const char *name) {
    for (uint32_t i = 0; i < n; i++)
        if (!strcmp(list[i]->name, name)) return list[i];
    return NULL;
}

/* Values that only one side has, and those of another type. */
static void interface(differ *d, const char *what, assay_mil_value *const *a, uint32_t n, assay_mil_value *const *b, uint32_t m) {
    for (int turn = 0; turn < 2; turn++)
        for (uint32_t i = 0; i < (turn ? m : n); i++) {
            const assay_mil_value *v = turn ? b[i] : a[i], *w = turn ? named(a, n, v->name) : named(b, m, v->name);
            if (w && (turn || assay_type_equal(v->type, w->type))) continue;
            char *where = assay_xprintf("function %s, %s '%s'", d->a.f->name, what, v->name), *tv = value_text(v),
                 *tw = w ? value_text(w) : NULL;
            row(d->rows, where, turn ? tw : tv, turn ? tv : tw);
            free(where);
            free(tv);
            free(tw);
        }
}

static void functions(const assay_mil_function *a, const assay_mil_function *b, assay_json *rows) {
    differ d = {.a = side_of(a), .b = side_of(b), .paired = assay_xcalloc(a->n_values + 1u, sizeof(uint32_t)), .rows = rows};
    char *where = assay_xprintf("function %s, opset", a->name);
    if (!assay_streq(a->opset, b->opset)) row(rows, where, a->opset, b->opset);
    free(where);
    interface(&d, "input", a->inputs, a->n_inputs, b->inputs, b->n_inputs);
    interface(&d, "output", a->block->outputs, a->block->n_outputs, b->block->outputs, b->block->n_outputs);
    for (uint32_t i = 0; i < a->block->n_outputs; i++) {
        const assay_mil_value *v = a->block->outputs[i], *w = named(b->block->outputs, b->block->n_outputs, v->name);
        d.output = v->name;
        if (w) walk(&d, v, w, 0);
    }
    side_free(&d.a);
    side_free(&d.b);
    free(d.paired);
}

void assay_program_diff(const assay_program *a, const assay_program *b, assay_json *rows) {
    for (uint32_t i = 0; i < a->n_functions; i++) {
        const assay_mil_function *f = a->functions[i], *g = NULL;
        for (uint32_t k = 0; k < b->n_functions && !g; k++)
            if (!strcmp(f->name, b->functions[k]->name)) g = b->functions[k];
        if (g)
            functions(f, g, rows);
        else
            row(rows, "function", f->name, NULL);
    }
    for (uint32_t i = 0; i < b->n_functions; i++) {
        bool found = false;
        for (uint32_t k = 0; k < a->n_functions; k++) found |= !strcmp(a->functions[k]->name, b->functions[i]->name);
        if (!found) row(rows, "function", NULL, b->functions[i]->name);
    }
}
