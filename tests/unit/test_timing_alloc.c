/* The harness allocates nothing inside a timed block, nor do the guards between blocks: counted by an interposer
 * (tests/plugins/count_alloc.c). Without it the tests are skipped. */
#include "suite.h"
#include "graph.h"
#include "run/guard.h"
#include "run/timing.h"
#include <dlfcn.h>

typedef unsigned long (*counter)(void);

static counter interposer_or_skip(void) {
    void *f = dlsym(RTLD_DEFAULT, "assay_test_allocations");
    counter count;
    memcpy(&count, &f, sizeof count);
    if (!f) {
        printf("SKIPPED (no interposer) ");
        assay_test_skipped++;
    }
    return count;
}

static assay_status do_nothing(void *session, void *binding, void *state, assay_error *err) {
    (void)session, (void)binding, (void)state, (void)err;
    return ASSAY_OK;
}
static assay_status do_allocate(void *session, void *binding, void *state, assay_error *err) {
    (void)session, (void)state, (void)err;
    free(*(void **)binding);
    *(void **)binding = malloc(32);
    return ASSAY_OK;
}

static unsigned long allocations_of(counter count, const assay_timed_arm *arms, uint32_t blocks) {
    assay_sample s[ASSAY_SLOTS];
    uint64_t changed = 0;
    unsigned long before = count();
    for (uint32_t i = 0; i < blocks; i++)
        if (assay_timing_block(arms, 0, i, i % 2, 0, s, &changed, NULL) != ASSAY_OK) CU_FAIL("the block failed");
    CU_ASSERT_EQUAL(changed, 0);
    return count() - before;
}

static void the_harness_allocates_nothing(void) {
    static const assay_backend empty = {.struct_size = sizeof empty, .name = "empty", .predict = do_nothing};
    counter count = interposer_or_skip();
    assay_timed_input in = {.n_out = 0};
    assay_timed_arm arms[2] = {{.b = &empty, .inputs = &in, .n_inputs = 1}, {.b = &empty, .inputs = &in, .n_inputs = 1}};
    if (count) CU_ASSERT_EQUAL(allocations_of(count, arms, 1000), 0);
}
static void an_allocating_arm_is_caught(void) {
    static const assay_backend greedy = {.struct_size = sizeof greedy, .name = "greedy", .predict = do_allocate};
    counter count = interposer_or_skip();
    void *kept = NULL;
    assay_timed_input in = {.binding = &kept, .n_out = 0};
    assay_timed_arm arms[2] = {{.b = &greedy, .inputs = &in, .n_inputs = 1}, {.b = &greedy, .inputs = &in, .n_inputs = 1}};
    if (count) CU_ASSERT_EQUAL(allocations_of(count, arms, 10), 40);
    free(kept);
}
/* Attention as it is spelled out and the fused op, large enough for mapped blocks, small pieces and every kernel's own memory. */
enum { H = 4, S = 600, E = 64 };
static graph attention(void) {
    static uint16_t ones[E * E];
    graph g = graph_new();
    const int64_t shape[] = {1, H, S, E}, square[] = {E, E};
    assay_tensor w = assay_tensor_view(ASSAY_F16, 2, square, ones);
    for (int i = 0; i < E * E; i++) ones[i] = 0x2c00;                /* 2^-4 */
    val x = g_input(&g, "x", ASSAY_MIL_FP16, 4, shape), weight = g_const(&g, "w", &w);
    val q = g_op(&g, "linear", "q", "x", x, "weight", weight, NULL), yes = g_number(&g, ASSAY_BOOL, 1);
    val scores = g_op(&g, "matmul", "scores", "x", q, "y", x, "transpose_y", yes, NULL);
    val scaled = g_op(&g, "mul", "scaled", "x", scores, "y", g_number(&g, ASSAY_F16, 0.125), NULL);
    val p = g_op(&g, "softmax", "p", "x", scaled, "axis", g_number(&g, ASSAY_I32, -1), NULL);
    val y = g_op(&g, "matmul", "y", "x", p, "y", x, NULL);
    val fused = g_op(&g, "scaled_dot_product_attention", "fused", "query", q, "key", x, "value", y, NULL);
    val rows = g_op(&g, "transpose", "rows", "x", fused, "perm", INTS(&g, 0, 2, 1, 3), NULL);
    val out = g_op(&g, "reshape", "out", "x", rows, "shape", INTS(&g, 1, S, H * E), NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    assay_function_set_outputs(g.p, g.f, &out, 1, NULL);
    assay_program_index(g.p);
    return g;
}

/* Once it is warm; on one thread, for which thread of several takes a task first is chance. */
static void expect_predictions_without_allocation(counter count, int32_t precision) {
    const int64_t in_shape[] = {1, H, S, E}, out_shape[] = {1, S, H * E};
    const assay_backend *b = &assay_reference_backend;
    graph g = attention();
    assay_exec *e = NULL;
    assay_own_tensor x, y;
    void *bound = NULL;
    CU_ASSERT_EQUAL_FATAL(assay_exec_open(g.p, &(assay_exec_options){.threads = 1, .precision = precision}, &e, NULL), ASSAY_OK);
    void *session = assay_reference_session(e);
    assay_tensor_new(ASSAY_F16, 4, in_shape, &x, NULL);
    assay_tensor_new(ASSAY_F16, 3, out_shape, &y, NULL);
    assay_named_tensor in = {"x", x.t}, out = {"out", y.t};
    CU_ASSERT_EQUAL_FATAL(b->bind(session, &in, 1, &out, 1, &bound, NULL), ASSAY_OK);
    unsigned long before = 0;
    bool ok = true;
    for (int i = 0; i < 6; i++) {
        if (i == 3) before = count();
        ok &= b->predict(session, bound, NULL, NULL) == ASSAY_OK;
    }
    const unsigned long asked = count() - before;                    /* before CUnit allocates its own */
    CU_ASSERT_TRUE(ok);
    CU_ASSERT_EQUAL(asked, 0);
    b->unbind(session, bound);
    b->close(session);
    assay_tensor_free(&x);
    assay_tensor_free(&y);
    assay_program_free(g.p);
}

static void the_reference_backend_allocates_nothing_once_warm(void) {
    counter count = interposer_or_skip();
    if (!count) return;
    expect_predictions_without_allocation(count, ASSAY_PREC_DECLARED);
    expect_predictions_without_allocation(count, ASSAY_PREC_FP64);
}

static void the_guards_allocate_nothing(void) {
    counter count = interposer_or_skip();
    if (!count) return;
    assay_guard_state state;
    assay_guard *g = assay_guard_open("", NULL, 0.02);
    unsigned long before = count();
    for (int i = 0; i < 100; i++) assay_guard_read(g, &state);
    CU_ASSERT_EQUAL(count() - before, 0);
    assay_guard_close(g);
}

ASSAY_SUITE("timing without allocation", TEST(the_harness_allocates_nothing), TEST(an_allocating_arm_is_caught), TEST(the_reference_backend_allocates_nothing_once_warm), TEST(the_guards_allocate_nothing))
