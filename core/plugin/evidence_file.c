/* Loads evidence from files given on a command line or in a case folder: tensors, programs, records, plain text. */
#include "plugin/evidence.h"
#include "base/digest.h"
#include "base/fs.h"
#include "base/names.h"
#include "import/import.h"
#include "tensor/npy.h"
#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX_BYTES = 64 << 20 };

static assay_status add_text(assay_evidence_set *s, const char *role, const char *label, const char *sha, const char *path,
                             assay_error *err) {
    char *data = NULL;
    size_t len = 0;
    assay_status st = assay_read_file(path, TEXT_MAX_BYTES, &data, &len, err);
    if (st) return st;
    for (size_t i = 0; i < len; i++) /* a log may hold anything; JSON text may not */
        if (!data[i] || (unsigned char)data[i] > 127) data[i] = '?';
    assay_json *text = assay_json_new_string(data);
    assay_evidence_add_json(s, role, label, NULL, ASSAY_ORIGIN_IMPORTED, sha, text);
    assay_json_free(text);
    free(data);
    return ASSAY_OK;
}

static bool is_program_path(const char *path) {
    static const char *const suffixes[] = {".mil", ".mlpackage", ".mlmodel", ".mlmodelc"};
    size_t len = strlen(path);
    while (len > 1 && path[len - 1] == '/') len--;
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        size_t n = strlen(suffixes[i]);
        if (len >= n && !strncmp(path + len - n, suffixes[i], n)) return true;
    }
    return false;
}

/* What another tool wrote, as a neutral record. *done is false when it is no known format: then the file speaks for itself,
 * but for a plan, which is then not measured. Programs are read as such unless a plan is asked for (analytics are MIL text). */
static assay_status add_imported(assay_evidence_set *s, const char *role, const char *label, const char *sha, const char *path,
                                 bool *done, assay_error *err) {
    bool plan = assay_ends_with(role, "plan");
    if (assay_ends_with(path, ".npy") || (is_program_path(path) && !plan) || assay_streq(role, "stderr")) return ASSAY_OK;
    assay_json *record = NULL;
    assay_error why;
    assay_status st = assay_import_file(path, &record, &why);
    *done = st == ASSAY_OK || plan;
    if (st == ASSAY_OK) assay_evidence_add_json(s, role, label, NULL, ASSAY_ORIGIN_IMPORTED, sha, record);
    assay_json_free(record);
    if (st == ASSAY_E_UNSUPPORTED && plan)
        assay_evidence_add_absent(s, ASSAY_K_PLAN, role, label, NULL, ASSAY_STATE_NOT_MEASURED, why.message);
    return st == ASSAY_OK || st == ASSAY_E_UNSUPPORTED ? ASSAY_OK : assay_fail(err, st, "%s", why.message);
}

static assay_status add_by_suffix(assay_evidence_set *s, const char *role, const char *label, const char *sha, const char *path,
                                  assay_error *err) {
    bool imported = false;
    assay_status known = add_imported(s, role, label, sha, path, &imported, err);
    if (known || imported) return known;
    if (assay_ends_with(path, ".npy")) {
        assay_own_tensor t;
        assay_status st = assay_npy_read(path, &t, err);
        if (!st) assay_evidence_add_tensor(s, role, label, NULL, ASSAY_ORIGIN_IMPORTED, sha, &t);
        return st;
    }
    if (is_program_path(path)) {
        assay_program *p = NULL;
        assay_status st = assay_program_read(path, &p, err);
        if (!st) assay_evidence_add_program(s, role, label, NULL, ASSAY_ORIGIN_IMPORTED, sha, p);
        return st;
    }
    if (assay_ends_with(path, ".json")) {
        assay_json *doc = NULL;
        assay_status st = assay_json_read_file(path, &doc, err);
        if (!st) assay_evidence_add_json(s, role, label, NULL, ASSAY_ORIGIN_IMPORTED, sha, doc);
        assay_json_free(doc);
        return st;
    }
    return add_text(s, role, label, sha, path, err);
}

/* What a simulated device left in a run directory: its tables name the backend as their source, its records the format. */
static bool is_simulated(const assay_json *doc) {
    return assay_streq(assay_json_string(doc, "source", NULL), "simulated") ||
           assay_streq(assay_json_string(assay_json_get(doc, "source"), "format", NULL), "simulated device");
}

assay_status assay_evidence_add_record(assay_evidence_set *s, const char *role, const char *label, const char *arm, const char *sha256,
                                       const char *path, assay_error *err) {
    assay_json *doc = NULL;
    assay_status st = assay_import_file(path, &doc, err);
    if (st == ASSAY_E_UNSUPPORTED && assay_ends_with(path, ".json")) st = assay_json_read_file(path, &doc, err);
    if (st == ASSAY_OK && is_simulated(doc))
        st = assay_fail(err, ASSAY_E_INPUT, "a simulated device left this: it is no record of a machine (leave the record out and run with --device)");
    if (st == ASSAY_OK) assay_evidence_add_json(s, role, label, arm, ASSAY_ORIGIN_IMPORTED, sha256, doc);
    assay_json_free(doc);
    return st;
}

assay_status assay_evidence_add_file(assay_evidence_set *s, const char *key, const char *path, assay_error *err) {
    if (!assay_exists(path)) return assay_fail(err, ASSAY_E_INPUT, "%s=%s: no such file", key, path);
    char sha[ASSAY_HEX];
    assay_status st = assay_tree_digest(path, sha, err);
    if (st) return st;
    const char *colon = strchr(key, ':');
    char *role = assay_xstrndup(key, colon ? (size_t)(colon - key) : strlen(key));
    if (!*role)
        st = assay_fail(err, ASSAY_E_USAGE, "'%s=%s': the role before '=' is empty (reference=FILE, candidate:LABEL=FILE)", key,
                        path);
    else
        st = add_by_suffix(s, role, colon ? colon + 1 : "", sha, path, err);
    free(role);
    return st;
}
