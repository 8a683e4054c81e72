/* Constants: making them from tensors, reading them as tensors (sub-byte types unpacked), their digests. */
#include "program/internal.h"
#include "base/digest.h"
#include <math.h>
#include <string.h>

static assay_mil_const *new_data(assay_program *p, const assay_tensor *t) {
    int32_t mil = assay_mil_from_dtype(t->dtype);
    int64_t n = assay_tensor_count(t);
    if (!mil || n < 0 || t->rank > ASSAY_RANK_MAX) return NULL;
    assay_mil_const *c = assay_arena_alloc(p->arena, sizeof *c);
    c->kind = ASSAY_CONST_DATA;
    c->type = assay_type_tensor(p, mil, t->rank, t->shape);
    c->nbytes = (uint64_t)n * assay_dtype_size(t->dtype);
    return c;
}

const assay_mil_const *assay_const_tensor(assay_program *p, const assay_tensor *t) {
    assay_mil_const *c = new_data(p, t);
    if (!c) return NULL;
    void *data = assay_arena_alloc(p->arena, c->nbytes ? c->nbytes : 1);
    assay_tensor_read(t, t->dtype, data);
    c->data = data;
    return c;
}

const assay_mil_const *assay_const_string(assay_program *p, const char *s) {
    assay_mil_const *c = assay_arena_alloc(p->arena, sizeof *c);
    const char **one = assay_arena_alloc(p->arena, sizeof *one);
    one[0] = assay_arena_strdup(p->arena, s);
    c->kind = ASSAY_CONST_STRINGS;
    c->type = assay_type_tensor(p, ASSAY_MIL_STRING, 0, NULL);
    c->strings = one;
    c->n_strings = 1;
    return c;
}

/* Element i of a packed array: bits [i*b, (i+1)*b) counted from the lowest bit of byte 0. */
static uint8_t packed_at(const uint8_t *data, uint64_t i, uint32_t bits) {
    uint64_t at = i * bits;
    uint32_t word = data[at / 8];
    if (at % 8 + bits > 8) word |= (uint32_t)data[at / 8 + 1] << 8;
    return (uint8_t)((word >> (at % 8)) & ((1u << bits) - 1u));
}

uint8_t assay_const_unpacked(const assay_mil_const *c, uint64_t i) {
    uint8_t v = packed_at(c->data, i, assay_mil_dtype_bits(c->type->dtype));
    if (c->type->dtype == ASSAY_MIL_INT4 && v >= 8) v = (uint8_t)(v | 0xf0);
    return v;
}

assay_status assay_const_ready(const assay_mil_const *c, assay_error *err) {
    if (!c || c->kind != ASSAY_CONST_DATA) return assay_fail(err, ASSAY_E_TYPE, "the constant is not a numeric tensor");
    if (c->absent)
        return assay_fail(err, ASSAY_E_MISSING, "weights at offset %llu of %s are not available: %s", (unsigned long long)c->blob_offset,
                          c->blob_file, c->why_absent ? c->why_absent : "the file is absent");
    return ASSAY_OK;
}

assay_status assay_const_read(const assay_mil_const *c, assay_own_tensor *out, assay_error *err) {
    memset(out, 0, sizeof *out);
    if (assay_const_ready(c, err)) return err ? err->code : ASSAY_E_MISSING;
    int32_t dtype = assay_mil_to_dtype(c->type->dtype);
    if (dtype) {
        out->t = assay_tensor_view(dtype, c->type->rank, c->type->dims, (void *)(uintptr_t)c->data);
        return ASSAY_OK;
    }
    if (assay_mil_dtype_bits(c->type->dtype) > 8 || assay_mil_dtype_bits(c->type->dtype) == 0)
        return assay_fail(err, ASSAY_E_UNSUPPORTED, "constants of type %s cannot be read as a tensor", assay_mil_dtype_name(c->type->dtype));
    dtype = c->type->dtype == ASSAY_MIL_INT4 ? ASSAY_I8 : ASSAY_U8;
    assay_status s = assay_tensor_new(dtype, c->type->rank, c->type->dims, out, err);
    if (s) return s;
    int64_t n = assay_type_count(c->type);
    for (int64_t i = 0; i < n; i++) ((uint8_t *)out->t.data)[i] = assay_const_unpacked(c, (uint64_t)i);
    return ASSAY_OK;
}

double assay_const_at(const assay_mil_const *c, uint64_t i) {
    int64_t n = c && c->kind == ASSAY_CONST_DATA ? assay_type_count(c->type) : 0;
    if (n < 0 || i >= (uint64_t)n || c->absent) return NAN;
    int32_t dtype = assay_mil_to_dtype(c->type->dtype);
    if (dtype) return assay_load_f64(dtype, (const char *)c->data + i * assay_dtype_size(dtype));
    uint32_t bits = assay_mil_dtype_bits(c->type->dtype);
    if (bits == 0 || c->type->dtype == ASSAY_MIL_FP8E4M3 || c->type->dtype == ASSAY_MIL_FP8E5M2) return NAN;
    uint8_t v = assay_const_unpacked(c, i);
    return c->type->dtype == ASSAY_MIL_INT4 ? (double)(int8_t)v : (double)v;
}

bool assay_const_scalar(const assay_mil_const *c, double *out) {
    if (!c || c->kind != ASSAY_CONST_DATA || assay_type_count(c->type) != 1 || c->absent) return false;
    *out = assay_const_at(c, 0);
    return true;
}

static void add_unpacked(assay_sha256 *s, const assay_mil_const *c) {
    uint32_t bits = assay_mil_dtype_bits(c->type->dtype);
    if (bits >= 8) { assay_sha256_add(s, c->data, c->nbytes); return; }
    uint8_t part[4096];
    uint64_t n = (uint64_t)assay_type_count(c->type);
    for (uint64_t i = 0; i < n;) {
        size_t k = 0;
        for (; k < sizeof part && i < n; k++, i++) part[k] = assay_const_unpacked(c, i);
        assay_sha256_add(s, part, k);
    }
}

void assay_const_digest(const assay_mil_const *c, char hex[65]) {
    hex[0] = 0;
    if (!c || c->absent) return;
    assay_sha256 *s = assay_sha256_new();
    if (c->kind == ASSAY_CONST_DATA) add_unpacked(s, c);
    for (uint64_t i = 0; c->kind == ASSAY_CONST_STRINGS && i < c->n_strings; i++)
        assay_sha256_add(s, c->strings[i], strlen(c->strings[i]) + 1);
    for (uint64_t i = 0; c->kind == ASSAY_CONST_ITEMS && i < c->n_items; i++) {
        char one[65];
        assay_const_digest(c->items[i], one);
        assay_sha256_add(s, one, 64);
    }
    assay_sha256_done(s, hex);
}
