/* base/process.h: running a program as a worker: posix_spawn of an executable, own process group, stdin from nowhere,
 * output to files, a pipe that only the child holds, a time-out, SIGTERM, 2 s, SIGKILL to the group. */
#ifndef ASSAY_BASE_PROCESS_H
#define ASSAY_BASE_PROCESS_H
#include "base/mem.h"
#include <stdbool.h>

typedef struct assay_run_args {
    const char *const *argv;                     /* argv[0] = path of the program; NULL-ended */
    const char *const *env;                      /* "K=V" added to the environment, NULL-ended; may be NULL */
    const char *cwd, *stdout_path, *stderr_path; /* NULL: inherit cwd, /dev/null */
    double timeout_s;                            /* 0: none */
    void (*tick)(void *ctx, double elapsed_s);   /* about every 100 ms; may be NULL */
    void *ctx;
    const volatile int *cancel;                  /* becomes non-zero: stop the group; may be NULL */
} assay_run_args;
typedef struct assay_run_result {
    int exit_code, signal;                       /* exit_code -1 when ended by a signal; signal 0 when not */
    bool timed_out, cancelled;
    double wall_s; int64_t max_rss_bytes; int pid;
} assay_run_result;
/* Fails only if the program could not be started or waited for. */
assay_status assay_run_process(const assay_run_args *args, assay_run_result *out, assay_error *err);
/* In a worker: leave when the supervisor goes (prctl on Linux, a watching thread elsewhere). */
void assay_die_with_parent(void);
int64_t assay_now_ns(void);                      /* monotonic raw clock, ns */
#endif
