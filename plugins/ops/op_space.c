/* depth_to_space, space_to_depth, pixel_shuffle, pixel_unshuffle, pad: elements moved between channels and space, and borders. */
#include "ops/builtin.h"
#include "ops/eval.h"
#include <string.h>

/* ---- channels and space of [N, C, H, W]. Seen as six axes, each op is one permutation. */
typedef struct space_op { const char *type, *factor; bool to_space, channel_major; } space_op;
static const space_op space_ops[] = { { "depth_to_space", "block_size", true, false }, { "space_to_depth", "block_size", false, false },
    { "pixel_shuffle", "upscale_factor", true, true }, { "pixel_unshuffle", "downscale_factor", false, true } };

static const space_op *find_space(const assay_mil_op *op) {
    for (size_t i = 0; i < sizeof space_ops / sizeof *space_ops; i++)
        if (strcmp(space_ops[i].type, op->type) == 0) return &space_ops[i];
    return NULL;
}

static bool divide(int64_t *d, int64_t by) {
    if (*d < 0) return true;
    bool whole = *d % by == 0;
    *d /= by;
    return whole;
}

static int64_t times(int64_t d, int64_t by) { return d < 0 ? d : d * by; }

static assay_status infer_space(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out, assay_error *err) {
    (void)n_out;
    const space_op *s = find_space(op);
    assay_shape x;
    char a[160];
    ASSAY_TRY(assay_op_check_args(op, err));
    assay_arg_shape(op, "x", 0, &x);
    assay_shape_print(&x, a);
    int64_t b = assay_arg_int(op, s->factor, 0);
    if (x.rank != 4 || b < 1 || b > 65536) return assay_op_fail(err, op, "x %s must be [N, C, H, W] and %s positive", a, s->factor);
    bool whole = s->to_space ? divide(&x.d[1], b * b) : divide(&x.d[2], b) && divide(&x.d[3], b);
    if (!whole) return assay_op_fail(err, op, "%s %lld does not divide x %s", s->factor, (long long)b, a);
    if (s->to_space) { x.d[2] = times(x.d[2], b); x.d[3] = times(x.d[3], b); }
    else x.d[1] = times(x.d[1], b * b);
    out[0] = assay_shape_type(p, assay_arg_dtype(op, "x"), &x);
    return ASSAY_OK;
}

static assay_status eval_space(assay_eval *ev, assay_error *err) {
    const space_op *s = find_space(ev->op);
    const assay_tensor *x = assay_eval_in(ev, "x");
    assay_tensor *out = assay_eval_out(ev, 0, err);
    const void *src = assay_eval_as(ev, x, ev->out_dtypes[0], err);
    if (!out || !src) return ASSAY_E_NOMEM;
    if (assay_tensor_count(x) == 0) return ASSAY_OK;
    int64_t b = assay_arg_int(ev->op, s->factor, 1);
    const assay_tensor *deep = s->to_space ? x : out, *wide = s->to_space ? out : x;
    int64_t c = deep->shape[1] / (b * b), h = deep->shape[2], w = deep->shape[3];
    /* Axes: n, c, i, j, h, w; the deep side counts channels (i, j, c) or, channel major, (c, i, j). */
    int64_t shape[6] = { deep->shape[0], c, b, b, h, w }, plane = h * w;
    int64_t in_deep[6] = { deep->stride[0], s->channel_major ? b * b * plane : plane, s->channel_major ? b * plane : b * c * plane, s->channel_major ? plane : c * plane, w, 1 };
    int64_t in_wide[6] = { wide->stride[0], wide->stride[1], w * b, 1, w * b * b, b };
    assay_copy_strided(assay_dtype_size(out->dtype), 6, shape, out->data, s->to_space ? in_wide : in_deep, src, s->to_space ? in_deep : in_wide);
    return ASSAY_OK;
}

/* ---- pad: `pad` lists before, after of the last axes */
enum { CONSTANT, REFLECT, REPLICATE };

static assay_status read_pad(const assay_mil_op *op, uint32_t rank, int64_t *before, int64_t *after, assay_error *err) {
    int64_t v[2 * ASSAY_RANK_MAX];
    int n = assay_arg_ints(op, "pad", v, 2 * ASSAY_RANK_MAX);
    if (n < 0 || n % 2 || n / 2 > (int)rank) return assay_op_fail(err, op, "pad must list before, after for at most %u axes", rank);
    memset(before, 0, rank * sizeof *before);
    memset(after, 0, rank * sizeof *after);
    for (int i = 0; i < n / 2; i++) {
        uint32_t axis = rank - (uint32_t)(n / 2) + (uint32_t)i;
        before[axis] = v[2 * i];
        after[axis] = v[2 * i + 1];
        if (v[2 * i] < 0 || v[2 * i + 1] < 0 || v[2 * i] > INT32_MAX || v[2 * i + 1] > INT32_MAX) return assay_op_fail(err, op, "pad must not be negative");
    }
    return ASSAY_OK;
}

static int pad_mode(const assay_mil_op *op) {
    const char *m = assay_arg_text(op, "mode", "constant");
    return strcmp(m, "constant") == 0 ? CONSTANT : strcmp(m, "reflect") == 0 ? REFLECT : strcmp(m, "replicate") == 0 ? REPLICATE : -1;
}

static assay_status infer_pad(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out, assay_error *err) {
    (void)n_out;
    assay_shape x;
    int64_t before[ASSAY_RANK_MAX], after[ASSAY_RANK_MAX];
    ASSAY_TRY(assay_op_check_args(op, err));
    assay_arg_shape(op, "x", 0, &x);
    int mode = pad_mode(op);
    if (mode < 0) return assay_op_fail(err, op, "mode must be constant, reflect or replicate");
    bool known = assay_op_const(op, "pad") != NULL;
    if (known) ASSAY_TRY(read_pad(op, x.rank, before, after, err));
    for (uint32_t i = 0; i < x.rank; i++) {
        if (!known || x.d[i] < 0) { x.d[i] = ASSAY_DIM_UNKNOWN; continue; }
        bool room = mode == CONSTANT || (before[i] == 0 && after[i] == 0) || (mode == REPLICATE ? x.d[i] > 0 : before[i] < x.d[i] && after[i] < x.d[i]);
        if (!room) return assay_op_fail(err, op, "axis %u of size %lld is too short for its border", i, (long long)x.d[i]);
        x.d[i] += before[i] + after[i];
    }
    out[0] = assay_shape_type(p, assay_arg_dtype(op, "x"), &x);
    return ASSAY_OK;
}

/* Source position of output position i along an axis of size n; -1: the constant. */
static int64_t pad_source(int mode, int64_t i, int64_t n) {
    if (i >= 0 && i < n) return i;
    if (mode == CONSTANT) return -1;
    if (mode == REPLICATE) return i < 0 ? 0 : n - 1;
    return i < 0 ? -i : 2 * (n - 1) - i;
}

static assay_status eval_pad(assay_eval *ev, assay_error *err) {
    const assay_tensor *x = assay_eval_in(ev, "x");
    assay_tensor *out = assay_eval_out(ev, 0, err);
    const char *src = assay_eval_as(ev, x, ev->out_dtypes[0], err);
    int64_t before[ASSAY_RANK_MAX], after[ASSAY_RANK_MAX];
    char fill[8];
    if (!out || !src) return ASSAY_E_NOMEM;
    ASSAY_TRY(read_pad(ev->op, x->rank, before, after, err));
    int mode = pad_mode(ev->op);
    size_t size = assay_dtype_size(out->dtype);
    char *dst = out->data;
    assay_store_f64(out->dtype, fill, assay_arg_number(ev->op, "constant_val", 0));
    for (int64_t at = 0; at < assay_tensor_count(out); at++) {
        int64_t rest = at, from = 0;
        for (uint32_t i = x->rank; i-- > 0;) {
            int64_t one = pad_source(mode, rest % out->shape[i] - before[i], x->shape[i]);
            rest /= out->shape[i];
            from = one < 0 || from < 0 ? -1 : from + one * x->stride[i];
        }
        memcpy(dst + (size_t)at * size, from < 0 ? fill : src + (size_t)from * size, size);
    }
    return ASSAY_OK;
}

#define FACTOR(name) { name, "int", NULL, ASSAY_ARG_REQUIRED | ASSAY_ARG_CONST, "factor of height and width" }
static const assay_op_param p_block[] = { ASSAY_X("any", "[N, C, H, W]"), FACTOR("block_size"), ASSAY_END };
static const assay_op_param p_up[] = { ASSAY_X("any", "[N, C, H, W]"), FACTOR("upscale_factor"), ASSAY_END };
static const assay_op_param p_down[] = { ASSAY_X("any", "[N, C, H, W]"), FACTOR("downscale_factor"), ASSAY_END };
static const assay_op_param p_pad[] = { ASSAY_X("num|bool", "tensor"), { "pad", "int", NULL, ASSAY_ARG_REQUIRED, "before, after of the last axes" },
    { "mode", "str", "\"constant\"", ASSAY_ARG_CONST, "constant, reflect or replicate" }, { "constant_val", "num|bool", "0", ASSAY_ARG_CONST, "border" }, ASSAY_END };
static const assay_op_def def_d2s = { "depth_to_space", "channels spread over blocks of space", "CoreML5", 0, p_block, infer_space, NULL, eval_space };
static const assay_op_def def_s2d = { "space_to_depth", "blocks of space gathered into channels", "CoreML5", 0, p_block, infer_space, NULL, eval_space };
static const assay_op_def def_shuffle = { "pixel_shuffle", "channels spread over pixels", "CoreML5", 0, p_up, infer_space, NULL, eval_space };
static const assay_op_def def_unshuffle = { "pixel_unshuffle", "pixels gathered into channels", "CoreML6", 0, p_down, infer_space, NULL, eval_space };
static const assay_op_def def_pad = { "pad", "a border around the last axes", "CoreML5", 0, p_pad, infer_pad, NULL, eval_pad };
static const assay_op_def *const defs[] = { &def_d2s, &def_s2d, &def_shuffle, &def_unshuffle, &def_pad, NULL };
const assay_op_family assay_ops_space = { defs };
