/* The structural digest: programs that do the same ops on the same data have the same digest, whatever their inner values are
 * called, however inputs, outputs and attributes are ordered and wherever their constants are stored. The names of a function's
 * inputs and outputs are its interface and count. Each value gets the hash of what it is computed from; the program's digest
 * covers outputs, effects and the multiset of all ops, function by function. */
#include "program/internal.h"
#include "base/digest.h"
#include <stdlib.h>
#include <string.h>

typedef struct hash { char hex[65]; } hash;
typedef struct hasher { hash *values; hash *ops; size_t n_ops, cap_ops; hash effect; uint32_t depth; } hasher;

static void finish(assay_buf *b, hash *out) {
    assay_sha256_of(b->data ? b->data : "", b->len, out->hex);
    assay_buf_free(b);
}

static void add_const(assay_buf *b, const assay_mil_const *c) {
    char hex[65];
    assay_const_digest(c, hex);
    assay_buf_str(b, "const ");
    assay_type_print(b, c->type);
    if (c->absent) assay_buf_printf(b, " absent %llu", (unsigned long long)c->blob_offset);
    assay_buf_printf(b, " %s\n", hex);
}

static void add_binding(hasher *h, assay_buf *b, const assay_mil_binding *in) {
    const assay_mil_const *c = in->literal ? in->literal : assay_value_const(in->value);
    if (c) add_const(b, c);
    else assay_buf_printf(b, "%s\n", h->values[in->value->id].hex);
}

/* One line set per parameter, inputs and attributes alike, in key order; "name" is not a parameter. */
static int by_key(const void *a, const void *b) {
    const char *const *x = a, *const *y = b;
    return strcmp(*x, *y);
}

static void add_params(hasher *h, assay_buf *b, const assay_mil_op *op) {
    size_t n = 0;
    const char **keys = assay_xcalloc(op->n_args + op->n_attrs + 1, sizeof *keys);
    for (uint32_t i = 0; i < op->n_args; i++) keys[n++] = op->args[i].key;
    for (uint32_t i = 0; i < op->n_attrs; i++)
        if (strcmp(op->attrs[i].key, "name")) keys[n++] = op->attrs[i].key;
    qsort(keys, n, sizeof *keys, by_key);
    for (size_t i = 0; i < n; i++) {
        const assay_mil_arg *a = assay_op_arg(op, keys[i]);
        assay_buf_printf(b, "param %s\n", keys[i]);
        for (uint32_t k = 0; a && k < a->n; k++) add_binding(h, b, &a->items[k]);
        if (!a) add_const(b, assay_op_attr(op, keys[i]));
    }
    free(keys);
}

/* Reading and writing a state happens in program order: such ops carry the hash of the effects before them. */
static bool touches_state(const assay_mil_op *op) {
    if (op->n_outs == 0) return true;
    for (uint32_t i = 0; i < op->n_args; i++)
        for (uint32_t k = 0; k < op->args[i].n; k++)
            if (op->args[i].items[k].value && op->args[i].items[k].value->type->kind == ASSAY_TYPE_STATE) return true;
    return false;
}

static void hash_block(hasher *h, const assay_mil_block *b, hash *out);

static void hash_op(hasher *h, const assay_mil_op *op) {
    assay_buf b = { 0 };
    hash self;
    assay_buf_printf(&b, "op %s\n", op->type);
    add_params(h, &b, op);
    for (uint32_t i = 0; i < op->n_blocks; i++) {
        hash inner;
        hash_block(h, op->blocks[i], &inner);
        assay_buf_printf(&b, "block %s\n", inner.hex);
    }
    bool effect = touches_state(op);
    if (effect) assay_buf_printf(&b, "after %s\n", h->effect.hex);
    for (uint32_t i = 0; i < op->n_outs; i++) {
        assay_buf_str(&b, "makes ");
        assay_type_print(&b, op->outs[i]->type);
        assay_buf_char(&b, '\n');
    }
    finish(&b, &self);
    if (effect) h->effect = self;
    for (uint32_t i = 0; i < op->n_outs; i++) {
        assay_buf_printf(&b, "%s output %u", self.hex, i);
        finish(&b, &h->values[op->outs[i]->id]);
    }
    if (h->n_ops == h->cap_ops) h->ops = assay_xrealloc(h->ops, (h->cap_ops = h->cap_ops ? 2 * h->cap_ops : 64) * sizeof *h->ops);
    h->ops[h->n_ops++] = self;
}

/* A function's inputs are told apart by name, a nested block's by position. */
static void hash_inputs(hasher *h, assay_mil_value *const *values, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        assay_buf b = { 0 };
        if (h->depth) assay_buf_printf(&b, "input %u at depth %u ", i, h->depth);
        else assay_buf_printf(&b, "input %s ", values[i]->name);
        assay_type_print(&b, values[i]->type);
        finish(&b, &h->values[values[i]->id]);
    }
}

static int by_hash(const void *a, const void *b) { return strcmp(((const hash *)a)->hex, ((const hash *)b)->hex); }

/* Outputs of the function (depth 1) in name order with their names, of a nested block in their own order. */
static void add_outputs(hasher *h, assay_buf *b, const assay_mil_block *block) {
    hash *lines = assay_xcalloc(block->n_outputs + 1, sizeof *lines);
    for (uint32_t i = 0; i < block->n_outputs; i++) {
        assay_buf one = { 0 };
        assay_mil_binding in = { .value = block->outputs[i] };
        if (h->depth == 1) assay_buf_printf(&one, "output %s ", in.value->name);
        add_binding(h, &one, &in);
        finish(&one, &lines[i]);
    }
    if (h->depth == 1) qsort(lines, block->n_outputs, sizeof *lines, by_hash);
    for (uint32_t i = 0; i < block->n_outputs; i++) assay_buf_printf(b, "%s\n", lines[i].hex);
    free(lines);
}

/* Constants are part of the ops that use them. What the block's own ops left in h->ops goes into the block's hash. */
static void hash_block(hasher *h, const assay_mil_block *block, hash *out) {
    size_t first = h->n_ops;
    h->depth++;
    hash_inputs(h, block->inputs, block->n_inputs);
    for (uint32_t i = 0; i < block->n_ops; i++)
        if (!assay_op_attr(block->ops[i], "val") || strcmp(block->ops[i]->type, "const")) hash_op(h, block->ops[i]);
    assay_buf b = { 0 };
    add_outputs(h, &b, block);
    if (h->n_ops > first) qsort(h->ops + first, h->n_ops - first, sizeof *h->ops, by_hash);
    for (size_t i = first; i < h->n_ops; i++) assay_buf_printf(&b, "has %s\n", h->ops[i].hex);
    finish(&b, out);
    h->n_ops = first;
    h->depth--;
}

static void hash_function(const assay_mil_function *f, hash *out) {
    hasher h = { .values = assay_xcalloc(f->n_values + 1, sizeof *h.values) };
    hash_inputs(&h, f->inputs, f->n_inputs);
    hash body;
    hash_block(&h, f->block, &body);
    assay_buf b = { 0 };
    assay_buf_printf(&b, "function %s opset %s\n%s\n", f->name, f->opset, body.hex);
    hash *inputs = assay_xcalloc(f->n_inputs + 1, sizeof *inputs);
    for (uint32_t i = 0; i < f->n_inputs; i++) inputs[i] = h.values[f->inputs[i]->id];
    qsort(inputs, f->n_inputs, sizeof *inputs, by_hash);
    for (uint32_t i = 0; i < f->n_inputs; i++) assay_buf_printf(&b, "%s\n", inputs[i].hex);
    free(inputs);
    finish(&b, out);
    free(h.values);
    free(h.ops);
}

void assay_function_hashes(const assay_mil_function *f, char (*out)[65]) {
    hasher h = {.values = assay_xcalloc(f->n_values + 1, sizeof *h.values)};
    hash body;
    hash_inputs(&h, f->inputs, f->n_inputs);
    hash_block(&h, f->block, &body);
    for (uint32_t i = 0; i < f->n_values; i++) memcpy(out[i], h.values[i].hex, sizeof out[i]);
    free(h.values);
    free(h.ops);
}

void assay_program_digest(const assay_program *p, char hex[65]) {
    hash *all = assay_xcalloc(p->n_functions + 1, sizeof *all);
    for (uint32_t i = 0; i < p->n_functions; i++) hash_function(p->functions[i], &all[i]);
    qsort(all, p->n_functions, sizeof *all, by_hash);
    assay_buf b = { 0 };
    for (uint32_t i = 0; i < p->n_functions; i++) assay_buf_printf(&b, "%s\n", all[i].hex);
    hash out;
    finish(&b, &out);
    memcpy(hex, out.hex, sizeof out.hex);
    free(all);
}
