/* Asking about gates: each in a worker of its own, one at a time or several side by side. */
#include "run/judging.h"
#include "run/work.h"
#include "base/threads.h"
#include <stdio.h>
#include <stdlib.h>

static assay_json *crash_answer(const char *gate, const char *how) {
    assay_json *answer = assay_json_object(), *e = assay_json_set(answer, "error", assay_json_object());
    char *text = assay_xprintf("gate \"%s\" did not survive its own judging: %s", gate, how);
    assay_json_set_string(e, "message", text);
    assay_json_set(answer, "asked", assay_json_array());
    assay_json_set(answer, "missing", assay_json_array());
    free(text);
    return answer;
}

assay_status assay_judging_ask(const assay_judging *j, size_t i, bool information, assay_json **answer, assay_error *err) {
    char index[24], *crashed = NULL;
    snprintf(index, sizeof index, "%zu", i);
    const char *const args[] = {"gate", j->plan->dir, j->host, index, information ? "--information" : NULL, NULL};
    assay_json *lines = NULL;
    assay_status st = assay_supervise_lines(args, j->gate_path, ASSAY_GATE_TIMEOUT_S, &lines, &crashed, err);
    if (st != ASSAY_OK) return st;
    const char *use = assay_json_string(assay_json_at(assay_json_get(j->plan->json, "gates"), i), "use", "");
    if (crashed || assay_json_len(lines) != 1) *answer = crash_answer(use, crashed ? crashed : "it gave no answer");
    else *answer = assay_json_clone(assay_json_at(lines, 0));
    assay_json_free(lines);
    free(crashed);
    return ASSAY_OK;
}

/* ---- several at once */

typedef struct asking {
    assay_judging *j;
    size_t first;
    assay_status *status;                        /* by gate from `first` on */
    assay_error *err;
} asking;

static void ask_one(void *ctx, uint64_t task, uint32_t worker) {
    const asking *a = ctx;
    size_t i = a->first + (size_t)task;
    assay_json **kept = &a->j->ahead[i];
    (void)worker;
    if (*kept && assay_json_len(assay_json_get(*kept, "missing")) == 0) return;
    assay_json_free(*kept);
    *kept = NULL;
    a->status[task] = assay_judging_ask(a->j, i, false, kept, &a->err[task]);
}

assay_status assay_judging_ask_ahead(assay_judging *j, size_t first, assay_error *err) {
    size_t n = assay_json_len(assay_json_get(j->plan->json, "gates")) - first;
    asking a = {.j = j, .first = first, .status = assay_xcalloc(n + 1, sizeof *a.status), .err = assay_xcalloc(n + 1, sizeof *a.err)};
    assay_parallel(assay_side_by_side(), n, ask_one, &a);
    assay_status st = ASSAY_OK;
    for (size_t k = 0; st == ASSAY_OK && k < n; k++)
        if (a.status[k] != ASSAY_OK) {
            st = a.status[k];
            if (err) *err = a.err[k];
        }
    free(a.status);
    free(a.err);
    return st;
}
