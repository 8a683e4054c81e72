/* Planning: materialises the arms and the reference, and stores large files once. */
#include "run/plan_build.h"
#include "base/digest.h"
#include "base/fs.h"
#include "base/names.h"
#include "tensor/npy.h"
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#include <unistd.h>
#include <errno.h>
#include <sys/stat.h>

/* Files below this size are not worth a link. */
enum { OBJECT_MIN_BYTES = 4096 };

assay_status assay_plan_store_object(const char *run_dir, const char *path, char sha256[65], assay_error *err) {
    assay_status st = assay_sha256_file(path, sha256, err);
    struct stat info;
    if (st != ASSAY_OK || stat(path, &info) != 0 || info.st_size < OBJECT_MIN_BYTES) return st;
    char *dir = assay_path_join(run_dir, "objects"), *object = assay_path_join(dir, sha256);
    st = assay_mkdirs(dir, err);
    if (st == ASSAY_OK && link(path, object) != 0 && errno == EEXIST) {
        char *tmp = assay_xprintf("%s.link", path);
        if (link(object, tmp) == 0 && rename(tmp, path) != 0) remove(tmp);
        free(tmp);
    }
    free(object);
    free(dir);
    return st;
}

/* Stores every regular file below `dir`. */
static assay_status store_tree(const char *run_dir, const char *dir, assay_error *err) {
    char **names = NULL;
    size_t n = 0;
    assay_status st = assay_list_dir(dir, &names, &n, err);
    for (size_t i = 0; st == ASSAY_OK && i < n; i++) {
        char *path = assay_path_join(dir, names[i]), hex[ASSAY_HEX];
        st = assay_is_dir(path) ? store_tree(run_dir, path, err) : assay_plan_store_object(run_dir, path, hex, err);
        free(path);
    }
    assay_list_free(names, n);
    return st;
}

/* Names of the outputs: any other name that a gate asks for is a value inside the program. */
static void set_outputs(const assay_program *p, assay_json *row) {
    const assay_mil_function *f = assay_program_function(p, NULL);
    assay_json *names = assay_json_set(row, "outputs", assay_json_array());
    for (uint32_t i = 0; f && f->block && i < f->block->n_outputs; i++)
        assay_json_append(names, assay_json_new_string(f->block->outputs[i]->name));
}

/* Writes a program, or copies the package it was given as, to <run>/<folder>/...; sets path, structural, tree and origin. */
static assay_status place_program(assay_plan_build *b, const assay_program *p, const char *package, const char *folder, assay_json *row,
                                  assay_error *err) {
    const char *file = "model.mlpackage";
    if (package && !assay_is_dir(package)) file = assay_path_base(package);
    char *rel = assay_xprintf("%s/%s", folder, file), *abs = assay_path_join(b->tmp, rel), *parent = assay_path_dir(abs);
    assay_status st = assay_mkdirs(parent, err);
    if (st == ASSAY_OK) {
        if (!package) st = assay_program_write_package(p, abs, err);
        else if (assay_is_dir(package)) st = assay_copy_tree(package, abs, err);
        else st = assay_copy_file(package, abs, err);
    }
    char structural[ASSAY_HEX], tree[ASSAY_HEX];
    if (st == ASSAY_OK && assay_is_dir(abs)) st = store_tree(b->tmp, abs, err);
    if (st == ASSAY_OK) st = assay_tree_digest(abs, tree, err);
    if (st == ASSAY_OK) {
        assay_program_digest(p, structural);
        assay_json_set_string(row, "path", rel);
        assay_json_set_string(row, "structural", structural);
        assay_json_set_string(row, "tree", tree);
        assay_json_set_string(row, "origin", package ? "imported" : "reference");
        set_outputs(p, row);
    }
    free(rel);
    free(abs);
    free(parent);
    return st;
}

static const char *const arm_fields[] = {"name", "role", "source", "like", "compute_units", "precision", "backend", "change", "where"};

static assay_status build_arm(assay_plan_build *b, size_t i, const assay_json *arm, assay_json *row, assay_error *err) {
    const char *name = assay_json_string(arm, "name", "");
    if (b->o->note) {
        char *what = assay_xprintf("arm %s", name);
        b->o->note(b->o->ctx, what);
        free(what);
    }
    for (size_t k = 0; k < sizeof arm_fields / sizeof *arm_fields; k++) {
        const assay_json *v = assay_json_get(arm, arm_fields[k]);
        assay_json_set(row, arm_fields[k], v ? assay_json_clone(v) : assay_json_new_null());
    }
    assay_status st = assay_script_make_arm(b->script, i, &b->programs[i], err);
    if (st != ASSAY_OK) return st;
    bool as_is = assay_streq(assay_json_string(arm, "source", ""), "package") && !assay_json_bool(arm, "rewrite", false) &&
                 !assay_json_bool(arm, "mutate", false);
    const char *package = as_is ? b->programs[i]->source : NULL;
    char *folder = assay_xprintf("arms/%s", name);
    st = place_program(b, b->programs[i], package, folder, row, err);
    if (st != ASSAY_OK) assay_wrap(err, "%s: arm \"%s\"", assay_json_string(arm, "where", b->o->script), name);
    free(folder);
    return st;
}

assay_status assay_plan_build_arms(assay_plan_build *b, assay_error *err) {
    const assay_json *arms = assay_json_get(b->desc, "arms");
    assay_json *rows = assay_json_set(b->plan, "arms", assay_json_array());
    b->n_arms = assay_json_len(arms);
    b->programs = assay_xcalloc(b->n_arms ? b->n_arms : 1, sizeof *b->programs);
    assay_status st = ASSAY_OK;
    for (size_t i = 0; st == ASSAY_OK && i < b->n_arms; i++)
        st = build_arm(b, i, assay_json_at(arms, i), assay_json_append(rows, assay_json_object()), err);
    return st;
}

/* ---- the reference */

static bool block_makes(const assay_mil_block *blk, const char *name) {
    for (uint32_t i = 0; i < blk->n_ops; i++) {
        const assay_mil_op *op = blk->ops[i];
        for (uint32_t k = 0; k < op->n_outs; k++)
            if (assay_streq(op->outs[k]->name, name)) return true;
    }
    return false;
}

static bool function_has(const assay_mil_function *f, const char *name) {
    for (uint32_t i = 0; i < f->n_inputs; i++)
        if (assay_streq(f->inputs[i]->name, name)) return true;
    return f->block && block_makes(f->block, name);
}

/* The names to cut at: reference.values (a list, or a map of role to name), else q, k, v. */
static assay_json *cut_names(const assay_json *ref) {
    assay_json *names = assay_json_array();
    const assay_json *values = assay_json_get(ref, "values");
    for (size_t i = 0; i < assay_json_len(values); i++)
        assay_json_append(names, assay_json_new_string(assay_json_text(assay_json_at(values, i))));
    if (assay_json_len(names) == 0)
        for (const char *const *v = (const char *const[]){"q", "k", "v", NULL}; *v; v++) assay_json_append(names, assay_json_new_string(*v));
    return names;
}

static assay_status set_cut(const assay_json *ref, const assay_program *p, assay_json *row, assay_error *err) {
    const char *cut = assay_json_string(ref, "cut", "program"), *where = assay_json_string(ref, "where", "reference");
    if (!assay_streq(cut, "qkv") && !assay_streq(cut, "program"))
        return assay_fail(err, ASSAY_E_INPUT, "%s: reference.cut: expected \"qkv\" or \"program\", got \"%s\"", where, cut);
    if (!assay_streq(cut, "qkv")) return ASSAY_OK;
    assay_json *names = assay_json_set(row, "cut", cut_names(ref));
    const assay_mil_function *f = assay_program_function(p, NULL);
    for (size_t i = 0; f && i < assay_json_len(names); i++) {
        const char *v = assay_json_text(assay_json_at(names, i));
        if (!function_has(f, v))
            return assay_fail(err, ASSAY_E_INPUT,
                              "%s: reference.cut \"qkv\": arm \"%s\" has no value named '%s'; name its q, k, v in reference.values, or use cut = \"program\"",
                              where, assay_json_string(row, "arm", ""), v);
    }
    return ASSAY_OK;
}

static assay_status reference_arm(assay_plan_build *b, const assay_json *ref, assay_json *row, assay_error *err) {
    const char *name = assay_json_string(ref, "arm", NULL);
    if (!name) name = assay_plan_arm_of_role(b->plan, "control");
    const assay_json *arms = assay_json_get(b->plan, "arms");
    for (size_t i = 0; name && i < b->n_arms; i++) {
        const assay_json *arm = assay_json_at(arms, i);
        if (!assay_streq(assay_json_string(arm, "name", ""), name)) continue;
        assay_json_set_string(row, "arm", name);
        for (const char *const *k = (const char *const[]){"path", "structural", "tree", "origin", NULL}; *k; k++)
            assay_json_set_string(row, *k, assay_json_string(arm, *k, ""));
        assay_json_set(row, "outputs", assay_json_clone(assay_json_get(arm, "outputs")));
        return set_cut(ref, b->programs[i], row, err);
    }
    return assay_fail(err, ASSAY_E_INPUT, "%s: the reference needs an arm of role \"control\"; declare one, or say reference { arm = NAME }",
                      assay_json_string(ref, "where", b->o->script));
}

/* One imported tensor: `file` is one path for every fixture, or a map of fixture to path. */
static assay_status import_tensor(assay_plan_build *b, const char *fixture, const char *file, assay_json *tensors, assay_error *err) {
    char *rel = assay_xprintf("reference/%s.npy", fixture), *abs = assay_path_join(b->tmp, rel), *parent = assay_path_dir(abs);
    assay_own_tensor t = {0};
    char hex[ASSAY_HEX];
    assay_status st = assay_npy_read(file, &t, err);
    assay_tensor_free(&t);
    if (st == ASSAY_OK) st = assay_mkdirs(parent, err);
    if (st == ASSAY_OK) st = assay_copy_file(file, abs, err);
    if (st == ASSAY_OK) st = assay_plan_store_object(b->tmp, abs, hex, err);
    if (st == ASSAY_OK) {
        assay_json *row = assay_json_set(tensors, fixture, assay_json_object());
        assay_json_set_string(row, "file", rel);
        assay_json_set_string(row, "sha256", hex);
    }
    free(rel);
    free(abs);
    free(parent);
    return st;
}

static assay_status reference_file(assay_plan_build *b, const assay_json *ref, assay_json *row, assay_error *err) {
    const assay_json *file = assay_json_get(ref, "file"), *fixtures = assay_json_get(b->plan, "fixtures");
    assay_json *tensors = assay_json_set(row, "tensors", assay_json_object());
    assay_status st = ASSAY_OK;
    if (!assay_json_string(ref, "framework", NULL))
        return assay_fail(err, ASSAY_E_INPUT, "%s: an imported reference says where it comes from: reference { file = ..., framework = \"torch 2.1, CPU, float32\" }",
                          assay_json_string(ref, "where", b->o->script));
    for (size_t i = 0; st == ASSAY_OK && i < assay_json_len(fixtures); i++) {
        const char *name = assay_json_string(assay_json_at(fixtures, i), "name", "");
        const char *path = assay_json_kind(file) == ASSAY_J_OBJECT ? assay_json_string(file, name, NULL) : assay_json_text(file);
        if (path) st = import_tensor(b, name, path, tensors, err);
    }
    if (st != ASSAY_OK) assay_wrap(err, "%s: reference", assay_json_string(ref, "where", b->o->script));
    return st;
}

static assay_status reference_program(assay_plan_build *b, assay_json *row, assay_error *err) {
    assay_program *p = NULL;
    assay_status st = assay_script_make_reference(b->script, &p, err);
    if (st == ASSAY_OK) st = place_program(b, p, NULL, "reference", row, err);
    assay_program_free(p);
    return st;
}

assay_status assay_plan_build_reference(assay_plan_build *b, assay_error *err) {
    const assay_json *ref = assay_json_get(b->desc, "reference");
    const char *kind = assay_json_string(ref, "kind", "arm");
    assay_json *row = assay_json_set(b->plan, "reference", assay_json_object());
    assay_json_set_string(row, "kind", kind);
    assay_json_set_string(row, "precision", assay_json_string(ref, "precision", "fp64"));
    const char *framework = assay_json_string(ref, "framework", NULL);
    if (framework) assay_json_set_string(row, "framework", framework);
    if (b->o->note) b->o->note(b->o->ctx, "reference");
    if (assay_streq(kind, "file")) return reference_file(b, ref, row, err);
    if (assay_streq(kind, "program")) return reference_program(b, row, err);
    return reference_arm(b, ref, row, err);
}
