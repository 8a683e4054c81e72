/* tests/bench/bench.h: what the parts of the bench share. */
#ifndef ASSAY_BENCH_H
#define ASSAY_BENCH_H
#include <stdint.h>

/* fp32 rate of a pure fma loop at a level, all threads together; 0 for a level without such a loop ("portable"). */
double bench_peak_gflops(const char *level, uint32_t threads);

/* One arm of a planned run (tests/bench/d750.lua) on the reference backend; a failure ends the bench. x: [2,750,1280]. */
typedef struct bench_program bench_program;
bench_program *bench_program_open(const char *folder, const char *arm, uint32_t threads);
void bench_program_run(bench_program *b, const float *x);
#endif
