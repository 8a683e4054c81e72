/* make_list, list_read, list_write, list_gather, list_scatter, list_length: a list is held as one tensor [length, *element]. An
 * element size that the program leaves open is 0 until the first element is written. */
#include "ops/builtin.h"
#include "ops/slots.h"
#include <string.h>

enum { LENGTH_MAX = 1 << 20 };

static const assay_mil_type *list_type(const assay_mil_op *op) {
    const assay_mil_type *t = assay_arg_type(op, "ls", 0);
    return t && t->kind == ASSAY_TYPE_LIST && t->n_sub == 1 && t->sub[0]->kind == ASSAY_TYPE_TENSOR &&
                   t->sub[0]->rank < ASSAY_RANK_MAX
               ? t
               : NULL;
}

static assay_status check(const assay_mil_op *op, assay_error *err) {
    ASSAY_TRY(assay_op_check_args(op, err));
    return list_type(op) ? ASSAY_OK : assay_op_fail(err, op, "argument 'ls' must be a list of tensors");
}

/* `front` more sizes before those of the element. */
static const assay_mil_type *element(assay_program *p, const assay_mil_op *op, const assay_shape *front) {
    const assay_mil_type *e = list_type(op)->sub[0];
    assay_shape s = *front;
    for (uint32_t i = 0; i < e->rank; i++) s.d[s.rank++] = e->dims[i];
    return assay_shape_type(p, e->dtype, &s);
}

static assay_status value_fits(const assay_mil_op *op, uint32_t front, assay_error *err) {
    const assay_mil_type *e = list_type(op)->sub[0];
    assay_shape v;
    bool fits = assay_arg_shape(op, "value", 0, &v) && assay_arg_dtype(op, "value") == e->dtype && v.rank == e->rank + front;
    for (uint32_t i = 0; fits && i < e->rank; i++) fits = assay_dims_agree(v.d[i + front], e->dims[i]);
    return fits ? ASSAY_OK : assay_op_fail(err, op, "value does not have the type of the list's elements");
}

/* ---- type rules */
static assay_status infer_make(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out,
                               assay_error *err) {
    (void)n_out;
    ASSAY_TRY(assay_op_check_args(op, err));
    int32_t dtype = assay_mil_dtype_parse(assay_arg_text(op, "dtype", "fp32"));
    uint32_t rank = assay_arg_count(op, "elem_shape");
    if (!dtype || rank >= ASSAY_RANK_MAX)
        return assay_op_fail(err, op, "unknown dtype '%s' or more than %d sizes in elem_shape", assay_arg_text(op, "dtype", ""),
                             ASSAY_RANK_MAX - 1);
    const assay_mil_arg *sizes = assay_op_arg(op, "elem_shape");
    assay_shape s = {0, {0}};
    for (uint32_t i = 0; i < rank; i++) { /* a number, or a name for a size that is known only at run time */
        const assay_mil_const *c = sizes->items[i].literal ? sizes->items[i].literal : assay_value_const(sizes->items[i].value);
        double d;
        s.d[s.rank++] = c && assay_const_scalar(c, &d) && d >= 0 && d < 1e15 ? (int64_t)d : ASSAY_DIM_UNKNOWN;
    }
    assay_mil_type *t = assay_arena_alloc(p->arena, sizeof *t);
    *t = (assay_mil_type){
        .kind = ASSAY_TYPE_LIST, .length = ASSAY_DIM_UNKNOWN, .n_sub = 1, .sub = assay_arena_alloc(p->arena, sizeof *t->sub)};
    t->sub[0] = assay_shape_type(p, dtype, &s);
    if (!assay_arg_bool(op, "dynamic_length", true)) t->length = assay_arg_int(op, "init_length", 1);
    out[0] = t;
    return ASSAY_OK;
}

static assay_status infer_read(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out,
                               assay_error *err) {
    (void)n_out;
    ASSAY_TRY(check(op, err));
    out[0] = element(p, op, &(assay_shape){0, {0}});
    return ASSAY_OK;
}

static assay_status infer_gather(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out,
                                 assay_error *err) {
    assay_shape n;
    (void)n_out;
    ASSAY_TRY(check(op, err));
    if (!assay_arg_shape(op, "indices", 0, &n) || n.rank != 1) return assay_op_fail(err, op, "indices must have rank 1");
    out[0] = element(p, op, &n);
    return ASSAY_OK;
}

static assay_status infer_change(const assay_mil_op *op, uint32_t front, const assay_mil_type **out, assay_error *err) {
    ASSAY_TRY(check(op, err));
    ASSAY_TRY(value_fits(op, front, err));
    out[0] = assay_arg_type(op, "ls", 0);
    return ASSAY_OK;
}
static assay_status infer_write(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out,
                                assay_error *err) {
    (void)p, (void)n_out;
    return infer_change(op, 0, out, err);
}
static assay_status infer_scatter(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out,
                                  assay_error *err) {
    (void)p, (void)n_out;
    return infer_change(op, 1, out, err);
}
static assay_status infer_length(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out,
                                 assay_error *err) {
    (void)n_out;
    ASSAY_TRY(check(op, err));
    out[0] = assay_shape_type(p, ASSAY_MIL_INT32, &(assay_shape){0, {0}});
    return ASSAY_OK;
}

/* ---- kernels */
static int64_t slice_bytes(const assay_tensor *t) {
    int64_t n = (int64_t)assay_dtype_size(t->dtype);
    for (uint32_t i = 1; i < t->rank; i++) n *= t->shape[i];
    return n;
}

static assay_status index_at(const assay_eval *ev, const assay_tensor *indices, int64_t i, int64_t length, int64_t *out,
                             assay_error *err) {
    double v = assay_load_f64(indices->dtype, assay_tensor_at(indices, i));
    if (v < 0) v += (double)length;
    *out = v >= 0 && v < (double)LENGTH_MAX ? (int64_t)v : -1;
    return *out >= 0 ? ASSAY_OK : assay_op_fail(err, ev->op, "index %g is outside the list of %lld", v, (long long)length);
}

static assay_status eval_make(assay_eval *ev, assay_error *err) {
    const assay_mil_type *t = ev->out_types[0], *e = t->sub[0];
    int64_t shape[ASSAY_RANK_MAX] = {assay_arg_int(ev->op, "init_length", 1)};
    assay_own_tensor own;
    if (shape[0] < 0 || shape[0] > LENGTH_MAX)
        return assay_op_fail(err, ev->op, "init_length %lld: 0 to %d is held", (long long)shape[0], LENGTH_MAX);
    for (uint32_t i = 0; i < e->rank; i++) shape[i + 1] = e->dims[i] < 0 ? 0 : e->dims[i];
    ASSAY_TRY(assay_tensor_new(ev->out_dtypes[0], e->rank + 1, shape, &own, err));
    assay_slot_own(ev->pool, &ev->outs[0], &own);
    return ASSAY_OK;
}

static assay_status eval_pick(assay_eval *ev, const char *key, assay_error *err) {
    const assay_tensor *ls = assay_eval_in(ev, "ls"), *at = assay_eval_in(ev, key);
    if (!ls || !at) return assay_op_fail(err, ev->op, "the list or %s has no value", key);
    bool many = !strcmp(key, "indices");
    const assay_mil_type *want = ev->out_types[0];
    for (uint32_t i = 1; i < ls->rank; i++)
        if (want->dims[i - !many] != ls->shape[i]) return assay_op_fail(err, ev->op, "an element is read before any was written");
    assay_tensor *out = assay_eval_out(ev, 0, err);
    if (!out) return ASSAY_E_NOMEM;
    int64_t n = assay_tensor_count(at), bytes = slice_bytes(ls), from;
    for (int64_t i = 0; i < n; i++) {
        ASSAY_TRY(index_at(ev, at, i, ls->shape[0], &from, err));
        if (from >= ls->shape[0])
            return assay_op_fail(err, ev->op, "index %lld is outside the list of %lld", (long long)from, (long long)ls->shape[0]);
        if (bytes) memcpy((char *)out->data + i * bytes, (const char *)ls->data + from * bytes, (size_t)bytes);
    }
    return ASSAY_OK;
}
static assay_status eval_read(assay_eval *ev, assay_error *err) { return eval_pick(ev, "index", err); }
static assay_status eval_gather(assay_eval *ev, assay_error *err) { return eval_pick(ev, "indices", err); }

/* A changed copy; longer where a written index asks for it and the list may grow, with the element sizes of the value. */
static assay_status eval_put(assay_eval *ev, const char *key, assay_error *err) {
    const assay_tensor *ls = assay_eval_in(ev, "ls"), *at = assay_eval_in(ev, key), *value = assay_eval_in(ev, "value");
    if (!ls || !at || !value) return assay_op_fail(err, ev->op, "the list, %s or value has no value", key);
    uint32_t front = !strcmp(key, "indices") ? 1 : 0;
    int64_t n = assay_tensor_count(at), shape[ASSAY_RANK_MAX] = {ls->shape[0]}, to;
    bool empty = slice_bytes(ls) == 0,
         fits = value->rank + 1 == ls->rank + front && value->dtype == ls->dtype && (!front || value->shape[0] == n);
    for (uint32_t i = 1; fits && i < ls->rank; i++) {
        shape[i] = value->shape[i - 1 + front];
        fits = empty || shape[i] == ls->shape[i];
    }
    if (!fits) return assay_op_fail(err, ev->op, "value does not fit the list's elements");
    for (int64_t i = 0; i < n; i++) {
        ASSAY_TRY(index_at(ev, at, i, ls->shape[0], &to, err));
        if (to >= shape[0] && ev->out_types[0]->length >= 0)
            return assay_op_fail(err, ev->op, "index %lld is outside the list of %lld", (long long)to, (long long)shape[0]);
        if (to >= shape[0]) shape[0] = to + 1;
    }
    assay_own_tensor own;
    ASSAY_TRY(assay_tensor_new(ls->dtype, ls->rank, shape, &own, err));
    int64_t bytes = slice_bytes(&own.t);
    if (!empty && ls->shape[0]) memcpy(own.t.data, ls->data, (size_t)(bytes * ls->shape[0]));
    for (int64_t i = 0; i < n && bytes; i++) {
        if (index_at(ev, at, i, ls->shape[0], &to, err) == ASSAY_OK)
            memcpy((char *)own.t.data + to * bytes, (const char *)value->data + i * bytes, (size_t)bytes);
    }
    assay_slot_own(ev->pool, &ev->outs[0], &own);
    return ASSAY_OK;
}
static assay_status eval_write(assay_eval *ev, assay_error *err) { return eval_put(ev, "index", err); }
static assay_status eval_scatter(assay_eval *ev, assay_error *err) { return eval_put(ev, "indices", err); }

static assay_status eval_length(assay_eval *ev, assay_error *err) {
    const assay_tensor *ls = assay_eval_in(ev, "ls");
    assay_tensor *out = ls ? assay_eval_out(ev, 0, err) : NULL;
    if (!out) return ls ? ASSAY_E_NOMEM : assay_op_fail(err, ev->op, "the list has no value");
    assay_store_f64(out->dtype, out->data, (double)ls->shape[0]);
    return ASSAY_OK;
}

#define LIST                                                                                                                     \
    { "ls", "any", NULL, ASSAY_ARG_REQUIRED, "list" }
static const assay_op_param p_make[] = {
    {"init_length", "int32", "1", 0, "elements at first"},
    {"dynamic_length", "bool", "true", ASSAY_ARG_CONST, "may grow"},
    {"elem_shape", "int32|str", NULL, ASSAY_ARG_VARIADIC, "sizes of an element; text: known at run time"},
    {"dtype", "str", "\"fp32\"", ASSAY_ARG_CONST, "of an element"},
    ASSAY_END};
static const assay_op_param p_read[] = {LIST, {"index", "int32", NULL, ASSAY_ARG_REQUIRED, "which"}, ASSAY_END};
static const assay_op_param p_gather[] = {LIST, {"indices", "int32", NULL, ASSAY_ARG_REQUIRED, "which, [n]"}, ASSAY_END};
static const assay_op_param p_write[] = {LIST,
                                         {"index", "int32", NULL, ASSAY_ARG_REQUIRED, "which"},
                                         {"value", "any", NULL, ASSAY_ARG_REQUIRED, "element"},
                                         ASSAY_END};
static const assay_op_param p_scatter[] = {LIST,
                                           {"indices", "int32", NULL, ASSAY_ARG_REQUIRED, "which, [n]"},
                                           {"value", "any", NULL, ASSAY_ARG_REQUIRED, "[n, *element]"},
                                           ASSAY_END};
static const assay_op_param p_length[] = {LIST, ASSAY_END};
static const assay_op_def def_make = {"make_list", "a list of tensors of one type", "CoreML5", 0, p_make, infer_make, NULL,
                                      eval_make};
static const assay_op_def def_read = {"list_read", "one element", "CoreML5", 0, p_read, infer_read, NULL, eval_read};
static const assay_op_def def_gather = {
    "list_gather", "elements joined along a new first axis", "CoreML5", 0, p_gather, infer_gather, NULL, eval_gather};
static const assay_op_def def_write = {
    "list_write", "the list with one element replaced", "CoreML5", 0, p_write, infer_write, NULL, eval_write};
static const assay_op_def def_scatter = {
    "list_scatter", "the list with several elements replaced", "CoreML5", 0, p_scatter, infer_scatter, NULL, eval_scatter};
static const assay_op_def def_length = {"list_length", "number of elements", "CoreML5", 0,
                                        p_length,      infer_length,         NULL,      eval_length};
static const assay_op_def *const defs[] = {&def_make, &def_read, &def_gather, &def_write, &def_scatter, &def_length, NULL};
const assay_op_family assay_ops_list = {defs};
