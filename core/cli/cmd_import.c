/* assay import FILE...: what another tool wrote, as a neutral record; or the reason why it is no evidence. */
#include "cli/cli.h"
#include "base/names.h"
#include "import/import.h"
#include <stdio.h>
#include <string.h>

static const assay_opt opts[] = {{NULL, 0, NULL, NULL, false}};

static void show_plan(const assay_json *r) {
    const assay_json *ops = assay_json_get(r, "operations");
    printf("  requested units: %s\n", assay_json_string(r, "requested_units", "not said"));
    for (const assay_json *o = assay_json_first(ops); o; o = assay_json_next(o)) {
        printf("  %-28s %-24s %-8s %s", assay_json_string(o, "name", ""), assay_json_string(o, "type", ""),
               assay_json_string(o, "preferred", "unknown"), assay_json_string(o, "backend", ""));
        for (const assay_json *w = assay_json_first(assay_json_get(o, "refused")); w; w = assay_json_next(w))
            printf("  refused by %s: %s", assay_json_key(w), assay_json_text(w));
        putchar('\n');
    }
}

/* Not sampled, zero and non-zero are three states. */
static void show_power(const assay_json *r) {
    double sampled = 0, zero = 0, n = 0;
    for (const assay_json *s = assay_json_first(assay_json_get(r, "samples")); s; s = assay_json_next(s)) {
        double mw = assay_json_value(assay_json_path(s, "rails_mw.ane"));
        n++;
        sampled += mw >= 0;
        zero += mw >= 0 && mw <= 0;
    }
    printf("  %s, build %s: %.0f samples; Neural Engine rail: %.0f not sampled, %.0f zero, %.0f non-zero\n",
           assay_json_string(r, "hw_model", "unknown model"), assay_json_string(r, "os_build", "unknown"), n, n - sampled, zero,
           sampled - zero);
}

static void show_list(const assay_json *list, const char *key) {
    for (const assay_json *e = assay_json_first(list); e; e = assay_json_next(e)) {
        const char *text = key ? assay_json_string(e, key, "") : assay_json_text(e);
        printf("  %s", text ? text : "");
        if (key && assay_json_get(e, "means")) printf(": %s", assay_json_string(e, "means", ""));
        if (key && assay_json_get(e, "requested_units")) printf("  %s", assay_json_string(e, "requested_units", "unknown policy"));
        putchar('\n');
    }
}

static void show(const char *path, const assay_json *r) {
    const char *schema = assay_json_string(r, "schema", "");
    printf("%s: %s, read as %s\n", path, schema, assay_json_string(assay_json_get(r, "source"), "format", "a record of ours"));
    if (!strcmp(schema, "compute-plan/1")) show_plan(r);
    if (!strcmp(schema, "power-log/1")) show_power(r);
    show_list(assay_json_get(r, "samplers"), NULL);
    show_list(assay_json_get(r, "markers"), "text");
    show_list(assay_json_get(r, "rows"), "model");
}

static int run(const assay_args *a) {
    int code = ASSAY_EXIT_OK;
    for (int i = 0; i < a->n_pos; i++) {
        assay_json *record = NULL;
        assay_error err = {0};
        if (assay_import_file(a->pos[i], &record, &err) != ASSAY_OK)
            code = assay_cli_fail(a, &err);
        else if (a->json)
            assay_cli_print_json(record);
        else
            show(a->pos[i], record);
        assay_json_free(record);
    }
    return code;
}

const assay_command assay_cmd_import = {"import", "FILE...", "read a plan, analytics or power log of another tool", opts, 1, -1, run, false,
    "assay import analytics.mil"};
