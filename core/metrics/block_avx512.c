/* The block sums in AVX-512 (F, BW, DQ); compiled with them switched on. */
#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#define LEVEL_TABLE assay_block_avx512
#define WIDTH 8
typedef double vec __attribute__((vector_size(64)));
typedef int64_t bits __attribute__((vector_size(64)));

static inline void load_f16(vec *v, const unsigned char *p) {
    *v = (vec)_mm512_cvtps_pd(_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)p)));
}
static inline void load_f32(vec *v, const unsigned char *p) { *v = (vec)_mm512_cvtps_pd(_mm256_loadu_ps((const void *)p)); }
#define HAS_FMA
static inline void fused(vec *sum, const vec *x, const vec *y) { *sum = (vec)_mm512_fmadd_pd((__m512d)*x, (__m512d)*y, (__m512d)*sum); }
static inline void larger(vec *m, const vec *x) { *m = (vec)_mm512_max_pd((__m512d)*x, (__m512d)*m); } /* x > m ? x : m */
static inline void add_zeros(bits *n, const vec *x) {
    __mmask8 zero = _mm512_cmp_pd_mask((__m512d)*x, _mm512_setzero_pd(), _CMP_EQ_OQ);
    *n = (bits)_mm512_mask_add_epi64((__m512i)*n, zero, (__m512i)*n, _mm512_set1_epi64(1));
}
#include "metrics/block_body.h"
