/* Planning: runs the script and materialises the run directory in <dir>.tmp, renamed at the end. */
#include "run/plan_build.h"
#include "base/digest.h"
#include "base/fs.h"
#include "base/names.h"
#include <stdlib.h>
#include <string.h>
#include <stdio.h>

/* Fields of the description that stand in the plan as they are. */
static const char *const copied[] = {"name", "target", "opset", "precision", "compute_units", "shapes", "seeds", "stop", "options",
                                     "claims", "priors", "kills", "compares", "sweep", "follows"};

static char *next_free_dir(const char *name) {
    for (int k = 1;; k++) {
        char *dir = assay_xprintf("runs/%s-%d", name, k);
        char *tmp = assay_xprintf("%s.tmp", dir);
        bool free_name = !assay_exists(dir) && !assay_exists(tmp);
        free(tmp);
        if (free_name) return dir;
        free(dir);
    }
}

static char *without_slash(const char *path) {
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/') n--;
    return assay_xstrndup(path, n);
}

static assay_status choose_dir(assay_plan_build *b, assay_error *err) {
    const char *name = assay_json_string(b->desc, "name", "experiment");
    if (!assay_is_plain_name(name))
        return assay_fail(err, ASSAY_E_INPUT, "%s: experiment name '%s' cannot name a folder (letters, digits, _ . -; at most 64)",
                          assay_json_string(b->desc, "where", b->o->script), name);
    b->dir = b->o->out ? without_slash(b->o->out) : next_free_dir(name);
    b->tmp = assay_xprintf("%s.tmp", b->dir);
    if (assay_exists(b->dir))
        return assay_fail(err, ASSAY_E_INPUT, "%s exists already: choose another --out, or go on with it by --resume", b->dir);
    return ASSAY_OK;
}

/* A folder that planning made: empty yet, marked, or finished and about to be renamed. */
static bool is_ours(const char *tmp) {
    char **names = NULL;
    size_t n = 0;
    bool ours = assay_is_dir(tmp) && assay_list_dir(tmp, &names, &n, NULL) == ASSAY_OK && n == 0;
    for (size_t i = 0; i < n; i++) ours |= assay_starts_with(names[i], ".planning") || assay_streq(names[i], "plan.json");
    assay_list_free(names, n);
    return ours;
}

/* What an interrupted planning left is worth nothing; anything else of that name is not ours to delete. */
static assay_status open_tmp(assay_plan_build *b, assay_error *err) {
    char *mark = assay_path_join(b->tmp, ".planning");
    assay_status st = ASSAY_OK;
    if (assay_exists(b->tmp) && !is_ours(b->tmp))
        st = assay_fail(err, ASSAY_E_INPUT, "%s is in the way of planning and was not made by it: move it or choose another --out", b->tmp);
    if (st == ASSAY_OK) st = assay_remove_tree(b->tmp, err);
    if (st == ASSAY_OK) st = assay_mkdirs(b->tmp, err);
    if (st == ASSAY_OK) st = assay_write_inside(mark, "", 0, err);
    free(mark);
    return st;
}

static assay_status write_plan(assay_plan_build *b, assay_error *err) {
    char *path = assay_path_join(b->tmp, "plan.json");
    assay_buf text = {0};
    assay_json_write(b->plan, &text);
    assay_status st = assay_write_inside(path, text.data, text.len, err);
    assay_buf_free(&text);
    free(path);
    return st;
}

static void start_plan(assay_plan_build *b) {
    b->plan = assay_json_object();
    assay_json_set_string(b->plan, "schema", ASSAY_PLAN_SCHEMA);
    for (size_t i = 0; i < sizeof copied / sizeof *copied; i++) {
        const assay_json *v = assay_json_get(b->desc, copied[i]);
        assay_json_set(b->plan, copied[i], v ? assay_json_clone(v) : assay_json_new_null());
    }
    for (const char *const *k = (const char *const[]){"mutation_score", "equivalent_mutants", NULL}; *k; k++)
        if (assay_json_get(b->desc, *k)) assay_json_set(b->plan, *k, assay_json_clone(assay_json_get(b->desc, *k)));
    const assay_json *weights = assay_json_get(b->desc, "weights");
    assay_json *w = assay_json_set(b->plan, "weights", assay_json_kind(weights) == ASSAY_J_OBJECT ? assay_json_object() : assay_json_new_null());
    if (assay_json_kind(w) == ASSAY_J_OBJECT) assay_json_set_string(w, "provenance", assay_json_string(weights, "provenance", "synthetic"));
}

static assay_status materialise(assay_plan_build *b, assay_error *err) {
    start_plan(b);
    assay_status st = assay_plan_build_follows(b, err);
    if (st == ASSAY_OK) st = assay_plan_build_arms(b, err);
    if (st == ASSAY_OK) st = assay_plan_build_fixtures(b, err);
    if (st == ASSAY_OK) st = assay_plan_build_reference(b, err);
    if (st == ASSAY_OK) st = assay_plan_build_records(b, err);
    if (st == ASSAY_OK) st = assay_plan_build_scripts(b, err);
    if (st == ASSAY_OK) st = assay_plan_build_gates(b, err);
    if (st == ASSAY_OK) st = assay_plan_build_sources(b, err);
    if (st == ASSAY_OK) st = assay_plan_check_records(b, err);
    if (st == ASSAY_OK) st = write_plan(b, err);
    return st;
}

static assay_status publish(assay_plan_build *b, assay_error *err) {
    char *mark = assay_path_join(b->tmp, ".planning");
    remove(mark);
    free(mark);
    bool lost = false;
    assay_status st = assay_publish_dir(b->tmp, b->dir, &lost, err);
    if (st == ASSAY_OK && lost) st = assay_fail(err, ASSAY_E_INPUT, "%s appeared while planning: another run took the name", b->dir);
    return st;
}

static void close_build(assay_plan_build *b) {
    for (size_t i = 0; i < b->n_arms; i++) assay_program_free(b->programs[i]);
    free(b->programs);
    assay_json_free(b->plan);
    assay_script_close(b->script);
    free(b->dir);
    free(b->tmp);
}

assay_status assay_plan_make(const assay_plan_options *o, char **dir, assay_error *err) {
    assay_plan_build b = {.o = o};
    assay_script_options so = {.scripts_dir = o->scripts_dir, .set = o->set, .n_set = o->n_set, .registry = o->registry, .mutants = o->mutants, .diagnose = o->diagnose};
    assay_status st = assay_script_open(o->script, &so, &b.script, err);
    bool ours = false;
    if (st == ASSAY_OK) {
        b.desc = assay_script_description(b.script);
        st = choose_dir(&b, err);
    }
    if (st == ASSAY_OK) {
        if (o->chosen) o->chosen(o->ctx, b.dir);
        st = open_tmp(&b, err);
        ours = st == ASSAY_OK;
    }
    if (st == ASSAY_OK) st = materialise(&b, err);
    if (st == ASSAY_OK) st = publish(&b, err);
    if (st != ASSAY_OK && ours) assay_remove_tree(b.tmp, NULL);
    if (st == ASSAY_OK) *dir = assay_xstrdup(b.dir);
    close_build(&b);
    return st;
}

assay_status assay_plan_build_scripts(assay_plan_build *b, assay_error *err) {
    const assay_json *files = assay_script_files(b->script);
    assay_json *rows = assay_json_set(b->plan, "scripts", assay_json_array());
    assay_status st = ASSAY_OK;
    for (size_t i = 0; st == ASSAY_OK && i < assay_json_len(files); i++) {
        const assay_json *f = assay_json_at(files, i);
        const char *name = assay_json_string(f, "name", ""), *path = assay_json_string(f, "path", "");
        if (!assay_path_is_inside(name)) return assay_fail(err, ASSAY_E_INTERNAL, "script name '%s' leaves the run directory", name);
        char *rel = assay_xprintf("%s/scripts/%s", b->tmp, name), *parent = assay_path_dir(rel);
        st = assay_mkdirs(parent, err);
        if (st == ASSAY_OK) st = assay_copy_file(path, rel, err);
        char hex[ASSAY_HEX];
        if (st == ASSAY_OK) st = assay_sha256_file(rel, hex, err);
        if (st == ASSAY_OK) {
            assay_json *row = assay_json_append(rows, assay_json_object());
            assay_json_set_string(row, "name", name);
            assay_json_set_string(row, "sha256", hex);
        }
        free(rel);
        free(parent);
    }
    return st;
}
