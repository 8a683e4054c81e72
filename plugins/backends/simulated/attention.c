/* Attention with its intermediate results stored: the orders and softmaxes of fused kernels, and what can go wrong in one. */
#include "backends/simulated/sim.h"
#include "base/mem.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- softmax of one row of fp16 values */

static float total(const float *e, int64_t n, bool narrow) {
    float sum = 0;
    for (int64_t i = 0; i < n; i++) sum = narrow ? assay_sim_round16(sum + e[i]) : sum + e[i];
    return sum;
}

static void softmax_row(const assay_kernels *k, int softmax, const float *src, float *dst, int64_t n) {
    float max = softmax == ASSAY_SIM_NOSHIFT ? 0 : -INFINITY;
    for (int64_t i = 0; i < n && softmax != ASSAY_SIM_NOSHIFT; i++) max = src[i] > max || src[i] != src[i] ? src[i] : max;
    for (int64_t i = 0; i < n; i++) dst[i] = assay_sim_round16(src[i] - max);
    k->exp_f32(dst, dst, n);
    for (int64_t i = 0; i < n; i++) dst[i] = assay_sim_round16(dst[i]);
    float sum = assay_sim_round16(total(dst, n, softmax == ASSAY_SIM_F16NARROW)), inverse = assay_sim_round16(1 / sum);
    for (int64_t i = 0; i < n; i++) dst[i] = assay_sim_round16(softmax == ASSAY_SIM_F16RCP ? dst[i] * inverse : dst[i] / sum);
}

void assay_sim_softmax(const assay_kernels *k, int softmax, const float *src, float *dst, int64_t rows, int64_t n, uint32_t threads) {
    if (softmax == ASSAY_SIM_F32) k->softmax_f32(src, dst, rows, n, threads);
    else if (softmax == ASSAY_SIM_F16WIDE) k->softmax_f16wide(src, dst, rows, n, threads);
    else
        for (int64_t r = 0; r < rows; r++) softmax_row(k, softmax, src + r * n, dst + r * n, n);
}

/* ---- one [L, S] problem */

typedef struct problem {
    const assay_kernels *k; const assay_sim_attention *how; const assay_sdpa_args *a;
    float *q, *key, *scores;                     /* scaled copies, and scores that become probabilities */
} problem;

static bool stores(const problem *p) { return p->how->n.order != ASSAY_SIM_FLASH; }

/* What a unit leaves where it stores: one rounding, its ceiling, its answer to indeterminate forms. */
static void store(const problem *p, float *x, int64_t n, bool product) {
    const assay_sim_numerics *u = &p->how->n;
    for (int64_t i = 0; stores(p) && i < n; i++) {
        x[i] = assay_sim_round16(x[i]);
        if (product && u->ceiling > 0 && fabsf(x[i]) >= (float)u->ceiling) x[i] = copysignf((float)INFINITY, x[i]);
    }
    for (int64_t i = 0; u->nan_to_zero && i < n; i++)
        if (x[i] != x[i]) x[i] = 0;
}

static void scale_into(const problem *p, float *dst, const float *src, int64_t n, double c) {
    for (int64_t i = 0; i < n; i++) dst[i] = src[i] * (float)c;
    store(p, dst, n, false);
}

static double scale_of(const problem *p) {
    double c = p->how->no_scale ? 1 : p->a->scale;
    if (p->how->scale_twice) c *= p->a->scale;
    return stores(p) ? (double)assay_sim_round16((float)c) : (double)(float)c;
}

static void make_scores(problem *p, const float *q, const float *key) {
    const assay_sdpa_args *a = p->a;
    int order = p->how->n.order;
    double c = scale_of(p), after = order == ASSAY_SIM_FLASH || order == ASSAY_SIM_FOLD || order == ASSAY_SIM_POST ? c : 1;
    double root = (double)assay_sim_round16((float)sqrt(c));
    double on_q = order == ASSAY_SIM_PREQ ? c : order == ASSAY_SIM_SPLIT ? root : 1, on_k = order == ASSAY_SIM_PREK ? c : order == ASSAY_SIM_SPLIT ? root : 1;
    scale_into(p, p->q, q, a->L * a->E, on_q);
    scale_into(p, p->key, key, a->S * a->E, on_k);
    p->k->gemm_f32(p->q, a->E, p->key, a->E, true, NULL, p->scores, a->S, a->L, a->S, a->E, a->threads);
    if (order == ASSAY_SIM_POST) store(p, p->scores, a->L * a->S, true);
    for (int64_t i = 0; after != 1 && i < a->L * a->S; i++) p->scores[i] *= (float)after;
    store(p, p->scores, a->L * a->S, true);
}

static void add_mask(problem *p, const float *mask) {
    const assay_sdpa_args *a = p->a;
    bool t = p->how->mask_transposed && a->L == a->S;
    int64_t row = t ? a->mask_s : a->mask_l, column = t ? a->mask_l : a->mask_s;
    for (int64_t l = 0; l < a->L; l++)
        for (int64_t s = 0; s < a->S; s++) p->scores[l * a->S + s] += mask[l * row + s * column];
    store(p, p->scores, a->L * a->S, false);
}

static void make_probabilities(problem *p) {
    const assay_sdpa_args *a = p->a;
    int softmax = p->how->n.softmax;
    if (!stores(p) && softmax != ASSAY_SIM_NOSHIFT) softmax = ASSAY_SIM_F32;
    for (int64_t i = 0; p->how->uniform && i < a->L * a->S; i++) p->scores[i] = 0;
    assay_sim_softmax(p->k, softmax, p->scores, p->scores, a->L, a->S, a->threads);
    store(p, p->scores, a->L * a->S, false);
}

void assay_sim_attend(const assay_kernels *k, const assay_sim_attention *how, const assay_sdpa_args *a) {
    problem p = {.k = k, .how = how, .a = a};
    p.q = assay_xcalloc((size_t)(a->L * a->E) + 1, sizeof *p.q);
    p.key = assay_xcalloc((size_t)(a->S * a->E) + 1, sizeof *p.key);
    p.scores = assay_xcalloc((size_t)(a->L * a->S) + 1, sizeof *p.scores);
    for (int64_t b = 0; b < a->batch; b++) {
        make_scores(&p, (const float *)a->q + b * a->L * a->E, (const float *)a->k + b * a->S * a->E);
        if (a->mask && !how->ignore_mask) add_mask(&p, (const float *)a->mask + b * a->mask_b);
        make_probabilities(&p);
        k->gemm_f32(p.scores, a->S, (const float *)a->v + b * a->S * a->Ev, a->Ev, false, NULL, (float *)a->out + b * a->L * a->Ev, a->Ev, a->L, a->Ev, a->S,
                    a->threads);
    }
    free(p.q);
    free(p.key);
    free(p.scores);
}
