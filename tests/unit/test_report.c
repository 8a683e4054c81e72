/* tests/unit/test_report.c: the HTML page is a view: it escapes, shows undefined as undefined, and draws what samples there are. */
#include "unit/suite.h"
#include "report/html.h"
#include "base/fs.h"
#include "assay/types.h"
#include <unistd.h>

static char *page(const char *json, const char *evidence) {
    assay_json *r = NULL;
    assay_buf out = { 0 };
    CU_ASSERT_EQUAL_FATAL(assay_json_parse(json, strlen(json), "receipt", &r, NULL), ASSAY_OK);
    assay_report_page(r, evidence, &out);
    assay_json_free(r);
    return out.data;
}

static void text_is_escaped(void) {
    char *p = page("{\"experiment\":\"<script>alert(1)</script>\",\"verdict\":\"kill\",\"gates\":[{\"gate\":\"g\",\"printed\":\"kill\","
                   "\"reasons\":[{\"code\":\"x\",\"message\":\"a < b & \\\"c\\\"\",\"where\":\"\"}]}]}", "/nonexistent");
    CU_ASSERT_PTR_NULL(strstr(p, "<script>"));
    CU_ASSERT_PTR_NOT_NULL(strstr(p, "&lt;script&gt;"));
    CU_ASSERT_PTR_NOT_NULL(strstr(p, "a &lt; b &amp; &quot;c&quot;"));
    free(p);
}

static void undefined_is_not_zero(void) {
    char *p = page("{\"experiment\":\"e\",\"gates\":[{\"gate\":\"parity\",\"printed\":\"kill\",\"metrics\":{\"candidate\":{\"cosine\":null}}}]}", "/nonexistent");
    CU_ASSERT_PTR_NOT_NULL(strstr(p, "<i>undefined</i>"));
    free(p);
}

static void unsealed_is_exploratory(void) {
    char *a = page("{\"experiment\":\"e\",\"sealed\":false,\"gates\":[]}", "/nonexistent"), *b = page("{\"experiment\":\"e\",\"sealed\":true,\"gates\":[]}", "/nonexistent");
    CU_ASSERT_PTR_NOT_NULL(strstr(a, "exploratory"));
    CU_ASSERT_PTR_NULL(strstr(b, "exploratory"));
    free(a);
    free(b);
}

static void censuses_stand_side_by_side(void) {
    char *p = page("{\"experiment\":\"e\",\"gates\":[{\"gate\":\"conversion\",\"printed\":\"pass\",\"metrics\":{\"control\":{\"ops_reachable\":{\"softmax\":1}},"
                   "\"candidate\":{\"ops_reachable\":{\"linear\":3}}}}]}", "/nonexistent");
    CU_ASSERT_PTR_NOT_NULL(strstr(p, "<td>softmax</td><td>1</td><td>0</td>"));
    CU_ASSERT_PTR_NOT_NULL(strstr(p, "<td>linear</td><td>0</td><td>3</td>"));
    free(p);
}

static void samples_are_drawn(void) {
    char dir[] = "/tmp/assay-report-XXXXXX", trial[64], file[96];
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(dir));
    snprintf(trial, sizeof trial, "%s/0123456789abcdef", dir);
    snprintf(file, sizeof file, "%s/samples.bin", trial);
    CU_ASSERT_EQUAL(assay_mkdirs(trial, NULL), ASSAY_OK);
    assay_sample s[4] = { { .arm = 0, .dur_ns = 2000000 }, { .arm = 1, .dur_ns = 1000000 }, { .arm = 1, .dur_ns = 1500000 }, { .arm = 0, .dur_ns = 2500000 } };
    CU_ASSERT_EQUAL(assay_write_file(file, s, sizeof s, NULL), ASSAY_OK);
    char *p = page("{\"experiment\":\"e\",\"gates\":[],\"evidence\":[{\"kind\":\"timing\",\"trial\":\"0123456789abcdef\"}]}", dir);
    CU_ASSERT_PTR_NOT_NULL(strstr(p, "<circle"));
    CU_ASSERT_PTR_NOT_NULL(strstr(p, "4 predictions in time order"));
    free(p);
    CU_ASSERT_EQUAL(assay_write_file(file, s, sizeof s - 3, NULL), ASSAY_OK);       /* damaged: no picture, no crash */
    p = page("{\"experiment\":\"e\",\"gates\":[],\"evidence\":[{\"kind\":\"timing\",\"trial\":\"0123456789abcdef\"}]}", dir);
    CU_ASSERT_PTR_NULL(strstr(p, "<circle"));
    free(p);
    assay_remove_tree(dir, NULL);
}

ASSAY_SUITE("report", TEST(text_is_escaped), TEST(undefined_is_not_zero), TEST(unsealed_is_exploratory), TEST(censuses_stand_side_by_side), TEST(samples_are_drawn))
