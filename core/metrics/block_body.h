/* metrics/block_body.h: one vector level of the block sums. The block_*.c that includes it has set LEVEL_TABLE and WIDTH (doubles
 * in a vector: 2, 4 or 8) and defined vec, bits, load_f16, load_f32, larger and add_zeros, and, where the machine has
 * better than a loop, look_at_halves with HAS_LOOK_AT_HALVES. The eight lanes of a group are taken WIDTH at a time, each part in a loop
 * of its own, so that the sums of a part stay in registers and every level adds in one order. */
#include "metrics/block_levels.h"
#include "tensor/dtype.h"
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

/* One element type of the pair; `type` is a constant wherever this is inlined. */
INLINE void load(vec *v, const unsigned char *p, int type) {
    if (type == ASSAY_BLOCK_F16)
        load_f16(v, p);
    else if (type == ASSAY_BLOCK_F32)
        load_f32(v, p);
    else
        memcpy(v, p, sizeof *v);
}
INLINE size_t size_of(int type) { return type == ASSAY_BLOCK_F16 ? 2 : type == ASSAY_BLOCK_F32 ? 4 : 8; }
/* Adds x * y, rounded twice. Products of fp16 and fp32 elements are exact in double: there a fused one has the same bits. */
INLINE void add_product(vec *sum, const vec *x, const vec *y, int type_x, int type_y) {
#ifdef HAS_FMA
    if (type_x != ASSAY_BLOCK_F64 && type_y != ASSAY_BLOCK_F64) {
        fused(sum, x, y);
        return;
    }
#endif
    (void)type_x, (void)type_y;
    *sum += *x * *y;
}
/* sum += x; by the multiplier where there is one, since the adder has the conversions to do. */
INLINE void add(vec *sum, const vec *x) {
#ifdef HAS_FMA
    const vec one = 1.0 - (vec){0};
    fused(sum, x, &one);
#else
    *sum += *x;
#endif
}
INLINE void magnitude(vec *x) { *x = (vec)((bits)*x & INT64_MAX); }

/* Lane tree: ((0+4)+(2+6)) + ((1+5)+(3+7)), whatever the width of the machine's vectors. */
INLINE double tree(const double *a) { return ((a[0] + a[4]) + (a[2] + a[6])) + ((a[1] + a[5]) + (a[3] + a[7])); }
INLINE double largest(const double *a) {
    double m = 0;
    for (int i = 0; i < ASSAY_LANES; i++) m = a[i] > m ? a[i] : m;
    return m;
}
INLINE uint64_t total(const int64_t *a) {
    int64_t n = 0;
    for (int i = 0; i < ASSAY_LANES; i++) n += a[i];
    return (uint64_t)n;
}

/* The last group, filled up with one element of the same type. */
typedef struct padded {
    unsigned char r[ASSAY_LANES * 8], c[ASSAY_LANES * 8];
} padded;
INLINE void fill(unsigned char *out, const unsigned char *from, size_t n, size_t size, const unsigned char *with) {
    memcpy(out, from, n * size);
    for (size_t i = n; i < ASSAY_LANES; i++) memcpy(out + i * size, with, size);
}

#ifndef HAS_LOOK_AT_HALVES
INLINE assay_halves look_at_halves(const unsigned char *p, size_t n) {
    assay_halves o = {0, 0};
    for (size_t i = 0; i < n; i++) {
        uint16_t h;
        memcpy(&h, p + 2 * i, sizeof h);
        h &= 0x7fff;
        o.largest = h > o.largest ? h : o.largest;
        o.zeros = (uint16_t)(o.zeros + (h == 0));
    }
    return o;
}
#endif

typedef struct raw_part {
    vec r, c, rr, cc, rc, abs_d, dd, max_d, peak;
    bits zero_r, zero_c;
} raw_part;
INLINE void raw_step(raw_part *s, const unsigned char *r, const unsigned char *c, int type_r, int type_c) {
    vec x, y;
    load(&x, r, type_r);
    load(&y, c, type_c);
    add(&s->r, &x), add(&s->c, &y);
    add_product(&s->rr, &x, &x, type_r, type_r);
    add_product(&s->cc, &y, &y, type_c, type_c);
    add_product(&s->rc, &x, &y, type_r, type_c);
    if (type_r != ASSAY_BLOCK_F16) add_zeros(&s->zero_r, &x);
    if (type_c != ASSAY_BLOCK_F16) add_zeros(&s->zero_c, &y);
    y -= x;
    s->dd += y * y;
    magnitude(&y);
    add(&s->abs_d, &y);
    larger(&s->max_d, &y);
    if (type_r == ASSAY_BLOCK_F16) return;
    magnitude(&x);
    larger(&s->peak, &x);
}

/* A block of halves is one page, where the machine's own look-ahead ends: ask for what comes half a page on. */
enum { GROUPS_IN_LINE = 64 / (2 * ASSAY_LANES) };
INLINE void fetch(const unsigned char *p) { __builtin_prefetch((const void *)((uintptr_t)p + 2048)); }

/* Where a part of the lanes begins in the groups of both sides, and how many groups there are. */
typedef struct walk {
    const unsigned char *r, *c;
    size_t groups;
} walk;
/* All groups of one part. */
INLINE void raw_groups(raw_part *s, const walk *w, int type_r, int type_c) {
    const size_t step_r = ASSAY_LANES * size_of(type_r), step_c = ASSAY_LANES * size_of(type_c);
    size_t g = 0;
    for (; g + GROUPS_IN_LINE <= w->groups; g += GROUPS_IN_LINE) {
        const unsigned char *r = w->r + g * step_r, *c = w->c + g * step_c;
        if (type_r == ASSAY_BLOCK_F16) fetch(r);
        if (type_c == ASSAY_BLOCK_F16) fetch(c);
        for (size_t k = 0; k < GROUPS_IN_LINE; k++) raw_step(s, r + k * step_r, c + k * step_c, type_r, type_c);
    }
    for (; g < w->groups; g++) raw_step(s, w->r + g * step_r, w->c + g * step_c, type_r, type_c);
}

INLINE void raw_sums(const unsigned char *r, const unsigned char *c, size_t n, int type_r, int type_c, assay_block_sums *o) {
    static const unsigned char zero[8];
    double lane[9][ASSAY_LANES];
    int64_t zeros[2][ASSAY_LANES];
    size_t size_r = size_of(type_r), size_c = size_of(type_c), groups = n / ASSAY_LANES, rest = n % ASSAY_LANES;
    padded last;
    if (rest) {
        fill(last.r, r + groups * ASSAY_LANES * size_r, rest, size_r, zero);
        fill(last.c, c + groups * ASSAY_LANES * size_c, rest, size_c, zero);
    }
    for (int part = 0; part < ASSAY_LANES; part += WIDTH) {
        size_t at_r = (size_t)part * size_r, at_c = (size_t)part * size_c;
        const vec none = {0};
        raw_part s; /* an initialiser would be a slow fill */
        s.r = s.c = s.rr = s.cc = s.rc = s.abs_d = s.dd = s.max_d = s.peak = none;
        s.zero_r = s.zero_c = (bits)none;
        raw_groups(&s, &(walk){r + at_r, c + at_c, groups}, type_r, type_c);
        if (rest) raw_step(&s, last.r + at_r, last.c + at_c, type_r, type_c);
        const vec *sums[9] = {&s.r, &s.c, &s.rr, &s.cc, &s.rc, &s.abs_d, &s.dd, &s.max_d, &s.peak};
        for (int i = 0; i < 9; i++) memcpy(lane[i] + part, sums[i], sizeof(vec));
        memcpy(zeros[0] + part, &s.zero_r, sizeof s.zero_r);
        memcpy(zeros[1] + part, &s.zero_c, sizeof s.zero_c);
    }
    uint64_t pads = rest ? ASSAY_LANES - rest : 0;
    o->r = tree(lane[0]), o->c = tree(lane[1]), o->rr = tree(lane[2]), o->cc = tree(lane[3]), o->rc = tree(lane[4]);
    o->abs_d = tree(lane[5]), o->dd = tree(lane[6]), o->max_d = largest(lane[7]), o->peak = largest(lane[8]);
    o->zero_r = total(zeros[0]) - pads, o->zero_c = total(zeros[1]) - pads;
    if (type_c == ASSAY_BLOCK_F16) o->zero_c = look_at_halves(c, n).zeros;
    if (type_r != ASSAY_BLOCK_F16) return;
    assay_halves h = look_at_halves(r, n);
    o->zero_r = h.zeros, o->peak = assay_load_f64(ASSAY_F16, &h.largest);
}

typedef struct shifted_part {
    vec u, v, uu, vv, uv;
} shifted_part;
INLINE void shifted_step(shifted_part *s, const unsigned char *r, const unsigned char *c, int type_r, int type_c, const vec *shift) {
    vec x, y;
    load(&x, r, type_r);
    load(&y, c, type_c);
    x -= shift[0], y -= shift[1];
    s->u += x, s->v += y;
    s->uu += x * x, s->vv += y * y, s->uv += x * y;
}

/* Sums about the block's own first elements. */
INLINE void shifted_sums(const unsigned char *r, const unsigned char *c, size_t n, int type_r, int type_c, double first_r,
                         double first_c, assay_block_shifted *o) {
    double lane[5][ASSAY_LANES];
    size_t size_r = size_of(type_r), size_c = size_of(type_c), groups = n / ASSAY_LANES, rest = n % ASSAY_LANES;
    const vec shift[2] = {first_r - (vec){0}, first_c - (vec){0}};
    padded last;
    if (rest) {
        fill(last.r, r + groups * ASSAY_LANES * size_r, rest, size_r, r);
        fill(last.c, c + groups * ASSAY_LANES * size_c, rest, size_c, c);
    }
    for (int part = 0; part < ASSAY_LANES; part += WIDTH) {
        size_t at_r = (size_t)part * size_r, at_c = (size_t)part * size_c;
        shifted_part s = {0};
        for (size_t g = 0; g < groups; g++)
            shifted_step(&s, r + at_r + g * ASSAY_LANES * size_r, c + at_c + g * ASSAY_LANES * size_c, type_r, type_c, shift);
        if (rest) shifted_step(&s, last.r + at_r, last.c + at_c, type_r, type_c, shift);
        const vec *sums[5] = {&s.u, &s.v, &s.uu, &s.vv, &s.uv};
        for (int i = 0; i < 5; i++) memcpy(lane[i] + part, sums[i], sizeof(vec));
    }
    o->u = tree(lane[0]), o->v = tree(lane[1]), o->uu = tree(lane[2]), o->vv = tree(lane[3]), o->uv = tree(lane[4]);
}

/* One function for each pair of element types. */
#define PAIR_OF_TYPES(R, C)                                                                                        \
    static void raw_##R##_##C(const void *r, const void *c, size_t n, assay_block_sums *o) {                       \
        raw_sums(r, c, n, ASSAY_BLOCK_##R, ASSAY_BLOCK_##C, o);                                                    \
    }                                                                                                              \
    static void shifted_##R##_##C(const void *r, const void *c, size_t n, double fr, double fc, assay_block_shifted *o) { \
        shifted_sums(r, c, n, ASSAY_BLOCK_##R, ASSAY_BLOCK_##C, fr, fc, o);                                        \
    }
#define FOR_TYPE(R) PAIR_OF_TYPES(R, F64) PAIR_OF_TYPES(R, F32) PAIR_OF_TYPES(R, F16)
FOR_TYPE(F64)
FOR_TYPE(F32)
FOR_TYPE(F16)
#define ROW(name, R) {name##_##R##_F64, name##_##R##_F32, name##_##R##_F16}
const assay_block_level LEVEL_TABLE = {
    .raw = {ROW(raw, F64), ROW(raw, F32), ROW(raw, F16)},
    .shifted = {ROW(shifted, F64), ROW(shifted, F32), ROW(shifted, F16)},
};
