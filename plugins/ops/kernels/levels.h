/* plugins/ops/kernels/levels.h: the tables of the levels that this build holds; dispatch.c chooses among them. */
#ifndef ASSAY_KERNELS_LEVELS_H
#define ASSAY_KERNELS_LEVELS_H
#include "ops/kernels/kernels.h"

extern const assay_kernels assay_kernels_portable;
#if defined(__x86_64__)
extern const assay_kernels assay_kernels_avx2;
extern const assay_kernels assay_kernels_avx512;
#elif defined(__aarch64__)
extern const assay_kernels assay_kernels_neon;
#endif

/* Workers that may be seen by a task, for sizing scratch memory: assay_parallel never uses more than 256. */
static inline uint32_t kernel_workers(uint32_t threads) { return threads < 1 ? 1 : threads > 256 ? 256 : threads; }
#endif
