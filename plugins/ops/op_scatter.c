/* scatter, scatter_nd, scatter_along_axis and the gathers that mirror the last two: elements addressed by index tensors. */
#include "ops/builtin.h"
#include "ops/gemm.h"
#include <string.h>

enum { UPDATE, ADD, SUB, MUL, DIV, MAX, MIN, N_MODES };
static const char *const modes[N_MODES] = { "update", "add", "sub", "mul", "div", "max", "min" };

static int find_mode(const assay_mil_op *op, const char *dflt) {
    const char *name = assay_arg_text(op, "mode", dflt);
    for (int m = 0; m < N_MODES; m++)
        if (strcmp(modes[m], name) == 0) return m;
    return -1;
}

static double combine(int mode, double old, double v) {
    switch (mode) {
    case ADD: return old + v;
    case SUB: return old - v;
    case MUL: return old * v;
    case DIV: return old / v;
    case MAX: return old != old || old > v ? old : v;
    case MIN: return old != old || old < v ? old : v;
    default: return v;
    }
}

static int64_t product(const int64_t *v, uint32_t n) {
    int64_t p = 1;
    for (uint32_t i = 0; i < n; i++) p *= v[i];
    return p;
}

/* Index i of `index` within [0, n), negative from the end. */
static assay_status read_index(const assay_eval *ev, const assay_tensor *index, int64_t i, int64_t n, int64_t *out, assay_error *err) {
    int64_t at = (int64_t)assay_load_f64(index->dtype, assay_tensor_at(index, i));
    if (at < 0) at += n;
    if (at < 0 || at >= n) return assay_op_fail(err, ev->op, "index %lld is outside a size of %lld", (long long)at, (long long)n);
    *out = at;
    return ASSAY_OK;
}

/* ---- one run of a scatter: copies data, then combines `run` elements at a time */
typedef struct scatter_job { const assay_tensor *data, *index, *updates; const double *u; double *y; int mode; } scatter_job;

static assay_status begin(assay_eval *ev, scatter_job *j, const char *dflt, assay_error *err) {
    j->data = assay_eval_in(ev, "data");
    j->index = assay_eval_in(ev, "indices");
    j->updates = assay_eval_in(ev, "updates");
    j->mode = find_mode(ev->op, dflt);
    const double *x = assay_eval_as(ev, j->data, ASSAY_F64, err);
    j->u = assay_eval_as(ev, j->updates, ASSAY_F64, err);
    j->y = assay_eval_dst_f64(ev, 0, err);
    if (!x || !j->u || !j->y) return ASSAY_E_NOMEM;
    memcpy(j->y, x, (size_t)assay_tensor_count(j->data) * sizeof *x);
    return ASSAY_OK;
}

static void combine_run(const scatter_job *j, int64_t to, int64_t from, int64_t run) {
    for (int64_t i = 0; i < run; i++) j->y[to + i] = combine(j->mode, j->y[to + i], j->u[from + i]);
}

/* ---- scatter: whole slices along an axis */
static assay_status infer_scatter(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out, assay_error *err) {
    (void)p;
    (void)n_out;
    assay_shape d, i, u, want = { 0 };
    uint32_t axis;
    ASSAY_TRY(assay_op_check_args(op, err));
    if (find_mode(op, "add") < 0) return assay_op_fail(err, op, "mode must be update, add, sub, mul, div, max or min");
    assay_arg_shape(op, "data", 0, &d);
    assay_arg_shape(op, "indices", 0, &i);
    assay_arg_shape(op, "updates", 0, &u);
    ASSAY_TRY(assay_axis(op, "axis", assay_arg_int(op, "axis", 0), d.rank, &axis, err));
    if (d.rank - 1 + i.rank > ASSAY_RANK_MAX) return assay_op_fail(err, op, "updates would have more than %d axes", ASSAY_RANK_MAX);
    for (uint32_t k = 0; k < axis; k++) want.d[want.rank++] = d.d[k];
    for (uint32_t k = 0; k < i.rank; k++) want.d[want.rank++] = i.d[k];
    for (uint32_t k = axis + 1; k < d.rank; k++) want.d[want.rank++] = d.d[k];
    bool fits = u.rank == want.rank;
    for (uint32_t k = 0; fits && k < u.rank; k++) fits = assay_dims_agree(u.d[k], want.d[k]);
    char a[160], b[160];
    if (!fits) return assay_op_fail(err, op, "updates %s must be %s", assay_shape_print(&u, a), assay_shape_print(&want, b));
    out[0] = assay_arg_type(op, "data", 0);
    return ASSAY_OK;
}

static assay_status eval_scatter(assay_eval *ev, assay_error *err) {
    scatter_job j;
    uint32_t axis;
    ASSAY_TRY(begin(ev, &j, "add", err));
    ASSAY_TRY(assay_axis(ev->op, "axis", assay_arg_int(ev->op, "axis", 0), j.data->rank, &axis, err));
    int64_t outer = product(j.data->shape, axis), n = j.data->shape[axis], inner = product(j.data->shape + axis + 1, j.data->rank - axis - 1);
    int64_t picks = assay_tensor_count(j.index);
    for (int64_t o = 0; o < outer; o++)
        for (int64_t k = 0; k < picks; k++) {
            int64_t at;
            ASSAY_TRY(read_index(ev, j.index, k, n, &at, err));
            combine_run(&j, (o * n + at) * inner, (o * picks + k) * inner, inner);
        }
    assay_eval_put_f64(ev, 0, j.y);
    return ASSAY_OK;
}

/* ---- scatter_nd, gather_nd: the last axis of indices is a point in the leading axes */
static assay_status nd_shape(const assay_mil_op *op, const char *data, uint32_t batch, assay_shape *out, assay_error *err) {
    assay_shape d, i;
    char a[160], b[160];
    assay_arg_shape(op, data, 0, &d);
    assay_arg_shape(op, "indices", 0, &i);
    int64_t k = i.rank ? i.d[i.rank - 1] : -1;
    if (i.rank <= batch || k < 0 || k + (int64_t)batch > (int64_t)d.rank || i.rank - 1 + d.rank - batch - (uint32_t)k > ASSAY_RANK_MAX)
        return assay_op_fail(err, op, "indices %s do not address %s", assay_shape_print(&i, a), assay_shape_print(&d, b));
    *out = (assay_shape){ 0 };
    for (uint32_t x = 0; x + 1 < i.rank; x++) out->d[out->rank++] = i.d[x];
    for (uint32_t x = batch + (uint32_t)k; x < d.rank; x++) out->d[out->rank++] = d.d[x];
    return ASSAY_OK;
}

static assay_status infer_scatter_nd(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out, assay_error *err) {
    (void)p;
    (void)n_out;
    assay_shape want, u;
    ASSAY_TRY(assay_op_check_args(op, err));
    if (find_mode(op, "add") < 0) return assay_op_fail(err, op, "mode must be update, add, sub, mul, div, max or min");
    ASSAY_TRY(nd_shape(op, "data", 0, &want, err));
    assay_arg_shape(op, "updates", 0, &u);
    bool fits = u.rank == want.rank;
    for (uint32_t k = 0; fits && k < u.rank; k++) fits = assay_dims_agree(u.d[k], want.d[k]);
    char a[160], b[160];
    if (!fits) return assay_op_fail(err, op, "updates %s must be %s", assay_shape_print(&u, a), assay_shape_print(&want, b));
    out[0] = assay_arg_type(op, "data", 0);
    return ASSAY_OK;
}

/* Flat position in the leading axes of point i. */
static assay_status point(const assay_eval *ev, const assay_tensor *index, int64_t i, const int64_t *shape, int64_t *out, assay_error *err) {
    int64_t k = index->shape[index->rank - 1], at = 0;
    for (int64_t c = 0; c < k; c++) {
        int64_t one;
        ASSAY_TRY(read_index(ev, index, i * k + c, shape[c], &one, err));
        at = at * shape[c] + one;
    }
    *out = at;
    return ASSAY_OK;
}

static assay_status eval_scatter_nd(assay_eval *ev, assay_error *err) {
    scatter_job j;
    ASSAY_TRY(begin(ev, &j, "add", err));
    uint32_t k = (uint32_t)j.index->shape[j.index->rank - 1];
    int64_t points = product(j.index->shape, j.index->rank - 1), run = product(j.data->shape + k, j.data->rank - k);
    for (int64_t i = 0; i < points; i++) {
        int64_t at;
        ASSAY_TRY(point(ev, j.index, i, j.data->shape, &at, err));
        combine_run(&j, at * run, i * run, run);
    }
    assay_eval_put_f64(ev, 0, j.y);
    return ASSAY_OK;
}

static assay_status batch_dims(const assay_mil_op *op, uint32_t *out, assay_error *err) {
    int64_t b = assay_arg_int(op, "batch_dims", 0);
    if (b < 0 || b > ASSAY_RANK_MAX) return assay_op_fail(err, op, "batch_dims is %lld", (long long)b);
    *out = (uint32_t)b;
    return ASSAY_OK;
}

static assay_status infer_gather_nd(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out, assay_error *err) {
    (void)n_out;
    assay_shape s;
    uint32_t batch = 0;
    ASSAY_TRY(assay_op_check_args(op, err));
    ASSAY_TRY(batch_dims(op, &batch, err));
    ASSAY_TRY(nd_shape(op, "x", batch, &s, err));
    out[0] = assay_shape_type(p, assay_arg_dtype(op, "x"), &s);
    return ASSAY_OK;
}

static assay_status eval_gather_nd(assay_eval *ev, assay_error *err) {
    const assay_tensor *x = assay_eval_in(ev, "x"), *index = assay_eval_in(ev, "indices");
    assay_tensor *out = assay_eval_out(ev, 0, err);
    const char *src = assay_eval_as(ev, x, ev->out_dtypes[0], err);
    uint32_t batch = 0, k = (uint32_t)index->shape[index->rank - 1];
    if (!out || !src) return ASSAY_E_NOMEM;
    ASSAY_TRY(batch_dims(ev->op, &batch, err));
    int64_t batches = product(index->shape, batch), points = product(index->shape + batch, index->rank - 1 - batch);
    int64_t run = product(x->shape + batch + k, x->rank - batch - k), block = product(x->shape + batch, k);
    size_t size = (size_t)run * assay_dtype_size(out->dtype);
    for (int64_t i = 0; i < batches * points; i++) {
        int64_t at;
        ASSAY_TRY(point(ev, index, i, x->shape + batch, &at, err));
        memcpy((char *)out->data + (size_t)i * size, src + (size_t)(i / points * block + at) * size, size);
    }
    return ASSAY_OK;
}

/* ---- along an axis: indices have the shape of the result */
static assay_status infer_along(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out, assay_error *err) {
    (void)n_out;
    bool scatter = op->type[0] == 's';
    assay_shape d, i, u;
    uint32_t axis;
    char a[160], b[160];
    ASSAY_TRY(assay_op_check_args(op, err));
    if (scatter && find_mode(op, "add") < 0) return assay_op_fail(err, op, "mode must be update, add, sub, mul, div, max or min");
    assay_arg_shape(op, scatter ? "data" : "x", 0, &d);
    assay_arg_shape(op, "indices", 0, &i);
    ASSAY_TRY(assay_axis(op, "axis", assay_arg_int(op, "axis", 0), d.rank, &axis, err));
    bool fits = i.rank == d.rank;
    for (uint32_t k = 0; fits && k < d.rank; k++) fits = k == axis || assay_dims_agree(i.d[k], d.d[k]);
    if (fits && scatter && assay_arg_shape(op, "updates", 0, &u)) {
        fits = u.rank == i.rank;
        for (uint32_t k = 0; fits && k < u.rank; k++) fits = assay_dims_agree(u.d[k], i.d[k]);
    }
    if (!fits) return assay_op_fail(err, op, "indices %s (and updates) do not fit %s along axis %u", assay_shape_print(&i, a), assay_shape_print(&d, b), axis);
    out[0] = scatter ? assay_arg_type(op, "data", 0) : assay_shape_type(p, assay_arg_dtype(op, "x"), &i);
    return ASSAY_OK;
}

/* Flat position in `data` of element i of `index`. */
static assay_status along(const assay_eval *ev, const assay_tensor *data, const assay_tensor *index, uint32_t axis, int64_t i, int64_t *out, assay_error *err) {
    int64_t inner = product(index->shape + axis + 1, index->rank - axis - 1), outer = i / (inner * index->shape[axis]), at;
    ASSAY_TRY(read_index(ev, index, i, data->shape[axis], &at, err));
    *out = (outer * data->shape[axis] + at) * inner + i % inner;
    return ASSAY_OK;
}

static assay_status eval_scatter_along(assay_eval *ev, assay_error *err) {
    scatter_job j;
    uint32_t axis;
    ASSAY_TRY(begin(ev, &j, "add", err));
    ASSAY_TRY(assay_axis(ev->op, "axis", assay_arg_int(ev->op, "axis", 0), j.data->rank, &axis, err));
    for (int64_t i = 0; i < assay_tensor_count(j.index); i++) {
        int64_t at;
        ASSAY_TRY(along(ev, j.data, j.index, axis, i, &at, err));
        combine_run(&j, at, i, 1);
    }
    assay_eval_put_f64(ev, 0, j.y);
    return ASSAY_OK;
}

static assay_status eval_gather_along(assay_eval *ev, assay_error *err) {
    const assay_tensor *x = assay_eval_in(ev, "x"), *index = assay_eval_in(ev, "indices");
    assay_tensor *out = assay_eval_out(ev, 0, err);
    const char *src = assay_eval_as(ev, x, ev->out_dtypes[0], err);
    uint32_t axis;
    if (!out || !src) return ASSAY_E_NOMEM;
    ASSAY_TRY(assay_axis(ev->op, "axis", assay_arg_int(ev->op, "axis", 0), x->rank, &axis, err));
    size_t size = assay_dtype_size(out->dtype);
    for (int64_t i = 0; i < assay_tensor_count(index); i++) {
        int64_t at;
        ASSAY_TRY(along(ev, x, index, axis, i, &at, err));
        memcpy((char *)out->data + (size_t)i * size, src + (size_t)at * size, size);
    }
    return ASSAY_OK;
}

#define INDICES { "indices", "int", NULL, ASSAY_ARG_REQUIRED, "positions; negative from the end" }
#define CHECKED { "validate_indices", "bool", "false", ASSAY_ARG_CONST, "checked here always" }
#define AXIS { "axis", "int", "0", ASSAY_ARG_CONST, "axis" }
#define SCATTER { "data", "num", NULL, ASSAY_ARG_REQUIRED, "tensor" }, INDICES, { "updates", "num", NULL, ASSAY_ARG_REQUIRED, "new values" }, \
    { "mode", "str", "\"add\"", ASSAY_ARG_CONST, "update, add, sub, mul, div, max or min" }, CHECKED
static const assay_op_param p_scatter[] = { SCATTER, AXIS, ASSAY_END };
static const assay_op_param p_scatter_nd[] = { SCATTER, ASSAY_END };
static const assay_op_param p_gather_nd[] = { ASSAY_X("any", "tensor"), INDICES, { "batch_dims", "int", "0", ASSAY_ARG_CONST, "leading axes in step with indices" }, CHECKED, ASSAY_END };
static const assay_op_param p_gather_along[] = { ASSAY_X("any", "tensor"), INDICES, AXIS, CHECKED, ASSAY_END };
static const assay_op_def def_scatter = { "scatter", "slices combined into data by index", "CoreML5", 0, p_scatter, infer_scatter, NULL, eval_scatter };
static const assay_op_def def_scatter_nd = { "scatter_nd", "slices combined into data at points", "CoreML5", 0, p_scatter_nd, infer_scatter_nd, NULL, eval_scatter_nd };
static const assay_op_def def_scatter_along = { "scatter_along_axis", "elements combined into data along an axis", "CoreML5", 0, p_scatter, infer_along, NULL, eval_scatter_along };
static const assay_op_def def_gather_nd = { "gather_nd", "slices picked at points", "CoreML5", 0, p_gather_nd, infer_gather_nd, NULL, eval_gather_nd };
static const assay_op_def def_gather_along = { "gather_along_axis", "elements picked along an axis", "CoreML5", 0, p_gather_along, infer_along, NULL, eval_gather_along };
static const assay_op_def *const defs[] = { &def_scatter, &def_scatter_nd, &def_scatter_along, &def_gather_nd, &def_gather_along, NULL };
const assay_op_family assay_ops_scatter = { defs };
