/* Questions about a program: functions, arguments, constants, and walks through ops that only move elements. */
#include "program/optable.h"
#include "program/internal.h"
#include "base/names.h"
#include <string.h>

assay_mil_function *assay_program_function(const assay_program *p, const char *name) {
    if (!name) name = p->default_function ? p->default_function : "main";
    for (uint32_t i = 0; i < p->n_functions; i++)
        if (!strcmp(p->functions[i]->name, name)) return p->functions[i];
    return NULL;
}

const assay_mil_arg *assay_op_arg(const assay_mil_op *op, const char *key) {
    for (uint32_t i = 0; i < op->n_args; i++)
        if (!strcmp(op->args[i].key, key)) return &op->args[i];
    return NULL;
}

const assay_mil_value *assay_op_in(const assay_mil_op *op, const char *key) {
    const assay_mil_arg *a = assay_op_arg(op, key);
    return a && a->n ? a->items[0].value : NULL;
}

const assay_mil_const *assay_op_attr(const assay_mil_op *op, const char *key) {
    for (uint32_t i = 0; i < op->n_attrs; i++)
        if (!strcmp(op->attrs[i].key, key)) return op->attrs[i].value;
    return NULL;
}

const assay_mil_const *assay_value_const(const assay_mil_value *v) {
    if (!v || !v->producer || strcmp(v->producer->type, "const")) return NULL;
    return assay_op_attr(v->producer, "val");
}

const assay_mil_const *assay_op_const(const assay_mil_op *op, const char *key) {
    const assay_mil_arg *a = assay_op_arg(op, key);
    if (!a) return assay_op_attr(op, key);
    if (a->n == 0) return NULL;
    return a->items[0].literal ? a->items[0].literal : assay_value_const(a->items[0].value);
}

/* The operand that a layout op re-reads: its first parameter in the op table, else its first argument. */
static const assay_mil_value *layout_source(const assay_mil_op *op) {
    const assay_op_def *def = assay_optable_find(op->type);
    if (!def || !(def->flags & ASSAY_OP_LAYOUT)) return NULL;
    if (def->params && def->params[0].name) return assay_op_in(op, def->params[0].name);
    return op->n_args && op->args[0].n ? op->args[0].items[0].value : NULL;
}

const assay_mil_value *assay_value_skip_layout(const assay_mil_value *v) {
    while (v && v->producer) {
        const assay_mil_value *from = layout_source(v->producer);
        if (!from) break;
        v = from;
    }
    return v;
}
