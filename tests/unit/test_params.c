/* Parameters of gates: types, defaults, messages, text from a command line, and tables that a plugin got wrong. */
#include "unit/suite.h"
#include "plugin/params.h"

static const assay_param table[] = {
    {.name = "cosine_min", .def = "0.9999", .help = "smallest cosine", .min = -1, .max = 1, .type = ASSAY_T_NUMBER},
    {.name = "layers", .def = "", .unit = "layers", .help = "rewritten layers", .min = 1, .max = 1000, .type = ASSAY_T_INT},
    {.name = "unit",
     .def = "auto",
     .choices = "auto|block|process",
     .help = "unit of analysis",
     .min = 1,
     .type = ASSAY_T_STRING},
    {.name = "require", .def = "{\"softmax\":1}", .help = "counts", .min = 1, .type = ASSAY_T_INT | ASSAY_T_MAP},
    {.name = "markers", .def = "[\"a\",\"b\"]", .help = "texts", .min = 1, .type = ASSAY_T_STRING | ASSAY_T_LIST},
    {.name = "control", .def = "@control", .help = "arm", .min = 1, .type = ASSAY_T_STRING},
    {.name = "must_fail", .def = "@must_fail", .help = "arms", .min = 1, .type = ASSAY_T_STRING | ASSAY_T_LIST},
    {.name = "strict", .def = "false", .help = "flag", .min = 1, .type = ASSAY_T_BOOL},
    {.name = NULL},
};

static assay_status make(const char *json, assay_params **out, assay_error *err) {
    assay_json *j = NULL;
    memset(err, 0, sizeof *err);
    CU_ASSERT_EQUAL_FATAL(assay_json_parse(json, strlen(json), "test", &j, err), ASSAY_OK);
    assay_status st = assay_params_make(table, j, "gate \"parity\"", out, err);
    assay_json_free(j);
    return st;
}

static void refuses(const char *json, const char *message) {
    assay_params *p = NULL;
    assay_error err;
    CU_ASSERT_EQUAL(make(json, &p, &err), ASSAY_E_INPUT);
    CU_ASSERT_STRING_EQUAL(err.message, message);
    if (strcmp(err.message, message)) printf("\n  got:  %s\n  want: %s\n", err.message, message);
    CU_ASSERT_PTR_NULL(p);
}

static void fills_in_defaults(void) {
    assay_params *p = NULL;
    assay_error err;
    assay_value v;
    CU_ASSERT_EQUAL_FATAL(make("{}", &p, &err), ASSAY_OK);
    CU_ASSERT_EQUAL(assay_params_get(p, "cosine_min", 0, &v), ASSAY_OK);
    CU_ASSERT_EQUAL(v.f, 0.9999);
    CU_ASSERT_EQUAL(v.type, ASSAY_T_NUMBER);
    CU_ASSERT_EQUAL(assay_params_get(p, "cosine_min", 1, &v), ASSAY_E_RANGE);
    CU_ASSERT_EQUAL(assay_params_get(p, "layers", 0, &v), ASSAY_E_RANGE);
    CU_ASSERT_EQUAL(assay_params_get(p, "layer", 0, &v), ASSAY_E_MISSING);
    CU_ASSERT_EQUAL(assay_params_get(p, "unit", 0, &v), ASSAY_OK);
    CU_ASSERT_STRING_EQUAL(v.s, "auto");
    CU_ASSERT_EQUAL(assay_params_get(p, "require", 0, &v), ASSAY_OK);
    CU_ASSERT_STRING_EQUAL(v.key, "softmax");
    CU_ASSERT_EQUAL(v.i, 1);
    CU_ASSERT_EQUAL(assay_params_get(p, "markers", 1, &v), ASSAY_OK);
    CU_ASSERT_STRING_EQUAL(v.s, "b");
    assay_params_free(p);
}

/* Outside an experiment the words of a plan name nothing. */
static void at_words_name_nothing(void) {
    assay_params *p = NULL;
    assay_error err;
    assay_value v;
    CU_ASSERT_EQUAL_FATAL(make("{}", &p, &err), ASSAY_OK);
    CU_ASSERT_EQUAL(assay_params_get(p, "control", 0, &v), ASSAY_OK);
    CU_ASSERT_STRING_EQUAL(v.s, "");
    CU_ASSERT_EQUAL(assay_params_get(p, "must_fail", 0, &v), ASSAY_E_RANGE);
    assay_params_free(p);
    CU_ASSERT_EQUAL_FATAL(make("{\"must_fail\":[\"dead\",\"@negative\"],\"control\":\"explicit\"}", &p, &err), ASSAY_OK);
    CU_ASSERT_EQUAL(assay_params_get(p, "must_fail", 0, &v), ASSAY_OK);
    CU_ASSERT_STRING_EQUAL(v.s, "dead");
    CU_ASSERT_EQUAL(assay_params_get(p, "must_fail", 1, &v), ASSAY_E_RANGE);
    assay_params_free(p);
}

static void says_what_is_in_force(void) {
    assay_params *p = NULL;
    assay_error err;
    CU_ASSERT_EQUAL_FATAL(make("{\"layers\":32,\"markers\":\"one\",\"strict\":null}", &p, &err), ASSAY_OK);
    char *text = assay_json_print(assay_params_effective(p));
    CU_ASSERT_STRING_EQUAL(text, "{\"control\":\"\",\"cosine_min\":0.9999,\"layers\":32,\"markers\":\"one\",\"must_fail\":[],"
                                 "\"require\":{\"softmax\":1},\"strict\":false,\"unit\":\"auto\"}");
    free(text);
    assay_params_free(p);
}

static void explains_what_is_wrong(void) {
    refuses("{\"cosine_min\":\"0.9999\"}", "gate \"parity\".cosine_min: expected number, got string \"0.9999\"");
    refuses("{\"cosin_min\":1}", "gate \"parity\": unknown parameter 'cosin_min' (did you mean 'cosine_min'?)");
    refuses("{\"cosine_min\":1.5}", "gate \"parity\".cosine_min: 1.5 is outside -1 .. 1");
    refuses("{\"layers\":1.5}", "gate \"parity\".layers: expected integer, got number 1.5");
    refuses("{\"layers\":0}", "gate \"parity\".layers: 0 is outside 1 .. 1000 layers");
    refuses("{\"layers\":[1]}", "gate \"parity\".layers: expected integer, got list");
    refuses("{\"unit\":\"blok\"}", "gate \"parity\".unit: 'blok' is not one of auto, block, process (did you mean 'block'?)");
    refuses("{\"require\":1}", "gate \"parity\".require: expected map of integer, got number 1");
    refuses("{\"require\":{\"softmax\":\"one\"}}", "gate \"parity\".require.softmax: expected integer, got string \"one\"");
    refuses("{\"markers\":[\"a\",2]}", "gate \"parity\".markers[2]: expected string, got number 2");
    refuses("{\"strict\":1}", "gate \"parity\".strict: expected boolean, got number 1");
}

static void reads_command_line_words(void) {
    static const char *const words[] = {"cosine_min=0.5", "layers=32",   "require=softmax:2,matmul:4",
                                        "markers=x,y",    "strict=true", "unit=block"};
    assay_json *obj = assay_json_object();
    assay_error err = {0};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        CU_ASSERT_EQUAL(assay_params_from_text(table, words[i], "gate \"parity\"", obj, &err), ASSAY_OK);
    char *text = assay_json_print(obj);
    CU_ASSERT_STRING_EQUAL(text, "{\"cosine_min\":0.5,\"layers\":32,\"markers\":[\"x\",\"y\"],\"require\":{\"matmul\":4,"
                                 "\"softmax\":2},\"strict\":true,\"unit\":\"block\"}");
    free(text);
    CU_ASSERT_EQUAL(assay_params_from_text(table, "layers=many", "gate \"parity\"", obj, &err), ASSAY_E_INPUT);
    CU_ASSERT_STRING_EQUAL(err.message, "gate \"parity\".layers: expected integer, got string \"many\"");
    CU_ASSERT_EQUAL(assay_params_from_text(table, "layers", "gate \"parity\"", obj, &err), ASSAY_E_USAGE);
    CU_ASSERT_EQUAL(assay_params_from_text(table, "laiers=3", "gate \"parity\"", obj, &err), ASSAY_E_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "did you mean 'layers'"));
    CU_ASSERT_EQUAL(assay_params_from_text(table, "require=softmax", "gate \"parity\"", obj, &err), ASSAY_E_USAGE);
    assay_json_free(obj);
}

static void required_means_required(void) {
    static const assay_param need[] = {{.name = "op", .def = NULL, .help = "op type", .min = 1, .type = ASSAY_T_STRING},
                                       {.name = NULL}};
    assay_params *p = NULL;
    assay_error err = {0};
    CU_ASSERT_EQUAL(assay_params_make(need, NULL, "gate \"x\"", &p, &err), ASSAY_E_INPUT);
    CU_ASSERT_STRING_EQUAL(err.message, "gate \"x\".op: required (string: op type)");
}

static void bad_tables_are_found(void) {
    static const assay_param bad_name[] = {{.name = "Cosine", .def = "", .help = "h", .type = ASSAY_T_NUMBER}, {.name = NULL}};
    static const assay_param bad_type[] = {{.name = "a", .def = "", .help = "h", .type = 9}, {.name = NULL}};
    static const assay_param bad_def[] = {{.name = "a", .def = "many", .help = "h", .type = ASSAY_T_INT}, {.name = NULL}};
    static const assay_param bad_range[] = {{.name = "a", .def = "7", .help = "h", .min = 0, .max = 1, .type = ASSAY_T_INT},
                                            {.name = NULL}};
    static const assay_param no_help[] = {{.name = "a", .def = "1", .type = ASSAY_T_INT}, {.name = NULL}};
    static const assay_param twice[] = {{.name = "a", .def = "", .help = "h", .type = ASSAY_T_INT},
                                        {.name = "a", .def = "", .help = "h", .type = ASSAY_T_INT},
                                        {.name = NULL}};
    static const assay_param *const bad[] = {bad_name, bad_type, bad_def, bad_range, no_help, twice};
    assay_error err = {0};
    CU_ASSERT_EQUAL(assay_params_check_table(table, "gate 'x'", &err), ASSAY_OK);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CU_ASSERT_EQUAL(assay_params_check_table(bad[i], "gate 'x'", &err), ASSAY_E_ABI);
    CU_ASSERT_STRING_EQUAL(err.message, "gate 'x': parameter 'a' stands twice in the table");
}

ASSAY_SUITE("params", TEST(fills_in_defaults), TEST(at_words_name_nothing), TEST(says_what_is_in_force),
            TEST(explains_what_is_wrong), TEST(reads_command_line_words), TEST(required_means_required),
            TEST(bad_tables_are_found))
