/* cli/cmd_seal.c: freezes the numbers of a plan before any trial. */
#include "cli/runs.h"
#include "run/gather.h"
#include <stdio.h>

static int run(const assay_args *a) {
    assay_registry *r = assay_cli_registry(a);
    assay_plan p = {0};
    assay_error err = {0};
    assay_status st = assay_plan_load(a->pos[0], &p, &err);
    if (st == ASSAY_OK) st = assay_plan_load_gates(&p, r, &err);
    if (st == ASSAY_OK) st = assay_plan_seal(a->pos[0], r, &err);
    if (st == ASSAY_OK && a->json) {
        assay_json *j = assay_json_object();
        assay_json_set_string(j, "schema", "assay-seal/1");
        assay_json_set_string(j, "plan_sha256", p.sha256);
        assay_cli_print_json(j);
        assay_json_free(j);
    } else if (st == ASSAY_OK) {
        printf("sealed %s, plan %s\n", a->pos[0], p.sha256);
    }
    assay_plan_free(&p);
    assay_registry_free(r);
    return st == ASSAY_OK ? ASSAY_EXIT_OK : assay_cli_fail(a, &err);
}

const assay_command assay_cmd_seal = {"seal", "DIR", "freeze a plan's numbers before any trial", NULL, 1, 1, run, false,
    "assay seal planned"};
