/* tests/identity/digests.c: one line "NAME DIGEST" for each kind of arithmetic that verdicts rest on, at one level and thread
 * count: kernels, elementary functions, generator, and the attention arms at the mini shape. run.sh compares these lines
 * between instruction sets and processors; this program only prints.
 *   digests              the levels that this machine has
 *   digests LEVEL THREADS */
#include "digests.h"
#include "base/fmath.h"
#include "ops/kernels/kernels.h"
#include "tensor/generate.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { B = 2, S = 30, D = 256, H = 4, E = 64, M = B * S, BH = B * H };

static const assay_kernels *K;
static uint32_t threads;

static void *take(size_t bytes) {
    void *p = calloc(1, bytes + 64);
    if (!p) exit(70);
    return p;
}

uint64_t digest_add(uint64_t h, const void *data, size_t bytes) {
    for (const unsigned char *p = data; bytes > 0; p++, bytes--) h = (h ^ *p) * 0x100000001b3u;
    return h;
}

void show(const char *name, const void *data, size_t bytes) { printf("%s %016llx\n", name, (unsigned long long)digest_add(DIGEST_START, data, bytes)); }

/* Reproducible numbers of both widths; one in `odd` is an end of the range or no number at all (0: none). */
static void fill(float *f, double *d, size_t n, const char *label, unsigned odd) {
    static const double ends[] = { INFINITY, -INFINITY, NAN, 0.0, -0.0, 0x1p-149, 0x1p-1070, -3e38 };
    uint64_t seed = assay_stream(label);
    for (size_t i = 0; i < n; i++) {
        d[i] = assay_normal12(seed, i);
        if (odd && assay_u64(seed + 1, i) % odd == 0) d[i] = ends[assay_u64(seed + 2, i) % 8];
        f[i] = (float)d[i];
    }
}

static void show_gemm(const char *name, int64_t m, int64_t n, int64_t k, bool trans, unsigned odd) {
    char label[64];
    float *a = take((size_t)(m * k) * 4), *b = take((size_t)(n * k) * 4), *v = take((size_t)n * 4), *c = take((size_t)(m * n) * 4);
    double *ad = take((size_t)(m * k) * 8), *bd = take((size_t)(n * k) * 8), *vd = take((size_t)n * 8), *cd = take((size_t)(m * n) * 8);
    fill(a, ad, (size_t)(m * k), "identity/a", odd), fill(b, bd, (size_t)(n * k), "identity/b", odd), fill(v, vd, (size_t)n, "identity/v", 0);
    K->gemm_f32(a, k, b, trans ? k : n, trans, v, c, n, m, n, k, threads);
    K->gemm_f64(ad, k, bd, trans ? k : n, trans, vd, cd, n, m, n, k, threads);
    snprintf(label, sizeof label, "%s_f32", name), show(label, c, (size_t)(m * n) * 4);
    snprintf(label, sizeof label, "%s_f64", name), show(label, cd, (size_t)(m * n) * 8);
    free(a), free(b), free(v), free(c), free(ad), free(bd), free(vd), free(cd);
}

static void show_rows(void) {
    enum { ROWS = 40, N = 187, ALL = ROWS * N };
    float *x = take(ALL * 4), *y = take(ALL * 4);
    double *d = take(ALL * 8), *e = take(ALL * 8);
    uint16_t *h = take(65536 * 2);
    fill(x, d, ALL, "identity/rows", 300);
    for (int i = 0; i < ALL; i++) x[i] *= 30, d[i] *= 200;
    K->exp_f32(x, y, ALL), show("exp_f32", y, ALL * 4);
    K->exp_f64(d, e, ALL), show("exp_f64", e, ALL * 8);
    K->softmax_f32(x, y, ROWS, N, threads), show("softmax_f32", y, ALL * 4);
    K->softmax_f64(d, e, ROWS, N, threads), show("softmax_f64", e, ALL * 8);
    K->f32_to_f16(x, h, ALL), show("narrow", h, ALL * 2);
    K->f16_to_f32(h, x, ALL);
    K->softmax_f16wide(x, y, ROWS, N, threads), show("softmax_f16wide", y, ALL * 4);
    fill(x, d, ALL, "identity/sum", 0);
    float s = K->sum_f32(x, ALL);
    double t = K->sum_f64(d, ALL);
    show("sum_f32", &s, sizeof s), show("sum_f64", &t, sizeof t);
    float *wide = take(65536 * 4);
    for (int i = 0; i < 65536; i++) h[i] = (uint16_t)i;
    K->f16_to_f32(h, wide, 65536), show("widen", wide, 65536 * 4);
    free(x), free(y), free(d), free(e), free(h), free(wide);
}

static void show_attention(const char *name, int64_t L, int64_t keys, int64_t ev, bool masked) {
    enum { BATCH = 3, WIDTH = 40 };
    char label[64];
    size_t nq = (size_t)(BATCH * L * WIDTH), nk = (size_t)(BATCH * keys * WIDTH), nv = (size_t)(BATCH * keys * ev), no = (size_t)(BATCH * L * ev);
    size_t nm = (size_t)(L * keys);
    float *q = take(nq * 4), *k = take(nk * 4), *v = take(nv * 4), *o = take(no * 4), *mask = take(nm * 4);
    double *qd = take(nq * 8), *kd = take(nk * 8), *vd = take(nv * 8), *od = take(no * 8), *maskd = take(nm * 8);
    fill(q, qd, nq, "identity/q", 0), fill(k, kd, nk, "identity/k", 0), fill(v, vd, nv, "identity/val", 0), fill(mask, maskd, nm, "identity/mask", 0);
    for (size_t i = 0; i < nm; i++)
        if (mask[i] > 1) mask[i] = -INFINITY, maskd[i] = -INFINITY;
    assay_sdpa_args a = { .q = q, .k = k, .v = v, .out = o, .batch = BATCH, .L = L, .S = keys, .E = WIDTH, .Ev = ev, .mask = masked ? mask : NULL,
                          .mask_l = keys, .mask_s = 1, .scale = 1 / sqrt(WIDTH), .threads = threads };
    K->sdpa_f32(&a);
    a.q = qd, a.k = kd, a.v = vd, a.out = od, a.mask = masked ? maskd : NULL;
    K->sdpa_f64(&a);
    snprintf(label, sizeof label, "%s_f32", name), show(label, o, no * 4);
    snprintf(label, sizeof label, "%s_f64", name), show(label, od, no * 8);
    free(q), free(k), free(v), free(o), free(mask), free(qd), free(kd), free(vd), free(od), free(maskd);
}

static void round_to_half(float *x, size_t n) {
    uint16_t *h = take(n * 2);
    K->f32_to_f16(x, h, (int64_t)n), K->f16_to_f32(h, x, (int64_t)n);
    free(h);
}

/* One projection of the mini arms, fp16 in and out, split into heads: out [B,H,S,E]. */
static void project(const float *x, const char *weight, double gain, const char *bias, float *out) {
    float *w = take(D * D * 4), v[D] = { 0 }, *flat = take(M * D * 4);
    uint64_t seed = assay_stream(weight), bias_seed = assay_stream(bias ? bias : "");
    for (uint64_t i = 0; i < D * D; i++) w[i] = (float)(assay_normal12(seed, i) * (gain / sqrt(D)));
    for (uint64_t i = 0; bias && i < D; i++) v[i] = (float)(assay_normal12(bias_seed, i) * 0.125);
    round_to_half(w, D * D), round_to_half(v, D);
    K->gemm_f32(x, D, w, D, true, bias ? v : NULL, flat, D, M, D, D, threads);
    round_to_half(flat, M * D);
    for (int b = 0; b < B; b++)
        for (int h = 0; h < H; h++)
            for (int s = 0; s < S; s++) memcpy(out + ((b * H + h) * S + s) * E, flat + (b * S + s) * D + h * E, E * 4);
    free(w), free(flat);
}

/* The main experiment's arms at the mini shape: explicit (preq, f16wide), fused (flash), and the float64 reference of both. */
static void show_mini(void) {
    enum { N = M * D };
    float *x = take(N * 4), *qkv[3], *o = take(N * 4), p[S * S];
    double *wide[3], *od = take(N * 8);
    uint64_t seed = assay_stream("fx/mini/normal");
    for (uint64_t i = 0; i < N; i++) x[i] = (float)assay_normal12(seed, i);
    round_to_half(x, N);
    for (int i = 0; i < 3; i++) qkv[i] = take(N * 4), wide[i] = take(N * 8);
    project(x, "fx/mini/w/q", 2.5, "fx/mini/b/q", qkv[0]);
    project(x, "fx/mini/w/k", 2.5, NULL, qkv[1]);
    project(x, "fx/mini/w/v", 1.0, "fx/mini/b/v", qkv[2]);
    show("mini_q", qkv[0], N * 4), show("mini_k", qkv[1], N * 4), show("mini_v", qkv[2], N * 4);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < N; j++) wide[i][j] = (double)qkv[i][j];
    assay_sdpa_args a = { .q = qkv[0], .k = qkv[1], .v = qkv[2], .out = o, .batch = BH, .L = S, .S = S, .E = E, .Ev = E, .scale = 0.125, .threads = threads };
    K->sdpa_f32(&a);
    round_to_half(o, N), show("mini_fused", o, N * 4);
    a.q = wide[0], a.k = wide[1], a.v = wide[2], a.out = od;
    K->sdpa_f64(&a), show("mini_reference", od, N * 8);
    for (int i = 0; i < N; i++) qkv[0][i] *= 0.125f;
    round_to_half(qkv[0], N);
    for (int b = 0; b < BH; b++) {
        K->gemm_f32(qkv[0] + b * S * E, E, qkv[1] + b * S * E, E, true, NULL, p, S, S, S, E, threads);
        round_to_half(p, S * S);
        K->softmax_f16wide(p, p, S, S, threads);
        K->gemm_f32(p, S, qkv[2] + b * S * E, E, false, NULL, o + b * S * E, E, S, E, S, threads);
    }
    round_to_half(o, N), show("mini_explicit", o, N * 4);
    for (int i = 0; i < 3; i++) free(qkv[i]), free(wide[i]);
    free(x), free(o), free(od);
}

static void show_function(const char *name, double (*fn)(double), double from, double to) {
    enum { N = 4000 };
    double *y = take(N * 8);
    uint64_t seed = assay_stream(name);
    for (uint64_t i = 0; i < N; i++) y[i] = fn(from + (to - from) * assay_uniform(seed, i));
    show(name, y, N * 8);
    free(y);
}

static void show_functions(void) {
    show_function("exp", assay_exp, -745, 710), show_function("expm1", assay_expm1, -3, 3), show_function("log", assay_log, 0, 1e6);
    show_function("log1p", assay_log1p, -0.9, 9), show_function("log2", assay_log2, 0, 5), show_function("log10", assay_log10, 0, 1e300);
    show_function("sin", assay_sin, -1e6, 1e6), show_function("cos", assay_cos, -9, 9), show_function("tan", assay_tan, -1.5, 1.5);
    show_function("asin", assay_asin, -1, 1), show_function("acos", assay_acos, -1, 1), show_function("atan", assay_atan, -20, 20);
    show_function("sinh", assay_sinh, -5, 5), show_function("cosh", assay_cosh, -5, 5), show_function("tanh", assay_tanh, -5, 5);
    show_function("erf", assay_erf, -4, 4), show_function("erfc", assay_erfc, -4, 20), show_function("lgamma", assay_lgamma, 0.1, 100);
    show_function("normal_cdf", assay_normal_cdf, -8, 8), show_function("normal_quantile", assay_normal_quantile, 1e-9, 1);
    double y[2000];
    for (uint64_t i = 0; i < 2000; i++) y[i] = assay_pow(assay_uniform(1, i) * 9, assay_uniform(2, i) * 40 - 20);
    show("pow", y, sizeof y);
    for (uint64_t i = 0; i < 2000; i++) y[i] = assay_atan2(assay_uniform(3, i) - 0.5, assay_uniform(4, i) - 0.5);
    show("atan2", y, sizeof y);
}

int main(int argc, char **argv) {
    size_t n;
    const assay_kernels *const *all = assay_kernels_all(&n);
    if (argc == 1) {
        for (size_t i = 0; i < n; i++) puts(all[i]->name);
        return 0;
    }
    K = assay_kernels_find(argv[1]);
    threads = argc > 2 ? (uint32_t)atoi(argv[2]) : 1;
    if (!K) return fprintf(stderr, "digests: this machine has no level '%s'\n", argv[1]), 2;
    show_gemm("gemm", 37, 75, 130, true, 0), show_gemm("gemm_rows", 130, 9, 41, false, 0), show_gemm("gemm_odd", 20, 40, 15, true, 90);
    show_gemm("gemm_long", 3, 33, 1700, false, 0);
    show_rows();
    show_attention("attention", 33, 65, 40, false), show_attention("attention_masked", 18, 47, 21, true);
    show_mini();
    show_functions();
    show_latency();
    return 0;
}
