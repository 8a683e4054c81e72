/* Writing a package folder: model, weight file, manifest. The same program gives the same bytes. */
#include "program/write.h"
#include "program/optable.h"
#include "base/digest.h"
#include "base/json.h"
#include <stdlib.h>
#include <string.h>

/* ---- manifest: identifiers are made of a digest, so that they repeat */
static void identifier(const char *role, const char *digest, char out[37]) {
    char *seed = assay_xprintf("%s %s", role, digest), hex[65];
    assay_sha256_of(seed, strlen(seed), hex);
    free(seed);
    hex[12] = '5';                               /* laid out as a name-based UUID */
    hex[16] = "89ab"[(hex[16] <= '9' ? hex[16] - '0' : hex[16] - 'a' + 10) & 3];
    static const int cuts[] = { 8, 4, 4, 4, 12 };
    size_t at = 0, from = 0;
    for (size_t i = 0; i < 5; i++) {
        if (i) out[at++] = '-';
        for (int k = 0; k < cuts[i]; k++, from++) out[at++] = (char)(hex[from] >= 'a' ? hex[from] - 'a' + 'A' : hex[from]);
    }
    out[at] = 0;
}

static void add_item(assay_json *items, const char *id, const char *name, const char *description, const char *path) {
    assay_json *item = assay_json_set(items, id, assay_json_object());
    assay_json_set_string(item, "author", "com.apple.CoreML");
    assay_json_set_string(item, "description", description);
    assay_json_set_string(item, "name", name);
    assay_json_set_string(item, "path", path);
}

static assay_status write_manifest(const char *package, const char *digest, assay_error *err) {
    char model_id[37], weights_id[37];
    identifier("model", digest, model_id);
    identifier("weights", digest, weights_id);
    assay_json *m = assay_json_object();
    assay_json_set_string(m, "fileFormatVersion", "1.0.0");
    assay_json *items = assay_json_set(m, "itemInfoEntries", assay_json_object());
    add_item(items, model_id, "model.mlmodel", "CoreML Model Specification", "com.apple.CoreML/model.mlmodel");
    add_item(items, weights_id, "weights", "CoreML Model Weights", "com.apple.CoreML/weights");
    assay_json_set_string(m, "rootModelIdentifier", model_id);
    char *text = assay_json_pretty(m), *path = assay_path_join(package, "Manifest.json");
    assay_status s = assay_write_file(path, text, strlen(text), err);
    free(path);
    free(text);
    assay_json_free(m);
    return s;
}

/* ---- checks before anything is written */
static assay_status check_const(const assay_mil_const *c, assay_error *err) {
    if (c->absent) return assay_const_ready(c, err);
    for (uint64_t i = 0; c->kind == ASSAY_CONST_ITEMS && i < c->n_items; i++)
        if (check_const(c->items[i], err)) return ASSAY_E_MISSING;
    return ASSAY_OK;
}

static assay_status check_op(const assay_mil_op *op, assay_error *err) {
    assay_status s = ASSAY_OK;
    if (op->opset) return assay_fail(err, ASSAY_E_UNSUPPORTED, "an op with an opset of its own (%s) stands in text only", op->opset);
    for (uint32_t i = 0; !s && i < op->n_attrs; i++) s = check_const(op->attrs[i].value, err);
    for (uint32_t i = 0; !s && i < op->n_args; i++)
        for (uint32_t k = 0; !s && k < op->args[i].n; k++)
            if (op->args[i].items[k].literal) s = check_const(op->args[i].items[k].literal, err);
    return s;
}

static int32_t spec_of(const assay_program *p) {
    int32_t need = p->spec_version;
    for (uint32_t i = 0; !p->spec_version && i < p->n_functions; i++) {
        int32_t spec = assay_opset_spec_version(assay_opset_rank(p->functions[i]->opset));
        if (spec > need) need = spec;
    }
    return need;
}

static assay_status check_writable(const assay_program *p, assay_error *err) {
    if (spec_of(p) < 6)
        return assay_fail(err, ASSAY_E_UNSUPPORTED, "specification version %d cannot hold an ML Program (6 or later)", spec_of(p));
    for (uint32_t i = 0; i < p->n_functions; i++)
        for (uint32_t k = 0; k < p->functions[i]->n_all_ops; k++) {
            const assay_mil_op *op = p->functions[i]->all_ops[k];
            if (check_op(op, err)) return assay_wrap(err, "op %s '%s'", op->type, op->n_outs ? op->outs[0]->name : "");
        }
    return assay_program_validate(p, 0, err);
}

/* ---- the folder */
static assay_status write_bytes(const char *dir, const void *bytes, size_t len, char digest[65], assay_error *err) {
    char *model = assay_path_join(dir, "model.mlmodel");
    assay_sha256_of(bytes, len, digest);
    assay_status s = assay_write_file(model, bytes, len, err);
    free(model);
    return s;
}

static assay_status write_encoded(const assay_program *p, const char *dir, const char *weights, char digest[65], assay_error *err) {
    assay_blob_plan blobs = { 0 };
    assay_arena *arena = assay_arena_new();
    assay_encoder e = { .p = p, .spec = spec_of(p), .arena = arena, .blobs = &blobs };
    Mil__Model *m = assay_encode_model(&e);
    size_t len = mil__model__get_packed_size(m);
    char *blob = assay_path_join(weights, "weight.bin");
    assay_status s = ASSAY_OK;
    if (len > INT32_MAX) s = assay_fail(err, ASSAY_E_LIMIT, "the model message would have %zu bytes; at most 2^31-1 can be read back", len);
    if (!s && blobs.n) s = assay_blob_plan_write(&blobs, blob, err);
    if (!s) {
        uint8_t *bytes = assay_xmalloc(len + 1);
        mil__model__pack(m, bytes);
        s = write_bytes(dir, bytes, len, digest, err);
        free(bytes);
    }
    free(blob);
    assay_blob_plan_free(&blobs);
    assay_arena_free(arena);
    return s;
}

/* A program that is as it was read goes out as it came in, with everything in it that this program does not know. */
static assay_status write_model(const assay_program *p, const char *dir, char digest[65], assay_error *err) {
    char *weights = assay_path_join(dir, "weights");
    assay_status s = assay_mkdirs(weights, err);
    if (!s && p->raw) s = assay_blob_copy_files(p, dir, err);
    if (!s && p->raw) s = write_bytes(dir, p->raw, p->raw_bytes, digest, err);
    if (!s && !p->raw) s = write_encoded(p, dir, weights, digest, err);
    free(weights);
    return s;
}

assay_status assay_program_write_package(const assay_program *p, const char *path, assay_error *err) {
    if (assay_exists(path)) return assay_fail(err, ASSAY_E_INPUT, "%s: exists already", path);
    assay_status s = check_writable(p, err);
    if (s) return assay_wrap(err, "%s: cannot write", path);
    char *data = assay_path_join(path, "Data"), *dir = assay_path_join(data, "com.apple.CoreML"), digest[65];
    s = assay_mkdirs(dir, err);
    if (!s) s = write_model(p, dir, digest, err);
    if (!s) s = write_manifest(path, digest, err);
    if (s) assay_remove_tree(path, NULL);
    free(dir);
    free(data);
    return s;
}
