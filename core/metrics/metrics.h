/* metrics/metrics.h: inside of the metrics part: reading any tensor as float64 blocks, and the sums of one block pair.
 * Order of additions is fixed by this part alone, not by threads: blocks of ASSAY_BLOCK elements, in a block element i goes to lane i mod 8,
 * lanes are joined by one tree, blocks in ascending order with compensation. So the bits are the same for every instruction
 * set (architecture.md section 7). */
#ifndef ASSAY_METRICS_METRICS_H
#define ASSAY_METRICS_METRICS_H
#include "assay/metrics.h"
#include <stdbool.h>
#include <stddef.h>

enum { ASSAY_BLOCK = 2048, ASSAY_LANES = 8 };

/* The table of interface "assay.metrics/1". */
const struct assay_metrics_1 *assay_metrics_iface(void);

/* ---- reading (load.c). A reader walks a view in C order; axes that lie behind each other in memory are joined. */
typedef struct assay_reader {
    const unsigned char *base;
    int32_t dtype;
    uint32_t rank;
    size_t size;
    int64_t shape[ASSAY_RANK_MAX], stride[ASSAY_RANK_MAX], at[ASSAY_RANK_MAX], offset;
} assay_reader;
void assay_reader_init(assay_reader *rd, const assay_tensor *t);
void assay_reader_seek(assay_reader *rd, int64_t flat);
/* Next n elements, widened to double. The caller asks for no more than there are. */
void assay_reader_next(assay_reader *rd, size_t n, double *out);
/* The same n elements where they lie, when they lie together and have a type of a block (*type); else widened into buffer. */
const void *assay_reader_span(assay_reader *rd, size_t n, double *buffer, int *type);
int64_t assay_metrics_count(const assay_tensor *t);
/* Error for tensors that cannot be compared; ASSAY_OK otherwise. */
assay_status assay_metrics_check(const assay_tensor *ref, const assay_tensor *cand, assay_error *err);

/* ---- sums of one block of a pair (block.c, and block_body.h once for each vector level) */
enum { ASSAY_BLOCK_F64, ASSAY_BLOCK_F32, ASSAY_BLOCK_F16, ASSAY_BLOCK_TYPES, ASSAY_BLOCK_LEVELS = 3 };
typedef struct assay_block {
    const void *r, *c;  /* contiguous, any alignment */
    int type_r, type_c; /* ASSAY_BLOCK_F64 ... */
    size_t n;           /* 1 to ASSAY_BLOCK */
} assay_block;
typedef struct assay_block_sums {
    double r, c, rr, cc, rc, peak, abs_d, dd, max_d; /* sums, largest |r| and largest |c - r| */
    double var_r, var_c, cov;                        /* sums about the block's own means */
    uint64_t bad_r, bad_c, nan_c, zero_r, zero_c;
    double first_r, first_c;
    bool moved_r, moved_c; /* some element differs from the first of the block */
} assay_block_sums;
void assay_block_sum(const assay_block *b, assay_block_sums *out);
/* The same at one level: 0 baseline, 1 AVX2 with F16C and FMA, 2 AVX-512. False: this machine or build does not have it. */
bool assay_block_sum_at(int level, const assay_block *b, assay_block_sums *out);

/* ---- the pair (pair.c) */
typedef struct assay_neumaier {
    double sum, comp;
} assay_neumaier;
void assay_neumaier_add(assay_neumaier *s, double x);
double assay_neumaier_value(const assay_neumaier *s);
/* Threads for pairs of more than a million elements; 0, the default, is every processor. The bits do not depend on it. */
void assay_metrics_set_threads(uint32_t threads);
void assay_pair_compute(const assay_tensor *ref, const assay_tensor *cand, int64_t skip, assay_pair_stats *out);

/* ---- counts element by element (elements.c); `at` NULL: no ULPs */
typedef struct assay_elements {
    double least, atol, rtol; /* ULPs are counted where abs(r) >= least */
    uint64_t over, n, *at;    /* n ULP distances, at[d] of them d */
} assay_elements;
void assay_elements_count(assay_elements *e, const double *r, const double *c, size_t n);
/* assay_metrics_centred; the elements are counted on the way where `e` is not NULL. */
assay_status assay_centred_compute(const assay_tensor *ref, const assay_tensor *cand, assay_further *io, assay_elements *e, assay_error *err);

/* ---- entries of the interface, one file each */
assay_status assay_metrics_pair(const assay_tensor *ref, const assay_tensor *cand, int64_t skip, assay_pair_stats *out,
                                assay_error *err);
assay_status assay_metrics_pair_and_rest(const assay_tensor *ref, const assay_tensor *cand, assay_pair_stats *all,
                                         assay_pair_stats *rest, assay_error *err);
assay_status assay_metrics_slices(const assay_tensor *ref, const assay_tensor *cand, uint32_t keep, assay_pair_stats *out,
                                  uint64_t n, assay_error *err);
assay_status assay_metrics_centred(const assay_tensor *ref, const assay_tensor *cand, const assay_axes *axes, double *cosine,
                                   double *share, double *bh_cosine, double *bh_share, uint64_t n, assay_error *err);
assay_status assay_metrics_ulp16(const assay_tensor *ref, const assay_tensor *cand, double out[3], assay_error *err);
assay_status assay_metrics_elements_over(const assay_tensor *ref, const assay_tensor *cand, double atol, double rtol, uint64_t *n,
                                         assay_error *err);
assay_status assay_metrics_further(const assay_tensor *ref, const assay_tensor *cand, assay_further *io, assay_error *err);
assay_status assay_metrics_difference(const assay_tensor *a, const assay_tensor *b, double *out, assay_error *err);
assay_status assay_metrics_read(const assay_tensor *t, int64_t first, uint64_t n, double *out, assay_error *err);
double assay_metrics_load(const assay_tensor *t, int64_t flat);
int assay_metrics_bytes_equal(const assay_tensor *a, const assay_tensor *b);
#endif
