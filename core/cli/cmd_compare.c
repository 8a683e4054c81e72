/* assay compare: tensors against a reference by the rules of the parity gate, or the tables of a run's `compare` words. */
#include "cli/runs.h"
#include "cli/verdict.h"
#include "base/fs.h"
#include "base/names.h"
#include "plugin/evidence.h"
#include "plugin/params.h"
#include "report/text.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const assay_opt opts[] = {
    {.name = "axis",
     .letter = 'a',
     .value = "WHICH=N",
     .help = "an axis by its meaning: batch=0, head=1, token=2, channel=3, step or repeat",
     .repeatable = true},
    {.name = "layout", .value = "TAG", .help = "all axes at once, such as BHSD"},
    {.name = "control", .letter = 'k', .value = "FILE", .help = "the control's tensor: errors are then judged against its own"},
    {.name = "param",
     .letter = 'p',
     .value = "NAME=VALUE",
     .help = "a parameter of the gate parity, such as cosine_min=0.999",
     .repeatable = true},
    {0},
};

/* ---- tensors */
static assay_status add(const assay_gate_type *type, assay_json *params, const char *text, assay_error *err) {
    return assay_params_from_text(type->params, text, "compare", params, err);
}

static assay_status read_params(const assay_args *a, const assay_gate_type *type, assay_json *params, assay_error *err) {
    const char *given[64];
    int n = assay_arg_all(a, "axis", given, 64);
    assay_status st = ASSAY_OK;
    for (int i = 0; i < n && st == ASSAY_OK; i++) {
        const char *equals = strchr(given[i], '=');
        if (!equals) return assay_fail(err, ASSAY_E_USAGE, "--axis %s: expected NAME=NUMBER, such as head=1", given[i]);
        char *text = assay_xprintf("%.*s_axis%s", (int)(equals - given[i]), given[i], equals);
        st = add(type, params, text, err);
        free(text);
    }
    if (st == ASSAY_OK && assay_arg(a, "layout"))
        st = (assay_json_set_string(params, "layout", assay_arg(a, "layout")), ASSAY_OK);
    return st == ASSAY_OK ? assay_cli_gate_params(a, type, params, err) : st;
}

static assay_status judge_file(const assay_args *a, const assay_registry *r, const char *candidate, assay_json **verdict, assay_error *err) {
    const assay_gate_type *type = assay_registry_gate(r, "parity", err);
    const char *control = assay_arg(a, "control");
    assay_evidence_set *ev = assay_evidence_new();
    assay_json *params = assay_json_object();
    assay_status st = type ? read_params(a, type, params, err) : ASSAY_E_INPUT;
    if (st == ASSAY_OK) st = assay_evidence_add_file(ev, "reference", a->pos[0], err);
    if (st == ASSAY_OK) st = assay_evidence_add_file(ev, "candidate", candidate, err);
    if (st == ASSAY_OK && control) st = assay_evidence_add_file(ev, "control", control, err);
    if (st == ASSAY_OK) st = assay_judge(r, "parity", params, ev, verdict, err);
    assay_json_free(params);
    assay_evidence_free(ev);
    return st;
}

static void cell(const assay_json *figures, const char *name, bool from_one, const char *format) {
    double x = assay_json_number(figures, name, NAN);
    if (from_one) x = 1 - x;
    if (isnan(x)) printf(" %10s", assay_json_bool(figures, "identical", false) ? "equal" : "-");
    else printf(assay_streq(format, "e") ? " %10.2e" : " %10.2f", x);
}

static void print_line(const char *file, const assay_json *verdict) {
    const assay_json *f = assay_json_path(verdict, "metrics.candidate"), *why = assay_json_at(assay_json_get(verdict, "reasons"), 0);
    if (!why) why = assay_json_at(assay_json_path(verdict, "validity.reasons"), 0);
    printf("%-12s", assay_printed_verdict(verdict));
    cell(f, "cosine", true, "e");
    cell(f, "max_abs", false, "e");
    cell(f, "psnr_db", false, "f");
    cell(f, "snr_db", false, "f");
    printf("  %-28s %s\n", assay_json_string(why, "code", "-"), file);
}

/* Several candidates: one line each, the exit code of the worst. */
static int print_files(const assay_args *a, const assay_json *verdicts) {
    int worst = ASSAY_EXIT_OK;
    if (!a->json) printf("%-12s %10s %10s %10s %10s  %-28s tensor\n", "verdict", "1-cos", "max-abs", "PSNR dB", "SNR dB", "reason");
    for (size_t i = 0; i < assay_json_len(verdicts); i++) {
        const assay_json *v = assay_json_get(assay_json_at(verdicts, i), "verdict");
        int code = assay_cli_verdict_code(assay_printed_verdict(v));
        if (!a->json) print_line(assay_json_string(assay_json_at(verdicts, i), "candidate", ""), v);
        if (code == ASSAY_EXIT_INVALID || (code && worst != ASSAY_EXIT_INVALID && (code == ASSAY_EXIT_KILLED || !worst))) worst = code;
    }
    return worst;
}

static int show_files(const assay_args *a, assay_json *verdicts) {
    if (assay_json_len(verdicts) == 1) return assay_cli_verdict(a, assay_json_get(assay_json_at(verdicts, 0), "verdict"));
    int code = print_files(a, verdicts);
    if (!a->json) return code;
    assay_json *doc = assay_json_object();
    assay_json_set_string(doc, "schema", "assay-compare/1");
    assay_json_set_string(doc, "reference", a->pos[0]);
    assay_json_set(doc, "candidates", assay_json_clone(verdicts));
    assay_cli_print_json(doc);
    assay_json_free(doc);
    return code;
}

static int compare_files(const assay_args *a) {
    assay_error err = {0};
    assay_registry *r = assay_cli_registry(a);
    assay_json *verdicts = assay_json_array();
    assay_status st = ASSAY_OK;
    for (int i = 1; st == ASSAY_OK && i < a->n_pos; i++) {
        assay_json *verdict = NULL;
        st = judge_file(a, r, a->pos[i], &verdict, &err);
        if (st != ASSAY_OK) break;
        assay_json *row = assay_json_append(verdicts, assay_json_object());
        assay_json_set_string(row, "candidate", a->pos[i]);
        assay_json_set(row, "verdict", verdict);
    }
    int code = st == ASSAY_OK ? show_files(a, verdicts) : assay_cli_fail(a, &err);
    assay_json_free(verdicts);
    assay_registry_free(r);
    return code;
}

/* ---- a run directory: the compare words of all its receipts */
enum { HOSTS_MAX = 64 };
typedef struct receipts { char *host[HOSTS_MAX]; assay_json *receipt[HOSTS_MAX]; size_t n; } receipts;

static assay_status read_receipts(const char *dir, receipts *out, assay_error *err) {
    char **names = NULL;
    size_t n = 0;
    assay_status st = assay_list_dir(dir, &names, &n, err);
    for (size_t i = 0; st == ASSAY_OK && i < n && out->n < HOSTS_MAX; i++) {
        if (!assay_starts_with(names[i], "receipt.") || !assay_ends_with(names[i], ".json") || assay_streq(names[i], "receipt.json")) continue;
        char *host = assay_xstrndup(names[i] + strlen("receipt."), strlen(names[i]) - strlen("receipt..json"));
        st = assay_cli_read_receipt(dir, host, &out->receipt[out->n], err);
        if (st == ASSAY_OK) out->host[out->n++] = host;
        else free(host);
    }
    assay_list_free(names, n);
    if (st == ASSAY_OK && !out->n) return assay_fail(err, ASSAY_E_INPUT, "%s holds no receipt: 'assay judge %s' writes one", dir, dir);
    if (st == ASSAY_OK && !assay_json_len(assay_json_get(out->receipt[0], "compares")))
        return assay_fail(err, ASSAY_E_INPUT, "%s: its experiment has no compare { \"ARM\", \"ARM\", ... }: nothing stands side by side", dir);
    return st;
}

static int worst_of(const receipts *r) {
    int worst = ASSAY_EXIT_OK;
    for (size_t h = 0; h < r->n; h++) {
        const assay_json *list = assay_json_get(r->receipt[h], "compares");
        for (size_t i = 0; i < assay_json_len(list); i++) {
            const char *printed = assay_json_string(assay_json_at(list, i), "printed", "");
            if (assay_streq(printed, "kill")) return ASSAY_EXIT_KILLED;
            if (assay_streq(printed, "inconclusive")) worst = ASSAY_EXIT_INCONCLUSIVE;
        }
    }
    return worst;
}

static void print_run_json(const receipts *r) {
    assay_json *doc = assay_json_object(), *hosts = assay_json_set(doc, "hosts", assay_json_array());
    assay_json_set_string(doc, "schema", "assay-compares/1");
    assay_json_set_string(doc, "experiment", assay_json_string(r->receipt[0], "experiment", ""));
    for (size_t h = 0; h < r->n; h++) {
        assay_json *row = assay_json_append(hosts, assay_json_object());
        assay_json_set_string(row, "host", r->host[h]);
        assay_json_set(row, "compares", assay_json_clone(assay_json_get(r->receipt[h], "compares")));
    }
    assay_cli_print_json(doc);
    assay_json_free(doc);
}

static int show_run(const assay_args *a, const receipts *r) {
    assay_buf text = {0};
    if (a->json) print_run_json(r);
    else {
        assay_text_compares((const char *const *)r->host, (const assay_json *const *)r->receipt, r->n, assay_color_on(STDOUT_FILENO), &text);
        fputs(text.data, stdout);
    }
    assay_buf_free(&text);
    return worst_of(r);
}

static int compare_run(const assay_args *a) {
    receipts *r = assay_xcalloc(1, sizeof *r);
    assay_error err = {0};
    int code = read_receipts(a->pos[0], r, &err) == ASSAY_OK ? show_run(a, r) : assay_cli_fail(a, &err);
    for (size_t i = 0; i < r->n; i++) free(r->host[i]), assay_json_free(r->receipt[i]);
    free(r);
    return code;
}

static int run(const assay_args *a) {
    if (a->n_pos > 1) return compare_files(a);
    if (!assay_is_dir(a->pos[0])) return assay_cli_usage(a, "one argument is a run directory, and '%s' is none; tensors: REF CAND...", a->pos[0]);
    return compare_run(a);
}

const assay_command assay_cmd_compare = {
    .name = "compare",
    .args = "REF CAND... | RUN",
    .summary = "tensors against a reference by the rules of the parity gate, or the arms of a run side by side",
    .opts = opts,
    .min_args = 1,
    .max_args = -1,
    .run = run,
    .example = "assay compare reference.npy candidate.npy --axis head=1",
};
