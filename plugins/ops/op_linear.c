/* linear and matmul: products accumulated in float32 or wider, the bias added, one rounding at the end. */
#include "ops/builtin.h"
#include "ops/gemm.h"
#include <string.h>

/* ---- linear: y = x W^T + b */
static assay_status infer_linear(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out, assay_error *err) {
    (void)n_out;
    assay_shape x, w, b;
    char tx[160], tw[160];
    ASSAY_TRY(assay_op_check_args(op, err));
    assay_arg_shape(op, "x", 0, &x);
    assay_arg_shape(op, "weight", 0, &w);
    if (x.rank == 0 || w.rank != 2 || !assay_dims_agree(x.d[x.rank - 1], w.d[1]))
        return assay_op_fail(err, op, "x %s needs a weight [out, %s], got %s", assay_shape_print(&x, tx), x.rank ? "last size of x" : "in", assay_shape_print(&w, tw));
    if (assay_arg_shape(op, "bias", 0, &b) && !(b.rank == 1 && assay_dims_agree(b.d[0], w.d[0])))
        return assay_op_fail(err, op, "bias %s does not fit weight %s", assay_shape_print(&b, tx), assay_shape_print(&w, tw));
    x.d[x.rank - 1] = w.d[0];
    out[0] = assay_shape_type(p, assay_arg_dtype(op, "x"), &x);
    return ASSAY_OK;
}

/* On fp16 values the sum is taken in float64: a float32 sum of 1280 terms carries an error that depends on its order and moves
 * fp16 near-ties (about 2 elements of 10000), which shifts the largest error of a whole arm by some per cent. The exact sum is
 * what every float32 order scatters around (calibration.md section 2.2 is reproduced with it). */
static assay_status eval_linear(assay_eval *ev, assay_error *err) {
    const assay_tensor *x = assay_eval_in(ev, "x"), *w = assay_eval_in(ev, "weight"), *b = assay_eval_in(ev, "bias");
    bool wide = assay_eval_wide(ev) || ev->out_dtypes[0] == ASSAY_F16;
    assay_gemm g = { .wide = wide, .trans_b = true, .batch = 1 };
    if (!(g.a = assay_eval_operand(ev, x, wide, err)) || !(g.b = assay_eval_operand(ev, w, wide, err))) return ASSAY_E_NOMEM;
    if (b && !(g.bias = assay_eval_operand(ev, b, wide, err))) return ASSAY_E_NOMEM;
    if (!(g.c = assay_eval_dst(ev, 0, wide, err))) return ASSAY_E_NOMEM;
    g.n = g.ldc = w->shape[0];
    g.k = g.lda = g.ldb = w->shape[1];
    g.m = 1;
    for (uint32_t i = 0; i + 1 < x->rank; i++) g.m *= x->shape[i];
    assay_gemm_run(ev, &g);
    assay_eval_put(ev, 0, wide, g.c);
    return ASSAY_OK;
}

/* ---- matmul. A rank-1 x is one row, a rank-1 y one column; that axis is dropped from the result. */
typedef struct mm_shape { assay_shape x, y, batch, out; int64_t m, n, k; bool tx, ty; } mm_shape;

static void as_matrix(assay_shape *s, bool row) {
    if (s->rank != 1) return;
    int64_t n = s->d[0];
    s->rank = 2;
    s->d[0] = row ? 1 : n;
    s->d[1] = row ? n : 1;
}

static assay_status mm_shapes(const assay_mil_op *op, const assay_shape *gx, const assay_shape *gy, mm_shape *s, assay_error *err) {
    char tx[160], ty[160];
    *s = (mm_shape){ .x = *gx, .y = *gy, .tx = assay_arg_bool(op, "transpose_x", false), .ty = assay_arg_bool(op, "transpose_y", false) };
    if (gx->rank == 0 || gy->rank == 0) return assay_op_fail(err, op, "x and y must have at least one axis");
    if (gx->rank == 1) s->tx = false;
    if (gy->rank == 1) s->ty = false;
    as_matrix(&s->x, true);
    as_matrix(&s->y, false);
    uint32_t rx = s->x.rank, ry = s->y.rank;
    s->m = s->x.d[rx - (s->tx ? 1 : 2)];
    s->k = s->x.d[rx - (s->tx ? 2 : 1)];
    s->n = s->y.d[ry - (s->ty ? 2 : 1)];
    int64_t ky = s->y.d[ry - (s->ty ? 1 : 2)];
    assay_shape bx = s->x, by = s->y;
    bx.rank -= 2;
    by.rank -= 2;
    if (!assay_dims_agree(s->k, ky) || !assay_shape_broadcast(&bx, &by, &s->batch))
        return assay_op_fail(err, op, "x %s%s and y %s%s do not multiply", assay_shape_print(gx, tx), s->tx ? " transposed" : "",
                             assay_shape_print(gy, ty), s->ty ? " transposed" : "");
    s->out = s->batch;
    if (gx->rank > 1) s->out.d[s->out.rank++] = s->m;
    if (gy->rank > 1) s->out.d[s->out.rank++] = s->n;
    return ASSAY_OK;
}

static assay_status infer_matmul(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out, assay_error *err) {
    (void)n_out;
    assay_shape x, y;
    mm_shape s;
    ASSAY_TRY(assay_op_check_args(op, err));
    if (assay_arg_dtype(op, "x") != assay_arg_dtype(op, "y")) return assay_op_fail(err, op, "x and y must have one type (add a cast)");
    assay_arg_shape(op, "x", 0, &x);
    assay_arg_shape(op, "y", 0, &y);
    ASSAY_TRY(mm_shapes(op, &x, &y, &s, err));
    out[0] = assay_shape_type(p, assay_arg_dtype(op, "x"), &s.out);
    return ASSAY_OK;
}

/* Where each matrix of an operand of shape s begins, for a batch that broadcasts. */
static void batch_offsets(const assay_shape *s, const assay_shape *batch, int64_t *at, int64_t count) {
    int64_t matrix = s->d[s->rank - 2] * s->d[s->rank - 1];
    for (int64_t i = 0; i < count; i++) {
        int64_t rest = i, offset = 0, step = matrix;
        for (uint32_t a = 0; a < batch->rank; a++) {                    /* from the last batch axis */
            int64_t n = batch->d[batch->rank - 1 - a], own = a + 2 < s->rank ? s->d[s->rank - 3 - a] : 1;
            if (own != 1) offset += rest % n * step;
            step *= own;
            rest /= n;
        }
        at[i] = offset;
    }
}

/* Swaps the last two axes of x [.., k, m]. */
static const void *transposed(assay_eval *ev, const void *data, const assay_shape *s, bool wide, assay_error *err) {
    int64_t shape[3] = { 1, s->d[s->rank - 2], s->d[s->rank - 1] }, stride[3];
    for (uint32_t i = 0; i + 2 < s->rank; i++) shape[0] *= s->d[i];
    assay_strides(3, shape, stride);
    static const uint32_t perm[3] = { 0, 2, 1 };
    return assay_eval_permuted(ev, data, wide, 3, shape, stride, perm, err);
}

static assay_shape shape_of(const assay_tensor *t) {
    assay_shape s = { t->rank, { 0 } };
    memcpy(s.d, t->shape, sizeof s.d);
    return s;
}

static assay_status eval_matmul(assay_eval *ev, assay_error *err) {
    const assay_tensor *x = assay_eval_in(ev, "x"), *y = assay_eval_in(ev, "y");
    bool wide = assay_eval_wide(ev);
    mm_shape s;
    assay_shape sx = shape_of(x), sy = shape_of(y);
    ASSAY_TRY(mm_shapes(ev->op, &sx, &sy, &s, err));
    int64_t batch = assay_shape_count(&s.batch);
    assay_gemm g = { .wide = wide, .trans_b = s.ty, .batch = batch, .m = s.m, .n = s.n, .k = s.k, .lda = s.k, .ldb = s.ty ? s.k : s.n, .ldc = s.n };
    g.a = assay_eval_operand(ev, x, wide, err);
    if (g.a && s.tx) g.a = transposed(ev, g.a, &s.x, wide, err);
    g.b = assay_eval_operand(ev, y, wide, err);
    g.c = assay_eval_dst(ev, 0, wide, err);
    int64_t *at = assay_eval_scratch(ev, 3 * (uint64_t)batch, sizeof *at, err);
    if (!g.a || !g.b || !g.c || !at) return ASSAY_E_NOMEM;
    batch_offsets(&s.x, &s.batch, at, batch);
    batch_offsets(&s.y, &s.batch, at + batch, batch);
    for (int64_t i = 0; i < batch; i++) at[2 * batch + i] = i * s.m * s.n;
    g.a_at = at;
    g.b_at = at + batch;
    g.c_at = at + 2 * batch;
    assay_gemm_run(ev, &g);
    assay_eval_put(ev, 0, wide, g.c);
    return ASSAY_OK;
}

static const assay_op_param p_linear[] = { ASSAY_X("fp", "[..., in]"), { "weight", "fp", NULL, ASSAY_ARG_REQUIRED, "[out, in]" }, { "bias", "fp", NULL, 0, "[out], default 0" }, ASSAY_END };
static const assay_op_param p_matmul[] = { ASSAY_X("num", "[..., m, k]"), { "y", "num", NULL, ASSAY_ARG_REQUIRED, "[..., k, n]" },
    { "transpose_x", "bool", "false", ASSAY_ARG_CONST, "x is [..., k, m]" }, { "transpose_y", "bool", "false", ASSAY_ARG_CONST, "y is [..., n, k]" }, ASSAY_END };
static const assay_op_def def_linear = { "linear", "x W^T + b", "CoreML5", 0, p_linear, infer_linear, NULL, eval_linear };
static const assay_op_def def_matmul = { "matmul", "matrix product with batch broadcasting", "CoreML5", 0, p_matmul, infer_matmul, NULL, eval_matmul };
static const assay_op_def *const defs[] = { &def_linear, &def_matmul, NULL };
const assay_op_family assay_ops_linear = { defs };
