/* cli/cmd_worker.c: internal: what `run`, `trial` and `judge` start as a process of its own.
 *   worker trial DIR ID --backend B --out FOLDER    does one job; exit 3 = input or I/O error, no outcome
 *   worker gate DIR HOST INDEX [--information]      one gate of the plan; prints one JSON line
 *   worker selftest DIR                             the gates of the plan on their own cases; a JSON line each */
#include "cli/cli.h"
#include "base/fmath.h"
#include "base/names.h"
#include "base/process.h"
#include "run/gather.h"
#include "run/selftest.h"
#include "run/work.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const assay_opt opts[] = {
    {"backend", 0, "NAME", "backend of a trial", false},
    {"device", 0, "PROFILE", "device profile", false},
    {"out", 0, "FOLDER", "where a trial leaves its files", false},
    {"threads", 0, "N", "threads", false},
    {"information", 0, NULL, "judge the fixtures left out of the gate's claim", false},
    {NULL, 0, NULL, NULL, false},
};

static assay_status trial(const assay_args *a, const assay_registry *r, assay_error *err) {
    assay_json *job = NULL, *device = NULL;
    const char *profile = assay_arg(a, "device"), *backend = assay_arg(a, "backend"), *threads = assay_arg(a, "threads");
    assay_work w = {.dir = a->pos[1], .out = assay_arg(a, "out"), .threads = threads ? (uint32_t)strtoul(threads, NULL, 10) : 0};
    assay_status st = a->n_pos == 3 && w.out ? assay_job_read(w.dir, a->pos[2], &job, err) : assay_fail(err, ASSAY_E_USAGE, "worker trial DIR ID --out FOLDER");
    if (st == ASSAY_OK) {
        w.backend = assay_registry_backend(r, backend ? backend : "reference", err);
        if (!w.backend) st = ASSAY_E_INPUT;
    }
    if (profile) {
        device = assay_json_object();
        assay_json_set_string(device, "device", profile);
    }
    w.job = job;
    w.device = device;
    if (st == ASSAY_OK) st = assay_work_do(&w, err);
    assay_json_free(job);
    assay_json_free(device);
    return st;
}

static assay_status gate(const assay_args *a, assay_registry *r, assay_error *err) {
    assay_plan p = {0};
    assay_json *answer = NULL;
    if (a->n_pos != 4) return assay_fail(err, ASSAY_E_USAGE, "worker gate DIR HOST INDEX");
    assay_status st = assay_plan_load(a->pos[1], &p, err);
    if (st == ASSAY_OK) st = assay_plan_load_gates(&p, r, err);
    if (st == ASSAY_OK) st = assay_gate_round(&p, a->pos[2], r, (size_t)strtoul(a->pos[3], NULL, 10), assay_flag(a, "information"), &answer, err);
    if (st == ASSAY_OK) assay_cli_print_json(answer);
    assay_json_free(answer);
    assay_plan_free(&p);
    return st;
}

static assay_status selftest(const assay_args *a, const assay_registry *r, assay_error *err) {
    assay_plan p = {0};
    if (a->n_pos != 2) return assay_fail(err, ASSAY_E_USAGE, "worker selftest DIR");
    assay_status st = assay_plan_load(a->pos[1], &p, err);
    const assay_json *gates = assay_json_get(p.json, "gates");
    for (size_t i = 0; st == ASSAY_OK && i < assay_json_len(gates); i++) {
        const char *use = assay_json_string(assay_json_at(gates, i), "use", "");
        bool seen = false;
        for (size_t k = 0; k < i; k++) seen |= assay_streq(use, assay_json_string(assay_json_at(gates, k), "use", ""));
        const assay_gate_type *g = seen ? NULL : assay_registry_gate(r, use, NULL);
        if (!g) continue;                        /* one the plan names and this machine lacks is the judge's to report */
        assay_json *row = assay_gate_selftest(r, g);
        assay_cli_print_json(row);
        fflush(stdout);
        assay_json_free(row);
    }
    assay_plan_free(&p);
    return st;
}

static int run(const assay_args *a) {
    assay_die_with_parent();
    assay_fp_mode_set();
    assay_registry *r = assay_cli_registry(a);
    assay_error err = {0};
    assay_status st;
    if (assay_streq(a->pos[0], "trial")) st = trial(a, r, &err);
    else if (assay_streq(a->pos[0], "gate")) st = gate(a, r, &err);
    else if (assay_streq(a->pos[0], "selftest")) st = selftest(a, r, &err);
    else st = assay_fail(&err, ASSAY_E_USAGE, "unknown work '%s'", a->pos[0]);
    int code = ASSAY_EXIT_OK;
    if (st != ASSAY_OK) {
        fprintf(stderr, "%s\n", err.message);
        code = st == ASSAY_E_INTERNAL || st == ASSAY_E_NOMEM ? ASSAY_EXIT_INTERNAL : ASSAY_EXIT_ERROR;
    }
    assay_registry_free(r);
    return code;
}

const assay_command assay_cmd_worker = {"worker", "trial|gate|selftest DIR ...", "internal: one piece of work in a process of its own", opts, 1, 4, run, true, NULL};
