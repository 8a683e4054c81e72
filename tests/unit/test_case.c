/* The case runner: the shared cases, a falsified expectation, comparing, and each transform on good and bad input. */
#include "unit/suite.h"
#include "base/fs.h"
#include "run/case.h"
#include <math.h>
#include <unistd.h>

static assay_registry *registry;
static const assay_case_tools *tools(void) {
    static assay_case_tools t;
    if (!registry) {
        registry = assay_registry_new();
        assay_registry_load_all(registry, ASSAY_BUILD_DIR "/bin/gates");
        t.registry = registry;
    }
    return &t;
}

static assay_json *parse(const char *text) {
    assay_json *j = NULL;
    CU_ASSERT_EQUAL_FATAL(assay_json_parse(text, strlen(text), "test", &j, NULL), ASSAY_OK);
    return j;
}

/* Gates that come with later issues have cases too. */
static bool gate_is_there(const char *dir) {
    char *path = assay_path_join(dir, "expected.json");
    assay_json *e = NULL;
    bool there = assay_json_read_file(path, &e, NULL) == ASSAY_OK;
    const char *gate = assay_json_string(e, "gate", "");
    if (strcmp(gate, "dead-path") != 0) there = there && assay_registry_gate(tools()->registry, gate, NULL) != NULL;
    assay_json_free(e);
    free(path);
    return there;
}

static void every_shared_case_is_judged_right(void) {
    const char *shared = shared_or_skip();
    if (!shared) return;
    char *root = assay_path_join(shared, "cases"), **names = NULL;
    size_t n = 0, judged = 0;
    CU_ASSERT_EQUAL_FATAL(assay_list_dir(root, &names, &n, NULL), ASSAY_OK);
    for (size_t i = 0; i < n; i++) {
        char *dir = assay_path_join(root, names[i]);
        assay_json *row = NULL;
        assay_error err = {0};
        if (assay_is_dir(dir) && gate_is_there(dir)) {
            assay_status st = assay_case_run(tools(), dir, &row, &err);
            CU_ASSERT(st == ASSAY_OK && assay_json_bool(row, "ok", false));
            if (st)
                printf("\n  %s\n", err.message);
            else if (!assay_json_bool(row, "ok", false))
                printf("\n  %s: %s\n", names[i], assay_json_string(row, "difference", ""));
            judged++;
        }
        assay_json_free(row);
        free(dir);
    }
    CU_ASSERT(judged >= 35);
    assay_list_free(names, n);
    free(root);
}

/* A copy of one of our own cases with one expectation changed. */
static char *falsified(const char *path, assay_json *value) {
    char *from = assay_xstrdup(ASSAY_SOURCE_DIR "/plugins/gates/parity/cases/nan"),
         *to = assay_xprintf("%s/tests/case-%d", ASSAY_BUILD_DIR, (int)getpid());
    char *file = assay_path_join(to, "expected.json");
    assay_json *e = NULL;
    CU_ASSERT_EQUAL_FATAL(assay_remove_tree(to, NULL), ASSAY_OK);
    CU_ASSERT_EQUAL_FATAL(assay_copy_tree(from, to, NULL), ASSAY_OK);
    CU_ASSERT_EQUAL_FATAL(assay_json_read_file(file, &e, NULL), ASSAY_OK);
    const char *dot = strrchr(path, '.');
    char *parent = assay_xstrndup(path, dot ? (size_t)(dot - path) : 0);
    assay_json_set(dot ? assay_json_path(e, parent) : e, dot ? dot + 1 : path, value);
    char *text = assay_json_print(e);
    CU_ASSERT_EQUAL_FATAL(assay_write_file(file, text, strlen(text), NULL), ASSAY_OK);
    free(text), free(parent), free(file), free(from);
    assay_json_free(e);
    return to;
}
static void differs(const char *path, const char *value, const char *difference) {
    char *dir = falsified(path, parse(value));
    assay_json *row = NULL;
    CU_ASSERT_EQUAL_FATAL(assay_case_run(tools(), dir, &row, NULL), ASSAY_OK);
    CU_ASSERT(!assay_json_bool(row, "ok", true));
    CU_ASSERT(strstr(assay_json_string(row, "difference", ""), difference) != NULL);
    if (!strstr(assay_json_string(row, "difference", ""), difference))
        printf("\n  %s\n", assay_json_string(row, "difference", ""));
    assay_json_free(row);
    CU_ASSERT_EQUAL(assay_remove_tree(dir, NULL), ASSAY_OK);
    free(dir);
}
static void a_falsified_expectation_fails(void) {
    differs("parts.main.expected.verdict", "\"pass\"", "got kill, expected pass");
    differs("parts.main.expected.reasons", "[\"nonfinite_output\",\"no_response\"]", "'no_response' is missing");
    differs("parts.main.expected.metrics.candidate.nan_cand", "2", "candidate.nan_cand: got 1, expected 2");
    differs("parts.main.expected.metrics.candidate.cosine", "1", "candidate.cosine: got null, expected 1");
    differs("parts.main.expected.metrics.candidate.invented", "0", "candidate.invented: got nothing, expected 0");
    differs("parts.main.expected.must_not", "[\"kill\"]", "verdict");
    differs("expected.verdict", "\"inconclusive\"", "got kill, expected inconclusive");
}
static void broken_folders_are_errors(void) {
    const struct {
        const char *path, *value, *message;
    } all[] = {
        {"schema", "\"case-expected/1\"", "case-expected/2"},
        {"parts", "{}", "nothing would be judged"},
        {"parts.main.inputs.candidate.file", "\"../x.npy\"", "not a file of the case folder"},
        {"parts.main.inputs.candidate.file", "\"absent.npy\"", "absent.npy"},
        {"parts.main.inputs.candidate.shape", "[1,2,12,9]", "another type or shape"},
        {"parts.main.params", "{\"cosine_mim\":1}", "did you mean 'cosine_min'"},
        {"parts.main.transform", "[{\"name\":\"stride\"}]", "did you mean 'strides'"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char *dir = falsified(all[i].path, parse(all[i].value));
        assay_json *row = NULL;
        assay_error err = {0};
        CU_ASSERT(assay_case_run(tools(), dir, &row, &err) != ASSAY_OK);
        CU_ASSERT(strstr(err.message, all[i].message) != NULL);
        if (!strstr(err.message, all[i].message)) printf("\n  %s\n", err.message);
        CU_ASSERT_EQUAL(assay_remove_tree(dir, NULL), ASSAY_OK);
        free(dir);
    }
    assay_error err = {0};
    assay_json *row = NULL;
    CU_ASSERT(assay_case_run(tools(), ASSAY_SOURCE_DIR, &row, &err) != ASSAY_OK);
    CU_ASSERT(strstr(err.message, "not a case folder") != NULL);
}

static bool agrees(const char *got, const char *expected, double rel, double abs) {
    assay_json *g = parse(got), *e = parse(expected);
    char *diff = NULL;
    bool same = assay_case_agrees(g, e, rel, abs, "", &diff);
    CU_ASSERT(same == (diff == NULL));
    free(diff);
    assay_json_free(g);
    assay_json_free(e);
    return same;
}
static void numbers_intervals_and_the_rest(void) {
    CU_ASSERT(agrees("1.0000000001", "1", 1e-9, 0) && !agrees("1.00001", "1", 1e-9, 0));
    CU_ASSERT(agrees("1e-10", "0", 0, 1e-9) && !agrees("null", "0", 1, 1) && !agrees("0", "null", 1, 1));
    CU_ASSERT(agrees("null", "null", 0, 0) && agrees("null", "\"inf\"", 0, 0) && !agrees("3", "\"inf\"", 0, 0));
    CU_ASSERT(agrees("{\"a\":1,\"b\":2}", "{\"a\":1}", 0, 0) && !agrees("{\"b\":2}", "{\"a\":1}", 0, 0));
    CU_ASSERT(agrees("[1,2]", "[1,2]", 0, 0) && !agrees("[1,2,3]", "[1,2]", 0, 0) && !agrees("[2,1]", "[1,2]", 0, 0));
    CU_ASSERT(agrees("{\"lo\":1.1,\"hi\":2}", "{\"lo\":1,\"hi\":2,\"tol\":0.2,\"method\":\"boot\"}", 0, 0));
    CU_ASSERT(!agrees("{\"lo\":1.3,\"hi\":2}", "{\"lo\":1,\"hi\":2,\"tol\":0.2}", 0, 0) &&
              !agrees("{\"lo\":1}", "{\"lo\":1,\"hi\":2,\"tol\":9}", 0, 0));
    CU_ASSERT(!agrees("{\"lo\":1,\"hi\":2,\"rank_lo\":3}", "{\"lo\":1,\"hi\":2,\"rank_lo\":4}", 0, 0));
    CU_ASSERT(agrees("true", "true", 0, 0) && !agrees("false", "true", 0, 0) && !agrees("\"a\"", "\"b\"", 0, 0));
}
static void the_worst_verdict_wins(void) {
    CU_ASSERT_STRING_EQUAL(assay_case_worst("pass", "kill"), "kill");
    CU_ASSERT_STRING_EQUAL(assay_case_worst("invalid", "kill"), "invalid");
    CU_ASSERT_STRING_EQUAL(assay_case_worst("not-measured", "pass"), "not-measured");
    CU_ASSERT_STRING_EQUAL(assay_case_worst(NULL, "inconclusive"), "inconclusive");
}

/* Candidate 0..11 as [3,4]; returns the elements after the transform, or the error's message. */
static void transformed(const char *transform, const char *want) {
    assay_evidence_set *ev = assay_evidence_new();
    const int64_t shape[] = {3, 4};
    static const char *const roles[] = {"candidate", "valid"};
    for (int k = 0; k < 2; k++) {
        assay_own_tensor t;
        CU_ASSERT_EQUAL_FATAL(assay_tensor_new(ASSAY_F32, 2, shape, &t, NULL), ASSAY_OK);
        for (int i = 0; i < 12; i++) ((float *)t.t.data)[i] = k ? (float)(i % 5 == 0) : (float)i;
        assay_evidence_add_tensor(ev, roles[k], "", NULL, 0, "", &t);
    }
    assay_json *t = parse(transform), *params = parse("{\"head_axis\":0,\"cosine_min\":0.5}"), *extra = assay_json_object();
    assay_error err = {0};
    assay_buf b = {0};
    if (assay_case_transform(t, ev, params, extra, &err) == ASSAY_OK) {
        const assay_tensor *c = &assay_evidence_at(ev, 0)->tensor;
        for (int64_t i = 0; i < assay_tensor_count(c); i++)
            assay_buf_printf(&b, "%s%g", i ? " " : "", assay_load_f64(c->dtype, assay_tensor_at(c, i)));
    } else
        assay_buf_str(&b, err.message);
    CU_ASSERT(strstr(b.data, want) != NULL);
    if (!strstr(b.data, want)) printf("\n  got %s\n  want %s\n", b.data, want);
    assay_buf_free(&b);
    assay_json_free(t), assay_json_free(params), assay_json_free(extra);
    assay_evidence_free(ev);
}
static void transforms_re_read_the_elements(void) {
    transformed("{\"name\":\"region\",\"role\":\"valid\"}", "0 5 10");
    transformed("{\"name\":\"drop_index\",\"index\":3}", "0 1 2 4 5 6 7 8 9 10 11");
    transformed("{\"name\":\"permute_axis\",\"role\":\"candidate\",\"axis\":1,\"order\":[3,2,1,0]}", "3 2 1 0 7 6 5 4 11 10 9 8");
    transformed("{\"name\":\"strides\",\"role\":\"candidate\",\"shape\":[2,2],\"strides\":[4,2],\"offset\":1}", "1 3 5 7");
    transformed("{\"name\":\"step\",\"axis\":0,\"index\":2}", "8 9 10 11");
}
static void transforms_refuse_what_is_not_there(void) {
    transformed("{\"name\":\"region\",\"role\":\"mask\"}", "no tensor with the role");
    transformed("{\"name\":\"drop_index\",\"index\":12}", "not an element");
    transformed("{\"name\":\"drop_index\"}", "not an element");
    transformed("{\"name\":\"permute_axis\",\"axis\":2,\"order\":[0]}", "axis");
    transformed("{\"name\":\"permute_axis\",\"axis\":0,\"order\":[0,1,3]}", "order");
    transformed("{\"name\":\"strides\",\"shape\":[4,4],\"strides\":[4,1],\"offset\":0}", "past the end");
    transformed("{\"name\":\"strides\",\"shape\":[2],\"strides\":[1099511627776],\"offset\":0}", "past the end");
    transformed("{\"name\":\"strides\",\"shape\":[2,2],\"strides\":[4],\"offset\":0}", "equally long");
    transformed("{\"name\":\"strides\",\"shape\":[1],\"strides\":[1],\"offset\":-1}", "past the end");
    transformed("{\"name\":\"step\",\"axis\":0,\"index\":3}", "index");
}

ASSAY_SUITE("case", TEST(every_shared_case_is_judged_right), TEST(a_falsified_expectation_fails), TEST(broken_folders_are_errors),
            TEST(numbers_intervals_and_the_rest), TEST(the_worst_verdict_wins), TEST(transforms_re_read_the_elements),
            TEST(transforms_refuse_what_is_not_there))
