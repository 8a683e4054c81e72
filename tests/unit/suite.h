/* tests/unit/suite.h: one CUnit executable per file. Write tests as `static void name(void)` and end the file with
 *   ASSAY_SUITE("base", TEST(rounds_half_to_even), TEST(...))
 * Tests that need ../shared call `const char *s = shared_or_skip();` and return when it is NULL: the test is then counted as
 * skipped and said so; with CI=true that is a failure. */
#ifndef ASSAY_TEST_SUITE_H
#define ASSAY_TEST_SUITE_H
#include <CUnit/Basic.h>
#include <CUnit/CUnit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct assay_test_row { const char *name; CU_TestFunc fn; } assay_test_row;
static int assay_test_skipped;

__attribute__((unused)) static const char *shared_or_skip(void) {
    const char *s = getenv("ASSAY_SHARED");
    struct stat st;
    if (!s || !*s) s = ASSAY_SOURCE_DIR "/../shared";
    if (stat(s, &st) == 0 && S_ISDIR(st.st_mode)) return s;
    const char *ci = getenv("CI");
    if (ci && *ci) CU_FAIL("ASSAY_SHARED is absent in CI");
    printf("SKIPPED (no ASSAY_SHARED) ");
    assay_test_skipped++;
    return NULL;
}

static int assay_run_suite(const char *suite, const assay_test_row *rows, size_t n) {
    if (CU_initialize_registry() != CUE_SUCCESS) return 70;
    CU_pSuite s = CU_add_suite(suite, NULL, NULL);
    if (!s || n == 0) return 70;
    for (size_t i = 0; i < n; i++)
        if (!CU_add_test(s, rows[i].name, rows[i].fn)) return 70;
    CU_basic_set_mode(CU_BRM_VERBOSE);
    CU_basic_run_tests();
    unsigned failed = CU_get_number_of_failures();
    unsigned ran = CU_get_number_of_tests_run();
    CU_cleanup_registry();
    if (failed || ran == 0) return 1;
    return assay_test_skipped == (int)ran ? 77 : 0;
}
#define TEST(f) { #f, f }
#define ASSAY_SUITE(name, ...)                                                                          \
    int main(void) {                                                                                    \
        static const assay_test_row rows[] = { __VA_ARGS__ };                                           \
        return assay_run_suite(name, rows, sizeof rows / sizeof *rows);                                 \
    }
#endif
