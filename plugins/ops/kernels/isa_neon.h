/* plugins/ops/kernels/isa_neon.h: the few vector operations that the template needs, in the NEON of every arm64. */
#ifndef ASSAY_ISA_H
#define ASSAY_ISA_H
#include "ops/kernels/scalar.h"
#include <arm_neon.h>

#define LEVEL_NAME "neon"
#define LEVEL_TABLE assay_kernels_neon
/* Rows of a register tile, two vectors wide: 28 accumulators, 2 of B, 1 broadcast of A out of 32 registers. */
#define MR 14
#define EACH_TILE_HEIGHT(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14)

typedef float32x4_t vec_f32;
static inline vec_f32 ld_f32(const float *p) { return vld1q_f32(p); }
static inline void st_f32(float *p, vec_f32 a) { vst1q_f32(p, a); }
static inline vec_f32 set_f32(float a) { return vdupq_n_f32(a); }
static inline vec_f32 add_f32(vec_f32 a, vec_f32 b) { return vaddq_f32(a, b); }
static inline vec_f32 sub_f32(vec_f32 a, vec_f32 b) { return vsubq_f32(a, b); }
static inline vec_f32 mul_f32(vec_f32 a, vec_f32 b) { return vmulq_f32(a, b); }
static inline vec_f32 div_f32(vec_f32 a, vec_f32 b) { return vdivq_f32(a, b); }
static inline vec_f32 fma_f32(vec_f32 a, vec_f32 b, vec_f32 c) { return vfmaq_f32(c, a, b); }
static inline vec_f32 max_f32(vec_f32 a, vec_f32 b) { return vbslq_f32(vcgtq_f32(a, b), a, b); }     /* a > b ? a : b */
static inline vec_f32 min_f32(vec_f32 a, vec_f32 b) { return vbslq_f32(vcltq_f32(a, b), a, b); }     /* a < b ? a : b */
static inline vec_f32 nan_quiet_f32(vec_f32 a) { return vbslq_f32(vceqq_f32(a, a), a, set_f32((float)NAN)); }
static inline vec_f32 pow2_vec_f32(vec_f32 n_magic) {
    return vreinterpretq_f32_u32(vshlq_n_u32(vaddq_u32(vreinterpretq_u32_f32(n_magic), vdupq_n_u32(127)), 23));
}
static inline vec_f32 scale_f32(vec_f32 a, vec_f32 n) {                                  /* a 2^n in two halves, as in scalar.h */
    vec_f32 magic = set_f32(EXP32_MAGIC), half = fma_f32(n, set_f32(0.5f), magic), rest = sub_f32(n, sub_f32(half, magic));
    return mul_f32(mul_f32(a, pow2_vec_f32(half)), pow2_vec_f32(add_f32(rest, magic)));
}
static inline vec_f32 ld_half(const uint16_t *p) { return nan_quiet_f32(vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)))); }
static inline void st_half(uint16_t *p, vec_f32 a) { vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32(nan_quiet_f32(a)))); }
static inline vec_f32 round_half(vec_f32 a) { return vcvt_f32_f16(vcvt_f16_f32(nan_quiet_f32(a))); }

typedef float64x2_t vec_f64;
static inline vec_f64 ld_f64(const double *p) { return vld1q_f64(p); }
static inline void st_f64(double *p, vec_f64 a) { vst1q_f64(p, a); }
static inline vec_f64 set_f64(double a) { return vdupq_n_f64(a); }
static inline vec_f64 add_f64(vec_f64 a, vec_f64 b) { return vaddq_f64(a, b); }
static inline vec_f64 sub_f64(vec_f64 a, vec_f64 b) { return vsubq_f64(a, b); }
static inline vec_f64 mul_f64(vec_f64 a, vec_f64 b) { return vmulq_f64(a, b); }
static inline vec_f64 div_f64(vec_f64 a, vec_f64 b) { return vdivq_f64(a, b); }
static inline vec_f64 fma_f64(vec_f64 a, vec_f64 b, vec_f64 c) { return vfmaq_f64(c, a, b); }
static inline vec_f64 max_f64(vec_f64 a, vec_f64 b) { return vbslq_f64(vcgtq_f64(a, b), a, b); }
static inline vec_f64 min_f64(vec_f64 a, vec_f64 b) { return vbslq_f64(vcltq_f64(a, b), a, b); }
static inline vec_f64 nan_quiet_f64(vec_f64 a) { return vbslq_f64(vceqq_f64(a, a), a, set_f64((double)NAN)); }
static inline vec_f64 pow2_vec_f64(vec_f64 n_magic) {
    return vreinterpretq_f64_u64(vshlq_n_u64(vaddq_u64(vreinterpretq_u64_f64(n_magic), vdupq_n_u64(1023)), 52));
}
static inline vec_f64 scale_f64(vec_f64 a, vec_f64 n) {
    vec_f64 magic = set_f64(EXP64_MAGIC), half = fma_f64(n, set_f64(0.5), magic), rest = sub_f64(n, sub_f64(half, magic));
    return mul_f64(mul_f64(a, pow2_vec_f64(half)), pow2_vec_f64(add_f64(rest, magic)));
}
#endif
