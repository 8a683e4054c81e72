/* plugins/ops/kernels/scalar.h: the one-element definitions that every level reproduces bit for bit: exp, the quiet NaN and the
 * order of a sum's last steps. A vector level does the same operations in the same order, so only + - * fma, compare and
 * bit operations may stand here. */
#ifndef ASSAY_KERNELS_SCALAR_H
#define ASSAY_KERNELS_SCALAR_H
#include <math.h>
#include <stdint.h>
#include <string.h>

/* Loops whose bodies must be straight code, so that small arrays live in registers. */
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

enum { LANES_F32 = 16, LANES_F64 = 8 };          /* virtual lanes of a reduction, whatever the vector width */

/* exp(x) = 2^n exp(r) with n = x / ln 2 rounded and |r| <= ln 2 / 2. Adding MAGIC (1.5 x 2^p) rounds to an integer and leaves it
 * in the low bits. float: the polynomial of least relative error with 1 + r fixed, 3.1e-9 (0.05 ulp), found by Remez exchange;
 * double: Taylor's series, first missing term below 0.04 ulp. Beyond LOW the result is 0 exactly, beyond HIGH infinity. */
#define EXP32_MAGIC 12582912.0f
#define EXP32_LOG2E 0x1.715476p+0f
#define EXP32_LN2_HI 0x1.62e43p-1f
#define EXP32_LN2_LO -0x1.05c61p-29f
#define EXP32_LOW -104.0f
#define EXP32_HIGH 89.0f
#define EXP32_TOP 0x1.6a242cp-10f
#define EXP32_TERMS(X) X(0x1.1239e2p-7f) X(0x1.5558f2p-5f) X(0x1.555492p-3f) X(0x1.fffffcp-2f) X(1.0f) X(1.0f)
#define EXP64_MAGIC 0x1.8p52
#define EXP64_LOG2E 0x1.71547652b82fep+0
#define EXP64_LN2_HI 0x1.62e42fefa39efp-1
#define EXP64_LN2_LO 0x1.abc9e3b39803fp-56
#define EXP64_LOW -746.0
#define EXP64_HIGH 710.0
#define EXP64_TOP (1.0 / 6227020800)
#define EXP64_TERMS(X) X(1.0 / 479001600) X(1.0 / 39916800) X(1.0 / 3628800) X(1.0 / 362880) X(1.0 / 40320) X(1.0 / 5040) X(1.0 / 720) \
    X(1.0 / 120) X(1.0 / 24) X(1.0 / 6) X(0.5) X(1.0) X(1.0)

static inline float quiet_f32(float x) { return x == x ? x : (float)NAN; }
static inline double quiet_f64(double x) { return x == x ? x : (double)NAN; }

/* 2^n from n + MAGIC: the integer sits in the low bits and moves into the exponent. */
static inline float pow2_f32(float n_magic) {
    uint32_t u;
    memcpy(&u, &n_magic, sizeof u);
    u = (u + 127u) << 23;
    memcpy(&n_magic, &u, sizeof u);
    return n_magic;
}

static inline double pow2_f64(double n_magic) {
    uint64_t u;
    memcpy(&u, &n_magic, sizeof u);
    u = (u + 1023u) << 52;
    memcpy(&n_magic, &u, sizeof u);
    return n_magic;
}

/* The power of two is applied in two halves: the first product is exact, the second rounds once, into a subnormal if need be. */
static inline float exp_one_f32(float x) {
    if (x < EXP32_LOW) x = EXP32_LOW;
    if (x > EXP32_HIGH) x = EXP32_HIGH;
    float n = fmaf(x, EXP32_LOG2E, EXP32_MAGIC) - EXP32_MAGIC;
    float r = fmaf(n, -EXP32_LN2_LO, fmaf(n, -EXP32_LN2_HI, x)), p = EXP32_TOP;
#define STEP(c) p = fmaf(p, r, c);
    EXP32_TERMS(STEP)
#undef STEP
    float half = fmaf(n, 0.5f, EXP32_MAGIC), rest = n - (half - EXP32_MAGIC);
    return quiet_f32(p * pow2_f32(half) * pow2_f32(rest + EXP32_MAGIC));
}

static inline double exp_one_f64(double x) {
    if (x < EXP64_LOW) x = EXP64_LOW;
    if (x > EXP64_HIGH) x = EXP64_HIGH;
    double n = fma(x, EXP64_LOG2E, EXP64_MAGIC) - EXP64_MAGIC;
    double r = fma(n, -EXP64_LN2_LO, fma(n, -EXP64_LN2_HI, x)), p = EXP64_TOP;
#define STEP(c) p = fma(p, r, c);
    EXP64_TERMS(STEP)
#undef STEP
    double half = fma(n, 0.5, EXP64_MAGIC), rest = n - (half - EXP64_MAGIC);
    return quiet_f64(p * pow2_f64(half) * pow2_f64(rest + EXP64_MAGIC));
}

/* The fixed tree: lane i takes lane i + width/2, then half of that, down to one. Overwrites the lanes. */
static inline float tree_f32(float lane[LANES_F32]) {
    UNROLL for (int w = LANES_F32 / 2; w >= 1; w /= 2)
        UNROLL for (int i = 0; i < w; i++) lane[i] += lane[i + w];
    return lane[0];
}

static inline double tree_f64(double lane[LANES_F64]) {
    UNROLL for (int w = LANES_F64 / 2; w >= 1; w /= 2)
        UNROLL for (int i = 0; i < w; i++) lane[i] += lane[i + w];
    return lane[0];
}
#endif
