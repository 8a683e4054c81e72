/* cli/cmd_trial.c: collects single trials into a run directory; takes no lock, so many can work in one directory. */
#include "cli/runs.h"
#include <stdio.h>
#include <stdlib.h>

static const assay_opt opts[] = {ASSAY_TRIAL_OPTS, {NULL, 0, NULL, NULL, false}};

static assay_status one(const assay_args *a, const assay_supervisor *s, const char *id, assay_json *rows, assay_error *err) {
    assay_json *job = NULL;
    const char *state = "there already";
    assay_status st = assay_job_read(s->plan->dir, id, &job, err);
    if (st == ASSAY_OK && !assay_trial_is_done(s->plan, s->host, id)) st = assay_supervise(s, job, &state, err);
    if (st == ASSAY_OK) {
        assay_json *row = assay_json_append(rows, assay_json_object());
        assay_json_set_string(row, "trial", id);
        assay_json_set_string(row, "state", state);
        if (!a->json) printf("%s %s\n", id, state);
    }
    assay_json_free(job);
    return st;
}

static int run(const assay_args *a) {
    assay_registry *r = assay_cli_registry(a);
    assay_plan p = {0};
    assay_supervisor s = {0};
    assay_cli_place place;
    assay_error err = {0};
    assay_json *out = assay_json_object(), *rows = assay_json_set(out, "trials", assay_json_array());
    assay_json_set_string(out, "schema", "assay-collected/1");
    assay_status st = assay_cli_place_open(a, r, &place, &err);
    if (st == ASSAY_OK) st = assay_plan_load(a->pos[0], &p, &err);
    if (st == ASSAY_OK) s = assay_cli_supervisor(a, &p, r, &place);
    for (int i = 1; st == ASSAY_OK && i < a->n_pos; i++) st = one(a, &s, a->pos[i], rows, &err);
    if (st == ASSAY_OK && a->json) assay_cli_print_json(out);
    assay_json_free(out);
    assay_plan_free(&p);
    assay_registry_free(r);
    assay_cli_place_free(&place);
    return st == ASSAY_OK ? ASSAY_EXIT_OK : assay_cli_fail(a, &err);
}

const assay_command assay_cmd_trial = {"trial", "DIR ID...", "collect single trials of a plan", opts, 2, -1, run, false,
    "assay trials planned --host ci | xargs assay trial planned --host ci"};
