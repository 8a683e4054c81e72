/* cli/cmd_plan.c: runs a script and freezes it as a run directory (a sweep: one for each point); with --trials lists what is to be
 * collected first. */
#include "cli/sweep.h"
#include "run/drive.h"
#include <stdio.h>
#include <stdlib.h>

static const assay_opt opts[] = {
    {"out", 'o', "DIR", "run directory (default: runs/<experiment>-<next free k>)", false},
    {"set", 0, "NAME=VALUE", "value of an option the script declares, or stop, opset, precision, compute_units", true},
    {"trials", 0, NULL, "also list the trials, one a line", false},
    {NULL, 0, NULL, NULL, false},
};

static void note(void *ctx, const char *what) { assay_progress_note(ctx, what); }

static assay_status list_trials(const assay_args *a, const assay_plan *p, assay_json *out, assay_error *err) {
    assay_json *jobs = NULL;
    assay_status st = assay_drive_missing(p, "none", a->gate_path, &jobs, err);
    for (size_t i = 0; st == ASSAY_OK && i < assay_json_len(jobs); i++) {
        const assay_json *job = assay_json_at(jobs, i);
        st = assay_job_write(p, job, err);
        assay_json_append(out, assay_json_new_string(assay_json_string(job, "id", "")));
    }
    assay_json_free(jobs);
    return st;
}

static assay_json *row_of(const assay_plan *p, assay_json *trials) {
    assay_json *j = assay_json_object();
    assay_json_set_string(j, "dir", p->dir);
    assay_json_set_string(j, "plan_sha256", p->sha256);
    assay_json_set(j, "trials", trials);
    return j;
}

/* Plans with the options of the moment. *row: {dir, plan_sha256, trials}; the caller frees. */
static assay_status plan_one(const assay_args *a, assay_planning *s, assay_json **row, assay_error *err) {
    char *dir = NULL;
    assay_plan p = {0};
    assay_json *trials = assay_json_array();
    assay_status st = assay_plan_make(&s->options, &dir, err);
    if (st == ASSAY_OK) st = assay_plan_load(dir, &p, err);
    if (st == ASSAY_OK && assay_flag(a, "trials")) st = list_trials(a, &p, trials, err);
    if (st == ASSAY_OK) *row = row_of(&p, trials);
    else assay_json_free(trials);
    assay_plan_free(&p);
    free(dir);
    return st;
}

static int show_one(const assay_args *a, assay_json *row) {
    const assay_json *trials = assay_json_get(row, "trials");
    if (a->json) {
        assay_json_set_string(row, "schema", "assay-planned/1");
        assay_cli_print_json(row);
        return ASSAY_EXIT_OK;
    }
    printf("%s\n", assay_json_string(row, "dir", ""));
    for (size_t i = 0; i < assay_json_len(trials); i++) printf("%s\n", assay_json_text(assay_json_at(trials, i)));
    return ASSAY_EXIT_OK;
}

/* ---- a sweep: every point */

typedef struct points { const assay_args *a; assay_planning *s; assay_json *rows; } points;

static assay_status plan_point(void *ctx, assay_json **receipt, assay_error *err) {
    points *p = ctx;
    assay_json *row = NULL;
    (void)receipt;
    assay_status st = plan_one(p->a, p->s, &row, err);
    if (st == ASSAY_OK) assay_json_append(p->rows, row);
    return st;
}

/* A directory a line; with --trials a line "DIR ID" for each trial, as `assay trial` takes them. */
static void print_points(const assay_args *a, const assay_json *rows) {
    for (size_t i = 0; i < assay_json_len(rows); i++) {
        const assay_json *row = assay_json_at(rows, i), *trials = assay_json_get(row, "trials");
        const char *dir = assay_json_string(row, "dir", "");
        if (!assay_flag(a, "trials")) printf("%s\n", dir);
        for (size_t k = 0; k < assay_json_len(trials); k++) printf("%s %s\n", dir, assay_json_text(assay_json_at(trials, k)));
    }
}

static assay_status plan_sweep(const assay_args *a, assay_planning *s, const assay_json *description, assay_error *err) {
    assay_json *j = assay_json_object();
    points p = {a, s, assay_json_set(j, "points", assay_json_array())};
    assay_sweep_runner r = {.planning = s, .run = plan_point, .ctx = &p};
    char *folder = NULL;
    assay_status st = assay_sweep_folder(a, description, false, &folder, err);
    if (st == ASSAY_OK) st = assay_sweep_each(assay_json_path(description, "sweep.axes"), folder, &r, err);
    assay_progress_close(&s->view);
    if (st == ASSAY_OK && a->json) {
        assay_json_set_string(j, "schema", "assay-planned-sweep/1");
        assay_json_set_string(j, "dir", folder);
        assay_cli_print_json(j);
    } else if (st == ASSAY_OK) {
        print_points(a, p.rows);
    }
    assay_json_free(j);
    free(folder);
    return st;
}

static int run(const assay_args *a) {
    assay_planning s;
    assay_cli_planning_open(a, &s);
    s.options.note = note;
    assay_error err = {0};
    assay_json *row = NULL, *sweep = assay_sweep_find(&s);
    assay_status st = sweep ? plan_sweep(a, &s, sweep, &err) : plan_one(a, &s, &row, &err);
    assay_progress_close(&s.view);
    int code = st != ASSAY_OK ? assay_cli_fail(a, &err) : row ? show_one(a, row) : ASSAY_EXIT_OK;
    assay_json_free(row);
    assay_json_free(sweep);
    assay_cli_planning_close(&s);
    return code;
}

const assay_command assay_cmd_plan = {"plan", "X.lua", "run a script and freeze it as a run directory", opts, 1, 1, run, false,
    "assay plan first.lua --out planned"};
