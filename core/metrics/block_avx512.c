/* The block sums in AVX-512 (F, BW, DQ); compiled with them switched on. */
#include "metrics/block_levels.h"
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

#define HAS_LOOK_AT_HALVES
enum { HALVES = 32 }; /* in a vector */
typedef struct seen {
    __m512i largest;
    uint32_t zeros;
} seen;
static inline __attribute__((always_inline)) void see(seen *s, const unsigned char *p, __mmask32 in) {
    const __m512i magnitude = _mm512_set1_epi16(0x7fff), h = _mm512_maskz_loadu_epi16(in, p);
    s->zeros += (uint32_t)__builtin_popcount(_mm512_mask_testn_epi16_mask(in, h, magnitude));
    s->largest = _mm512_max_epu16(s->largest, _mm512_and_si512(h, magnitude));
}
static inline assay_halves look_at_halves(const unsigned char *p, size_t n) {
    seen even = {_mm512_setzero_si512(), 0}, odd = even; /* two, so that one need not wait for the other */
    size_t i = 0;
    for (; i + 2 * HALVES <= n; i += 2 * HALVES) {
        see(&even, p + 2 * i, ~0u);
        see(&odd, p + 2 * (i + HALVES), ~0u);
    }
    for (; i < n; i += HALVES) see(&even, p + 2 * i, n - i < HALVES ? (1u << (n - i)) - 1 : ~0u);
    const __m512i both = _mm512_max_epu16(even.largest, odd.largest);
    const __m256i half = _mm256_max_epu16(_mm512_castsi512_si256(both), _mm512_extracti64x4_epi64(both, 1));
    const __m128i last = _mm_max_epu16(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
    const __m128i least = _mm_minpos_epu16(_mm_xor_si128(last, _mm_set1_epi16(-1))); /* the only such search looks for the least */
    return (assay_halves){(uint16_t)(even.zeros + odd.zeros), (uint16_t)~_mm_cvtsi128_si32(least)};
}
#include "metrics/block_body.h"
