/* What the subcommands about run directories share. */
#include "cli/runs.h"
#include "base/fs.h"
#include "base/names.h"
#include "report/next.h"
#include "report/text.h"
#include "run/drive.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile int interrupted;

static void on_interrupt(int sig) {
    (void)sig;
    interrupted = 1;
}

const volatile int *assay_cli_catch_interrupts(void) {
    struct sigaction sa = {.sa_handler = on_interrupt};
    sigaction(SIGINT, &sa, NULL);
    sigaction(SIGTERM, &sa, NULL);
    return &interrupted;
}

void assay_cli_planning_open(const assay_args *a, assay_planning *s) {
    memset(s, 0, sizeof *s);
    s->registry = assay_cli_registry(a);
    s->progress = assay_progress_open(&s->view, stderr, assay_color_on(STDERR_FILENO), a->quiet);
    s->options = (assay_plan_options){.script = a->pos[0], .out = assay_arg(a, "out"), .set = s->set, .registry = s->registry, .ctx = &s->view};
    s->options.n_set = (size_t)assay_arg_all(a, "set", s->set, sizeof s->set / sizeof *s->set);
}

void assay_cli_planning_close(assay_planning *s) { assay_registry_free(s->registry); }

assay_status assay_cli_drive(const assay_args *a, const char *dir, assay_planning *s, char **host, assay_json **receipt, assay_error *err) {
    assay_plan plan;
    assay_drive d = {.progress = &s->progress};
    assay_cli_place place;
    assay_status st = assay_cli_place_open(a, s->registry, &place, err);
    if (st != ASSAY_OK) return st;
    st = assay_plan_load(dir, &plan, err);
    if (st == ASSAY_OK) {
        d.supervisor = assay_cli_supervisor(a, &plan, s->registry, &place);
        st = assay_drive_run(&d, receipt, err);
        if (st == ASSAY_OK) *host = assay_xstrdup(place.host);
        assay_plan_free(&plan);
    }
    assay_cli_place_free(&place);
    return st;
}

assay_supervisor assay_cli_supervisor(const assay_args *a, const assay_plan *p, const assay_registry *r, const assay_cli_place *place) {
    return (assay_supervisor){.plan = p, .host = place->host, .backend = place->backend, .device = place->device, .device_identity = place->device_identity,
                              .gate_path = a->gate_path, .registry = r, .threads = place->threads, .timeout_s = place->timeout_s, .cancel = assay_cli_catch_interrupts()};
}

/* A run that a program alone decided leaves a receipt and no trial: its host is the receipt's. NULL unless there is just one. */
static char *host_of_only_receipt(const char *dir) {
    char **names = NULL, *host = NULL;
    size_t n = 0, found = 0;
    if (assay_list_dir(dir, &names, &n, NULL) != ASSAY_OK) return NULL;
    for (size_t i = 0; i < n; i++) {
        if (!assay_starts_with(names[i], "receipt.") || !assay_ends_with(names[i], ".json") || assay_streq(names[i], "receipt.json")) continue;
        if (found++) break;
        host = assay_xprintf("%.*s", (int)(strlen(names[i]) - strlen("receipt.") - strlen(".json")), names[i] + strlen("receipt."));
    }
    assay_list_free(names, n);
    if (found == 1) return host;
    free(host);
    return NULL;
}

assay_status assay_cli_host(const assay_args *a, const assay_plan *p, char **host, assay_error *err) {
    const char *name = assay_arg(a, "host");
    char **names = NULL;
    size_t n = 0;
    assay_status st = assay_plan_hosts(p, &names, &n, err);
    if (st != ASSAY_OK) return st;
    bool known = false;
    for (size_t i = 0; i < n; i++) known |= assay_streq(names[i], name);
    char hint[96];
    if (name && !known) st = assay_fail(err, ASSAY_E_USAGE, "%s: no evidence of host '%s'%s", p->dir, name, assay_did_you_mean(hint, name, (const char *const *)names, n));
    else if (name) *host = assay_xstrdup(name);
    else if (n == 1) *host = assay_xstrdup(names[0]);
    else if (n == 0 && (*host = host_of_only_receipt(p->dir))) st = ASSAY_OK;
    else if (n == 0) st = assay_fail(err, ASSAY_E_INPUT, "%s holds no evidence yet: 'assay trials %s' lists what to collect", p->dir, p->dir);
    else st = assay_fail(err, ASSAY_E_USAGE, "%s holds evidence of %zu hosts (%s, %s ...): choose one with --host", p->dir, n, names[0], names[1]);
    assay_list_free(names, n);
    return st;
}

assay_status assay_cli_read_receipt(const char *dir, const char *host, assay_json **receipt, assay_error *err) {
    char *path = assay_xprintf("%s/receipt.%s.json", dir, host);
    assay_status st = assay_is_file(path) ? assay_receipt_read(path, receipt, err)
                                          : assay_fail(err, ASSAY_E_INPUT, "%s is absent: 'assay judge %s' writes it", path, dir);
    free(path);
    return st;
}

void assay_cli_next(const assay_json *receipt, assay_buf *text) {
    assay_next next;
    if (assay_next_find(receipt, &next, NULL) == ASSAY_OK) assay_next_text(&next, text);
    assay_next_free(&next);
}

int assay_cli_show_receipt(const assay_args *a, const char *dir, const char *host, const assay_json *receipt, bool require_target) {
    int code = assay_receipt_exit(receipt, require_target);
    char *file = assay_xprintf("%s/receipt.%s.json", dir, host);
    if (a->json) {
        assay_json *j = assay_json_object();
        assay_json_set_string(j, "schema", "assay-run/1");
        assay_json_set_string(j, "dir", dir);
        assay_json_set_string(j, "host", host);
        assay_json_set_string(j, "receipt_file", file);
        assay_json_set_int(j, "exit", code);
        assay_json_set(j, "receipt", assay_json_clone(receipt));
        assay_cli_print_json(j);
        assay_json_free(j);
    } else {
        assay_buf text = {0};
        assay_report_text(receipt, assay_color_on(STDOUT_FILENO), &text);
        assay_cli_next(receipt, &text);
        assay_buf_printf(&text, "\nreceipt: %s\n", file);
        char *page = assay_path_join(dir, "report.html");
        if (assay_is_file(page)) assay_buf_printf(&text, "report:  %s\n", page);
        free(page);
        fputs(text.data, stdout);
        if (code == ASSAY_EXIT_REHEARSAL) fputs("exit 6: --require-target, and the verdicts rest on a rehearsal\n", stderr);
        assay_buf_free(&text);
    }
    free(file);
    return code;
}
