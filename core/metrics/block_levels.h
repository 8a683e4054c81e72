/* metrics/block_levels.h: the block sums of one vector level, by the element types of the pair; block.c chooses the level. */
#ifndef ASSAY_METRICS_BLOCK_LEVELS_H
#define ASSAY_METRICS_BLOCK_LEVELS_H
#include "metrics/metrics.h"

/* Sums of x - r[0] and y - c[0]. The shift is an element of the block, so a sum of squares is at most n times what is left of it
 * about the mean: no more than log2(n) bits are lost there. */
typedef struct assay_block_shifted {
    double u, v, uu, vv, uv;
} assay_block_shifted;

/* Zeros and the largest magnitude of the halves of a block, as the integers they are: four times as many to a vector as doubles. */
typedef struct assay_halves {
    uint16_t zeros, largest; /* a block has no more elements than fit */
} assay_halves;

/* n is 1 to ASSAY_BLOCK; indices are ASSAY_BLOCK_F64 and so on. raw fills r to max_d and the zero counts. */
typedef struct assay_block_level {
    void (*raw[ASSAY_BLOCK_TYPES][ASSAY_BLOCK_TYPES])(const void *r, const void *c, size_t n, assay_block_sums *out);
    void (*shifted[ASSAY_BLOCK_TYPES][ASSAY_BLOCK_TYPES])(const void *r, const void *c, size_t n, double first_r, double first_c,
                                                          assay_block_shifted *out);
} assay_block_level;

extern const assay_block_level assay_block_portable;
#if defined(ASSAY_METRICS_X86)
extern const assay_block_level assay_block_avx2, assay_block_avx512;
#endif
#endif
