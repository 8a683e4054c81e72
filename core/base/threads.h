/* base/threads.h: a parallel loop. Tasks are handed out by an atomic counter; results must not depend on who ran what. */
#ifndef ASSAY_BASE_THREADS_H
#define ASSAY_BASE_THREADS_H
#include <stdint.h>
uint32_t assay_cpu_count(void);
/* Calls fn(ctx, i, worker) for i in 0..n-1 on `threads` threads (worker 0..threads-1; 0 and 1 = in the caller). The worker
 * threads inherit the caller's floating-point mode. Threads are kept between calls. Not re-entrant. */
void assay_parallel(uint32_t threads, uint64_t n, void (*fn)(void *ctx, uint64_t i, uint32_t worker), void *ctx);
#endif
