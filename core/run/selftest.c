/* Self-tests of gates: the case folders that stand beside a gate's shared object, judged before a run is believed. */
#include "run/selftest.h"
#include "base/fs.h"
#include "base/names.h"
#include "run/case.h"
#include <stdlib.h>
#include <string.h>

/* <folder>/NAME.so -> <folder>/NAME.cases; NULL when there is none. */
static char *cases_of(const assay_gate_type *g) {
    if (!assay_streq(g->kind, "c") || !assay_ends_with(g->path, ".so")) return NULL;
    char *dir = assay_xprintf("%.*s.cases", (int)(strlen(g->path) - 3), g->path);
    if (assay_is_dir(dir)) return dir;
    free(dir);
    return NULL;
}

static void add_problem(assay_json *row, const char *name, const char *text) {
    char *line = assay_xprintf("%s: %s", name, text);
    assay_json_append(assay_json_get(row, "problems"), assay_json_new_string(line));
    assay_json_set_bool(row, "ok", false);
    free(line);
}

static void run_case(const assay_registry *r, const char *dir, const char *name, assay_json *row) {
    assay_case_tools tools = {.registry = r};
    assay_json *result = NULL;
    assay_error err = {0};
    char *path = assay_path_join(dir, name);
    if (assay_case_run(&tools, path, &result, &err) != ASSAY_OK) add_problem(row, name, err.message);
    else if (!assay_json_bool(result, "ok", false)) add_problem(row, name, assay_json_string(result, "difference", "another verdict than expected"));
    assay_json_free(result);
    free(path);
}

assay_json *assay_gate_selftest(const assay_registry *r, const assay_gate_type *g) {
    char *dir = cases_of(g), **names = NULL;
    size_t n = 0;
    assay_json *row = assay_json_object();
    assay_json_set_string(row, "gate", g->name);
    assay_json_set_bool(row, "ok", true);
    assay_json_set(row, "problems", assay_json_array());
    if (dir && assay_list_dir(dir, &names, &n, NULL) == ASSAY_OK)
        for (size_t i = 0; i < n; i++) run_case(r, dir, names[i], row);
    assay_json_set_int(row, "cases", (int64_t)n);
    assay_list_free(names, n);
    free(dir);
    return row;
}
