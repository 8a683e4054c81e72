/* Prints one verdict: the answer first, then why, then the figures. */
#include "cli/verdict.h"
#include "plugin/evidence.h"
#include "base/names.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int assay_cli_verdict_code(const char *printed) {
    if (assay_streq(printed, "pass")) return ASSAY_EXIT_OK;
    if (assay_streq(printed, "kill")) return ASSAY_EXIT_KILLED;
    return assay_streq(printed, "invalid") ? ASSAY_EXIT_INVALID : ASSAY_EXIT_INCONCLUSIVE;
}

static void print_reasons(const assay_json *list) {
    for (size_t i = 0; i < assay_json_len(list); i++) {
        const assay_json *r = assay_json_at(list, i);
        const char *where = assay_json_string(r, "where", "");
        printf("  %-34s %s%s%s%s\n", assay_json_string(r, "code", ""), assay_json_string(r, "message", ""), *where ? " (" : "",
               where, *where ? ")" : "");
    }
}

/* Long lists and tables are for --json. */
static void print_value(const assay_json *v) {
    if (assay_json_kind(v) == ASSAY_J_NUMBER) {
        printf("%.9g", assay_json_value(v));
        return;
    }
    char *text = assay_json_print(v);
    printf("%.60s%s", text, strlen(text) > 60 ? "..." : "");
    free(text);
}

static void print_metrics(const assay_json *verdict) {
    const assay_json *metrics = assay_json_get(verdict, "metrics"), *units = assay_json_get(verdict, "units");
    for (size_t g = 0; g < assay_json_len(metrics); g++) {
        const char *group = assay_json_key_at(metrics, g);
        const assay_json *rows = assay_json_at(metrics, g);
        printf("%s\n", group);
        for (size_t i = 0; i < assay_json_len(rows); i++) {
            const char *name = assay_json_key_at(rows, i), *unit = assay_json_string(assay_json_get(units, group), name, "");
            if (assay_json_kind(assay_json_at(rows, i)) == ASSAY_J_NULL) continue;
            printf("  %-30s ", name);
            print_value(assay_json_at(rows, i));
            printf("%s%s\n", *unit && strcmp(unit, "1") != 0 ? " " : "", strcmp(unit, "1") != 0 ? unit : "");
        }
    }
}

int assay_cli_verdict(const assay_args *a, const assay_json *verdict) {
    const char *printed = assay_printed_verdict(verdict);
    if (a->json)
        assay_cli_print_json(verdict);
    else {
        printf("%s: %s\n", assay_json_string(verdict, "gate", "gate"), printed);
        print_reasons(assay_json_path(verdict, "validity.reasons"));
        print_reasons(assay_json_get(verdict, "reasons"));
        if (!a->quiet) print_metrics(verdict);
    }
    return assay_cli_verdict_code(printed);
}

/* ---- judging files of the command line */
assay_status assay_cli_gate_params(const assay_args *a, const assay_gate_type *type, assay_json *params, assay_error *err) {
    const char *given[128];
    char who[128];
    int n = assay_arg_all(a, "param", given, 128);
    snprintf(who, sizeof who, "gate \"%.100s\"", type->name);
    for (int i = 0; i < n; i++) {
        assay_status st = assay_params_from_text(type->params, given[i], who, params, err);
        if (st != ASSAY_OK) return st;
    }
    return ASSAY_OK;
}

/* Files whose role the gate never looked for: most often a misspelt one. */
static void note_unused(const assay_args *a, const char *gate, const assay_evidence_set *ev) {
    const char *const *asked;
    size_t n = assay_evidence_asked(ev, &asked);
    for (size_t i = 0; i < assay_evidence_len(ev); i++) {
        const char *role = assay_evidence_at(ev, i)->role;
        bool used = i > 0 && assay_streq(role, assay_evidence_at(ev, i - 1)->role);      /* said already */
        for (size_t k = 0; k < n && !used; k++) used = assay_streq(asked[k], role);
        if (used) continue;
        char hint[96];
        fprintf(stderr, "assay %s: %s did not look at '%s'%s; it looked for", a->cmd->name, gate, role, assay_did_you_mean(hint, role, asked, n));
        for (size_t k = 0; k < n; k++) fprintf(stderr, "%s %s", k ? "," : "", asked[k]);
        fputs(n ? "\n" : " nothing\n", stderr);
    }
}

int assay_cli_judge(const assay_args *a, assay_registry *r, const char *gate, assay_json *params, assay_evidence_set *ev, assay_status st, assay_error *err) {
    assay_json *verdict = NULL;
    if (st == ASSAY_OK) st = assay_judge(r, gate, params, ev, &verdict, err);
    if (st == ASSAY_OK) note_unused(a, gate, ev);
    int code = st == ASSAY_OK ? assay_cli_verdict(a, verdict) : assay_cli_fail(a, err);
    assay_json_free(verdict);
    assay_json_free(params);
    assay_evidence_free(ev);
    assay_registry_free(r);
    return code;
}
