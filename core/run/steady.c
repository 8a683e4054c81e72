/* MSER-5: where the transient of a warm-up ends. */
#include "run/steady.h"
#include "base/mem.h"
#include <stdlib.h>

enum { GROUP = 5 };

static double sum_squares_after(const double *z, size_t k, size_t n) {
    double mean = 0, sum = 0;
    for (size_t j = k; j < n; j++) mean += z[j];
    mean /= (double)(n - k);
    for (size_t j = k; j < n; j++) sum += (z[j] - mean) * (z[j] - mean);
    return sum;
}

size_t assay_mser5(const uint64_t *ns, size_t n, size_t *half, double *mser) {
    size_t groups = n / GROUP, best = 0;
    *half = groups < 2 ? 0 : groups / 2;
    if (groups < 2) return 0;
    double *z = assay_xcalloc(groups, sizeof *z), least = 0;
    for (size_t i = 0; i < groups; i++) {
        for (size_t k = 0; k < GROUP; k++) z[i] += (double)ns[i * GROUP + k];
        z[i] /= GROUP;
    }
    for (size_t k = 0; k <= *half; k++) {
        double v = sum_squares_after(z, k, groups) / ((double)(groups - k) * (double)(groups - k));
        if (mser) mser[k] = v;
        if (k == 0 || v < least) {
            least = v;
            best = k;
        }
    }
    free(z);
    return best;
}

bool assay_is_steady(const uint64_t *ns, size_t n) {
    size_t half, best = assay_mser5(ns, n, &half, NULL);
    return best < half;
}
