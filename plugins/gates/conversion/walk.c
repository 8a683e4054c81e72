/* Walks along the data flow: from an operand back to its projections, from a result on to the outputs. */
#include "conversion.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool conversion_type_is(const assay_program_1 *p, const assay_p_op *op, const char *type) {
    return op && !strcmp(p->op_type(op), type);
}

/* Computed once and for all: a const, or a constexpr that decodes one. */
static bool is_constant_value(const assay_program_1 *p, const assay_p_value *v) {
    const assay_p_op *op = v ? p->value_producer(v) : NULL;
    return op && (!strcmp(p->op_type(op), "const") || !strncmp(p->op_type(op), "constexpr_", 10));
}

bool conversion_arg_is_constant(const assay_program_1 *p, const assay_p_op *op, const char *key, uint32_t i) {
    if (i >= p->op_arg_count(op, key)) return false;
    const assay_p_value *v = p->op_arg(op, key, i);
    return !v || is_constant_value(p, v); /* NULL: a literal */
}

/* The two operands of a product by position, whatever their parameters are called. */
static bool operand_keys(const assay_program_1 *p, const assay_p_op *op, const char *keys[2], uint32_t at[2]) {
    bool matmul = conversion_type_is(p, op, "matmul"), einsum = conversion_type_is(p, op, "einsum");
    if (!matmul && !einsum) return false;
    keys[0] = matmul ? "x" : "values";
    keys[1] = matmul ? "y" : "values";
    at[0] = 0;
    at[1] = matmul ? 0 : 1;
    return p->op_arg_count(op, keys[0]) > at[0] && p->op_arg_count(op, keys[1]) > at[1];
}

bool conversion_is_projection(const assay_program_1 *p, const assay_p_op *op) {
    const char *keys[2];
    uint32_t at[2];
    if (conversion_type_is(p, op, "linear") || conversion_type_is(p, op, "conv"))
        return conversion_arg_is_constant(p, op, "weight", 0);
    if (!operand_keys(p, op, keys, at)) return false;
    return conversion_arg_is_constant(p, op, keys[0], at[0]) != conversion_arg_is_constant(p, op, keys[1], at[1]);
}

bool conversion_is_product(const assay_program_1 *p, const assay_p_op *op, const assay_p_value **a, const assay_p_value **b) {
    const char *keys[2];
    uint32_t at[2];
    if (!operand_keys(p, op, keys, at)) return false;
    if (conversion_arg_is_constant(p, op, keys[0], at[0]) || conversion_arg_is_constant(p, op, keys[1], at[1])) return false;
    if (a) *a = p->op_arg(op, keys[0], at[0]);
    if (b) *b = p->op_arg(op, keys[1], at[1]);
    return true;
}

/* Where a walk ends: beyond these ops the values are something else than the attention's own operand or scores. */
static bool is_barrier(const assay_program_1 *p, const assay_p_op *op) {
    static const char *const types[] = {"linear", "conv", "matmul", "einsum", "softmax", ATTENTION_OP};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (conversion_type_is(p, op, types[i])) return true;
    return false;
}

/* Moves, joins or re-reads elements without changing one. */
static bool is_movement(const assay_program_1 *p, const assay_p_op *op) {
    static const char *const types[] = {"cast", "concat", "split", "stack", "slice_by_index", "slice_by_size", "identity"};
    if (p->op_is_layout(op)) return true;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (conversion_type_is(p, op, types[i])) return true;
    return false;
}

/* ---- a set of pointers in the order they were met */
typedef struct queue {
    const void **items;
    size_t len, cap, next;
} queue;

static void push(queue *q, const void *item) {
    for (size_t i = 0; item && i < q->len; i++)
        if (q->items[i] == item) return;
    if (!item) return;
    if (q->len == q->cap) {
        size_t cap = q->cap ? 2 * q->cap : 64;
        const void **grown = realloc(q->items, cap * sizeof *grown);
        if (!grown) return; /* the walk ends early: less is found, nothing is invented */
        q->items = grown;
        q->cap = cap;
    }
    q->items[q->len++] = item;
}

static void push_computed_inputs(const assay_program_1 *p, const assay_p_op *op, queue *q) {
    for (uint32_t k = 0; k < p->op_key_count(op); k++) {
        const char *key = p->op_key(op, k);
        for (uint32_t i = 0; i < p->op_arg_count(op, key); i++)
            if (!conversion_arg_is_constant(p, op, key, i)) push(q, p->op_arg(op, key, i));
    }
}

/* ---- scales */
/* The one value of a constant whose elements are all equal; NaN when they are not, or when it is no constant. */
static double uniform_constant(const assay_program_1 *p, const assay_p_op *op, const char *key) {
    uint64_t n = p->arg_const_count(op, key);
    double first = n ? p->arg_const_at(op, key, 0) : NAN;
    for (uint64_t i = 1; i < n; i++)
        if (!(p->arg_const_at(op, key, i) == first)) return NAN;
    return first;
}

static double scale_of(const assay_program_1 *p, const assay_p_op *op) {
    if (conversion_type_is(p, op, "mul")) {
        double x = uniform_constant(p, op, "x");
        return isnan(x) ? uniform_constant(p, op, "y") : x;
    }
    if (conversion_type_is(p, op, "real_div")) return 1 / uniform_constant(p, op, "y");
    return NAN;
}

static void note_scale(const assay_program_1 *p, const assay_p_op *op, trace *t) {
    double f = scale_of(p, op);
    if (isnan(f) || t->n_scales == FOUND_MAX) return;
    t->scales[t->n_scales] = op;
    t->factors[t->n_scales++] = f;
}

/* ---- the walks */
void conversion_trace(const assay_program_1 *p, const assay_p_value *v, trace *out) {
    queue q = {0};
    memset(out, 0, sizeof *out);
    for (push(&q, v); q.next < q.len; q.next++) {
        const assay_p_value *at = q.items[q.next];
        const assay_p_op *op = p->value_producer(at);
        if (!op) {
            if (!out->input) out->input = p->value_name(at);
        } else if (conversion_is_projection(p, op)) {
            if (out->n_projections < FOUND_MAX) out->projections[out->n_projections++] = op;
        } else if (!is_barrier(p, op)) {
            note_scale(p, op, out);
            push_computed_inputs(p, op, &q);
        }
    }
    free(q.items);
}

const assay_p_op *conversion_product_behind(const assay_program_1 *p, const assay_p_value *v, trace *scales) {
    queue q = {0};
    const assay_p_op *found = NULL;
    memset(scales, 0, sizeof *scales);
    for (push(&q, v); !found && q.next < q.len; q.next++) {
        const assay_p_op *op = p->value_producer(q.items[q.next]);
        if (!op) continue;
        if (conversion_is_product(p, op, NULL, NULL)) {
            found = op;
        } else if (!is_barrier(p, op)) {
            note_scale(p, op, scales);
            push_computed_inputs(p, op, &q);
        }
    }
    free(q.items);
    return found;
}

static void push_outputs(const assay_program_1 *p, const assay_p_op *op, queue *q) {
    for (uint32_t i = 0; i < p->op_output_count(op); i++) push(q, p->op_output(op, i));
}

const assay_p_op *conversion_product_ahead(const assay_program_1 *p, const assay_p_value *v, const assay_p_value **other) {
    queue q = {0};
    const assay_p_op *found = NULL;
    for (push(&q, v); !found && q.next < q.len; q.next++) {
        const assay_p_value *at = q.items[q.next], *a, *b;
        for (uint32_t i = 0; !found && i < p->value_user_count(at); i++) {
            const assay_p_op *op = p->value_user(at, i);
            if (conversion_is_product(p, op, &a, &b)) {
                found = op;
                *other = a == at ? b : a;
            } else if (!is_barrier(p, op)) {
                push_outputs(p, op, &q);
            }
        }
    }
    free(q.items);
    return found;
}

static bool is_output(const assay_program_1 *p, const assay_p_function *f, const assay_p_value *v) {
    for (uint32_t i = 0; i < p->output_count(f); i++)
        if (p->output(f, i) == v) return true;
    return false;
}

bool conversion_is_exposed(const assay_program_1 *p, const assay_p_function *f, const assay_p_value *v) {
    queue q = {0};
    bool exposed = false;
    for (push(&q, v); !exposed && q.next < q.len; q.next++) {
        const assay_p_value *at = q.items[q.next];
        exposed = is_output(p, f, at);
        for (uint32_t i = 0; !exposed && i < p->value_user_count(at); i++)
            if (is_movement(p, p->value_user(at, i))) push_outputs(p, p->value_user(at, i), &q);
    }
    free(q.items);
    return exposed;
}
