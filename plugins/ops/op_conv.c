/* conv and conv_transpose: each output position is a row of gathered inputs times the weights, summed over channels, then taps,
 * ascending. */
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
/* What both convolutions come down to: at[tap * outs + out] is the input position that a tap sees, -1 none; weights are
 * [groups * cout, cin * taps]. */
typedef struct conv_job { int64_t groups, cin, cout, plane, outs, taps; const int64_t *at; size_t size; bool wide; const char *x, *w; char *col; } conv_job;

/* One channel of the group at j->x: taps x outputs. */
static void gather_channel(void *ctx, uint64_t channel, uint32_t worker) {
    const conv_job *j = ctx;
    (void)worker;
    const char *x = j->x + (size_t)((int64_t)channel * j->plane) * j->size;
    char *col = j->col + (size_t)((int64_t)channel * j->taps * j->outs) * j->size;
    for (int64_t i = 0; i < j->taps * j->outs; i++) {
        if (j->at[i] < 0) memset(col + (size_t)i * j->size, 0, j->size);
        else memcpy(col + (size_t)i * j->size, x + (size_t)j->at[i] * j->size, j->size);
    }
}

static void add_bias(void *c, const void *bias, int64_t rows, int64_t n, bool wide) {
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < n; i++) {
            if (wide) ((double *)c)[r * n + i] += ((const double *)bias)[r];
            else ((float *)c)[r * n + i] += ((const float *)bias)[r];
        }
}

/* All groups of one batch item at x. */
static void conv_item(const assay_eval *ev, const conv_job *job, const char *x, char *out) {
    int64_t k = job->cin * job->taps;
    for (int64_t g = 0; g < job->groups; g++) {
        conv_job j = *job;
        j.x = x + (size_t)(g * j.cin * j.plane) * j.size;
        if (j.col) assay_eval_parallel(ev, j.cin, j.taps * j.outs, gather_channel, &j);
        assay_gemm m = { .a = j.w + (size_t)(g * j.cout * k) * j.size, .b = j.col ? j.col : j.x, .c = out + (size_t)(g * j.cout * j.outs) * j.size,
                         .wide = j.wide, .batch = 1, .m = j.cout, .n = j.outs, .k = k, .lda = k, .ldb = j.outs, .ldc = j.outs };
        assay_gemm_run(ev, &m);
    }
}

static assay_status convolve(assay_eval *ev, conv_job *j, assay_error *err) {
    const assay_tensor *x = assay_eval_in(ev, "x"), *b = assay_eval_in(ev, "bias");
    const char *px = assay_eval_operand(ev, x, j->wide, err);
    const void *pb = b ? assay_eval_operand(ev, b, j->wide, err) : NULL;
    char *dst = assay_eval_dst(ev, 0, j->wide, err);
    if (j->at) j->col = assay_eval_scratch(ev, (uint64_t)(j->cin * j->taps * j->outs), j->size, err);
    if (!px || !dst || (b && !pb) || (j->at && !j->col)) return ASSAY_E_NOMEM;
    int64_t channels = j->groups * j->cout;
    for (int64_t i = 0; i < x->shape[0]; i++) {
        char *out = dst + (size_t)(i * channels * j->outs) * j->size;
        conv_item(ev, j, px + (size_t)(i * j->groups * j->cin * j->plane) * j->size, out);
        if (pb) add_bias(out, pb, channels, j->outs, j->wide);
    }
    assay_eval_put(ev, 0, j->wide, dst);
    return ASSAY_OK;
}

static void shape_of(const assay_tensor *t, assay_shape *s) {
    s->rank = t->rank;
    memcpy(s->d, t->shape, sizeof s->d);
}

static int64_t plane_of(const assay_tensor *x) {
    int64_t plane = 1;
    for (uint32_t i = 2; i < x->rank; i++) plane *= x->shape[i];
    return plane;
}

/* ---- conv */
static bool is_pointwise(const assay_window *w) {
    for (uint32_t i = 0; i < w->n; i++)
        if (w->kernel[i] != 1 || w->stride[i] != 1 || w->before[i] || w->after[i]) return false;
    return true;
}

static assay_status eval(assay_eval *ev, assay_error *err) {
    const assay_tensor *x = assay_eval_in(ev, "x"), *w = assay_eval_in(ev, "weight");
    bool wide = assay_eval_wide(ev);
    assay_shape sx, sw;
    conv_shapes s;
    shape_of(x, &sx);
    shape_of(w, &sw);
    ASSAY_TRY(conv_read(ev->op, &sx, &sw, &s, err));
    conv_job j = { .groups = s.groups, .cin = x->shape[1] / s.groups, .cout = w->shape[0] / s.groups, .plane = plane_of(x), .outs = assay_window_outputs(&s.win),
                   .taps = assay_window_taps(&s.win), .size = wide ? sizeof(double) : sizeof(float), .wide = wide };
    if (!(j.w = assay_eval_operand(ev, w, wide, err))) return ASSAY_E_NOMEM;
    if (!is_pointwise(&s.win)) {
        int64_t *at = assay_eval_scratch(ev, (uint64_t)(j.taps * j.outs), sizeof *at, err);
        if (!at) return ASSAY_E_NOMEM;
        for (int64_t t = 0; t < j.taps; t++)
            for (int64_t o = 0; o < j.outs; o++) at[t * j.outs + o] = assay_window_at(&s.win, o, t);
        j.at = at;
    }
    return convolve(ev, &j, err);
}

/* ---- conv_transpose: weight [in, out/groups, kernel...]; input position i reaches outputs i stride + tap dilation - before */
static assay_status transpose_read(const assay_mil_op *op, const assay_shape *x, const assay_shape *w, conv_shapes *s, assay_error *err) {
    int64_t want[ASSAY_RANK_MAX];
    char a[160], b[160];
    bool same = strncmp(assay_arg_text(op, "pad_type", "valid"), "same", 4) == 0;
    *s = (conv_shapes){ .x = *x, .w = *w, .groups = assay_arg_int(op, "groups", 1), .win = { .n = x->rank - 2 } };
    if (x->rank < 3 || x->rank > 2 + ASSAY_SPATIAL_MAX || w->rank != x->rank || s->groups < 1 || !assay_dims_agree(x->d[1], w->d[0]) ||
        !assay_shape_known(w) || w->d[0] % s->groups)
        return assay_op_fail(err, op, "weight %s does not fit x %s in %lld groups", assay_shape_print(w, b), assay_shape_print(x, a), (long long)s->groups);
    for (uint32_t i = 0; i < s->win.n; i++) {
        s->win.in[i] = ASSAY_DIM_UNKNOWN;                               /* only strides, dilations and padding are read here */
        s->win.kernel[i] = w->d[2 + i];
    }
    ASSAY_TRY(assay_window_read(op, &s->win, false, err));
    int n = assay_arg_ints(op, "output_shape", want, ASSAY_RANK_MAX);
    if (n >= 0 && n != (int)x->rank) return assay_op_fail(err, op, "output_shape must list %u sizes", x->rank);
    for (uint32_t i = 0; i < s->win.n; i++) {
        assay_window *v = &s->win;
        int64_t extent = v->dilation[i] * (v->kernel[i] - 1) + 1, in = v->in[i] = x->d[2 + i];
        if (same) v->before[i] = extent > v->stride[i] ? (extent - v->stride[i]) / 2 : 0;
        int64_t natural = same ? in * v->stride[i] : (in - 1) * v->stride[i] + extent - v->before[i] - v->after[i];
        v->out[i] = n > 0 ? want[2 + i] : in < 0 ? ASSAY_DIM_UNKNOWN : natural;
        if (v->out[i] < 1 && v->out[i] != ASSAY_DIM_UNKNOWN) return assay_op_fail(err, op, "spatial axis %u would have the size %lld", i, (long long)v->out[i]);
    }
    return ASSAY_OK;
}

static assay_status infer_transpose(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out, assay_error *err) {
    (void)n_out;
    assay_shape x, w, b;
    conv_shapes s;
    ASSAY_TRY(assay_op_check_args(op, err));
    assay_arg_shape(op, "x", 0, &x);
    assay_arg_shape(op, "weight", 0, &w);
    ASSAY_TRY(transpose_read(op, &x, &w, &s, err));
    x.d[1] = w.d[1] * s.groups;
    if (assay_arg_shape(op, "bias", 0, &b) && !(b.rank == 1 && assay_dims_agree(b.d[0], x.d[1])))
        return assay_op_fail(err, op, "bias must be [%lld]", (long long)x.d[1]);
    memcpy(&x.d[2], s.win.out, s.win.n * sizeof *x.d);
    out[0] = assay_shape_type(p, assay_arg_dtype(op, "x"), &x);
    return ASSAY_OK;
}

/* Input position that reaches output `out` through tap `tap`, or -1. */
static int64_t reaches(const assay_window *w, int64_t out, int64_t tap) {
    int64_t at = 0, step = 1;
    for (uint32_t i = w->n; i-- > 0;) {
        int64_t p = out % w->out[i] + w->before[i] - tap % w->kernel[i] * w->dilation[i];
        if (p < 0 || p % w->stride[i] || p / w->stride[i] >= w->in[i]) return -1;
        at += p / w->stride[i] * step;
        step *= w->in[i];
        out /= w->out[i];
        tap /= w->kernel[i];
    }
    return at;
}

static assay_status eval_transpose(assay_eval *ev, assay_error *err) {
    const assay_tensor *x = assay_eval_in(ev, "x"), *w = assay_eval_in(ev, "weight");
    bool wide = assay_eval_wide(ev);
    assay_shape sx, sw;
    conv_shapes s;
    shape_of(x, &sx);
    shape_of(w, &sw);
    ASSAY_TRY(transpose_read(ev->op, &sx, &sw, &s, err));
    conv_job j = { .groups = s.groups, .cin = x->shape[1] / s.groups, .cout = w->shape[1], .plane = plane_of(x), .outs = assay_window_outputs(&s.win),
                   .taps = assay_window_taps(&s.win), .size = wide ? sizeof(double) : sizeof(float), .wide = wide };
    const void *weight = assay_eval_operand(ev, w, wide, err);
    int64_t shape[4] = { j.groups, j.cin, j.cout, j.taps }, stride[4], *at = assay_eval_scratch(ev, (uint64_t)(j.taps * j.outs), sizeof *at, err);
    static const uint32_t perm[4] = { 0, 2, 1, 3 };
    assay_strides(4, shape, stride);
    if (!weight || !at || !(j.w = assay_eval_permuted(ev, weight, wide, 4, shape, stride, perm, err))) return ASSAY_E_NOMEM;
    for (int64_t t = 0; t < j.taps; t++)
        for (int64_t o = 0; o < j.outs; o++) at[t * j.outs + o] = reaches(&s.win, o, t);
    j.at = at;
    return convolve(ev, &j, err);
}

#define SPATIAL(name, def, text) { name, "int", def, ASSAY_ARG_CONST, text }
#define CONV(weight_text) ASSAY_X("fp", "[N, C, spatial...]"), { "weight", "fp", NULL, ASSAY_ARG_REQUIRED, weight_text }, { "bias", "fp", NULL, 0, "[out], default 0" }, \
    SPATIAL("strides", NULL, "default 1"), { "pad_type", "str", "\"valid\"", ASSAY_ARG_CONST, "valid, same, same_lower or custom" }, \
    SPATIAL("pad", NULL, "before, after of each spatial axis"), SPATIAL("dilations", NULL, "default 1"), SPATIAL("groups", "1", "channel groups")
static const assay_op_param params[] = { CONV("[out, in/groups, kernel...]"), ASSAY_END };
static const assay_op_param p_transpose[] = { CONV("[in, out/groups, kernel...]"), SPATIAL("output_shape", NULL, "size of every axis"), ASSAY_END };
static const assay_op_def def_conv = { "conv", "convolution over 1 to 3 spatial axes", "CoreML5", 0, params, infer, NULL, eval };
static const assay_op_def def_transpose = { "conv_transpose", "transposed convolution over 1 to 3 spatial axes", "CoreML5", 0, p_transpose, infer_transpose, NULL, eval_transpose };
static const assay_op_def *const defs[] = { &def_conv, &def_transpose, NULL };
const assay_op_family assay_ops_conv = { defs };
