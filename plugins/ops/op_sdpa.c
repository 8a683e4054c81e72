/* scaled_dot_product_attention: softmax(q k^T / sqrt(E) + mask) v, checked as hard as Apple's converter checks it and harder
 * (formats/sdpa-contract.md section 3), computed without ever holding the scores of a whole batch. */
#include "ops/builtin.h"
#include "ops/gemm.h"
#include <math.h>
#include <string.h>

/* ---- type rule */
typedef struct sdpa_shapes { assay_shape q, k, v, mask, out; bool has_mask; } sdpa_shapes;

static assay_status check_qkv(const assay_mil_op *op, const sdpa_shapes *s, assay_error *err) {
    char a[160], b[160], c[160];
    const assay_shape *q = &s->q, *k = &s->k, *v = &s->v;
    uint32_t r = q->rank;
    assay_shape_print(q, a);
    assay_shape_print(k, b);
    assay_shape_print(v, c);
    if (r < 3 || k->rank != r || v->rank != r)
        return assay_op_fail(err, op, "query %s, key %s and value %s must have one rank of at least 3", a, b, c);
    for (uint32_t i = 0; i + 2 < r; i++)
        if (!assay_dims_agree(q->d[i], k->d[i]) || !assay_dims_agree(q->d[i], v->d[i]) || !assay_dims_agree(k->d[i], v->d[i]))
            return assay_op_fail(err, op, "batch sizes of query %s, key %s and value %s must be equal (the op does not broadcast; tile first)", a, b, c);
    if (!assay_dims_agree(q->d[r - 1], k->d[r - 1]))
        return assay_op_fail(err, op, "query %s and key %s must agree in the last size", a, b);
    if (!assay_dims_agree(k->d[r - 2], v->d[r - 2]))
        return assay_op_fail(err, op, "key %s and value %s must agree in the number of source positions", b, c);
    return ASSAY_OK;
}

/* The mask's last size is S exactly; its other axes broadcast to [batch..., L], and may not enlarge it. */
static assay_status check_mask(const assay_mil_op *op, const sdpa_shapes *s, assay_error *err) {
    assay_shape scores = s->q;
    char a[160], b[160];
    uint32_t r = scores.rank, m = s->mask.rank;
    scores.d[r - 1] = s->k.d[r - 2];
    bool fits = m >= 1 && m <= r && assay_dims_agree(s->mask.d[m - 1], scores.d[r - 1]);
    for (uint32_t i = 1; fits && i < m; i++) {
        int64_t have = s->mask.d[m - 1 - i];
        fits = have == 1 || assay_dims_agree(have, scores.d[r - 1 - i]);
    }
    if (fits) return ASSAY_OK;
    return assay_op_fail(err, op, "attn_mask %s does not broadcast to the scores %s (its last size must be the number of source positions)",
                         assay_shape_print(&s->mask, a), assay_shape_print(&scores, b));
}

static assay_status infer(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out, assay_error *err) {
    (void)n_out;
    sdpa_shapes s;
    ASSAY_TRY(assay_op_check_args(op, err));
    int32_t t = assay_arg_dtype(op, "query");
    if (assay_arg_dtype(op, "key") != t || assay_arg_dtype(op, "value") != t)
        return assay_op_fail(err, op, "query, key and value must have one type");
    assay_arg_shape(op, "query", 0, &s.q);
    assay_arg_shape(op, "key", 0, &s.k);
    assay_arg_shape(op, "value", 0, &s.v);
    s.has_mask = assay_arg_shape(op, "attn_mask", 0, &s.mask);
    ASSAY_TRY(check_qkv(op, &s, err));
    if (s.has_mask) ASSAY_TRY(check_mask(op, &s, err));
    s.out = s.q;
    s.out.d[s.q.rank - 1] = s.v.d[s.v.rank - 1];
    out[0] = assay_shape_type(p, t, &s.out);
    return ASSAY_OK;
}

/* ---- kernel */
/* The mask as additive numbers of the op's width: true is 0, false is -inf. */
static const void *additive_mask(assay_eval *ev, const assay_tensor *mask, bool wide, assay_error *err) {
    if (mask->dtype != ASSAY_BOOL) return assay_eval_operand(ev, mask, wide, err);
    int64_t n = assay_tensor_count(mask);
    const uint8_t *b = mask->data;
    void *out = assay_eval_scratch(ev, (uint64_t)n, wide ? sizeof(double) : sizeof(float), err);
    for (int64_t i = 0; out && i < n; i++) {
        if (wide) ((double *)out)[i] = b[i] ? 0.0 : -(double)INFINITY;
        else ((float *)out)[i] = b[i] ? 0.0f : -INFINITY;
    }
    return out;
}

/* Batch axes of the mask merged as far as its strides allow: the kernel takes one axis, the caller loops over the others. */
typedef struct mask_walk { uint32_t rank; int64_t size[ASSAY_RANK_MAX], stride[ASSAY_RANK_MAX], row, column; } mask_walk;

static void walk_mask(const assay_tensor *q, const assay_tensor *mask, mask_walk *w) {
    int64_t stride[ASSAY_RANK_MAX] = { 0 }, step = 1;                   /* with q's rank; 0 where the mask broadcasts */
    for (uint32_t i = 0; i < mask->rank; i++) {
        int64_t n = mask->shape[mask->rank - 1 - i];
        stride[q->rank - 1 - i] = n == 1 ? 0 : step;
        step *= n;
    }
    memset(w, 0, sizeof *w);
    w->row = stride[q->rank - 2];
    w->column = stride[q->rank - 1];
    for (uint32_t i = 0; i + 2 < q->rank; i++) {
        if (q->shape[i] == 1) continue;
        if (w->rank && w->stride[w->rank - 1] == stride[i] * q->shape[i]) w->size[w->rank - 1] *= q->shape[i];
        else w->size[w->rank++] = q->shape[i];
        w->stride[w->rank - 1] = stride[i];
    }
}

static void attend(const assay_eval *ev, assay_sdpa_args *a, const mask_walk *w, const char *q, const char *k, const char *v, char *out, bool wide) {
    size_t size = wide ? sizeof(double) : sizeof(float);
    int64_t total = a->batch, inner = a->mask && w->rank ? w->size[w->rank - 1] : total;
    const char *mask = a->mask;
    a->batch = inner;
    a->mask_b = mask && w->rank ? w->stride[w->rank - 1] : 0;
    for (int64_t at = 0; at < total; at += inner) {
        int64_t rest = at / inner, offset = 0;
        for (uint32_t i = w->rank; mask && i-- > 1;) {                  /* the axes before the innermost */
            offset += rest % w->size[i - 1] * w->stride[i - 1];
            rest /= w->size[i - 1];
        }
        a->q = q + (size_t)(at * a->L * a->E) * size;
        a->k = k + (size_t)(at * a->S * a->E) * size;
        a->v = v + (size_t)(at * a->S * a->Ev) * size;
        a->out = out + (size_t)(at * a->L * a->Ev) * size;
        a->mask = mask ? mask + (size_t)offset * size : NULL;
        if (wide) ev->k->sdpa_f64(a);
        else ev->k->sdpa_f32(a);
    }
}

static assay_status eval(assay_eval *ev, assay_error *err) {
    const assay_tensor *q = assay_eval_in(ev, "query"), *k = assay_eval_in(ev, "key"), *v = assay_eval_in(ev, "value");
    const assay_tensor *mask = assay_eval_in(ev, "attn_mask");
    bool wide = assay_eval_wide(ev);
    uint32_t r = q->rank;
    assay_sdpa_args a = { .batch = 1, .L = q->shape[r - 2], .S = k->shape[r - 2], .E = q->shape[r - 1], .Ev = v->shape[r - 1],
                          .scale = 1.0 / sqrt((double)q->shape[r - 1]), .threads = ev->threads };
    for (uint32_t i = 0; i + 2 < r; i++) a.batch *= q->shape[i];
    const void *pq = assay_eval_operand(ev, q, wide, err), *pk = assay_eval_operand(ev, k, wide, err), *pv = assay_eval_operand(ev, v, wide, err);
    void *out = assay_eval_dst(ev, 0, wide, err);
    if (!pq || !pk || !pv || !out) return ASSAY_E_NOMEM;
    mask_walk w = { 0 };
    if (mask) {
        if (!(a.mask = additive_mask(ev, mask, wide, err))) return ASSAY_E_NOMEM;
        walk_mask(q, mask, &w);
        a.mask_l = w.row;
        a.mask_s = w.column;
    }
    if (a.batch > 0 && a.L > 0 && a.Ev > 0) attend(ev, &a, &w, pq, pk, pv, out, wide);
    assay_eval_put(ev, 0, wide, out);
    return ASSAY_OK;
}

static const assay_op_param params[] = { { "query", "fp16|fp32", NULL, ASSAY_ARG_REQUIRED, "[batch..., L, E]" }, { "key", "fp16|fp32", NULL, ASSAY_ARG_REQUIRED, "[batch..., S, E]" },
    { "value", "fp16|fp32", NULL, ASSAY_ARG_REQUIRED, "[batch..., S, Ev]" }, { "attn_mask", "bool|fp16|fp32", NULL, 0, "true takes part, or added to the scaled scores" }, ASSAY_END };
static const assay_op_def def_sdpa = { "scaled_dot_product_attention", "softmax(q k^T / sqrt(E) + mask) v", "CoreML8", 0, params, infer, NULL, eval };
static const assay_op_def *const defs[] = { &def_sdpa, NULL };
const assay_op_family assay_ops_sdpa = { defs };
