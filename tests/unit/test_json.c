/* JSON: strict reading, canonical writing, numbers that read back. */
#include "suite.h"
#include "base/json.h"
#include <math.h>

static assay_json *parse(const char *text, assay_error *err) {
    assay_json *j = NULL;
    assay_status status = assay_json_parse(text, strlen(text), "t", &j, err);
    if ((status == ASSAY_OK) != (j != NULL)) CU_FAIL("status and result differ");
    return j;
}

static void check_text(const char *in, const char *canonical) {
    assay_json *j = parse(in, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(j);
    char *out = assay_json_print(j);
    CU_ASSERT_STRING_EQUAL(out, canonical);
    free(out);
    assay_json_free(j);
}

static void writes_sorted_keys_without_spaces(void) {
    check_text(" { \"b\" : [ 1 , true , null ], \"a\" : \"\\u00e9\\n\\u0001\", \"B\" : -0.0 } ", "{\"B\":0,\"a\":\"\xC3\xA9\\n\\u0001\",\"b\":[1,true,null]}");
    check_text("[]", "[]");
    check_text("{}", "{}");
    check_text("\"\\ud83d\\ude00\\/\"", "\"\xF0\x9F\x98\x80/\"");
    check_text("[1e2,0.1,1.5e300,1e-320,123456789012345678]", "[100,0.1,1.5e+300,9.99988867182683e-321,1.2345678901234568e+17]");
}

static void refuses_what_is_not_strict(void) {
    static const char *const wrong[] = {
        "", " ", "{", "[1,]", "[1 2]", "{\"a\":1,}", "{a:1}", "{\"a\" 1}", "{\"a\":1,\"a\":2}", "{\"a\":1,\"\\u0061\":2}", "[{\"x\":{\"k\":1,\"k\":1}}]",
        "1 2", "{} x", "01", "-", "-01", "1.", ".5", "+1", "1e", "1e+", "1e999", "NaN", "Infinity", "tru", "nul", "'a'", "\"a", "\"\\x\"", "\"\\u12\"",
        "\"\\u0000\"", "\"\\ud800\"", "\"\\udc00\"", "\"\\ud800\\u0041\"", "\"\t\"", "\"\xFF\"", "\"\xC0\xAF\"", "\"\xED\xA0\x80\"", "\"\xF5\x80\x80\x80\"", "\xEF\xBB\xBF{}", "[1]]",
        "1111111111111111111111111111111111111111111111111111111111111111111111",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assay_error e = {0};
        assay_json *j = parse(wrong[i], &e);
        if (j) printf("accepted: %s\n", wrong[i]);
        CU_ASSERT_PTR_NULL(j);
        CU_ASSERT_EQUAL(e.code, ASSAY_E_INPUT);
        CU_ASSERT(strncmp(e.message, "t: ", 3) == 0);
    }
    assay_json *j;
    CU_ASSERT_NOT_EQUAL(assay_json_parse("[1]\0", 4, "t", &j, NULL), ASSAY_OK);
    CU_ASSERT_NOT_EQUAL(assay_json_parse("\"a\0b\"", 5, "t", &j, NULL), ASSAY_OK);
}

static void names_the_byte_and_the_key(void) {
    assay_error e = {0};
    CU_ASSERT_PTR_NULL(parse("[1,2,x]", &e));
    CU_ASSERT_STRING_EQUAL(e.message, "t: byte 5: not a JSON value");
    CU_ASSERT_PTR_NULL(parse("{\"k\":1,\"k\":1}", &e));
    CU_ASSERT_STRING_EQUAL(e.message, "t: key 'k' stands twice in one object; keep one");
}

static void depth_64_is_the_last(void) {
    char text[200];
    for (int depth = 64; depth <= 65; depth++) {
        memset(text, '[', (size_t)depth);
        memset(text + depth, ']', (size_t)depth);
        text[2 * depth] = '\0';
        assay_json *j = parse(text, NULL);
        CU_ASSERT_EQUAL(j != NULL, depth == 64);
        assay_json_free(j);
    }
}

static void numbers_read_back(void) {
    static const double v[] = { 0.1, 1.0 / 3, 5e-324, 1.7976931348623157e308, 2.2250738585072014e-308, 9007199254740992.0, 9007199254740993.0, 1e21, -0.30000000000000004, 123456789.125 };
    char out[40];
    for (size_t i = 0; i < sizeof v / sizeof *v; i++) {
        assay_json_format_number(v[i], out);
        CU_ASSERT_EQUAL(strtod(out, NULL), v[i]);
    }
    uint64_t s = 1;
    for (int i = 0; i < 20000; i++) {
        s = s * 6364136223846793005u + 1442695040888963407u;
        double d;
        memcpy(&d, &s, sizeof d);
        if (!isfinite(d)) continue;
        assay_json_format_number(d, out);
        CU_ASSERT_EQUAL_FATAL(strtod(out, NULL), d);
    }
    assay_json_format_number(1e15, out);
    CU_ASSERT_STRING_EQUAL(out, "1000000000000000");
    assay_json_format_number(-9007199254740992.0, out);
    CU_ASSERT_STRING_EQUAL(out, "-9007199254740992");
    assay_json_format_number(0.1, out);
    CU_ASSERT_STRING_EQUAL(out, "0.1");
}

static void undefined_and_infinite_have_words(void) {
    assay_json *o = assay_json_object();
    assay_json_set_number(o, "nan", (double)NAN);
    assay_json_set_number(o, "up", (double)INFINITY);
    assay_json_set_number(o, "down", -(double)INFINITY);
    assay_json_set_string(o, "none", NULL);
    assay_json_set_string(o, "bad", "a\xFFz");
    char *s = assay_json_print(o);
    CU_ASSERT_STRING_EQUAL(s, "{\"bad\":\"a\xEF\xBF\xBDz\",\"down\":\"-inf\",\"nan\":null,\"none\":null,\"up\":\"inf\"}");
    assay_json *back = parse(s, NULL);
    CU_ASSERT(assay_json_equal(o, back));
    CU_ASSERT_EQUAL(assay_json_number(back, "up", 0), (double)INFINITY);
    CU_ASSERT_EQUAL(assay_json_number(back, "nan", 7), 7);
    CU_ASSERT(isnan(assay_json_value(assay_json_get(back, "nan"))));
    free(s);
    assay_json_free(back);
    assay_json_free(o);
}

static void access_answers_absent(void) {
    assay_json *j = parse("{\"a\":{\"b\":{\"c\":[3,\"x\",false]}},\"n\":2.5,\"i\":-7,\"t\":true,\"big\":1e300}", NULL);
    CU_ASSERT_EQUAL(assay_json_len(assay_json_path(j, "a.b.c")), 3);
    CU_ASSERT_PTR_NULL(assay_json_path(j, "a.x.c"));
    CU_ASSERT_PTR_NULL(assay_json_path(j, "a.b.c.d"));
    CU_ASSERT_STRING_EQUAL(assay_json_text(assay_json_at(assay_json_path(j, "a.b.c"), 1)), "x");
    CU_ASSERT_PTR_NULL(assay_json_at(assay_json_path(j, "a.b.c"), 3));
    CU_ASSERT_STRING_EQUAL(assay_json_key_at(j, 1), "n");
    CU_ASSERT_EQUAL(assay_json_int(j, "i", 0), -7);
    CU_ASSERT_EQUAL(assay_json_int(j, "n", 9), 9);
    CU_ASSERT_EQUAL(assay_json_int(j, "big", 9), 9);
    CU_ASSERT(assay_json_bool(j, "t", false));
    CU_ASSERT_STRING_EQUAL(assay_json_string(j, "zz", "d"), "d");
    CU_ASSERT_EQUAL(assay_json_kind(NULL), ASSAY_J_NULL);
    CU_ASSERT_EQUAL(assay_json_len(NULL), 0);
    CU_ASSERT_PTR_NULL(assay_json_get(NULL, "a"));
    size_t n = 0;
    for (assay_json *c = assay_json_first(j); c; c = assay_json_next(c)) n += assay_json_key(c) != NULL;
    CU_ASSERT_EQUAL(n, 5);
    assay_json_remove(j, "a");
    assay_json_remove(j, "a");
    CU_ASSERT_EQUAL(assay_json_len(j), 4);
    assay_json_set_int(j, "i", 8);
    CU_ASSERT_EQUAL(assay_json_int(j, "i", 0), 8);
    CU_ASSERT_EQUAL(assay_json_len(j), 4);
    assay_json *copy = assay_json_clone(j);
    CU_ASSERT(assay_json_equal(copy, j));
    assay_json_append(assay_json_set(copy, "l", assay_json_array()), assay_json_new_bool(true));
    CU_ASSERT(!assay_json_equal(copy, j));
    assay_json_free(copy);
    assay_json_free(j);
}

static void pretty_text_reads_back(void) {
    assay_json *j = parse("{\"b\":[1,{\"x\":[]}],\"a\":{}}", NULL);
    char *s = assay_json_pretty(j);
    CU_ASSERT_STRING_EQUAL(s, "{\n  \"a\": {},\n  \"b\": [\n    1,\n    {\n      \"x\": []\n    }\n  ]\n}\n");
    free(s);
    assay_json_free(j);
}

static void survives_every_truncation_and_flip(void) {
    static const char text[] = "{\"a\":[1,-2.5e3,\"\\ud83d\\ude00\xC3\xA9\",{\"b\":null}],\"c\":{\"d\":[true,false,\"\\\\\"]}}";
    char copy[sizeof text];
    for (size_t n = 0; n < sizeof text - 1; n++) {
        assay_json *j;
        CU_ASSERT_NOT_EQUAL(assay_json_parse(text, n, "t", &j, NULL), ASSAY_OK);
    }
    for (size_t i = 0; i < sizeof text - 1; i++)
        for (int c = 0; c < 256; c++) {
            memcpy(copy, text, sizeof text);
            copy[i] = (char)c;
            assay_json *j = NULL;
            if (assay_json_parse(copy, sizeof text - 1, "t", &j, NULL) == ASSAY_OK) {
                char *s = assay_json_print(j);
                assay_json *again = parse(s, NULL);
                CU_ASSERT_PTR_NOT_NULL(again);
                assay_json_free(again);
                free(s);
            }
            assay_json_free(j);
        }
}

ASSAY_SUITE("json", TEST(writes_sorted_keys_without_spaces), TEST(refuses_what_is_not_strict), TEST(names_the_byte_and_the_key), TEST(depth_64_is_the_last),
            TEST(numbers_read_back), TEST(undefined_and_infinite_have_words), TEST(access_answers_absent), TEST(pretty_text_reads_back),
            TEST(survives_every_truncation_and_flip))
