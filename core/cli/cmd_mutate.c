/* cli/cmd_mutate.c: runs the mutants of an experiment's control through its gates and prints which gates see which. */
#include "cli/runs.h"
#include "base/fs.h"
#include "base/names.h"
#include "report/progress.h"
#include "run/drive.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SET_MAX = 256 };
#define MUTANT "mutant."

static const assay_opt opts[] = {
    {"out", 'o', "DIR", "run directory (default: runs/<experiment>-<next free k>)", false},
    {"set", 0, "NAME=VALUE", "value of an option the script declares, or opset, precision, compute_units", true},
    {"require", 0, "SCORE", "exit 1 when the share of mutants that are killed is below this, such as 1.0", false},
    ASSAY_TRIAL_OPTS,
    {NULL, 0, NULL, NULL, false},
};

typedef struct matrix { assay_json *rows; size_t mutants, killed; const char *candidate; } matrix;

static assay_json *row_of(assay_json *rows, const char *arm) {
    for (size_t i = 0; i < assay_json_len(rows); i++)
        if (assay_streq(assay_json_string(assay_json_at(rows, i), "arm", ""), arm)) return assay_json_at(rows, i);
    assay_json *row = assay_json_append(rows, assay_json_object());
    assay_json_set_string(row, "arm", arm);
    assay_json_set_bool(row, "killed", false);
    assay_json_set(row, "gates", assay_json_array());
    return row;
}

/* One row per arm: what each gate said. Only a kill counts: an invalid gate has seen nothing. */
static matrix read_receipt(const assay_json *receipt) {
    matrix m = {.rows = assay_json_array(), .candidate = "not judged"};
    const assay_json *gates = assay_json_get(receipt, "gates");
    for (size_t i = 0; i < assay_json_len(gates); i++) {
        const assay_json *g = assay_json_at(gates, i), *why = assay_json_at(assay_json_get(g, "reasons"), 0);
        const char *arm = assay_json_string(g, "arm", ""), *printed = assay_json_string(g, "printed", "");
        assay_json *row = row_of(m.rows, arm), *cell = assay_json_append((assay_json *)(uintptr_t)assay_json_get(row, "gates"), assay_json_object());
        assay_json_set_string(cell, "gate", assay_json_string(g, "gate", ""));
        assay_json_set_string(cell, "verdict", printed);
        assay_json_set_string(cell, "code", assay_json_string(why, "code", ""));
        if (assay_streq(printed, "kill")) assay_json_set_bool(row, "killed", true);
        if (!assay_starts_with(arm, MUTANT) && !assay_streq(m.candidate, "kill")) m.candidate = assay_streq(printed, "pass") && assay_streq(m.candidate, "not judged") ? "pass" : assay_streq(printed, "pass") ? m.candidate : printed;
    }
    for (size_t i = 0; i < assay_json_len(m.rows); i++) {
        const assay_json *row = assay_json_at(m.rows, i);
        if (!assay_starts_with(assay_json_string(row, "arm", ""), MUTANT)) continue;
        m.mutants++;
        m.killed += assay_json_bool(row, "killed", false);
    }
    return m;
}

static void print_row(const assay_json *row) {
    const char *arm = assay_json_string(row, "arm", "");
    bool mutant = assay_starts_with(arm, MUTANT);
    printf("  %-24s %-9s", mutant ? arm + strlen(MUTANT) : arm, !mutant ? "candidate" : assay_json_bool(row, "killed", false) ? "killed" : "SURVIVES");
    const assay_json *gates = assay_json_get(row, "gates");
    for (size_t i = 0; i < assay_json_len(gates); i++) {
        const assay_json *g = assay_json_at(gates, i);
        const char *code = assay_json_string(g, "code", "");
        printf("  %s: %s%s%s%s", assay_json_string(g, "gate", ""), assay_json_string(g, "verdict", ""), *code ? " (" : "", code, *code ? ")" : "");
    }
    putchar('\n');
}

static double score_of(const matrix *m) { return m->mutants ? (double)m->killed / (double)m->mutants : 0; }

/* The candidate, then the survivors, then the killed. */
static void print_matrix(const matrix *m, const char *dir) {
    for (int pass = 0; pass < 3; pass++)
        for (size_t i = 0; i < assay_json_len(m->rows); i++) {
            const assay_json *row = assay_json_at(m->rows, i);
            bool mutant = assay_starts_with(assay_json_string(row, "arm", ""), MUTANT), killed = assay_json_bool(row, "killed", false);
            if (pass == (!mutant ? 0 : killed ? 2 : 1)) print_row(row);
        }
    printf("mutation score %.4g: %zu of %zu mutants killed; the candidate: %s\nrun directory: %s\n", score_of(m), m->killed, m->mutants, m->candidate, dir);
    if (m->killed < m->mutants) printf("these gates cannot see the surviving mutants with these fixtures\n");
}

static void print_json(const matrix *m, const char *dir) {
    assay_json *j = assay_json_object();
    assay_json_set_string(j, "schema", "assay-mutants/1");
    assay_json_set_string(j, "dir", dir);
    assay_json_set_number(j, "score", score_of(m));
    assay_json_set_string(j, "candidate", m->candidate);
    assay_json_set(j, "rows", assay_json_clone(m->rows));
    assay_cli_print_json(j);
    assay_json_free(j);
}

static assay_status required_score(const assay_args *a, double *out, assay_error *err) {
    const char *text = assay_arg(a, "require");
    char *end = NULL;
    *out = text ? strtod(text, &end) : 0;
    if (text && (end == text || *end || !(*out >= 0 && *out <= 1)))
        return assay_fail(err, ASSAY_E_USAGE, "--require: expected a number from 0 to 1, got '%s'", text);
    return ASSAY_OK;
}

static assay_status drive(const assay_args *a, const char *dir, const assay_registry *r, const assay_progress *progress, assay_json **receipt,
                          assay_error *err) {
    assay_plan plan;
    assay_drive d = {.progress = progress};
    char *host = NULL;
    assay_status st = assay_plan_load(dir, &plan, err);
    if (st != ASSAY_OK) return st;
    st = assay_cli_supervisor(a, &plan, r, &d.supervisor, &host, err);
    if (st == ASSAY_OK) st = assay_drive_run(&d, receipt, err);
    assay_plan_free(&plan);
    free(host);
    return st;
}

static int show(const assay_args *a, const assay_json *receipt, const char *dir, double required) {
    matrix m = read_receipt(receipt);
    if (a->json) print_json(&m, dir);
    else print_matrix(&m, dir);
    bool met = !(score_of(&m) < required);
    assay_json_free(m.rows);
    return met ? ASSAY_EXIT_OK : ASSAY_EXIT_KILLED;
}

static int run(const assay_args *a) {
    const char *set[SET_MAX];
    int n_set = assay_arg_all(a, "set", set, SET_MAX);
    assay_registry *r = assay_cli_registry(a);
    assay_progress_view view;
    assay_progress progress = assay_progress_open(&view, stderr, assay_color_on(STDERR_FILENO), a->quiet);
    assay_plan_options o = {.script = a->pos[0], .out = assay_arg(a, "out"), .set = set, .n_set = (size_t)n_set, .registry = r,
                            .mutants = true};
    char *dir = NULL;
    assay_json *receipt = NULL;
    assay_error err = {0};
    double required = 0;
    assay_status st = required_score(a, &required, &err);
    if (st == ASSAY_OK) st = assay_plan_make(&o, &dir, &err);
    if (st == ASSAY_OK) st = drive(a, dir, r, &progress, &receipt, &err);
    assay_progress_close(&view);
    int code = st == ASSAY_OK ? show(a, receipt, dir, required) : assay_cli_fail(a, &err);
    assay_json_free(receipt);
    assay_registry_free(r);
    free(dir);
    return code;
}

const assay_command assay_cmd_mutate = {"mutate", "X.lua", "run mutants of the control through the experiment's gates, print the kill matrix", opts, 1, 1, run, false};
