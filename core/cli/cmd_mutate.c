/* cli/cmd_mutate.c: runs the mutants of an experiment's control through its gates and prints which gates see which. */
#include "cli/kill_matrix.h"
#include "cli/runs.h"
#include "base/names.h"
#include <stdio.h>
#include <stdlib.h>

enum { SHOW_MAX = 16, NAMES_MAX = 512 };

static const assay_opt opts[] = {
    {"out", 'o', "DIR", "run directory (default: runs/<experiment>-<next free k>)", false},
    {"set", 0, "NAME=VALUE", "value of an option the script declares, or opset, precision, compute_units", true},
    {"require", 0, "SCORE", "exit 1 when the share of mutants that are killed is below this (default: the script's mutation_score)", false},
    {"diagnose", 0, NULL, "name the mutant that the candidate looks like, if it fails", false},
    {"show", 0, "METRIC", "also show this metric of every gate and fixture, such as psnr_db or letters", true},
    ASSAY_TRIAL_OPTS,
    {NULL, 0, NULL, NULL, false},
};

static assay_status required_score(const assay_args *a, double *out, assay_error *err) {
    const char *text = assay_arg(a, "require");
    char *end = NULL;
    if (!text) return ASSAY_OK;
    *out = strtod(text, &end);
    if (end == text || *end || !(*out >= 0 && *out <= 1)) return assay_fail(err, ASSAY_E_USAGE, "--require: expected a number from 0 to 1, got '%s'", text);
    return ASSAY_OK;
}

/* What the script asks for: the score, and the mutants that it calls equivalent (caller frees; NULL: none). */
static assay_status planned(const char *dir, double *score, assay_json **equivalent, assay_error *err) {
    assay_plan plan;
    assay_status st = assay_plan_load(dir, &plan, err);
    if (st != ASSAY_OK) return st;
    const assay_json *e = assay_json_get(plan.json, "equivalent_mutants");
    *score = assay_json_number(plan.json, "mutation_score", 0);
    *equivalent = e ? assay_json_clone(e) : NULL;
    assay_plan_free(&plan);
    return ASSAY_OK;
}

/* Metrics of one group, if it is a candidate's: adds their names for suggestions, marks those that were asked for. */
static void look_through(const char *group, const assay_json *figures, const char *const *asked, int n, bool *there, const char **known, size_t *found) {
    for (size_t k = 0; assay_starts_with(group, "candidate") && k < assay_json_len(figures); k++) {
        const char *name = assay_json_key_at(figures, k);
        for (int i = 0; i < n; i++) there[i] |= assay_streq(asked[i], name);
        if (*found < NAMES_MAX) known[(*found)++] = name;
    }
}

/* A metric that no gate gave for any arm is most often misspelt. */
static void note_unknown_metrics(const assay_json *receipt, const char *const *asked, int n) {
    const char *known[NAMES_MAX];
    bool there[SHOW_MAX] = {false};
    size_t found = 0;
    for (const assay_json *g = assay_json_first(assay_json_get(receipt, "gates")); n && g; g = assay_json_next(g)) {
        const assay_json *groups = assay_json_get(g, "metrics");
        for (size_t i = 0; i < assay_json_len(groups); i++)
            look_through(assay_json_key_at(groups, i), assay_json_at(groups, i), asked, n, there, known, &found);
    }
    for (int i = 0; i < n; i++) {
        char hint[96];
        if (!there[i]) fprintf(stderr, "assay mutate: --show %s: no gate has such a metric%s\n", asked[i], assay_did_you_mean(hint, asked[i], known, found));
    }
}

static int show(const assay_args *a, const assay_json *receipt, const assay_json *equivalent, const char *dir, double required) {
    const char *metrics[SHOW_MAX];
    int n = assay_arg_all(a, "show", metrics, SHOW_MAX);
    note_unknown_metrics(receipt, metrics, n);
    assay_kill_matrix m = assay_kill_matrix_read(receipt, equivalent, metrics, (size_t)n);
    if (a->json) {
        assay_json *j = assay_kill_matrix_json(&m, dir);
        assay_cli_print_json(j);
        assay_json_free(j);
    } else assay_kill_matrix_print(&m, dir);
    bool met = assay_kill_matrix_score(&m) >= required && m.refuted == 0;
    assay_kill_matrix_free(&m);
    if (m.powerless) return ASSAY_EXIT_INVALID;
    return met ? ASSAY_EXIT_OK : ASSAY_EXIT_KILLED;
}

static int run(const assay_args *a) {
    assay_planning p;
    assay_cli_planning_open(a, &p);
    p.options.mutants = true;
    p.options.diagnose = assay_flag(a, "diagnose");
    char *dir = NULL, *host = NULL;
    assay_json *receipt = NULL, *equivalent = NULL;
    assay_error err = {0};
    double required = 0, asked = -1;
    assay_status st = required_score(a, &asked, &err);
    if (st == ASSAY_OK) st = assay_cli_place_check(a, p.registry, &err);
    if (st == ASSAY_OK) st = assay_plan_make(&p.options, &dir, &err);
    if (st == ASSAY_OK) st = planned(dir, &required, &equivalent, &err);
    if (st == ASSAY_OK) st = assay_cli_drive(a, dir, &p, &host, &receipt, &err);
    assay_progress_close(&p.view);
    int code = st == ASSAY_OK ? show(a, receipt, equivalent, dir, asked >= 0 ? asked : required) : assay_cli_fail(a, &err);
    assay_json_free(receipt);
    assay_json_free(equivalent);
    assay_cli_planning_close(&p);
    free(dir);
    free(host);
    return code;
}

const assay_command assay_cmd_mutate = {"mutate", "X.lua", "run mutants of the control through the experiment's gates, print the kill matrix", opts, 1, 1, run, false,
    "assay mutate first.lua --out mutants --require 0.9"};
