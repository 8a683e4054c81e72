/* tests/bench/peer_dnnl.c: oneDNN 2.x as a contender: the explicit graph from matmul and softmax primitives. run.sh builds it
 * where libdnnl-dev is installed.
 *   peer_dnnl DATA     prints "ready NAME ...", then for each line NAME runs that part once and prints milliseconds; "check
 *                      NAME" prints the largest difference from the float64 reference. Threads: OMP_NUM_THREADS. */
#include <dnnl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if DNNL_VERSION_MAJOR != 2
#error "written for oneDNN 2.x"
#endif

enum { B = 2, S = 750, D = 1280, H = 20, E = 64, N = B * S * D };

static dnnl_engine_t engine;
static dnnl_stream_t stream;
static const char *folder;

static void ok(dnnl_status_t status, const char *what) {
    if (status == dnnl_success) return;
    fprintf(stderr, "peer_dnnl: %s failed (%d)\n", what, (int)status);
    exit(3);
}

static float *read_raw(const char *name, size_t n) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s.f32", folder, name);
    float *p = malloc(n * sizeof *p);
    FILE *f = fopen(path, "rb");
    if (!p || !f || fread(p, sizeof *p, n, f) != n) {
        fprintf(stderr, "peer_dnnl: cannot read %s\n", path);
        exit(3);
    }
    fclose(f);
    return p;
}

static dnnl_memory_desc_t layout(int rank, const dnnl_dim_t *dims, const dnnl_dim_t *strides) {
    dnnl_memory_desc_t d;
    ok(dnnl_memory_desc_init_by_strides(&d, rank, dims, dnnl_f32, strides), "layout");
    return d;
}

static dnnl_memory_t memory(const dnnl_memory_desc_t *d, float *p) {
    dnnl_memory_t m;
    ok(dnnl_memory_create(&m, d, engine, p), "memory");
    return m;
}

static dnnl_primitive_t primitive(const void *desc, dnnl_primitive_attr_t attr) {
    dnnl_primitive_desc_t pd;
    dnnl_primitive_t p;
    ok(dnnl_primitive_desc_create(&pd, desc, attr, engine, NULL), "primitive description");
    ok(dnnl_primitive_create(&p, pd), "primitive");
    return p;
}

static dnnl_primitive_t matmul(const dnnl_memory_desc_t *a, const dnnl_memory_desc_t *b, const dnnl_memory_desc_t *bias,
                               const dnnl_memory_desc_t *c, float scale) {
    dnnl_matmul_desc_t d;
    dnnl_primitive_attr_t attr;
    ok(dnnl_matmul_desc_init(&d, a, b, bias, c), "matmul");
    ok(dnnl_primitive_attr_create(&attr), "attributes");
    if (scale != 1) ok(dnnl_primitive_attr_set_output_scales(attr, 1, 0, &scale), "scale");
    return primitive(&d, attr);
}

static void run(dnnl_primitive_t p, dnnl_memory_t src, dnnl_memory_t weights, dnnl_memory_t bias, dnnl_memory_t dst) {
    dnnl_exec_arg_t args[4] = { { DNNL_ARG_SRC, src }, { DNNL_ARG_DST, dst }, { DNNL_ARG_WEIGHTS, weights }, { DNNL_ARG_BIAS, bias } };
    ok(dnnl_primitive_execute(p, stream, bias ? 4 : weights ? 3 : 2, args), "execution");
    ok(dnnl_stream_wait(stream), "execution");
}

/* Attention over one memory layout of q, k, v and the output: [B,H,S,E] as given, or [B,S,H,E] as the linears leave it. */
typedef struct attention { dnnl_primitive_t scores, softmax, product; dnnl_memory_t q, k, v, s, out; float *result; } attention;

static attention make_attention(float *q, float *k, float *v, int by_head) {
    static float *scores;
    if (!scores) scores = malloc((size_t)B * H * S * S * sizeof *scores);
    attention a = { .result = malloc((size_t)N * sizeof(float)) };
    dnnl_dim_t batch = S * D, head = by_head ? S * E : E, row = by_head ? E : D;
    dnnl_memory_desc_t rows = layout(4, (dnnl_dim_t[]){ B, H, S, E }, (dnnl_dim_t[]){ batch, head, row, 1 });
    dnnl_memory_desc_t columns = layout(4, (dnnl_dim_t[]){ B, H, E, S }, (dnnl_dim_t[]){ batch, head, 1, row });
    dnnl_memory_desc_t table = layout(4, (dnnl_dim_t[]){ B, H, S, S }, (dnnl_dim_t[]){ (dnnl_dim_t)H * S * S, S * S, S, 1 });
    dnnl_memory_desc_t out = layout(4, (dnnl_dim_t[]){ B, H, S, E }, (dnnl_dim_t[]){ S * D, S * E, E, 1 });
    dnnl_softmax_desc_t sm;
    ok(dnnl_softmax_forward_desc_init(&sm, dnnl_forward_inference, &table, 3), "softmax");
    a.scores = matmul(&rows, &columns, NULL, &table, 0.125f), a.softmax = primitive(&sm, NULL), a.product = matmul(&table, &rows, NULL, &out, 1);
    a.q = memory(&rows, q), a.k = memory(&columns, k), a.v = memory(&rows, v), a.s = memory(&table, scores), a.out = memory(&out, a.result);
    return a;
}

static void attend(const attention *a) {
    run(a->scores, a->q, a->k, NULL, a->s);
    run(a->softmax, a->s, NULL, NULL, a->s);
    run(a->product, a->s, a->v, NULL, a->out);
}

static dnnl_primitive_t linear;
static dnnl_memory_t x_memory, w_memory[3], b_memory[3], y_memory[3];
static float *y[3];

static void make_linears(void) {
    static const char *const w[] = { "wq", "wk", "wv" }, *const b[] = { "bq", "bk", "bv" };
    dnnl_memory_desc_t in = layout(2, (dnnl_dim_t[]){ B * S, D }, (dnnl_dim_t[]){ D, 1 }), weights = layout(2, (dnnl_dim_t[]){ D, D }, (dnnl_dim_t[]){ 1, D });
    dnnl_memory_desc_t bias = layout(2, (dnnl_dim_t[]){ 1, D }, (dnnl_dim_t[]){ D, 1 });
    linear = matmul(&in, &weights, &bias, &in, 1);
    x_memory = memory(&in, read_raw("x", N));
    for (int i = 0; i < 3; i++) {
        y[i] = malloc((size_t)N * sizeof(float));
        w_memory[i] = memory(&weights, read_raw(w[i], (size_t)D * D)), b_memory[i] = memory(&bias, read_raw(b[i], D)), y_memory[i] = memory(&in, y[i]);
    }
}

static void linears(void) {
    for (int i = 0; i < 3; i++) run(linear, x_memory, w_memory[i], b_memory[i], y_memory[i]);
}

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

int main(int argc, char **argv) {
    if (argc < 2) return fprintf(stderr, "usage: peer_dnnl DATA\n"), 2;
    folder = argv[1];
    ok(dnnl_engine_create(&engine, dnnl_cpu, 0), "engine");
    ok(dnnl_stream_create(&stream, engine, dnnl_stream_default_flags), "stream");
    make_linears();
    attention given = make_attention(read_raw("q", N), read_raw("k", N), read_raw("v", N), 1), made = make_attention(y[0], y[1], y[2], 0);
    float *ref = read_raw("ref", N);
    char line[64];
    puts("ready linears attention_explicit whole_explicit");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        int check = strncmp(line, "check ", 6) == 0, alone = strstr(line, "attention") != NULL;
        double start = now_ms();
        if (!alone) linears();
        if (!strstr(line, "linears")) attend(alone ? &given : &made);
        double value = now_ms() - start;
        if (check) {
            value = 0;
            for (int i = 0; i < N; i++) value = fmax(value, fabs((double)((alone ? given : made).result[i] - ref[i])));
        }
        printf("%.6g\n", value);
        fflush(stdout);
    }
    return 0;
}
