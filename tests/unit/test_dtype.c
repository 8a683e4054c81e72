/* Element types: every half value, single rounding, saturation. */
#include "suite.h"
#include "tensor/dtype.h"
#include <math.h>

static double half_value(uint16_t h) {   /* from the definition */
    int e = h >> 10 & 31, f = h & 1023;
    double v = e ? ldexp(1024 + f, e - 25) : ldexp(f, -24);
    return h & 0x8000 ? -v : v;
}

static void every_half_goes_there_and_back(void) {
    for (uint32_t h = 0; h < 65536; h++) {
        float f = assay_f16_to_f32((uint16_t)h);
        bool nan = (h & 0x7c00) == 0x7c00 && (h & 0x3ff);
        CU_ASSERT_EQUAL_FATAL(assay_f32_to_f16(f), nan ? 0x7e00 : h);
        CU_ASSERT_EQUAL_FATAL(assay_f64_to_f16((double)f), nan ? 0x7e00 : h);
        if ((h & 0x7c00) != 0x7c00) CU_ASSERT_EQUAL_FATAL((double)f, half_value((uint16_t)h));
    }
}

/* Between neighbours: the midpoint goes to the even one, a hair beside it to the nearer one. */
static void halves_round_to_nearest_even(void) {
    for (uint32_t h = 0; h < 0x7bff; h++) {
        double a = half_value((uint16_t)h), b = half_value((uint16_t)(h + 1)), mid = (a + b) / 2;
        uint16_t even = (uint16_t)(h & 1 ? h + 1 : h);
        CU_ASSERT_EQUAL_FATAL(assay_f64_to_f16(mid), even);
        CU_ASSERT_EQUAL_FATAL(assay_f32_to_f16((float)mid), even);
        CU_ASSERT_EQUAL_FATAL(assay_f64_to_f16(nextafter(mid, 0)), h);
        CU_ASSERT_EQUAL_FATAL(assay_f64_to_f16(nextafter(mid, 1e9)), h + 1);
        CU_ASSERT_EQUAL_FATAL(assay_f32_to_f16(nextafterf((float)mid, 0)), h);
        CU_ASSERT_EQUAL_FATAL(assay_f32_to_f16(nextafterf((float)mid, 1e9f)), h + 1);
        CU_ASSERT_EQUAL_FATAL(assay_f64_to_f16(-mid), even | 0x8000);
    }
    CU_ASSERT_EQUAL(assay_f64_to_f16(65519.999999999), 0x7bff);
    CU_ASSERT_EQUAL(assay_f64_to_f16(65520), 0x7c00);
    CU_ASSERT_EQUAL(assay_f32_to_f16(-65520.f), 0xfc00);
    CU_ASSERT_EQUAL(assay_f64_to_f16(1e300), 0x7c00);
    CU_ASSERT_EQUAL(assay_f64_to_f16(-5e-324), 0x8000);
    CU_ASSERT_EQUAL(assay_f64_to_f16((double)NAN), 0x7e00);
    CU_ASSERT_EQUAL(assay_f32_to_f16(-NAN), 0x7e00);
}

static void double_to_narrow_rounds_once(void) {
    /* just above a half-way point by less than float can see: through float it would tie to even, downwards */
    double x = 1.0 + 0x1p-11 + 0x1p-40;
    CU_ASSERT_EQUAL(assay_f64_to_f16(x), 0x3c01);
    CU_ASSERT_EQUAL(assay_f32_to_f16((float)x), 0x3c00);
    x = 1.0 + 0x1p-8 + 0x1p-40;
    CU_ASSERT_EQUAL(assay_f64_to_bf16(x), 0x3f81);
    CU_ASSERT_EQUAL(assay_f32_to_bf16((float)x), 0x3f80);
    x = 1.0 + 0x1p-8 - 0x1p-40;
    CU_ASSERT_EQUAL(assay_f64_to_bf16(x), 0x3f80);
    CU_ASSERT_EQUAL(assay_f64_to_bf16(1e-300), 0);
    CU_ASSERT_EQUAL(assay_f64_to_bf16(-1e300), 0xff80);
    CU_ASSERT_EQUAL(assay_f64_to_bf16(3.4e38), 0x7f80);
    CU_ASSERT_EQUAL(assay_f64_to_bf16((double)NAN), 0x7fc0);
}

static void every_bf16_goes_there_and_back(void) {
    for (uint32_t h = 0; h < 65536; h++) {
        float f = assay_bf16_to_f32((uint16_t)h);
        bool nan = (h & 0x7f80) == 0x7f80 && (h & 0x7f);
        CU_ASSERT_EQUAL_FATAL(assay_f32_to_bf16(f), nan ? 0x7fc0 : h);
        CU_ASSERT_EQUAL_FATAL(assay_f64_to_bf16((double)f), nan ? 0x7fc0 : h);
    }
}

static void integers_saturate_and_nan_is_zero(void) {
    int8_t i8; uint8_t u8; int64_t i64; uint64_t u64; unsigned char b;
    assay_store_f64(ASSAY_I8, &i8, 1e9); CU_ASSERT_EQUAL(i8, 127);
    assay_store_f64(ASSAY_I8, &i8, -1e9); CU_ASSERT_EQUAL(i8, -128);
    assay_store_f64(ASSAY_I8, &i8, -2.9); CU_ASSERT_EQUAL(i8, -2);
    assay_store_f64(ASSAY_I8, &i8, (double)NAN); CU_ASSERT_EQUAL(i8, 0);
    assay_store_f64(ASSAY_I8, &i8, 127.9); CU_ASSERT_EQUAL(i8, 127);
    assay_store_f64(ASSAY_U8, &u8, -0.5); CU_ASSERT_EQUAL(u8, 0);
    assay_store_f64(ASSAY_U8, &u8, 255.5); CU_ASSERT_EQUAL(u8, 255);
    assay_store_f64(ASSAY_I64, &i64, (double)INFINITY); CU_ASSERT_EQUAL(i64, INT64_MAX);
    assay_store_f64(ASSAY_I64, &i64, -(double)INFINITY); CU_ASSERT_EQUAL(i64, INT64_MIN);
    assay_store_f64(ASSAY_U64, &u64, 0x1p64); CU_ASSERT_EQUAL(u64, UINT64_MAX);
    assay_store_f64(ASSAY_BOOL, &b, -0.5); CU_ASSERT_EQUAL(b, 1);
    assay_store_f64(ASSAY_BOOL, &b, (double)NAN); CU_ASSERT_EQUAL(b, 0);
    int64_t wide[3] = { INT64_MIN, 300, INT64_MAX };
    uint8_t narrow[3];
    assay_convert(ASSAY_U8, narrow, ASSAY_I64, wide, 3);
    CU_ASSERT(narrow[0] == 0 && narrow[1] == 255 && narrow[2] == 255);
    uint64_t huge = UINT64_MAX;
    assay_convert(ASSAY_I64, &i64, ASSAY_U64, &huge, 1);
    CU_ASSERT_EQUAL(i64, INT64_MAX);
    int64_t exact = (INT64_C(1) << 53) + 1;
    assay_convert(ASSAY_U64, &u64, ASSAY_I64, &exact, 1);
    CU_ASSERT_EQUAL(u64, (UINT64_C(1) << 53) + 1);
}

static void stored_nan_is_the_positive_quiet_one(void) {
    uint64_t u = 0xfff4000000000001u, got;
    uint32_t f;
    double x;
    memcpy(&x, &u, sizeof x);
    assay_store_f64(ASSAY_F64, &got, x);
    CU_ASSERT_EQUAL(got, 0x7ff8000000000000u);
    assay_store_f64(ASSAY_F32, &f, x);
    CU_ASSERT_EQUAL(f, 0x7fc00000u);
}

/* assay_convert gives what load-then-store gives, for every pair and on unaligned memory. */
static void convert_equals_load_and_store(void) {
    static const double v[] = { 0, -0.0, 1, -1, 0.5, 2.75, 100, -129, 65504, 1e6, -3e9, 1e20, 1e-8, (double)INFINITY, (double)NAN };
    enum { N = sizeof v / sizeof *v };
    for (int32_t from = ASSAY_F16; from <= ASSAY_U64; from++)
        for (int32_t to = ASSAY_F16; to <= ASSAY_U64; to++) {
            char src[N * 8 + 1], got[N * 8 + 1], want[N * 8];
            size_t a = assay_dtype_size(from), b = assay_dtype_size(to);
            for (size_t i = 0; i < N; i++) assay_store_f64(from, src + 1 + i * a, v[i]);
            assay_convert(to, got + 1, from, src + 1, N);
            for (size_t i = 0; i < N; i++) assay_store_f64(to, want + i * b, assay_load_f64(from, src + 1 + i * a));
            if (from < ASSAY_I64 || to < ASSAY_I64) CU_ASSERT_EQUAL(memcmp(got + 1, want, N * b), 0);
        }
}

static void names_parse_back(void) {
    for (int32_t d = ASSAY_F16; d <= ASSAY_U64; d++) CU_ASSERT_EQUAL(assay_dtype_parse(assay_dtype_name(d)), d);
    CU_ASSERT_EQUAL(assay_dtype_parse("float16"), ASSAY_F16);
    CU_ASSERT_EQUAL(assay_dtype_parse("fp8"), 0);
    CU_ASSERT_EQUAL(assay_dtype_parse(NULL), 0);
    CU_ASSERT_EQUAL(assay_dtype_size(0), 0);
    CU_ASSERT_EQUAL(assay_dtype_size(99), 0);
    CU_ASSERT(assay_dtype_is_float(ASSAY_BF16) && !assay_dtype_is_float(ASSAY_BOOL) && assay_dtype_is_int(ASSAY_U64) && !assay_dtype_is_int(ASSAY_BOOL));
}

ASSAY_SUITE("dtype", TEST(every_half_goes_there_and_back), TEST(halves_round_to_nearest_even), TEST(double_to_narrow_rounds_once), TEST(every_bf16_goes_there_and_back),
            TEST(integers_saturate_and_nan_is_zero), TEST(stored_nan_is_the_positive_quiet_one), TEST(convert_equals_load_and_store), TEST(names_parse_back))
