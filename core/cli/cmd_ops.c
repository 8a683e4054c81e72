/* assay ops: the op table: types, parameters, from which opset on, and whether the reference executor runs them. */
#include "cli/cli.h"
#include "base/names.h"
#include "ops/builtin.h"
#include <stdio.h>
#include <stdlib.h>

static assay_json *param_json(const assay_op_param *p) {
    assay_json *o = assay_json_object();
    assay_json_set_string(o, "name", p->name);
    assay_json_set_string(o, "dtypes", p->dtypes);
    assay_json_set_string(o, "default", p->def);
    assay_json_set_bool(o, "required", (p->flags & ASSAY_ARG_REQUIRED) != 0);
    assay_json_set_bool(o, "variadic", (p->flags & ASSAY_ARG_VARIADIC) != 0);
    assay_json_set_bool(o, "constant", (p->flags & ASSAY_ARG_CONST) != 0);
    assay_json_set_string(o, "help", p->help);
    return o;
}

static assay_json *op_json(const assay_op_def *d) {
    assay_json *o = assay_json_object();
    assay_json_set_string(o, "type", d->type);
    assay_json_set_string(o, "summary", d->summary);
    assay_json_set_string(o, "opset_min", d->opset_min);
    assay_json_set_bool(o, "layout", (d->flags & ASSAY_OP_LAYOUT) != 0);
    assay_json_set_bool(o, "executable", d->eval != NULL);
    assay_json *params = assay_json_set(o, "params", assay_json_array());
    for (const assay_op_param *p = d->params; p && p->name; p++) assay_json_append(params, param_json(p));
    return o;
}

static void show_one(const assay_op_def *d) {
    printf("%s (from %s on%s%s)\n%s\n\nparameters:\n", d->type, d->opset_min ? d->opset_min : "CoreML5",
           d->flags & ASSAY_OP_LAYOUT ? ", layout only" : "", d->eval ? "" : ", not executable here",
           d->summary ? d->summary : "");
    for (const assay_op_param *p = d->params; p && p->name; p++)
        printf("  %-16s %-12s %s%s%s%s%s\n", p->name, p->dtypes ? p->dtypes : "any", p->help ? p->help : "",
               p->flags & ASSAY_ARG_REQUIRED ? " (required)" : "", p->flags & ASSAY_ARG_CONST ? " (constant)" : "",
               p->def ? " = " : "", p->def ? p->def : "");
}

static int unknown_op(const assay_args *a, const char *type) {
    size_t n;
    const assay_op_def *const *all = assay_optable_all(&n);
    const char **names = assay_xcalloc(n + 1, sizeof *names);
    char hint[96];
    assay_error err = {0};
    for (size_t i = 0; i < n; i++) names[i] = all[i]->type;
    assay_fail(&err, ASSAY_E_INPUT, "no op '%s'%s: `assay ops` lists what is known", type,
               assay_did_you_mean(hint, type, names, n));
    free(names);
    return assay_cli_fail(a, &err);
}

static int show(const assay_args *a) {
    const assay_op_def *d = assay_optable_find(a->pos[0]);
    if (!d) return unknown_op(a, a->pos[0]);
    if (!a->json) {
        show_one(d);
        return 0;
    }
    assay_json *o = op_json(d);
    assay_cli_print_json(o);
    assay_json_free(o);
    return 0;
}

static int run(const assay_args *a) {
    size_t n;
    assay_ops_register();
    if (a->n_pos) return show(a);
    const assay_op_def *const *all = assay_optable_all(&n);
    if (!a->json) {
        for (size_t i = 0; i < n; i++)
            printf("%-32s %-8s %s%s\n", all[i]->type, all[i]->opset_min ? all[i]->opset_min : "",
                   all[i]->summary ? all[i]->summary : "", all[i]->eval ? "" : " (not executable here)");
        return 0;
    }
    assay_json *o = assay_json_object();
    assay_json_set_string(o, "schema", "assay-ops/1");
    assay_json *list = assay_json_set(o, "ops", assay_json_array());
    for (size_t i = 0; i < n; i++) assay_json_append(list, op_json(all[i]));
    assay_cli_print_json(o);
    assay_json_free(o);
    return 0;
}

const assay_command assay_cmd_ops = {.name = "ops",
                                     .args = "[TYPE]",
                                     .summary = "ops that are known: parameters, opset, executable or not",
                                     .min_args = 0,
                                     .max_args = 1,
                                     .run = run,
                                     .example = "assay ops softmax"};
