/* plugins/ops/kernels/dispatch.c: which levels this machine can run, and which one is used. */
#include "ops/kernels/levels.h"
#include "base/cpu.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEVELS_MAX = 4 };
typedef struct level_list { const assay_kernels *at[LEVELS_MAX]; size_t n; } level_list;

/* __builtin_cpu_supports asks the processor and, through XGETBV, whether the system saves the wide registers. */
static level_list detect(void) {
    level_list l = { .at = { &assay_kernels_portable }, .n = 1 };
#if defined(ASSAY_KERNELS_X86)
    __builtin_cpu_init();
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && assay_cpu_has_f16c();
    if (avx2) l.at[l.n++] = &assay_kernels_avx2;
    if (avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        l.at[l.n++] = &assay_kernels_avx512;
#elif defined(ASSAY_KERNELS_ARM)
    l.at[l.n++] = &assay_kernels_neon;           /* part of the base architecture */
#endif
    return l;
}

const assay_kernels *const *assay_kernels_all(size_t *n) {
    static level_list levels;
    if (levels.n == 0) levels = detect();        /* first called before there are threads */
    *n = levels.n;
    return levels.at;
}

const assay_kernels *assay_kernels_find(const char *name) {
    size_t n;
    const assay_kernels *const *all = assay_kernels_all(&n);
    for (size_t i = 0; i < n; i++)
        if (strcmp(all[i]->name, name) == 0) return all[i];
    return NULL;
}

/* A level that was asked for and is not there is said, not silently replaced: the bits are equal, the speed is not. */
const assay_kernels *assay_kernels_best(void) {
    static const assay_kernels *best;
    if (best) return best;
    size_t n;
    const assay_kernels *const *all = assay_kernels_all(&n);
    const char *wanted = getenv("ASSAY_ISA");
    const assay_kernels *found = wanted && *wanted ? assay_kernels_find(wanted) : NULL;
    if (wanted && *wanted && !found) {
        fprintf(stderr, "assay: ASSAY_ISA=%s: this machine has", wanted);
        for (size_t i = 0; i < n; i++) fprintf(stderr, " %s", all[i]->name);
        fprintf(stderr, "; using %s\n", all[n - 1]->name);
    }
    best = found ? found : all[n - 1];
    return best;
}
