/* What an op costs on a unit: the larger of its arithmetic and its traffic. Invented seconds that follow a published roofline. */
#include "backends/simulated/sim.h"
#include "base/names.h"
#include "program/optable.h"
#include <string.h>

static double count(const assay_mil_type *t) {
    int64_t n = t && t->kind == ASSAY_TYPE_TENSOR ? assay_type_count(t) : 0;
    return n > 0 ? (double)n : 0;
}

static double bytes_of(const assay_mil_type *t) { return t ? count(t) * (double)assay_mil_dtype_bits(t->dtype) / 8 : 0; }

static bool is_free(const assay_mil_op *op) {
    const assay_op_def *def = assay_optable_find(op->type);
    return strcmp(op->type, "const") == 0 || (def && (def->flags & (ASSAY_OP_LAYOUT | ASSAY_OP_CONSTEXPR)));
}

static const assay_mil_type *in_type(const assay_mil_op *op, const char *key) {
    const assay_mil_value *v = assay_op_in(op, key);
    return v && v->type && v->type->kind == ASSAY_TYPE_TENSOR ? v->type : NULL;
}

static double dim(const assay_mil_type *t, uint32_t from_end) { return t && t->rank >= from_end && t->dims[t->rank - from_end] > 0 ? (double)t->dims[t->rank - from_end] : 0; }

/* How many products are added up for one element of the output; 0: the op adds no products up. */
static double depth(const assay_mil_op *op) {
    const assay_mil_type *x = in_type(op, "x"), *w = in_type(op, "weight");
    if (strcmp(op->type, "linear") == 0) return dim(x, 1);
    if (strcmp(op->type, "matmul") == 0) {
        const assay_mil_const *t = assay_op_const(op, "transpose_x");
        return t && assay_const_at(t, 0) != 0 ? dim(x, 2) : dim(x, 1);
    }
    if (strcmp(op->type, "conv") == 0 && w && w->dims[0] > 0) return count(w) / (double)w->dims[0];
    return 0;
}

/* Rows, keys, widths and batch of a fused attention. */
typedef struct attention { double batch, L, S, E, Ev; } attention;

static bool as_attention(const assay_mil_op *op, attention *a) {
    const assay_mil_type *q = in_type(op, "query"), *k = in_type(op, "key"), *v = in_type(op, "value");
    if (strcmp(op->type, "scaled_dot_product_attention") != 0 || !q || !k || !v) return false;
    *a = (attention){0, dim(q, 2), dim(k, 2), dim(q, 1), dim(v, 1)};
    a->batch = a->L * a->E > 0 ? count(q) / (a->L * a->E) : 0;
    return true;
}

double assay_sim_flops(const assay_mil_op *op) {
    attention a;
    if (is_free(op)) return 0;
    if (as_attention(op, &a)) return a.batch * a.L * (2 * a.S * a.E + a.E + a.S + 2 * a.S * a.Ev + (assay_op_arg(op, "attn_mask") ? a.S : 0));
    double out = 0, k = depth(op);
    for (uint32_t i = 0; i < op->n_outs; i++) out += count(op->outs[i]->type);
    return k > 0 ? 2 * out * k : out;
}

/* One-element operands (a scale, an epsilon) are no traffic. */
static double traffic(const assay_mil_op *op) {
    double sum = 0;
    for (uint32_t i = 0; i < op->n_outs; i++) sum += bytes_of(op->outs[i]->type);
    for (uint32_t a = 0; a < op->n_args; a++)
        for (uint32_t i = 0; i < op->args[a].n; i++) {
            const assay_mil_value *v = op->args[a].items[i].value;
            if (v && count(v->type) > 1) sum += bytes_of(v->type);
        }
    return sum;
}

static double seconds(const assay_json *unit, double flops, double bytes) {
    double compute = flops / assay_json_number(unit, "flops", 1), memory = bytes / assay_json_number(unit, "bytes_per_s", 1);
    return compute > memory ? compute : memory;
}

/* The four (with a mask five) ops that the fused one stands for: scale, scores, softmax, weighted sum. */
static double spelled_out(const assay_json *unit, const attention *a, double width, const assay_mil_type *mask) {
    double q = a->batch * a->L * a->E, k = a->batch * a->S * a->E, v = a->batch * a->S * a->Ev, s = a->batch * a->L * a->S, o = a->batch * a->L * a->Ev;
    double sum = seconds(unit, q, 2 * q * width) + seconds(unit, 2 * s * a->E, (q + k + s) * width) + seconds(unit, s, 2 * s * width) +
                 seconds(unit, 2 * s * a->Ev, (s + v + o) * width);
    return mask ? sum + seconds(unit, s, 2 * s * width + bytes_of(mask)) : sum;
}

double assay_sim_op_seconds(const assay_json *profile, const assay_mil_op *op, int32_t dev) {
    const assay_json *costs = assay_json_get(profile, "cost"), *fused = assay_json_get(costs, "fused");
    const assay_json *unit = assay_json_get(costs, dev == ASSAY_DEV_UNKNOWN ? "cpu" : assay_sim_unit_name(dev));
    attention a;
    if (is_free(op)) return 0;
    if (!as_attention(op, &a)) return seconds(unit, assay_sim_flops(op), traffic(op));
    double width = (double)assay_mil_dtype_bits(in_type(op, "query")->dtype) / 8;
    double t = spelled_out(unit, &a, width, in_type(op, "attn_mask"));
    return assay_streq(assay_json_string(fused, "op", ""), op->type) ? t * assay_json_number(fused, "factor", 1) : t;
}
