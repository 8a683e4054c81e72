/* einsum of two tensors: axes common to both and kept are the batch, common and summed the product, the rest rows and columns. */
#include "ops/builtin.h"
#include "ops/gemm.h"
#include <string.h>

typedef struct labels { char c[ASSAY_RANK_MAX]; uint32_t n; } labels;
typedef struct equation { labels a, b, out; } equation;

static assay_status read_labels(const assay_mil_op *op, const char *s, size_t len, labels *l, assay_error *err) {
    l->n = 0;
    for (size_t i = 0; i < len; i++) {
        bool letter = (s[i] >= 'a' && s[i] <= 'z') || (s[i] >= 'A' && s[i] <= 'Z');
        if (s[i] == ' ') continue;
        if (!letter || l->n == ASSAY_RANK_MAX || memchr(l->c, s[i], l->n))
            return assay_op_fail(err, op, "equation: each side is at most %d different letters", ASSAY_RANK_MAX);
        l->c[l->n++] = s[i];
    }
    return ASSAY_OK;
}

static int find(const labels *l, char c) {
    const char *p = memchr(l->c, c, l->n);
    return p ? (int)(p - l->c) : -1;
}

static assay_status read_equation(const assay_mil_op *op, equation *e, assay_error *err) {
    const char *s = assay_arg_text(op, "equation", ""), *comma = strchr(s, ','), *arrow = strstr(s, "->");
    if (!comma || !arrow || arrow < comma) return assay_op_fail(err, op, "equation '%s' is not of the form ab,bc->ac", s);
    ASSAY_TRY(read_labels(op, s, (size_t)(comma - s), &e->a, err));
    ASSAY_TRY(read_labels(op, comma + 1, (size_t)(arrow - comma - 1), &e->b, err));
    ASSAY_TRY(read_labels(op, arrow + 2, strlen(arrow + 2), &e->out, err));
    for (uint32_t i = 0; i < e->out.n; i++)
        if (find(&e->a, e->out.c[i]) < 0 && find(&e->b, e->out.c[i]) < 0)
            return assay_op_fail(err, op, "equation: '%c' stands in the result only", e->out.c[i]);
    for (uint32_t side = 0; side < 2; side++) {
        const labels *l = side ? &e->b : &e->a, *other = side ? &e->a : &e->b;
        for (uint32_t i = 0; i < l->n; i++)
            if (find(other, l->c[i]) < 0 && find(&e->out, l->c[i]) < 0)
                return assay_op_fail(err, op, "equation: '%c' is summed over one tensor only; use reduce_sum first", l->c[i]);
    }
    return ASSAY_OK;
}

/* Size of a label over both operands; sizes of 1 broadcast. */
static bool label_size(const equation *e, const assay_shape *a, const assay_shape *b, char c, int64_t *out) {
    int ia = find(&e->a, c), ib = find(&e->b, c);
    assay_shape sa = { 1, { ia < 0 ? 1 : a->d[ia] } }, sb = { 1, { ib < 0 ? 1 : b->d[ib] } }, s;
    if (!assay_shape_broadcast(&sa, &sb, &s)) return false;
    *out = s.d[0];
    return true;
}

static assay_status infer(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out, assay_error *err) {
    (void)n_out;
    assay_shape a, b, s;
    equation e;
    int64_t n;
    char ta[160], tb[160];
    ASSAY_TRY(assay_op_check_args(op, err));
    if (assay_arg_count(op, "values") != 2) return assay_op_fail(err, op, "takes two values");
    if (assay_arg_type(op, "values", 0)->dtype != assay_arg_type(op, "values", 1)->dtype) return assay_op_fail(err, op, "values must have one type");
    ASSAY_TRY(read_equation(op, &e, err));
    assay_arg_shape(op, "values", 0, &a);
    assay_arg_shape(op, "values", 1, &b);
    bool fits = a.rank == e.a.n && b.rank == e.b.n;
    for (uint32_t i = 0; fits && i < e.a.n; i++) fits = label_size(&e, &a, &b, e.a.c[i], &n);
    if (!fits) return assay_op_fail(err, op, "%s and %s do not fit '%s'", assay_shape_print(&a, ta), assay_shape_print(&b, tb), assay_arg_text(op, "equation", ""));
    s.rank = e.out.n;
    for (uint32_t i = 0; i < s.rank; i++) label_size(&e, &a, &b, e.out.c[i], &s.d[i]);
    out[0] = assay_shape_type(p, assay_arg_dtype(op, "values"), &s);
    return ASSAY_OK;
}

/* ---- kernel: both operands as [batch, rows, k], in the order of the labels below */
typedef struct plan { char batch[ASSAY_RANK_MAX], m[ASSAY_RANK_MAX], n[ASSAY_RANK_MAX], k[ASSAY_RANK_MAX]; uint32_t nb, nm, nn, nk; } plan;

static void make_plan(const equation *e, plan *p) {
    memset(p, 0, sizeof *p);
    for (uint32_t i = 0; i < e->out.n; i++) {
        char c = e->out.c[i];
        bool a = find(&e->a, c) >= 0, b = find(&e->b, c) >= 0;
        if (a && b) p->batch[p->nb++] = c;
        else if (a) p->m[p->nm++] = c;
        else p->n[p->nn++] = c;
    }
    for (uint32_t i = 0; i < e->a.n; i++)
        if (find(&e->out, e->a.c[i]) < 0) p->k[p->nk++] = e->a.c[i];
}

typedef struct operand { labels order; int64_t size[ASSAY_COPY_RANK]; } operand;

static void append(labels *l, const char *c, uint32_t n) {
    memcpy(l->c + l->n, c, n);
    l->n += n;
}

/* A copy of t with its axes in the given order, sizes broadcast. */
static void *arranged(assay_eval *ev, const assay_tensor *t, const labels *own, const operand *o, bool wide, assay_error *err) {
    int64_t stride[ASSAY_RANK_MAX] = { 0 };
    uint32_t perm[ASSAY_RANK_MAX];
    const void *data = assay_eval_operand(ev, t, wide, err);
    for (uint32_t i = 0; i < o->order.n; i++) {
        int at = find(own, o->order.c[i]);
        stride[i] = at < 0 || t->shape[at] == 1 ? 0 : t->stride[at];
        perm[i] = i;
    }
    return data ? assay_eval_permuted(ev, data, wide, o->order.n, o->size, stride, perm, err) : NULL;
}

static int64_t product(const int64_t *v, uint32_t n) {
    int64_t p = 1;
    for (uint32_t i = 0; i < n; i++) p *= v[i];
    return p;
}

static assay_status multiply(assay_eval *ev, const plan *p, const operand *a, const operand *b, const void *pa, const void *pb, void *pc, bool wide, assay_error *err) {
    assay_gemm g = { .a = pa, .b = pb, .c = pc, .wide = wide, .trans_b = true };
    g.batch = product(a->size, p->nb);
    g.m = product(a->size + p->nb, p->nm);
    g.n = product(b->size + p->nb, p->nn);
    g.k = g.lda = g.ldb = product(a->size + p->nb + p->nm, p->nk);
    g.ldc = g.n;
    int64_t *at = assay_eval_scratch(ev, 3 * (uint64_t)g.batch, sizeof *at, err);
    if (!at) return ASSAY_E_NOMEM;
    for (int64_t i = 0; i < g.batch; i++) {
        at[i] = i * g.m * g.k;
        at[g.batch + i] = i * g.n * g.k;
        at[2 * g.batch + i] = i * g.m * g.n;
    }
    g.a_at = at;
    g.b_at = at + g.batch;
    g.c_at = at + 2 * g.batch;
    assay_gemm_run(ev, &g);
    return ASSAY_OK;
}

static assay_status eval(assay_eval *ev, assay_error *err) {
    const assay_tensor *ta = assay_eval_in_at(ev, "values", 0), *tb = assay_eval_in_at(ev, "values", 1);
    bool wide = assay_eval_wide(ev);
    equation e;
    plan p;
    assay_shape sa = { ta->rank, { 0 } }, sb = { tb->rank, { 0 } };
    operand a = { 0 }, b = { 0 }, c = { 0 };
    memcpy(sa.d, ta->shape, sizeof sa.d);
    memcpy(sb.d, tb->shape, sizeof sb.d);
    ASSAY_TRY(read_equation(ev->op, &e, err));
    make_plan(&e, &p);
    append(&a.order, p.batch, p.nb); append(&a.order, p.m, p.nm); append(&a.order, p.k, p.nk);
    append(&b.order, p.batch, p.nb); append(&b.order, p.n, p.nn); append(&b.order, p.k, p.nk);
    append(&c.order, p.batch, p.nb); append(&c.order, p.m, p.nm); append(&c.order, p.n, p.nn);
    for (operand *o = &a; o; o = o == &a ? &b : o == &b ? &c : NULL)
        for (uint32_t i = 0; i < o->order.n; i++) label_size(&e, &sa, &sb, o->order.c[i], &o->size[i]);
    void *pa = arranged(ev, ta, &e.a, &a, wide, err), *pb = arranged(ev, tb, &e.b, &b, wide, err);
    void *pc = assay_eval_scratch(ev, (uint64_t)product(c.size, c.order.n), wide ? sizeof(double) : sizeof(float), err);
    void *dst = assay_eval_dst(ev, 0, wide, err);
    if (!pa || !pb || !pc || !dst) return ASSAY_E_NOMEM;
    ASSAY_TRY(multiply(ev, &p, &a, &b, pa, pb, pc, wide, err));
    const assay_tensor *out = assay_eval_out(ev, 0, err);
    int64_t from[ASSAY_RANK_MAX], own[ASSAY_COPY_RANK];
    assay_strides(c.order.n, c.size, own);
    for (uint32_t i = 0; i < e.out.n; i++) from[i] = own[find(&c.order, e.out.c[i])];
    if (assay_tensor_count(out) > 0) assay_copy_strided(wide ? sizeof(double) : sizeof(float), out->rank, out->shape, dst, out->stride, pc, from);
    assay_eval_put(ev, 0, wide, dst);
    return ASSAY_OK;
}

static const assay_op_param params[] = { { "values", "fp", NULL, ASSAY_ARG_REQUIRED | ASSAY_ARG_VARIADIC, "two tensors" },
    { "equation", "str", NULL, ASSAY_ARG_REQUIRED | ASSAY_ARG_CONST, "such as bchk,bkhq->bchq" }, ASSAY_END };
static const assay_op_def def_einsum = { "einsum", "product of two tensors by the letters of their axes", "CoreML5", 0, params, infer, NULL, eval };
static const assay_op_def *const defs[] = { &def_einsum, NULL };
const assay_op_family assay_ops_einsum = { defs };
