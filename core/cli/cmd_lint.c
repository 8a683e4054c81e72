/* assay lint PATH --profile P: a thin name for the gate authoring (or another gate of rules) on a program; and the rules themselves. */
#include "cli/lint_print.h"
#include "cli/verdict.h"
#include "plugin/evidence.h"
#include "plugin/params.h"
#include "script/script.h"
#include <stdlib.h>
#include <string.h>

static const assay_opt opts[] = {
    {.name = "profile", .value = "P", .help = "the unit the program is written for: neural-engine or gpu"},
    {.name = "source", .value = "PATH", .help = "the program it was re-authored from: weights and activations are compared"},
    {.name = "control", .value = "PATH", .help = "the other arm: masks are compared"},
    {.name = "config", .value = "FILE", .help = "config.json of the model: head sizes and head counts are compared"},
    {.name = "waivers", .letter = 'w', .value = "FILE", .help = "JSON { \"RULE or RULE@NAME\": \"reason\" }: findings that are accepted"},
    {.name = "param", .letter = 'p', .value = "NAME=VALUE", .help = "a parameter of the gate authoring, such as kv=read_only", .repeatable = true},
    {.name = "gate", .value = "FILE.lua", .help = "your own rules: a file that returns require \"rules.gate\" { ... }"},
    {.name = "all", .help = "print every place, not the first five of a rule"},
    {.name = "rules", .help = "list the rules instead"},
    {.name = "markdown", .help = "with --rules: the reference page"},
    {0},
};

static int show_rules(const assay_args *a) {
    assay_json *rules = NULL, *waiting = NULL;
    assay_error err = {0};
    assay_status st = assay_script_read_module("rules.pack", NULL, &rules, &err);
    if (st == ASSAY_OK) st = assay_script_read_module("rules.waiting", NULL, &waiting, &err);
    if (st == ASSAY_OK && a->json) assay_cli_print_json(rules);
    else if (st == ASSAY_OK && assay_flag(a, "markdown")) assay_lint_print_page(rules, waiting);
    else if (st == ASSAY_OK) assay_lint_print_rules(rules);
    assay_json_free(rules);
    assay_json_free(waiting);
    return st == ASSAY_OK ? ASSAY_EXIT_OK : assay_cli_fail(a, &err);
}

static assay_status add_file(const assay_args *a, assay_evidence_set *ev, const char *option, const char *role, assay_error *err) {
    const char *path = assay_arg(a, option);
    return path ? assay_evidence_add_file(ev, role, path, err) : ASSAY_OK;
}

static assay_status read_params(const assay_args *a, const assay_gate_type *type, assay_json *params, assay_error *err) {
    const char *given[64], *profile = assay_arg(a, "profile");
    int n = assay_arg_all(a, "param", given, 64);
    if (!profile) return assay_fail(err, ASSAY_E_USAGE, "--profile is needed: neural-engine or gpu; the unit is chosen before a program is written");
    assay_json_set_string(params, "profile", profile);
    for (int i = 0; i < n; i++) {
        assay_status st = assay_params_from_text(type->params, given[i], "lint", params, err);
        if (st != ASSAY_OK) return st;
    }
    return ASSAY_OK;
}

/* The gate authoring, or the one in the file of --gate. */
static const assay_gate_type *find_gate(const assay_args *a, assay_registry *r, assay_error *err) {
    const char *path = assay_arg(a, "gate");
    assay_cli_load_lua_gates(r);
    if (!path) return assay_registry_gate(r, "authoring", err);
    if (assay_script_load_gate(r, path, NULL, err)) {
        assay_wrap(err, "--gate %s is no gate", path);
        return NULL;
    }
    const assay_gate_type *const *list;
    for (size_t i = 0, n = assay_registry_gates(r, &list); i < n; i++)
        if (!strcmp(list[i]->path, path)) return list[i];
    assay_fail(err, ASSAY_E_INPUT, "%s: a gate of this name is there already; choose another name", path);
    return NULL;
}

static int run(const assay_args *a) {
    if (assay_flag(a, "rules")) return show_rules(a);
    if (a->n_pos != 1) return assay_cli_usage(a, "one program is needed: assay lint PATH --profile P");
    assay_error err = {0};
    assay_registry *r = assay_cli_registry(a);
    assay_evidence_set *ev = assay_evidence_new();
    assay_json *params = assay_json_object(), *verdict = NULL;
    const assay_gate_type *type = find_gate(a, r, &err);
    assay_status st = type ? read_params(a, type, params, &err) : err.code;
    if (st == ASSAY_OK) st = assay_evidence_add_file(ev, "program", a->pos[0], &err);
    if (st == ASSAY_OK) st = add_file(a, ev, "source", "source", &err);
    if (st == ASSAY_OK) st = add_file(a, ev, "control", "control", &err);
    if (st == ASSAY_OK) st = add_file(a, ev, "config", "config", &err);
    if (st == ASSAY_OK) st = add_file(a, ev, "waivers", "waivers", &err);
    if (st == ASSAY_OK) st = assay_judge(r, type->name, params, ev, &verdict, &err);
    int code = st == ASSAY_OK ? assay_cli_verdict_code(assay_printed_verdict(verdict)) : assay_cli_fail(a, &err);
    if (st == ASSAY_OK && a->json) assay_cli_print_json(verdict);
    else if (st == ASSAY_OK) assay_lint_print(verdict, assay_flag(a, "all"));
    assay_json_free(verdict);
    assay_json_free(params);
    assay_evidence_free(ev);
    assay_registry_free(r);
    return code;
}

const assay_command assay_cmd_lint = {
    .name = "lint",
    .args = "PATH",
    .summary = "judge a program by the authoring rules of a profile",
    .opts = opts,
    .min_args = 0,
    .max_args = 1,
    .run = run,
    .example = "assay lint run/arms/fused/model.mlpackage --profile gpu",
};
