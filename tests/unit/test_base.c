/* Errors, memory, names and the parallel loop. */
#include "suite.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/names.h"
#include "base/threads.h"
#include <errno.h>
#include <fenv.h>
#include <stdatomic.h>

static void error_message_is_one_line(void) {
    assay_error e = {0};
    CU_ASSERT_EQUAL(assay_fail(&e, ASSAY_E_INPUT, "a\nb\t%d", 7), ASSAY_E_INPUT);
    CU_ASSERT_STRING_EQUAL(e.message, "a b 7");
    CU_ASSERT_EQUAL(assay_wrap(&e, "arm '%s'", "x"), ASSAY_E_INPUT);
    CU_ASSERT_STRING_EQUAL(e.message, "arm 'x': a b 7");
    errno = ENOENT;
    CU_ASSERT_EQUAL(assay_fail_errno(&e, "f"), ASSAY_E_IO);
    CU_ASSERT_STRING_EQUAL(e.message, "f: No such file or directory");
    CU_ASSERT_EQUAL(assay_fail(NULL, ASSAY_E_RANGE, "x"), ASSAY_E_RANGE);
}

static void error_message_is_cut_between_characters(void) {
    assay_error e = {0};
    char text[700];
    memset(text, 'x', sizeof text);
    for (size_t i = 0; i + 1 < sizeof text; i += 2) memcpy(text + i, "\xC3\xA9", 2);
    text[698] = text[699] = '\0';
    assay_fail(&e, ASSAY_E_INPUT, "%s", text);
    size_t n = strlen(e.message);
    CU_ASSERT(n >= 505 && n < sizeof e.message && n % 2 == 0);
    assay_fail(&e, ASSAY_E_INPUT, "x%s", text);
    CU_ASSERT_EQUAL(strlen(e.message) % 2, 1);
    assay_wrap(&e, "%s", text);
    CU_ASSERT(strlen(e.message) < sizeof e.message);
}

static void exit_codes_follow_the_table(void) {
    CU_ASSERT_EQUAL(assay_exit_code(ASSAY_OK), 0);
    CU_ASSERT_EQUAL(assay_exit_code(ASSAY_E_USAGE), 2);
    CU_ASSERT_EQUAL(assay_exit_code(ASSAY_E_INPUT), 3);
    CU_ASSERT_EQUAL(assay_exit_code(ASSAY_E_IO), 3);
    CU_ASSERT_EQUAL(assay_exit_code(ASSAY_E_INTERNAL), 70);
}

static int order[3], ordered;
static void note(void *p) { order[ordered++] = *(int *)p; }

static void arena_keeps_everything_and_frees_last_first(void) {
    assay_arena *a = assay_arena_new();
    int one = 1, two = 2;
    ordered = 0;
    assay_arena_on_free(a, note, &one);
    assay_arena_on_free(a, note, &two);
    char *s = assay_arena_printf(a, "%s-%d", "x", 3);
    for (size_t i = 0; i < 3000; i++) {
        unsigned char *p = assay_arena_alloc(a, i * 7 % 9000);
        CU_ASSERT_EQUAL_FATAL((uintptr_t)p % 16, 0);
        CU_ASSERT_EQUAL_FATAL(p[0], 0);
        memset(p, 0xEE, i * 7 % 9000);
    }
    CU_ASSERT_STRING_EQUAL(s, "x-3");
    CU_ASSERT_STRING_EQUAL(assay_arena_strndup(a, "abcdef", 2), "ab");
    CU_ASSERT_EQUAL(memcmp(assay_arena_copy(a, "q\0r", 3), "q\0r", 3), 0);
    assay_arena_free(a);
    assay_arena_free(NULL);
    CU_ASSERT(ordered == 2 && order[0] == 2 && order[1] == 1);
}

static void buffer_grows_and_stays_ended(void) {
    assay_buf b = {0};
    for (int i = 0; i < 1000; i++) assay_buf_printf(&b, "%d,", i);
    assay_buf_char(&b, '!');
    CU_ASSERT_EQUAL(b.data[b.len], '\0');
    CU_ASSERT_EQUAL(strlen(b.data), b.len);
    char *s = assay_buf_take(&b);
    CU_ASSERT(b.len == 0 && b.data == NULL);
    free(s);
    s = assay_buf_take(&b);
    CU_ASSERT_STRING_EQUAL(s, "");
    free(s);
    assay_ptrs v = {0};
    for (int i = 0; i < 100; i++) assay_ptrs_push(&v, &order[i % 3]);
    CU_ASSERT_EQUAL(v.len, 100);
    CU_ASSERT_PTR_EQUAL(v.items[99], &order[0]);
    assay_ptrs_free(&v);
}

static void suggests_the_near_name_only(void) {
    static const char *const names[] = { "fixture", "arm", "parity", "latency" };
    CU_ASSERT_STRING_EQUAL(assay_suggest("fixtrue", names, 4), "fixture");
    CU_ASSERT_STRING_EQUAL(assay_suggest("pairty", names, 4), "parity");
    CU_ASSERT_STRING_EQUAL(assay_suggest("amr", names, 4), "arm");
    CU_ASSERT_PTR_NULL(assay_suggest("xyz", names, 4));
    CU_ASSERT_PTR_NULL(assay_suggest("", names, 4));
    CU_ASSERT_PTR_NULL(assay_suggest(NULL, names, 4));
    char out[96];
    CU_ASSERT_STRING_EQUAL(assay_did_you_mean(out, "latenci", names, 4), " (did you mean 'latency'?)");
    CU_ASSERT_STRING_EQUAL(assay_did_you_mean(out, "zzz", names, 4), "");
    const char *const ops[] = {"scaled_dot_product_attention", "reduce_sum", "reduce_max", "reshape"};
    CU_ASSERT_STRING_EQUAL(assay_suggest("scaled_dot", ops, 4), "scaled_dot_product_attention");
    CU_ASSERT_PTR_NULL(assay_suggest("reduce", ops, 4)); /* two begin so */
    CU_ASSERT_PTR_NULL(assay_suggest("sc", ops, 4));
}

static void plain_names_are_safe_as_folders(void) {
    CU_ASSERT(assay_is_plain_name("d750_fused-2.5"));
    CU_ASSERT(!assay_is_plain_name(""));
    CU_ASSERT(!assay_is_plain_name("."));
    CU_ASSERT(!assay_is_plain_name("-x"));
    CU_ASSERT(!assay_is_plain_name("a/b"));
    CU_ASSERT(!assay_is_plain_name("a b"));
    CU_ASSERT(!assay_is_plain_name("caf\xC3\xA9"));
    char longest[66];
    memset(longest, 'a', 65);
    longest[65] = '\0';
    CU_ASSERT(!assay_is_plain_name(longest));
    longest[64] = '\0';
    CU_ASSERT(assay_is_plain_name(longest));
    CU_ASSERT(assay_streq(NULL, NULL) && !assay_streq(NULL, "") && assay_streq("a", "a"));
    CU_ASSERT(assay_starts_with("abc", "ab") && !assay_starts_with("a", "ab"));
    CU_ASSERT(assay_ends_with("abc", "bc") && !assay_ends_with("c", "bc"));
}

typedef struct tally { atomic_int done[1000]; atomic_int wrong_worker, wrong_mode; } tally;
static void count_task(void *ctx, uint64_t i, uint32_t worker) {
    tally *t = ctx;
    atomic_fetch_add(&t->done[i], 1);
    if (worker >= 4) atomic_fetch_add(&t->wrong_worker, 1);
    if (fegetround() != FE_UPWARD) atomic_fetch_add(&t->wrong_mode, 1);
}

static void parallel_loop_does_each_task_once(void) {
    static const uint32_t threads[] = { 0, 1, 2, 4, 3 };
    fesetround(FE_UPWARD);
    for (int round = 0; round < 200; round++) {
        static tally t;
        memset(&t, 0, sizeof t);
        uint64_t n = round % 7 == 0 ? 1000 : (uint64_t)(round % 7);
        assay_parallel(threads[round % 5], n, count_task, &t);
        for (uint64_t i = 0; i < 1000; i++) CU_ASSERT_EQUAL_FATAL(atomic_load(&t.done[i]), i < n);
        CU_ASSERT_EQUAL(atomic_load(&t.wrong_worker), 0);
        CU_ASSERT_EQUAL(atomic_load(&t.wrong_mode), 0);
    }
    fesetround(FE_TONEAREST);
    CU_ASSERT(assay_cpu_count() >= 1);
}

ASSAY_SUITE("base", TEST(error_message_is_one_line), TEST(error_message_is_cut_between_characters), TEST(exit_codes_follow_the_table),
            TEST(arena_keeps_everything_and_frees_last_first), TEST(buffer_grows_and_stays_ended), TEST(suggests_the_near_name_only),
            TEST(plain_names_are_safe_as_folders), TEST(parallel_loop_does_each_task_once))
