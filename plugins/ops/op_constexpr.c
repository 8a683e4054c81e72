/* constexpr_*: compressed weights decoded into tensors (formats/mlpackage.md section 4). Up to opset CoreML7 the parameters are
 * attributes and indices and masks lie packed in uint8, lowest bit first; from CoreML8 they are inputs of sub-byte types. */
#include "ops/builtin.h"
#include "ops/gemm.h"
#include "ops/slots.h"
#include <string.h>

/* Element i of packed fields of `bits` bits. */
static uint32_t packed_at(const uint8_t *p, int64_t i, uint32_t bits) {
    uint32_t v = 0;
    for (uint32_t b = 0; b < bits; b++) {
        int64_t at = i * (int64_t)bits + b;
        v |= (uint32_t)(p[at / 8] >> (at % 8) & 1) << b;
    }
    return v;
}

/* The dense shape given by `shape`; false when there is none (CoreML8). */
static bool old_shape(const assay_mil_op *op, assay_shape *s) {
    int n = assay_arg_ints(op, "shape", s->d, ASSAY_RANK_MAX);
    if (n < 0) return false;
    s->rank = (uint32_t)n;
    return true;
}

/* Needs ceil(count * bits / 8) bytes in argument `key`. */
static assay_status check_packed(const assay_mil_op *op, const char *key, const assay_shape *dense, uint32_t bits,
                                 assay_error *err) {
    assay_shape s;
    int64_t n = assay_shape_count(dense);
    if (!assay_arg_shape(op, key, 0, &s) || n < 0 || n > INT32_MAX || assay_shape_count(&s) < (n * bits + 7) / 8)
        return assay_op_fail(err, op, "%s holds fewer than the %lld entries of the shape", key, (long long)n);
    return ASSAY_OK;
}

static double number_at(const assay_tensor *t, int64_t i) { return assay_load_f64(t->dtype, assay_tensor_at(t, i)); }

/* Elements are decoded in pieces, each rounded into the result: no second copy of the weight in float64. */
enum { PIECE = 4096 };
typedef struct pieces {
    assay_eval *ev;
    assay_tensor *out;
    double *at;      /* PIECE elements */
    int64_t n, done; /* waiting in `at`, and already in the result */
} pieces;

static assay_status pieces_open(pieces *p, assay_eval *ev, assay_error *err) {
    *p = (pieces){.ev = ev, .out = assay_eval_out(ev, 0, err), .at = assay_eval_scratch(ev, PIECE, sizeof(double), err)};
    return p->out && p->at ? ASSAY_OK : ASSAY_E_NOMEM;
}
static void pieces_flush(pieces *p) {
    char *to = (char *)p->out->data + (size_t)p->done * assay_dtype_size(p->out->dtype);
    assay_eval_convert(p->ev, p->out->dtype, to, ASSAY_F64, p->at, p->n);
    p->done += p->n;
    p->n = 0;
}
static void pieces_add(pieces *p, double v) {
    p->at[p->n++] = v;
    if (p->n == PIECE) pieces_flush(p);
}
static assay_status pieces_close(pieces *p) {
    pieces_flush(p);
    assay_canonical_nan(p->out);
    return ASSAY_OK;
}

/* ---- constexpr_cast */
static assay_status infer_cast(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out,
                               assay_error *err) {
    (void)n_out;
    assay_shape s;
    ASSAY_TRY(assay_op_check_args(op, err));
    int32_t t = assay_mil_dtype_parse(assay_arg_text(op, "output_dtype", ""));
    if (!assay_mil_to_dtype(t)) return assay_op_fail(err, op, "unknown output_dtype");
    assay_arg_shape(op, "source_val", 0, &s);
    out[0] = assay_shape_type(p, t, &s);
    return ASSAY_OK;
}

static assay_status eval_cast(assay_eval *ev, assay_error *err) {
    const assay_tensor *x = assay_eval_in(ev, "source_val");
    return x ? assay_eval_share(ev, 0, x, err) : assay_op_fail(err, ev->op, "source_val has no value");
}

/* ---- constexpr_affine_dequantize: (data - zero_point) scale, one for the tensor or for each entry of axis */
static assay_status infer_affine(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out,
                                 assay_error *err) {
    static const char *const keys[] = {"scale", "zero_point"};
    assay_shape d, s;
    uint32_t axis;
    (void)n_out;
    ASSAY_TRY(assay_op_check_args(op, err));
    assay_arg_shape(op, "quantized_data", 0, &d);
    ASSAY_TRY(assay_axis(op, "axis", assay_arg_int(op, "axis", 0), d.rank, &axis, err));
    for (int i = 0; i < 2; i++)
        if (assay_arg_shape(op, keys[i], 0, &s) && s.rank > 0 && !(s.rank == 1 && s.d[0] == d.d[axis]))
            return assay_op_fail(err, op, "%s must have one entry for each of axis %u", keys[i], axis);
    out[0] = assay_shape_type(p, assay_arg_dtype(op, "scale"), &d);
    return ASSAY_OK;
}

static assay_status eval_affine(assay_eval *ev, assay_error *err) {
    const assay_tensor *d = assay_eval_in(ev, "quantized_data"), *s = assay_eval_in(ev, "scale"),
                       *z = assay_eval_in(ev, "zero_point");
    pieces out;
    uint32_t axis = 0;
    if (!d || !s || !z) return ASSAY_E_NOMEM;
    ASSAY_TRY(pieces_open(&out, ev, err));
    ASSAY_TRY(assay_axis(ev->op, "axis", assay_arg_int(ev->op, "axis", 0), d->rank, &axis, err));
    for (int64_t i = 0; i < assay_tensor_count(d); i++) {
        int64_t c = i / d->stride[axis] % d->shape[axis];
        pieces_add(&out, (number_at(d, i) - number_at(z, z->rank ? c : 0)) * number_at(s, s->rank ? c : 0));
    }
    return pieces_close(&out);
}

/* ---- constexpr_blockwise_shift_scale: scale and offset have data's rank, each entry stands for a block */
static assay_status check_blocks(const assay_mil_op *op, const char *key, const assay_shape *d, assay_error *err) {
    assay_shape s;
    char a[160], b[160];
    if (!assay_arg_shape(op, key, 0, &s)) return ASSAY_OK;
    bool fits = s.rank == d->rank;
    for (uint32_t i = 0; fits && i < d->rank; i++) fits = s.d[i] > 0 && d->d[i] % s.d[i] == 0;
    return fits ? ASSAY_OK
                : assay_op_fail(err, op, "%s %s does not divide data %s into blocks", key, assay_shape_print(&s, a),
                                assay_shape_print(d, b));
}

static assay_status infer_blockwise(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out,
                                    assay_error *err) {
    (void)n_out;
    assay_shape d;
    ASSAY_TRY(assay_op_check_args(op, err));
    assay_arg_shape(op, "data", 0, &d);
    ASSAY_TRY(check_blocks(op, "scale", &d, err));
    ASSAY_TRY(check_blocks(op, "offset", &d, err));
    out[0] = assay_shape_type(p, assay_arg_dtype(op, "scale"), &d);
    return ASSAY_OK;
}

/* Flat index in a table (leading axes of `table`) of the block that element i of `d` lies in. */
static int64_t block_of(const assay_tensor *d, const assay_tensor *table, int64_t i) {
    int64_t at = 0;
    for (uint32_t k = 0; k < d->rank; k++)
        at = at * table->shape[k] + i / d->stride[k] % d->shape[k] / (d->shape[k] / table->shape[k]);
    return at;
}

static assay_status eval_blockwise(assay_eval *ev, assay_error *err) {
    const assay_tensor *d = assay_eval_in(ev, "data"), *s = assay_eval_in(ev, "scale"), *z = assay_eval_in(ev, "offset");
    pieces out;
    if (!d || !s) return ASSAY_E_NOMEM;
    ASSAY_TRY(pieces_open(&out, ev, err));
    for (int64_t i = 0; i < assay_tensor_count(d); i++)
        pieces_add(&out, (number_at(d, i) - (z ? number_at(z, block_of(d, z, i)) : 0)) * number_at(s, block_of(d, s, i)));
    return pieces_close(&out);
}

/* ---- constexpr_lut_to_dense */
static uint32_t palette_bits(int64_t entries) {
    for (uint32_t bits = 1; bits <= 8; bits++)
        if (entries == (int64_t)1 << bits) return bits;
    return 0;
}

/* lut [blocks of each axis..., entries, vector]; the vector lies along vector_axis of the result. */
static assay_status lut_shape(const assay_mil_op *op, const assay_shape *index, assay_shape *dense, assay_error *err) {
    assay_shape lut;
    uint32_t axis = 0;
    char a[160], b[160];
    assay_arg_shape(op, "lut", 0, &lut);
    bool fits = lut.rank == index->rank + 2 && index->rank > 0 && lut.d[index->rank] > 0 && lut.d[index->rank + 1] > 0;
    for (uint32_t i = 0; fits && i < index->rank; i++) fits = lut.d[i] > 0 && index->d[i] % lut.d[i] == 0;
    if (!fits)
        return assay_op_fail(err, op, "lut %s does not fit indices %s", assay_shape_print(&lut, a), assay_shape_print(index, b));
    *dense = *index;
    int64_t vector = lut.d[index->rank + 1];
    if (vector > 1 && !assay_arg_count(op, "vector_axis")) return assay_op_fail(err, op, "vector_axis is missing");
    ASSAY_TRY(assay_axis(op, "vector_axis", assay_arg_int(op, "vector_axis", 0), index->rank, &axis, err));
    dense->d[axis] *= vector;
    return ASSAY_OK;
}

static assay_status infer_lut(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out,
                              assay_error *err) {
    (void)n_out;
    assay_shape s, lut, index;
    ASSAY_TRY(assay_op_check_args(op, err));
    if (old_shape(op, &s)) {
        assay_arg_shape(op, "lut", 0, &lut);
        uint32_t bits = lut.rank == 1 ? palette_bits(lut.d[0]) : 0;
        if (!bits) return assay_op_fail(err, op, "lut must have 2 to 256 entries, a power of two");
        ASSAY_TRY(check_packed(op, "indices", &s, bits, err));
    } else {
        assay_arg_shape(op, "indices", 0, &index);
        ASSAY_TRY(lut_shape(op, &index, &s, err));
    }
    out[0] = assay_shape_type(p, assay_arg_dtype(op, "lut"), &s);
    return ASSAY_OK;
}

static assay_status look_up(const assay_eval *ev, const assay_tensor *index, const assay_tensor *lut, const assay_tensor *out,
                            uint32_t axis, double *dst, assay_error *err) {
    int64_t entries = lut->shape[index->rank], vector = lut->shape[index->rank + 1];
    for (int64_t i = 0; i < assay_tensor_count(index); i++) {
        int64_t entry = (int64_t)number_at(index, i), to = 0;
        if (entry < 0 || entry >= entries)
            return assay_op_fail(err, ev->op, "index %lld is outside a table of %lld", (long long)entry, (long long)entries);
        for (uint32_t k = 0; k < index->rank; k++)
            to += i / index->stride[k] % index->shape[k] * out->stride[k] * (k == axis ? vector : 1);
        int64_t from = (block_of(index, lut, i) * entries + entry) * vector;
        for (int64_t v = 0; v < vector; v++) dst[to + v * out->stride[axis]] = number_at(lut, from + v);
    }
    return ASSAY_OK;
}

/* Up to CoreML7: packed indices into one table. */
static assay_status eval_packed_lut(assay_eval *ev, const assay_tensor *index, const assay_tensor *lut, assay_error *err) {
    uint32_t bits = palette_bits(lut->shape[0]);
    pieces out;
    ASSAY_TRY(pieces_open(&out, ev, err));
    for (int64_t i = 0; i < assay_tensor_count(out.out); i++) pieces_add(&out, number_at(lut, packed_at(index->data, i, bits)));
    return pieces_close(&out);
}

static assay_status eval_lut(assay_eval *ev, assay_error *err) {
    const assay_tensor *index = assay_eval_in(ev, "indices"), *lut = assay_eval_in(ev, "lut"), *out = assay_eval_out(ev, 0, err);
    assay_shape s;
    uint32_t axis = 0;
    if (!index || !lut || !out) return ASSAY_E_NOMEM;
    if (old_shape(ev->op, &s)) return eval_packed_lut(ev, index, lut, err);
    double *dst = assay_eval_dst_f64(ev, 0, err); /* whole: vectors along an axis are written out of order */
    if (!dst) return ASSAY_E_NOMEM;
    ASSAY_TRY(assay_axis(ev->op, "vector_axis", assay_arg_int(ev->op, "vector_axis", 0), index->rank, &axis, err));
    ASSAY_TRY(look_up(ev, index, lut, out, axis, dst, err));
    assay_eval_put_f64(ev, 0, dst);
    return ASSAY_OK;
}

/* ---- constexpr_sparse_to_dense: the marked elements in order, zero elsewhere */
static assay_status infer_sparse(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out,
                                 assay_error *err) {
    (void)n_out;
    assay_shape s;
    ASSAY_TRY(assay_op_check_args(op, err));
    if (old_shape(op, &s))
        ASSAY_TRY(check_packed(op, "mask", &s, 1, err));
    else
        assay_arg_shape(op, "mask", 0, &s);
    out[0] = assay_shape_type(p, assay_arg_dtype(op, "nonzero_data"), &s);
    return ASSAY_OK;
}

static assay_status eval_sparse(assay_eval *ev, assay_error *err) {
    const assay_tensor *mask = assay_eval_in(ev, "mask"), *data = assay_eval_in(ev, "nonzero_data"),
                       *out = assay_eval_out(ev, 0, err);
    pieces dense;
    assay_shape s;
    int64_t next = 0;
    if (!mask || !data || !out) return ASSAY_E_NOMEM;
    ASSAY_TRY(pieces_open(&dense, ev, err));
    bool packed = old_shape(ev->op, &s);
    for (int64_t i = 0; i < assay_tensor_count(out); i++) {
        bool marked = packed ? packed_at(mask->data, i, 1) != 0 : number_at(mask, i) != 0;
        if (marked && next >= assay_tensor_count(data))
            return assay_op_fail(err, ev->op, "the mask marks more elements than nonzero_data has");
        pieces_add(&dense, marked ? number_at(data, next++) : 0);
    }
    if (next != assay_tensor_count(data))
        return assay_op_fail(err, ev->op, "the mask marks fewer elements than nonzero_data has");
    return pieces_close(&dense);
}

/* ---- constexpr_lut_to_sparse, constexpr_sparse_blockwise_shift_scale: mask and decoded elements, still sparse */
static assay_status infer_to_sparse(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out,
                                    assay_error *err) {
    bool lut = strstr(op->type, "lut") != NULL;
    const char *mask = lut ? "indices_mask" : "data_mask";
    assay_shape m, d, dense;
    ASSAY_TRY(assay_op_check_args(op, err));
    if (n_out != 2) return assay_op_fail(err, op, "has two results, the mask and the elements");
    assay_arg_shape(op, mask, 0, &m);
    assay_arg_shape(op, lut ? "indices_nonzero_data" : "nonzero_data", 0, &d);
    if (lut) {
        ASSAY_TRY(lut_shape(op, &m, &dense, err));
        if (assay_shape_count(&dense) != assay_shape_count(&m))
            return assay_op_fail(err, op, "vectors are not supported in a sparse table");
    } else {
        ASSAY_TRY(check_blocks(op, "scale", &m, err));
        ASSAY_TRY(check_blocks(op, "offset", &m, err));
    }
    out[0] = assay_arg_type(op, mask, 0);
    out[1] = assay_shape_type(p, assay_arg_dtype(op, lut ? "lut" : "scale"), &d);
    return ASSAY_OK;
}

static assay_status decode(assay_eval *ev, const assay_tensor *mask, int64_t at, double v, double *out, assay_error *err) {
    const assay_tensor *lut = assay_eval_in(ev, "lut");
    if (lut) {
        int64_t entries = lut->shape[mask->rank];
        if (!(v >= 0 && v < (double)entries))
            return assay_op_fail(err, ev->op, "index %g is outside a table of %lld", v, (long long)entries);
        *out = number_at(lut, block_of(mask, lut, at) * entries + (int64_t)v);
        return ASSAY_OK;
    }
    const assay_tensor *s = assay_eval_in(ev, "scale"), *z = assay_eval_in(ev, "offset");
    *out = (v - (z ? number_at(z, block_of(mask, z, at)) : 0)) * number_at(s, block_of(mask, s, at));
    return ASSAY_OK;
}

static assay_status eval_to_sparse(assay_eval *ev, assay_error *err) {
    bool lut = strstr(ev->op->type, "lut") != NULL;
    const assay_tensor *mask = assay_eval_in(ev, lut ? "indices_mask" : "data_mask"),
                       *data = assay_eval_in(ev, lut ? "indices_nonzero_data" : "nonzero_data");
    double *dst = assay_eval_dst_f64(ev, 1, err);
    int64_t next = 0, n = data ? assay_tensor_count(data) : 0;
    if (!mask || !data || !dst) return ASSAY_E_NOMEM;
    for (int64_t i = 0; i < assay_tensor_count(mask); i++) {
        if (number_at(mask, i) == 0) continue;
        if (next >= n) return assay_op_fail(err, ev->op, "the mask marks more elements than there are");
        ASSAY_TRY(decode(ev, mask, i, number_at(data, next), &dst[next], err));
        next++;
    }
    if (next != n) return assay_op_fail(err, ev->op, "the mask marks fewer elements than there are");
    assay_eval_put_f64(ev, 1, dst);
    return assay_eval_share(ev, 0, mask, err);
}

static uint32_t two(const assay_mil_op *op) {
    (void)op;
    return 2;
}

#define NEED(name, types, text)                                                                                                  \
    { name, types, NULL, ASSAY_ARG_REQUIRED, text }
#define MAY(name, types, text)                                                                                                   \
    { name, types, NULL, 0, text }
static const assay_op_param p_cast[] = {NEED("source_val", "fp", "stored values"), NEED("output_dtype", "str", "target type"),
                                        ASSAY_END};
static const assay_op_param p_affine[] = {NEED("quantized_data", "int", "integers"),
                                          NEED("zero_point", "int", "one, or for each entry of axis"),
                                          NEED("scale", "fp", "likewise"), NEED("axis", "int", "axis of the vectors"), ASSAY_END};
static const assay_op_param p_blockwise[] = {NEED("data", "num", "integers"), NEED("scale", "fp", "of each block"),
                                             MAY("offset", "num", "of each block"), ASSAY_END};
static const assay_op_param p_lut[] = {NEED("indices", "int", "entries of the table"), NEED("lut", "num", "table"),
                                       MAY("shape", "int", "dense shape (up to CoreML7)"),
                                       MAY("vector_axis", "int", "axis of vector entries"), ASSAY_END};
static const assay_op_param p_sparse[] = {NEED("nonzero_data", "num", "marked elements"), NEED("mask", "int", "marks"),
                                          MAY("shape", "int", "dense shape (up to CoreML7)"), ASSAY_END};
static const assay_op_param p_lut_sparse[] = {
    NEED("indices_mask", "int", "marks"), NEED("indices_nonzero_data", "int", "entries of the table"),
    NEED("lut", "num", "table"), MAY("vector_axis", "int", "axis of vector entries"), ASSAY_END};
static const assay_op_param p_sparse_blockwise[] = {NEED("data_mask", "int", "marks"), NEED("nonzero_data", "num", "integers"),
                                                    NEED("scale", "fp", "of each block"), MAY("offset", "num", "of each block"),
                                                    ASSAY_END};
#define DEF(NAME, TYPE, TEXT, OPSET, PARAMS, INFER, COUNT, EVAL)                                                                 \
    static const assay_op_def NAME = {TYPE, TEXT, OPSET, ASSAY_OP_CONSTEXPR, PARAMS, INFER, COUNT, EVAL}
DEF(def_cast, "constexpr_cast", "weights stored in another float type", "CoreML6", p_cast, infer_cast, NULL, eval_cast);
DEF(def_affine, "constexpr_affine_dequantize", "(data - zero_point) scale", "CoreML6", p_affine, infer_affine, NULL, eval_affine);
DEF(def_blockwise, "constexpr_blockwise_shift_scale", "(data - offset) scale by blocks", "CoreML8", p_blockwise, infer_blockwise,
    NULL, eval_blockwise);
DEF(def_lut, "constexpr_lut_to_dense", "weights from a table", "CoreML6", p_lut, infer_lut, NULL, eval_lut);
DEF(def_sparse, "constexpr_sparse_to_dense", "marked weights, zero elsewhere", "CoreML6", p_sparse, infer_sparse, NULL,
    eval_sparse);
DEF(def_lut_sparse, "constexpr_lut_to_sparse", "marked weights from a table", "CoreML8", p_lut_sparse, infer_to_sparse, two,
    eval_to_sparse);
DEF(def_sparse_blockwise, "constexpr_sparse_blockwise_shift_scale", "marked weights, (data - offset) scale by blocks", "CoreML8",
    p_sparse_blockwise, infer_to_sparse, two, eval_to_sparse);
static const assay_op_def *const defs[] = {&def_cast,   &def_affine,     &def_blockwise,        &def_lut,
                                           &def_sparse, &def_lut_sparse, &def_sparse_blockwise, NULL};
const assay_op_family assay_ops_constexpr = {defs};
