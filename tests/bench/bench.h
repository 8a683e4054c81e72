/* tests/bench/bench.h: what the parts of the bench share. */
#ifndef ASSAY_BENCH_H
#define ASSAY_BENCH_H
#include <stdint.h>

/* fp32 rate of a pure fma loop at a level, all threads together; 0 for a level without such a loop ("portable"). */
double bench_peak_gflops(const char *level, uint32_t threads);
#endif
