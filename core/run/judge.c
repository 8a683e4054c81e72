/* Judging: gates in the order of the script, each in a worker; after a kill only those that explain it; keeps what is decided. */
#include "run/judge.h"
#include "run/judging.h"
#include "run/work.h"
#include "base/names.h"
#include <stdlib.h>
#include <string.h>
#include <stdio.h>

static const assay_json *gates_of(const assay_judging *j) { return assay_json_get(j->plan->json, "gates"); }

assay_judging *assay_judging_new(const assay_plan *p, const char *host, const char *gate_path) {
    assay_judging *j = assay_xcalloc(1, sizeof *j);
    j->plan = p;
    j->host = assay_xstrdup(host);
    j->gate_path = gate_path;
    j->rows = assay_json_array();
    j->asked = assay_json_array();
    j->kills = assay_json_array();
    j->information = assay_json_array();
    j->compares = assay_json_array();
    j->extra = assay_json_array();
    j->missing = assay_json_array();
    j->ahead = assay_xcalloc(assay_json_len(gates_of(j)) + 1, sizeof *j->ahead);
    return j;
}

void assay_judging_free(assay_judging *j) {
    if (!j) return;
    assay_json *const owned[] = {j->rows, j->asked, j->kills, j->information, j->compares, j->extra, j->missing, j->pending, j->selftests, j->said};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) assay_json_free(owned[i]);
    for (size_t i = 0; i < assay_json_len(gates_of(j)); i++) assay_json_free(j->ahead[i]);
    free(j->ahead);
    free(j->host);
    free(j);
}

static void keep_failures(assay_json *kept, const assay_json *lines) {
    for (size_t i = 0; i < assay_json_len(lines); i++)
        if (!assay_json_bool(assay_json_at(lines, i), "ok", false)) assay_json_append(kept, assay_json_clone(assay_json_at(lines, i)));
}

/* The gates of the plan on their own cases, once. One that errs there is not believed here. */
static assay_status run_selftests(assay_judging *j, assay_error *err) {
    const char *const args[] = {"selftest", j->plan->dir, NULL};
    assay_json *lines = NULL;
    char *crashed = NULL;
    if (j->selftests) return ASSAY_OK;
    assay_status st = assay_supervise_lines(args, j->gate_path, ASSAY_GATE_TIMEOUT_S, &lines, &crashed, err);
    if (st != ASSAY_OK) return st;
    j->selftests = assay_json_array();
    keep_failures(j->selftests, lines);
    if (crashed) {
        assay_json *row = assay_json_append(j->selftests, assay_json_object()), *problems = assay_json_set(row, "problems", assay_json_array());
        assay_json_set_string(row, "gate", "a gate");
        assay_json_append(problems, assay_json_new_string(crashed));
    }
    assay_json_free(lines);
    free(crashed);
    return ASSAY_OK;
}

static bool is(const assay_json *j, const char *key, const char *value) { return assay_streq(assay_json_string(j, key, ""), value); }

static bool stops_at_kill(const assay_judging *j) { return !is(j->plan->json, "stop", "never"); }

static void note_missing(assay_judging *j, const assay_json *jobs) {
    for (size_t i = 0; i < assay_json_len(jobs); i++)
        assay_json_append(j->missing, assay_json_new_string(assay_json_string(assay_json_at(jobs, i), "id", "")));
}

/* Takes an answer's `missing` as what the caller must do next. */
static void set_pending(assay_judging *j, const assay_json *jobs) {
    assay_json_free(j->pending);
    j->pending = assay_json_clone(jobs);
}

static void take_answer(assay_judging *j, const assay_json *gate, const assay_json *answer) {
    assay_json *row = assay_json_append(j->rows, assay_rule_row(j->plan->json, gate, answer));
    assay_json_append(j->asked, assay_json_clone(assay_json_get(answer, "asked")));
    note_missing(j, assay_json_get(answer, "missing"));
    assay_rule_kills(j->plan->json, row, j->kills);
    if (is(row, "printed", "kill") && stops_at_kill(j) && !j->stopped) {
        j->stopped = true;
        j->stopper = assay_json_len(j->rows) - 1;
    }
}

static void take_unjudged(assay_judging *j, const assay_json *gate) {
    char *text = assay_xprintf("gate \"%s\" killed before", assay_json_string(assay_json_at(j->rows, j->stopper), "gate", ""));
    assay_json_append(j->rows, assay_rule_unjudged(gate, "after_kill", text));
    assay_json_append(j->asked, assay_json_array());
    free(text);
}

/* What gate i and, asked ahead, those behind it still need. */
static void set_pending_from(assay_judging *j, size_t i, const assay_json *answer) {
    set_pending(j, assay_json_get(answer, "missing"));
    for (size_t k = i + 1; k < assay_json_len(gates_of(j)); k++) assay_jobs_add(j->pending, assay_json_get(j->ahead[k], "missing"));
}

static assay_status step_gates(assay_judging *j, bool partial, bool *wait, const char **gate, assay_error *err) {
    assay_status st = stops_at_kill(j) ? ASSAY_OK : assay_judging_ask_ahead(j, assay_json_len(j->rows), err);
    for (size_t i = assay_json_len(j->rows); st == ASSAY_OK && i < assay_json_len(gates_of(j)); i++) {
        const assay_json *g = assay_json_at(gates_of(j), i);
        if (j->stopped && !assay_json_bool(g, "after_kill", false)) {
            take_unjudged(j, g);
            continue;
        }
        assay_json *answer = j->ahead[i];
        j->ahead[i] = NULL;
        if (!answer) st = assay_judging_ask(j, i, false, &answer, err);
        if (st != ASSAY_OK) return st;
        if (assay_json_len(assay_json_get(answer, "missing")) && !partial) {
            set_pending_from(j, i, answer);
            j->said = assay_json_clone(assay_json_get(answer, "said"));
            *wait = true;
            *gate = stops_at_kill(j) ? assay_json_string(g, "use", "") : "all gates";
            assay_json_free(answer);
            return ASSAY_OK;
        }
        take_answer(j, g, answer);
        assay_json_free(answer);
    }
    return st;
}

/* Outputs of control, negative and must_fail arms on the fixtures of the killing gate: the decision tree reads them. */
static assay_status step_after_kill(assay_judging *j, bool partial, bool *wait, assay_error *err) {
    if (!j->stopped || j->after_kill_done) return ASSAY_OK;
    const assay_json *asked = assay_json_at(j->asked, j->stopper), *arms = assay_json_get(j->plan->json, "arms");
    assay_gather g;
    assay_evidence_set *set = assay_evidence_new();
    assay_gather_open(&g, j->plan, j->host);
    assay_status st = ASSAY_OK;
    for (size_t i = 0; st == ASSAY_OK && i < assay_json_len(asked); i++) {
        const char *fixture = assay_json_string(assay_json_at(asked, i), "fixture", NULL);
        for (size_t k = 0; st == ASSAY_OK && fixture && k < assay_json_len(arms); k++) {
            const assay_json *arm = assay_json_at(arms, k);
            if (!is(arm, "role", "control") && !is(arm, "role", "negative") && !is(arm, "role", "must_fail")) continue;
            assay_need need = {.role = assay_json_string(arm, "role", ""), .label = fixture};
            need.query = (assay_query){.struct_size = sizeof need.query, .kind = ASSAY_K_OUTPUT, .arm = assay_json_string(arm, "name", ""), .fixture = fixture};
            st = assay_gather_need(&g, &need, set, err);
        }
    }
    assay_evidence_free(set);
    if (st == ASSAY_OK && assay_json_len(g.missing) && !partial) {
        set_pending(j, g.missing);
        *wait = true;
    } else if (st == ASSAY_OK) {
        for (size_t i = 0; i < assay_json_len(g.asked); i++) assay_json_append(j->extra, assay_json_clone(assay_json_at(g.asked, i)));
        note_missing(j, g.missing);
        j->after_kill_done = true;
    }
    assay_gather_close(&g);
    return st;
}

/* The same gate on the fixtures that its claim leaves out: figures, no verdict of the run. */
static assay_status step_information(assay_judging *j, bool partial, bool *wait, const char **gate, assay_error *err) {
    for (; !j->stopped && j->information_next < assay_json_len(gates_of(j)); j->information_next++) {
        size_t i = j->information_next;
        const assay_json *g = assay_json_at(gates_of(j), i), *row = assay_json_at(j->rows, i);
        if (assay_json_len(assay_json_get(g, "also")) == 0 || is(row, "printed", "not-measured")) continue;
        assay_json *answer = NULL;
        assay_status st = assay_judging_ask(j, i, true, &answer, err);
        if (st != ASSAY_OK) return st;
        if (assay_json_len(assay_json_get(answer, "missing")) && !partial) {
            set_pending(j, assay_json_get(answer, "missing"));
            *wait = true;
            *gate = assay_json_string(g, "use", "");
            assay_json_free(answer);
            return ASSAY_OK;
        }
        assay_json *info = assay_json_append(j->information, assay_rule_row(j->plan->json, g, answer)), *asked = assay_json_get(answer, "asked");
        assay_json_set(info, "fixtures", assay_json_clone(assay_json_get(g, "also")));
        for (size_t k = 0; k < assay_json_len(asked); k++) assay_json_append(j->extra, assay_json_clone(assay_json_at(asked, k)));
        assay_json_free(answer);
    }
    return ASSAY_OK;
}

static assay_status step_compares(assay_judging *j, bool partial, bool *wait, const char **gate, assay_error *err) {
    const assay_json *list = assay_json_get(j->plan->json, "compares");
    for (size_t i = assay_json_len(j->compares); !j->stopped && i < assay_json_len(list); i++) {
        assay_gather g;
        assay_gather_open(&g, j->plan, j->host);
        assay_json *row = NULL;
        assay_status st = assay_compare_arms(&g, assay_json_at(list, i), &row, err);
        if (st == ASSAY_OK && assay_json_len(g.missing) && !partial) {
            set_pending(j, g.missing);
            *wait = true;
            *gate = "compare";
            assay_json_free(row);
        } else if (st == ASSAY_OK) {
            assay_json_append(j->compares, row);
            for (size_t k = 0; k < assay_json_len(g.asked); k++) assay_json_append(j->extra, assay_json_clone(assay_json_at(g.asked, k)));
            note_missing(j, g.missing);
        }
        assay_gather_close(&g);
        if (st != ASSAY_OK || *wait) return st;
    }
    return ASSAY_OK;
}

assay_status assay_judging_step(assay_judging *j, bool partial, const assay_json **missing, const char **gate, assay_error *err) {
    bool wait = false;
    *missing = NULL;
    assay_json_free(j->said);
    j->said = NULL;
    *gate = "after the kill";
    assay_status st = run_selftests(j, err);
    if (st == ASSAY_OK) st = step_gates(j, partial, &wait, gate, err);
    if (st == ASSAY_OK && !wait) st = step_after_kill(j, partial, &wait, err);
    if (st == ASSAY_OK && !wait) st = step_compares(j, partial, &wait, gate, err);
    if (st == ASSAY_OK && !wait) st = step_information(j, partial, &wait, gate, err);
    if (st == ASSAY_OK && wait) *missing = j->pending;
    return st;
}

const assay_json *assay_judging_said(const assay_judging *j) { return j->said; }

static assay_status missing_of_compare(assay_judging *j, const assay_json *compare, assay_json *jobs, assay_error *err) {
    assay_gather g;
    assay_json *row = NULL;
    assay_gather_open(&g, j->plan, j->host);
    assay_status st = assay_compare_arms(&g, compare, &row, err);
    for (size_t k = 0; st == ASSAY_OK && k < assay_json_len(g.missing); k++) assay_json_append(jobs, assay_json_clone(assay_json_at(g.missing, k)));
    assay_json_free(row);
    assay_gather_close(&g);
    return st;
}

assay_status assay_judging_missing(assay_judging *j, assay_json *jobs, assay_error *err) {
    assay_status st = ASSAY_OK;
    for (size_t i = 0; st == ASSAY_OK && i < assay_json_len(gates_of(j)); i++)
        for (int information = 0; st == ASSAY_OK && information < 2; information++) {
            assay_json *answer = NULL;
            if (information && assay_json_len(assay_json_get(assay_json_at(gates_of(j), i), "also")) == 0) continue;
            st = assay_judging_ask(j, i, information != 0, &answer, err);
            const assay_json *missing = assay_json_get(answer, "missing");
            for (size_t k = 0; k < assay_json_len(missing); k++) assay_json_append(jobs, assay_json_clone(assay_json_at(missing, k)));
            assay_json_free(answer);
        }
    const assay_json *compares = assay_json_get(j->plan->json, "compares");
    for (size_t i = 0; st == ASSAY_OK && i < assay_json_len(compares); i++) st = missing_of_compare(j, assay_json_at(compares, i), jobs, err);
    return st;
}
