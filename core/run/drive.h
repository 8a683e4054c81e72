/* run/drive.h: one run: judge, collect what the first undecided gate needs, and again, until everything is decided. */
#ifndef ASSAY_RUN_DRIVE_H
#define ASSAY_RUN_DRIVE_H
#include "run/judge.h"
#include "run/work.h"

/* What a watcher is told, by one thread at a time. Every pointer is borrowed for the call. Of trials that run side by side each
 * is begun when it starts and once more just before its end. */
typedef struct assay_progress {
    void (*trial_begin)(void *ctx, size_t k, size_t n, const assay_json *job, const char *gate);   /* trial k of n known so far */
    void (*tick)(void *ctx, double elapsed_s);
    void (*trial_end)(void *ctx, const char *state, double wall_s);
    void (*judging)(void *ctx, const char *gate);
    void (*said)(void *ctx, const char *gate, const char *line);    /* what a gate has to say before its evidence is collected, once */
    void *ctx;
} assay_progress;
typedef struct assay_drive {
    assay_supervisor supervisor;                 /* plan, host, backend, registry ... */
    const assay_progress *progress;              /* may be NULL */
} assay_drive;
/* Holds the directory's lock for the whole run; ASSAY_E_INPUT when another run has it. Writes the receipt. */
assay_status assay_drive_run(const assay_drive *d, assay_json **receipt, assay_error *err);
/* The jobs without a folder that the gates of the plan are known to need now (for `trials`), each once. */
assay_status assay_drive_missing(const assay_plan *p, const char *host, const char *gate_path, assay_json **jobs, assay_error *err);
#endif
