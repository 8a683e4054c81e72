/* tests/bench/bench_host.c: what is not arithmetic: start-up of the program, SHA-256 of a file, the passes of the metrics.
 *   bench_host ASSAY FILE [ROUNDS]     FILE: some hundred MB, read from the page cache; both sides of a row take turns */
#include "assay/metrics.h"
#include "base/digest.h"
#include "base/process.h"
#include "base/threads.h"
#include "metrics/metrics.h"
#include "ops/kernels/kernels.h"
#include "tensor/dtype.h"
#include "tensor/tensor.h"
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* 100 million pairs, as attention would have them: batch, head, token, channel. */
enum { ROUNDS_MAX = 400, BATCH = 2, HEADS = 20, TOKENS = 39062, WIDTH = 64, PAIRS = BATCH * HEADS * TOKENS * WIDTH };
extern char **environ;

static const char *assay, *file;
static float *a32, *b32;
static uint16_t *a16, *b16;
static volatile float sink;

/* Runs a command with its output thrown away; a failing command ends the bench, since its time would mean nothing. */
static void command(const char *const *argv) {
    posix_spawn_file_actions_t quiet;
    posix_spawn_file_actions_init(&quiet);
    posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
    pid_t pid;
    int status = -1;
    if (posix_spawnp(&pid, argv[0], &quiet, NULL, (char *const *)(uintptr_t)argv, environ) != 0 || waitpid(pid, &status, 0) < 0 || status != 0) {
        fprintf(stderr, "bench_host: '%s %s' failed\n", argv[0], argv[1] ? argv[1] : "");
        exit(3);
    }
    posix_spawn_file_actions_destroy(&quiet);
}

static void empty(void) { command((const char *const[]){ "true", NULL }); }
static void version(void) { command((const char *const[]){ assay, "--version", NULL }); }
static void gates(void) { command((const char *const[]){ assay, "gates", NULL }); }
static void openssl(void) { command((const char *const[]){ "openssl", "dgst", "-sha256", file, NULL }); }
static void digest(void) {
    char hex[ASSAY_HEX];
    assay_error err = { 0 };
    if (assay_sha256_file(file, hex, &err) != ASSAY_OK) {
        fprintf(stderr, "bench_host: %s\n", err.message);
        exit(3);
    }
}

/* Reading both tensors once: the bandwidth that the metrics are measured against, by as many threads. */
typedef struct both { const float *a, *b; int64_t n; } both;
static uint32_t threads = 1;
enum { PIECES = 64 };
static void read_piece(void *ctx, uint64_t i, uint32_t worker) {
    const both *p = ctx;
    int64_t n = p->n / PIECES, at = (int64_t)i * n;
    (void)worker;
    sink = assay_kernels_best()->sum_f32(p->a + at, n) + assay_kernels_best()->sum_f32(p->b + at, n);
}
static void read_loop_32(void) { assay_parallel(threads, PIECES, read_piece, &(both){ a32, b32, PAIRS }); }
static void read_loop_16(void) {
    assay_parallel(threads, PIECES, read_piece, &(both){ (const float *)(const void *)a16, (const float *)(const void *)b16, PAIRS / 2 });
}
static void must(assay_status st, const assay_error *err) {
    if (st == ASSAY_OK) return;
    fprintf(stderr, "bench_host: %s\n", err->message);
    exit(3);
}
static assay_tensor attention(int32_t dtype, void *data) {
    static int64_t shape[] = { BATCH, HEADS, TOKENS, WIDTH };
    return assay_tensor_view(dtype, 4, shape, data);
}
static double rms;
static void first_pass(int32_t dtype, void *a, void *b) {
    assay_tensor ta = attention(dtype, a), tb = attention(dtype, b);
    assay_pair_stats stats = { .struct_size = sizeof stats }, rest = { .struct_size = sizeof rest };
    assay_error err = { 0 };
    must(assay_metrics_iface()->pair_and_rest(&ta, &tb, &stats, &rest, &err), &err);
    rms = stats.rms_ref;
}
/* Two more: token means, ULPs and the element rule, then the centred cosine. */
static void more_passes(int32_t dtype, void *a, void *b) {
    assay_tensor ta = attention(dtype, a), tb = attention(dtype, b);
    const assay_axes axes = { .batch = 0, .head = 1, .token = 2, .channel = 3 };
    assay_further io = { .struct_size = sizeof io, .axes = &axes, .rms_ref = rms, .atol = 1e-4, .rtol = 1e-3 };
    assay_error err = { 0 };
    must(assay_metrics_iface()->further(&ta, &tb, &io, &err), &err);
    sink = (float)io.cosine;
}
static void metrics_32(void) { first_pass(ASSAY_F32, a32, b32); }
static void metrics_16(void) { first_pass(ASSAY_F16, a16, b16); }
static void further_32(void) { more_passes(ASSAY_F32, a32, b32); }
static void further_16(void) { more_passes(ASSAY_F16, a16, b16); }

static int by_value(const void *p, const void *q) {
    double x = *(const double *)p, y = *(const double *)q;
    return x < y ? -1 : x > y;
}

static double timed_ms(void (*run)(void)) {
    int64_t start = assay_now_ns();
    run();
    return (double)(assay_now_ns() - start) * 1e-6;
}

static void compare(const char *ours, void (*run)(void), const char *theirs, void (*peer)(void), int rounds) {
    double mine[ROUNDS_MAX], other[ROUNDS_MAX], ratio[ROUNDS_MAX];
    for (int r = -1; r < rounds; r++) {
        double first = timed_ms(r & 1 ? peer : run), second = timed_ms(r & 1 ? run : peer);
        if (r < 0) continue;
        mine[r] = r & 1 ? second : first, other[r] = r & 1 ? first : second;
        ratio[r] = mine[r] / other[r];
    }
    qsort(mine, (size_t)rounds, sizeof *mine, by_value), qsort(other, (size_t)rounds, sizeof *other, by_value);
    qsort(ratio, (size_t)rounds, sizeof *ratio, by_value);
    printf("%-28s %9.2f   %-28s %9.2f   %6.3f\n", ours, mine[rounds / 2], theirs, other[rounds / 2], ratio[rounds / 2]);
    fflush(stdout);
}

static void make_pairs(void) {
    a32 = malloc(sizeof *a32 * PAIRS), b32 = malloc(sizeof *b32 * PAIRS), a16 = malloc(sizeof *a16 * PAIRS), b16 = malloc(sizeof *b16 * PAIRS);
    if (!a32 || !b32 || !a16 || !b16) exit(70);
    for (size_t i = 0; i < PAIRS; i++) {
        a32[i] = (float)((i * 2654435761u & 0xffff) + 1) * 0x1p-15f - 1;
        b32[i] = a32[i] * (1 + 0x1p-12f);
    }
    assay_kernels_best()->f32_to_f16(a32, a16, PAIRS);
    assay_kernels_best()->f32_to_f16(b32, b16, PAIRS);
}

int main(int argc, char **argv) {
    if (argc < 3) return fprintf(stderr, "usage: bench_host ASSAY FILE [ROUNDS]\n"), 2;
    assay = argv[1], file = argv[2];
    int rounds = argc > 3 ? atoi(argv[3]) : 15;
    rounds = rounds < 3 ? 3 : rounds > ROUNDS_MAX ? ROUNDS_MAX : rounds;
    printf("\nhost work, %d rounds in turns; ratio = left / right, median of rounds\n", rounds);
    printf("%-28s %9s   %-28s %9s   %6s\n", "ours", "ms", "beside", "ms", "ratio");
    compare("assay --version", version, "true", empty, rounds);
    compare("assay gates", gates, "true", empty, rounds);
    compare("SHA-256 of a file", digest, "openssl dgst -sha256", openssl, rounds);
    make_pairs();
    for (threads = 1; threads <= 2 && threads <= assay_cpu_count(); threads++) {
        assay_metrics_set_threads(threads);
        printf("metrics of %d pairs, %u thread%s\n", PAIRS, threads, threads > 1 ? "s" : "");
        compare("metrics, fp32", metrics_32, "reading both once", read_loop_32, rounds);
        compare("metrics, fp16", metrics_16, "reading both once", read_loop_16, rounds);
        compare("two further passes, fp32", further_32, "reading both once", read_loop_32, rounds < 5 ? rounds : 5);
        compare("two further passes, fp16", further_16, "reading both once", read_loop_16, rounds < 5 ? rounds : 5);
    }
    return 0;
}
