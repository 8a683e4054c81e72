/* tests/bench/bench_kernels.c: times of the d750 attention subgraph ([2,750,1280], three 1280 x 1280 linears, 20 heads of 64) in
 * this program's own kernels, and the share of the fma peak measured in the same run.
 *   bench_kernels THREADS [ROUNDS]     a table: every row in turn each round, median and best
 *   bench_kernels THREADS serve        prints "ready NAME ...", then for each line NAME runs that row once and prints milliseconds
 * With ASSAY_BENCH_RUN (a folder planned from d750.lua) there are rows for the arms as programs on the reference backend too.
 *   bench_kernels dump DIR             writes the inputs and a float64 reference as raw little-endian float32, for the peers */
#include "bench/bench.h"
#include "ops/kernels/kernels.h"
#include "base/process.h"
#include "base/threads.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { B = 2, S = 750, D = 1280, H = 20, E = 64, M = B * S, BH = B * H, ROUNDS_MAX = 400 };
static const double LINEAR_GFLOP = 6.0 * M * D * D / 1e9, ATTENTION_GFLOP = 4.0 * BH * S * S * E / 1e9;

static const assay_kernels *kernels;
static uint32_t threads = 1;
static float *x, *w[3], *bias[3], *flat[3], *head[3], *scores, *out;
static double *xd, *wd[3], *biasd[3], *flatd[3], *headd[3], *outd;

static void *take(size_t n, size_t size) {
    void *p = calloc(n, size);
    if (!p) exit(70);
    return p;
}

/* Small deterministic numbers with the spread of the main experiment: x about 1, weights about 1 / sqrt(D). */
static void fill(float *p, double *pd, size_t n, uint64_t seed, double scale) {
    for (size_t i = 0; i < n; i++) {
        double sum = -2;
        for (int j = 0; j < 4; j++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            sum += (double)(seed >> 33) * 0x1p-31;
        }
        p[i] = (float)(sum * 1.7320508 * scale);
        pd[i] = (double)p[i];
    }
}

static void make_inputs(void) {
    x = take((size_t)M * D, 4), xd = take((size_t)M * D, 8);
    fill(x, xd, (size_t)M * D, 1, 1);
    for (int i = 0; i < 3; i++) {
        w[i] = take((size_t)D * D, 4), wd[i] = take((size_t)D * D, 8), bias[i] = take(D, 4), biasd[i] = take(D, 8);
        fill(w[i], wd[i], (size_t)D * D, 2 + (uint64_t)i, 1.5 / sqrt(D));
        fill(bias[i], biasd[i], D, 5 + (uint64_t)i, 0.125);
        flat[i] = take((size_t)M * D, 4), head[i] = take((size_t)M * D, 4);
        flatd[i] = take((size_t)M * D, 8), headd[i] = take((size_t)M * D, 8);
    }
    scores = take((size_t)BH * S * S, 4), out = take((size_t)M * D, 4), outd = take((size_t)M * D, 8);
}

/* [B,S,H,E] -> [B,H,S,E], as the executor's reshape and transpose do. */
static void split_heads(void *ctx, uint64_t bh, uint32_t worker) {
    (void)worker;
    const int *which = ctx;
    uint64_t b = bh / H, h = bh % H;
    for (uint64_t s = 0; s < S; s++) memcpy(head[*which] + (bh * S + s) * E, flat[*which] + (b * S + s) * D + h * E, E * sizeof(float));
}
static void split_heads_f64(void *ctx, uint64_t bh, uint32_t worker) {
    (void)worker;
    const int *which = ctx;
    uint64_t b = bh / H, h = bh % H;
    for (uint64_t s = 0; s < S; s++) memcpy(headd[*which] + (bh * S + s) * E, flatd[*which] + (b * S + s) * D + h * E, E * sizeof(double));
}

static void linears(void) {
    for (int i = 0; i < 3; i++) kernels->gemm_f32(x, D, w[i], D, true, bias[i], flat[i], D, M, D, D, threads);
}
static void heads(void) {
    for (int i = 0; i < 3; i++) assay_parallel(threads, BH, split_heads, &i);
}
static void attention_fused(void) {
    assay_sdpa_args a = { .q = head[0], .k = head[1], .v = head[2], .out = out, .batch = BH, .L = S, .S = S, .E = E, .Ev = E,
                          .scale = 0.125, .threads = threads };
    kernels->sdpa_f32(&a);
}
/* Op by op, every score in memory: q * 0.125, matmul, softmax, matmul; one head a task, as the executor does a batch. */
static void scale_head(void *ctx, uint64_t b, uint32_t worker) {
    (void)worker;
    float *scaled = ctx;
    for (size_t i = b * S * E; i < (b + 1) * S * E; i++) scaled[i] = head[0][i] * 0.125f;
}
static void score_head(void *ctx, uint64_t b, uint32_t worker) {
    (void)worker;
    kernels->gemm_f32((float *)ctx + b * S * E, E, head[1] + b * S * E, E, true, NULL, scores + b * S * S, S, S, S, E, 1);
}
static void product_head(void *ctx, uint64_t b, uint32_t worker) {
    (void)ctx, (void)worker;
    kernels->gemm_f32(scores + b * S * S, S, head[2] + b * S * E, E, false, NULL, out + b * S * E, E, S, E, S, 1);
}
static void attention_explicit(void) {
    static float scaled[M * D];
    assay_parallel(threads, BH, scale_head, scaled);
    assay_parallel(threads, BH, score_head, scaled);
    kernels->softmax_f32(scores, scores, BH * S, S, threads);
    assay_parallel(threads, BH, product_head, NULL);
}
static void whole_fused(void) { linears(), heads(), attention_fused(); }
static void whole_explicit(void) { linears(), heads(), attention_explicit(); }
static bench_program *program[2];
static void program_fused(void) { bench_program_run(program[0], x); }
static void program_explicit(void) { bench_program_run(program[1], x); }
static void whole_f64(void) {
    for (int i = 0; i < 3; i++) kernels->gemm_f64(xd, D, wd[i], D, true, biasd[i], flatd[i], D, M, D, D, threads);
    for (int i = 0; i < 3; i++) assay_parallel(threads, BH, split_heads_f64, &i);
    assay_sdpa_args a = { .q = headd[0], .k = headd[1], .v = headd[2], .out = outd, .batch = BH, .L = S, .S = S, .E = E, .Ev = E,
                          .scale = 0.125, .threads = threads };
    kernels->sdpa_f64(&a);
}

typedef struct row { const char *name; void (*run)(void); double gflop, lanes; double ms[ROUNDS_MAX], share[ROUNDS_MAX]; } row;
static row rows[] = {
    { "linears", linears, 0, 1, { 0 }, { 0 } }, { "attention_fused", attention_fused, 0, 1, { 0 }, { 0 } }, { "attention_explicit", attention_explicit, 0, 1, { 0 }, { 0 } },
    { "whole_fused", whole_fused, 0, 1, { 0 }, { 0 } }, { "whole_explicit", whole_explicit, 0, 1, { 0 }, { 0 } }, { "whole_fused_f64", whole_f64, 0, 2, { 0 }, { 0 } },
    { "program_fused", program_fused, 0, 1, { 0 }, { 0 } }, { "program_explicit", program_explicit, 0, 1, { 0 }, { 0 } },
};
enum { ROWS_ALL = sizeof rows / sizeof *rows };
static size_t n_rows = ROWS_ALL;

static double timed(const row *r) {
    int64_t start = assay_now_ns();
    r->run();
    return (double)(assay_now_ns() - start) * 1e-6;
}

static int by_value(const void *a, const void *b) {
    double p = *(const double *)a, q = *(const double *)b;
    return p < q ? -1 : p > q;
}

static double middle(double *v, int n) {
    qsort(v, (size_t)n, sizeof *v, by_value);
    return v[n / 2];
}

/* The peak is measured again right before each row, so that both see the same clock and the same neighbours. */
static void table(int rounds) {
    static double peak[ROUNDS_MAX * 8];
    int peaks = 0;
    for (int i = -1; i < rounds; i++)
        for (size_t r = 0; r < n_rows; r++) {
            double top = bench_peak_gflops(kernels->name, threads), ms = timed(&rows[r]);
            if (i < 0) continue;
            peak[peaks++] = top;
            rows[r].ms[i] = ms;
            rows[r].share[i] = 100 * rows[r].gflop / ms * 1e3 * rows[r].lanes / top;
        }
    double top = middle(peak, peaks);
    printf("level %s, %u thread(s), %d rounds, fma peak %.1f GFLOP/s fp32 (median; %.1f to %.1f)\n", kernels->name, threads, rounds, top,
           peak[0], peak[peaks - 1]);
    printf("%-20s %9s %9s %9s %9s\n", "part", "median ms", "best ms", "GFLOP/s", "% of peak");
    for (size_t r = 0; r < n_rows; r++) {
        double ms = middle(rows[r].ms, rounds);
        printf("%-20s %9.1f %9.1f %9.1f %9.1f\n", rows[r].name, ms, rows[r].ms[0], rows[r].gflop / ms * 1e3, middle(rows[r].share, rounds));
    }
}

static void serve(void) {
    char line[64];
    printf("ready");
    for (size_t r = 0; r < n_rows; r++) printf(" %s", rows[r].name);
    puts("");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        double value = strcmp(line, "peak") == 0 ? bench_peak_gflops(kernels->name, threads) : -1;
        for (size_t r = 0; r < n_rows; r++)
            if (strcmp(line, rows[r].name) == 0) value = timed(&rows[r]);
        printf("%.5f\n", value);
        fflush(stdout);
    }
}

static void write_raw(const char *dir, const char *name, const float *p, size_t n) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s.f32", dir, name);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(p, sizeof *p, n, f) != n || fclose(f) != 0) {
        fprintf(stderr, "bench_kernels: cannot write %s\n", path);
        exit(3);
    }
}

static void dump(const char *dir) {
    static const char *const names[3][3] = { { "wq", "bq", "q" }, { "wk", "bk", "k" }, { "wv", "bv", "v" } };
    whole_f64();
    linears(), heads();
    for (size_t i = 0; i < (size_t)M * D; i++) out[i] = (float)outd[i];
    write_raw(dir, "x", x, (size_t)M * D);
    write_raw(dir, "ref", out, (size_t)M * D);
    for (int i = 0; i < 3; i++) {
        write_raw(dir, names[i][0], w[i], (size_t)D * D);
        write_raw(dir, names[i][1], bias[i], D);
        write_raw(dir, names[i][2], head[i], (size_t)M * D);
    }
}

int main(int argc, char **argv) {
    if (argc < 2) {
        fprintf(stderr, "usage: bench_kernels THREADS [ROUNDS|serve] | bench_kernels dump DIR\n");
        return 2;
    }
    kernels = assay_kernels_best();
    make_inputs();
    for (size_t r = 0; r < n_rows; r++)
        rows[r].gflop = (strncmp(rows[r].name, "attention", 9) == 0 ? 0 : LINEAR_GFLOP) + (strcmp(rows[r].name, "linears") == 0 ? 0 : ATTENTION_GFLOP);
    if (strcmp(argv[1], "dump") == 0 && argc > 2) return threads = assay_cpu_count(), dump(argv[2]), 0;
    threads = (uint32_t)atoi(argv[1]);
    const char *run = getenv("ASSAY_BENCH_RUN");
    if (run && *run) program[0] = bench_program_open(run, "fused", threads), program[1] = bench_program_open(run, "explicit", threads);
    else n_rows -= 2;
    linears(), heads();
    if (argc > 2 && strcmp(argv[2], "serve") == 0) return serve(), 0;
    int rounds = argc > 2 ? atoi(argv[2]) : 9;
    table(rounds < 1 ? 1 : rounds > ROUNDS_MAX ? ROUNDS_MAX : rounds);
    return 0;
}
