/* Packages written by assay hold what the format says. They are decoded here by a wire walker of this file's own, which knows
 * nothing of the reader: manifest, tags, types, immediate fields, the ten-element rule, and every byte of the weight file. */
#include "base/fs.h"
#include "base/digest.h"
#include "base/json.h"
#include "program/optable.h"
#include "unit/suite.h"
#include <unistd.h>

/* ---- the walker: finds field `number` (the k-th of that number) in a message */
typedef struct span { const unsigned char *at; size_t len; bool found; uint64_t varint; } span;

static uint64_t varint(const unsigned char **at, const unsigned char *end) {
    uint64_t v = 0;
    for (unsigned shift = 0; *at < end; shift += 7) {
        unsigned char b = *(*at)++;
        v |= (uint64_t)(b & 0x7f) << shift;
        if (!(b & 0x80)) break;
    }
    return v;
}

static span nth(span m, uint32_t number, unsigned k) {
    const unsigned char *at = m.at, *end = m.at + m.len;
    while (m.found && at < end) {
        uint64_t tag = varint(&at, end), n = 0;
        span f = { .at = at, .found = true };
        if ((tag & 7) == 0) f.varint = varint(&at, end);
        else if ((tag & 7) == 2) { n = varint(&at, end); f.at = at; at += n; }
        else if ((tag & 7) == 5) at += 4;
        else if ((tag & 7) == 1) at += 8;
        f.len = (tag & 7) == 2 ? (size_t)n : (size_t)(at - f.at);
        if (tag >> 3 == number && k-- == 0) return f;
    }
    return (span){ 0 };
}

static span get(span m, uint32_t number) { return nth(m, number, 0); }

static span at_path(span m, const uint32_t *path) {
    for (; *path; path++) m = get(m, *path);
    return m;
}
#define PATH(m, ...) at_path(m, (const uint32_t[]){ __VA_ARGS__, 0 })

static bool is_text(span s, const char *text) { return s.found && s.len == strlen(text) && !memcmp(s.at, text, s.len); }

static unsigned count(span m, uint32_t number) {
    unsigned n = 0;
    while (nth(m, number, n).found) n++;
    return n;
}

/* Map entries {key = 1, value = 2} under field `number`. */
static span entry(span m, uint32_t number, const char *key) {
    for (unsigned k = 0;; k++) {
        span e = nth(m, number, k);
        if (!e.found || is_text(get(e, 1), key)) return get(e, 2);
    }
}

/* ---- the program under test: constants of every type on both sides of the rule, an op, two outputs */
static assay_status same_type(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n, assay_error *err) {
    (void)p; (void)n; (void)err;
    out[0] = assay_op_in(op, "x")->type;
    return ASSAY_OK;
}

static const assay_op_param two_params[] = { { "x", "any", NULL, ASSAY_ARG_REQUIRED, "" }, { "y", "any", NULL, ASSAY_ARG_VARIADIC, "" }, { NULL, NULL, NULL, 0, NULL } };
static const assay_op_def join_op = { .type = "test_join", .summary = "", .opset_min = "CoreML5", .params = two_params, .infer = same_type };
static const assay_op_def *const ops[] = { &join_op, NULL };

typedef struct made { const char *name; int32_t dtype; int64_t n; } made;
static const made consts[] = {
    { "h9", ASSAY_F16, 9 }, { "h10", ASSAY_F16, 10 }, { "f9", ASSAY_F32, 9 }, { "f11", ASSAY_F32, 11 }, { "d12", ASSAY_F64, 12 }, { "b12", ASSAY_BOOL, 12 },
    { "c9", ASSAY_I8, 9 }, { "c10", ASSAY_I8, 10 }, { "u10", ASSAY_U8, 10 }, { "s12", ASSAY_I16, 12 }, { "i12", ASSAY_I32, 12 }, { "l12", ASSAY_I64, 12 },
    { "w3", ASSAY_U16, 3 }, { "v3", ASSAY_U32, 3 },
};
enum { N_CONSTS = sizeof consts / sizeof *consts };

static unsigned char element_byte(size_t which, size_t i) { return (unsigned char)(17 * which + 3 * i + 1); }

static assay_program *build(int32_t spec) {
    static bool registered;
    if (!registered) assay_optable_add(ops);
    registered = true;
    assay_program *p = assay_program_new(spec);
    assay_mil_function *f = assay_program_add_function(p, "main", spec >= 9 ? "iOS18" : "iOS16");
    const int64_t shape[] = { 2, 3 };
    assay_mil_value *x = assay_function_add_input(p, f, "x", assay_type_tensor(p, ASSAY_MIL_FP16, 2, shape));
    assay_mil_binding all[N_CONSTS];
    for (size_t k = 0; k < N_CONSTS; k++) {
        unsigned char bytes[128];
        for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = consts[k].dtype == ASSAY_BOOL ? i % 2 : element_byte(k, i);
        assay_tensor t = assay_tensor_view(consts[k].dtype, 1, &consts[k].n, bytes);
        all[k] = (assay_mil_binding){ .value = assay_block_add_const(p, f, f->block, NULL, consts[k].name, assay_const_tensor(p, &t)) };
    }
    assay_mil_binding in = { .value = x };
    assay_build_arg args[] = { { "x", &in, 1 }, { "y", all, N_CONSTS } };
    assay_mil_op *op;
    assay_error err;
    CU_ASSERT_EQUAL_FATAL(assay_block_add_op(p, f, f->block, NULL, "test_join", "y", "test.lua:1", args, 2, &op, &err), ASSAY_OK);
    CU_ASSERT_EQUAL_FATAL(assay_function_set_outputs(p, f, op->outs, 1, &err), ASSAY_OK);
    return p;
}

/* ---- one written package, read back as bytes */
typedef struct package { char dir[64]; char *path, *model, *blob; size_t model_len, blob_len; } package;

static void write_it(package *k, int32_t spec) {
    strcpy(k->dir, "/tmp/assay-write-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(k->dir));
    k->path = assay_path_join(k->dir, "m.mlpackage");
    assay_error err = { 0 };
    assay_program *p = build(spec);
    CU_ASSERT_EQUAL(assay_program_write_package(p, k->path, &err), ASSAY_OK);
    assay_program_free(p);
    char *model = assay_path_join(k->path, "Data/com.apple.CoreML/model.mlmodel"), *blob = assay_path_join(k->path, "Data/com.apple.CoreML/weights/weight.bin");
    CU_ASSERT_EQUAL_FATAL(assay_read_file(model, 1 << 20, &k->model, &k->model_len, &err), ASSAY_OK);
    CU_ASSERT_EQUAL_FATAL(assay_read_file(blob, 1 << 20, &k->blob, &k->blob_len, &err), ASSAY_OK);
    free(model);
    free(blob);
}

static void drop(package *k) {
    assay_remove_tree(k->dir, NULL);
    free(k->path);
    free(k->model);
    free(k->blob);
}

static span model_of(const package *k) { return (span){ (const unsigned char *)k->model, k->model_len, true, 0 }; }
static span function_of(const package *k) { return entry(get(model_of(k), 502), 2, "main"); }
static span block_of(const package *k, const char *opset) { return entry(function_of(k), 3, opset); }

static span op_named(span block, const char *name) {
    for (unsigned i = 0;; i++) {
        span op = nth(block, 3, i);
        if (!op.found || is_text(PATH(op, 3, 1), name)) return op;
    }
}

static void manifest_is_complete(void) {
    package k;
    write_it(&k, 9);
    char *path = assay_path_join(k.path, "Manifest.json");
    assay_json *m = NULL;
    assay_error err;
    CU_ASSERT_EQUAL_FATAL(assay_json_read_file(path, &m, &err), ASSAY_OK);
    CU_ASSERT_STRING_EQUAL(assay_json_string(m, "fileFormatVersion", ""), "1.0.0");
    const assay_json *items = assay_json_get(m, "itemInfoEntries"), *root = assay_json_get(items, assay_json_string(m, "rootModelIdentifier", "?"));
    CU_ASSERT_EQUAL(assay_json_len(items), 2);
    CU_ASSERT_STRING_EQUAL(assay_json_string(root, "path", ""), "com.apple.CoreML/model.mlmodel");
    for (size_t i = 0; i < 2; i++) {
        const assay_json *item = assay_json_at(items, i);
        CU_ASSERT_EQUAL(strlen(assay_json_key_at(items, i)), 36);
        CU_ASSERT_STRING_EQUAL(assay_json_string(item, "author", ""), "com.apple.CoreML");
        CU_ASSERT(assay_json_string(item, "name", NULL) && assay_json_string(item, "description", NULL));
        char *data = assay_path_join(k.path, "Data"), *target = assay_path_join(data, assay_json_string(item, "path", "?"));
        CU_ASSERT(assay_exists(target));         /* the converter refuses a package with a path that does not exist */
        free(target);
        free(data);
    }
    assay_json_free(m);
    free(path);
    drop(&k);
}

static void messages_stand_where_the_format_says(void) {
    package k;
    write_it(&k, 9);
    span model = model_of(&k), block = block_of(&k, "CoreML8"), join = op_named(block, "y");
    CU_ASSERT_EQUAL((unsigned char)k.model[0], 0x08);
    CU_ASSERT_EQUAL(get(model, 1).varint, 9);
    CU_ASSERT_EQUAL(PATH(model, 502, 1).varint, 1);
    CU_ASSERT(is_text(get(function_of(&k), 2), "CoreML8"));
    CU_ASSERT(is_text(PATH(model, 2, 1, 1), "x"));                 /* description.input.name */
    CU_ASSERT_EQUAL(PATH(model, 2, 1, 3, 5, 2).varint, 65552);     /* multiArray, fp16 */
    span shape = PATH(model, 2, 1, 3, 5, 1);
    CU_ASSERT(shape.len == 2 && shape.at[0] == 2 && shape.at[1] == 3);   /* packed */
    CU_ASSERT(is_text(PATH(model, 2, 10, 1), "y"));
    CU_ASSERT(is_text(PATH(function_of(&k), 1, 1), "x"));
    CU_ASSERT_EQUAL(PATH(function_of(&k), 1, 2, 1, 1).varint, 10); /* fp16 */
    CU_ASSERT_EQUAL(PATH(function_of(&k), 1, 2, 1, 2).varint, 2);  /* rank */
    CU_ASSERT_EQUAL(count(PATH(function_of(&k), 1, 2, 1), 3), 2);
    CU_ASSERT(is_text(get(block, 2), "y"));
    CU_ASSERT_EQUAL(count(block, 3), N_CONSTS + 1);
    CU_ASSERT(is_text(get(join, 1), "test_join"));
    CU_ASSERT(is_text(PATH(entry(join, 2, "x"), 1, 1), "x"));      /* bound by name */
    CU_ASSERT_EQUAL(count(entry(join, 2, "y"), 1), N_CONSTS);      /* several bindings under one key */
    CU_ASSERT(is_text(PATH(entry(join, 5, "name"), 3, 1, 4, 1), "y"));   /* attribute name: a string scalar */
    CU_ASSERT(!get(PATH(entry(join, 5, "name"), 2, 1), 2).found);  /* rank 0 is absent on the wire */
    drop(&k);
}

static span const_value(const package *k, const char *opset, const char *name) { return entry(op_named(block_of(k, opset), name), 5, "val"); }

/* Which constants lie in the weight file, and which field holds the others. */
static void check_places(int32_t spec, const char *opset) {
    static const struct { const char *name; unsigned field; } immediate[] = {
        { "h9", 7 }, { "f9", 1 }, { "d12", 6 }, { "b12", 3 }, { "c9", 7 }, { "l12", 5 }, { "w3", 2 }, { "v3", 7 },
    };
    static const char *const blobs[] = { "h10", "f11", "c10", "u10" }, *const later[] = { "s12", "i12" };
    package k;
    write_it(&k, spec);
    for (size_t i = 0; i < 8; i++) CU_ASSERT(PATH(const_value(&k, opset, immediate[i].name), 3, 1, immediate[i].field).found);
    for (size_t i = 0; i < 4; i++) CU_ASSERT(is_text(PATH(const_value(&k, opset, blobs[i]), 5, 1), "@model_path/weights/weight.bin"));
    for (size_t i = 0; i < 2; i++) CU_ASSERT_EQUAL(PATH(const_value(&k, opset, later[i]), 5, 1).found, spec >= 9);
    for (size_t i = 0; i < 2; i++) CU_ASSERT_EQUAL(PATH(const_value(&k, opset, later[i]), 3, 1, 2).found, spec < 9);
    drop(&k);
}

static void ten_elements_decide_from_version_9(void) { check_places(9, "CoreML8"); }
static void before_version_9_wide_integers_stay_immediate(void) { check_places(7, "CoreML6"); }

static uint32_t u32(const char *p) { uint32_t v; memcpy(&v, p, 4); return v; }
static uint64_t u64(const char *p) { uint64_t v; memcpy(&v, p, 8); return v; }

static void weight_file_is_laid_out_as_the_format_says(void) {
    static const struct { const char *name; uint32_t code, size; } rows[] = { { "h10", 1, 20 }, { "f11", 2, 44 }, { "c10", 4, 10 }, { "u10", 3, 10 }, { "s12", 6, 24 }, { "i12", 14, 48 } };
    package k;
    write_it(&k, 9);
    CU_ASSERT_EQUAL(u32(k.blob), 6);
    CU_ASSERT_EQUAL(u32(k.blob + 4), 2);
    uint64_t at = 64;
    for (size_t i = 0; i < 6; i++) {
        const char *r = k.blob + at;
        CU_ASSERT_FATAL(at + 64 + rows[i].size <= k.blob_len);
        CU_ASSERT_EQUAL(u32(r), 0xDEADBEEFu);
        CU_ASSERT_EQUAL(u32(r + 4), rows[i].code);
        CU_ASSERT_EQUAL(u64(r + 8), rows[i].size);
        CU_ASSERT_EQUAL(u64(r + 16), at + 64);
        CU_ASSERT_EQUAL(u64(r + 24), 0);
        for (size_t b = 32; b < 64; b++) CU_ASSERT_EQUAL(r[b], 0);
        CU_ASSERT_EQUAL(PATH(const_value(&k, "CoreML8", rows[i].name), 5, 2).varint, at);   /* the record, not the data */
        size_t which = 0;
        while (strcmp(consts[which].name, rows[i].name)) which++;
        for (size_t b = 0; b < rows[i].size; b++) CU_ASSERT_EQUAL((unsigned char)r[64 + b], element_byte(which, b));
        uint64_t end = at + 64 + rows[i].size, next = (end + 63) / 64 * 64;
        for (uint64_t b = end; b < next && i < 5; b++) CU_ASSERT_EQUAL(k.blob[b], 0);
        at = i < 5 ? next : end;
    }
    CU_ASSERT_EQUAL(at, k.blob_len);             /* nothing after the last datum */
    drop(&k);
}

static void the_same_program_gives_the_same_bytes(void) {
    package a, b;
    write_it(&a, 9);
    write_it(&b, 9);
    char x[65], y[65];
    assay_error err;
    CU_ASSERT(a.model_len == b.model_len && !memcmp(a.model, b.model, a.model_len));
    CU_ASSERT(a.blob_len == b.blob_len && !memcmp(a.blob, b.blob, a.blob_len));
    CU_ASSERT_EQUAL(assay_tree_digest(a.path, x, &err), ASSAY_OK);
    CU_ASSERT_EQUAL(assay_tree_digest(b.path, y, &err), ASSAY_OK);
    CU_ASSERT_STRING_EQUAL(x, y);
    drop(&a);
    drop(&b);
}

static void an_existing_folder_is_not_touched(void) {
    package k;
    write_it(&k, 9);
    assay_program *p = build(9);
    assay_error err = { 0 };
    CU_ASSERT_NOT_EQUAL(assay_program_write_package(p, k.path, &err), ASSAY_OK);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "exists already"));
    assay_program_free(p);
    drop(&k);
}

static void an_older_version_is_refused(void) {
    assay_program *p = build(9);
    p->spec_version = 5;
    assay_error err = { 0 };
    CU_ASSERT_NOT_EQUAL(assay_program_write_package(p, "/tmp/assay-never.mlpackage", &err), ASSAY_OK);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "specification version 5"));
    CU_ASSERT(!assay_exists("/tmp/assay-never.mlpackage"));
    assay_program_free(p);
}

/* An image input as it comes back from a package written anew; NULL where the shared material is absent. */
static assay_program *image_again(int32_t flexible, int64_t (*sizes)[2], int64_t (*shapes)[ASSAY_RANK_MAX]) {
    const char *shared = shared_or_skip();
    char from[4096], to[] = "/tmp/assay-image-XXXXXX";
    assay_program *p = NULL, *q = NULL;
    assay_error err = { 0 };
    if (!shared || !mkdtemp(to)) return NULL;
    char *path = assay_path_join(to, "model.mlpackage");
    snprintf(from, sizeof from, "%s/corpus/coremltools/structure/image_input/model.mlpackage", shared);
    CU_ASSERT_FATAL(assay_program_read(from, &p, &err) == ASSAY_OK && p->signatures[0].inputs[0].kind == ASSAY_FEATURE_IMAGE);
    assay_feature *f = &p->signatures[0].inputs[0];
    p->raw = NULL;                               /* as after any change: the package is encoded anew */
    f->flexible = flexible;
    f->ranges = sizes, f->n_ranges = sizes ? 2 : 0;
    f->shapes = shapes, f->n_shapes = shapes ? 2 : 0;
    CU_ASSERT(assay_program_write_package(p, path, &err) == ASSAY_OK);
    CU_ASSERT_FATAL(assay_program_read(path, &q, &err) == ASSAY_OK);
    assay_program_free(p);
    assay_remove_tree(to, NULL);
    free(path);
    return q;
}

static void flexible_images_are_encoded_anew(void) {
    int64_t ranges[2][2] = { { 4, 64 }, { 8, -1 } }, shapes[2][ASSAY_RANK_MAX] = { { 4, 8 }, { 16, 32 } };
    assay_program *p = image_again(1, ranges, NULL);
    if (!p) return;
    const assay_feature *f = &p->signatures[0].inputs[0];
    CU_ASSERT(f->flexible == 1 && f->n_ranges == 2 && !memcmp(f->ranges, ranges, sizeof ranges));
    assay_program_free(p);
    p = image_again(2, NULL, shapes);
    f = &p->signatures[0].inputs[0];
    CU_ASSERT(f->flexible == 2 && f->n_shapes == 2 && f->shapes[0][1] == 8 && f->shapes[1][0] == 16 && f->shapes[1][1] == 32);
    assay_program_free(p);
    p = image_again(0, NULL, NULL);
    f = &p->signatures[0].inputs[0];
    CU_ASSERT(f->flexible == 0 && f->n_ranges == 0 && f->n_shapes == 0);
    assay_program_free(p);
}

ASSAY_SUITE("packages as written", TEST(manifest_is_complete), TEST(messages_stand_where_the_format_says), TEST(ten_elements_decide_from_version_9),
            TEST(before_version_9_wide_integers_stay_immediate), TEST(weight_file_is_laid_out_as_the_format_says),
            TEST(the_same_program_gives_the_same_bytes), TEST(an_existing_folder_is_not_touched), TEST(an_older_version_is_refused),
            TEST(flexible_images_are_encoded_anew))
