/* Finds attentions by data flow: the fused op, or product -> scale, mask, casts -> softmax -> product. A product has two computed
 * operands, so a classifier's softmax behind a layer with weights is none. Names decide nothing. */
#include "program/sites.h"
#include "program/optable.h"
#include "ops/args.h"
#include "ops/builtin.h"
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 24, AHEAD_MAX = 8, VISITS_MAX = 4096 };

static bool is(const assay_mil_op *op, const char *type) { return op && !strcmp(op->type, type); }
static bool has_flag(const assay_mil_op *op, uint32_t flag) {
    const assay_op_def *d = assay_optable_find(op->type);
    return d && (d->flags & flag);
}
/* Ops that hand elements on, changed in place or type only. */
static bool is_carrier(const assay_mil_op *op) {
    static const char *const types[] = {"cast", "slice_by_index", "slice_by_size", "split", "tile", "clip", "gather"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (is(op, types[i])) return true;
    return has_flag(op, ASSAY_OP_LAYOUT);
}

/* Made of constants alone: a weight, also a compressed or transposed one. */
static bool is_constant(const assay_mil_value *v, int depth) {
    if (!v || !v->producer || depth > DEPTH_MAX) return false;
    if (is(v->producer, "const") || has_flag(v->producer, ASSAY_OP_CONSTEXPR)) return true;
    return is_carrier(v->producer) && is_constant(assay_op_in(v->producer, "x"), depth + 1);
}
static bool is_computed(const assay_mil_value *v) { return v && !is_constant(v, 0); }

/* ---- products */
static bool operands(const assay_mil_op *op, const assay_mil_value **a, const assay_mil_value **b) {
    const assay_mil_arg *values = is(op, "einsum") ? assay_op_arg(op, "values") : NULL;
    if (values && values->n == 2)
        *a = values->items[0].value, *b = values->items[1].value;
    else if (is(op, "matmul"))
        *a = assay_op_in(op, "x"), *b = assay_op_in(op, "y");
    else
        return false;
    return is_computed(*a) && is_computed(*b);
}

/* A constant of one element, inverted for a divisor. */
static bool factor(const assay_mil_op *op, const char *key, double *out) {
    const assay_mil_const *c = assay_op_const(op, key);
    double v;
    if (!c || assay_type_count(c->type) != 1) return false;
    if (!assay_const_scalar(c, &v)) v = 1; /* its weight file is absent: a scale of unknown size */
    *out = is(op, "real_div") && v != 0 ? 1 / v : v;
    return true;
}
/* The scaled operand of a multiplication or division by one number; NULL when the op is none. */
static const assay_mil_value *scaled(const assay_mil_op *op, double *by) {
    if (is(op, "mul") && factor(op, "x", by)) return assay_op_in(op, "y");
    if ((is(op, "mul") || is(op, "real_div")) && factor(op, "y", by)) return assay_op_in(op, "x");
    return NULL;
}

/* ---- from the softmax back to the scores */
static const assay_mil_op *behind(const assay_mil_value *v, assay_site *s, int depth, int *left);

/* One of two operands leads to the product, the other is the mask. */
static const assay_mil_op *either(const assay_mil_op *op, const char *a, const char *b, uint32_t kind, assay_site *s, int depth,
                                  int *left) {
    const char *const keys[2] = {a, b};
    for (int i = 0; i < 2; i++) {
        assay_site before = *s;
        const assay_mil_op *found = behind(assay_op_in(op, keys[i]), s, depth + 1, left);
        if (found) {
            s->spelling |= kind;
            if (!s->mask) s->mask = kind == ASSAY_SITE_MASK_SELECT ? assay_op_in(op, "cond") : assay_op_in(op, keys[1 - i]);
            return found;
        }
        *s = before;
    }
    return NULL;
}

static const assay_mil_op *behind(const assay_mil_value *v, assay_site *s, int depth, int *left) {
    const assay_mil_op *op = v ? v->producer : NULL;
    const assay_mil_value *a, *b, *x;
    double by;
    if (!op || depth > DEPTH_MAX || --*left < 0) return NULL;
    if (operands(op, &a, &b)) {
        s->query = a;
        s->key = b;
        return op;
    }
    if ((x = scaled(op, &by))) {
        const assay_mil_op *found = behind(x, s, depth + 1, left);
        if (found) s->spelling |= ASSAY_SITE_SCALE_AFTER, s->scale *= by;
        return found;
    }
    if (is(op, "add") || is(op, "sub")) return either(op, "x", "y", ASSAY_SITE_MASK_ADD, s, depth, left);
    if (is(op, "select")) return either(op, "a", "b", ASSAY_SITE_MASK_SELECT, s, depth, left);
    return is_carrier(op) || is(op, "maximum") ? behind(assay_op_in(op, "x"), s, depth + 1, left) : NULL;
}

/* ---- from the softmax on to the values */
static const assay_mil_op *ahead(const assay_mil_value *v, const assay_mil_value **other, int depth, int *left) {
    const assay_mil_value *a, *b;
    --*left;
    for (uint32_t i = 0; v && depth<AHEAD_MAX && * left> 0 && i < v->n_users; i++) {
        const assay_mil_op *op = v->users[i], *found = NULL;
        if (operands(op, &a, &b)) {
            *other = a == v ? b : a;
            return op;
        }
        bool on = is_carrier(op) || is(op, "concat") || is(op, "select");
        for (uint32_t k = 0; on && !found && k < op->n_outs; k++) found = ahead(op->outs[k], other, depth + 1, left);
        if (found) return found;
    }
    return NULL;
}

/* ---- from an operand back to where it is made */
static const assay_mil_value *origin(const assay_mil_value *v, double *scale, bool *is_scaled) {
    for (int depth = 0; v && v->producer && depth < DEPTH_MAX; depth++) {
        double by;
        const assay_mil_value *x = scaled(v->producer, &by);
        if (x)
            *scale *= by, *is_scaled = true;
        else if (is_carrier(v->producer) || is(v->producer, "concat"))
            x = is(v->producer, "concat") ? assay_op_in(v->producer, "values") : assay_op_in(v->producer, "x");
        if (!x) break;
        v = x;
    }
    return v;
}

static void trace(assay_site *s, const assay_mil_value *from[3]) {
    bool q = false, k = false, v = false;
    double unused = 1;
    from[0] = origin(s->query, &s->scale, &q);
    from[1] = origin(s->key, &s->scale, &k);
    from[2] = origin(s->value, &unused, &v);
    s->spelling |= (q ? ASSAY_SITE_SCALE_Q : 0u) | (k ? ASSAY_SITE_SCALE_K : 0u);
    const assay_mil_op *made = from[0] ? from[0]->producer : NULL;
    if (made && from[0] == from[1] && from[1] == from[2]) s->spelling |= ASSAY_SITE_QKV;
    if (s->query && s->query->type->kind == ASSAY_TYPE_TENSOR && s->query->type->rank == 3) s->spelling |= ASSAY_SITE_RANK3;
}

static bool site_at(const assay_mil_op *op, assay_site *s) {
    *s = (assay_site){.op = op, .scale = 1, .reachable = op->reachable};
    if (is(op, "scaled_dot_product_attention") && op->n_outs) {
        s->spelling = ASSAY_SITE_FUSED | (assay_op_arg(op, "attn_mask") ? ASSAY_SITE_MASK : 0u);
        s->query = assay_op_in(op, "query");
        s->key = assay_op_in(op, "key");
        s->value = assay_op_in(op, "value");
        s->mask = assay_op_in(op, "attn_mask");
        s->out = op->outs[0];
        return true;
    }
    if (!is(op, "softmax") || !op->n_outs) return false;
    int back = VISITS_MAX, on = VISITS_MAX;
    const assay_mil_op *scores = behind(assay_op_in(op, "x"), s, 0, &back),
                       *mix = scores ? ahead(op->outs[0], &s->value, 0, &on) : NULL;
    if (!mix || !mix->n_outs) return false;
    s->out = mix->outs[0];
    if (is(scores, "einsum")) s->spelling |= ASSAY_SITE_EINSUM;
    return true;
}

/* Several sites whose queries are cut out of one value: heads if the keys are too, slices of the sequence if the keys are shared.
 */
static void mark_parts(assay_site *s, const assay_mil_value **from, size_t n) {
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++) {
            if (i == k || !from[i] || !from[i]->producer || from[i] != from[k] || s[i].query == s[k].query) continue;
            s[i].spelling |=
                assay_value_skip_layout(s[i].key) == assay_value_skip_layout(s[k].key) ? ASSAY_SITE_SLICED : ASSAY_SITE_UNROLLED;
        }
}

static size_t find(const assay_mil_function *f, assay_site *out, size_t max) {
    const assay_mil_value **from = max ? assay_xcalloc(max, sizeof *from) : NULL, *three[3];
    assay_site s;
    size_t n = 0;
    for (uint32_t i = 0; i < f->n_all_ops; i++) {
        if (!site_at(f->all_ops[i], &s)) continue;
        trace(&s, three);
        if (n < max) out[n] = s, from[n] = three[0];
        n++;
    }
    mark_parts(out, from, n < max ? n : max);
    free(from);
    return n;
}

void assay_ops_register_sites(void) { assay_sites_register(find); }
