/* cli/cmd_promote.c: the claims that the evidence of one host allows, and why the others are refused. */
#include "cli/runs.h"
#include "base/fs.h"
#include "run/promote.h"
#include "script/script.h"
#include <stdio.h>
#include <stdlib.h>

static const assay_opt opts[] = {
    {"host", 0, "NAME", "whose receipt (default: the only host there is)", false},
    {NULL, 0, NULL, NULL, false},
};

static assay_status read_frameworks(assay_json **out, assay_error *err) {
    char *dir = assay_scripts_dir(NULL), *path = assay_path_join(dir ? dir : ".", "data/frameworks.json");
    assay_status st = assay_json_read_file(path, out, err);
    free(path);
    free(dir);
    return st;
}

static void show_claim(const assay_json *c) {
    const assay_json *list = assay_json_get(c, "refused");
    bool promoted = assay_json_bool(c, "promoted", false);
    printf("%-10s %s", assay_json_string(c, "id", ""), promoted ? "promoted" : "refused");
    if (promoted)
        printf(", level %lld (%s)\n  %s\n", (long long)assay_json_int(c, "level", 0), assay_json_string(c, "level_name", ""),
               assay_json_string(c, "statement", ""));
    else
        printf(": %s\n", assay_json_string(c, "text", ""));
    for (const assay_json *r = assay_json_first(list); r; r = assay_json_next(r))
        printf("  %-22s %s\n", assay_json_string(r, "code", ""), assay_json_string(r, "message", ""));
}

static int show(const assay_args *a, const assay_json *promotion) {
    const assay_json *claims = assay_json_get(promotion, "claims");
    if (a->json)
        assay_cli_print_json(promotion);
    else if (!assay_json_len(claims))
        puts("the experiment makes no claim");
    else
        for (const assay_json *c = assay_json_first(claims); c; c = assay_json_next(c)) show_claim(c);
    return assay_json_int(promotion, "refused", 1) == 0 && assay_json_len(claims) ? ASSAY_EXIT_OK : ASSAY_EXIT_KILLED;
}

static int run(const assay_args *a) {
    assay_plan p = {0};
    assay_error err = {0};
    char *host = NULL;
    assay_json *receipt = NULL, *frameworks = NULL;
    assay_status st = assay_plan_load(a->pos[0], &p, &err);
    if (st == ASSAY_OK) st = assay_cli_host(a, &p, &host, &err);
    if (st == ASSAY_OK) st = assay_cli_read_receipt(p.dir, host, &receipt, &err);
    if (st == ASSAY_OK) st = read_frameworks(&frameworks, &err);
    assay_json *promotion = st == ASSAY_OK ? assay_promote(receipt, frameworks) : NULL;
    int code = promotion ? show(a, promotion) : assay_cli_fail(a, &err);
    assay_json_free(promotion);
    assay_json_free(frameworks);
    assay_json_free(receipt);
    assay_plan_free(&p);
    free(host);
    return code;
}

const assay_command assay_cmd_promote = {
    "promote", "DIR", "the claims that the evidence allows to be said of the target", opts, 1, 1, run, false,
    "assay promote planned --host ci"};
