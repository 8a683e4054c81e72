/* bench_rules PACKAGE ROUNDS | bench_rules generated ROUNDS: the rule pack over a program that is in memory, both profiles; or over
 * generated transformers of up to 50,000 ops, with the exponent of growth. */
#include "base/fmath.h"
#include "base/process.h"
#include "ops/builtin.h"
#include "plugin/evidence.h"
#include "script/script.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COMPUTING = 21, SIZES = 4 };              /* computing ops of a layer; sizes that are timed */

static int fail(const assay_error *err) {
    fprintf(stderr, "bench_rules: %s\n", err->message);
    return 3;
}

/* ---- a generated program, as text: attention spelled out and a gated unit in each layer, weights in a file that is not there */
static const char head[] =
    "program(1.0)\n{\nfunc main<ios18>(tensor<fp16, [1, 64, 64]> x0, tensor<fp16, [1, 1, 64, 64]> mask) {\n"
    "tensor<int32, [4]> split = const()[name = string(\"split\"), val = tensor<int32, [4]>([1, 64, 4, 16])];\n"
    "tensor<int32, [3]> join = const()[name = string(\"join\"), val = tensor<int32, [3]>([1, 64, 64])];\n"
    "tensor<int32, [4]> perm = const()[name = string(\"perm\"), val = tensor<int32, [4]>([0, 2, 1, 3])];\n"
    "tensor<int32, [1]> axes = const()[name = string(\"axes\"), val = tensor<int32, [1]>([-1])];\n"
    "int32 last = const()[name = string(\"last\"), val = int32(-1)];\n"
    "bool no = const()[name = string(\"no\"), val = bool(false)];\nbool yes = const()[name = string(\"yes\"), val = bool(true)];\n"
    "fp16 eps = const()[name = string(\"eps\"), val = fp16(0x1.5p-10)];\nfp16 scale = const()[name = string(\"scale\"), val = fp16(0x1p-2)];\n";

static void constant(assay_buf *b, const char *name, int i, int salt) {
    assay_buf_printf(b, "tensor<fp16, [64, 64]> %s%d = const()[name = string(\"%s%d\"), val = tensor<fp16, [64, 64]>(BLOBFILE(path = "
                     "string(\"@model_path/weights/weight.bin\"), offset = uint64(%d)))];\n", name, i, name, i, 64 * (10 * i + salt));
}

static void op(assay_buf *b, const char *shape, const char *name, int i, const char *call) {
    assay_buf_printf(b, "tensor<fp16, [%s]> %s%d = %s[name = string(\"%s%d\")];\n", shape, name, i, call, name, i);
}

static void layer(assay_buf *b, int i) {
    static const char flat[] = "1, 64, 64", cut[] = "1, 64, 4, 16", heads[] = "1, 4, 64, 16", scores[] = "1, 4, 64, 64";
    static const char *const weights[] = { "wq", "wk", "wv", "wo", "wg", "wu", "wd" };
    char call[200];
#define OP(shape, name, ...) (snprintf(call, sizeof call, __VA_ARGS__), op(b, shape, name, i, call))
    for (int k = 0; k < 7; k++) constant(b, weights[k], i, k);
    OP(flat, "n", "layer_norm(axes = axes, epsilon = eps, x = x%d)", i);
    for (const char *p = "qkv"; *p; p++) {
        char name[4][8] = { { *p, 'l' }, { *p, 'c' }, { *p, 'h' }, { 0 } };
        OP(flat, name[0], "linear(weight = w%c%d, x = n%d)", *p, i, i);
        OP(cut, name[1], "reshape(shape = split, x = %cl%d)", *p, i);
        OP(heads, name[2], "transpose(perm = perm, x = %cc%d)", *p, i);
    }
    OP(heads, "qs", "mul(x = qh%d, y = scale)", i);
    OP(scores, "s", "matmul(transpose_x = no, transpose_y = yes, x = qs%d, y = kh%d)", i, i);
    OP(scores, "m", "add(x = s%d, y = mask)", i);
    OP(scores, "p", "softmax(axis = last, x = m%d)", i);
    OP(heads, "a", "matmul(transpose_x = no, transpose_y = no, x = p%d, y = vh%d)", i, i);
    OP(cut, "t", "transpose(perm = perm, x = a%d)", i);
    OP(flat, "j", "reshape(shape = join, x = t%d)", i);
    OP(flat, "o", "linear(weight = wo%d, x = j%d)", i, i);
    OP(flat, "r", "add(x = x%d, y = o%d)", i, i);
    OP(flat, "u", "linear(weight = wu%d, x = r%d)", i, i);
    snprintf(call, sizeof call, "add(x = r%d, y = u%d)", i, i);
    op(b, flat, "x", i + 1, call);
#undef OP
}

static assay_status generate(int ops, assay_program **out, assay_error *err) {
    assay_buf b = { 0 };
    int layers = ops / COMPUTING;
    assay_buf_printf(&b, "%s", head);
    for (int i = 0; i < layers; i++) layer(&b, i);
    assay_buf_printf(&b, "} -> (x%d);\n}\n", layers);
    assay_status st = assay_program_parse_mil(b.data, b.len, "generated", NULL, out, err);
    assay_buf_free(&b);
    return st;
}

/* ---- timing */
static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static size_t count(const assay_program *p) {
    size_t n = 0;
    for (uint32_t i = 0; i < p->n_functions; i++)
        for (uint32_t k = 0; k < p->functions[i]->n_all_ops; k++) n += strcmp(p->functions[i]->all_ops[k]->type, "const") != 0;
    return n;
}

/* Median milliseconds of judging `p`, which is taken over, under a profile; negative: failed. */
static double judge_ms(const assay_registry *r, assay_evidence_set *ev, const char *profile, int rounds, assay_error *err) {
    double ms[64];
    assay_json *params = assay_json_object(), *verdict;
    assay_json_set_string(params, "profile", profile);
    assay_status st = ASSAY_OK;
    for (int i = 0; i < rounds && st == ASSAY_OK; i++) {
        int64_t start = assay_now_ns();
        st = assay_judge(r, "authoring", params, ev, &verdict, err);
        ms[i] = (double)(assay_now_ns() - start) / 1e6;
        if (st == ASSAY_OK) assay_json_free(verdict);
    }
    assay_json_free(params);
    qsort(ms, (size_t)rounds, sizeof *ms, by_size);
    return st == ASSAY_OK ? ms[rounds / 2] : -1;
}

/* Prints one line; ms[0], ms[1]: the profiles. */
static assay_status time_program(const assay_registry *r, assay_program *p, const char *what, int rounds, double ms[2], assay_error *err) {
    size_t ops = count(p);
    assay_evidence_set *ev = assay_evidence_new();
    assay_evidence_add_program(ev, "program", NULL, NULL, ASSAY_ORIGIN_IMPORTED, NULL, p);
    ms[0] = judge_ms(r, ev, "neural-engine", rounds, err);
    ms[1] = ms[0] < 0 ? -1 : judge_ms(r, ev, "gpu", rounds, err);
    assay_evidence_free(ev);
    if (ms[1] < 0) return err->code;
    printf("rules, %s (%zu computing ops): neural-engine median %.1f ms, gpu %.1f ms\n", what, ops, ms[0], ms[1]);
    return ASSAY_OK;
}

static int generated(const assay_registry *r, int rounds) {
    double first[2] = { 0 }, ms[2] = { 0 };
    assay_error err = { 0 };
    for (int i = 0, ops = 50000 >> (SIZES - 1); i < SIZES; i++, ops *= 2) {
        assay_program *p;
        char what[64];
        snprintf(what, sizeof what, "generated, %d", ops);
        if (generate(ops, &p, &err) || time_program(r, p, what, rounds, ms, &err)) return fail(&err);
        if (i == 0) memcpy(first, ms, sizeof first);
    }
    double span = (SIZES - 1) * assay_log(2);
    printf("growth with ops: exponent %.2f (neural-engine), %.2f (gpu)\n", assay_log(ms[0] / first[0]) / span, assay_log(ms[1] / first[1]) / span);
    return 0;
}

int main(int argc, char **argv) {
    assay_error err = { 0 };
    assay_program *p;
    double ms[2];
    int rounds = argc == 3 ? atoi(argv[2]) : 0;
    if (rounds < 1 || rounds > 64) {
        fprintf(stderr, "usage: bench_rules PACKAGE|generated ROUNDS\n");
        return 2;
    }
    assay_ops_register();
    assay_registry *r = assay_registry_new();
    if (assay_script_load_gate(r, "authoring", NULL, &err)) return fail(&err);
    int code;
    if (!strcmp(argv[1], "generated")) code = generated(r, rounds);
    else if (assay_program_read(argv[1], &p, &err) || time_program(r, p, argv[1], rounds, ms, &err)) code = fail(&err);
    else code = 0;
    assay_registry_free(r);
    return code;
}
