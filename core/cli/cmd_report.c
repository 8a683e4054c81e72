/* cli/cmd_report.c: renders a receipt: text to standard output, report.html beside it. */
#include "cli/runs.h"
#include "base/fs.h"
#include "report/html.h"
#include "report/next.h"
#include "report/text.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const assay_opt opts[] = {
    {"host", 0, "NAME", "whose receipt (default: the only host there is)", false},
    {"no-html", 0, NULL, "text only", false},
    {"next", 0, NULL, "only what to do next: the leaf of the decision tree, what led there, the next experiment as a script", false},
    {NULL, 0, NULL, NULL, false},
};

static void print_text(const assay_json *receipt) {
    assay_buf text = {0};
    assay_report_text(receipt, assay_color_on(STDOUT_FILENO), &text);
    assay_cli_next(receipt, &text);
    fputs(text.data, stdout);
    assay_buf_free(&text);
}

static assay_status show_next(const assay_args *a, const assay_json *receipt, assay_error *err) {
    assay_next next;
    assay_buf text = {0};
    char *stub = NULL;
    assay_status st = assay_next_find(receipt, &next, err);
    if (st == ASSAY_OK) st = assay_next_stub(&next, receipt, &stub, err);
    if (st == ASSAY_OK && a->json) {
        assay_json *j = assay_next_json(&next, stub);
        assay_cli_print_json(j);
        assay_json_free(j);
    } else if (st == ASSAY_OK) {
        assay_next_evidence_text(&next, &text);
        assay_next_text(&next, &text);
        if (stub) assay_buf_printf(&text, "\n%s", stub);
        fputs(text.data, stdout);
    }
    assay_buf_free(&text);
    free(stub);
    assay_next_free(&next);
    return st;
}

static int run(const assay_args *a) {
    assay_plan p = {0};
    assay_error err = {0};
    char *host = NULL;
    assay_json *receipt = NULL;
    assay_status st = assay_plan_load(a->pos[0], &p, &err);
    if (st == ASSAY_OK) st = assay_cli_host(a, &p, &host, &err);
    if (st == ASSAY_OK) st = assay_cli_read_receipt(p.dir, host, &receipt, &err);
    bool next = assay_flag(a, "next"), html = !next && !assay_flag(a, "no-html");
    if (st == ASSAY_OK && html) st = assay_report_html(p.dir, host, &err);
    if (st == ASSAY_OK && next) st = show_next(a, receipt, &err);
    else if (st == ASSAY_OK && a->json) assay_cli_print_json(receipt);
    else if (st == ASSAY_OK) print_text(receipt);
    if (st == ASSAY_OK && html && !a->json) printf("\nreport: %s/report.html\n", p.dir);
    assay_json_free(receipt);
    assay_plan_free(&p);
    free(host);
    return st == ASSAY_OK ? ASSAY_EXIT_OK : assay_cli_fail(a, &err);
}

const assay_command assay_cmd_report = {"report", "DIR", "render a receipt as text and report.html", opts, 1, 1, run, false,
    "assay report run --next"};
