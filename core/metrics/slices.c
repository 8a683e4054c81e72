/* The figures of a pair for every slice: one slice an index of the kept axes, in C order. */
#include "metrics/metrics.h"
#include "base/error.h"
#include "tensor/dtype.h"

/* Splits t into the kept axes (counted by `at`) and the view of one slice. */
typedef struct splitter {
    assay_tensor slice, kept;
} splitter;

static splitter split(const assay_tensor *t, uint32_t keep) {
    splitter s = {.slice = *t, .kept = *t};
    s.slice.rank = s.kept.rank = 0;
    for (uint32_t i = 0; i < t->rank; i++) {
        assay_tensor *to = keep >> i & 1 ? &s.kept : &s.slice;
        to->shape[to->rank] = t->shape[i];
        to->stride[to->rank++] = t->stride[i];
    }
    return s;
}

static assay_tensor slice_at(const splitter *s, int64_t flat) {
    assay_tensor t = s->slice;
    int64_t offset = 0;
    for (uint32_t i = s->kept.rank; i-- > 0;) {
        offset += flat % s->kept.shape[i] * s->kept.stride[i];
        flat /= s->kept.shape[i];
    }
    t.data = (unsigned char *)t.data + (size_t)offset * assay_dtype_size(t.dtype);
    return t;
}

assay_status assay_metrics_slices(const assay_tensor *ref, const assay_tensor *cand, uint32_t keep, assay_pair_stats *out,
                                  uint64_t n, assay_error *err) {
    assay_status st = assay_metrics_check(ref, cand, err);
    if (st != ASSAY_OK) return st;
    splitter r = split(ref, keep), c = split(cand, keep);
    uint64_t slices = (uint64_t)assay_metrics_count(&r.kept);
    if (keep >> ref->rank || n != slices)
        return assay_fail(err, ASSAY_E_INPUT, "metrics: %llu slices asked for, the kept axes have %llu", (unsigned long long)n,
                          (unsigned long long)slices);
    for (uint64_t i = 0; i < n; i++) {
        assay_tensor a = slice_at(&r, (int64_t)i), b = slice_at(&c, (int64_t)i);
        assay_pair_compute(&a, &b, -1, &out[i]);
    }
    return ASSAY_OK;
}
