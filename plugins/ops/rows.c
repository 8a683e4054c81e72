/* Rows of a tensor along a set of axes, for reducing and normalising ops. */
#include "ops/gemm.h"

const double *assay_eval_rows(assay_eval *ev, const assay_tensor *x, uint32_t axes, int64_t *outer, int64_t *n, assay_error *err) {
    uint32_t perm[ASSAY_RANK_MAX], at = 0;
    *outer = *n = 1;
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < x->rank; i++) {
            bool reduced = (axes >> i & 1) != 0;
            if (reduced != (pass == 1)) continue;
            perm[at++] = i;
            *(reduced ? n : outer) *= x->shape[i];
        }
    const void *data = assay_eval_as(ev, x, ASSAY_F64, err);
    bool moved = false;
    for (uint32_t i = 0; i < x->rank; i++) moved |= perm[i] != i;
    if (!data || !moved || *outer * *n == 0) return data;
    return assay_eval_permuted(ev, data, true, x->rank, x->shape, x->stride, perm, err);
}
