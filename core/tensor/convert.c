/* tensor/convert.c: conversion of contiguous runs of elements between any two types. */
#include "tensor/dtype.h"
#include <math.h>
#include <string.h>

/* An integer of any type is an int64, or (beyond its range) a uint64. */
typedef struct wide { int64_t i; uint64_t u; bool large; } wide;

#define READ(T) do { T v; memcpy(&v, p, sizeof v); w.i = (int64_t)v; return w; } while (0)

static wide load_int(int32_t dtype, const void *p) {
    wide w = { 0, 0, false };
    switch (dtype) {
    case ASSAY_BOOL: w.i = *(const unsigned char *)p != 0; return w;
    case ASSAY_I8: READ(int8_t);
    case ASSAY_U8: READ(uint8_t);
    case ASSAY_I16: READ(int16_t);
    case ASSAY_U16: READ(uint16_t);
    case ASSAY_I32: READ(int32_t);
    case ASSAY_U32: READ(uint32_t);
    case ASSAY_I64: READ(int64_t);
    default: break;
    }
    memcpy(&w.u, p, sizeof w.u);
    w.large = w.u > INT64_MAX;
    w.i = w.large ? INT64_MAX : (int64_t)w.u;
    return w;
}

#define KEEP(T, lo, hi) \
    do { T v = w.i < (int64_t)(lo) ? (T)(lo) : w.i > (int64_t)(hi) ? (T)(hi) : (T)w.i; memcpy(p, &v, sizeof v); } while (0)

static void store_int(int32_t dtype, void *p, wide w) {
    uint64_t u = w.large ? w.u : w.i < 0 ? 0 : (uint64_t)w.i;
    switch (dtype) {
    case ASSAY_BOOL: *(unsigned char *)p = w.i != 0; return;
    case ASSAY_I8: KEEP(int8_t, INT8_MIN, INT8_MAX); return;
    case ASSAY_U8: KEEP(uint8_t, 0, UINT8_MAX); return;
    case ASSAY_I16: KEEP(int16_t, INT16_MIN, INT16_MAX); return;
    case ASSAY_U16: KEEP(uint16_t, 0, UINT16_MAX); return;
    case ASSAY_I32: KEEP(int32_t, INT32_MIN, INT32_MAX); return;
    case ASSAY_U32: KEEP(uint32_t, 0, UINT32_MAX); return;
    case ASSAY_I64: memcpy(p, &w.i, sizeof w.i); return;
    default: memcpy(p, &u, sizeof u); return;
    }
}

static bool is_whole(int32_t dtype) { return dtype == ASSAY_BOOL || assay_dtype_is_int(dtype); }

/* The pairs that occur by the million. Source and destination may be unaligned (packed weight files), hence memcpy. */
#define RUN(FROM, TO, EXPR) \
    do { for (size_t i = 0; i < n; i++) { FROM x; memcpy(&x, s + i * sizeof x, sizeof x); TO y = (EXPR); memcpy(d + i * sizeof y, &y, sizeof y); } return true; } while (0)

static bool convert_floats(int32_t to, char *d, int32_t from, const char *s, size_t n) {
    switch (from * 16 + to) {
    case ASSAY_F16 * 16 + ASSAY_F32: RUN(uint16_t, float, assay_f16_to_f32(x));
    case ASSAY_F16 * 16 + ASSAY_F64: RUN(uint16_t, double, (double)assay_f16_to_f32(x));
    case ASSAY_F32 * 16 + ASSAY_F16: RUN(float, uint16_t, assay_f32_to_f16(x));
    case ASSAY_F32 * 16 + ASSAY_F64: RUN(float, double, x == x ? (double)x : (double)NAN);
    case ASSAY_F64 * 16 + ASSAY_F32: RUN(double, float, x == x ? (float)x : NAN);
    case ASSAY_F64 * 16 + ASSAY_F16: RUN(double, uint16_t, assay_f64_to_f16(x));
    case ASSAY_BF16 * 16 + ASSAY_F32: RUN(uint16_t, float, assay_bf16_to_f32(x));
    case ASSAY_F32 * 16 + ASSAY_BF16: RUN(float, uint16_t, assay_f32_to_bf16(x));
    default: return false;
    }
}

void assay_convert(int32_t to, void *dst, int32_t from, const void *src, size_t n) {
    const size_t from_size = assay_dtype_size(from), to_size = assay_dtype_size(to);
    const char *s = src;
    char *d = dst;
    if (n == 0 || !from_size || !to_size) return;
    if (from == to) {
        memmove(d, s, n * to_size);
        return;
    }
    if (convert_floats(to, d, from, s, n)) return;
    if (is_whole(from) && is_whole(to)) {
        for (size_t i = 0; i < n; i++) store_int(to, d + i * to_size, load_int(from, s + i * from_size));
        return;
    }
    for (size_t i = 0; i < n; i++) assay_store_f64(to, d + i * to_size, assay_load_f64(from, s + i * from_size));
}
