/* MIL data types: names, widths, and the tensor type that each one maps to. */
#include "program/internal.h"
#include "base/names.h"
#include <string.h>

static const struct { int32_t code, dtype; uint32_t bits; const char *name; } mil_types[] = {
    { ASSAY_MIL_BOOL, ASSAY_BOOL, 8, "bool" }, { ASSAY_MIL_STRING, 0, 0, "string" },
    { ASSAY_MIL_FP16, ASSAY_F16, 16, "fp16" }, { ASSAY_MIL_FP32, ASSAY_F32, 32, "fp32" },
    { ASSAY_MIL_FP64, ASSAY_F64, 64, "fp64" }, { ASSAY_MIL_BF16, ASSAY_BF16, 16, "bf16" },
    { ASSAY_MIL_INT8, ASSAY_I8, 8, "int8" }, { ASSAY_MIL_INT16, ASSAY_I16, 16, "int16" },
    { ASSAY_MIL_INT32, ASSAY_I32, 32, "int32" }, { ASSAY_MIL_INT64, ASSAY_I64, 64, "int64" }, { ASSAY_MIL_INT4, 0, 4, "int4" },
    { ASSAY_MIL_UINT8, ASSAY_U8, 8, "uint8" }, { ASSAY_MIL_UINT16, ASSAY_U16, 16, "uint16" },
    { ASSAY_MIL_UINT32, ASSAY_U32, 32, "uint32" }, { ASSAY_MIL_UINT64, ASSAY_U64, 64, "uint64" }, { ASSAY_MIL_UINT4, 0, 4, "uint4" },
    { ASSAY_MIL_UINT2, 0, 2, "uint2" }, { ASSAY_MIL_UINT1, 0, 1, "uint1" }, { ASSAY_MIL_UINT6, 0, 6, "uint6" },
    { ASSAY_MIL_UINT3, 0, 3, "uint3" }, { ASSAY_MIL_FP8E4M3, 0, 8, "fp8e4m3fn" }, { ASSAY_MIL_FP8E5M2, 0, 8, "fp8e5m2" },
};
enum { N_TYPES = sizeof mil_types / sizeof *mil_types };

const char *assay_mil_dtype_name(int32_t code) {
    for (int i = 0; i < N_TYPES; i++) if (mil_types[i].code == code) return mil_types[i].name;
    return NULL;
}

int32_t assay_mil_dtype_parse(const char *name) {
    for (int i = 0; name && i < N_TYPES; i++) if (!strcmp(mil_types[i].name, name)) return mil_types[i].code;
    return 0;
}

uint32_t assay_mil_dtype_bits(int32_t code) {
    for (int i = 0; i < N_TYPES; i++) if (mil_types[i].code == code) return mil_types[i].bits;
    return 0;
}

int32_t assay_mil_to_dtype(int32_t mil) {
    for (int i = 0; i < N_TYPES; i++) if (mil_types[i].code == mil) return mil_types[i].dtype;
    return 0;
}

int32_t assay_mil_from_dtype(int32_t dtype) {
    for (int i = 0; dtype && i < N_TYPES; i++) if (mil_types[i].dtype == dtype) return mil_types[i].code;
    return 0;
}

int64_t assay_type_count(const assay_mil_type *t) {
    if (!t || t->kind != ASSAY_TYPE_TENSOR) return -1;
    int64_t n = 1;
    for (uint32_t i = 0; i < t->rank; i++)
        if (t->dims[i] < 0 || __builtin_mul_overflow(n, t->dims[i], &n)) return -1;
    return n;
}

static bool same_sub(const assay_mil_type *a, const assay_mil_type *b, bool (*same)(const assay_mil_type *, const assay_mil_type *)) {
    if (a->n_sub != b->n_sub) return false;
    for (uint32_t i = 0; i < a->n_sub; i++) if (!same(a->sub[i], b->sub[i])) return false;
    return true;
}

bool assay_type_equal(const assay_mil_type *a, const assay_mil_type *b) {
    if (a == b) return true;
    if (!a || !b || a->kind != b->kind) return false;
    if (a->kind != ASSAY_TYPE_TENSOR) return a->length == b->length && same_sub(a, b, assay_type_equal);
    return a->dtype == b->dtype && a->rank == b->rank && !memcmp(a->dims, b->dims, a->rank * sizeof *a->dims);
}

bool assay_type_fits(const assay_mil_type *a, const assay_mil_type *b) {
    if (a == b) return true;
    if (!a || !b || a->kind != b->kind) return false;
    if (a->kind != ASSAY_TYPE_TENSOR)
        return (a->length < 0 || b->length < 0 || a->length == b->length) && same_sub(a, b, assay_type_fits);
    if (a->dtype != b->dtype) return false;
    for (uint32_t i = 0; i < a->rank; i++) if (a->dims[i] == ASSAY_DIM_VARIADIC) return true;
    for (uint32_t i = 0; i < b->rank; i++) if (b->dims[i] == ASSAY_DIM_VARIADIC) return true;
    if (a->rank != b->rank) return false;
    for (uint32_t i = 0; i < a->rank; i++)
        if (a->dims[i] >= 0 && b->dims[i] >= 0 && a->dims[i] != b->dims[i]) return false;
    return true;
}

static void add_dims(assay_buf *b, const assay_mil_type *t) {
    assay_buf_char(b, '[');
    for (uint32_t i = 0; i < t->rank; i++) {
        if (i) assay_buf_str(b, ", ");
        if (t->dims[i] == ASSAY_DIM_UNKNOWN) assay_buf_char(b, '?');
        else if (t->dims[i] == ASSAY_DIM_VARIADIC) assay_buf_str(b, "...");
        else assay_buf_printf(b, "%lld", (long long)t->dims[i]);
    }
    assay_buf_char(b, ']');
}

void assay_type_print(assay_buf *b, const assay_mil_type *t) {
    static const char *const word[] = { "?", "tensor", "list", "tuple", "dict", "state" };
    if (!t) { assay_buf_char(b, '?'); return; }
    if (t->kind == ASSAY_TYPE_TENSOR) {
        const char *name = assay_mil_dtype_name(t->dtype);
        if (t->rank == 0) { assay_buf_str(b, name ? name : "?"); return; }
        assay_buf_printf(b, "tensor<%s, ", name ? name : "?");
        add_dims(b, t);
        assay_buf_char(b, '>');
        return;
    }
    assay_buf_printf(b, "%s<", word[t->kind]);
    for (uint32_t i = 0; i < t->n_sub; i++) {
        if (i) assay_buf_str(b, ", ");
        assay_type_print(b, t->sub[i]);
    }
    if (t->kind == ASSAY_TYPE_LIST && t->length >= 0) assay_buf_printf(b, ", %lld", (long long)t->length);
    if (t->kind == ASSAY_TYPE_LIST && t->length < 0) assay_buf_str(b, ", ?");
    assay_buf_char(b, '>');
}

const char *assay_type_text(const assay_mil_type *t, char out[96]) {
    assay_buf b = { 0 };
    assay_type_print(&b, t);
    if (b.len < 96) memcpy(out, b.data, b.len + 1);
    else { memcpy(out, b.data, 92); memcpy(out + 92, "...", 4); }
    assay_buf_free(&b);
    return out;
}
