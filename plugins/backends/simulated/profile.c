/* Finding a device profile, joining it with its base, and its digest. */
#include "backends/simulated/profile.h"
#include "base/digest.h"
#include "base/fs.h"
#include "base/names.h"
#include "ops/builtin.h"
#include "script/script.h"
#include <stdlib.h>
#include <string.h>

/* ---- finding */

static char *devices_dir(void) {
    char *scripts = assay_scripts_dir(NULL);
    char *up = scripts ? assay_path_dir(scripts) : assay_xstrdup(".");
    char *dir = assay_path_join(up, "configs/devices");
    free(scripts);
    free(up);
    return dir;
}

/* Names what there is. */
static assay_status no_such_profile(const char *dir, const char *name, assay_error *err) {
    char **files = NULL, hint[96];
    size_t n = 0, kept = 0;
    assay_buf known = {0};
    if (assay_is_dir(dir)) assay_list_dir(dir, &files, &n, NULL);
    const char **names = assay_xcalloc(n + 1, sizeof *names);
    for (size_t i = 0; i < n; i++) {
        if (!assay_ends_with(files[i], ".lua")) continue;
        files[i][strlen(files[i]) - 4] = 0;
        assay_buf_printf(&known, "%s%s", kept ? ", " : "", files[i]);
        names[kept++] = files[i];
    }
    assay_fail(err, ASSAY_E_INPUT, "device profile '%s': there is no such profile%s; known: %s (a file of your own is named with its .lua)", name,
               assay_did_you_mean(hint, name, names, kept), kept ? known.data : "none");
    assay_buf_free(&known);
    free(names);
    assay_list_free(files, n);
    return ASSAY_E_INPUT;
}

static assay_status find(const char *name, char **path, assay_error *err) {
    if (strchr(name, '/') || assay_ends_with(name, ".lua")) {
        *path = assay_xstrdup(name);
        return ASSAY_OK;
    }
    char *dir = devices_dir();
    *path = assay_xprintf("%s/%s.lua", dir, name);
    assay_status st = assay_is_file(*path) ? ASSAY_OK : no_such_profile(dir, name, err);
    free(dir);
    if (st == ASSAY_OK) return ASSAY_OK;
    free(*path);
    *path = NULL;
    return st;
}

/* ---- base and overrides */

/* Objects are joined field by field, everything else is replaced. Lua's {} reads as an empty list: it adds nothing to an object. */
static void join(assay_json *base, const assay_json *over) {
    for (const assay_json *c = assay_json_first(over); c; c = assay_json_next(c)) {
        assay_json *old = assay_json_get(base, assay_json_key(c));
        bool empty = assay_json_kind(c) == ASSAY_J_ARRAY && assay_json_len(c) == 0;
        if (assay_json_kind(old) == ASSAY_J_OBJECT && (empty || assay_json_kind(c) == ASSAY_J_OBJECT)) join(old, c);
        else assay_json_set(base, assay_json_key(c), assay_json_clone(c));
    }
}

static void prepend(assay_json *profile, const assay_json *first) {
    assay_json *all = assay_json_clone(first);
    for (const assay_json *c = assay_json_first(assay_json_get(profile, "placement")); c; c = assay_json_next(c)) assay_json_append(all, assay_json_clone(c));
    assay_json_set(profile, "placement", all);
}

static assay_status read_head(const char *path, assay_json **out, assay_error *err) {
    assay_status st = assay_script_read_data(path, out, err);
    if (st == ASSAY_OK) st = assay_sim_profile_check_head(path, *out, err);
    if (st == ASSAY_OK) return ASSAY_OK;
    assay_json_free(*out);
    *out = NULL;
    return st;
}

/* One level: a base has no base. */
static assay_status resolve(const char *path, assay_json **profile, assay_error *err) {
    const char *name = assay_json_string(*profile, "base", NULL);
    const assay_json *first = assay_json_get(*profile, "placement_first");
    if (!name && first) return assay_fail(err, ASSAY_E_INPUT, "%s: placement_first: there is no base whose rules it could precede; use placement", path);
    if (!name) return ASSAY_OK;
    if (!assay_is_plain_name(name)) return assay_fail(err, ASSAY_E_INPUT, "%s: base: '%s' is not the name of a profile beside this one", path, name);
    char *dir = assay_path_dir(path), *file = assay_xprintf("%s/%s.lua", dir, name);
    assay_json *base = NULL;
    assay_status st = assay_is_file(file) ? read_head(file, &base, err) : no_such_profile(dir, name, err);
    if (st == ASSAY_OK && assay_json_get(base, "base"))
        st = assay_fail(err, ASSAY_E_INPUT, "%s: base: '%s' has a base of its own; profiles inherit one level only", path, name);
    if (st == ASSAY_OK) {
        assay_json *own = *profile;
        join(base, own);
        if (first) prepend(base, first);
        assay_json_remove(base, "placement_first");
        assay_json_free(own);
        *profile = base;
    } else {
        assay_json_free(base);
    }
    free(dir);
    free(file);
    return st;
}

assay_status assay_sim_profile_load(const char *name, assay_sim_profile *out, assay_error *err) {
    memset(out, 0, sizeof *out);
    assay_ops_register();                        /* rules name ops */
    assay_status st = find(name, &out->path, err);
    if (st == ASSAY_OK) st = read_head(out->path, &out->json, err);
    if (st == ASSAY_OK) st = resolve(out->path, &out->json, err);
    if (st == ASSAY_OK) st = assay_sim_profile_check(out->path, out->json, err);
    if (st != ASSAY_OK) {
        assay_sim_profile_free(out);
        return st;
    }
    char *text = assay_json_print(out->json);
    assay_sha256_of(text, strlen(text), out->sha256);
    free(text);
    out->id = assay_json_string(out->json, "id", "");
    return ASSAY_OK;
}

void assay_sim_profile_free(assay_sim_profile *p) {
    free(p->path);
    assay_json_free(p->json);
    memset(p, 0, sizeof *p);
}
