/* graph.h: small programs for tests of the executor. A graph holds one function "main" of opset CoreML8. */
#ifndef ASSAY_TEST_GRAPH_H
#define ASSAY_TEST_GRAPH_H
#include "backends/reference/exec.h"
#include "ops/builtin.h"
#include <stdarg.h>

typedef struct graph { assay_program *p; assay_mil_function *f; assay_error err; } graph;
typedef assay_mil_value *val;

__attribute__((unused)) static graph graph_new(void) {
    assay_ops_register();
    graph g = { .p = assay_program_new(9) };
    g.f = assay_program_add_function(g.p, "main", "CoreML8");
    return g;
}

__attribute__((unused)) static val g_input(graph *g, const char *name, int32_t mil, uint32_t rank, const int64_t *dims) {
    return assay_function_add_input(g->p, g->f, name, assay_type_tensor(g->p, mil, rank, dims));
}

__attribute__((unused)) static val g_const(graph *g, const char *name, const assay_tensor *t) {
    return assay_block_add_const(g->p, g->f, g->f->block, NULL, name, assay_const_tensor(g->p, t));
}

__attribute__((unused)) static val g_number(graph *g, int32_t dtype, double v) {
    char one[8] = { 0 };
    assay_store_f64(dtype, one, v);
    assay_tensor t = assay_tensor_view(dtype, 0, NULL, one);
    return g_const(g, "number", &t);
}

__attribute__((unused)) static val g_ints(graph *g, uint32_t n, const int32_t *v) {
    int64_t len = n;
    assay_tensor t = assay_tensor_view(ASSAY_I32, 1, &len, (void *)(uintptr_t)v);
    return g_const(g, "ints", &t);
}
#define INTS(g, ...) g_ints(g, sizeof((int32_t[]){ __VA_ARGS__ }) / sizeof(int32_t), (const int32_t[]){ __VA_ARGS__ })

__attribute__((unused)) static val g_text(graph *g, const char *s) {
    return assay_block_add_const(g->p, g->f, g->f->block, NULL, "text", assay_const_string(g->p, s));
}

/* g_op(g, "mul", "y", "x", a, "y", b, NULL): NULL and g->err when the op is refused. */
__attribute__((unused)) static val g_op(graph *g, const char *type, const char *name, ...) {
    assay_mil_binding bound[16];
    assay_build_arg args[16];
    uint32_t n = 0;
    va_list ap;
    va_start(ap, name);
    for (const char *key; n < 16 && (key = va_arg(ap, const char *)); n++) {
        bound[n] = (assay_mil_binding){ va_arg(ap, val), NULL };
        args[n] = (assay_build_arg){ key, &bound[n], 1 };
    }
    va_end(ap);
    assay_mil_op *op = NULL;
    if (assay_block_add_op(g->p, g->f, g->f->block, NULL, type, name, NULL, args, n, &op, &g->err) != ASSAY_OK) return NULL;
    return op->outs[0];
}

/* Runs the graph with one output; false and g->err when it fails. The result belongs to the caller. */
__attribute__((unused)) static bool g_run(graph *g, val out, const assay_exec_options *o, const assay_named_tensor *in, uint32_t n_in, assay_own_tensor *result) {
    assay_exec *e = NULL;
    assay_named_tensor got;
    assay_status s = out ? assay_function_set_outputs(g->p, g->f, &out, 1, &g->err) : g->err.code;
    if (s == ASSAY_OK) s = assay_exec_open(g->p, o, &e, &g->err);
    if (s == ASSAY_OK) s = assay_exec_run(e, in, n_in, &g->err);
    if (s == ASSAY_OK) s = assay_exec_output(e, 0, &got, &g->err);
    if (s == ASSAY_OK) s = assay_tensor_copy(&got.t, 0, result, &g->err);
    assay_exec_close(e);
    return s == ASSAY_OK;
}

/* softmax(scale q k^T) v in the order `preq`; names as the library gives them. */
__attribute__((unused)) static val g_explicit(graph *g, val q, val k, val v, double scale) {
    int32_t dtype = assay_mil_to_dtype(q->type->dtype);
    val scaled = g_op(g, "mul", "q_scaled", "x", q, "y", g_number(g, dtype, scale), NULL);
    val s = g_op(g, "matmul", "scores", "x", scaled, "y", k, "transpose_y", g_number(g, ASSAY_BOOL, 1), NULL);
    val p = g_op(g, "softmax", "probs", "x", s, "axis", g_number(g, ASSAY_I32, -1), NULL);
    return g_op(g, "matmul", "attn", "x", p, "y", v, NULL);
}

__attribute__((unused)) static val g_fused(graph *g, val q, val k, val v) {
    return g_op(g, "scaled_dot_product_attention", "attn", "query", q, "key", k, "value", v, NULL);
}

/* x [B,S,D] -> linear -> [B,H,S,D/H], named `name`. */
__attribute__((unused)) static val g_project(graph *g, const char *name, val x, const assay_tensor *w, const assay_tensor *b, int32_t heads) {
    const int64_t *d = x->type->dims;
    val weight = g_const(g, "weight", w);
    val y = b ? g_op(g, "linear", "linear", "x", x, "weight", weight, "bias", g_const(g, "bias", b), NULL)
              : g_op(g, "linear", "linear", "x", x, "weight", weight, NULL);
    val split = g_op(g, "reshape", "split", "x", y, "shape", INTS(g, (int32_t)d[0], (int32_t)d[1], heads, (int32_t)d[2] / heads), NULL);
    return g_op(g, "transpose", name, "x", split, "perm", INTS(g, 0, 2, 1, 3), NULL);
}
#endif
