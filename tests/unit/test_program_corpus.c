/* Every package of the corpus: facts equal to its truth file, and read-write-read gives an equal program, through the package
 * form and through MIL text. The truth was written by the converter's own tools. */
#include "base/fs.h"
#include "program/facts.h"
#include "ops/builtin.h"
#include "unit/suite.h"
#include <unistd.h>

static char *work_dir;

typedef void (*case_fn)(const char *package, const assay_json *truth);

/* A failed comparison names its case: CUnit alone would only name the line. */
#define CHECK(what, package, condition)                                             \
    do {                                                                            \
        bool ok_ = (condition);                                                     \
        if (!ok_) printf("\n    %s: %s ", package, what);                           \
        CU_ASSERT(ok_);                                                             \
    } while (0)

static unsigned each_case(const char *group, case_fn fn) {
    const char *shared = shared_or_skip();
    if (!shared) return 0;
    char *dir = assay_xprintf("%s/corpus/coremltools/%s", shared, group), **names;
    size_t n;
    unsigned cases = 0;
    assay_error err;
    if (assay_list_dir(dir, &names, &n, &err)) { CU_FAIL("no corpus group"); free(dir); return 0; }
    for (size_t i = 0; i < n; i++) {
        char *package = assay_xprintf("%s/%s/model.mlpackage", dir, names[i]), *path = assay_xprintf("%s/%s/truth.json", dir, names[i]);
        assay_json *truth = NULL;
        if (assay_exists(package) && !assay_json_read_file(path, &truth, &err)) {
            fn(package, truth);
            cases++;
        }
        assay_json_free(truth);
        free(path);
        free(package);
    }
    assay_list_free(names, n);
    free(dir);
    CU_ASSERT(cases > 0);
    return cases;
}

static assay_program *load(const char *path) {
    assay_program *p = NULL;
    assay_error err = { 0 };
    assay_status s = assay_program_read(path, &p, &err);
    if (s) printf("\n    %s ", err.message);
    CU_ASSERT_EQUAL(s, ASSAY_OK);
    return p;
}

/* ---- facts: every key of the truth must be in ours with the same value; ours may have more. */
static bool covers(const assay_json *truth, const assay_json *ours) {
    if (assay_json_kind(truth) == ASSAY_J_ARRAY) {
        if (assay_json_len(truth) != assay_json_len(ours)) return false;
        for (size_t i = 0; i < assay_json_len(truth); i++)
            if (!covers(assay_json_at(truth, i), assay_json_at(ours, i))) return false;
        return true;
    }
    if (assay_json_kind(truth) != ASSAY_J_OBJECT) return assay_json_equal(truth, ours);
    for (size_t i = 0; i < assay_json_len(truth); i++)
        if (!covers(assay_json_at(truth, i), assay_json_get(ours, assay_json_key_at(truth, i)))) {
            printf("\n    differs at '%s' ", assay_json_key_at(truth, i));
            return false;
        }
    return true;
}

static void compare_functions(const char *package, const assay_json *truth, const assay_json *ours) {
    const assay_json *a = assay_json_get(truth, "functions"), *b = assay_json_get(ours, "functions");
    static const char *const keys[] = { "opset", "inputs", "outputs", "features" };
    CHECK("number of functions", package, assay_json_len(a) == assay_json_len(b));
    for (size_t i = 0; i < assay_json_len(a); i++) {
        const assay_json *f = assay_json_at(a, i), *g = assay_json_get(b, assay_json_key_at(a, i));
        for (size_t k = 0; k < 4; k++) CHECK(keys[k], package, covers(assay_json_get(f, keys[k]), assay_json_get(g, keys[k])));
        CHECK("op_histogram", package, assay_json_equal(assay_json_get(f, "op_histogram"), assay_json_get(g, "op_histogram")));
    }
}

/* The references of both sides are matched by function, op and parameter: the order of attributes on the wire is free. */
static const assay_json *find_reference(const assay_json *list, const assay_json *want) {
    for (size_t i = 0; i < assay_json_len(list); i++) {
        const assay_json *r = assay_json_at(list, i);
        static const char *const keys[] = { "function", "op", "param" };
        bool same = true;
        for (size_t k = 0; k < 3; k++) same = same && !strcmp(assay_json_string(r, keys[k], ""), assay_json_string(want, keys[k], "?"));
        if (same) return r;
    }
    return NULL;
}

static void compare_references(const char *package, const assay_json *truth, const assay_json *ours) {
    const assay_json *a = assay_json_get(truth, "weight_references"), *b = assay_json_get(ours, "weight_references");
    static const char *const keys[] = { "file", "offset", "dtype", "shape", "elements", "sha256_unpacked" };
    CHECK("number of weight references", package, assay_json_len(a) == assay_json_len(b));
    for (size_t i = 0; i < assay_json_len(a); i++) {
        const assay_json *want = assay_json_at(a, i), *got = find_reference(b, want);
        for (size_t k = 0; k < 6; k++) CHECK(keys[k], package, assay_json_equal(assay_json_get(want, keys[k]), assay_json_get(got, keys[k])));
    }
}

static void facts_case(const char *package, const assay_json *truth) {
    assay_program *p = load(package);
    if (!p) return;
    assay_json *ours = assay_program_facts_full(p, ASSAY_FACTS_DIGESTS);
    static const char *const keys[] = { "specification_version", "model_type", "user_metadata", "is_multifunction", "default_function" };
    for (size_t k = 0; k < 5; k++) CHECK(keys[k], package, assay_json_equal(assay_json_get(truth, keys[k]), assay_json_get(ours, keys[k])));
    compare_functions(package, truth, ours);
    const assay_json *file = assay_json_get(truth, "weight_file");
    if (file) CHECK("weight_file", package, covers(file, assay_json_get(ours, "weight_file")));
    compare_references(package, truth, ours);
    assay_json_free(ours);
    assay_program_free(p);
}

static void facts_of_attention(void) { each_case("attention", facts_case); }
static void facts_of_torch(void) { each_case("torch", facts_case); }
static void facts_of_ops(void) { each_case("ops", facts_case); }
static void facts_of_const(void) { each_case("const", facts_case); }
static void facts_of_compressed(void) { each_case("compressed", facts_case); }
static void facts_of_state(void) { each_case("state", facts_case); }
static void facts_of_multifunction(void) { each_case("multifunction", facts_case); }
static void facts_of_structure(void) { each_case("structure", facts_case); }

/* ---- round trips. The clone drops the bytes as read, so that everything is encoded anew. */
static void compare_facts(const char *package, const assay_program *p, const assay_program *q) {
    assay_json *a = assay_program_facts_full(p, ASSAY_FACTS_DIGESTS), *b = assay_program_facts_full(q, ASSAY_FACTS_DIGESTS);
    static const char *const keys[] = { "specification_version", "user_metadata", "metadata", "default_function", "functions" };
    for (size_t k = 0; k < 5; k++) CHECK(keys[k], package, assay_json_equal(assay_json_get(a, keys[k]), assay_json_get(b, keys[k])));
    const assay_json *ra = assay_json_get(a, "weight_references"), *rb = assay_json_get(b, "weight_references");
    CHECK("number of weight references", package, assay_json_len(ra) == assay_json_len(rb));
    for (size_t i = 0; i < assay_json_len(ra); i++)
        CHECK("equal weights", package, assay_json_equal(assay_json_get(assay_json_at(ra, i), "sha256_unpacked"),
                                                          assay_json_get(find_reference(rb, assay_json_at(ra, i)), "sha256_unpacked")));
    assay_json_free(a);
    assay_json_free(b);
}

static void write_and_compare(const char *package, const assay_program *p, const char *name) {
    char *path = assay_xprintf("%s/%s.mlpackage", work_dir, name), a[65], b[65];
    assay_error err = { 0 };
    assay_remove_tree(path, NULL);
    assay_status s = assay_program_write_package(p, path, &err);
    CHECK(err.message, package, s == ASSAY_OK);
    assay_program *q = s ? NULL : load(path);
    if (q) {
        assay_program_digest(p, a);
        assay_program_digest(q, b);
        CHECK("structural digest", package, !strcmp(a, b));
        compare_facts(package, p, q);
    }
    assay_program_free(q);
    assay_remove_tree(path, NULL);
    free(path);
}

static void text_and_compare(const char *package, const assay_program *p) {
    assay_buf text = { 0 };
    assay_error err = { 0 };
    char a[65], b[65], *dir = assay_xprintf("%s/Data/com.apple.CoreML", package);
    CHECK("writes MIL text", package, assay_program_write_mil(p, &text, &err) == ASSAY_OK);
    assay_program *q = NULL;
    assay_status s = assay_program_parse_mil(text.data, text.len, "text", dir, &q, &err);
    CHECK(err.message, package, s == ASSAY_OK);
    if (q) {
        assay_program_digest(p, a);
        assay_program_digest(q, b);
        CHECK("structural digest of the text", package, !strcmp(a, b));
        assay_program_free(q);
    }
    assay_buf_free(&text);
    free(dir);
}

static void round_trip_case(const char *package, const assay_json *truth) {
    (void)truth;
    assay_program *p = load(package);
    if (!p) return;
    assay_program *encoded = assay_program_clone(p);
    write_and_compare(package, p, "copy");
    write_and_compare(package, encoded, "encoded");
    text_and_compare(package, p);
    assay_program_free(encoded);
    assay_program_free(p);
}

static void round_trip_of_attention(void) { each_case("attention", round_trip_case); }
static void round_trip_of_torch(void) { each_case("torch", round_trip_case); }
static void round_trip_of_ops(void) { each_case("ops", round_trip_case); }
static void round_trip_of_const(void) { each_case("const", round_trip_case); }
static void round_trip_of_compressed(void) { each_case("compressed", round_trip_case); }
static void round_trip_of_state(void) { each_case("state", round_trip_case); }
static void round_trip_of_multifunction(void) { each_case("multifunction", round_trip_case); }
static void round_trip_of_structure(void) { each_case("structure", round_trip_case); }

/* Declared types agree with the op table's rules wherever an op is known. */
static void types_case(const char *package, const assay_json *truth) {
    (void)truth;
    assay_program *p = load(package);
    assay_error err = { 0 };
    if (p) CHECK(err.message, package, assay_program_validate(p, 1, &err) == ASSAY_OK);
    assay_program_free(p);
}

static void types_agree(void) {
    static const char *const groups[] = { "attention", "torch", "ops", "const", "compressed", "state", "multifunction", "structure" };
    assay_ops_register();
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) each_case(groups[i], types_case);
}

/* Public models of other people's making: read, and their declared types agree with the rules. */
static bool is_model(const char *path) {
    size_t n = strlen(path);
    return (n > 10 && !strcmp(path + n - 10, ".mlpackage")) || (n > 9 && !strcmp(path + n - 9, ".mlmodelc"));
}

static unsigned walk_public(const char *folder) {
    char **names;
    size_t n;
    unsigned models = 0;
    if (assay_list_dir(folder, &names, &n, NULL)) return 0;
    for (size_t i = 0; i < n; i++) {
        char *path = assay_path_join(folder, names[i]);
        if (assay_is_dir(path) && !is_model(path)) models += walk_public(path);
        else if (is_model(path) && !strstr(path, "-lfs-")) {
            types_case(path, NULL);
            models++;
        }
        free(path);
    }
    assay_list_free(names, n);
    return models;
}

static void public_models_are_read(void) {
    const char *shared = shared_or_skip();
    if (!shared) return;
    char *dir = assay_path_join(shared, "corpus/public");
    CU_ASSERT(walk_public(dir) >= 25);
    free(dir);
}

static void work_folder(void) {
    static char template[] = "/tmp/assay-corpus-XXXXXX";
    work_dir = mkdtemp(template);
    CU_ASSERT_PTR_NOT_NULL(work_dir);
}

static void clean_up(void) { if (work_dir) assay_remove_tree(work_dir, NULL); }

ASSAY_SUITE("program on the corpus", TEST(work_folder), TEST(facts_of_attention), TEST(facts_of_torch), TEST(facts_of_ops), TEST(facts_of_const),
            TEST(facts_of_compressed), TEST(facts_of_state), TEST(facts_of_multifunction), TEST(facts_of_structure), TEST(round_trip_of_attention),
            TEST(round_trip_of_torch), TEST(round_trip_of_ops), TEST(round_trip_of_const), TEST(round_trip_of_compressed), TEST(round_trip_of_state),
            TEST(round_trip_of_multifunction), TEST(round_trip_of_structure), TEST(types_agree), TEST(public_models_are_read), TEST(clean_up))
