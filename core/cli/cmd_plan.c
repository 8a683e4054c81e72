/* cli/cmd_plan.c: runs a script and freezes it as a run directory; with --trials lists what is to be collected first. */
#include "cli/runs.h"
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

static int show(const assay_args *a, const assay_plan *p, const assay_json *trials) {
    if (!a->json) {
        printf("%s\n", p->dir);
        for (size_t i = 0; i < assay_json_len(trials); i++) printf("%s\n", assay_json_text(assay_json_at(trials, i)));
        return ASSAY_EXIT_OK;
    }
    assay_json *j = assay_json_object();
    assay_json_set_string(j, "schema", "assay-planned/1");
    assay_json_set_string(j, "dir", p->dir);
    assay_json_set_string(j, "plan_sha256", p->sha256);
    assay_json_set(j, "trials", assay_json_clone(trials));
    assay_cli_print_json(j);
    assay_json_free(j);
    return ASSAY_EXIT_OK;
}

static int run(const assay_args *a) {
    assay_planning s;
    assay_cli_planning_open(a, &s);
    s.options.note = note;
    char *dir = NULL;
    assay_plan p = {0};
    assay_error err = {0};
    assay_json *trials = assay_json_array();
    assay_status st = assay_plan_make(&s.options, &dir, &err);
    if (st == ASSAY_OK) st = assay_plan_load(dir, &p, &err);
    if (st == ASSAY_OK && assay_flag(a, "trials")) st = list_trials(a, &p, trials, &err);
    assay_progress_close(&s.view);
    int code = st == ASSAY_OK ? show(a, &p, trials) : assay_cli_fail(a, &err);
    assay_json_free(trials);
    assay_plan_free(&p);
    assay_cli_planning_close(&s);
    free(dir);
    return code;
}

const assay_command assay_cmd_plan = {"plan", "X.lua", "run a script and freeze it as a run directory", opts, 1, 1, run, false};
