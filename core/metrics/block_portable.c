/* The block sums at the baseline of the processor; arm64 has its half-to-double conversion there. */
#include <stdint.h>
#include <string.h>
#include "tensor/dtype.h"

#define LEVEL_TABLE assay_block_portable
#define WIDTH 2
typedef double vec __attribute__((vector_size(16)));
typedef int64_t bits __attribute__((vector_size(16)));

static inline double widen_half(const unsigned char *p) {
#if defined(__aarch64__)
    __fp16 h;
    memcpy(&h, p, sizeof h);
    return (double)h;
#else
    return assay_load_f64(ASSAY_F16, p);
#endif
}
static inline void load_f16(vec *v, const unsigned char *p) { *v = (vec){widen_half(p), widen_half(p + 2)}; }
static inline void load_f32(vec *v, const unsigned char *p) {
    float f[2];
    memcpy(f, p, sizeof f);
    *v = (vec){(double)f[0], (double)f[1]};
}
static inline void larger(vec *m, const vec *x) { /* per lane: m = x > m ? x : m */
    bits more = *x > *m;
    *m = (vec)(((bits)*x & more) | ((bits)*m & ~more));
}
static inline void add_zeros(bits *n, const vec *x) { *n -= *x == 0; }
#include "metrics/block_body.h"
