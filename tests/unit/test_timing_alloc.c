/* The harness allocates nothing inside a timed block, nor do the guards between blocks: counted by an interposer
 * (tests/plugins/count_alloc.c). Without it the tests are skipped. */
#include "suite.h"
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
static void the_guards_allocate_nothing(void) {
    counter count = interposer_or_skip();
    if (!count) return;
    assay_guard_state state;
    assay_guard *g = assay_guard_open("", NULL);
    unsigned long before = count();
    for (int i = 0; i < 100; i++) assay_guard_read(g, &state);
    CU_ASSERT_EQUAL(count() - before, 0);
    assay_guard_close(g);
}

ASSAY_SUITE("timing without allocation", TEST(the_harness_allocates_nothing), TEST(an_allocating_arm_is_caught), TEST(the_guards_allocate_nothing))
