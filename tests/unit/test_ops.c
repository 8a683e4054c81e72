/* Type rules and kernels of the built-in ops: small hand-worked cases, and what each rule refuses. */
#include "suite.h"
#include "graph.h"
#include <math.h>

static const assay_exec_options plain = { .precision = ASSAY_PREC_DECLARED, .threads = 1 };

static val input(graph *g, const char *name, int32_t mil, uint32_t rank, const int64_t *d) { return g_input(g, name, mil, rank, d); }
#define DIMS(...) (uint32_t)(sizeof((int64_t[]){ __VA_ARGS__ }) / 8), (const int64_t[]){ __VA_ARGS__ }
#define F32S(g, name, dims, ...) f32s(g, name, dims, (const float[]){ __VA_ARGS__ })

static val f32s(graph *g, const char *name, uint32_t rank, const int64_t *dims, const float *v) {
    assay_tensor t = assay_tensor_view(ASSAY_F32, rank, dims, (void *)(uintptr_t)v);
    return g_const(g, name, &t);
}

/* The result of a graph without inputs as doubles; -1: failed. */
static int64_t values(graph *g, val out, double *v, int64_t max) {
    assay_own_tensor r;
    if (!g_run(g, out, &plain, NULL, 0, &r)) return -1;
    int64_t n = assay_tensor_count(&r.t);
    for (int64_t i = 0; i < n && i < max; i++) v[i] = assay_load_f64(r.t.dtype, assay_tensor_at(&r.t, i));
    assay_tensor_free(&r);
    return n;
}

static void expect(graph *g, val out, int64_t n, const double *want) {
    double got[64];
    int64_t have = values(g, out, got, 64);
    if (have != n) printf("\n  %lld elements, expected %lld: %s\n", (long long)have, (long long)n, g->err.message);
    CU_ASSERT_FATAL(have == n);
    for (int64_t i = 0; i < n; i++) {
        bool same = got[i] == want[i] || (got[i] != got[i] && want[i] != want[i]);
        if (!same) printf("\n  element %lld is %.9g, expected %.9g\n", (long long)i, got[i], want[i]);
        CU_ASSERT(same);
    }
    assay_program_free(g->p);
}
#define EXPECT(g, out, ...) expect(g, out, (int64_t)(sizeof((double[]){ __VA_ARGS__ }) / 8), (const double[]){ __VA_ARGS__ })

static void refused(graph *g, val out, const char *words) {
    CU_ASSERT(out == NULL);
    if (!strstr(g->err.message, words)) printf("\n  '%s' lacks '%s'\n", g->err.message, words);
    CU_ASSERT(strstr(g->err.message, words) != NULL);
    assay_program_free(g->p);
}

/* ---- attention (formats/sdpa-contract.md section 3) */
typedef struct sdpa_case { int32_t mil; uint32_t rank; int64_t q[4], k[4], v[4]; int32_t mask_mil; uint32_t mask_rank; int64_t mask[5]; const char *refusal; } sdpa_case;

static void sdpa_rules(void) {
    static const sdpa_case cases[] = {
        { ASSAY_MIL_FP16, 4, { 2, 4, 5, 8 }, { 2, 4, 7, 8 }, { 2, 4, 7, 3 }, 0, 0, { 0 }, NULL },
        { ASSAY_MIL_FP16, 3, { 2, 5, 8 }, { 2, 7, 8 }, { 2, 7, 3 }, ASSAY_MIL_FP32, 1, { 7 }, NULL },
        { ASSAY_MIL_FP32, 4, { 2, 4, 5, 8 }, { 2, 4, 7, 8 }, { 2, 4, 7, 8 }, ASSAY_MIL_BOOL, 4, { 2, 1, 1, 7 }, NULL },
        { ASSAY_MIL_FP32, 4, { 2, 4, 5, 8 }, { 2, 4, 7, 8 }, { 2, 4, 7, 8 }, ASSAY_MIL_FP16, 2, { 5, 7 }, NULL },
        { ASSAY_MIL_FP16, 2, { 5, 8 }, { 7, 8 }, { 7, 8 }, 0, 0, { 0 }, "rank of at least 3" },
        { ASSAY_MIL_FP16, 4, { 2, 4, 5, 8 }, { 2, 1, 7, 8 }, { 2, 1, 7, 8 }, 0, 0, { 0 }, "does not broadcast; tile first" },
        { ASSAY_MIL_FP16, 4, { 2, 4, 5, 8 }, { 2, 4, 7, 6 }, { 2, 4, 7, 8 }, 0, 0, { 0 }, "agree in the last size" },
        { ASSAY_MIL_FP16, 4, { 2, 4, 5, 8 }, { 2, 4, 7, 8 }, { 2, 4, 6, 8 }, 0, 0, { 0 }, "source positions" },
        { ASSAY_MIL_FP16, 3, { 2, 5, 8 }, { 2, 7, 8 }, { 2, 7, 8 }, ASSAY_MIL_BOOL, 2, { 5, 1 }, "does not broadcast to the scores" },
        { ASSAY_MIL_FP16, 3, { 2, 5, 8 }, { 2, 7, 8 }, { 2, 7, 8 }, ASSAY_MIL_BOOL, 3, { 4, 5, 7 }, "does not broadcast to the scores" },
        { ASSAY_MIL_FP16, 3, { 2, 5, 8 }, { 2, 7, 8 }, { 2, 7, 8 }, ASSAY_MIL_BOOL, 4, { 1, 1, 5, 7 }, "does not broadcast to the scores" },
        { ASSAY_MIL_FP16, 3, { 2, 5, 8 }, { 2, 7, 8 }, { 2, 7, 8 }, ASSAY_MIL_INT32, 2, { 5, 7 }, "must be bool|fp16|fp32" },
        { ASSAY_MIL_INT32, 3, { 2, 5, 8 }, { 2, 7, 8 }, { 2, 7, 8 }, 0, 0, { 0 }, "must be fp16|fp32" } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const sdpa_case *c = &cases[i];
        graph g = graph_new();
        val q = input(&g, "q", c->mil, c->rank, c->q), k = input(&g, "k", c->mil, c->rank, c->k), v = input(&g, "v", c->mil, c->rank, c->v);
        val out = c->mask_mil ? g_op(&g, "scaled_dot_product_attention", "o", "query", q, "key", k, "value", v, "attn_mask", input(&g, "m", c->mask_mil, c->mask_rank, c->mask), NULL)
                              : g_op(&g, "scaled_dot_product_attention", "o", "query", q, "key", k, "value", v, NULL);
        if (c->refusal) { refused(&g, out, c->refusal); continue; }
        CU_ASSERT_FATAL(out != NULL);
        CU_ASSERT(out->type->rank == c->rank && out->type->dims[c->rank - 2] == c->q[c->rank - 2] && out->type->dims[c->rank - 1] == c->v[c->rank - 1]);
        assay_program_free(g.p);
    }
}

/* Equal keys: attention is the mean of the values that take part; a row without any is NaN. */
static void sdpa_masks(void) {
    static const uint8_t keep[6] = { 1, 1, 0, 0, 0, 0 };
    graph g = graph_new();
    val q = F32S(&g, "q", DIMS(1, 2, 2), 1, 2, 3, 4), k = F32S(&g, "k", DIMS(1, 3, 2), 0, 0, 0, 0, 0, 0), v = F32S(&g, "v", DIMS(1, 3, 1), 2, 4, 9);
    int64_t dims[2] = { 2, 3 };
    assay_tensor m = assay_tensor_view(ASSAY_BOOL, 2, dims, (void *)(uintptr_t)keep);
    EXPECT(&g, g_op(&g, "scaled_dot_product_attention", "o", "query", q, "key", k, "value", v, "attn_mask", g_const(&g, "m", &m), NULL), 3, (double)NAN);
}

/* A mask that differs by batch but not by head, and the other way round. */
static void sdpa_mask_broadcasts(void) {
    const float inf = INFINITY;
    for (int by_batch = 0; by_batch < 2; by_batch++) {
        graph g = graph_new();
        val q = F32S(&g, "q", DIMS(2, 2, 1, 1), 0, 0, 0, 0), k = F32S(&g, "k", DIMS(2, 2, 2, 1), 0, 0, 0, 0, 0, 0, 0, 0);
        val v = F32S(&g, "v", DIMS(2, 2, 2, 1), 1, 2, 3, 4, 5, 6, 7, 8);
        val m = by_batch ? F32S(&g, "m", DIMS(2, 1, 1, 2), 0, -inf, -inf, 0) : F32S(&g, "m", DIMS(1, 2, 1, 2), 0, -inf, -inf, 0);
        val o = g_op(&g, "scaled_dot_product_attention", "o", "query", q, "key", k, "value", v, "attn_mask", m, NULL);
        if (by_batch) EXPECT(&g, o, 1, 3, 6, 8);
        else EXPECT(&g, o, 1, 4, 5, 8);
    }
}

/* ---- elementwise */
static void broadcasting(void) {
    graph g = graph_new();
    val x = F32S(&g, "x", DIMS(2, 1, 2), 1, 2, 3, 4), y = F32S(&g, "y", DIMS(3, 1), 10, 20, 30);
    EXPECT(&g, g_op(&g, "add", "z", "x", x, "y", y, NULL), 11, 12, 21, 22, 31, 32, 13, 14, 23, 24, 33, 34);
    g = graph_new();
    refused(&g, g_op(&g, "add", "z", "x", F32S(&g, "x", DIMS(2), 1, 2), "y", F32S(&g, "y", DIMS(3), 1, 2, 3), NULL), "do not broadcast");
    g = graph_new();
    refused(&g, g_op(&g, "mul", "z", "x", F32S(&g, "x", DIMS(2), 1, 2), "y", g_number(&g, ASSAY_F16, 2), NULL), "add a cast");
}

static void nan_and_rounding(void) {
    graph g = graph_new();
    val x = F32S(&g, "x", DIMS(3), NAN, 1, -2), y = F32S(&g, "y", DIMS(3), 0, NAN, 5);
    EXPECT(&g, g_op(&g, "maximum", "z", "x", x, "y", y, NULL), (double)NAN, (double)NAN, 5);
    g = graph_new();
    EXPECT(&g, g_op(&g, "relu", "z", "x", F32S(&g, "x", DIMS(3), NAN, 1, -2), NULL), (double)NAN, 1, 0);
    g = graph_new();                                                    /* 2049 is a tie in fp16, 1 + 2^-11 + 2^-24 lies above one */
    val f = F32S(&g, "x", DIMS(4), 2049, 2051, 1.00048828125f, 1e5f);
    EXPECT(&g, g_op(&g, "cast", "z", "x", f, "dtype", g_text(&g, "fp16"), NULL), 2048, 2052, 1, (double)INFINITY);
    g = graph_new();
    EXPECT(&g, g_op(&g, "cast", "z", "x", F32S(&g, "x", DIMS(4), -1.9f, 1.9f, NAN, 3e9f), "dtype", g_text(&g, "int32"), NULL), -1, 1, 0, 2147483647);
    g = graph_new();
    refused(&g, g_op(&g, "cast", "z", "x", F32S(&g, "x", DIMS(1), 1), "dtype", g_text(&g, "float99"), NULL), "cannot cast to 'float99'");
}

/* A quiet NaN with a sign or a payload comes out as the canonical one. */
static void nan_is_canonical(void) {
    uint32_t bits[2] = { 0xffc00001u, 0x3f800000u };
    assay_own_tensor r;
    graph g = graph_new();
    int64_t d[1] = { 2 };
    val x = input(&g, "x", ASSAY_MIL_FP32, 1, d);
    assay_named_tensor in = { "x", assay_tensor_view(ASSAY_F32, 1, d, bits) };
    CU_ASSERT_FATAL(g_run(&g, g_op(&g, "identity", "y", "x", x, NULL), &plain, &in, 1, &r));
    CU_ASSERT(memcmp(r.t.data, (uint32_t[]){ 0x7fc00000u, 0x3f800000u }, 8) == 0);
    assay_tensor_free(&r);
    assay_program_free(g.p);
}

/* ---- layout */
static void slices(void) {
    graph g = graph_new();
    val x = F32S(&g, "x", DIMS(2, 3), 0, 1, 2, 3, 4, 5);
    EXPECT(&g, g_op(&g, "slice_by_index", "y", "x", x, "begin", INTS(&g, 1, -1), "end", INTS(&g, 2, 0), "stride", INTS(&g, 1, -1), NULL), 5, 4);
    g = graph_new();
    x = F32S(&g, "x", DIMS(2, 3), 0, 1, 2, 3, 4, 5);
    EXPECT(&g, g_op(&g, "slice_by_index", "y", "x", x, "begin", INTS(&g, 0, 1), "end", INTS(&g, 99, 99), NULL), 1, 2, 4, 5);
    g = graph_new();
    x = F32S(&g, "x", DIMS(2, 3), 0, 1, 2, 3, 4, 5);
    refused(&g, g_op(&g, "slice_by_size", "y", "x", x, "begin", INTS(&g, 0, 2), "size", INTS(&g, 2, 2), NULL), "outside axis 1");
    g = graph_new();
    x = F32S(&g, "x", DIMS(2, 3), 0, 1, 2, 3, 4, 5);
    refused(&g, g_op(&g, "slice_by_index", "y", "x", x, "begin", INTS(&g, 0), "end", INTS(&g, 1), NULL), "one entry for each of the 2 axes");
}

static void reshapes(void) {
    graph g = graph_new();
    val x = F32S(&g, "x", DIMS(2, 3), 0, 1, 2, 3, 4, 5);
    val y = g_op(&g, "reshape", "y", "x", x, "shape", INTS(&g, 0, -1, 1), NULL);
    CU_ASSERT_FATAL(y != NULL);
    CU_ASSERT(y->type->rank == 3 && y->type->dims[0] == 2 && y->type->dims[1] == 3);
    EXPECT(&g, g_op(&g, "transpose", "z", "x", y, "perm", INTS(&g, -1, 1, 0), NULL), 0, 3, 1, 4, 2, 5);
    g = graph_new();
    refused(&g, g_op(&g, "reshape", "y", "x", F32S(&g, "x", DIMS(3), 0, 1, 2), "shape", INTS(&g, 2, -1), NULL), "cannot be reshaped");
    g = graph_new();
    refused(&g, g_op(&g, "transpose", "y", "x", F32S(&g, "x", DIMS(1, 2), 0, 1), "perm", INTS(&g, 0, 0), NULL), "each of the 2 axes");
}

static void joins(void) {
    graph g = graph_new();
    val x = F32S(&g, "x", DIMS(2, 1), 1, 2);
    EXPECT(&g, g_op(&g, "tile", "y", "x", x, "reps", INTS(&g, 2, 2), NULL), 1, 1, 2, 2, 1, 1, 2, 2);
    g = graph_new();
    refused(&g, g_op(&g, "split", "y", "x", F32S(&g, "x", DIMS(3), 1, 2, 3), "axis", g_number(&g, ASSAY_I32, 0), "num_splits", g_number(&g, ASSAY_I32, 2), NULL), "equal parts");
    g = graph_new();
    refused(&g, g_op(&g, "concat", "y", "values", F32S(&g, "x", DIMS(3), 1, 2, 3), "axis", g_number(&g, ASSAY_I32, 1), NULL), "outside a tensor of rank 1");
}

static void gathers(void) {
    graph g = graph_new();
    val x = F32S(&g, "x", DIMS(2, 3), 0, 1, 2, 3, 4, 5);
    EXPECT(&g, g_op(&g, "gather", "y", "x", x, "indices", INTS(&g, 2, -3), "axis", g_number(&g, ASSAY_I32, 1), NULL), 2, 0, 5, 3);
    double v[8];
    g = graph_new();
    x = F32S(&g, "x", DIMS(3), 0, 1, 2);
    CU_ASSERT(values(&g, g_op(&g, "gather", "y", "x", x, "indices", INTS(&g, 3), NULL), v, 8) == -1);
    CU_ASSERT(strstr(g.err.message, "gather 'y': index 3 is outside axis 0 of size 3") != NULL);
    assay_program_free(g.p);
}

/* ---- products, norms, reductions */
static void products(void) {
    graph g = graph_new();
    val x = F32S(&g, "x", DIMS(2, 2), 1, 2, 3, 4), y = F32S(&g, "y", DIMS(1, 2, 2), 5, 6, 7, 8), t = g_number(&g, ASSAY_BOOL, 1);
    EXPECT(&g, g_op(&g, "matmul", "z", "x", x, "y", y, "transpose_x", t, NULL), 26, 30, 38, 44);
    g = graph_new();
    refused(&g, g_op(&g, "matmul", "z", "x", F32S(&g, "x", DIMS(1, 3), 1, 2, 3), "y", F32S(&g, "y", DIMS(1, 3), 1, 2, 3), NULL), "do not multiply");
    g = graph_new();
    val w = F32S(&g, "w", DIMS(2, 2), 1, 0, 1, 1);
    EXPECT(&g, g_op(&g, "linear", "z", "x", F32S(&g, "x", DIMS(1, 2), 3, 4), "weight", w, "bias", F32S(&g, "b", DIMS(2), 10, 20), NULL), 13, 27);
    g = graph_new();
    refused(&g, g_op(&g, "linear", "z", "x", F32S(&g, "x", DIMS(1, 3), 3, 4, 5), "weight", F32S(&g, "w", DIMS(2, 2), 1, 0, 1, 1), NULL), "needs a weight");
    g = graph_new();
    val a = F32S(&g, "a", DIMS(1, 2, 1, 2), 1, 2, 3, 4), k = F32S(&g, "k", DIMS(2, 2, 1, 1), 1, 1, 1, -1);
    EXPECT(&g, g_op(&g, "conv", "z", "x", a, "weight", k, "bias", F32S(&g, "b", DIMS(2), 0, 100), NULL), 4, 6, 98, 98);
}

static void norms(void) {
    graph g = graph_new();
    val x = F32S(&g, "x", DIMS(2, 2), 1, 3, 5, 5);
    EXPECT(&g, g_op(&g, "layer_norm", "y", "x", x, "axes", INTS(&g, -1), "epsilon", g_number(&g, ASSAY_F32, 0), NULL), -1, 1, (double)NAN, (double)NAN);
    g = graph_new();
    refused(&g, g_op(&g, "layer_norm", "y", "x", F32S(&g, "x", DIMS(1, 2), 1, 2), "axes", INTS(&g, 1), "gamma", F32S(&g, "g", DIMS(3), 1, 1, 1), NULL), "sizes of the normalised axes");
    g = graph_new();
    EXPECT(&g, g_op(&g, "reduce_mean", "y", "x", F32S(&g, "x", DIMS(2, 2), 1, 3, 5, 6), "axes", INTS(&g, 0), NULL), 3, 4.5);
    g = graph_new();
    refused(&g, g_op(&g, "reduce_sum", "y", "x", F32S(&g, "x", DIMS(2), 1, 3), "axes", INTS(&g, 0, -1), NULL), "axis 0 twice");
    g = graph_new();
    EXPECT(&g, g_op(&g, "softmax", "y", "x", F32S(&g, "x", DIMS(2, 2), 0, -INFINITY, 0, -INFINITY), "axis", g_number(&g, ASSAY_I32, 0), NULL), 0.5, (double)NAN, 0.5, (double)NAN);
}

/* ---- the table */
static void arguments_are_checked(void) {
    graph g = graph_new();
    refused(&g, g_op(&g, "softmax", "y", "x", F32S(&g, "x", DIMS(1), 1), "axes", g_number(&g, ASSAY_I32, 0), NULL), "did you mean 'axis'");
    g = graph_new();
    refused(&g, g_op(&g, "linear", "y", "x", F32S(&g, "x", DIMS(1), 1), NULL), "weight");
    g = graph_new();
    refused(&g, g_op(&g, "softmx", "y", "x", F32S(&g, "x", DIMS(1), 1), NULL), "did you mean 'softmax'");
}

static void the_table_is_sane(void) {
    size_t n;
    assay_ops_register();
    const assay_op_def *const *all = assay_optable_all(&n);
    CU_ASSERT(n >= 90);
    for (size_t i = 0; i < n; i++) {
        CU_ASSERT(all[i]->type && all[i]->summary && all[i]->infer && all[i]->params && assay_opset_rank(all[i]->opset_min) >= 5);
        CU_ASSERT(i == 0 || strcmp(all[i - 1]->type, all[i]->type) < 0);
        for (const assay_op_param *p = all[i]->params; p->name; p++) CU_ASSERT(p->dtypes && p->help && !((p->flags & ASSAY_ARG_REQUIRED) && p->def));
    }
}

/* ---- sizes that become known when it runs */
static void unknown_sizes(void) {
    graph g = graph_new();
    int64_t d[2] = { ASSAY_DIM_UNKNOWN, 2 };
    val x = input(&g, "x", ASSAY_MIL_FP32, 2, d), y = F32S(&g, "y", DIMS(1, 2), 10, 20);
    val z = g_op(&g, "reduce_sum", "z", "x", g_op(&g, "add", "s", "x", x, "y", y, NULL), "axes", INTS(&g, 1), NULL);
    CU_ASSERT_FATAL(z != NULL);
    CU_ASSERT(z->type->dims[0] == ASSAY_DIM_UNKNOWN);
    for (int64_t n = 1; n < 4; n++) {
        float v[6] = { 1, 2, 3, 4, 5, 6 };
        int64_t shape[2] = { n, 2 };
        assay_own_tensor r;
        assay_named_tensor in = { "x", assay_tensor_view(ASSAY_F32, 2, shape, v) };
        CU_ASSERT_FATAL(g_run(&g, z, &plain, &in, 1, &r));
        CU_ASSERT(r.t.rank == 1 && r.t.shape[0] == n && ((float *)r.t.data)[n - 1] == 30 + 4 * (float)n - 1);
        assay_tensor_free(&r);
    }
    assay_program_free(g.p);
}

static void inputs_are_checked(void) {
    graph g = graph_new();
    int64_t d[2] = { 2, 2 }, wrong[2] = { 2, 3 };
    float v[6] = { 0 };
    assay_own_tensor r;
    val y = g_op(&g, "relu", "y", "x", input(&g, "x", ASSAY_MIL_FP32, 2, d), NULL);
    assay_named_tensor in = { "x", assay_tensor_view(ASSAY_F32, 2, wrong, v) };
    CU_ASSERT(!g_run(&g, y, &plain, &in, 1, &r));
    CU_ASSERT(strstr(g.err.message, "input 'x': expected shape [2,2], got [2,3]") != NULL);
    in.t = assay_tensor_view(ASSAY_I32, 2, d, v);
    CU_ASSERT(!g_run(&g, y, &plain, &in, 1, &r));
    CU_ASSERT(strstr(g.err.message, "expected fp32, got int32") != NULL);
    CU_ASSERT(!g_run(&g, y, &plain, NULL, 0, &r));
    CU_ASSERT(strstr(g.err.message, "input 'x' is missing") != NULL);
    assay_program_free(g.p);
}

ASSAY_SUITE("ops", TEST(sdpa_rules), TEST(sdpa_masks), TEST(sdpa_mask_broadcasts), TEST(broadcasting), TEST(nan_and_rounding), TEST(nan_is_canonical),
            TEST(slices), TEST(reshapes), TEST(joins), TEST(gathers), TEST(products), TEST(norms), TEST(arguments_are_checked), TEST(the_table_is_sane),
            TEST(unknown_sizes), TEST(inputs_are_checked))
