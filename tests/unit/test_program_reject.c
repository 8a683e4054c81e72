/* Damaged and foreign files: each is refused with a message that names the fault, and nothing is read out of bounds (run under
 * AddressSanitizer). Truncated and mutated copies of good files are accepted or refused, never more. */
#include "base/fs.h"
#include "ops/builtin.h"
#include "program/program.h"
#include "unit/suite.h"
#include <unistd.h>

/* What the message must name. output_shape_lie is caught by the type rules, unknown_op only when every op must be known. */
static const struct { const char *name, *says; int mode; } rejects[] = {
    { "blob_offset_far", "past the end", 0 }, { "blob_size_huge", "past the end", 0 }, { "blob_truncated", "past the end", 0 },
    { "blob_wrong_dtype", "holds fp32, the program says fp16", 0 }, { "manifest_dangling", "names no item", 0 },
    { "manifest_no_root", "rootModelIdentifier is missing", 0 }, { "manifest_not_json", "Manifest.json: byte", 0 },
    { "manifest_path_escape", "leaves the package", 0 }, { "model_empty", "no model in it", 0 }, { "model_truncated", "cut short", 0 },
    { "old_neuralnetwork", "neuralNetwork", 0 }, { "opset_missing", "block specialization", 0 }, { "output_shape_lie", "is declared", 1 },
    { "rank_mismatch", "rank", 0 }, { "self_cycle", "not defined before it is used", 0 }, { "sentinel", "sentinel", 0 },
    { "undefined_name", "'nowhere' is not defined", 0 }, { "unknown_op", "frobnicate", 2 },
};
enum { N_REJECTS = sizeof rejects / sizeof *rejects };

static bool known_ops(void) {
    assay_ops_register();
    size_t n;
    assay_optable_all(&n);
    return n > 20;
}

static void check_reject(const char *path, const char *says, int mode) {
    assay_program *p = NULL;
    assay_error err = { 0 };
    assay_status s = assay_program_read(path, &p, &err);
    CU_ASSERT(mode == 0 || s == ASSAY_OK);
    if (!s && mode) s = assay_program_validate(p, mode, &err);
    CU_ASSERT_NOT_EQUAL(s, ASSAY_OK);
    if (!s || !strstr(err.message, says)) printf("\n    %s: '%s' ", path, err.message);
    CU_ASSERT(s && strstr(err.message, says) != NULL);
    assay_program_free(p);
}

static void every_reject_is_refused(void) {
    const char *shared = shared_or_skip();
    if (!shared) return;
    bool ops = known_ops();
    for (size_t i = 0; i < N_REJECTS; i++) {
        char *path = assay_xprintf("%s/corpus/coremltools/reject/%s/model.mlpackage", shared, rejects[i].name);
        if (!assay_exists(path)) {
            free(path);
            path = assay_xprintf("%s/corpus/coremltools/reject/%s/model.mlmodel", shared, rejects[i].name);
        }
        if (rejects[i].mode == 0 || ops) check_reject(path, rejects[i].says, rejects[i].mode);
        free(path);
    }
}

static void the_list_is_complete(void) {
    const char *shared = shared_or_skip();
    if (!shared) return;
    char *dir = assay_xprintf("%s/corpus/coremltools/reject", shared), **names;
    size_t n;
    assay_error err;
    CU_ASSERT_EQUAL_FATAL(assay_list_dir(dir, &names, &n, &err), ASSAY_OK);
    CU_ASSERT_EQUAL(n, N_REJECTS);
    assay_list_free(names, n);
    free(dir);
}

/* Public files that are no ML Programs are named for what they are. */
static void foreign_files_are_named(void) {
    const char *shared = shared_or_skip();
    if (!shared) return;
    static const char *const rows[][2] = {
        { "edsr-f32b5-nn/edsr_f32b5_fp32.mlmodel", "neuralNetwork (field 500)" }, { "coremlit-identity/identity.mlmodel", "neuralNetwork" },
        { "hf-lfs-pointer/gpt2-64-12.mlmodel", "git lfs pull" }, { "supertonic-lfs-pkg/vocoder_mlprogram.mlpackage", "git lfs pull" },
        { "nothing-here.mlpackage", "no such file" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *path = assay_xprintf("%s/corpus/public/%s", shared, rows[i][0]);
        assay_program *p = NULL;
        assay_error err = { 0 };
        CU_ASSERT_NOT_EQUAL(assay_program_read(path, &p, &err), ASSAY_OK);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.message, rows[i][1]));
        assay_program_free(p);
        free(path);
    }
}

/* ---- manifests */
static const char good_items[] = "\"itemInfoEntries\":{\"A\":{\"path\":\"x/model.mlmodel\",\"name\":\"n\",\"author\":\"a\",\"description\":\"d\"}}";

static void check_manifest(const char *text, const char *says) {
    char dir[] = "/tmp/assay-manifest-XXXXXX";
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(dir));
    char *path = assay_path_join(dir, "Manifest.json");
    assay_program *p = NULL;
    assay_error err = { 0 };
    CU_ASSERT_EQUAL(assay_write_file(path, text, strlen(text), &err), ASSAY_OK);
    CU_ASSERT_NOT_EQUAL(assay_program_read(dir, &p, &err), ASSAY_OK);
    if (!strstr(err.message, says)) printf("\n    '%s' ", err.message);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, says));
    free(path);
    assay_remove_tree(dir, NULL);
}

static void manifest_rules(void) {
    static const struct { const char *version, *root, *says; } rows[] = {
        { "2.0.0", "A", "newer than" }, { "1.1.0", "A", "newer than" }, { "1.0.1", "A", "newer than" }, { "1.0", "A", "three numbers" },
        { "-1.0.0", "A", "three numbers" }, { "1.0.0x", "A", "three numbers" }, { "1.0.0", "B", "names no item" },
        { "1.0.0", "A", "model file" },          /* a good manifest, but the file is not there */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *text = assay_xprintf("{\"fileFormatVersion\":\"%s\",%s,\"rootModelIdentifier\":\"%s\",\"extra\":1}", rows[i].version, good_items, rows[i].root);
        check_manifest(text, rows[i].says);
        free(text);
    }
    check_manifest("[]", "not a JSON object");
    check_manifest("{\"fileFormatVersion\":\"1.0.0\",\"rootModelIdentifier\":\"A\"}", "itemInfoEntries");
    check_manifest("{\"fileFormatVersion\":\"1.0.0\",\"itemInfoEntries\":{\"A\":{\"path\":\"/etc/passwd\",\"name\":\"\",\"author\":\"\",\"description\":\"\"}},"
                   "\"rootModelIdentifier\":\"A\"}", "leaves the package");
    check_manifest("{\"fileFormatVersion\":\"1.0.0\",\"itemInfoEntries\":{\"A\":{\"path\":\"m\",\"name\":\"\",\"author\":\"\"}},\"rootModelIdentifier\":\"A\"}",
                   "no text 'description'");
}

/* ---- damage of every kind, everywhere */
static void feed(const void *data, size_t len) {
    void *exact = malloc(len ? len : 1);         /* exactly as long as the input: a sanitizer sees every step too far */
    if (!exact) abort();
    memcpy(exact, data, len);
    assay_program *p = NULL;
    assay_error err = { 0 };
    if (!assay_program_parse_model(exact, len, "mutant", NULL, &p, &err)) {
        char hex[65];
        assay_program_validate(p, 1, &err);
        assay_program_digest(p, hex);
        assay_json_free(assay_program_facts(p));
    } else CU_ASSERT(err.message[0] != 0);
    assay_program_free(p);
    free(exact);
}

static void mutate(const char *path) {
    char *data;
    size_t len;
    assay_error err;
    if (assay_read_file(path, 1 << 20, &data, &len, &err)) { CU_FAIL("no such file"); return; }
    for (size_t cut = 0; cut < len; cut += len / 300 + 1) feed(data, cut);
    uint64_t x = 88172645463325252u;
    for (int i = 0; i < 1500; i++) {
        x ^= x << 13; x ^= x >> 7; x ^= x << 17;
        size_t at = (size_t)(x >> 20) % len;
        char old = data[at];
        data[at] = (char)(i % 2 ? (x & 0xff) : (unsigned char)(old ^ (1 << (x & 7))));
        feed(data, len);
        data[at] = old;
    }
    free(data);
}

static void mutated_models_are_safe(void) {
    const char *shared = shared_or_skip();
    if (!shared) return;
    known_ops();
    static const char *const cases[] = { "attention/fused_tiny_fp16", "ops/while_loop", "compressed/sparse_lut_iOS18", "structure/classifier",
                                         "structure/flexible_range", "state/state_accumulate", "multifunction/adapters" };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *path = assay_xprintf("%s/corpus/coremltools/%s/model.mlpackage/Data/com.apple.CoreML/model.mlmodel", shared, cases[i]);
        mutate(path);
        free(path);
    }
}

/* Puts the bytes of b into a length-delimited field with this tag. */
static void wrap(assay_buf *b, const char *tag, size_t tag_len) {
    assay_buf out = { 0 };
    size_t v = b->len;
    assay_buf_add(&out, tag, tag_len);
    do {
        assay_buf_char(&out, (char)((v & 0x7f) | (v > 0x7f ? 0x80 : 0)));
        v >>= 7;
    } while (v);
    assay_buf_add(&out, b->data, b->len);
    assay_buf_free(b);
    *b = out;
}

/* Blocks inside ops inside blocks without end: refused by their depth, not by the end of the stack. */
static void deep_nesting_is_refused(void) {
    assay_buf b = { 0 };
    for (int i = 0; i < 400; i++) {
        wrap(&b, "\x22", 1);                     /* Operation.blocks */
        wrap(&b, "\x1a", 1);                     /* Block.operations */
    }
    wrap(&b, "\x12", 1);                         /* BlockEntry.value */
    wrap(&b, "\x1a", 1);                         /* Function.blocks */
    wrap(&b, "\x12", 1);                         /* FunctionEntry.value */
    wrap(&b, "\x12", 1);                         /* Program.functions */
    wrap(&b, "\xb2\x1f", 2);                     /* Model.program */
    assay_program *p = NULL;
    assay_error err = { 0 };
    CU_ASSERT_NOT_EQUAL(assay_program_parse_model(b.data, b.len, "deep", NULL, &p, &err), ASSAY_OK);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "nested more than"));
    assay_buf_free(&b);
}

ASSAY_SUITE("program: what is refused", TEST(every_reject_is_refused), TEST(the_list_is_complete), TEST(foreign_files_are_named), TEST(manifest_rules),
            TEST(mutated_models_are_safe), TEST(deep_nesting_is_refused))
