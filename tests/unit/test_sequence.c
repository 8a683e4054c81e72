/* lstm against a plain scalar loop and by hand, classify, the list ops with what they refuse, and constants that become steps where they are used. */
#include "suite.h"
#include "graph.h"
#include "base/fmath.h"
#include <math.h>

static const assay_exec_options plain = {.precision = ASSAY_PREC_DECLARED, .threads = 1};

static val reals(graph *g, uint32_t rank, const int64_t *dims, const float *v) {
    assay_tensor t = assay_tensor_view(ASSAY_F32, rank, dims, (void *)(uintptr_t)v);
    return g_const(g, "c", &t);
}
#define DIMS(...)                                                                                                                \
    (uint32_t)(sizeof((int64_t[]){__VA_ARGS__}) / 8), (const int64_t[]) { __VA_ARGS__ }
#define REALS(g, dims, ...) reals(g, dims, (const float[]){__VA_ARGS__})

static bool result(graph *g, val out, double *v, int64_t n) {
    assay_own_tensor r;
    if (!g_run(g, out, &plain, NULL, 0, &r)) return false;
    bool ok = assay_tensor_count(&r.t) == n;
    for (int64_t i = 0; ok && i < n; i++) v[i] = assay_load_f64(r.t.dtype, assay_tensor_at(&r.t, i));
    assay_tensor_free(&r);
    return ok;
}

/* One feature, one hidden unit: every gate has its own weight, so that another gate order gives other numbers. */
static double sigmoid(double x) { return 1 / (1 + assay_exp(-x)); }
static void scalar(const float *x, int n, bool back, const float *wi, const float *wh, const float *b, double h, double c,
                   double *seq) {
    for (int s = 0; s < n; s++) {
        int at = back ? n - 1 - s : s;
        double g[4];
        for (int k = 0; k < 4; k++) g[k] = (double)wi[k] * (double)x[at] + (double)b[k] + (double)wh[k] * h;
        c = sigmoid(g[1]) * c + sigmoid(g[0]) * assay_tanh(g[3]);
        h = sigmoid(g[2]) * assay_tanh(c);
        seq[at] = h;
    }
}

static const float xs[3] = {0.5F, -1, 2}, wi[4] = {0.3F, -0.7F, 1.1F, 0.9F}, wh[4] = {-0.2F, 0.4F, 0.6F, -0.8F},
                   bs[4] = {0.1F, 0.2F, -0.3F, 0.05F};

static void lstm_directions(void) {
    static const char *const names[] = {"forward", "reverse"};
    for (int d = 0; d < 2; d++) {
        graph g = graph_new();
        double want[3], got[3];
        val y = g_op(&g, "lstm", "y", "x", reals(&g, DIMS(3, 1, 1), xs), "initial_h", REALS(&g, DIMS(1, 1), 0.25F), "initial_c",
                     REALS(&g, DIMS(1, 1), -0.5F), "weight_ih", reals(&g, DIMS(4, 1), wi), "weight_hh", reals(&g, DIMS(4, 1), wh),
                     "bias", reals(&g, DIMS(4), bs), "direction", g_text(&g, names[d]), "output_sequence",
                     g_number(&g, ASSAY_BOOL, 1), NULL);
        scalar(xs, 3, d == 1, wi, wh, bs, 0.25, -0.5, want);
        CU_ASSERT_FATAL(result(&g, y, got, 3));
        for (int i = 0; i < 3; i++) CU_ASSERT(fabs(got[i] - want[i]) < 1e-6);
        assay_program_free(g.p);
    }
}

static void lstm_both(void) {
    graph g = graph_new();
    double ahead[3], back[3], got[6];
    val w_ih = reals(&g, DIMS(4, 1), wi), w_hh = reals(&g, DIMS(4, 1), wh), bias = reals(&g, DIMS(4), bs);
    val y = g_op(&g, "lstm", "y", "x", reals(&g, DIMS(3, 1, 1), xs), "initial_h", REALS(&g, DIMS(1, 2), 0.25F, 1), "initial_c",
                 REALS(&g, DIMS(1, 2), -0.5F, 0), "weight_ih", w_ih, "weight_hh", w_hh, "bias", bias, "weight_ih_back", w_hh,
                 "weight_hh_back", w_ih, "direction", g_text(&g, "bidirectional"), "output_sequence", g_number(&g, ASSAY_BOOL, 1),
                 NULL);
    scalar(xs, 3, false, wi, wh, bs, 0.25, -0.5, ahead);
    static const float none[4];
    scalar(xs, 3, true, wh, wi, none, 1, 0, back);
    CU_ASSERT_FATAL(result(&g, y, got, 6));
    for (int i = 0; i < 3; i++) CU_ASSERT(fabs(got[2 * i] - ahead[i]) < 1e-6 && fabs(got[2 * i + 1] - back[i]) < 1e-6);
    assay_program_free(g.p);
}

/* By hand: i = x, f = 1/2, o = 1/2, cell input 2 x - h, all through relu. x = 1: c = 2, h = 1; x = 2: c = 1/2 * 2 + 2 * 3 = 7, h = 3.5. */
static void lstm_relu_and_last_states(void) {
    graph g = graph_new();
    const char *relu[] = {"recurrent_activation", "cell_activation", "activation"};
    double got[1], want[3] = {3.5, 3.5, 7};
    val zero = REALS(&g, DIMS(1, 1), 0), r = g_text(&g, "relu");
    val y = g_op(&g, "lstm", "y", "x", REALS(&g, DIMS(2, 1, 1), 1, 2), "initial_h", zero, "initial_c", zero, "weight_ih",
                 REALS(&g, DIMS(4, 1), 1, 0, 0, 2), "weight_hh", REALS(&g, DIMS(4, 1), 0, 0, 0, -1), "bias",
                 REALS(&g, DIMS(4), 0, 0.5F, 0.5F, 0), relu[0], r, relu[1], r, relu[2], r, NULL);
    CU_ASSERT_FATAL(y != NULL);
    for (uint32_t i = 0; i < 3; i++) CU_ASSERT(result(&g, y->producer->outs[i], got, 1) && got[0] == want[i]);
    assay_program_free(g.p);
}

static void lstm_refuses(void) {
    graph g = graph_new();
    val x = reals(&g, DIMS(3, 1, 1), xs), h = REALS(&g, DIMS(1, 1), 0), w = reals(&g, DIMS(4, 1), wi);
    CU_ASSERT(!g_op(&g, "lstm", "y", "x", x, "initial_h", h, "initial_c", h, "weight_ih", reals(&g, DIMS(3, 1), wi), "weight_hh",
                    w, NULL) &&
              strstr(g.err.message, "weight_ih"));
    CU_ASSERT(!g_op(&g, "lstm", "y", "x", x, "initial_h", h, "initial_c", h, "weight_ih", w, "weight_hh", w, "direction",
                    g_text(&g, "sideways"), NULL) &&
              strstr(g.err.message, "sideways"));
    CU_ASSERT(!g_op(&g, "lstm", "y", "x", x, "initial_h", h, "initial_c", h, "weight_ih", w, "weight_hh", w, "activation",
                    g_text(&g, "softsign"), NULL) &&
              strstr(g.err.message, "softsign"));
    CU_ASSERT(!g_op(&g, "lstm", "y", "x", x, "initial_h", h, "initial_c", h, "weight_ih", w, "weight_hh", w, "direction",
                    g_text(&g, "bidirectional"), NULL) &&
              strstr(g.err.message, "weight_ih_back"));
    assay_program_free(g.p);
}

/* ---- lists */
static val list_of_two(graph *g) {
    return g_op(g, "make_list", "list", "init_length", g_number(g, ASSAY_I32, 2), "dynamic_length", g_number(g, ASSAY_BOOL, 0),
                "elem_shape", g_number(g, ASSAY_I32, 3), "dtype", g_text(g, "fp32"), NULL);
}

static void lists(void) {
    graph g = graph_new();
    double got[6];
    val ls = g_op(&g, "list_scatter", "both", "ls", list_of_two(&g), "indices", INTS(&g, 1, 0), "value",
                  REALS(&g, DIMS(2, 3), 1, 2, 3, 4, 5, 6), NULL);
    ls = g_op(&g, "list_write", "one", "ls", ls, "index", g_number(&g, ASSAY_I32, 1), "value", REALS(&g, DIMS(3), 7, 8, 9), NULL);
    CU_ASSERT_FATAL(result(&g, g_op(&g, "list_gather", "y", "ls", ls, "indices", INTS(&g, 1, 0), NULL), got, 6));
    CU_ASSERT(got[0] == 7 && got[2] == 9 && got[3] == 4 && got[5] == 6);
    CU_ASSERT_FATAL(result(&g, g_op(&g, "list_read", "z", "ls", ls, "index", g_number(&g, ASSAY_I32, 0), NULL), got, 3));
    CU_ASSERT(got[0] == 4 && got[2] == 6);
    CU_ASSERT(result(&g, g_op(&g, "list_length", "n", "ls", ls, NULL), got, 1) && got[0] == 2);
    assay_program_free(g.p);
}

static void lists_refuse(void) {
    graph g = graph_new();
    double got[3];
    val ls = list_of_two(&g), row = REALS(&g, DIMS(3), 7, 8, 9);
    CU_ASSERT(
        !g_op(&g, "list_write", "bad", "ls", ls, "index", g_number(&g, ASSAY_I32, 0), "value", REALS(&g, DIMS(2), 7, 8), NULL) &&
        strstr(g.err.message, "elements"));
    CU_ASSERT(!g_op(&g, "list_read", "bad", "ls", row, "index", g_number(&g, ASSAY_I32, 0), NULL) &&
              strstr(g.err.message, "list"));
    CU_ASSERT(!result(&g, g_op(&g, "list_read", "past", "ls", ls, "index", g_number(&g, ASSAY_I32, 2), NULL), got, 3) &&
              strstr(g.err.message, "outside the list of 2"));
    val w = g_op(&g, "list_write", "far", "ls", ls, "index", g_number(&g, ASSAY_I32, 5), "value", row, NULL);
    CU_ASSERT(!result(&g, g_op(&g, "list_read", "r", "ls", w, "index", g_number(&g, ASSAY_I32, 0), NULL), got, 3) &&
              strstr(g.err.message, "outside the list of 2"));
    assay_program_free(g.p);
}

/* ---- classify: number labels come out as they are, text labels as their place; the first of equals wins */
static assay_mil_const *labels(graph *g, int32_t dtype, const assay_mil_const **items, uint64_t n) {
    assay_mil_type *list = assay_arena_alloc(g->p->arena, sizeof *list);
    assay_mil_const *c = assay_arena_alloc(g->p->arena, sizeof *c);
    *list = (assay_mil_type){.kind = ASSAY_TYPE_LIST, .length = (int64_t)n, .n_sub = 1, .sub = assay_arena_alloc(g->p->arena, 8)};
    list->sub[0] = assay_type_tensor(g->p, dtype, 0, NULL);
    *c = (assay_mil_const){.kind = ASSAY_CONST_ITEMS, .type = list, .items = items, .n_items = n};
    return c;
}
static bool classified(graph *g, const assay_mil_const *classes, val probabilities, double *label, double *all) {
    const assay_mil_binding p = {probabilities, NULL}, c = {NULL, classes};
    const assay_build_arg args[] = {{"probabilities", &p, 1}, {"classes", &c, 1}};
    assay_mil_op *op;
    return assay_block_add_op(g->p, g->f, g->f->block, NULL, "classify", "label", NULL, args, 2, &op, &g->err) == ASSAY_OK &&
           result(g, op->outs[0], label, 1) && result(g, op->outs[1], all, 3);
}

static void classify(void) {
    graph g = graph_new();
    double label, all[3];
    int64_t numbers[3] = {7, -2, 40};
    const assay_mil_const *of_numbers[3], *of_texts[3];
    for (int i = 0; i < 3; i++) {
        assay_tensor t = assay_tensor_view(ASSAY_I64, 0, NULL, &numbers[i]);
        of_numbers[i] = assay_const_tensor(g.p, &t);
        of_texts[i] = assay_const_string(g.p, i == 1 ? "dog" : "cat");
    }
    val x = REALS(&g, DIMS(3), 0.125F, 0.5F, 0.375F), equal = REALS(&g, DIMS(1, 3), 0.25F, 0.375F, 0.375F);
    CU_ASSERT(classified(&g, labels(&g, ASSAY_MIL_INT64, of_numbers, 3), x, &label, all) && label == -2);
    CU_ASSERT(all[0] == 0.125 && all[1] == 0.5 && all[2] == 0.375);
    CU_ASSERT(classified(&g, labels(&g, ASSAY_MIL_STRING, of_texts, 3), equal, &label, all) && label == 1 && all[2] == 0.375);
    CU_ASSERT(!classified(&g, labels(&g, ASSAY_MIL_STRING, of_texts, 2), x, &label, all) &&
              strstr(g.err.message, "3 probabilities for 2 classes"));
    CU_ASSERT(!classified(&g, labels(&g, ASSAY_MIL_FP32, of_numbers, 3), x, &label, all) &&
              strstr(g.err.message, "strings or int64"));
    assay_program_free(g.p);
}

/* ---- constants stand first in the program and are made just before their use */
typedef struct order {
    const char *names[16];
    int n;
} order;
static void note(void *ctx, const assay_mil_op *op, const assay_mil_value *v, const assay_tensor *t) {
    order *o = ctx;
    (void)op, (void)t;
    if (o->n < 16) o->names[o->n++] = v->name;
}

static void constants_late(void) {
    graph g = graph_new();
    order seen = {.n = 0};
    assay_own_tensor r;
    const assay_exec_options o = {.precision = ASSAY_PREC_DECLARED, .threads = 1, .observe = note, .observe_ctx = &seen};
    val a = REALS(&g, DIMS(2), 1, 2), b = REALS(&g, DIMS(2), 3, 4), c = REALS(&g, DIMS(2), 5, 6);
    val x = g_op(&g, "add", "x", "x", a, "y", b, NULL), y = g_op(&g, "add", "y", "x", x, "y", c, NULL);
    CU_ASSERT_FATAL(g_run(&g, y, &o, NULL, 0, &r));
    CU_ASSERT(seen.n == 5 && !strcmp(seen.names[2], "x") && !strcmp(seen.names[3], c->name) && !strcmp(seen.names[4], "y"));
    CU_ASSERT(((float *)r.t.data)[0] == 9 && ((float *)r.t.data)[1] == 12);
    assay_tensor_free(&r);
    assay_program_free(g.p);
}

ASSAY_SUITE("sequence", TEST(lstm_directions), TEST(lstm_both), TEST(lstm_relu_and_last_states), TEST(lstm_refuses), TEST(lists), TEST(lists_refuse), TEST(classify),
            TEST(constants_late))
