/* assay/metrics.h: interface "assay.metrics/1": the figures of statistics.md section 3.2 for a pair of tensors, in float64.
 * Undefined figures are NaN. Any dtype, any strides; axes -1 = absent. */
#ifndef ASSAY_METRICS_IFACE_H
#define ASSAY_METRICS_IFACE_H
#include "types.h"
#ifdef __cplusplus
extern "C" {
#endif
#define ASSAY_METRICS_1 "assay.metrics/1"
typedef struct assay_axes { int32_t batch, head, token, channel; } assay_axes;
typedef struct assay_pair_stats { uint32_t struct_size, identical;
    uint64_t count, nonfinite_ref, nonfinite_cand, nan_cand, zeros_ref, zeros_cand;
    int64_t first_nonfinite_cand, max_abs_index;            /* flat C index, -1: none */
    double norm_ref, norm_cand, var_ref, var_cand;          /* sqrt of sums of squares; population variances */
    double cosine, pearson, gain, max_abs, mean_abs, mse, rmse, rel_l2, snr_db, psnr_db, peak_ref, rms_ref, max_abs_over_rms, energy_share_top1;
    int64_t energy_top1_index;
    int32_t constant_ref, constant_cand;                    /* 1: all elements equal */
    double mean_ref, mean_cand;
} assay_pair_stats;
/* What `further` is asked for, and what it finds. */
typedef struct assay_further { uint32_t struct_size, reserved;
    const assay_axes *axes;                                 /* of the centred cosine; NULL: leave it out */
    double *bh_cosine, *bh_share; uint64_t n;               /* per (batch, head), or NULL */
    double rms_ref, atol, rtol;                             /* rms_ref as `pair` gives it: no ULPs unless it is above 0 */
    double cosine, share, ulp[3]; uint64_t over;            /* found; NaN where left out */
} assay_further;
typedef struct assay_metrics_1 { uint32_t struct_size, reserved;
    /* All figures of one pair (equal shapes). `skip` = flat index left out, or -1. */
    assay_status (*pair)(const assay_tensor *ref, const assay_tensor *cand, int64_t skip, assay_pair_stats *out, assay_error *);
    /* The same per slice: out[n] in C order over the kept axes; keep = bit set of axes that index the slices. */
    assay_status (*slices)(const assay_tensor *ref, const assay_tensor *cand, uint32_t keep, assay_pair_stats *out, uint64_t n, assay_error *);
    /* Cosine of c - m and r - m, m = token mean of r per (batch, head, channel); tensor, then per (batch, head) into
     * per_bh[n] when not NULL; *share = norm(r - m)/norm(r) likewise. */
    assay_status (*centred)(const assay_tensor *ref, const assay_tensor *cand, const assay_axes *axes, double *cosine, double *share,
                            double *bh_cosine, double *bh_share, uint64_t n, assay_error *);
    /* fp16 ULP distances over elements with abs(r) >= 2^-10 RMS(r): max, p50, p99 (NaN when none). */
    assay_status (*ulp16)(const assay_tensor *ref, const assay_tensor *cand, double out[3], assay_error *);
    /* Elements with abs(c - r) > atol + rtol abs(r), NaN counted. */
    assay_status (*elements_over)(const assay_tensor *ref, const assay_tensor *cand, double atol, double rtol, uint64_t *n, assay_error *);
    /* out = a - b in float64 (contiguous, caller's memory of count doubles). */
    assay_status (*difference)(const assay_tensor *a, const assay_tensor *b, double *out, assay_error *);
    double (*load)(const assay_tensor *t, int64_t flat);    /* one element as double */
    int (*bytes_equal)(const assay_tensor *a, const assay_tensor *b);   /* same dtype, shape and bits (-0 and 0 differ) */
    /* Elements first..first+n-1 in C order, widened exactly. ASSAY_E_RANGE past the end. */
    assay_status (*read)(const assay_tensor *t, int64_t first, uint64_t n, double *out, assay_error *);
    /* pair, and pair without all->energy_top1_index (figures undefined where that is -1), reading both tensors once. */
    assay_status (*pair_and_rest)(const assay_tensor *ref, const assay_tensor *cand, assay_pair_stats *all, assay_pair_stats *rest, assay_error *);
    /* centred, ulp16 and elements_over, the same bits, reading both tensors twice in all. */
    assay_status (*further)(const assay_tensor *ref, const assay_tensor *cand, assay_further *io, assay_error *);
} assay_metrics_1;
#ifdef __cplusplus
}
#endif
#endif
