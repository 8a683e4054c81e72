/* MIL text of a program, in the later dialect (bare scalars). Arguments and attributes stand in name order, so that two prints
 * can be compared line by line. Constants of a weight file stand as references to it. */
#include "program/internal.h"
#include "program/optable.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct writer { assay_buf *b; assay_error *err; assay_status status; } writer;

/* ---- names */
static void put_name(writer *w, const char *name) {
    bool ok = isalpha((unsigned char)*name) || *name == '_';
    for (const char *c = name; *c && ok; c++) ok = isalnum((unsigned char)*c) || *c == '_' || *c == '@';
    if (!ok && !w->status) w->status = assay_fail(w->err, ASSAY_E_UNSUPPORTED, "'%s' is no name that MIL text can hold", name);
    assay_buf_str(w->b, name);
}

static void put_string(assay_buf *b, const char *s) {
    assay_buf_char(b, '"');
    for (; *s; s++) {
        if (*s == '"' || *s == '\\') assay_buf_char(b, '\\');
        if (*s == '\n') assay_buf_str(b, "\\n");
        else assay_buf_char(b, *s);
    }
    assay_buf_char(b, '"');
}

/* ---- values */
static void put_float(assay_buf *b, double v) {
    if (isnan(v)) assay_buf_str(b, "nan");
    else if (isinf(v)) assay_buf_str(b, v < 0 ? "-inf" : "inf");
    else assay_buf_printf(b, "%a", v);
}

static void put_element(writer *w, const assay_mil_const *c, uint64_t i) {
    int32_t dtype = assay_mil_to_dtype(c->type->dtype);
    if (c->kind == ASSAY_CONST_STRINGS) { put_string(w->b, c->strings[i]); return; }
    double v = assay_const_at(c, i);
    if (c->type->dtype == ASSAY_MIL_BOOL) assay_buf_str(w->b, v != 0 ? "true" : "false");
    else if (assay_dtype_is_float(dtype)) put_float(w->b, v);
    else if (c->type->dtype == ASSAY_MIL_INT64) {
        int64_t n;
        memcpy(&n, (const char *)c->data + 8 * i, sizeof n);
        assay_buf_printf(w->b, "%lld", (long long)n);
    } else if (c->type->dtype == ASSAY_MIL_UINT64) {
        uint64_t n;
        memcpy(&n, (const char *)c->data + 8 * i, sizeof n);
        assay_buf_printf(w->b, "%llu", (unsigned long long)n);
    } else assay_buf_printf(w->b, "%.0f", v);
}

static void put_nested(writer *w, const assay_mil_const *c, uint32_t axis, uint64_t *next) {
    if (axis == c->type->rank) { put_element(w, c, (*next)++); return; }
    assay_buf_char(w->b, '[');
    for (int64_t i = 0; i < c->type->dims[axis]; i++) {
        if (i) assay_buf_str(w->b, ", ");
        put_nested(w, c, axis + 1, next);
    }
    assay_buf_char(w->b, ']');
}

static void put_value(writer *w, const assay_mil_const *c);

static void put_items(writer *w, const assay_mil_const *c) {
    int32_t kind = c->type->kind;
    assay_buf_char(w->b, kind == ASSAY_TYPE_DICT ? '{' : kind == ASSAY_TYPE_TUPLE ? '(' : '[');
    for (uint64_t i = 0; i < c->n_items; i++) {
        bool pair = kind == ASSAY_TYPE_DICT;
        if (i) assay_buf_str(w->b, ", ");
        if (pair && i % 2 == 0) assay_buf_char(w->b, '{');
        put_value(w, c->items[i]);
        if (pair && i % 2 == 1) assay_buf_char(w->b, '}');
    }
    assay_buf_char(w->b, kind == ASSAY_TYPE_DICT ? '}' : kind == ASSAY_TYPE_TUPLE ? ')' : ']');
}

static void put_value(writer *w, const assay_mil_const *c) {
    uint64_t next = 0;
    if (c->kind == ASSAY_CONST_ITEMS) put_items(w, c);
    else if (c->blob_file) {
        assay_buf_str(w->b, "BLOBFILE(path = string(");
        put_string(w->b, c->blob_file);
        assay_buf_printf(w->b, "), offset = uint64(%llu))", (unsigned long long)c->blob_offset);
    } else if (c->type->dtype == ASSAY_MIL_FP8E4M3 || c->type->dtype == ASSAY_MIL_FP8E5M2) {
        if (!w->status) w->status = assay_fail(w->err, ASSAY_E_UNSUPPORTED, "an immediate value of type %s cannot stand in MIL text", assay_mil_dtype_name(c->type->dtype));
    } else put_nested(w, c, 0, &next);
}

static void put_typed(writer *w, const assay_mil_const *c) {
    assay_type_print(w->b, c->type);
    assay_buf_char(w->b, '(');
    put_value(w, c);
    assay_buf_char(w->b, ')');
}

static int attr_order(const void *a, const void *b) { return strcmp(((const assay_mil_attr *)a)->key, ((const assay_mil_attr *)b)->key); }
static int arg_order(const void *a, const void *b) { return strcmp(((const assay_mil_arg *)a)->key, ((const assay_mil_arg *)b)->key); }

static void put_attrs(writer *w, const assay_mil_attr *attrs, uint32_t n) {
    assay_mil_attr *sorted = assay_xcalloc(n + 1, sizeof *sorted);
    if (n) memcpy(sorted, attrs, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, attr_order);
    assay_buf_char(w->b, '[');
    for (uint32_t i = 0; i < n; i++) {
        if (i) assay_buf_str(w->b, ", ");
        put_name(w, sorted[i].key);
        assay_buf_str(w->b, " = ");
        put_typed(w, sorted[i].value);
    }
    assay_buf_char(w->b, ']');
    free(sorted);
}

/* ---- ops and blocks */
static void put_params(writer *w, assay_mil_value *const *values, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        if (i) assay_buf_str(w->b, ", ");
        assay_type_print(w->b, values[i]->type);
        assay_buf_char(w->b, ' ');
        put_name(w, values[i]->name);
    }
}

static void put_arg(writer *w, const assay_mil_arg *a) {
    put_name(w, a->key);
    assay_buf_str(w->b, " = ");
    if (a->n != 1) assay_buf_char(w->b, '(');
    for (uint32_t i = 0; i < a->n; i++) {
        if (i) assay_buf_str(w->b, ", ");
        if (a->items[i].literal) put_typed(w, a->items[i].literal);
        else put_name(w, a->items[i].value->name);
    }
    if (a->n != 1) assay_buf_char(w->b, ')');
}

static void put_block(writer *w, const assay_mil_block *b, int depth);

static void put_op(writer *w, const assay_mil_op *op, int depth) {
    assay_buf_printf(w->b, "%*s", 4 * depth, "");
    put_params(w, op->outs, op->n_outs);
    if (op->n_outs) assay_buf_str(w->b, " = ");
    put_name(w, op->type);
    if (op->opset) assay_buf_printf(w->b, "<%s>", op->opset);
    assay_mil_arg *sorted = assay_xcalloc(op->n_args + 1, sizeof *sorted);
    if (op->n_args) memcpy(sorted, op->args, op->n_args * sizeof *sorted);
    qsort(sorted, op->n_args, sizeof *sorted, arg_order);
    assay_buf_char(w->b, '(');
    for (uint32_t i = 0; i < op->n_args; i++) {
        if (i) assay_buf_str(w->b, ", ");
        put_arg(w, &sorted[i]);
    }
    assay_buf_char(w->b, ')');
    free(sorted);
    if (op->n_attrs) put_attrs(w, op->attrs, op->n_attrs);
    for (uint32_t i = 0; i < op->n_blocks; i++) {
        assay_buf_char(w->b, ' ');
        put_block(w, op->blocks[i], depth + 1);
    }
    assay_buf_str(w->b, ";\n");
}

static void put_block(writer *w, const assay_mil_block *b, int depth) {
    if (b->n_inputs) {
        assay_buf_char(w->b, '(');
        put_params(w, b->inputs, b->n_inputs);
        assay_buf_str(w->b, ") ");
    }
    assay_buf_str(w->b, "{\n");
    for (uint32_t i = 0; i < b->n_ops; i++) put_op(w, b->ops[i], depth + 1);
    assay_buf_printf(w->b, "%*s} -> (", 4 * depth, "");
    for (uint32_t i = 0; i < b->n_outputs; i++) {
        if (i) assay_buf_str(w->b, ", ");
        put_name(w, b->outputs[i]->name);
    }
    assay_buf_char(w->b, ')');
}

static void put_function(writer *w, const assay_mil_function *f) {
    assay_buf_str(w->b, "    func ");
    put_name(w, f->name);
    assay_buf_char(w->b, '<');
    const char *target = assay_opset_target(assay_opset_rank(f->opset));
    for (const char *c = target ? target : f->opset; *c; c++) assay_buf_char(w->b, (char)tolower((unsigned char)*c));
    assay_buf_str(w->b, ">(");
    put_params(w, f->inputs, f->n_inputs);
    assay_buf_str(w->b, ") ");
    if (f->n_attrs) {
        put_attrs(w, f->attrs, f->n_attrs);
        assay_buf_char(w->b, ' ');
    }
    put_block(w, f->block, 1);
    assay_buf_str(w->b, ";\n");
}

assay_status assay_program_write_mil(const assay_program *p, assay_buf *out, assay_error *err) {
    writer w = { .b = out, .err = err };
    assay_buf_str(out, "program(1.3)\n");
    put_attrs(&w, p->attrs, p->n_attrs);
    assay_buf_str(out, "\n{\n");
    for (uint32_t i = 0; i < p->n_functions; i++) put_function(&w, p->functions[i]);
    assay_buf_str(out, "}\n");
    return w.status;
}
