/* concat, stack, split, tile: tensors joined, taken apart and repeated. */
#include "ops/builtin.h"
#include "ops/gemm.h"
#include <string.h>

/* ---- concat */
static assay_status concat_axis(const assay_mil_op *op, uint32_t rank, uint32_t *axis, assay_error *err) {
    return assay_axis(op, "axis", assay_arg_int(op, "axis", 0), rank, axis, err);
}

/* Scalars join as vectors of one element. */
static void joined_shape(const assay_mil_op *op, uint32_t v, assay_shape *x) {
    assay_arg_shape(op, "values", v, x);
    if (x->rank == 0) *x = (assay_shape){ .rank = 1, .d = { 1 } };
}

static assay_status infer_concat(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out, assay_error *err) {
    (void)n_out;
    assay_shape s, x;
    uint32_t axis;
    char a[160], b[160];
    ASSAY_TRY(assay_op_check_args(op, err));
    bool interleave = assay_arg_bool(op, "interleave", false);
    joined_shape(op, 0, &s);
    ASSAY_TRY(concat_axis(op, s.rank, &axis, err));
    for (uint32_t v = 1; v < assay_arg_count(op, "values"); v++) {
        joined_shape(op, v, &x);
        if (assay_arg_type(op, "values", v)->dtype != assay_arg_dtype(op, "values")) return assay_op_fail(err, op, "values must have one type");
        bool fits = x.rank == s.rank;
        for (uint32_t i = 0; fits && i < s.rank; i++) {
            fits = (i == axis && !interleave) || assay_dims_agree(x.d[i], s.d[i]);
            if (i != axis && s.d[i] < 0) s.d[i] = x.d[i];
        }
        if (!fits) return assay_op_fail(err, op, "%s and %s do not join along axis %u", assay_shape_print(&s, a), assay_shape_print(&x, b), axis);
        s.d[axis] = s.d[axis] < 0 || x.d[axis] < 0 ? ASSAY_DIM_UNKNOWN : interleave ? s.d[axis] : s.d[axis] + x.d[axis];
    }
    if (interleave && s.d[axis] >= 0) s.d[axis] *= assay_arg_count(op, "values");
    out[0] = assay_shape_type(p, assay_arg_dtype(op, "values"), &s);
    return ASSAY_OK;
}

/* Copies x into the output: element j along `axis` goes to first + j * step. */
static assay_status place(assay_eval *ev, const assay_tensor *x, uint32_t axis, int64_t first, int64_t step, assay_error *err) {
    assay_tensor *out = assay_eval_out(ev, 0, err);
    const void *data = assay_eval_as(ev, x, ev->out_dtypes[0], err);
    if (!out || !data) return ASSAY_E_NOMEM;
    if (assay_tensor_count(x) == 0) return ASSAY_OK;
    size_t size = assay_dtype_size(out->dtype);
    int64_t dst[ASSAY_RANK_MAX];
    memcpy(dst, out->stride, sizeof dst);
    dst[axis] *= step;
    assay_copy_strided(size, x->rank, x->shape, (char *)out->data + (size_t)(first * out->stride[axis]) * size, dst, data, x->stride);
    return ASSAY_OK;
}

static assay_status eval_concat(assay_eval *ev, assay_error *err) {
    uint32_t n = assay_arg_count(ev->op, "values"), axis;
    bool interleave = assay_arg_bool(ev->op, "interleave", false);
    int64_t at = 0;
    ASSAY_TRY(concat_axis(ev->op, ev->out_types[0]->rank, &axis, err));
    for (uint32_t v = 0; v < n; v++) {
        assay_tensor x = *assay_eval_in_at(ev, "values", v);
        if (x.rank == 0) { x.rank = 1; x.shape[0] = x.stride[0] = 1; }
        ASSAY_TRY(place(ev, &x, axis, interleave ? v : at, interleave ? n : 1, err));
        at += x.shape[axis];
    }
    return ASSAY_OK;
}

/* ---- stack */
static assay_status infer_stack(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out, assay_error *err) {
    (void)n_out;
    assay_shape x, y, s;
    uint32_t axis;
    ASSAY_TRY(assay_op_check_args(op, err));
    assay_arg_shape(op, "values", 0, &x);
    if (x.rank + 1 > ASSAY_RANK_MAX) return assay_op_fail(err, op, "values have rank %u, at most %d", x.rank, ASSAY_RANK_MAX - 1);
    ASSAY_TRY(concat_axis(op, x.rank + 1, &axis, err));
    for (uint32_t v = 1; v < assay_arg_count(op, "values"); v++) {
        assay_arg_shape(op, "values", v, &y);
        bool same = y.rank == x.rank && assay_arg_type(op, "values", v)->dtype == assay_arg_dtype(op, "values");
        for (uint32_t i = 0; same && i < x.rank; i++) same = assay_dims_agree(x.d[i], y.d[i]);
        if (!same) return assay_op_fail(err, op, "values must have one shape and type");
    }
    s.rank = x.rank + 1;
    for (uint32_t i = 0, from = 0; i < s.rank; i++) s.d[i] = i == axis ? assay_arg_count(op, "values") : x.d[from++];
    out[0] = assay_shape_type(p, assay_arg_dtype(op, "values"), &s);
    return ASSAY_OK;
}

static assay_status eval_stack(assay_eval *ev, assay_error *err) {
    uint32_t axis, rank = ev->out_types[0]->rank;
    ASSAY_TRY(concat_axis(ev->op, rank, &axis, err));
    for (uint32_t v = 0; v < assay_arg_count(ev->op, "values"); v++) {
        const assay_tensor *x = assay_eval_in_at(ev, "values", v);
        int64_t shape[ASSAY_RANK_MAX];
        for (uint32_t i = 0, from = 0; i < rank; i++) shape[i] = i == axis ? 1 : x->shape[from++];
        assay_tensor one = assay_tensor_view(x->dtype, rank, shape, x->data);
        ASSAY_TRY(place(ev, &one, axis, v, 1, err));
    }
    return ASSAY_OK;
}

/* ---- split */
enum { SPLITS_MAX = 64 };
static assay_status split_sizes(const assay_mil_op *op, int64_t total, uint32_t n_out, int64_t *sizes, assay_error *err) {
    int n = assay_arg_ints(op, "split_sizes", sizes, SPLITS_MAX);
    int64_t sum = 0, parts = assay_arg_int(op, "num_splits", 0);
    if (n_out == 0 || n_out > SPLITS_MAX) return assay_op_fail(err, op, "splits into 1 to %d parts, not %u", SPLITS_MAX, n_out);
    if (n == ASSAY_ARG_ABSENT) {
        if (parts != (int64_t)n_out || (total >= 0 && total % parts != 0))
            return assay_op_fail(err, op, "cannot split a size of %lld into %lld equal parts", (long long)total, (long long)parts);
        for (uint32_t i = 0; i < n_out; i++) sizes[i] = total < 0 ? ASSAY_DIM_UNKNOWN : total / parts;
        return ASSAY_OK;
    }
    if (n != (int)n_out) return assay_op_fail(err, op, "split_sizes must list one size for each of the %u outputs", n_out);
    for (uint32_t i = 0; i < n_out; i++) {
        if (sizes[i] < 0) return assay_op_fail(err, op, "split_sizes has the size %lld", (long long)sizes[i]);
        sum += sizes[i];
    }
    if (total >= 0 && sum != total) return assay_op_fail(err, op, "split_sizes sum to %lld, the axis has %lld", (long long)sum, (long long)total);
    return ASSAY_OK;
}

static uint32_t count_split(const assay_mil_op *op) {
    int64_t sizes[SPLITS_MAX];
    int n = assay_arg_ints(op, "split_sizes", sizes, SPLITS_MAX);
    int64_t parts = n > 0 ? n : assay_arg_int(op, "num_splits", 0);
    return parts > 0 && parts <= SPLITS_MAX ? (uint32_t)parts : 1;
}

static assay_status infer_split(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out, assay_error *err) {
    assay_shape x;
    int64_t sizes[SPLITS_MAX];
    uint32_t axis;
    ASSAY_TRY(assay_op_check_args(op, err));
    assay_arg_shape(op, "x", 0, &x);
    ASSAY_TRY(assay_axis(op, "axis", assay_arg_int(op, "axis", 0), x.rank, &axis, err));
    ASSAY_TRY(split_sizes(op, x.d[axis], n_out, sizes, err));
    for (uint32_t i = 0; i < n_out; i++) {
        x.d[axis] = sizes[i];
        out[i] = assay_shape_type(p, assay_arg_dtype(op, "x"), &x);
    }
    return ASSAY_OK;
}

static assay_status eval_split(assay_eval *ev, assay_error *err) {
    const assay_tensor *x = assay_eval_in(ev, "x");
    uint32_t axis;
    int64_t at = 0;
    ASSAY_TRY(assay_axis(ev->op, "axis", assay_arg_int(ev->op, "axis", 0), x->rank, &axis, err));
    const char *data = assay_eval_as(ev, x, ev->out_dtypes[0], err);
    if (!data) return ASSAY_E_NOMEM;
    for (uint32_t i = 0; i < ev->n_out; i++) {
        assay_tensor *out = assay_eval_out(ev, i, err);
        if (!out) return ASSAY_E_NOMEM;
        size_t size = assay_dtype_size(out->dtype);
        assay_copy_strided(size, x->rank, out->shape, out->data, out->stride, data + (size_t)(at * x->stride[axis]) * size, x->stride);
        at += out->shape[axis];
    }
    return ASSAY_OK;
}

/* ---- tile */
static assay_status infer_tile(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out, assay_error *err) {
    (void)n_out;
    assay_shape x;
    int64_t reps[ASSAY_RANK_MAX];
    ASSAY_TRY(assay_op_check_args(op, err));
    assay_arg_shape(op, "x", 0, &x);
    int n = assay_arg_ints(op, "reps", reps, ASSAY_RANK_MAX);
    if (n != ASSAY_ARG_UNKNOWN && n != (int)x.rank) return assay_op_fail(err, op, "reps must have one entry for each of the %u axes of x", x.rank);
    for (uint32_t i = 0; i < x.rank; i++) {
        if (n >= 0 && (reps[i] < 1 || reps[i] > INT32_MAX || x.d[i] > INT64_MAX / reps[i]))
            return assay_op_fail(err, op, "reps has the entry %lld", (long long)reps[i]);
        x.d[i] = n < 0 || x.d[i] < 0 ? ASSAY_DIM_UNKNOWN : x.d[i] * reps[i];
    }
    out[0] = assay_shape_type(p, assay_arg_dtype(op, "x"), &x);
    return ASSAY_OK;
}

static assay_status eval_tile(assay_eval *ev, assay_error *err) {
    const assay_tensor *x = assay_eval_in(ev, "x");
    assay_tensor *out = assay_eval_out(ev, 0, err);
    const void *data = assay_eval_as(ev, x, ev->out_dtypes[0], err);
    int64_t shape[ASSAY_COPY_RANK], dst[ASSAY_COPY_RANK], src[ASSAY_COPY_RANK];
    if (!out || !data) return ASSAY_E_NOMEM;
    if (assay_tensor_count(out) == 0) return ASSAY_OK;
    for (uint32_t i = 0; i < x->rank; i++) {                            /* each axis becomes (repetition, element) */
        shape[2 * i] = out->shape[i] / x->shape[i];
        dst[2 * i] = x->shape[i] * out->stride[i];
        src[2 * i] = 0;
        shape[2 * i + 1] = x->shape[i];
        dst[2 * i + 1] = out->stride[i];
        src[2 * i + 1] = x->stride[i];
    }
    assay_copy_strided(assay_dtype_size(out->dtype), 2 * x->rank, shape, out->data, dst, data, src);
    return ASSAY_OK;
}

#define VALUES { "values", "any", NULL, ASSAY_ARG_REQUIRED | ASSAY_ARG_VARIADIC, "tensors" }
#define AXIS { "axis", "int", NULL, ASSAY_ARG_REQUIRED | ASSAY_ARG_CONST, "axis" }
static const assay_op_param p_concat[] = { VALUES, AXIS, { "interleave", "bool", "false", ASSAY_ARG_CONST, "take elements in turns" }, ASSAY_END };
static const assay_op_param p_stack[] = { VALUES, AXIS, ASSAY_END };
static const assay_op_param p_split[] = { ASSAY_X("any", "tensor"), AXIS, { "num_splits", "int", NULL, ASSAY_ARG_CONST, "equal parts" }, { "split_sizes", "int", NULL, ASSAY_ARG_CONST, "or their sizes" }, ASSAY_END };
static const assay_op_param p_tile[] = { ASSAY_X("any", "tensor"), { "reps", "int", NULL, ASSAY_ARG_REQUIRED, "repetitions of each axis" }, ASSAY_END };
static const assay_op_def def_concat = { "concat", "join along an axis", "CoreML5", 0, p_concat, infer_concat, NULL, eval_concat };
static const assay_op_def def_stack = { "stack", "join along a new axis", "CoreML5", 0, p_stack, infer_stack, NULL, eval_stack };
static const assay_op_def def_split = { "split", "take apart along an axis", "CoreML5", 0, p_split, infer_split, count_split, eval_split };
static const assay_op_def def_tile = { "tile", "repeat along the axes", "CoreML5", 0, p_tile, infer_tile, NULL, eval_tile };
static const assay_op_def *const defs[] = { &def_concat, &def_stack, &def_split, &def_tile, NULL };
const assay_op_family assay_ops_join = { defs };
