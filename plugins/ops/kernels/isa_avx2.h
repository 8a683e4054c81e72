/* plugins/ops/kernels/isa_avx2.h: the few vector operations that the template needs, in AVX2 with FMA and F16C. */
#ifndef ASSAY_ISA_H
#define ASSAY_ISA_H
#include "ops/kernels/scalar.h"
#include <immintrin.h>

#define LEVEL_NAME "avx2"
#define LEVEL_TABLE assay_kernels_avx2
/* Rows of a register tile, two vectors wide: 12 accumulators, 2 of B, 1 broadcast of A out of 16 registers. */
#define MR 6
#define EACH_TILE_HEIGHT(X) X(1) X(2) X(3) X(4) X(5) X(6)
#define HALF_ROUND (_MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)

typedef __m256 vec_f32;
static inline vec_f32 ld_f32(const float *p) { return _mm256_loadu_ps(p); }
static inline void st_f32(float *p, vec_f32 a) { _mm256_storeu_ps(p, a); }
static inline vec_f32 set_f32(float a) { return _mm256_set1_ps(a); }
static inline vec_f32 add_f32(vec_f32 a, vec_f32 b) { return _mm256_add_ps(a, b); }
static inline vec_f32 sub_f32(vec_f32 a, vec_f32 b) { return _mm256_sub_ps(a, b); }
static inline vec_f32 mul_f32(vec_f32 a, vec_f32 b) { return _mm256_mul_ps(a, b); }
static inline vec_f32 div_f32(vec_f32 a, vec_f32 b) { return _mm256_div_ps(a, b); }
static inline vec_f32 fma_f32(vec_f32 a, vec_f32 b, vec_f32 c) { return _mm256_fmadd_ps(a, b, c); }
static inline vec_f32 max_f32(vec_f32 a, vec_f32 b) { return _mm256_max_ps(a, b); }      /* a > b ? a : b */
static inline vec_f32 min_f32(vec_f32 a, vec_f32 b) { return _mm256_min_ps(a, b); }      /* a < b ? a : b */
static inline vec_f32 nan_quiet_f32(vec_f32 a) { return _mm256_blendv_ps(a, set_f32((float)NAN), _mm256_cmp_ps(a, a, _CMP_UNORD_Q)); }
static inline vec_f32 pow2_vec_f32(vec_f32 n_magic) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(_mm256_castps_si256(n_magic), _mm256_set1_epi32(127)), 23));
}
static inline vec_f32 scale_f32(vec_f32 a, vec_f32 n) {                                  /* a 2^n in two halves, as in scalar.h */
    vec_f32 magic = set_f32(EXP32_MAGIC), half = fma_f32(n, set_f32(0.5f), magic), rest = sub_f32(n, sub_f32(half, magic));
    return mul_f32(mul_f32(a, pow2_vec_f32(half)), pow2_vec_f32(add_f32(rest, magic)));
}
static inline vec_f32 ld_half(const uint16_t *p) { return nan_quiet_f32(_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)p))); }
static inline void st_half(uint16_t *p, vec_f32 a) { _mm_storeu_si128((__m128i *)(void *)p, _mm256_cvtps_ph(nan_quiet_f32(a), HALF_ROUND)); }
static inline vec_f32 round_half(vec_f32 a) { return _mm256_cvtph_ps(_mm256_cvtps_ph(nan_quiet_f32(a), HALF_ROUND)); }

typedef __m256d vec_f64;
static inline vec_f64 ld_f64(const double *p) { return _mm256_loadu_pd(p); }
static inline void st_f64(double *p, vec_f64 a) { _mm256_storeu_pd(p, a); }
static inline vec_f64 set_f64(double a) { return _mm256_set1_pd(a); }
static inline vec_f64 add_f64(vec_f64 a, vec_f64 b) { return _mm256_add_pd(a, b); }
static inline vec_f64 sub_f64(vec_f64 a, vec_f64 b) { return _mm256_sub_pd(a, b); }
static inline vec_f64 mul_f64(vec_f64 a, vec_f64 b) { return _mm256_mul_pd(a, b); }
static inline vec_f64 div_f64(vec_f64 a, vec_f64 b) { return _mm256_div_pd(a, b); }
static inline vec_f64 fma_f64(vec_f64 a, vec_f64 b, vec_f64 c) { return _mm256_fmadd_pd(a, b, c); }
static inline vec_f64 max_f64(vec_f64 a, vec_f64 b) { return _mm256_max_pd(a, b); }
static inline vec_f64 min_f64(vec_f64 a, vec_f64 b) { return _mm256_min_pd(a, b); }
static inline vec_f64 nan_quiet_f64(vec_f64 a) { return _mm256_blendv_pd(a, set_f64((double)NAN), _mm256_cmp_pd(a, a, _CMP_UNORD_Q)); }
static inline vec_f64 pow2_vec_f64(vec_f64 n_magic) {
    return _mm256_castsi256_pd(_mm256_slli_epi64(_mm256_add_epi64(_mm256_castpd_si256(n_magic), _mm256_set1_epi64x(1023)), 52));
}
static inline vec_f64 scale_f64(vec_f64 a, vec_f64 n) {
    vec_f64 magic = set_f64(EXP64_MAGIC), half = fma_f64(n, set_f64(0.5), magic), rest = sub_f64(n, sub_f64(half, magic));
    return mul_f64(mul_f64(a, pow2_vec_f64(half)), pow2_vec_f64(add_f64(rest, magic)));
}
#endif
