/* Projection weights out of .safetensors, .npy and packages. Every offset of a file is checked before it is used. */
#include "script/weight_files.h"
#include "base/fs.h"
#include "base/names.h"
#include "program/program.h"
#include "tensor/npy.h"
#include <stdlib.h>
#include <string.h>

enum { HEADER_MAX_BYTES = 64 << 20 };

/* ---- .safetensors: u64 length of a JSON header, header, data; offsets count from the end of the header */
static int32_t dtype_of(const char *name) {
    static const struct { const char *name; int32_t dtype; } rows[] = { { "F16", ASSAY_F16 }, { "BF16", ASSAY_BF16 }, { "F32", ASSAY_F32 }, { "F64", ASSAY_F64 },
        { "BOOL", ASSAY_BOOL }, { "I8", ASSAY_I8 }, { "U8", ASSAY_U8 }, { "I16", ASSAY_I16 }, { "U16", ASSAY_U16 }, { "I32", ASSAY_I32 }, { "U32", ASSAY_U32 },
        { "I64", ASSAY_I64 }, { "U64", ASSAY_U64 } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (assay_streq(rows[i].name, name)) return rows[i].dtype;
    return 0;
}

static assay_status read_entry(const char *path, const char *name, const assay_json *e, const char *data, uint64_t size, assay_own_tensor *out, assay_error *err) {
    const assay_json *shape = assay_json_get(e, "shape"), *offsets = assay_json_get(e, "data_offsets");
    int32_t dtype = dtype_of(assay_json_string(e, "dtype", ""));
    int64_t dims[ASSAY_RANK_MAX] = { 0 };
    uint32_t rank = (uint32_t)assay_json_len(shape);
    double begin = assay_json_value(assay_json_at(offsets, 0)), end = assay_json_value(assay_json_at(offsets, 1));
    if (!dtype || assay_json_len(shape) > ASSAY_RANK_MAX || assay_json_len(offsets) != 2 || !(begin >= 0) || !(end >= begin) || !(end <= (double)size))
        return assay_fail(err, ASSAY_E_INPUT, "%s: tensor '%s' has a bad dtype, shape or place in the file", path, name);
    for (uint32_t i = 0; i < rank; i++) {
        double d = assay_json_value(assay_json_at(shape, i));
        if (!(d >= 0 && d < 4e9)) return assay_fail(err, ASSAY_E_INPUT, "%s: tensor '%s' has a bad shape", path, name);
        dims[i] = (int64_t)d;
    }
    assay_tensor view = assay_tensor_view(dtype, rank, dims, NULL);
    int64_t count = assay_tensor_count(&view);
    if (count < 0 || (double)count * (double)assay_dtype_size(dtype) != end - begin)
        return assay_fail(err, ASSAY_E_INPUT, "%s: tensor '%s' has another size than its shape says", path, name);
    assay_status st = assay_tensor_new(dtype, rank, dims, out, err);
    if (!st && count) memcpy(out->t.data, data + (size_t)begin, (size_t)(end - begin));
    return st;
}

static assay_status read_safetensors(const char *path, const char *name, assay_own_tensor *out, assay_error *err) {
    assay_map m;
    assay_status st = assay_map_file(path, &m, err);
    if (st) return st;
    const unsigned char *b = m.data;
    uint64_t n = 0;
    for (int i = 7; m.len >= 8 && i >= 0; i--) n = n << 8 | b[i];
    assay_json *header = NULL;
    if (m.len < 8 || n > m.len - 8 || n > HEADER_MAX_BYTES) st = assay_fail(err, ASSAY_E_INPUT, "%s: not a safetensors file (the header does not fit)", path);
    if (!st) st = assay_json_parse((const char *)b + 8, (size_t)n, path, &header, err);
    const assay_json *e = st ? NULL : assay_json_get(header, name);
    if (!st && !e) st = assay_fail(err, ASSAY_E_MISSING, "%s: no tensor '%s'", path, name);
    if (!st) st = read_entry(path, name, e, (const char *)b + 8 + n, m.len - 8 - n, out, err);
    assay_json_free(header);
    assay_unmap(&m);
    return st;
}

/* ---- packages: from the attention's operands back to the projection */
static const assay_mil_op *projection_of(const assay_mil_value *v) {
    for (int steps = 0; v && steps < 64; steps++) {
        const assay_mil_op *op = v->producer;
        if (!op || strcmp(op->type, "linear") == 0) return op;
        v = assay_op_in(op, "x");                /* layout ops, casts and the scale all call it x */
    }
    return NULL;
}

/* Operands q, k, v of the first attention, fused or spelled out around a softmax. */
static bool find_attention(const assay_mil_block *b, const assay_mil_value *qkv[3]) {
    for (uint32_t i = 0; i < b->n_ops; i++) {
        const assay_mil_op *op = b->ops[i];
        if (strcmp(op->type, "scaled_dot_product_attention") == 0) {
            qkv[0] = assay_op_in(op, "query");
            qkv[1] = assay_op_in(op, "key");
            qkv[2] = assay_op_in(op, "value");
            return true;
        }
        if (strcmp(op->type, "softmax") || !op->n_outs || !op->outs[0]->n_users) continue;
        const assay_mil_value *scores = assay_op_in(op, "x");
        for (int k = 0; k < 4 && scores && scores->producer && strcmp(scores->producer->type, "matmul"); k++) scores = assay_op_in(scores->producer, "x");
        const assay_mil_op *sum = op->outs[0]->users[0];
        if (!scores || !scores->producer || strcmp(scores->producer->type, "matmul") || strcmp(sum->type, "matmul")) continue;
        qkv[0] = assay_op_in(scores->producer, "x");
        qkv[1] = assay_op_in(scores->producer, "y");
        qkv[2] = assay_op_in(sum, "y");
        return true;
    }
    return false;
}

static assay_status read_package(const char *path, const char *key, assay_own_tensor *out, assay_error *err) {
    assay_program *p;
    assay_status st = assay_program_read(path, &p, err);
    if (st) return st;
    const assay_mil_value *qkv[3] = { NULL, NULL, NULL };
    const assay_mil_function *f = assay_program_function(p, NULL);
    bool bias = key[0] == 'b';
    static const char order[] = "qkv";
    const char *which = strchr(order, key[bias]);
    assay_own_tensor read = { 0 };
    if (!f || !find_attention(f->block, qkv)) st = assay_fail(err, ASSAY_E_INPUT, "%s: no attention found, so no projections", path);
    else if (strlen(key) > 2) st = assay_fail(err, ASSAY_E_MISSING, "%s: no tensor '%s'", path, key);
    else {
        const assay_mil_op *op = projection_of(qkv[which - order]);
        const assay_mil_const *c = op ? assay_op_const(op, bias ? "bias" : "weight") : NULL;
        if (!c && bias) st = assay_fail(err, ASSAY_E_MISSING, "%s: no bias '%s'", path, key);
        else if (!c) st = assay_fail(err, ASSAY_E_INPUT, "%s: '%s' does not come from a linear projection with constant weights", path, key);
        else st = assay_const_read(c, &read, err);
    }
    if (!st) st = assay_tensor_copy(&read.t, 0, out, err);
    assay_tensor_free(&read);
    assay_program_free(p);
    return st;
}

assay_status assay_weight_file_read(const char *path, const char *key, const assay_json *names, assay_own_tensor *out, assay_error *err) {
    const char *asked = assay_json_string(names, key, NULL);
    if (assay_ends_with(path, ".npy")) {
        bool meant = assay_json_len(names) ? asked != NULL : assay_streq(key, "qkv");
        if (!meant) return assay_fail(err, ASSAY_E_MISSING, "%s: holds one tensor", path);
        return assay_npy_read(path, out, err);
    }
    if (!assay_ends_with(path, ".safetensors")) return read_package(path, key, out, err);
    if (names && !asked) return assay_fail(err, ASSAY_E_MISSING, "%s: '%s' is not asked for", path, key);
    assay_status st = read_safetensors(path, asked ? asked : key, out, err);
    if (st == ASSAY_E_MISSING && asked) return assay_fail(err, ASSAY_E_INPUT, "%s: no tensor '%s' (asked for as weights.names.%s)", path, asked, key);
    return st;
}
