/* assay compare REF CAND: a thin name for the gate parity on two tensors, with a control where there is one. */
#include "cli/verdict.h"
#include "base/names.h"
#include "plugin/evidence.h"
#include "plugin/params.h"
#include <stdlib.h>
#include <string.h>

static const assay_opt opts[] = {
    {.name = "axis",
     .letter = 'a',
     .value = "WHICH=N",
     .help = "an axis by its meaning: batch=0, head=1, token=2, channel=3, step or repeat",
     .repeatable = true},
    {.name = "layout", .value = "TAG", .help = "all axes at once, such as BHSD"},
    {.name = "control", .letter = 'k', .value = "FILE", .help = "the control's tensor: errors are then judged against its own"},
    {.name = "param",
     .letter = 'p',
     .value = "NAME=VALUE",
     .help = "a parameter of the gate parity, such as cosine_min=0.999",
     .repeatable = true},
    {0},
};

static assay_status add(const assay_gate_type *type, assay_json *params, const char *text, assay_error *err) {
    return assay_params_from_text(type->params, text, "compare", params, err);
}

static assay_status read_params(const assay_args *a, const assay_gate_type *type, assay_json *params, assay_error *err) {
    const char *given[64];
    int n = assay_arg_all(a, "axis", given, 64);
    assay_status st = ASSAY_OK;
    for (int i = 0; i < n && st == ASSAY_OK; i++) {
        const char *equals = strchr(given[i], '=');
        if (!equals) return assay_fail(err, ASSAY_E_USAGE, "--axis %s: expected NAME=NUMBER, such as head=1", given[i]);
        char *text = assay_xprintf("%.*s_axis%s", (int)(equals - given[i]), given[i], equals);
        st = add(type, params, text, err);
        free(text);
    }
    if (st == ASSAY_OK && assay_arg(a, "layout"))
        st = (assay_json_set_string(params, "layout", assay_arg(a, "layout")), ASSAY_OK);
    return st == ASSAY_OK ? assay_cli_gate_params(a, type, params, err) : st;
}

static int run(const assay_args *a) {
    assay_error err = {0};
    assay_registry *r = assay_cli_registry(a);
    const assay_gate_type *type = assay_registry_gate(r, "parity", &err);
    assay_evidence_set *ev = assay_evidence_new();
    assay_json *params = assay_json_object();
    const char *control = assay_arg(a, "control");
    assay_status st = type ? read_params(a, type, params, &err) : ASSAY_E_INPUT;
    if (st == ASSAY_OK) st = assay_evidence_add_file(ev, "reference", a->pos[0], &err);
    if (st == ASSAY_OK) st = assay_evidence_add_file(ev, "candidate", a->pos[1], &err);
    if (st == ASSAY_OK && control) st = assay_evidence_add_file(ev, "control", control, &err);
    return assay_cli_judge(a, r, "parity", params, ev, st, &err);
}

const assay_command assay_cmd_compare = {
    .name = "compare",
    .args = "REF CAND",
    .summary = "compare two tensors by the rules of the parity gate",
    .opts = opts,
    .min_args = 2,
    .max_args = 2,
    .run = run,
};
