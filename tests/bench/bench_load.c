/* bench_load make DIR | time PACKAGE ROUNDS: loading a program: read, every weight reference resolved, every type checked. `make`
 * writes one of about 7,400 ops (2,900 of them computing) with 200 MB of weights. coremltools 9.1 needs 1.6 s for such a one. */
#include "base/fs.h"
#include "base/process.h"
#include "ops/builtin.h"
#include "program/facts.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

enum { LAYERS = 1450, WIDTH = 264 };

static int fail(const assay_error *err) {
    fprintf(stderr, "bench_load: %s\n", err->message);
    return 3;
}

/* ---- make */
static assay_mil_value *constant(assay_program *p, assay_mil_function *f, const char *name, uint32_t rank, uint16_t *data,
                                 uint16_t salt) {
    const int64_t dims[2] = {WIDTH, WIDTH};
    assay_tensor t = assay_tensor_view(ASSAY_F16, rank, dims, data);
    data[0] = salt; /* no two alike, so that each is stored */
    return assay_block_add_const(p, f, f->block, NULL, name, assay_const_tensor(p, &t));
}

static assay_status layer(assay_program *p, assay_mil_function *f, assay_mil_value **x, uint16_t *data, uint16_t i,
                          assay_error *err) {
    assay_mil_binding in[3] = {
        {*x, NULL}, {constant(p, f, "weight", 2, data, i), NULL}, {constant(p, f, "bias", 1, data, i), NULL}};
    const assay_build_arg linear[3] = {{"x", &in[0], 1}, {"weight", &in[1], 1}, {"bias", &in[2], 1}};
    assay_mil_op *op;
    assay_status s = assay_block_add_op(p, f, f->block, NULL, "linear", "y", NULL, linear, 3, &op, err);
    if (s != ASSAY_OK) return s;
    assay_mil_binding by[2] = {{op->outs[0], NULL}, {constant(p, f, "scale", 0, data, i), NULL}};
    const assay_build_arg mul[2] = {{"x", &by[0], 1}, {"y", &by[1], 1}};
    s = assay_block_add_op(p, f, f->block, NULL, "mul", "z", NULL, mul, 2, &op, err);
    if (s == ASSAY_OK) *x = op->outs[0];
    return s;
}

static int make(const char *dir) {
    assay_error err = {0};
    assay_program *p = assay_program_new(9);
    assay_mil_function *f = assay_program_add_function(p, "main", "CoreML8");
    const int64_t dims[2] = {1, WIDTH};
    assay_mil_value *x = assay_function_add_input(p, f, "x", assay_type_tensor(p, ASSAY_MIL_FP16, 2, dims));
    uint16_t *data = calloc((size_t)WIDTH * WIDTH, sizeof *data);
    assay_status s = data ? ASSAY_OK : ASSAY_E_NOMEM;
    for (uint16_t i = 0; i < LAYERS && s == ASSAY_OK; i++) s = layer(p, f, &x, data, i, &err);
    if (s == ASSAY_OK) s = assay_function_set_outputs(p, f, &x, 1, &err);
    char *path = assay_path_join(dir, "load.mlpackage");
    if (s == ASSAY_OK) s = assay_program_write_package(p, path, &err);
    free(path);
    free(data);
    assay_program_free(p);
    return s == ASSAY_OK ? 0 : fail(&err);
}

/* ---- time */
static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int measure(const char *path, int rounds) {
    assay_error err = {0};
    struct rusage used;
    double *load = calloc((size_t)rounds, sizeof *load), *census = calloc((size_t)rounds, sizeof *census);
    uint32_t ops = 0, computing = 0;
    if (!load || !census) return 70;
    for (int r = 0; r < rounds; r++) {
        assay_program *p;
        int64_t start = assay_now_ns();
        if (assay_program_read(path, &p, &err) != ASSAY_OK || assay_program_validate(p, 1, &err) != ASSAY_OK) return fail(&err);
        int64_t loaded = assay_now_ns();
        assay_json_free(assay_program_facts_full(p, ASSAY_FACTS_SUMMARY));
        census[r] = (double)(assay_now_ns() - loaded) / 1e6;
        load[r] = (double)(loaded - start) / 1e6;
        ops = computing = 0;
        for (uint32_t i = 0; i < p->n_functions; i++)
            for (uint32_t k = 0; k < p->functions[i]->n_all_ops; k++, ops++)
                computing += strcmp(p->functions[i]->all_ops[k]->type, "const") != 0;
        assay_program_free(p);
    }
    getrusage(RUSAGE_SELF, &used);
    qsort(load, (size_t)rounds, sizeof *load, by_size);
    qsort(census, (size_t)rounds, sizeof *census, by_size);
    printf("load %u ops (%u computing): median %.1f ms, best %.1f; census and sites: median %.1f ms; peak memory of the process "
           "%.1f MB\n",
           ops, computing, load[rounds / 2], load[0], census[rounds / 2], (double)used.ru_maxrss / 1024);
    free(load);
    free(census);
    return 0;
}

int main(int argc, char **argv) {
    assay_ops_register();
    if (argc == 3 && !strcmp(argv[1], "make")) return make(argv[2]);
    if (argc == 4 && !strcmp(argv[1], "time") && atoi(argv[3]) > 0) return measure(argv[2], atoi(argv[3]));
    fprintf(stderr, "usage: bench_load make DIR | time PACKAGE ROUNDS\n");
    return 2;
}
