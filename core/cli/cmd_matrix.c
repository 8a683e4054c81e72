/* cli/cmd_matrix.c: receipts of many machines side by side, judged by the gate qualification. */
#include "cli/runs.h"
#include "cli/verdict.h"
#include "base/fs.h"
#include "base/names.h"
#include "plugin/evidence.h"
#include "report/matrix.h"
#include "run/judge.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WANTED_MAX = 64 };

static const assay_opt opts[] = {
    {"on", 0, "BUILD CHIP", "an OS build and chip that must be qualified, measured or not: \"25F84 M2\"", true},
    {NULL, 0, NULL, NULL, false},
};

static assay_status add_receipt(const char *dir, const char *name, assay_evidence_set *ev, assay_json *list, assay_error *err) {
    char *path = assay_path_join(dir, name);
    assay_json *receipt = NULL;
    assay_status st = assay_receipt_read(path, &receipt, err);
    if (st == ASSAY_OK) {
        assay_evidence_add_json(ev, "receipts", "", NULL, ASSAY_ORIGIN_IMPORTED, "", receipt);
        assay_json *row = assay_json_append(list, assay_json_object());
        char *host = assay_xprintf("%.*s", (int)(strlen(name) - strlen("receipt.") - strlen(".json")), name + strlen("receipt."));
        assay_json_set_string(row, "experiment", assay_json_string(receipt, "experiment", ""));
        assay_json_set_string(row, "host", host);
        assay_json_set_string(row, "file", path);
        free(host);
    }
    assay_json_free(receipt);
    free(path);
    return st;
}

static assay_status add_directory(const char *dir, assay_evidence_set *ev, assay_json *list, assay_error *err) {
    char **names = NULL;
    size_t n = 0, before = assay_json_len(list);
    assay_status st = assay_list_dir(dir, &names, &n, err);
    for (size_t i = 0; st == ASSAY_OK && i < n; i++)
        if (assay_starts_with(names[i], "receipt.") && assay_ends_with(names[i], ".json") &&
            !assay_streq(names[i], "receipt.json"))
            st = add_receipt(dir, names[i], ev, list, err);
    if (st == ASSAY_OK && assay_json_len(list) == before)
        st = assay_fail(err, ASSAY_E_INPUT, "%s holds no receipt: 'assay judge %s' writes one", dir, dir);
    assay_list_free(names, n);
    return st;
}

static int show(const assay_args *a, const assay_json *receipts, const assay_json *verdict) {
    const char *wanted[WANTED_MAX];
    int n = assay_arg_all(a, "on", wanted, WANTED_MAX);
    assay_json *matrix = assay_matrix_make(receipts, assay_json_path(verdict, "details.cells"), wanted, (size_t)n);
    if (a->json) {
        assay_cli_print_json(matrix);
    } else {
        assay_buf text = {0};
        assay_matrix_text(matrix, &text);
        fputs(text.data, stdout);
        assay_buf_free(&text);
    }
    const char *word = assay_json_string(matrix, "verdict", "");
    int code = assay_streq(word, "not qualified") ? ASSAY_EXIT_INCONCLUSIVE : assay_cli_verdict_code(word);
    assay_json_free(matrix);
    return code;
}

static int run(const assay_args *a) {
    const char *wanted[WANTED_MAX];
    for (int i = 0, n = assay_arg_all(a, "on", wanted, WANTED_MAX); i < n; i++)
        if (!strchr(wanted[i], ' ')) return assay_cli_usage(a, "--on '%s': an OS build and a chip are expected, such as '25F84 M2'", wanted[i]);
    assay_error err = {0};
    assay_registry *r = assay_cli_registry(a);
    assay_evidence_set *ev = assay_evidence_new();
    assay_json *receipts = assay_json_array(), *params = assay_json_object(), *verdict = NULL;
    assay_status st = ASSAY_OK;
    for (int i = 0; st == ASSAY_OK && i < a->n_pos; i++) st = add_directory(a->pos[i], ev, receipts, &err);
    if (st == ASSAY_OK) st = assay_judge(r, "qualification", params, ev, &verdict, &err);
    int code = st == ASSAY_OK ? show(a, receipts, verdict) : assay_cli_fail(a, &err);
    assay_json_free(verdict);
    assay_json_free(params);
    assay_json_free(receipts);
    assay_evidence_free(ev);
    assay_registry_free(r);
    return code;
}

const assay_command assay_cmd_matrix = {"matrix", "DIR...", "receipts side by side: OS build x chip x package", opts, 1, -1,
                                        run,      false,
    "assay matrix run planned --on '25F84 M2'"};
