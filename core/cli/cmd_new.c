/* assay new: a gate or an experiment to start from. */
#include "cli/cli.h"
#include "base/names.h"
#include "plugin/scaffold.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of two gates of a name one is never loaded: which one would depend on --gate-path. */
static bool is_taken(const assay_args *a, const char *name) {
    assay_registry *r = assay_cli_registry(a);
    assay_cli_load_lua_gates(r);
    bool taken = assay_registry_gate(r, name, NULL) != NULL;
    assay_registry_free(r);
    return taken;
}

static int run(const assay_args *a) {
    static const char *const kinds[] = {"gate", "experiment"};
    const char *kind = a->pos[0], *name = a->pos[1], *dir = assay_arg(a, "dir");
    char *made = NULL, hint[96];
    assay_error err = {0};
    bool gate = !strcmp(kind, kinds[0]);
    if (!gate && strcmp(kind, kinds[1]))
        return assay_cli_usage(a, "no template '%s'%s: there are gate and experiment", kind,
                               assay_did_you_mean(hint, kind, kinds, 2));
    if (gate && is_taken(a, name)) return assay_cli_usage(a, "there is a gate '%s' already ('assay gates' lists them): choose another name", name);
    assay_status st = gate ? assay_scaffold_gate(name, dir ? dir : ".", assay_arg(a, "headers"), &made, &err)
                           : assay_scaffold_experiment(name, dir ? dir : ".", &made, &err);
    if (st) return assay_cli_fail(a, &err);
    if (a->json) {
        assay_json *o = assay_json_object();
        assay_json_set_string(o, "schema", "assay-new/1");
        assay_json_set_string(o, "kind", kind);
        assay_json_set_string(o, "made", made);
        assay_cli_print_json(o);
        assay_json_free(o);
    } else if (gate) {
        printf("%s\n  cmake -S %s -B %s/build && cmake --build %s/build\n  assay gates check %s/build/%s.so\n", made, made, made,
               made, made, name);
    } else {
        printf("%s\n  assay run %s\n", made, made);
    }
    free(made);
    return 0;
}

static const assay_opt opts[] = {
    {"dir", 0, "DIR", "where to put it (default: here)", false},
    {"headers", 0, "DIR", "with gate: folder that holds assay/gate.h (default: those of this program)", false},
    {NULL, 0, NULL, NULL, false},
};
const assay_command assay_cmd_new = {.name = "new",
                                     .args = "gate|experiment NAME",
                                     .summary = "a gate or an experiment to start from",
                                     .opts = opts,
                                     .min_args = 2,
                                     .max_args = 2,
                                     .run = run,
                                     .example = "assay new experiment first"};
