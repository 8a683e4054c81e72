/* plugins/ops/kernels/isa_avx512.h: the few vector operations that the template needs, in AVX-512 (F, BW, DQ, VL). */
#ifndef ASSAY_ISA_H
#define ASSAY_ISA_H
#include "ops/kernels/scalar.h"
#include <immintrin.h>

#define LEVEL_NAME "avx512"
#define LEVEL_TABLE assay_kernels_avx512
/* Rows of a register tile, two vectors wide: 28 accumulators, 2 of B, 1 broadcast of A out of 32 registers. */
#define MR 14
#define EACH_TILE_HEIGHT(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14)
#define HALF_ROUND (_MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)

#define ALL_LANES 0xFFFF                         /* the plain _mm512_cvtps_ph is a macro at -O0, whose mask warns of its sign */

typedef __m512 vec_f32;
static inline vec_f32 ld_f32(const float *p) { return _mm512_loadu_ps(p); }
static inline void st_f32(float *p, vec_f32 a) { _mm512_storeu_ps(p, a); }
static inline vec_f32 set_f32(float a) { return _mm512_set1_ps(a); }
static inline vec_f32 add_f32(vec_f32 a, vec_f32 b) { return _mm512_add_ps(a, b); }
static inline vec_f32 sub_f32(vec_f32 a, vec_f32 b) { return _mm512_sub_ps(a, b); }
static inline vec_f32 mul_f32(vec_f32 a, vec_f32 b) { return _mm512_mul_ps(a, b); }
static inline vec_f32 div_f32(vec_f32 a, vec_f32 b) { return _mm512_div_ps(a, b); }
static inline vec_f32 fma_f32(vec_f32 a, vec_f32 b, vec_f32 c) { return _mm512_fmadd_ps(a, b, c); }
static inline vec_f32 max_f32(vec_f32 a, vec_f32 b) { return _mm512_max_ps(a, b); }      /* a > b ? a : b */
static inline vec_f32 min_f32(vec_f32 a, vec_f32 b) { return _mm512_min_ps(a, b); }      /* a < b ? a : b */
static inline vec_f32 nan_quiet_f32(vec_f32 a) { return _mm512_mask_mov_ps(a, _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q), set_f32((float)NAN)); }
static inline vec_f32 scale_f32(vec_f32 a, vec_f32 n) { return _mm512_scalef_ps(a, n); } /* a 2^n, rounded once */
static inline vec_f32 ld_half(const uint16_t *p) { return nan_quiet_f32(_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)p))); }
static inline void st_half(uint16_t *p, vec_f32 a) { _mm256_storeu_si256((__m256i *)(void *)p, _mm512_maskz_cvtps_ph(ALL_LANES, nan_quiet_f32(a), HALF_ROUND)); }
static inline vec_f32 round_half(vec_f32 a) { return _mm512_cvtph_ps(_mm512_maskz_cvtps_ph(ALL_LANES, nan_quiet_f32(a), HALF_ROUND)); }

typedef __m512d vec_f64;
static inline vec_f64 ld_f64(const double *p) { return _mm512_loadu_pd(p); }
static inline void st_f64(double *p, vec_f64 a) { _mm512_storeu_pd(p, a); }
static inline vec_f64 set_f64(double a) { return _mm512_set1_pd(a); }
static inline vec_f64 add_f64(vec_f64 a, vec_f64 b) { return _mm512_add_pd(a, b); }
static inline vec_f64 sub_f64(vec_f64 a, vec_f64 b) { return _mm512_sub_pd(a, b); }
static inline vec_f64 mul_f64(vec_f64 a, vec_f64 b) { return _mm512_mul_pd(a, b); }
static inline vec_f64 div_f64(vec_f64 a, vec_f64 b) { return _mm512_div_pd(a, b); }
static inline vec_f64 fma_f64(vec_f64 a, vec_f64 b, vec_f64 c) { return _mm512_fmadd_pd(a, b, c); }
static inline vec_f64 max_f64(vec_f64 a, vec_f64 b) { return _mm512_max_pd(a, b); }
static inline vec_f64 min_f64(vec_f64 a, vec_f64 b) { return _mm512_min_pd(a, b); }
static inline vec_f64 nan_quiet_f64(vec_f64 a) { return _mm512_mask_mov_pd(a, _mm512_cmp_pd_mask(a, a, _CMP_UNORD_Q), set_f64((double)NAN)); }
static inline vec_f64 scale_f64(vec_f64 a, vec_f64 n) { return _mm512_scalef_pd(a, n); }
#endif
