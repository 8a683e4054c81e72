/* Copying between strided regions: the whole of transpose, slice, concat, tile and their kin. */
#include "ops/eval.h"
#include <string.h>

typedef struct axis { int64_t n, dst, src; } axis;

static void copy_inner(size_t size, char *dst, const char *src, const axis *a) {
    if (a->dst == 1 && a->src == 1) { memcpy(dst, src, (size_t)a->n * size); return; }
    int64_t ds = a->dst * (int64_t)size, ss = a->src * (int64_t)size;
    switch (size) {
    case 1: for (int64_t i = 0; i < a->n; i++) dst[i * ds] = src[i * ss]; break;
    case 2: for (int64_t i = 0; i < a->n; i++) memcpy(dst + i * ds, src + i * ss, 2); break;
    case 4: for (int64_t i = 0; i < a->n; i++) memcpy(dst + i * ds, src + i * ss, 4); break;
    case 8: for (int64_t i = 0; i < a->n; i++) memcpy(dst + i * ds, src + i * ss, 8); break;
    default: for (int64_t i = 0; i < a->n; i++) memcpy(dst + i * ds, src + i * ss, size); break;
    }
}

void assay_copy_strided(size_t size, uint32_t rank, const int64_t *shape, void *dst, const int64_t *dst_stride, const void *src, const int64_t *src_stride) {
    axis ax[ASSAY_COPY_RANK];
    uint32_t n = 0;
    for (uint32_t i = 0; i < rank; i++) {                               /* drop axes of one, merge what lies in a row */
        if (shape[i] == 0) return;
        if (shape[i] == 1) continue;
        axis a = { shape[i], dst_stride[i], src_stride[i] };
        if (n && ax[n - 1].dst == a.dst * a.n && ax[n - 1].src == a.src * a.n) a.n *= ax[--n].n;
        ax[n++] = a;
    }
    if (n == 0) { memcpy(dst, src, size); return; }
    int64_t at[ASSAY_COPY_RANK] = { 0 };
    char *d = dst;
    const char *s = src;
    for (;;) {
        copy_inner(size, d, s, &ax[n - 1]);
        uint32_t i = n - 1;
        while (i-- > 0) {                                               /* odometer over the outer axes */
            d += ax[i].dst * (int64_t)size;
            s += ax[i].src * (int64_t)size;
            if (++at[i] < ax[i].n) break;
            d -= ax[i].n * ax[i].dst * (int64_t)size;
            s -= ax[i].n * ax[i].src * (int64_t)size;
            at[i] = 0;
        }
        if (i == UINT32_MAX) return;
    }
}
