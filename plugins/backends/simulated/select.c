/* The selectors of placement rules and faults: what they see of an op. Constants are no activations: an argument that is known
 * when compiling counts only where a selector says so. */
#include "backends/simulated/sim.h"
#include "base/names.h"
#include "program/optable.h"
#include <math.h>
#include <string.h>

int32_t assay_sim_unit(const char *name) {
    return assay_streq(name, "ane") ? ASSAY_DEV_NE : assay_streq(name, "gpu") ? ASSAY_DEV_GPU : assay_streq(name, "cpu") ? ASSAY_DEV_CPU : ASSAY_DEV_UNKNOWN;
}

const char *assay_sim_unit_name(int32_t dev) {
    return dev == ASSAY_DEV_NE ? "ane" : dev == ASSAY_DEV_GPU ? "gpu" : dev == ASSAY_DEV_CPU ? "cpu" : dev == ASSAY_DEV_NONE ? "none" : "unknown";
}

/* ---- small comparisons */

static bool in_range(const assay_json *range, double v) {
    const assay_json *gt = assay_json_get(range, "gt"), *lt = assay_json_get(range, "lt");
    return !(gt && !(v > assay_json_value(gt))) && !(lt && !(v < assay_json_value(lt)));
}

static bool among(const assay_json *names, const char *name) {
    if (assay_json_text(names)) return assay_streq(assay_json_text(names), name);
    for (const assay_json *c = assay_json_first(names); c; c = assay_json_next(c))
        if (assay_streq(assay_json_text(c), name)) return true;
    return false;
}

/* ---- walking the types of an op */

typedef bool (*type_test)(const assay_mil_type *t, const assay_json *arg);
enum { ACTIVATIONS = 1, CONSTANTS = 2 };

static const assay_mil_type *tensor_of(const assay_mil_type *t) {
    while (t && (t->kind == ASSAY_TYPE_STATE || t->kind == ASSAY_TYPE_LIST) && t->n_sub == 1) t = t->sub[0];
    return t && t->kind == ASSAY_TYPE_TENSOR ? t : NULL;
}

/* Made by a const, or decoded from constants. */
static bool is_constant(const assay_mil_value *v) { return v->producer && (strcmp(v->producer->type, "const") == 0 || strncmp(v->producer->type, "constexpr_", 10) == 0); }

static bool test(const assay_mil_type *type, type_test fn, const assay_json *arg) {
    const assay_mil_type *t = tensor_of(type);
    return t && fn(t, arg);
}

/* Is the test true of an output, or of an input of the asked kinds? */
static bool any_type(const assay_mil_op *op, int kinds, type_test fn, const assay_json *arg) {
    for (uint32_t k = 0; k < op->n_outs; k++)
        if (test(op->outs[k]->type, fn, arg)) return true;
    for (uint32_t a = 0; a < op->n_args; a++)
        for (uint32_t i = 0; i < op->args[a].n; i++) {
            const assay_mil_binding *b = &op->args[a].items[i];
            bool constant = b->literal || is_constant(b->value);
            if (!(kinds & (constant ? CONSTANTS : ACTIVATIONS))) continue;
            if (test(b->literal ? b->literal->type : b->value->type, fn, arg)) return true;
        }
    return false;
}

static bool rank_in(const assay_mil_type *t, const assay_json *range) { return in_range(range, t->rank); }
static bool dtype_among(const assay_mil_type *t, const assay_json *names) { return among(names, assay_mil_dtype_name(t->dtype)); }

static bool is_dynamic(const assay_mil_type *t, const assay_json *unused) {
    (void)unused;
    return assay_type_count(t) < 0;
}

static bool dim_in(const assay_mil_type *t, const assay_json *arg) {
    const assay_json *axes = assay_json_get(arg, "axis");
    for (uint32_t i = 0; i < t->rank; i++) {
        bool asked = !axes;
        for (const assay_json *c = assay_json_first(axes); c; c = assay_json_next(c)) {
            double axis = assay_json_value(c);
            asked |= (axis < 0 ? axis + t->rank : axis) == i;
        }
        if (asked && t->dims[i] >= 0 && in_range(arg, (double)t->dims[i])) return true;
    }
    return false;
}

/* ---- selectors that look at an argument */

static const assay_mil_type *arg_type(const assay_mil_op *op, const char *key) {
    const assay_mil_arg *a = assay_op_arg(op, key);
    if (!a || a->n == 0) return NULL;
    return tensor_of(a->items[0].literal ? a->items[0].literal->type : a->items[0].value->type);
}

static bool arg_dtypes(const assay_mil_op *op, const assay_json *map) {
    for (const assay_json *c = assay_json_first(map); c; c = assay_json_next(c)) {
        const assay_mil_type *t = arg_type(op, assay_json_key(c));
        if (!t || !dtype_among(t, c)) return false;
    }
    return true;
}

/* Ops that only move elements are no producers: the walk goes through them. */
static bool producers(const assay_mil_op *op, const assay_json *map) {
    for (const assay_json *c = assay_json_first(map); c; c = assay_json_next(c)) {
        const assay_mil_value *v = assay_op_in(op, assay_json_key(c));
        if (v) v = assay_value_skip_layout(v);
        const char *made_by = !v ? "const" : !v->producer ? "input" : is_constant(v) ? "const" : v->producer->type;
        if (!assay_op_arg(op, assay_json_key(c)) || !among(c, made_by)) return false;
    }
    return true;
}

static bool elements(const assay_mil_op *op, const assay_json *arg) {
    const assay_mil_type *t = arg_type(op, assay_json_string(arg, "arg", ""));
    int64_t n = t ? assay_type_count(t) : -1;
    return n >= 0 && in_range(arg, (double)n);
}

static bool op_count(const assay_sim_graph *g, const assay_mil_op *op, const assay_json *arg) {
    const assay_json *names = assay_json_get(arg, "op");
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->f->n_all_ops; i++) n += names ? among(names, g->f->all_ops[i]->type) : strcmp(g->f->all_ops[i]->type, op->type) == 0;
    return in_range(arg, n);
}

static bool const_weight(const assay_mil_op *op, bool wanted) {
    const assay_mil_arg *a = assay_op_arg(op, "weight");
    return a && a->n && (a->items[0].literal || is_constant(a->items[0].value)) == wanted;
}

static bool stride(const assay_mil_op *op, const assay_json *range) {
    const assay_mil_const *c = assay_op_const(op, "strides");
    int64_t n = c ? assay_type_count(c->type) : 0;
    for (int64_t i = 0; i < n; i++)
        if (in_range(range, assay_const_at(c, (uint64_t)i))) return true;
    return false;
}

static bool one(const char *key, const assay_json *v, const assay_sim_graph *g, const assay_mil_op *op, const char *on) {
    if (assay_streq(key, "op")) return among(v, op->type);
    if (assay_streq(key, "op_count")) return op_count(g, op, v);
    if (assay_streq(key, "max_rank")) return any_type(op, ACTIVATIONS, rank_in, v);
    if (assay_streq(key, "any_dtype")) return any_type(op, ACTIVATIONS | CONSTANTS, dtype_among, v);
    if (assay_streq(key, "compute_dtype")) return any_type(op, ACTIVATIONS, dtype_among, v);
    if (assay_streq(key, "arg_dtype")) return arg_dtypes(op, v);
    if (assay_streq(key, "shape")) return any_type(op, ACTIVATIONS, is_dynamic, NULL) == assay_streq(assay_json_text(v), "dynamic");
    if (assay_streq(key, "any_dim")) return any_type(op, ACTIVATIONS, dim_in, v);
    if (assay_streq(key, "elements")) return elements(op, v);
    if (assay_streq(key, "producers")) return producers(op, v);
    if (assay_streq(key, "graph_flops")) return in_range(v, g->flops);
    if (assay_streq(key, "const_weight")) return const_weight(op, assay_json_truth(v));
    if (assay_streq(key, "stride")) return stride(op, v);
    return assay_streq(key, "on") && assay_streq(assay_json_text(v), on);
}

bool assay_sim_selects(const assay_json *when, const assay_sim_graph *g, const assay_mil_op *op, const char *on) {
    for (const assay_json *c = assay_json_first(when); c; c = assay_json_next(c))
        if (!one(assay_json_key(c), c, g, op, on)) return false;
    return true;
}
