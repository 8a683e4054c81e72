/* Finding the program in what the user names: .mlpackage folder, .mlmodel file, .mlmodelc folder, MIL text. */
#include "program/internal.h"
#include "base/json.h"
#include "base/names.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_MANIFEST = 4 << 20 };

/* ---- Manifest.json (formats/mlpackage.md section 1) */
static assay_status check_version(const char *v, const char *path, assay_error *err) {
    unsigned major = 0, minor = 0, patch = 0;
    int used = 0;
    if (!v || sscanf(v, "%9u.%9u.%9u%n", &major, &minor, &patch, &used) != 3 || v[used] || !isdigit((unsigned char)v[0]))
        return assay_fail(err, ASSAY_E_INPUT, "%s: fileFormatVersion must be three numbers such as \"1.0.0\"", path);
    if (major > 1 || (major == 1 && (minor > 0 || patch > 0)))
        return assay_fail(err, ASSAY_E_UNSUPPORTED, "%s: fileFormatVersion %s is newer than 1.0.0", path, v);
    return ASSAY_OK;
}

static assay_status check_item(const assay_json *item, const char *id, const char *path, assay_error *err) {
    static const char *const keys[] = {"path", "name", "author", "description"};
    for (size_t i = 0; i < 4; i++)
        if (!assay_json_string(item, keys[i], NULL))
            return assay_fail(err, ASSAY_E_INPUT, "%s: item %s has no text '%s'", path, id, keys[i]);
    const char *rel = assay_json_string(item, "path", "");
    if (!assay_path_is_inside(rel)) return assay_fail(err, ASSAY_E_INPUT, "%s: item path '%s' leaves the package", path, rel);
    return ASSAY_OK;
}

/* The path of the model below Data/, borrowed from the manifest. */
static assay_status find_root(const assay_json *m, const char *path, const char **rel, assay_error *err) {
    if (assay_json_kind(m) != ASSAY_J_OBJECT) return assay_fail(err, ASSAY_E_INPUT, "%s: not a JSON object", path);
    assay_status s = check_version(assay_json_string(m, "fileFormatVersion", NULL), path, err);
    if (s) return s;
    const assay_json *items = assay_json_get(m, "itemInfoEntries");
    if (assay_json_kind(items) != ASSAY_J_OBJECT) return assay_fail(err, ASSAY_E_INPUT, "%s: itemInfoEntries is missing", path);
    for (size_t i = 0; i < assay_json_len(items); i++)
        if ((s = check_item(assay_json_at(items, i), assay_json_key_at(items, i), path, err))) return s;
    const char *id = assay_json_string(m, "rootModelIdentifier", NULL);
    if (!id) return assay_fail(err, ASSAY_E_INPUT, "%s: rootModelIdentifier is missing", path);
    const assay_json *root = assay_json_get(items, id);
    if (!root) return assay_fail(err, ASSAY_E_INPUT, "%s: rootModelIdentifier %s names no item", path, id);
    *rel = assay_json_string(root, "path", "");
    return ASSAY_OK;
}

assay_status assay_manifest_root(const char *text, size_t len, const char *what, char **rel, assay_error *err) {
    assay_json *m = NULL;
    const char *found = NULL;
    assay_status s = assay_json_parse(text, len, what, &m, err);
    if (!s) s = find_root(m, what, &found, err);
    if (!s) *rel = assay_xstrdup(found);
    assay_json_free(m);
    return s;
}

static assay_status model_path(const char *package, char **out, assay_error *err) {
    char *path = assay_path_join(package, "Manifest.json"), *text = NULL, *rel = NULL;
    size_t len;
    assay_status s = assay_read_file(path, MAX_MANIFEST, &text, &len, err);
    if (!s) s = assay_manifest_root(text, len, path, &rel, err);
    if (!s) {
        char *data = assay_path_join(package, "Data");
        *out = assay_path_join(data, rel);
        free(data);
    }
    free(text);
    free(rel);
    free(path);
    return s;
}

/* ---- one model file */
static void unmap(void *ctx) {
    assay_unmap(ctx);
    free(ctx);
}

static assay_status read_model_file(const char *path, assay_program **out, assay_error *err) {
    assay_map *map = assay_xcalloc(1, sizeof *map);
    assay_status s = assay_map_file(path, map, err);
    if (s) {
        free(map);
        return s;
    }
    char *dir = assay_path_dir(path);
    s = assay_program_parse_model(map->data, map->len, path, dir, out, err);
    free(dir);
    if (s)
        unmap(map);
    else
        assay_arena_on_free((*out)->arena, unmap, map);
    return s;
}

static assay_status read_text_file(const char *path, assay_program **out, assay_error *err) {
    assay_map map = {0};
    assay_status s = assay_map_file(path, &map, err);
    if (s) return s;
    char *dir = assay_path_dir(path);
    s = assay_program_parse_mil(map.data, map.len, path, dir, out, err);
    free(dir);
    assay_unmap(&map);
    return s;
}

static bool has(const char *dir, const char *name) {
    char *p = assay_path_join(dir, name);
    bool yes = assay_exists(p);
    free(p);
    return yes;
}

static assay_status read_folder(const char *path, assay_program **out, assay_error *err) {
    char *inner = NULL;
    assay_status s;
    if (has(path, "Manifest.json")) {
        s = model_path(path, &inner, err);
        if (!s && !assay_is_file(inner)) s = assay_fail(err, ASSAY_E_INPUT, "%s: the model file %s is missing", path, inner);
        if (!s) s = read_model_file(inner, out, err);
    } else if (has(path, "model.mil")) {
        inner = assay_path_join(path, "model.mil");
        s = read_text_file(inner, out, err);
    } else if (has(path, "coremldata.bin")) {
        s = assay_fail(err, ASSAY_E_UNSUPPORTED, "%s: a compiled model without model.mil (not an ML Program)", path);
    } else {
        s = assay_fail(err, ASSAY_E_INPUT, "%s: neither a package (no Manifest.json) nor a compiled model (no model.mil)", path);
    }
    free(inner);
    return s;
}

assay_status assay_program_read(const char *path, assay_program **out, assay_error *err) {
    *out = NULL;
    assay_status s;
    if (assay_is_dir(path))
        s = read_folder(path, out, err);
    else if (!assay_exists(path))
        s = assay_fail(err, ASSAY_E_INPUT, "%s: no such file or folder", path);
    else if (assay_ends_with(path, ".mil"))
        s = read_text_file(path, out, err);
    else if ((s = read_model_file(path, out, err)) != ASSAY_OK && !assay_ends_with(path, ".mlmodel"))
        assay_wrap(err, "read as .mlmodel, since it ends with none of .mlpackage, .mlmodelc, .mil");
    if (!s) (*out)->source = assay_arena_strdup((*out)->arena, path);
    return s;
}
