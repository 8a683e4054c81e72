/* assay gates: what gates there are, from where, with which parameters; and the contract check of one plugin. */
#include "cli/cli.h"
#include "cli/gate_check.h"
#include "cli/gates_page.h"
#include "cli/show.h"
#include <stdio.h>
#include <string.h>

static assay_json *gate_json(const assay_gate_type *g) {
    assay_json *o = assay_json_object();
    assay_json_set_string(o, "name", g->name);
    assay_json_set_string(o, "version", g->version);
    assay_json_set_string(o, "summary", g->summary);
    assay_json_set_string(o, "kind", g->kind);
    assay_json_set_string(o, "path", g->path);
    assay_json_set(o, "params", assay_params_json(g->params));
    return o;
}

static void print_json(const assay_registry *r) {
    const assay_gate_type *const *gates;
    const assay_refusal *refused;
    const char *const *paths;
    assay_json *o = assay_json_object();
    assay_json_set_string(o, "schema", "assay-gates/1");
    assay_json *list = assay_json_set(o, "gates", assay_json_array());
    for (size_t i = 0, n = assay_registry_gates(r, &gates); i < n; i++) assay_json_append(list, gate_json(gates[i]));
    assay_json *bad = assay_json_set(o, "refused", assay_json_array());
    for (size_t i = 0, n = assay_registry_refusals(r, &refused); i < n; i++) {
        assay_json *e = assay_json_append(bad, assay_json_object());
        assay_json_set_string(e, "path", refused[i].path);
        assay_json_set_string(e, "why", refused[i].why);
    }
    assay_json *where = assay_json_set(o, "paths", assay_json_array());
    for (size_t i = 0, n = assay_registry_paths(r, &paths); i < n; i++) assay_json_append(where, assay_json_new_string(paths[i]));
    assay_cli_print_json(o);
    assay_json_free(o);
}

static void print_list(const assay_registry *r) {
    const assay_gate_type *const *gates;
    const assay_refusal *refused;
    for (size_t i = 0, n = assay_registry_gates(r, &gates); i < n; i++)
        printf("%-14s %-6s %-3s  %s\n%29s%s\n", gates[i]->name, gates[i]->version, gates[i]->kind, gates[i]->summary, "",
               gates[i]->path);
    for (size_t i = 0, n = assay_registry_refusals(r, &refused); i < n; i++)
        fprintf(stderr, "assay gates: refused %s: %s\n", refused[i].path, refused[i].why);
}

static void print_paths(const assay_registry *r) {
    const char *const *paths;
    for (size_t i = 0, n = assay_registry_paths(r, &paths); i < n; i++) printf("%s\n", paths[i]);
}

static int show_one(const assay_args *a, const assay_registry *r, const char *name) {
    assay_error err = {0};
    const assay_gate_type *g = assay_registry_gate(r, name, &err);
    if (!g) return assay_cli_fail(a, &err);
    if (a->json) {
        assay_json *o = gate_json(g);
        assay_cli_print_json(o);
        assay_json_free(o);
        return 0;
    }
    printf("%s %s (%s gate, %s)\n%s\n\nparameters:\n", g->name, g->version, g->kind, g->path, g->summary);
    assay_show_params(g->params);
    return 0;
}

static int run(const assay_args *a) {
    if (a->n_pos && !strcmp(a->pos[0], "check")) {
        if (a->n_pos != 2) return assay_cli_usage(a, "check needs one file: assay gates check FILE.so");
        return assay_gate_check(a, a->pos[1]);
    }
    if (a->n_pos > 1) return assay_cli_usage(a, "one gate at a time: assay gates NAME");
    assay_registry *r = assay_cli_registry(a);
    assay_cli_load_lua_gates(r);
    int code = 0;
    if (a->n_pos)
        code = show_one(a, r, a->pos[0]);
    else if (a->json)
        print_json(r);
    else if (assay_flag(a, "paths"))
        print_paths(r);
    else if (assay_flag(a, "markdown"))
        assay_print_gates_page(r);
    else
        print_list(r);
    assay_registry_free(r);
    return code;
}

static const assay_opt opts[] = {
    {"paths", 0, NULL, "the folders that are searched for plugins, in order", false},
    {"markdown", 0, NULL, "the reference page of all gates", false},
    {"cases", 0, "DIR", "with check: folder of self-test cases (default: cases one folder up, cases or NAME.cases beside the plugin)", false},
    {"param", 0, "NAME=VALUE", "with check: parameter of the gate", true},
    {"in-process", 0, NULL, "with check: run the checks in this process (a crash then ends it)", false},
    {NULL, 0, NULL, NULL, false},
};
const assay_command assay_cmd_gates = {.name = "gates",
                                       .args = "[NAME | check FILE.so]",
                                       .summary = "gates, their parameters and where they come from; check a plugin",
                                       .opts = opts,
                                       .min_args = 0,
                                       .max_args = 2,
                                       .run = run,
                                       .example = "assay gates parity"};
