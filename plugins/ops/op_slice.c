/* slice_by_index, slice_update, slice_by_size: a strided window of a tensor. */
#include "ops/builtin.h"
#include "ops/eval.h"
#include <string.h>

/* ---- slice_by_index */
typedef struct window { int64_t start[ASSAY_RANK_MAX], step[ASSAY_RANK_MAX], count[ASSAY_RANK_MAX]; uint32_t squeezed; } window;
typedef struct slice_args { int64_t begin[ASSAY_RANK_MAX], end[ASSAY_RANK_MAX], step[ASSAY_RANK_MAX]; uint32_t begin_mask, end_mask, squeeze_mask; bool known; } slice_args;

static assay_status read_list(const assay_mil_op *op, const char *key, uint32_t rank, int64_t *v, bool *known, assay_error *err) {
    int n = assay_arg_ints(op, key, v, ASSAY_RANK_MAX);
    if (n == ASSAY_ARG_UNKNOWN) { *known = false; return ASSAY_OK; }
    if (n != (int)rank) return assay_op_fail(err, op, "%s must have one entry for each of the %u axes of x", key, rank);
    return ASSAY_OK;
}

static assay_status read_mask(const assay_mil_op *op, const char *key, uint32_t rank, uint32_t *set, assay_error *err) {
    int64_t v[ASSAY_RANK_MAX];
    *set = 0;
    int n = assay_arg_ints(op, key, v, ASSAY_RANK_MAX);
    if (n == ASSAY_ARG_ABSENT) return ASSAY_OK;
    if (n != (int)rank) return assay_op_fail(err, op, "%s must have one entry for each of the %u axes of x", key, rank);
    for (uint32_t i = 0; i < rank; i++) *set |= v[i] ? 1u << i : 0;
    return ASSAY_OK;
}

static assay_status read_slice(const assay_mil_op *op, uint32_t rank, slice_args *a, assay_error *err) {
    a->known = true;
    for (uint32_t i = 0; i < ASSAY_RANK_MAX; i++) a->step[i] = 1;
    ASSAY_TRY(read_list(op, "begin", rank, a->begin, &a->known, err));
    ASSAY_TRY(read_list(op, "end", rank, a->end, &a->known, err));
    if (assay_arg_count(op, "stride")) ASSAY_TRY(read_list(op, "stride", rank, a->step, &a->known, err));
    for (uint32_t i = 0; i < rank && a->known; i++)
        if (a->step[i] == 0) return assay_op_fail(err, op, "stride 0 on axis %u", i);
    ASSAY_TRY(read_mask(op, "begin_mask", rank, &a->begin_mask, err));
    ASSAY_TRY(read_mask(op, "end_mask", rank, &a->end_mask, err));
    return read_mask(op, "squeeze_mask", rank, &a->squeeze_mask, err);
}

static int64_t clamp(int64_t v, int64_t low, int64_t high) { return v < low ? low : v > high ? high : v; }

/* Start, step and number of elements along axis i of size n. */
static assay_status window_axis(const assay_mil_op *op, const slice_args *a, uint32_t i, int64_t n, window *w, assay_error *err) {
    int64_t step = a->step[i], b = a->begin[i], e = a->end[i];
    b += b < 0 ? n : 0;
    e += e < 0 ? n : 0;
    w->squeezed |= a->squeeze_mask & (1u << i);
    if (a->squeeze_mask >> i & 1) {                                     /* one element, at begin */
        if (b < 0 || b >= n) return assay_op_fail(err, op, "index %lld is outside axis %u of size %lld", (long long)a->begin[i], i, (long long)n);
        w->start[i] = b;
        w->step[i] = w->count[i] = 1;
        return ASSAY_OK;
    }
    if (a->begin_mask >> i & 1) b = step > 0 ? 0 : n - 1;
    if (a->end_mask >> i & 1) e = step > 0 ? n : -1;
    b = step > 0 ? clamp(b, 0, n) : clamp(b, -1, n - 1);
    e = step > 0 ? clamp(e, 0, n) : clamp(e, -1, n - 1);
    int64_t span = step > 0 ? e - b : b - e, stride = step > 0 ? step : -step;
    w->start[i] = b;
    w->step[i] = step;
    w->count[i] = span > 0 ? (span + stride - 1) / stride : 0;
    return ASSAY_OK;
}

static assay_status infer_index(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out, assay_error *err) {
    (void)n_out;
    assay_shape x, s = { 0 };
    slice_args a;
    ASSAY_TRY(assay_op_check_args(op, err));
    assay_arg_shape(op, "x", 0, &x);
    ASSAY_TRY(read_slice(op, x.rank, &a, err));
    for (uint32_t i = 0; i < x.rank; i++) {
        window w = { .squeezed = 0 };
        if (a.squeeze_mask >> i & 1) {
            if (a.known && x.d[i] >= 0) ASSAY_TRY(window_axis(op, &a, i, x.d[i], &w, err));
            continue;
        }
        s.d[s.rank] = ASSAY_DIM_UNKNOWN;
        if (a.known && x.d[i] >= 0) {
            ASSAY_TRY(window_axis(op, &a, i, x.d[i], &w, err));
            s.d[s.rank] = w.count[i];
        }
        s.rank++;
    }
    out[0] = assay_shape_type(p, assay_arg_dtype(op, "x"), &s);
    return ASSAY_OK;
}

static assay_status copy_window(assay_eval *ev, const assay_tensor *x, const window *w, assay_error *err) {
    assay_tensor *out = assay_eval_out(ev, 0, err);
    const char *data = assay_eval_as(ev, x, ev->out_dtypes[0], err);
    int64_t dst[ASSAY_RANK_MAX], src[ASSAY_RANK_MAX], step = 1, offset = 0;
    if (!out || !data) return ASSAY_E_NOMEM;
    if (assay_tensor_count(out) == 0) return ASSAY_OK;
    for (uint32_t i = x->rank; i-- > 0;) {
        dst[i] = step;
        step *= w->count[i];
        src[i] = w->step[i] * x->stride[i];
        offset += w->start[i] * x->stride[i];
    }
    size_t size = assay_dtype_size(out->dtype);
    assay_copy_strided(size, x->rank, w->count, out->data, dst, data + (size_t)offset * size, src);
    return ASSAY_OK;
}

static assay_status eval_index(assay_eval *ev, assay_error *err) {
    const assay_tensor *x = assay_eval_in(ev, "x");
    slice_args a;
    window w = { .squeezed = 0 };
    ASSAY_TRY(read_slice(ev->op, x->rank, &a, err));
    if (!a.known) return assay_op_fail(err, ev->op, "begin, end or stride has no value");
    for (uint32_t i = 0; i < x->rank; i++) ASSAY_TRY(window_axis(ev->op, &a, i, x->shape[i], &w, err));
    return copy_window(ev, x, &w, err);
}

/* ---- slice_update: a window of x replaced */
static assay_status infer_update(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out, assay_error *err) {
    assay_shape u, want;
    char a[160], b[160];
    ASSAY_TRY(infer_index(p, op, out, n_out, err));
    want = (assay_shape){ out[0]->rank, { 0 } };
    memcpy(want.d, out[0]->dims, sizeof want.d);
    assay_arg_shape(op, "update", 0, &u);
    bool fits = u.rank == want.rank && assay_arg_dtype(op, "update") == assay_arg_dtype(op, "x");
    for (uint32_t i = 0; fits && i < u.rank; i++) fits = assay_dims_agree(u.d[i], want.d[i]);
    if (!fits) return assay_op_fail(err, op, "update %s must be %s of the type of x", assay_shape_print(&u, a), assay_shape_print(&want, b));
    out[0] = assay_arg_type(op, "x", 0);
    return ASSAY_OK;
}

static assay_status eval_update(assay_eval *ev, assay_error *err) {
    const assay_tensor *x = assay_eval_in(ev, "x"), *u = assay_eval_in(ev, "update");
    slice_args a;
    window w = { .squeezed = 0 };
    ASSAY_TRY(read_slice(ev->op, x->rank, &a, err));
    if (!a.known) return assay_op_fail(err, ev->op, "begin, end or stride has no value");
    for (uint32_t i = 0; i < x->rank; i++) ASSAY_TRY(window_axis(ev->op, &a, i, x->shape[i], &w, err));
    assay_tensor *out = assay_eval_out(ev, 0, err);
    const void *base = assay_eval_as(ev, x, ev->out_dtypes[0], err), *update = assay_eval_as(ev, u, ev->out_dtypes[0], err);
    if (!out || !base || !update) return ASSAY_E_NOMEM;
    size_t size = assay_dtype_size(out->dtype);
    int64_t from[ASSAY_RANK_MAX], to[ASSAY_RANK_MAX], step = 1, offset = 0;
    memcpy(out->data, base, (size_t)assay_tensor_count(x) * size);
    for (uint32_t i = x->rank; i-- > 0;) {
        from[i] = step;
        step *= w.count[i];
        to[i] = w.step[i] * out->stride[i];
        offset += w.start[i] * out->stride[i];
    }
    if (step != assay_tensor_count(u)) return assay_op_fail(err, ev->op, "update does not fit the window");
    if (step > 0) assay_copy_strided(size, x->rank, w.count, (char *)out->data + (size_t)offset * size, to, update, from);
    return ASSAY_OK;
}

/* ---- slice_by_size: size -1 goes to the end */
static assay_status size_axis(const assay_mil_op *op, uint32_t i, int64_t begin, int64_t size, int64_t n, window *w, assay_error *err) {
    w->start[i] = begin;
    w->step[i] = 1;
    w->count[i] = size == -1 ? n - begin : size;
    if (begin < 0 || w->count[i] < 0 || begin > n || w->count[i] > n - begin)
        return assay_op_fail(err, op, "begin %lld, size %lld is outside axis %u of size %lld", (long long)begin, (long long)size, i, (long long)n);
    return ASSAY_OK;
}

static assay_status infer_size(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out, assay_error *err) {
    (void)n_out;
    assay_shape x, s;
    int64_t begin[ASSAY_RANK_MAX], size[ASSAY_RANK_MAX];
    bool begin_known = true, size_known = true;
    ASSAY_TRY(assay_op_check_args(op, err));
    assay_arg_shape(op, "x", 0, &x);
    ASSAY_TRY(read_list(op, "begin", x.rank, begin, &begin_known, err));
    ASSAY_TRY(read_list(op, "size", x.rank, size, &size_known, err));
    s = x;
    for (uint32_t i = 0; i < x.rank; i++) {
        window w;
        bool whole = size_known && size[i] == -1;
        s.d[i] = size_known && !whole ? size[i] : ASSAY_DIM_UNKNOWN;
        if (!size_known || !begin_known || x.d[i] < 0) continue;
        ASSAY_TRY(size_axis(op, i, begin[i], size[i], x.d[i], &w, err));
        s.d[i] = w.count[i];
    }
    out[0] = assay_shape_type(p, assay_arg_dtype(op, "x"), &s);
    return ASSAY_OK;
}

static assay_status eval_size(assay_eval *ev, assay_error *err) {
    const assay_tensor *x = assay_eval_in(ev, "x");
    int64_t begin[ASSAY_RANK_MAX], size[ASSAY_RANK_MAX];
    window w;
    bool known = true;
    ASSAY_TRY(read_list(ev->op, "begin", x->rank, begin, &known, err));
    ASSAY_TRY(read_list(ev->op, "size", x->rank, size, &known, err));
    if (!known) return assay_op_fail(err, ev->op, "begin or size has no value");
    for (uint32_t i = 0; i < x->rank; i++) ASSAY_TRY(size_axis(ev->op, i, begin[i], size[i], x->shape[i], &w, err));
    return copy_window(ev, x, &w, err);
}

#define INTS(name, need, text) { name, "int", NULL, need, text }
#define BOOLS(name, text) { name, "bool", NULL, ASSAY_ARG_CONST, text }
#define WINDOW INTS("begin", ASSAY_ARG_REQUIRED, "first element on each axis"), INTS("end", ASSAY_ARG_REQUIRED, "one past the last"), \
    INTS("stride", 0, "step, default 1; may be negative"), BOOLS("begin_mask", "true: from the first element"), BOOLS("end_mask", "true: to the last element"), \
    BOOLS("squeeze_mask", "true: take the element at begin and drop the axis")
static const assay_op_param p_index[] = { ASSAY_X("any", "tensor"), WINDOW, ASSAY_END };
static const assay_op_param p_update[] = { ASSAY_X("any", "tensor"), { "update", "any", NULL, ASSAY_ARG_REQUIRED, "new elements" }, WINDOW, ASSAY_END };
static const assay_op_param p_size[] = { ASSAY_X("any", "tensor"), INTS("begin", ASSAY_ARG_REQUIRED, "first element on each axis"), INTS("size", ASSAY_ARG_REQUIRED, "number of elements, -1: to the end"), ASSAY_END };
static const assay_op_def def_index = { "slice_by_index", "x[begin:end:stride]", "CoreML5", 0, p_index, infer_index, NULL, eval_index };
static const assay_op_def def_size = { "slice_by_size", "x[begin:begin+size]", "CoreML5", 0, p_size, infer_size, NULL, eval_size };
static const assay_op_def def_update = { "slice_update", "x with x[begin:end:stride] replaced", "CoreML8", 0, p_update, infer_update, NULL, eval_update };
static const assay_op_def *const defs[] = { &def_index, &def_size, &def_update, NULL };
const assay_op_family assay_ops_slice = { defs };
