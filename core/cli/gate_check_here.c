/* The contract of plugins, check by check, in the process that loads it. */
#include "cli/gate_check.h"
#include "cli/verdict.h"
#include "plugin/evidence.h"
#include <fenv.h>
#include <float.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SIGNALS = 32 };

/* What a plugin must leave alone. */
typedef struct surroundings {
    char locale[256], cwd[1024];
    int rounding;
    bool subnormals;
    void (*handlers[SIGNALS])(int);
} surroundings;

static surroundings look_around(void) {
    surroundings s = {.rounding = fegetround()};
    volatile double tiny = DBL_MIN;
    tiny = tiny / 4;
    s.subnormals = tiny > 0;
    const char *locale = setlocale(LC_ALL, NULL);
    snprintf(s.locale, sizeof s.locale, "%s", locale ? locale : "");
    if (!getcwd(s.cwd, sizeof s.cwd)) s.cwd[0] = '\0';
    for (int i = 1; i < SIGNALS; i++) {
        struct sigaction old;
        if (sigaction(i, NULL, &old) == 0) s.handlers[i] = old.sa_handler;
    }
    return s;
}

/* NULL when nothing has changed. */
static const char *what_changed(const surroundings *a, const surroundings *b) {
    if (strcmp(a->locale, b->locale)) return "it changed the locale";
    if (strcmp(a->cwd, b->cwd)) return "it changed the working folder";
    if (a->rounding != b->rounding) return "it changed the rounding mode";
    if (a->subnormals != b->subnormals) return "it switched subnormal numbers off";
    for (int i = 1; i < SIGNALS; i++)
        if (a->handlers[i] != b->handlers[i]) return "it installed a signal handler";
    return NULL;
}

static void announce(const char *gate, const char *check) {
    printf("? %s%s\n", gate, check);
    fflush(stdout);
}

static bool answer(const char *gate, const char *check, const char *why) {
    if (why)
        printf("- %s%s: %s\n", gate, check, why);
    else
        printf("+ %s%s\n", gate, check);
    fflush(stdout);
    return why == NULL;
}

/* A reference that says something, and a candidate that is dead. */
static void add_tensor(assay_evidence_set *ev, const char *role, bool dead) {
    assay_own_tensor t;
    const int64_t shape[4] = {1, 2, 4, 8};
    if (assay_tensor_new(ASSAY_F32, 4, shape, &t, NULL)) return;
    float *x = t.t.data;
    for (int i = 0; !dead && i < 64; i++) x[i] = (float)((i * 37) % 61 - 30) / 16;
    assay_evidence_add_tensor(ev, role, "", role, ASSAY_ORIGIN_IMPORTED, "", &t);
}

static assay_evidence_set *dead_evidence(void) {
    assay_evidence_set *ev = assay_evidence_new();
    add_tensor(ev, "reference", false);
    add_tensor(ev, "control", false);
    add_tensor(ev, "candidate", true);
    add_tensor(ev, "must_fail", true);
    return ev;
}

/* The verdict's text, "error: ..." when the gate refused; malloc'd. */
static char *judge_text(assay_gate_run *g, const assay_evidence_set *ev, bool *passed, bool *fault) {
    assay_json *v = NULL;
    assay_error err = {0};
    assay_status st = assay_gate_judge(g, ev, &v, &err);
    *passed = !st && !strcmp(assay_printed_verdict(v), "pass");
    *fault = st == ASSAY_E_INTERNAL;
    char *text = st ? assay_xprintf("error: %s", err.message) : assay_json_print(v);
    assay_json_free(v);
    return text;
}

static bool check_judging(assay_gate_run *g, const char *who, const char *check, assay_evidence_set *ev) {
    bool passed, fault, again;
    announce(who, check);
    char *a = judge_text(g, ev, &passed, &fault), *b = judge_text(g, ev, &again, &fault);
    const char *why = fault ? a : passed ? "it passes" : strcmp(a, b) ? "two calls with the same evidence differ" : NULL;
    bool ok = answer(who, check, why);
    free(a);
    free(b);
    assay_evidence_free(ev);
    return ok;
}

static bool check_needs(assay_gate_run *g, const char *who) {
    assay_evidence_set *ev = assay_evidence_new();
    assay_need_list needs = {0};
    assay_error err = {0};
    announce(who, "says what it needs");
    assay_status st = assay_gate_needs(g, ev, &needs, &err);
    assay_need_list_free(&needs);
    assay_evidence_free(ev);
    return answer(who, "says what it needs", st ? err.message : NULL);
}

static bool check_gate(const assay_args *a, const assay_gate_type *t) {
    char who[96];
    assay_error err = {0};
    assay_gate_run *g = NULL;
    assay_json *params = assay_json_object();
    snprintf(who, sizeof who, "%s ", t->name);
    announce(who, "starts");
    assay_status st = assay_cli_gate_params(a, t, params, &err);
    if (!st) st = assay_gate_open(t, params, NULL, &g, &err);
    bool ok = answer(who, "starts", st ? err.message : NULL);
    if (ok) {
        ok = check_needs(g, who) && ok;
        ok = check_judging(g, who, "does not pass without evidence", assay_evidence_new()) && ok;
        ok = check_judging(g, who, "does not pass a dead candidate", dead_evidence()) && ok;
        assay_gate_close(g);
    }
    assay_json_free(params);
    return ok;
}

int assay_gate_check_here(const assay_args *a, const char *path) {
    surroundings before = look_around(), after;
    const assay_gate_type *const *gates;
    assay_registry *r = assay_registry_new();
    assay_error err = {0};
    announce("", "loads");
    bool ok = answer("", "loads", assay_registry_load_file(r, path, &err) ? err.message : NULL);
    for (size_t i = 0, n = assay_registry_gates(r, &gates); i < n; i++) ok = check_gate(a, gates[i]) && ok;
    if (ok) {
        announce("", "leaves locale, folder, signals and floating point alone");
        after = look_around();
        ok = answer("", "leaves locale, folder, signals and floating point alone", what_changed(&before, &after));
    }
    assay_registry_free(r);
    return ok ? 0 : 1;
}
