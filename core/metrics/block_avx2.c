/* The block sums in AVX2 with F16C and FMA; compiled with them switched on. */
#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#define LEVEL_TABLE assay_block_avx2
#define WIDTH 4
typedef double vec __attribute__((vector_size(32)));
typedef int64_t bits __attribute__((vector_size(32)));

static inline void load_f16(vec *v, const unsigned char *p) {
    *v = (vec)_mm256_cvtps_pd(_mm_cvtph_ps(_mm_loadl_epi64((const __m128i *)(const void *)p)));
}
static inline void load_f32(vec *v, const unsigned char *p) { *v = (vec)_mm256_cvtps_pd(_mm_loadu_ps((const void *)p)); }
#define HAS_FMA
static inline void fused(vec *sum, const vec *x, const vec *y) { *sum = (vec)_mm256_fmadd_pd((__m256d)*x, (__m256d)*y, (__m256d)*sum); }
static inline void larger(vec *m, const vec *x) { *m = (vec)_mm256_max_pd((__m256d)*x, (__m256d)*m); } /* x > m ? x : m */
static inline void add_zeros(bits *n, const vec *x) { *n -= *x == 0; }
#include "metrics/block_body.h"
