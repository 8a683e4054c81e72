/* upsample_* and resize_*: height and width of [..., H, W] sampled at other places, in float64, one rounding. */
#include "ops/builtin.h"
#include "ops/eval.h"
#include <math.h>
#include <string.h>

enum { NEAREST, ALIGN, HALF_PIXEL, PLAIN, DEFAULT_GRID, OFFSET };
typedef struct resize_plan { int grid; int64_t in[2], out[2]; double scale[2]; } resize_plan;   /* height, width; scale 0: from the sizes */

static assay_status sampling_mode(const assay_mil_op *op, int *grid, assay_error *err) {
    static const struct { const char *name; int grid; } modes[] = { { "DEFAULT", DEFAULT_GRID }, { "STRICT_ALIGN_CORNERS", ALIGN }, { "ALIGN_CORNERS", ALIGN },
        { "UNALIGN_CORNERS", HALF_PIXEL }, { "OFFSET_CORNERS", OFFSET } };
    const char *name = assay_arg_text(op, "sampling_mode", "DEFAULT");
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (strcmp(modes[i].name, name) == 0) { *grid = modes[i].grid; return ASSAY_OK; }
    return assay_op_fail(err, op, "unknown sampling_mode '%s'", name);
}

static assay_status read_plan(const assay_mil_op *op, const assay_shape *x, resize_plan *r, assay_error *err) {
    static const char *const targets[2] = { "target_size_height", "target_size_width" }, *const factors[2] = { "scale_factor_height", "scale_factor_width" };
    bool resize = op->type[0] == 'r', nearest = strstr(op->type, "nearest") != NULL;
    char a[160];
    if (x->rank < 3) return assay_op_fail(err, op, "x %s must be [..., H, W]", assay_shape_print(x, a));
    *r = (resize_plan){ .grid = NEAREST };
    if (!nearest && resize) ASSAY_TRY(sampling_mode(op, &r->grid, err));
    if (!nearest && !resize) {
        bool align = assay_arg_bool(op, "align_corners", true);
        r->grid = align ? ALIGN : assay_arg_bool(op, "half_pixel_centers", true) ? HALF_PIXEL : PLAIN;
    }
    for (int i = 0; i < 2; i++) {
        int64_t n = r->in[i] = x->d[x->rank - 2 + (uint32_t)i];
        double f = resize ? 0 : assay_arg_number(op, factors[i], 1);
        double size = resize ? assay_arg_number(op, targets[i], 0) : floor((double)n * f);
        if (n >= 0 && !(size >= 1 && size < 1e9 && n > 0)) return assay_op_fail(err, op, "the target size of axis %d is %g", i - 2, size);
        r->out[i] = n < 0 && !resize ? ASSAY_DIM_UNKNOWN : (int64_t)size;
        r->scale[i] = f;
    }
    return ASSAY_OK;
}

static assay_status infer(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out, assay_error *err) {
    (void)n_out;
    assay_shape x;
    resize_plan r;
    ASSAY_TRY(assay_op_check_args(op, err));
    assay_arg_shape(op, "x", 0, &x);
    ASSAY_TRY(read_plan(op, &x, &r, err));
    x.d[x.rank - 2] = r.out[0];
    x.d[x.rank - 1] = r.out[1];
    out[0] = assay_shape_type(p, assay_arg_dtype(op, "x"), &x);
    return ASSAY_OK;
}

/* Where output position o samples an axis. */
static double position(const resize_plan *r, int axis, int64_t o) {
    double in = (double)r->in[axis], out = (double)r->out[axis], at = (double)o, step = r->scale[axis] > 0 ? 1 / r->scale[axis] : in / out;
    switch (r->grid) {
    case NEAREST: return floor(at * step);
    case ALIGN: return out > 1 ? at * (in - 1) / (out - 1) : 0;
    case HALF_PIXEL: return (at + 0.5) * step - 0.5;
    case DEFAULT_GRID: return out > 1 ? at * (in - in / out) / (out - 1) : 0;
    case OFFSET: return (at + 0.5) * ((in > 2 ? in - 1 : 1) / out) - 0.5;
    default: return at * step;
    }
}

typedef struct tap { int64_t low, high; double weight; } tap;

static tap *taps(assay_eval *ev, const resize_plan *r, int axis, assay_error *err) {
    tap *t = assay_eval_scratch(ev, (uint64_t)r->out[axis], sizeof *t, err);
    for (int64_t o = 0; t && o < r->out[axis]; o++) {
        double p = position(r, axis, o), last = (double)(r->in[axis] - 1);
        p = p < 0 ? 0 : p > last ? last : p;
        t[o].low = (int64_t)p;
        t[o].high = t[o].low + 1 < r->in[axis] ? t[o].low + 1 : t[o].low;
        t[o].weight = p - (double)t[o].low;
    }
    return t;
}

static void sample_plane(const resize_plan *r, const tap *rows, const tap *columns, const double *x, double *y) {
    for (int64_t i = 0; i < r->out[0]; i++)
        for (int64_t j = 0; j < r->out[1]; j++) {
            const double *a = x + rows[i].low * r->in[1], *b = x + rows[i].high * r->in[1];
            const tap *c = &columns[j];
            double v = a[c->low];
            if (c->weight > 0 || rows[i].weight > 0) {                  /* a sample on a pixel is that pixel, infinities included */
                double top = a[c->low] + c->weight * (a[c->high] - a[c->low]), bottom = b[c->low] + c->weight * (b[c->high] - b[c->low]);
                v = top + rows[i].weight * (bottom - top);
            }
            y[i * r->out[1] + j] = v;
        }
}

static assay_status eval(assay_eval *ev, assay_error *err) {
    const assay_tensor *x = assay_eval_in(ev, "x");
    assay_shape s = { x->rank, { 0 } };
    resize_plan r;
    memcpy(s.d, x->shape, sizeof s.d);
    ASSAY_TRY(read_plan(ev->op, &s, &r, err));
    const double *src = assay_eval_as(ev, x, ASSAY_F64, err);
    double *dst = assay_eval_dst_f64(ev, 0, err);
    const tap *rows = taps(ev, &r, 0, err), *columns = taps(ev, &r, 1, err);
    if (!src || !dst || !rows || !columns) return ASSAY_E_NOMEM;
    int64_t planes = assay_tensor_count(x) / (r.in[0] * r.in[1]);
    for (int64_t c = 0; c < planes; c++) sample_plane(&r, rows, columns, src + c * r.in[0] * r.in[1], dst + c * r.out[0] * r.out[1]);
    assay_eval_put_f64(ev, 0, dst);
    return ASSAY_OK;
}

#define FACTORS { "scale_factor_height", "num", "1", ASSAY_ARG_CONST, "factor" }, { "scale_factor_width", "num", "1", ASSAY_ARG_CONST, "factor" }
#define TARGETS { "target_size_height", "int", NULL, ASSAY_ARG_REQUIRED | ASSAY_ARG_CONST, "size" }, { "target_size_width", "int", NULL, ASSAY_ARG_REQUIRED | ASSAY_ARG_CONST, "size" }
static const assay_op_param p_up_nearest[] = { ASSAY_X("fp", "[..., H, W]"), FACTORS, ASSAY_END };
static const assay_op_param p_up_linear[] = { ASSAY_X("fp", "[..., H, W]"), FACTORS, { "align_corners", "bool", "true", ASSAY_ARG_CONST, "corners stay" },
    { "half_pixel_centers", "bool", "true", ASSAY_ARG_CONST, "without align_corners: pixels have centres" }, ASSAY_END };
static const assay_op_param p_to_nearest[] = { ASSAY_X("fp", "[..., H, W]"), TARGETS, ASSAY_END };
static const assay_op_param p_to_linear[] = { ASSAY_X("fp", "[..., H, W]"), TARGETS, { "sampling_mode", "str", "\"DEFAULT\"", ASSAY_ARG_CONST, "DEFAULT, STRICT_ALIGN_CORNERS, ALIGN_CORNERS, UNALIGN_CORNERS or OFFSET_CORNERS" }, ASSAY_END };
static const assay_op_def def_up_nearest = { "upsample_nearest_neighbor", "nearest pixel, by factors", "CoreML5", 0, p_up_nearest, infer, NULL, eval };
static const assay_op_def def_up_linear = { "upsample_bilinear", "bilinear, by factors", "CoreML5", 0, p_up_linear, infer, NULL, eval };
static const assay_op_def def_to_nearest = { "resize_nearest_neighbor", "nearest pixel, to a size", "CoreML5", 0, p_to_nearest, infer, NULL, eval };
static const assay_op_def def_to_linear = { "resize_bilinear", "bilinear, to a size", "CoreML5", 0, p_to_linear, infer, NULL, eval };
static const assay_op_def *const defs[] = { &def_up_nearest, &def_up_linear, &def_to_nearest, &def_to_linear, NULL };
const assay_op_family assay_ops_resize = { defs };
