/* The neighbourhood of an op as a Graphviz graph: what it is made from and what uses it, a few steps in both directions. */
#include "cli/inspect_dot.h"
#include "base/names.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 3 };

/* The op that makes the value `name`, or whose "name" attribute it is. */
static const assay_mil_op *find(const assay_mil_function *f, const char *name) {
    for (uint32_t i = 0; i < f->n_all_ops; i++) {
        const assay_mil_op *op = f->all_ops[i];
        const assay_mil_const *attr = assay_op_attr(op, "name");
        for (uint32_t k = 0; k < op->n_outs; k++)
            if (!strcmp(op->outs[k]->name, name)) return op;
        if (attr && attr->kind == ASSAY_CONST_STRINGS && attr->n_strings == 1 && !strcmp(attr->strings[0], name)) return op;
    }
    return NULL;
}

/* Without arguments: a constant or the like; its users would draw a star around it. */
static bool is_leaf(const assay_mil_op *op) { return op->n_args == 0 && op->n_blocks == 0; }

typedef struct walk {
    const assay_mil_function *f;
    uint8_t *seen; /* by place in all_ops: steps left + 1 when it was reached */
} walk;

static size_t place(const walk *w, const assay_mil_op *op) {
    for (uint32_t i = 0; i < w->f->n_all_ops; i++)
        if (w->f->all_ops[i] == op) return i;
    return w->f->n_all_ops;
}

static void reach(walk *w, const assay_mil_op *op, int left, bool back) {
    size_t at = place(w, op);
    if (at == w->f->n_all_ops || w->seen[at] > left) return;
    w->seen[at] = (uint8_t)(left + 1);
    if (!left) return;
    for (uint32_t a = 0; back && a < op->n_args; a++)
        for (uint32_t i = 0; i < op->args[a].n; i++) {
            const assay_mil_value *v = op->args[a].items[i].value;
            if (v && v->producer && !is_leaf(v->producer)) reach(w, v->producer, left - 1, back);
        }
    for (uint32_t k = 0; !back && k < op->n_outs; k++)
        for (uint32_t i = 0; i < op->outs[k]->n_users; i++) reach(w, op->outs[k]->users[i], left - 1, back);
}

static void quoted(const char *s) {
    for (; *s; s++) {
        if (*s == '"' || *s == '\\') putchar('\\');
        putchar(*s);
    }
}

static void draw_op(const assay_mil_op *op, size_t at, bool chosen) {
    char type[96];
    printf("  op%zu [shape=box%s%s, label=\"%s", at, chosen ? ", penwidth=3" : "", op->reachable ? "" : ", style=dashed",
           op->type);
    for (uint32_t k = 0; k < op->n_outs && k < 4; k++) {
        printf("\\n");
        quoted(op->outs[k]->name);
        printf(" ");
        quoted(assay_type_text(op->outs[k]->type, type));
    }
    printf("\"];\n");
}

static void draw_edges(const walk *w, const assay_mil_op *op, size_t at) {
    for (uint32_t a = 0; a < op->n_args; a++)
        for (uint32_t i = 0; i < op->args[a].n; i++) {
            const assay_mil_value *v = op->args[a].items[i].value;
            size_t from = v && v->producer ? place(w, v->producer) : w->f->n_all_ops;
            if (from < w->f->n_all_ops && w->seen[from])
                printf("  op%zu -> op%zu [label=\"%s\"];\n", from, at, op->args[a].key);
            else if (v && !v->producer) {
                printf("  \"");
                quoted(v->name);
                printf("\" -> op%zu [label=\"%s\"];\n", at, op->args[a].key);
            }
        }
}

static assay_status unknown(const assay_program *p, const char *name, assay_error *err) {
    assay_ptrs names = {0};
    char hint[96];
    for (uint32_t i = 0; i < p->n_functions; i++)
        for (uint32_t k = 0; k < p->functions[i]->n_all_ops; k++) {
            const assay_mil_op *op = p->functions[i]->all_ops[k];
            if (op->n_outs) assay_ptrs_push(&names, (void *)(uintptr_t)op->outs[0]->name);
        }
    assay_did_you_mean(hint, name, (const char *const *)names.items, names.len);
    assay_ptrs_free(&names);
    return assay_fail(err, ASSAY_E_INPUT, "%s: no op makes a value '%s'%s", p->source, name, hint);
}

assay_status assay_inspect_dot(const assay_program *p, const char *name, assay_error *err) {
    for (uint32_t i = 0; i < p->n_functions; i++) {
        walk w = {.f = p->functions[i]};
        const assay_mil_op *chosen = find(w.f, name);
        if (!chosen) continue;
        w.seen = assay_xcalloc(w.f->n_all_ops + 1u, 1);
        reach(&w, chosen, STEPS, true);
        w.seen[place(&w, chosen)] = 0; /* once more, the other way */
        reach(&w, chosen, STEPS, false);
        printf("digraph \"");
        quoted(w.f->name);
        printf("\" {\n");
        for (uint32_t k = 0; k < w.f->n_all_ops; k++)
            if (w.seen[k]) draw_op(w.f->all_ops[k], k, w.f->all_ops[k] == chosen);
        for (uint32_t k = 0; k < w.f->n_all_ops; k++)
            if (w.seen[k]) draw_edges(&w, w.f->all_ops[k], k);
        printf("}\n");
        free(w.seen);
        return ASSAY_OK;
    }
    return unknown(p, name, err);
}
