/* conv: each output position is a row of gathered inputs times the weights, summed over channels, then taps, ascending. */
#include "ops/builtin.h"
#include "ops/gemm.h"
#include "ops/window.h"
#include <string.h>

typedef struct conv_shapes { assay_shape x, w; int64_t groups; assay_window win; } conv_shapes;

static assay_status conv_read(const assay_mil_op *op, const assay_shape *x, const assay_shape *w, conv_shapes *s, assay_error *err) {
    char a[160], b[160];
    *s = (conv_shapes){ .x = *x, .w = *w, .groups = assay_arg_int(op, "groups", 1), .win = { .n = x->rank - 2 } };
    assay_shape_print(x, a);
    assay_shape_print(w, b);
    if (x->rank < 3 || x->rank > 2 + ASSAY_SPATIAL_MAX || w->rank != x->rank)
        return assay_op_fail(err, op, "x %s and weight %s must be [N, C, 1 to 3 spatial] and [out, in/groups, kernel]", a, b);
    if (s->groups < 1 || (x->d[1] >= 0 && x->d[1] % s->groups) || (w->d[0] >= 0 && w->d[0] % s->groups))
        return assay_op_fail(err, op, "groups %lld do not divide the channels of x %s and weight %s", (long long)s->groups, a, b);
    if (x->d[1] >= 0 && !assay_dims_agree(x->d[1] / s->groups, w->d[1]))
        return assay_op_fail(err, op, "weight %s does not fit x %s in %lld groups", b, a, (long long)s->groups);
    for (uint32_t i = 0; i < s->win.n; i++) {
        s->win.in[i] = x->d[2 + i];
        s->win.kernel[i] = w->d[2 + i];
    }
    return assay_window_read(op, &s->win, false, err);
}

static assay_status infer(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out, assay_error *err) {
    (void)n_out;
    assay_shape x, w, b;
    conv_shapes s;
    ASSAY_TRY(assay_op_check_args(op, err));
    assay_arg_shape(op, "x", 0, &x);
    assay_arg_shape(op, "weight", 0, &w);
    ASSAY_TRY(conv_read(op, &x, &w, &s, err));
    if (assay_arg_shape(op, "bias", 0, &b) && !(b.rank == 1 && assay_dims_agree(b.d[0], w.d[0])))
        return assay_op_fail(err, op, "bias must be [%lld]", (long long)w.d[0]);
    x.d[1] = w.d[0];
    memcpy(&x.d[2], s.win.out, s.win.n * sizeof *x.d);
    out[0] = assay_shape_type(p, assay_arg_dtype(op, "x"), &x);
    return ASSAY_OK;
}

/* ---- kernel */
typedef struct gather_job { const conv_shapes *s; const int64_t *at; const char *x; char *col; size_t size; int64_t outs, taps, plane; } gather_job;

/* One channel: taps x outputs. */
static void gather_channel(void *ctx, uint64_t channel, uint32_t worker) {
    const gather_job *j = ctx;
    (void)worker;
    const char *x = j->x + (size_t)((int64_t)channel * j->plane) * j->size;
    char *col = j->col + (size_t)((int64_t)channel * j->taps * j->outs) * j->size;
    for (int64_t i = 0; i < j->taps * j->outs; i++) {
        if (j->at[i] < 0) memset(col + (size_t)i * j->size, 0, j->size);
        else memcpy(col + (size_t)i * j->size, x + (size_t)j->at[i] * j->size, j->size);
    }
}

static bool is_pointwise(const assay_window *w) {
    for (uint32_t i = 0; i < w->n; i++)
        if (w->kernel[i] != 1 || w->stride[i] != 1 || w->before[i] || w->after[i]) return false;
    return true;
}

static void add_bias(void *c, const void *bias, int64_t rows, int64_t n, bool wide) {
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < n; i++) {
            if (wide) ((double *)c)[r * n + i] += ((const double *)bias)[r];
            else ((float *)c)[r * n + i] += ((const float *)bias)[r];
        }
}

/* All groups of one batch item. */
static void conv_item(assay_eval *ev, const conv_shapes *s, const char *x, const char *w, char *col, const int64_t *at, char *out, bool wide) {
    size_t size = wide ? sizeof(double) : sizeof(float);
    int64_t outs = assay_window_outputs(&s->win), taps = assay_window_taps(&s->win), plane = 1;
    for (uint32_t i = 0; i < s->win.n; i++) plane *= s->win.in[i];
    int64_t cin = s->x.d[1] / s->groups, cout = s->w.d[0] / s->groups, k = cin * taps;
    for (int64_t g = 0; g < s->groups; g++) {
        const char *src = x + (size_t)(g * cin * plane) * size;
        if (col) {
            gather_job j = { s, at, src, col, size, outs, taps, plane };
            assay_eval_parallel(ev, cin, taps * outs, gather_channel, &j);
            src = col;
        }
        assay_gemm m = { .a = w + (size_t)(g * cout * k) * size, .b = src, .c = out + (size_t)(g * cout * outs) * size, .wide = wide, .batch = 1,
                         .m = cout, .n = outs, .k = k, .lda = k, .ldb = outs, .ldc = outs };
        assay_gemm_run(ev, &m);
    }
}

static assay_status eval(assay_eval *ev, assay_error *err) {
    const assay_tensor *x = assay_eval_in(ev, "x"), *w = assay_eval_in(ev, "weight"), *b = assay_eval_in(ev, "bias");
    bool wide = assay_eval_wide(ev);
    size_t size = wide ? sizeof(double) : sizeof(float);
    assay_shape sx = { x->rank, { 0 } }, sw = { w->rank, { 0 } };
    conv_shapes s;
    memcpy(sx.d, x->shape, sizeof sx.d);
    memcpy(sw.d, w->shape, sizeof sw.d);
    ASSAY_TRY(conv_read(ev->op, &sx, &sw, &s, err));
    const char *px = assay_eval_operand(ev, x, wide, err), *pw = assay_eval_operand(ev, w, wide, err);
    const void *pb = b ? assay_eval_operand(ev, b, wide, err) : NULL;
    char *dst = assay_eval_dst(ev, 0, wide, err), *col = NULL;
    int64_t outs = assay_window_outputs(&s.win), taps = assay_window_taps(&s.win), *at = NULL;
    if (!px || !pw || !dst || (b && !pb)) return ASSAY_E_NOMEM;
    if (!is_pointwise(&s.win)) {
        col = assay_eval_scratch(ev, (uint64_t)(x->shape[1] / s.groups * taps * outs), size, err);
        at = assay_eval_scratch(ev, (uint64_t)(taps * outs), sizeof *at, err);
        if (!col || !at) return ASSAY_E_NOMEM;
        for (int64_t t = 0; t < taps; t++)
            for (int64_t o = 0; o < outs; o++) at[t * outs + o] = assay_window_at(&s.win, o, t);
    }
    int64_t in_item = assay_tensor_count(x) / (x->shape[0] ? x->shape[0] : 1), out_item = w->shape[0] * outs;
    for (int64_t i = 0; i < x->shape[0]; i++) {
        char *out = dst + (size_t)(i * out_item) * size;
        conv_item(ev, &s, px + (size_t)(i * in_item) * size, pw, col, at, out, wide);
        if (pb) add_bias(out, pb, w->shape[0], outs, wide);
    }
    assay_eval_put(ev, 0, wide, dst);
    return ASSAY_OK;
}

#define SPATIAL(name, def, text) { name, "int", def, ASSAY_ARG_CONST, text }
static const assay_op_param params[] = { ASSAY_X("fp", "[N, C, spatial...]"), { "weight", "fp", NULL, ASSAY_ARG_REQUIRED, "[out, in/groups, kernel...]" }, { "bias", "fp", NULL, 0, "[out], default 0" },
    SPATIAL("strides", NULL, "default 1"), { "pad_type", "str", "\"valid\"", ASSAY_ARG_CONST, "valid, same, same_lower or custom" }, SPATIAL("pad", NULL, "before, after of each spatial axis"),
    SPATIAL("dilations", NULL, "default 1"), SPATIAL("groups", "1", "channel groups"), ASSAY_END };
static const assay_op_def def_conv = { "conv", "convolution over 1 to 3 spatial axes", "CoreML5", 0, params, infer, NULL, eval };
static const assay_op_def *const defs[] = { &def_conv, NULL };
const assay_op_family assay_ops_conv = { defs };
