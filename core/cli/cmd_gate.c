/* assay gate NAME [role[:label]=path...]: judges one gate on files given on the command line. */
#include "cli/verdict.h"
#include "base/names.h"
#include "plugin/evidence.h"
#include "plugin/params.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const assay_opt opts[] = {
    {.name = "param",
     .letter = 'p',
     .value = "NAME=VALUE",
     .help = "a parameter of the gate; lists with commas, maps as k:v,k:v",
     .repeatable = true},
    {0},
};

static assay_status read_files(const assay_args *a, assay_evidence_set *ev, assay_error *err) {
    for (int i = 1; i < a->n_pos; i++) {
        const char *equals = strchr(a->pos[i], '=');
        if (!equals || equals == a->pos[i])
            return assay_fail(err, ASSAY_E_USAGE, "'%s': expected role=path or role:label=path, such as candidate=c.npy",
                              a->pos[i]);
        char *key = assay_xstrndup(a->pos[i], (size_t)(equals - a->pos[i]));
        assay_status st = assay_evidence_add_file(ev, key, equals + 1, err);
        free(key);
        if (st != ASSAY_OK) return st;
    }
    return ASSAY_OK;
}

static int run(const assay_args *a) {
    assay_error err = {0};
    assay_registry *r = assay_cli_registry(a);
    assay_cli_load_lua_gates(r);
    const assay_gate_type *type = assay_registry_gate(r, a->pos[0], &err);
    assay_evidence_set *ev = assay_evidence_new();
    assay_json *params = assay_json_object();
    assay_status st = type ? assay_cli_gate_params(a, type, params, &err) : ASSAY_E_INPUT;
    if (st == ASSAY_OK) st = read_files(a, ev, &err);
    return assay_cli_judge(a, r, a->pos[0], params, ev, st, &err);
}

const assay_command assay_cmd_gate = {
    .name = "gate",
    .args = "NAME [role[:label]=path...]",
    .summary = "judge one gate on files (its parameters: assay gates NAME; its roles: the gate's page)",
    .opts = opts,
    .min_args = 1,
    .max_args = -1,
    .run = run,
    .example = "assay gate parity reference=reference.npy candidate=candidate.npy -p cosine_min=0.999",
};
