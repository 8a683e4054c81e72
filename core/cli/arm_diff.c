/* assay diff RUN ARM: the arm's program against the control's; what differs beyond the arm's declared change is named. */
#include "cli/arm_diff.h"
#include "base/fs.h"
#include "base/names.h"
#include "ops/builtin.h"
#include "program/diff.h"
#include "run/plan.h"
#include <stdio.h>
#include <stdlib.h>

bool assay_is_arm_diff(const char *dir, const char *arm) {
    char *plan = assay_path_join(dir, "plan.json");
    bool yes = assay_is_file(plan) && !assay_exists(arm);
    free(plan);
    return yes;
}

static assay_status read_arm(const assay_plan *plan, const char *name, const assay_json **row, assay_program **p, assay_error *err) {
    const assay_json *arms = assay_json_get(plan->json, "arms");
    const char *names[64];
    char hint[96];
    size_t n = 0;
    for (; n < assay_json_len(arms) && n < 64; n++) names[n] = assay_json_string(assay_json_at(arms, n), "name", "");
    *row = assay_plan_arm(plan, name);
    if (!*row) return assay_fail(err, ASSAY_E_INPUT, "%s: no arm '%s'%s", plan->dir, name, assay_did_you_mean(hint, name, names, n));
    const char *rel = assay_json_string(*row, "path", NULL);
    if (!rel) return assay_fail(err, ASSAY_E_INPUT, "%s: arm '%s' has no program in the plan", plan->dir, name);
    char *path = assay_plan_path(plan, rel);
    assay_status s = assay_program_read(path, p, err);
    free(path);
    return s;
}

static void print_rows(const assay_json *rows, bool declared) {
    for (size_t i = 0; i < assay_json_len(rows); i++) {
        const assay_json *r = assay_json_at(rows, i);
        if (assay_json_bool(r, "declared", false) != declared) continue;
        printf("%-8s  %s: %s | %s\n", declared ? "declared" : "beyond", assay_json_string(r, "where", ""), assay_json_string(r, "a", "nothing"),
               assay_json_string(r, "b", "nothing"));
    }
}

static void show(const assay_args *a, const assay_json *doc) {
    if (a->json) {
        assay_cli_print_json(doc);
        return;
    }
    const assay_json *rows = assay_json_get(doc, "differences");
    char *change = assay_json_print(assay_json_get(doc, "change"));
    print_rows(rows, false);
    print_rows(rows, true);
    printf("%zu differences between control '%s' and arm '%s', %.0f beyond its declared change %s\n", assay_json_len(rows),
           assay_json_string(doc, "control", ""), assay_json_string(doc, "arm", ""), assay_json_number(doc, "beyond", 0), change);
    free(change);
}

static assay_json *document(const char *control, const char *arm, const assay_json *change, const assay_program *p, const assay_program *q) {
    assay_json *doc = assay_json_object(), *rows = assay_json_array();
    assay_program_diff(p, q, rows);
    size_t beyond = assay_change_mark(change, rows);
    assay_json_set_string(doc, "schema", "assay-diff/1");
    assay_json_set_string(doc, "what", "arm");
    assay_json_set_string(doc, "control", control);
    assay_json_set_string(doc, "arm", arm);
    assay_json_set(doc, "change", change ? assay_json_clone(change) : assay_json_new_null());
    assay_json_set_int(doc, "beyond", (int64_t)beyond);
    assay_json_set(doc, "differences", rows);
    return doc;
}

int assay_arm_diff(const assay_args *a, const char *dir, const char *arm) {
    assay_plan plan = {0};
    assay_program *p = NULL, *q = NULL;
    const assay_json *control_row, *row;
    assay_error err = {0};
    int code;
    assay_ops_register();
    assay_status s = assay_plan_load(dir, &plan, &err);
    const char *control = s == ASSAY_OK ? assay_plan_arm_of_role(plan.json, "control") : NULL;
    if (s == ASSAY_OK && !control) s = assay_fail(&err, ASSAY_E_INPUT, "%s: the plan has no control to compare with", dir);
    if (s == ASSAY_OK) s = read_arm(&plan, control, &control_row, &p, &err);
    if (s == ASSAY_OK) s = read_arm(&plan, arm, &row, &q, &err);
    const assay_json *change = s == ASSAY_OK ? assay_json_get(row, "change") : NULL;
    if (s == ASSAY_OK && assay_change_check(change, &err) != ASSAY_OK) s = assay_wrap(&err, "%s: arm \"%s\"", assay_json_string(row, "where", dir), arm);
    if (s == ASSAY_OK) {
        assay_json *doc = document(control, arm, change, p, q);
        show(a, doc);
        code = assay_json_int(doc, "beyond", 0) ? 1 : ASSAY_EXIT_OK;
        assay_json_free(doc);
    } else {
        code = assay_cli_fail(a, &err);
    }
    assay_program_free(p);
    assay_program_free(q);
    assay_plan_free(&plan);
    return code;
}
