/* bench_minilm DIR dump | DIR THREADS: the encoder of MiniLM-L6 (6 layers, 384 wide, 12 heads of 32, feed-forward 1536) over a
 * sequence of 128 in fp32 on the reference backend, with seeded weights. `dump` writes weights, input and the float64 result as
 * raw float32 for the peer; with THREADS it says "ready minilm" and answers each line with the milliseconds of one run. */
#include "backends/reference/exec.h"
#include "base/process.h"
#include "ops/builtin.h"
#include "tensor/generate.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAYERS = 6, S = 128, D = 384, H = 12, E = D / H, F = 1536 };
typedef assay_mil_value *val;
typedef struct builder {
    assay_program *p;
    assay_mil_function *f;
    FILE *weights; /* every weight in the order it is made; NULL when none is written */
    uint64_t drawn;
    assay_error err;
} builder;

static void stop(const assay_error *err) {
    fprintf(stderr, "bench_minilm: %s\n", err->message);
    exit(3);
}
static FILE *create(const char *dir, const char *name) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s.f32", dir, name);
    FILE *f = fopen(path, "wb");
    if (!f) {
        fprintf(stderr, "bench_minilm: cannot write %s\n", path);
        exit(3);
    }
    return f;
}
static void put(FILE *f, const float *v, size_t n) {
    if (f && fwrite(v, sizeof *v, n, f) != n) {
        fprintf(stderr, "bench_minilm: cannot write the numbers\n");
        exit(3);
    }
}

/* ---- the graph */
static val constant(builder *b, int32_t dtype, uint32_t rank, const int64_t *dims, const void *data) {
    assay_tensor t = assay_tensor_view(dtype, rank, dims, (void *)(uintptr_t)data);
    return assay_block_add_const(b->p, b->f, b->f->block, NULL, "c", assay_const_tensor(b->p, &t));
}
static val flag(builder *b) {
    const bool yes = true;
    return constant(b, ASSAY_BOOL, 0, NULL, &yes);
}
static val ints(builder *b, int64_t n, const int32_t *v) { return constant(b, ASSAY_I32, 1, &n, v); }
#define INTS(b, ...) ints(b, (int64_t)(sizeof((int32_t[]){__VA_ARGS__}) / sizeof(int32_t)), (const int32_t[]){__VA_ARGS__})

/* Uniform in mean +- spread; cols 0: a vector. */
static val weight(builder *b, int64_t rows, int64_t cols, double mean, double spread) {
    const int64_t dims[2] = {rows, cols};
    size_t n = (size_t)(rows * (cols ? cols : 1));
    float *v = malloc(n * sizeof *v);
    if (!v) exit(70);
    for (size_t i = 0; i < n; i++) v[i] = (float)(mean + spread * (2 * assay_uniform(1, b->drawn++) - 1));
    put(b->weights, v, n);
    val c = constant(b, ASSAY_F32, cols ? 2 : 1, dims, v);
    free(v);
    return c;
}
static val op(builder *b, const char *type, uint32_t n, const char *const *keys, const val *values) {
    assay_mil_binding bound[4];
    assay_build_arg args[4];
    assay_mil_op *made;
    for (uint32_t i = 0; i < n; i++) {
        bound[i] = (assay_mil_binding){values[i], NULL};
        args[i] = (assay_build_arg){keys[i], &bound[i], 1};
    }
    if (assay_block_add_op(b->p, b->f, b->f->block, NULL, type, type, NULL, args, n, &made, &b->err) != ASSAY_OK) stop(&b->err);
    return made->outs[0];
}
#define OP1(type, k, a) op(b, type, 1, (const char *const[]){k}, (const val[]){a})
#define OP2(type, k, a, l, c) op(b, type, 2, (const char *const[]){k, l}, (const val[]){a, c})
#define OP3(type, k, a, l, c, m, d) op(b, type, 3, (const char *const[]){k, l, m}, (const val[]){a, c, d})

static val linear(builder *b, val x, int64_t out, int64_t in) {
    val w = weight(b, out, in, 0, 0.1), bias = weight(b, out, 0, 0, 0.05);
    return OP3("linear", "x", x, "weight", w, "bias", bias);
}
static val norm(builder *b, val x, val y) {
    val sum = OP2("add", "x", x, "y", y), gamma = weight(b, D, 0, 1, 0.1), beta = weight(b, D, 0, 0, 0.05);
    return op(b, "layer_norm", 4, (const char *const[]){"x", "axes", "gamma", "beta"},
              (const val[]){sum, INTS(b, -1), gamma, beta});
}
static val head(builder *b, val x) {
    val split = OP2("reshape", "x", linear(b, x, D, D), "shape", INTS(b, 1, S, H, E));
    return OP2("transpose", "x", split, "perm", INTS(b, 0, 2, 1, 3));
}
static val layer(builder *b, val x) {
    const float root = 0.17677669529663687F; /* 1 / sqrt(32) */
    const int32_t last = -1;
    val q = head(b, x), k = head(b, x), v = head(b, x);
    val scores = OP3("matmul", "x", q, "y", k, "transpose_y", flag(b));
    val scaled = OP2("mul", "x", scores, "y", constant(b, ASSAY_F32, 0, NULL, &root));
    val p = OP2("softmax", "x", scaled, "axis", constant(b, ASSAY_I32, 0, NULL, &last));
    val joined = OP2("transpose", "x", OP2("matmul", "x", p, "y", v), "perm", INTS(b, 0, 2, 1, 3));
    val mixed = linear(b, OP2("reshape", "x", joined, "shape", INTS(b, 1, S, D)), D, D);
    val y = norm(b, x, mixed);
    return norm(b, y, linear(b, OP1("gelu", "x", linear(b, y, F, D)), D, F));
}
static assay_program *encoder(FILE *weights) {
    const int64_t dims[3] = {1, S, D};
    builder b = {.p = assay_program_new(9), .weights = weights};
    b.f = assay_program_add_function(b.p, "main", "CoreML8");
    val x = assay_function_add_input(b.p, b.f, "x", assay_type_tensor(b.p, ASSAY_MIL_FP32, 3, dims));
    for (int i = 0; i < LAYERS; i++) x = layer(&b, x);
    if (assay_function_set_outputs(b.p, b.f, &x, 1, &b.err) != ASSAY_OK) stop(&b.err);
    return b.p;
}

/* ---- running */
static const float *input(void) {
    static float x[S * D];
    for (uint64_t i = 0; i < S * D; i++) x[i] = (float)assay_normal12(2, i);
    return x;
}
static assay_tensor run(assay_exec *e, const float *x) {
    const int64_t dims[3] = {1, S, D};
    const assay_named_tensor in = {"x", assay_tensor_view(ASSAY_F32, 3, dims, (void *)(uintptr_t)x)};
    assay_named_tensor out;
    assay_error err;
    if (assay_exec_run(e, &in, 1, &err) != ASSAY_OK || assay_exec_output(e, 0, &out, &err) != ASSAY_OK) stop(&err);
    return out.t;
}
static assay_exec *open_exec(const assay_program *p, int32_t precision, uint32_t threads) {
    const assay_exec_options o = {.precision = precision, .threads = threads};
    assay_exec *e;
    assay_error err;
    if (assay_exec_open(p, &o, &e, &err) != ASSAY_OK) stop(&err);
    return e;
}

static void dump(const char *dir) {
    static float ref[S * D];
    FILE *weights = create(dir, "minilm"), *x = create(dir, "minilm_x"), *want = create(dir, "minilm_ref");
    assay_program *p = encoder(weights);
    assay_exec *e = open_exec(p, ASSAY_PREC_FP64, 0);
    assay_tensor out = run(e, input());
    assay_tensor_read(&out, ASSAY_F32, ref);
    put(x, input(), S * D);
    put(want, ref, S * D);
    if (fclose(weights) | fclose(x) | fclose(want)) exit(3);
    assay_exec_close(e);
    assay_program_free(p);
}

static void serve(uint32_t threads) {
    char line[64];
    const float *x = input();
    assay_program *p = encoder(NULL);
    assay_exec *e = open_exec(p, ASSAY_PREC_DECLARED, threads);
    run(e, x);
    puts("ready minilm");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        int64_t start = assay_now_ns();
        run(e, x);
        printf("%.5f\n", (double)(assay_now_ns() - start) * 1e-6);
        fflush(stdout);
    }
    assay_exec_close(e);
    assay_program_free(p);
}

int main(int argc, char **argv) {
    assay_ops_register();
    if (argc == 3 && !strcmp(argv[2], "dump")) return dump(argv[1]), 0;
    if (argc == 3 && atoi(argv[2]) > 0) return serve((uint32_t)atoi(argv[2])), 0;
    fprintf(stderr, "usage: bench_minilm DIR dump | DIR THREADS\n");
    return 2;
}
