/* The interface "assay.program/1": read-only questions of gates, answered from the program in memory. */
#include "program/iface.h"
#include "program/optable.h"
#include "program/internal.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The opaque types of the border are the records of this part. */
#define FUNC(p) ((const assay_mil_function *)(const void *)(p))
#define OP(p) ((const assay_mil_op *)(const void *)(p))
#define VALUE(p) ((const assay_mil_value *)(const void *)(p))
#define OUT_FUNC(p) ((const assay_p_function *)(const void *)(p))
#define OUT_OP(p) ((const assay_p_op *)(const void *)(p))
#define OUT_VALUE(p) ((const assay_p_value *)(const void *)(p))

/* ---- program and functions */
static int32_t spec_version(const assay_program *p) { return p->spec_version; }
static uint32_t function_count(const assay_program *p) { return p->n_functions; }
static const assay_p_function *function(const assay_program *p, const char *name) { return OUT_FUNC(assay_program_function(p, name)); }
static const assay_p_function *function_at(const assay_program *p, uint32_t i) { return i < p->n_functions ? OUT_FUNC(p->functions[i]) : NULL; }
static const char *function_name(const assay_p_function *f) { return FUNC(f)->name; }
static const char *function_opset(const assay_p_function *f) { return FUNC(f)->opset; }
static uint32_t input_count(const assay_p_function *f) { return FUNC(f)->n_inputs; }
static uint32_t output_count(const assay_p_function *f) { return FUNC(f)->block->n_outputs; }
static uint32_t op_count(const assay_p_function *f) { return FUNC(f)->n_all_ops; }
static const assay_p_op *op_at(const assay_p_function *f, uint32_t i) { return i < FUNC(f)->n_all_ops ? OUT_OP(FUNC(f)->all_ops[i]) : NULL; }

static const assay_p_value *input(const assay_p_function *f, uint32_t i) {
    return i < FUNC(f)->n_inputs ? OUT_VALUE(FUNC(f)->inputs[i]) : NULL;
}

static const assay_p_value *output(const assay_p_function *f, uint32_t i) {
    return i < FUNC(f)->block->n_outputs ? OUT_VALUE(FUNC(f)->block->outputs[i]) : NULL;
}

static const char *metadata(const assay_program *p, const char *key) {
    for (uint32_t i = 0; i < p->n_metadata; i++)
        if (!strcmp(p->metadata[i].key, key)) return p->metadata[i].value;
    return NULL;
}

/* ---- ops */
static const char *op_type(const assay_p_op *op) { return OP(op)->type; }
static int op_reachable(const assay_p_op *op) { return OP(op)->reachable; }
static uint32_t op_output_count(const assay_p_op *op) { return OP(op)->n_outs; }
static const assay_p_value *op_output(const assay_p_op *op, uint32_t i) { return i < OP(op)->n_outs ? OUT_VALUE(OP(op)->outs[i]) : NULL; }
static uint32_t op_key_count(const assay_p_op *op) { return OP(op)->n_args; }
static const char *op_key(const assay_p_op *op, uint32_t i) { return i < OP(op)->n_args ? OP(op)->args[i].key : NULL; }

static int op_is_layout(const assay_p_op *op) {
    const assay_op_def *def = assay_optable_find(OP(op)->type);
    return def && (def->flags & ASSAY_OP_LAYOUT);
}

static uint32_t op_arg_count(const assay_p_op *op, const char *key) {
    const assay_mil_arg *a = assay_op_arg(OP(op), key);
    return a ? a->n : 0;
}

static const assay_p_value *op_arg(const assay_p_op *op, const char *key, uint32_t i) {
    const assay_mil_arg *a = assay_op_arg(OP(op), key);
    return a && i < a->n ? OUT_VALUE(a->items[i].value) : NULL;
}

/* ---- values */
static const char *value_name(const assay_p_value *v) { return VALUE(v)->name; }
static const assay_p_op *value_producer(const assay_p_value *v) { return OUT_OP(VALUE(v)->producer); }
static uint32_t value_user_count(const assay_p_value *v) { return VALUE(v)->n_users; }
static const assay_p_op *value_user(const assay_p_value *v, uint32_t i) { return i < VALUE(v)->n_users ? OUT_OP(VALUE(v)->users[i]) : NULL; }
static const assay_p_value *skip_layout(const assay_p_value *v) { return OUT_VALUE(assay_value_skip_layout(VALUE(v))); }

/* The tensor type of a value; a state counts as the tensor that it wraps. */
static const assay_mil_type *tensor_type(const assay_p_value *v) {
    const assay_mil_type *t = VALUE(v)->type;
    if (t && t->kind == ASSAY_TYPE_STATE && t->n_sub == 1) t = t->sub[0];
    return t && t->kind == ASSAY_TYPE_TENSOR ? t : NULL;
}

static const char *value_dtype(const assay_p_value *v) {
    const assay_mil_type *t = tensor_type(v);
    const char *name = t ? assay_mil_dtype_name(t->dtype) : NULL;
    return name ? name : "";
}

static int32_t value_rank(const assay_p_value *v) {
    const assay_mil_type *t = tensor_type(v);
    return t ? (int32_t)t->rank : -1;
}

static int64_t value_dim(const assay_p_value *v, uint32_t axis) {
    const assay_mil_type *t = tensor_type(v);
    return t && axis < t->rank && t->dims[axis] >= 0 ? t->dims[axis] : -1;
}

/* ---- constants */
static const assay_mil_const *arg_const(const assay_p_op *op, const char *key) { return assay_op_const(OP(op), key); }

static uint64_t arg_const_count(const assay_p_op *op, const char *key) {
    const assay_mil_const *c = arg_const(op, key);
    if (!c) return 0;
    if (c->kind == ASSAY_CONST_STRINGS) return c->n_strings;
    if (c->kind == ASSAY_CONST_ITEMS) return c->n_items;
    int64_t n = assay_type_count(c->type);
    return n < 0 ? 0 : (uint64_t)n;
}

static double arg_const_at(const assay_p_op *op, const char *key, uint64_t i) {
    const assay_mil_const *c = arg_const(op, key);
    return c ? assay_const_at(c, i) : NAN;
}

static const char *arg_const_text(const assay_p_op *op, const char *key) {
    const assay_mil_const *c = arg_const(op, key);
    return c && c->kind == ASSAY_CONST_STRINGS && c->n_strings ? c->strings[0] : NULL;
}

static void arg_const_digest(const assay_p_op *op, const char *key, char hex[65]) {
    assay_const_digest(arg_const(op, key), hex);
}

static const char *arg_const_blob(const assay_p_op *op, const char *key, uint64_t *offset, int *absent) {
    const assay_mil_const *c = arg_const(op, key);
    if (offset) *offset = c ? c->blob_offset : 0;
    if (absent) *absent = c ? c->absent : 0;
    return c ? c->blob_file : NULL;
}

static const char *arg_const_type(const assay_p_op *op, const char *key, char out[96]) {
    const assay_mil_const *c = arg_const(op, key);
    out[0] = 0;
    if (!c) return out;
    if (c->type->kind != ASSAY_TYPE_TENSOR) return assay_type_text(c->type, out);
    char shape[160];
    snprintf(out, 96, "%s%.80s", assay_mil_dtype_name(c->type->dtype), assay_shape_text(c->type->rank, c->type->dims, shape));
    return out;
}

const assay_program_1 *assay_program_iface(void) {
    static const assay_program_1 table = {
        .struct_size = sizeof table, .spec_version = spec_version, .function_count = function_count, .function = function,
        .function_at = function_at, .function_name = function_name, .function_opset = function_opset, .input_count = input_count,
        .input = input, .output_count = output_count, .output = output, .op_count = op_count, .op = op_at, .op_type = op_type,
        .op_reachable = op_reachable, .op_is_layout = op_is_layout, .op_output_count = op_output_count, .op_output = op_output,
        .op_arg_count = op_arg_count, .op_arg = op_arg, .op_key_count = op_key_count, .op_key = op_key, .value_name = value_name,
        .value_producer = value_producer, .value_user_count = value_user_count, .value_user = value_user, .value_dtype = value_dtype,
        .value_rank = value_rank, .value_dim = value_dim, .skip_layout = skip_layout, .arg_const_count = arg_const_count,
        .arg_const_at = arg_const_at, .arg_const_text = arg_const_text, .arg_const_digest = arg_const_digest,
        .arg_const_blob = arg_const_blob, .arg_const_type = arg_const_type, .metadata = metadata,
    };
    return &table;
}
