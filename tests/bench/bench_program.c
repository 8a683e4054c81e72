/* tests/bench/bench_program.c: the same subgraph as a program, through the reference backend: what a user of assay waits for. */
#include "bench/bench.h"
#include "backends/reference/exec.h"
#include "program/program.h"
#include "tensor/tensor.h"
#include <stdio.h>
#include <stdlib.h>

struct bench_program { assay_program *program; assay_exec *exec; };

static void stop(const assay_error *err) {
    fprintf(stderr, "bench: %s\n", err->message);
    exit(3);
}

bench_program *bench_program_open(const char *folder, const char *arm, uint32_t threads) {
    char path[1024];
    assay_error err = { 0 };
    bench_program *b = calloc(1, sizeof *b);
    if (!b) exit(70);
    snprintf(path, sizeof path, "%s/arms/%s/model.mlpackage", folder, arm);
    const assay_exec_options options = { .precision = ASSAY_PREC_DECLARED, .threads = threads };
    if (assay_program_read(path, &b->program, &err) != ASSAY_OK || assay_exec_open(b->program, &options, &b->exec, &err) != ASSAY_OK) stop(&err);
    return b;
}

void bench_program_run(bench_program *b, const float *x) {
    assay_error err = { 0 };
    const int64_t shape[] = { 2, 750, 1280 };
    const assay_named_tensor in = { "x", assay_tensor_view(ASSAY_F32, 3, shape, (void *)(uintptr_t)x) };
    assay_named_tensor out;
    if (assay_exec_run(b->exec, &in, 1, &err) != ASSAY_OK || assay_exec_output(b->exec, 0, &out, &err) != ASSAY_OK) stop(&err);
}
