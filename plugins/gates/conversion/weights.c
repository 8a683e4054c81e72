/* Are the projections of both arms the same weights? By their unpacked bytes; where the weight file is not there, by type and
 * place in it. A candidate whose weights are the control's times 1/sqrt(head size) carries the scale a second time. */
#include "conversion.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* One constant operand of a projection, read as [out, in]. */
typedef struct weight {
    const assay_p_op *op;
    const char *key; /* arg_const(op, key); key NULL: decoded by a constexpr */
    const assay_p_op *decoder;
    char digest[65], type[96];
    const char *blob;
    uint64_t offset;
    int absent;
    int64_t rows, cols;
    bool transposed; /* element (o, i) at transposed ? i * rows + o : o * cols + i */
} weight;

enum { SAME = 1, SAME_BY_PLACE, SCALED, DIFFERENT, UNKNOWN };
typedef struct comparison {
    int status;
    double factor;
    char note[320];
} comparison;

static const char *weight_key(const assay_program_1 *p, const assay_p_op *op) {
    if (conversion_type_is(p, op, "linear") || conversion_type_is(p, op, "conv")) return "weight";
    if (!conversion_type_is(p, op, "matmul")) return NULL;
    return conversion_arg_is_constant(p, op, "y", 0) ? "y" : "x";
}

static int64_t dim_product(const assay_program_1 *p, const assay_p_value *v, int32_t from, int32_t to) {
    int64_t n = 1;
    for (int32_t i = from; i < to; i++) n *= p->value_dim(v, (uint32_t)i);
    return n;
}

/* A matmul's constant right operand is [in, out] unless transpose_y; its left one is [out, in] unless transpose_x. */
static void set_layout(const assay_program_1 *p, weight *w, const assay_p_value *v) {
    int32_t rank = p->value_rank(v);
    if (rank < 2) return;
    bool matmul = conversion_type_is(p, w->op, "matmul"), right = !strcmp(w->key, "y");
    bool flag = matmul && p->arg_const_at(w->op, right ? "transpose_y" : "transpose_x", 0) == 1;
    w->transposed = matmul && (right ? !flag : flag);
    int64_t first = matmul ? dim_product(p, v, 0, rank - 1) : p->value_dim(v, 0);
    int64_t rest = matmul ? p->value_dim(v, (uint32_t)rank - 1) : dim_product(p, v, 1, rank);
    w->rows = w->transposed ? rest : first;
    w->cols = w->transposed ? first : rest;
}

static bool read_weight(const assay_program_1 *p, const assay_p_op *op, weight *w) {
    memset(w, 0, sizeof *w);
    w->op = op;
    w->key = weight_key(p, op);
    if (!w->key) return false;
    const assay_p_value *v = p->op_arg(op, w->key, 0);
    const assay_p_op *maker = v ? p->value_producer(v) : NULL;
    if (maker && !conversion_type_is(p, maker, "const")) w->decoder = maker;
    if (v) set_layout(p, w, v);
    if (w->decoder) return true;
    p->arg_const_digest(op, w->key, w->digest);
    p->arg_const_type(op, w->key, w->type);
    w->blob = p->arg_const_blob(op, w->key, &w->offset, &w->absent);
    return true;
}

/* Compressed weights are equal when everything that the decoder gets is equal. */
static bool same_decoder(const assay_program_1 *p, const assay_p_op *a, const assay_p_op *b) {
    if (strcmp(p->op_type(a), p->op_type(b)) || p->op_key_count(a) != p->op_key_count(b)) return false;
    for (uint32_t i = 0; i < p->op_key_count(a); i++) {
        char x[65] = "", y[65] = "";
        p->arg_const_digest(a, p->op_key(a, i), x);
        p->arg_const_digest(b, p->op_key(a, i), y);
        if (!*x || strcmp(x, y)) return false;
    }
    return true;
}

static double element(const assay_program_1 *p, const weight *w, int64_t o, int64_t i) {
    return p->arg_const_at(w->op, w->key, (uint64_t)(w->transposed ? i * w->rows + o : o * w->cols + i));
}

/* Least-squares factor of c against r over rows [c_row, c_row + rows) of c and [r_row, ...) of r, and whether it explains every
 * element. */
static bool fit(const assay_program_1 *p, const weight *c, int64_t c_row, const weight *r, int64_t r_row, int64_t rows,
                double *factor, bool *equal) {
    double cr = 0, rr = 0;
    *equal = true;
    for (int64_t o = 0; o < rows; o++)
        for (int64_t i = 0; i < c->cols; i++) {
            double x = element(p, c, c_row + o, i), y = element(p, r, r_row + o, i);
            cr += x * y;
            rr += y * y;
            *equal = *equal && x == y;
        }
    *factor = cr / rr; /* NaN for all-zero weights: then nothing is explained below */
    for (int64_t o = 0; o < rows; o++)
        for (int64_t i = 0; i < c->cols; i++) {
            double x = element(p, c, c_row + o, i), y = *factor * element(p, r, r_row + o, i);
            if (!(fabs(x - y) <= 0x1p-9 * fabs(y) + 0x1p-24)) return false; /* fp16 rounding on both sides */
        }
    return true;
}

static comparison by_elements(const assay_program_1 *p, const weight *c, int64_t c_row, const weight *r, int64_t r_row,
                              int64_t rows) {
    comparison out = {.status = DIFFERENT};
    bool equal, explained = fit(p, c, c_row, r, r_row, rows, &out.factor, &equal);
    if (equal)
        out.status = SAME;
    else if (explained)
        out.status = SCALED;
    snprintf(out.note, sizeof out.note,
             equal       ? "equal element by element"
             : explained ? "a multiple of the control's"
                         : "weights differ");
    return out;
}

/* `third`: which third of a fused [3 out, in] matrix belongs to this operand. */
static comparison compare_weight(const assay_program_1 *p, const weight *c, const weight *r, int64_t third) {
    comparison out = {.status = UNKNOWN};
    if (c->decoder || r->decoder) {
        bool same = c->decoder && r->decoder && same_decoder(p, c->decoder, r->decoder);
        out.status = same ? SAME : UNKNOWN;
        snprintf(out.note, sizeof out.note,
                 same ? "equal compressed constants" : "not compared: compressed weights that are not spelled alike");
    } else if (c->absent || r->absent) {
        bool same = c->absent && r->absent && !strcmp(c->type, r->type) && c->offset == r->offset;
        out.status = same ? SAME_BY_PLACE : c->absent && r->absent ? DIFFERENT : UNKNOWN;
        snprintf(out.note, sizeof out.note, "weight file absent: %s at %llu against %s at %llu, not by bytes", c->type,
                 (unsigned long long)c->offset, r->type, (unsigned long long)r->offset);
    } else if (!strcmp(c->digest, r->digest) && c->transposed == r->transposed) {
        out.status = SAME;
        snprintf(out.note, sizeof out.note, "equal bytes");
    } else if (c->rows <= 0 || c->cols <= 0 || c->cols != r->cols) {
        out.status = DIFFERENT;
        snprintf(out.note, sizeof out.note, "%s against %s", c->type, r->type);
    } else if (c->rows == r->rows) {
        out = by_elements(p, c, 0, r, 0, c->rows);
    } else if (c->rows == 3 * r->rows) {
        out = by_elements(p, c, third * r->rows, r, 0, r->rows);
    } else if (r->rows == 3 * c->rows) {
        out = by_elements(p, c, 0, r, third * c->rows, c->rows);
    } else {
        snprintf(out.note, sizeof out.note, "not compared: %s against %s", c->type, r->type);
    }
    return out;
}

/* Biases follow their weights: absent is zero, and a scale sits in both. */
static bool same_bias(const assay_program_1 *p, const assay_p_op *c, const assay_p_op *r, double factor) {
    uint64_t n = p->arg_const_count(c, "bias"), m = p->arg_const_count(r, "bias");
    char a[65] = "", b[65] = "";
    if (n) p->arg_const_digest(c, "bias", a);
    if (m) p->arg_const_digest(r, "bias", b);
    if (factor == 1 && !strcmp(a, b)) return true;
    if (n && m && n != m) return true; /* part of a fused matrix: the weights have been compared */
    for (uint64_t i = 0; i < (n > m ? n : m); i++) {
        double x = n ? p->arg_const_at(c, "bias", i) : 0, y = factor * (m ? p->arg_const_at(r, "bias", i) : 0);
        if (isnan(x) || isnan(y)) return true; /* the file is not there: said with the weight */
        if (!(fabs(x - y) <= (factor == 1 ? 0 : 0x1p-9 * fabs(y) + 0x1p-24))) return false;
    }
    return true;
}

static comparison compare_projection(const assay_program_1 *p, const assay_p_op *c, const assay_p_op *r, int64_t third) {
    weight a, b;
    comparison out = {.status = UNKNOWN};
    if (!read_weight(p, c, &a) || !read_weight(p, r, &b)) {
        snprintf(out.note, sizeof out.note, "not compared: %s against %s", p->op_type(c), p->op_type(r));
        return out;
    }
    out = compare_weight(p, &a, &b, third);
    const assay_p_value *x = p->op_output(c, 0), *y = p->op_output(r, 0);
    if (out.status != DIFFERENT && x && y && strcmp(p->value_dtype(x), p->value_dtype(y))) {
        out.status = DIFFERENT;
        snprintf(out.note, sizeof out.note, "computed in %s against %s", p->value_dtype(x), p->value_dtype(y));
    }
    if ((out.status == SAME || out.status == SCALED) && !same_bias(p, c, r, out.status == SAME ? 1 : out.factor)) {
        out.status = DIFFERENT;
        snprintf(out.note, sizeof out.note, "biases differ");
    }
    return out;
}

/* ---- the projections of one operand over all attentions of an arm, each once, in program order */
typedef struct projections {
    const assay_p_op *ops[SITES_MAX];
    uint32_t n;
} projections;

static const trace *operand(const site *s, int role) { return role == 0 ? &s->q : role == 1 ? &s->k : &s->v; }

static void collect(const arm *a, int role, projections *out) {
    out->n = 0;
    for (uint32_t i = 0; i < a->n_sites; i++) {
        const trace *t = operand(&a->sites[i], role);
        for (uint32_t j = 0; j < t->n_projections; j++) {
            bool known = false;
            for (uint32_t k = 0; k < out->n; k++) known = known || out->ops[k] == t->projections[j];
            if (!known && out->n < SITES_MAX) out->ops[out->n++] = t->projections[j];
        }
    }
}

static comparison compare_role(const assay_program_1 *p, const arm *cand, int cand_role, const arm *ctrl, int ctrl_role) {
    static projections a, b; /* large; one thread calls a plugin at a time */
    comparison worst = {.status = UNKNOWN, .note = "not compared: no projection"};
    collect(cand, cand_role, &a);
    collect(ctrl, ctrl_role, &b);
    if (a.n != b.n) snprintf(worst.note, sizeof worst.note, "not compared: %u projections against %u", a.n, b.n);
    if (a.n != b.n || a.n == 0) return worst;
    worst = compare_projection(p, a.ops[0], b.ops[0], cand_role);
    for (uint32_t i = 1; i < a.n; i++) {
        comparison c = compare_projection(p, a.ops[i], b.ops[i], cand_role);
        if (c.status > worst.status) worst = c;
    }
    return worst;
}

/* softmax((k q^T)^T) is the same attention: a control may hand its operands over in the other order. */
static void allow_swap(const assay_program_1 *p, const arm *cand, const arm *ctrl, comparison c[3]) {
    if (c[0].status != DIFFERENT || c[1].status != DIFFERENT) return;
    comparison q = compare_role(p, cand, 0, ctrl, 1), k = compare_role(p, cand, 1, ctrl, 0);
    if (q.status > SCALED || k.status > SCALED) return;
    c[0] = q;
    c[1] = k;
}

static double head_size(const assay_program_1 *p, const arm *a) {
    const assay_p_value *q = a->n_sites ? a->sites[0].query : NULL;
    int32_t rank = q ? p->value_rank(q) : -1;
    return rank > 0 ? (double)p->value_dim(q, (uint32_t)rank - 1) : NAN;
}

static bool control_scales(const arm *ctrl) {
    for (uint32_t i = 0; i < ctrl->n_sites; i++)
        if (ctrl->sites[i].q.n_scales + ctrl->sites[i].k.n_scales + ctrl->sites[i].scores.n_scales > 0) return true;
    return false;
}

void conversion_compare_weights(const assay_program_1 *p, const arm *candidate, const arm *control, report *r, double *folded,
                                const char **folded_role) {
    static const char *const roles[] = {"q", "k", "v"};
    static const char *const rules[] = {"same_q_weights", "same_k_weights", "same_v_weights"};
    *folded = 0;
    *folded_role = NULL;
    if (!control || !candidate->n_sites || !control->n_sites) {
        conversion_rule(r, "same_projection_weights", false, !control ? "no control given" : "no attention in one of the arms");
        return;
    }
    comparison c[3];
    for (int i = 0; i < 3; i++) c[i] = compare_role(p, candidate, i, control, i);
    allow_swap(p, candidate, control, c);
    double scale = 1 / sqrt(head_size(p, candidate));
    for (int i = 0; i < 3; i++) {
        conversion_rule(r, rules[i], c[i].status != UNKNOWN, c[i].note);
        if (c[i].status == SCALED && i < 2 && fabs(c[i].factor / scale - 1) <= 0.01) {
            *folded = c[i].factor;
            *folded_role = roles[i];
        } else if (c[i].status == SCALED && i < 2 && fabs(c[i].factor * scale - 1) <= 0.01 && !control_scales(control)) {
            conversion_rule(r, "control_scale_in_weights", true,
                            "the control holds the scale in this projection's weights and nowhere else");
        } else if (c[i].status == SCALED || c[i].status == DIFFERENT) {
            conversion_invalid(r, "arms_not_comparable", candidate->name, "%s projection: %s", roles[i], c[i].note);
        }
    }
}
