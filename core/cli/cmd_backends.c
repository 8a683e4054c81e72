/* assay backends: what can run an arm, what its evidence counts as, and from where it was loaded. */
#include "cli/cli.h"
#include "cli/show.h"
#include <stdio.h>

static const char *origin_name(int32_t origin) {
    return origin == ASSAY_ORIGIN_REFERENCE ? "reference" : origin == ASSAY_ORIGIN_SIMULATED ? "simulated" : "device";
}

static assay_json *backend_json(const assay_backend_type *t) {
    assay_json *o = assay_json_object();
    assay_json_set_string(o, "name", t->backend->name);
    assay_json_set_string(o, "version", t->backend->version);
    assay_json_set_string(o, "summary", t->backend->summary);
    assay_json_set_string(o, "origin", origin_name(t->origin));
    assay_json_set_string(o, "path", *t->path ? t->path : NULL);
    assay_json_set_string(o, "sha256", *t->sha256 ? t->sha256 : NULL);
    assay_json_set(o, "params", assay_params_json(t->backend->params));
    return o;
}

static void show_one(const assay_backend_type *t) {
    printf("%s %s (origin %s, %s)\n%s\n", t->backend->name, t->backend->version, origin_name(t->origin),
           *t->path ? t->path : "built in", t->backend->summary);
    if (*t->sha256) printf("sha256 %s\n", t->sha256);
    printf("\nparameters:\n");
    assay_show_params(t->backend->params);
}

static int show(const assay_args *a, const assay_registry *r) {
    assay_error err = {0};
    const assay_backend_type *t = assay_registry_backend(r, a->pos[0], &err);
    if (!t) return assay_cli_fail(a, &err);
    if (!a->json) {
        show_one(t);
        return 0;
    }
    assay_json *o = backend_json(t);
    assay_cli_print_json(o);
    assay_json_free(o);
    return 0;
}

static void list_all(const assay_args *a, const assay_registry *r) {
    const assay_backend_type *const *list;
    size_t n = assay_registry_backends(r, &list);
    if (a->json) {
        assay_json *o = assay_json_object();
        assay_json_set_string(o, "schema", "assay-backends/1");
        assay_json *all = assay_json_set(o, "backends", assay_json_array());
        for (size_t i = 0; i < n; i++) assay_json_append(all, backend_json(list[i]));
        assay_cli_print_json(o);
        assay_json_free(o);
        return;
    }
    for (size_t i = 0; i < n; i++)
        printf("%-12s %-6s %-10s %s\n%31s%s\n", list[i]->backend->name, list[i]->backend->version, origin_name(list[i]->origin),
               list[i]->backend->summary, "", *list[i]->path ? list[i]->path : "built in");
}

static int run(const assay_args *a) {
    assay_registry *r = assay_cli_registry(a);
    int code = 0;
    if (a->n_pos)
        code = show(a, r);
    else
        list_all(a, r);
    assay_registry_free(r);
    return code;
}

const assay_command assay_cmd_backends = {.name = "backends",
                                          .args = "[NAME]",
                                          .summary = "backends, and what their evidence counts as",
                                          .min_args = 0,
                                          .max_args = 1,
                                          .run = run,
                                          .example = "assay backends simulated"};
