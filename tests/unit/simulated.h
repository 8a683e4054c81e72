/* tests/unit/simulated.h: a profile of the simulated device made for one test, and the fused op as a small program to run under it. */
#ifndef ASSAY_TEST_SIMULATED_H
#define ASSAY_TEST_SIMULATED_H
#include "suite.h"
#include "graph.h"
#include "backends/simulated/sim.h"
#include "base/fs.h"
#include <math.h>
#include <unistd.h>

/* A profile beside the shipped ones' base, written into a folder with a copy of it. */
__attribute__((unused)) static char *derived(const char *fields) {
    char *dir = assay_xprintf("/tmp/assay-sim-%ld", (long)getpid()), *base = assay_xprintf("%s/m1-macos15.7.7.lua", dir);
    char *path = assay_xprintf("%s/mine.lua", dir), *text = assay_xprintf("return { schema = 1, id = 'mine', simulated = true, base = 'm1-macos15.7.7', %s }", fields);
    assay_mkdirs(dir, NULL);
    assay_copy_file(ASSAY_SOURCE_DIR "/configs/devices/m1-macos15.7.7.lua", base, NULL);
    CU_ASSERT_EQUAL(assay_write_file(path, text, strlen(text), NULL), ASSAY_OK);
    free(text);
    free(base);
    free(dir);
    return path;
}

__attribute__((unused)) static void drop(char *path) {
    char *dir = assay_path_dir(path);
    assay_remove_tree(dir, NULL);
    free(dir);
    free(path);
}

__attribute__((unused)) static assay_sim_profile load(const char *fields) {
    assay_error err = {0};
    assay_sim_profile p;
    char *path = derived(fields);
    if (assay_sim_profile_load(path, &p, &err) != ASSAY_OK) {
        printf("\n  %s\n", err.message);
        CU_FAIL_FATAL("the profile does not load");
    }
    drop(path);
    return p;
}

enum { B = 1, H = 2, S = 8, E = 4 };

/* x [1, S, H E] through three products to q, k, v, or q, k, v as inputs; then the fused op. */
__attribute__((unused)) static graph attention(bool projected, int32_t mask_type) {
    graph g = graph_new();
    int64_t qkv[] = {B, H, S, E}, rows[] = {S, S};
    val in[3];
    const char *names[] = {"q", "k", "v"};
    for (int i = 0; i < 3; i++) {
        in[i] = g_input(&g, names[i], ASSAY_MIL_FP16, 4, qkv);
        char *name = assay_xprintf("%s_made", names[i]);
        if (projected) in[i] = g_op(&g, "mul", name, "x", in[i], "y", g_number(&g, ASSAY_F16, 1), NULL);
        else in[i] = g_op(&g, "transpose", name, "x", in[i], "perm", INTS(&g, 0, 1, 2, 3), NULL);
        free(name);
    }
    val mask = mask_type ? g_input(&g, "mask", mask_type, 2, rows) : NULL;
    val out = mask ? g_op(&g, "scaled_dot_product_attention", "attention", "query", in[0], "key", in[1], "value", in[2], "attn_mask", mask, NULL)
                   : g_op(&g, "scaled_dot_product_attention", "attention", "query", in[0], "key", in[1], "value", in[2], NULL);
    assay_mil_value *outs[] = {out};
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    assay_function_set_outputs(g.p, g.f, outs, 1, NULL);
    assay_program_index(g.p);
    return g;
}

__attribute__((unused)) static const assay_sim_op *placed_op(const assay_sim_placed *p, const char *type) {
    for (uint32_t i = 0; i < p->n; i++)
        if (strcmp(p->ops[i].op->type, type) == 0) return &p->ops[i];
    return NULL;
}

#define ON_ANE "cost = {}, placement_first = { { id = 'all', when = {}, device = 'ane', grade = 'I', source = 's' } }"
#define ON_CPU "cost = {}, placement_first = { { id = 'all', when = {}, device = 'cpu', grade = 'I', source = 's' } }"

#define FIRST(when) "placement_first = { { id = 'mine', when = " when ", device = 'cpu', grade = 'I', source = 's' } }"
#define FAULT(effect, more) "faults = { { id = 'f', when = { op = 'scaled_dot_product_attention', on = 'ane' }, effect = '" effect "', grade = 'I', source = 's'" more " } }, " \
    "cost = {}, placement_first = { { id = 'all', when = {}, device = 'ane', grade = 'I', source = 's' } }"

#endif
