/* Figures of one block of a pair: the sums of the best vector level, the central sums, and the rare slow looks. */
#include "metrics/block_levels.h"
#include "base/cpu.h"
#include "base/mem.h"
#include "tensor/dtype.h"
#include <string.h>

static const assay_block_level *level_at(int level) {
#if defined(ASSAY_METRICS_X86)
    if (level == 2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq"))
        return &assay_block_avx512;
    if (level == 1 && __builtin_cpu_supports("avx2") && assay_cpu_has_f16c() && __builtin_cpu_supports("fma")) return &assay_block_avx2;
#endif
    return level == 0 ? &assay_block_portable : NULL;
}

static double element(const void *p, int type, size_t i) {
    static const int32_t dtype[] = {ASSAY_F64, ASSAY_F32, ASSAY_F16};
    return assay_load_f64(dtype[type], (const unsigned char *)p + i * assay_dtype_size(dtype[type]));
}

/* What is left of a raw second moment about the mean; below this share of it the digits are gone and the sums are made again. */
static bool cancels(double central, double raw) { return !(central > raw * 0x1p-10); }

static void central_sums(const assay_block_level *level, const assay_block *b, assay_block_sums *o) {
    double n = (double)b->n;
    o->var_r = o->rr - o->r * o->r / n, o->var_c = o->cc - o->c * o->c / n, o->cov = o->rc - o->r * o->c / n;
    if (!cancels(o->var_r, o->rr) && !cancels(o->var_c, o->cc)) return;
    assay_block_shifted s;
    level->shifted[b->type_r][b->type_c](b->r, b->c, b->n, o->first_r, o->first_c, &s);
    o->var_r = s.uu - s.u * s.u / n, o->var_c = s.vv - s.v * s.v / n, o->cov = s.uv - s.u * s.v / n;
    o->var_r = o->var_r > 0 ? o->var_r : 0, o->var_c = o->var_c > 0 ? o->var_c : 0;
}

/* Squares of fp16 and fp32 elements cannot overflow, so a finite sum of squares has no element that is not finite. */
static uint64_t count_nonfinite(const void *p, int type, size_t n, double squares, uint64_t *nans) {
    uint64_t bad = 0;
    if (squares - squares == 0) return 0;
    for (size_t i = 0; i < n; i++) {
        double x = element(p, type, i);
        bad += !(x - x == 0);
        if (nans) *nans += x != x;
    }
    return bad;
}

/* Some element has not the value of the first; looked at only where the bytes differ. */
static bool moves(const unsigned char *p, int type, size_t n, double first) {
    for (size_t i = 1; i < n; i++) {
        bool alike = type == ASSAY_BLOCK_F16   ? !memcmp(p, p + 2 * i, 2)
                     : type == ASSAY_BLOCK_F32 ? !memcmp(p, p + 4 * i, 4)
                                               : !memcmp(p, p + 8 * i, 8);
        if (!alike && element(p, type, i) != first) return true;
    }
    return false;
}

bool assay_block_sum_at(int which, const assay_block *b, assay_block_sums *o) {
    const assay_block_level *level = level_at(which);
    if (!level) return false;
    o->nan_c = 0, o->var_r = o->var_c = o->cov = 0;
    level->raw[b->type_r][b->type_c](b->r, b->c, b->n, o);
    o->bad_r = count_nonfinite(b->r, b->type_r, b->n, o->rr, NULL);
    o->bad_c = count_nonfinite(b->c, b->type_c, b->n, o->cc, &o->nan_c);
    o->first_r = element(b->r, b->type_r, 0), o->first_c = element(b->c, b->type_c, 0);
    o->moved_r = moves(b->r, b->type_r, b->n, o->first_r), o->moved_c = moves(b->c, b->type_c, b->n, o->first_c);
    if (!o->bad_r && !o->bad_c) central_sums(level, b, o);
    return true;
}

void assay_block_sum(const assay_block *b, assay_block_sums *out) {
    for (int level = ASSAY_BLOCK_LEVELS - 1; !assay_block_sum_at(level, b, out); level--) {
    }
}
