/* cli/cmd_report.c: renders a receipt: text to standard output, report.html beside it. */
#include "cli/runs.h"
#include "base/fs.h"
#include "report/html.h"
#include "report/text.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const assay_opt opts[] = {
    {"host", 0, "NAME", "whose receipt (default: the only host there is)", false},
    {"no-html", 0, NULL, "text only", false},
    {NULL, 0, NULL, NULL, false},
};

static void print_text(const assay_json *receipt) {
    assay_buf text = {0};
    assay_report_text(receipt, assay_color_on(STDOUT_FILENO), &text);
    fputs(text.data, stdout);
    assay_buf_free(&text);
}

static int run(const assay_args *a) {
    assay_plan p = {0};
    assay_error err = {0};
    char *host = NULL;
    assay_json *receipt = NULL;
    assay_status st = assay_plan_load(a->pos[0], &p, &err);
    if (st == ASSAY_OK) st = assay_cli_host(a, &p, &host, &err);
    if (st == ASSAY_OK) st = assay_cli_read_receipt(p.dir, host, &receipt, &err);
    if (st == ASSAY_OK && !assay_flag(a, "no-html")) st = assay_report_html(p.dir, host, &err);
    if (st == ASSAY_OK && a->json) assay_cli_print_json(receipt);
    else if (st == ASSAY_OK) print_text(receipt);
    if (st == ASSAY_OK && !assay_flag(a, "no-html") && !a->json) printf("\nreport: %s/report.html\n", p.dir);
    assay_json_free(receipt);
    assay_plan_free(&p);
    free(host);
    return st == ASSAY_OK ? ASSAY_EXIT_OK : assay_cli_fail(a, &err);
}

const assay_command assay_cmd_report = {"report", "DIR", "render a receipt as text and report.html", opts, 1, 1, run, false};
