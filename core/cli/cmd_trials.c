/* cli/cmd_trials.c: lists the trials that the gates of a plan need and that this host has not collected, one a line. */
#include "cli/runs.h"
#include "run/drive.h"
#include <stdio.h>
#include <stdlib.h>

static const assay_opt opts[] = {
    {"backend", 0, "NAME", "backend whose evidence is looked for (default reference; simulated with --device)", false},
    {"device", 0, "PROFILE", "simulated device whose evidence is looked for", false},
    {"host", 0, "NAME", "short name of the machine (default: hardware model, OS build, backend)", false},
    {"long", 'l', NULL, "kind, arm and fixture beside each id", false},
    {NULL, 0, NULL, NULL, false},
};

static void print_jobs(const assay_args *a, const assay_json *jobs) {
    if (a->json) {
        assay_json *j = assay_json_object();
        assay_json_set_string(j, "schema", "assay-trials/1");
        assay_json_set(j, "trials", assay_json_clone(jobs));
        assay_cli_print_json(j);
        assay_json_free(j);
        return;
    }
    for (size_t i = 0; i < assay_json_len(jobs); i++) {
        const assay_json *job = assay_json_at(jobs, i);
        if (assay_flag(a, "long"))
            printf("%s  %-7s %-14s %-14s%s\n", assay_json_string(job, "id", ""), assay_json_string(job, "kind", ""), assay_json_string(job, "arm", ""),
                   assay_json_string(job, "fixture", "-"), assay_json_string(job, "perturb", NULL) ? " perturbed" : "");
        else printf("%s\n", assay_json_string(job, "id", ""));
    }
}

static int run(const assay_args *a) {
    assay_plan p = {0};
    assay_error err = {0};
    assay_json *jobs = NULL;
    assay_registry *r = assay_cli_registry(a);
    assay_cli_place place;
    assay_status st = assay_cli_place_open(a, r, &place, &err);
    if (st == ASSAY_OK) st = assay_plan_load(a->pos[0], &p, &err);
    if (st == ASSAY_OK) st = assay_drive_missing(&p, place.host, a->gate_path, &jobs, &err);
    for (size_t i = 0; st == ASSAY_OK && i < assay_json_len(jobs); i++) st = assay_job_write(&p, assay_json_at(jobs, i), &err);
    if (st == ASSAY_OK) print_jobs(a, jobs);
    assay_json_free(jobs);
    assay_plan_free(&p);
    assay_cli_place_free(&place);
    assay_registry_free(r);
    return st == ASSAY_OK ? ASSAY_EXIT_OK : assay_cli_fail(a, &err);
}

const assay_command assay_cmd_trials = {"trials", "DIR", "list the trials still to collect, one a line (for parallel, Slurm)", opts, 1, 1, run, false,
    "assay trials planned --host ci --long"};
