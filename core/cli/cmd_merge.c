/* cli/cmd_merge.c: joins run directories of one plan that were measured on several machines. */
#include "cli/runs.h"
#include "base/fs.h"
#include "run/merge.h"
#include <stdio.h>

static const assay_opt opts[] = {
    {"out", 'o', "DIR", "the new run directory (required)", false},
    {NULL, 0, NULL, NULL, false},
};

static void show(const assay_args *a, const char *out, char **hosts, size_t n) {
    if (a->json) {
        assay_json *j = assay_json_object(), *list = assay_json_set(j, "hosts", assay_json_array());
        assay_json_set_string(j, "schema", "assay-merge/1");
        assay_json_set_string(j, "directory", out);
        for (size_t i = 0; i < n; i++) assay_json_append(list, assay_json_new_string(hosts[i]));
        assay_cli_print_json(j);
        assay_json_free(j);
        return;
    }
    printf("joined in %s: evidence of %zu host%s\n", out, n, n == 1 ? "" : "s");
    for (size_t i = 0; i < n; i++) printf("judge it: assay judge %s --host %s\n", out, hosts[i]);
}

static int run(const assay_args *a) {
    const char *out = assay_arg(a, "out");
    assay_error err = {0};
    assay_plan p = {0};
    char **hosts = NULL;
    size_t n = 0;
    if (!out || !*out) return assay_cli_usage(a, "-o DIR is required: the directory that will hold the joined run");
    assay_status st = assay_merge(a->pos, (size_t)a->n_pos, out, &err);
    if (st == ASSAY_OK) st = assay_plan_load(out, &p, &err);
    if (st == ASSAY_OK) st = assay_plan_hosts(&p, &hosts, &n, &err);
    if (st == ASSAY_OK) show(a, out, hosts, n);
    assay_list_free(hosts, n);
    assay_plan_free(&p);
    return st == ASSAY_OK ? ASSAY_EXIT_OK : assay_cli_fail(a, &err);
}

const assay_command assay_cmd_merge = {
    "merge", "A B... -o DIR", "join run directories of one plan from several machines", opts, 2, -1, run, false,
    "assay merge planned copy -o joined"};
