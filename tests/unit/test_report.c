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

#define KILLED "{\"experiment\":\"e\",\"verdict\":\"kill\",\"standing\":\"rehearsal\",\"plan_sha256\":\"0123456789abcdef\",\"gates\":[{\"gate\":\"conversion\"," \
               "\"printed\":\"kill\",\"reasons\":[{\"code\":\"not_fused\",\"message\":\"<b>no</b> fused op\"}]}]}"

static void M71_yes_the_leaf_its_reasons_and_the_script(void) {
    char *p = page(KILLED, "/nonexistent"), *at = strstr(p, "<h2>What is next</h2>");
    CU_ASSERT_PTR_NOT_NULL_FATAL(at);
    CU_ASSERT_PTR_NOT_NULL(strstr(at, "<code>decomposed</code> of M71"));
    CU_ASSERT_PTR_NOT_NULL(strstr(at, "<td>not_fused</td><td>&lt;b&gt;no&lt;/b&gt; fused op</td>"));
    CU_ASSERT_PTR_NOT_NULL(strstr(at, "<li>confirm the target"));
    CU_ASSERT_PTR_NOT_NULL(strstr(at, "name = &quot;e-next&quot;"));
    free(p);
}

static void M71_no_a_receipt_without_a_verdict_has_no_leaf(void) {
    char *p = page("{\"experiment\":\"e\",\"gates\":[]}", "/nonexistent");
    CU_ASSERT_PTR_NULL(strstr(p, "What is next"));
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

/* Writes a trial of `blocks` ABBA, BAAB ... blocks whose candidate takes `candidate_ns` where the control takes 2 ms. */
static void write_trial(const char *dir, const char *id, uint32_t blocks, uint64_t candidate_ns) {
    char trial[96], file[128];
    assay_sample s[64] = { 0 };
    uint32_t n = 0;
    for (uint32_t b = 0; b < blocks && n + 4 <= 64; b++)
        for (uint32_t k = 0; k < 4; k++) {
            uint32_t arm = (k == 1 || k == 2) != (b % 2 == 1);
            s[n++] = (assay_sample){ .block = b, .slot = k, .arm = arm, .dur_ns = (arm ? candidate_ns : 2000000) + 1000 * (uint64_t)b, .flags = b == 3 };
        }
    snprintf(trial, sizeof trial, "%s/%s", dir, id);
    snprintf(file, sizeof file, "%s/samples.bin", trial);
    CU_ASSERT_EQUAL(assay_mkdirs(trial, NULL), ASSAY_OK);
    CU_ASSERT_EQUAL(assay_write_file(file, s, n * sizeof *s, NULL), ASSAY_OK);
}

static size_t count_of(const char *text, const char *what) {
    size_t n = 0;
    for (const char *at = strstr(text, what); at; at = strstr(at + 1, what)) n++;
    return n;
}

#define TIMED(id, a, b) "{\"kind\":\"timing\",\"arm\":\"" a "\",\"arm_b\":\"" b "\",\"fixture\":\"x\",\"trial\":\"" id "\"}"
#define JUDGED "{\"gate\":\"latency\",\"params\":{\"arm\":\"new\",\"layers\":10,\"min_prize_ms\":5},\"metrics\":{\"gate\":{\"gain_ms\":1,\"gain_ms_ci_low\":0.9,\"gain_ms_ci_high\":1.1," \
               "\"interval_method\":\"process-t\"},\"paired\":{\"mean_delta\":-1,\"t_ci95_mean\":{\"lo\":-1.2,\"hi\":-0.8},\"bca_ci95_mean\":null}}}"

static void pilot_stands_beside_the_comparison(void) {
    char dir[] = "/tmp/assay-report-XXXXXX";
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(dir));
    write_trial(dir, "aa", 8, 2000000), write_trial(dir, "b1", 8, 1000000), write_trial(dir, "b2", 8, 1000000);
    char *p = page("{\"experiment\":\"e\",\"gates\":[" JUDGED "],\"evidence\":[" TIMED("aa", "old", "old") "," TIMED("b1", "old", "new") "," TIMED("b2", "old", "new") "]}", dir);
    CU_ASSERT_EQUAL(count_of(p, "<h3>"), 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(p, "<h3>old against new on x</h3>"));
    CU_ASSERT_PTR_NOT_NULL(strstr(p, "A/A pilot: the control against itself"));
    CU_ASSERT_PTR_NOT_NULL(strstr(p, ">8 blocks in time order"));
    CU_ASSERT_PTR_NOT_NULL(strstr(p, ">16 blocks in time order"));
    CU_ASSERT_EQUAL(count_of(p, "class=\"dots\""), 1);              /* one border between two processes */
    CU_ASSERT_PTR_NOT_NULL(strstr(p, "Solid: control (28, 0 beyond"));  /* the dropped block of each process is left out */
    CU_ASSERT_PTR_NOT_NULL(strstr(p, "decides: process-t"));
    CU_ASSERT_PTR_NOT_NULL(strstr(p, "prize per layer"));
    CU_ASSERT_PTR_NULL(strstr(p, "mean, BCa"));                       /* undefined is not drawn */
    free(p);
    p = page("{\"experiment\":\"e\",\"gates\":[],\"evidence\":[" TIMED("b1", "old", "new") "]}", dir);
    CU_ASSERT_PTR_NULL(strstr(p, "A/A pilot"));                       /* no pilot, no judge: only what is there */
    CU_ASSERT_PTR_NULL(strstr(p, "decides:"));
    CU_ASSERT_EQUAL(count_of(p, "class=\"dots\""), 0);
    free(p);
    p = page("{\"experiment\":\"e\",\"gates\":[],\"evidence\":[" TIMED("aa", "old", "old") "]}", dir);
    CU_ASSERT_PTR_NOT_NULL(strstr(p, "A/A pilot: the control"));      /* a pilot after which the run ended */
    CU_ASSERT_PTR_NULL(strstr(p, "A/B:"));
    free(p);
    assay_remove_tree(dir, NULL);
}

ASSAY_SUITE("report", TEST(text_is_escaped), TEST(undefined_is_not_zero), TEST(unsealed_is_exploratory), TEST(censuses_stand_side_by_side), TEST(M71_yes_the_leaf_its_reasons_and_the_script), TEST(M71_no_a_receipt_without_a_verdict_has_no_leaf), TEST(samples_are_drawn),
            TEST(pilot_stands_beside_the_comparison))
