/* cli/cmd_judge.c: judges the evidence of a run directory and writes the receipt. */
#include "cli/runs.h"
#include "run/judge.h"
#include <stdlib.h>

static const assay_opt opts[] = {
    {"host", 0, "NAME", "whose evidence (default: the only host there is)", false},
    {"require-target", 0, NULL, "exit 6 when the verdicts rest on a rehearsal", false},
    {"no-write", 0, NULL, "print the receipt only, write nothing (a read-only directory)", false},
    {NULL, 0, NULL, NULL, false},
};

static int run(const assay_args *a) {
    assay_plan p = {0};
    assay_error err = {0};
    char *host = NULL;
    assay_json *receipt = NULL;
    assay_judging *j = NULL;
    const assay_json *missing = NULL;
    const char *gate = NULL;
    assay_status st = assay_plan_load(a->pos[0], &p, &err);
    if (st == ASSAY_OK) st = assay_cli_host(a, &p, &host, &err);
    if (st == ASSAY_OK) {
        j = assay_judging_new(&p, host, a->gate_path);
        st = assay_judging_step(j, true, &missing, &gate, &err);
    }
    if (st == ASSAY_OK) st = assay_judging_receipt(j, &receipt, &err);
    if (st == ASSAY_OK && !assay_flag(a, "no-write")) st = assay_receipt_write(&p, host, receipt, &err);
    int code = st == ASSAY_OK ? assay_cli_show_receipt(a, p.dir, host, receipt, assay_flag(a, "require-target")) : assay_cli_fail(a, &err);
    assay_json_free(receipt);
    assay_judging_free(j);
    assay_plan_free(&p);
    free(host);
    return code;
}

const assay_command assay_cmd_judge = {"judge", "DIR", "judge the evidence of a run directory, write the receipt", opts, 1, 1, run, false,
    "assay judge planned --host ci"};
