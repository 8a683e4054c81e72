/* tensor/dtype.c: element types and exact conversions: every narrowing rounds once, to nearest even. */
#include "tensor/dtype.h"
#include <math.h>
#include <string.h>

/* ---- names and sizes ---- */

typedef struct dtype_row { const char *name, *other; unsigned char size; } dtype_row;
static const dtype_row rows[] = {
    [ASSAY_F16] = { "fp16", "float16", 2 },  [ASSAY_BF16] = { "bf16", "bfloat16", 2 },
    [ASSAY_F32] = { "fp32", "float32", 4 },  [ASSAY_F64] = { "fp64", "float64", 8 },
    [ASSAY_BOOL] = { "bool", "boolean", 1 }, [ASSAY_I8] = { "int8", "i8", 1 },
    [ASSAY_U8] = { "uint8", "u8", 1 },       [ASSAY_I16] = { "int16", "i16", 2 },
    [ASSAY_U16] = { "uint16", "u16", 2 },    [ASSAY_I32] = { "int32", "i32", 4 },
    [ASSAY_U32] = { "uint32", "u32", 4 },    [ASSAY_I64] = { "int64", "i64", 8 },
    [ASSAY_U64] = { "uint64", "u64", 8 },
};

static bool known(int32_t d) { return d >= ASSAY_F16 && d <= ASSAY_U64; }
size_t assay_dtype_size(int32_t dtype) { return known(dtype) ? rows[dtype].size : 0; }
const char *assay_dtype_name(int32_t dtype) { return known(dtype) ? rows[dtype].name : "unknown"; }
bool assay_dtype_is_float(int32_t dtype) { return dtype >= ASSAY_F16 && dtype <= ASSAY_F64; }
bool assay_dtype_is_int(int32_t dtype) { return dtype >= ASSAY_I8 && dtype <= ASSAY_U64; }

int32_t assay_dtype_parse(const char *name) {
    for (int32_t d = ASSAY_F16; name && d <= ASSAY_U64; d++)
        if (strcmp(name, rows[d].name) == 0 || strcmp(name, rows[d].other) == 0) return d;
    return 0;
}

/* ---- halves ---- */

static uint32_t bits32(float x) { uint32_t u; memcpy(&u, &x, sizeof u); return u; }
static uint64_t bits64(double x) { uint64_t u; memcpy(&u, &x, sizeof u); return u; }
static float float_of(uint32_t u) { float x; memcpy(&x, &u, sizeof x); return x; }

enum { F16_NAN = 0x7e00, BF16_NAN = 0x7fc0 };

uint16_t assay_f64_to_f16(double x) {
    const uint64_t u = bits64(x), magnitude = u & 0x7fffffffffffffffu;
    const uint16_t sign = (uint16_t)(u >> 48 & 0x8000);
    if (magnitude > 0x7ff0000000000000u) return F16_NAN;
    if (magnitude >= 0x40effe0000000000u) return (uint16_t)(sign | 0x7c00);   /* 65520 rounds to infinity */
    if (magnitude >= 0x3f10000000000000u) {                                   /* 2^-14: normal */
        uint64_t m = magnitude - 0x3f00000000000000u;                         /* exponent 1023-15 becomes 0 */
        m += 0x1ffffffffffu + (m >> 42 & 1);
        return (uint16_t)(sign | m >> 42);
    }
    if (magnitude <= 0x3e60000000000000u) return sign;                        /* up to 2^-25: half of the least, to even */
    const unsigned drop = 1051 - (unsigned)(magnitude >> 52);                 /* 43..53 bits below the unit 2^-24 */
    uint64_t m = (magnitude & 0xfffffffffffffu) | 0x10000000000000u;
    m += ((uint64_t)1 << (drop - 1)) - 1 + (m >> drop & 1);
    return (uint16_t)(sign | m >> drop);
}

uint16_t assay_f32_to_f16(float x) {
    const uint32_t u = bits32(x), magnitude = u & 0x7fffffffu;
    const uint16_t sign = (uint16_t)(u >> 16 & 0x8000);
    if (magnitude > 0x7f800000u) return F16_NAN;
    if (magnitude >= 0x477ff000u) return (uint16_t)(sign | 0x7c00);
    if (magnitude >= 0x38800000u) {
        uint32_t m = magnitude - 0x38000000u;
        m += 0xfffu + (m >> 13 & 1);
        return (uint16_t)(sign | m >> 13);
    }
    if (magnitude <= 0x33000000u) return sign;
    const unsigned drop = 126 - (magnitude >> 23);
    uint32_t m = (magnitude & 0x7fffffu) | 0x800000u;
    m += ((uint32_t)1 << (drop - 1)) - 1 + (m >> drop & 1);
    return (uint16_t)(sign | m >> drop);
}

float assay_f16_to_f32(uint16_t h) {
    const uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = h >> 10 & 31, fraction = h & 0x3ff;
    if (exponent == 31) return float_of(fraction ? 0x7fc00000u : sign | 0x7f800000u);
    if (exponent == 0) return float_of(sign | bits32((float)fraction * 0x1p-24f));
    return float_of(sign | (exponent + 112) << 23 | fraction << 13);
}

uint16_t assay_f32_to_bf16(float x) {
    uint32_t u = bits32(x);
    if ((u & 0x7fffffffu) > 0x7f800000u) return BF16_NAN;
    return (uint16_t)((u + 0x7fffu + (u >> 16 & 1)) >> 16);
}

/* Rounds to odd on the way through float: float has 16 bits more than bf16, so the second rounding sees the truth. */
uint16_t assay_f64_to_bf16(double x) {
    float f = (float)x;
    if (isnan(x)) return BF16_NAN;
    if (isinf(f)) return (uint16_t)(x > 0 ? 0x7f80 : 0xff80);
    uint32_t u = bits32(f);
    if ((double)f != x) {
        if (fabs((double)f) > fabs(x)) u--;
        u |= 1;
    }
    return (uint16_t)((u + 0x7fffu + (u >> 16 & 1)) >> 16);
}

float assay_bf16_to_f32(uint16_t h) {
    uint32_t u = (uint32_t)h << 16;
    return float_of((u & 0x7fffffffu) > 0x7f800000u ? 0x7fc00000u : u);
}

/* ---- one element ---- */

#define LOAD(T) do { T v; memcpy(&v, p, sizeof v); return (double)v; } while (0)

double assay_load_f64(int32_t dtype, const void *p) {
    uint16_t h;
    switch (dtype) {
    case ASSAY_F16: memcpy(&h, p, 2); return (double)assay_f16_to_f32(h);
    case ASSAY_BF16: memcpy(&h, p, 2); return (double)assay_bf16_to_f32(h);
    case ASSAY_F32: LOAD(float);
    case ASSAY_F64: LOAD(double);
    case ASSAY_BOOL: return *(const unsigned char *)p != 0;
    case ASSAY_I8: LOAD(int8_t);
    case ASSAY_U8: LOAD(uint8_t);
    case ASSAY_I16: LOAD(int16_t);
    case ASSAY_U16: LOAD(uint16_t);
    case ASSAY_I32: LOAD(int32_t);
    case ASSAY_U32: LOAD(uint32_t);
    case ASSAY_I64: LOAD(int64_t);
    case ASSAY_U64: LOAD(uint64_t);
    default: return (double)NAN;
    }
}

/* Truncated and held inside [lo, hi]; the bounds are exact doubles, hi one past the last where the last is not. */
#define STORE_INT(T, lo, past, last) \
    do { T w = isnan(v) ? (T)0 : v <= (lo) ? (T)(lo) : v >= (past) ? (T)(last) : (T)v; memcpy(p, &w, sizeof w); } while (0)

void assay_store_f64(int32_t dtype, void *p, double v) {
    uint16_t h;
    switch (dtype) {
    case ASSAY_F16: h = assay_f64_to_f16(v); memcpy(p, &h, 2); return;
    case ASSAY_BF16: h = assay_f64_to_bf16(v); memcpy(p, &h, 2); return;
    case ASSAY_F32: { float f = isnan(v) ? float_of(0x7fc00000u) : (float)v; memcpy(p, &f, sizeof f); return; }
    case ASSAY_F64: { uint64_t u = isnan(v) ? 0x7ff8000000000000u : bits64(v); memcpy(p, &u, sizeof u); return; }
    case ASSAY_BOOL: *(unsigned char *)p = !isnan(v) && v != 0; return;
    case ASSAY_I8: STORE_INT(int8_t, -0x1p7, 0x1p7, INT8_MAX); return;
    case ASSAY_U8: STORE_INT(uint8_t, 0.0, 0x1p8, UINT8_MAX); return;
    case ASSAY_I16: STORE_INT(int16_t, -0x1p15, 0x1p15, INT16_MAX); return;
    case ASSAY_U16: STORE_INT(uint16_t, 0.0, 0x1p16, UINT16_MAX); return;
    case ASSAY_I32: STORE_INT(int32_t, -0x1p31, 0x1p31, INT32_MAX); return;
    case ASSAY_U32: STORE_INT(uint32_t, 0.0, 0x1p32, UINT32_MAX); return;
    case ASSAY_I64: STORE_INT(int64_t, -0x1p63, 0x1p63, INT64_MAX); return;
    case ASSAY_U64: STORE_INT(uint64_t, 0.0, 0x1p64, UINT64_MAX); return;
    default: return;
    }
}
