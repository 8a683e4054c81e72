/* The kill matrix of mutants: reading it from a receipt, printing it. */
#include "cli/kill_matrix.h"
#include "base/names.h"
#include <stdio.h>
#include <string.h>

#define MUTANT "mutant."
#define FIGURES "candidate"                      /* metric group of the arm under test, or candidate:FIXTURE */

static bool is_mutant(const char *arm) { return assay_starts_with(arm, MUTANT); }

static assay_json *row_of(assay_json *rows, const char *arm) {
    for (size_t i = 0; i < assay_json_len(rows); i++)
        if (assay_streq(assay_json_string(assay_json_at(rows, i), "arm", ""), arm)) return assay_json_at(rows, i);
    assay_json *row = assay_json_append(rows, assay_json_object());
    assay_json_set_string(row, "arm", arm);
    assay_json_set_bool(row, "killed", false);
    return row;
}

static assay_json *gates_of(assay_json *row) {
    assay_json *gates = assay_json_get(row, "gates");
    return gates ? gates : assay_json_set(row, "gates", assay_json_array());
}

static assay_json *figures_of(const assay_json *groups, const char *const *metrics, size_t n) {
    assay_json *out = assay_json_object();
    for (size_t i = 0; i < assay_json_len(groups); i++) {
        const char *group = assay_json_key_at(groups, i), *label = group + strlen(FIGURES);
        if (!assay_starts_with(group, FIGURES) || (*label && *label != ':')) continue;
        assay_json *figures = assay_json_set(out, *label ? label + 1 : "", assay_json_object());
        for (size_t k = 0; k < n; k++) {
            const assay_json *v = assay_json_get(assay_json_at(groups, i), metrics[k]);
            if (v) assay_json_set(figures, metrics[k], assay_json_clone(v));
        }
    }
    return out;
}

static void add_cell(assay_json *row, const assay_json *gate, const char *const *metrics, size_t n) {
    const assay_json *why = assay_json_at(assay_json_get(gate, "reasons"), 0);
    assay_json *cell = assay_json_append(gates_of(row), assay_json_object());
    assay_json_set_string(cell, "gate", assay_json_string(gate, "gate", ""));
    assay_json_set_string(cell, "verdict", assay_json_string(gate, "printed", ""));
    assay_json_set_string(cell, "code", assay_json_string(why, "code", ""));
    assay_json_set_string(cell, "message", assay_json_string(why, "message", ""));
    if (n) assay_json_set(cell, "figures", figures_of(assay_json_get(gate, "metrics"), metrics, n));
}

/* A gate without an arm looks at the fixtures: what it finds is said of all rows. */
static void add_fixtures(assay_kill_matrix *m, const assay_json *gate) {
    const char *printed = assay_json_string(gate, "printed", "");
    bool invalid = assay_streq(printed, "invalid");
    const assay_json *reasons = assay_json_get(invalid ? assay_json_get(gate, "validity") : gate, "reasons");
    m->powerless = m->powerless || invalid;
    for (size_t i = 0; i < assay_json_len(reasons) && !assay_streq(printed, "pass"); i++) {
        assay_json *line = assay_json_append(m->fixtures, assay_json_object());
        assay_json_set_string(line, "verdict", printed);
        assay_json_set_string(line, "message", assay_json_string(assay_json_at(reasons, i), "message", ""));
    }
}

static const char *worse(const char *a, const char *b) {
    static const char *const order[] = {"invalid", "kill", "inconclusive", "not-measured", "pass"};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        if (assay_streq(a, order[i])) return a;
        if (assay_streq(b, order[i])) return b;
    }
    return a;
}

static void name_equivalents(assay_json *rows, const assay_json *equivalent) {
    for (size_t i = 0; i < assay_json_len(rows); i++) {
        assay_json *row = assay_json_at(rows, i);
        const char *arm = assay_json_string(row, "arm", "");
        const char *why = is_mutant(arm) ? assay_json_string(equivalent, arm + strlen(MUTANT), NULL) : NULL;
        if (why) assay_json_set_string(row, "equivalent", why);
    }
}

/* A trial of the mutant gave no output (a crash, a time-out): no gate was wrong about it, and none has killed it. */
static bool lacks_evidence(const assay_json *row) {
    for (const assay_json *g = assay_json_first(assay_json_get(row, "gates")); g; g = assay_json_next(g))
        if (assay_streq(assay_json_string(g, "code", ""), "evidence_missing")) return true;
    return false;
}

static void count(assay_kill_matrix *m) {
    for (size_t i = 0; i < assay_json_len(m->rows); i++) {
        const assay_json *row = assay_json_at(m->rows, i);
        if (!is_mutant(assay_json_string(row, "arm", ""))) continue;
        bool killed = assay_json_bool(row, "killed", false), equivalent = assay_json_get(row, "equivalent") != NULL;
        m->mutants += !equivalent;
        m->killed += !equivalent && killed;
        m->unrun += !equivalent && !killed && lacks_evidence(row);
        m->equivalent += equivalent;
        m->refuted += equivalent && killed;
    }
}

/* Only a kill counts: an invalid gate has seen nothing. */
assay_kill_matrix assay_kill_matrix_read(const assay_json *receipt, const assay_json *equivalent, const char *const *metrics, size_t n) {
    assay_kill_matrix m = {.rows = assay_json_array(), .candidate = "not judged", .fixtures = assay_json_array()};
    const assay_json *gates = assay_json_get(receipt, "gates");
    for (size_t i = 0; i < assay_json_len(gates); i++) {
        const assay_json *gate = assay_json_at(gates, i);
        const char *arm = assay_json_string(gate, "arm", ""), *printed = assay_json_string(gate, "printed", "");
        if (!*arm) {
            add_fixtures(&m, gate);
            continue;
        }
        assay_json *row = row_of(m.rows, arm);
        add_cell(row, gate, metrics, n);
        if (assay_streq(printed, "kill")) assay_json_set_bool(row, "killed", true);
        if (!is_mutant(arm)) m.candidate = worse(m.candidate, printed);
    }
    name_equivalents(m.rows, equivalent);
    count(&m);
    return m;
}

void assay_kill_matrix_free(assay_kill_matrix *m) {
    assay_json_free(m->rows);
    assay_json_free(m->fixtures);
}

double assay_kill_matrix_score(const assay_kill_matrix *m) { return m->mutants ? (double)m->killed / (double)m->mutants : 0; }

static void print_figures(const assay_json *cell) {
    const assay_json *figures = assay_json_get(cell, "figures");
    for (size_t i = 0; i < assay_json_len(figures); i++) {
        const assay_json *f = assay_json_at(figures, i);
        printf("\n    %s %-12s", assay_json_string(cell, "gate", ""), assay_json_key_at(figures, i));
        for (size_t k = 0; k < assay_json_len(f); k++) {
            const assay_json *v = assay_json_at(f, k);
            printf("  %s ", assay_json_key_at(f, k));
            if (assay_json_kind(v) == ASSAY_J_STRING) printf("%s", assay_json_text(v));
            else if (assay_json_kind(v) == ASSAY_J_NUMBER) printf("%.4g", assay_json_value(v));
            else printf("-");
        }
    }
}

static const char *state_of(const assay_json *row) {
    bool killed = assay_json_bool(row, "killed", false);
    if (!is_mutant(assay_json_string(row, "arm", ""))) return "candidate";
    if (assay_json_get(row, "equivalent")) return killed ? "NOT EQUIVALENT" : "equivalent";
    return killed ? "killed" : lacks_evidence(row) ? "NOT RUN" : "SURVIVES";
}

static void print_row(const assay_json *row) {
    const char *arm = assay_json_string(row, "arm", "");
    printf("  %-28s %-9s", is_mutant(arm) ? arm + strlen(MUTANT) : arm, state_of(row));
    const assay_json *gates = assay_json_get(row, "gates");
    for (size_t i = 0; i < assay_json_len(gates); i++) {
        const assay_json *g = assay_json_at(gates, i);
        const char *code = assay_json_string(g, "code", "");
        printf("  %s: %s%s%s%s", assay_json_string(g, "gate", ""), assay_json_string(g, "verdict", ""), *code ? " (" : "", code, *code ? ")" : "");
    }
    if (assay_json_get(row, "equivalent")) printf("  said to be equivalent: %s", assay_json_string(row, "equivalent", ""));
    for (size_t i = 0; i < assay_json_len(gates); i++) print_figures(assay_json_at(gates, i));
    putchar('\n');
}

static int place(const assay_json *row) {
    bool killed = assay_json_bool(row, "killed", false);
    if (!is_mutant(assay_json_string(row, "arm", ""))) return 0;
    if (assay_json_get(row, "equivalent")) return killed ? 1 : 3;
    return killed ? 2 : 1;
}

static void print_diagnosis(const assay_kill_matrix *m) {
    for (size_t i = 0; i < assay_json_len(m->rows); i++) {
        const assay_json *gates = assay_json_get(assay_json_at(m->rows, i), "gates");
        for (size_t k = 0; k < assay_json_len(gates); k++)
            if (assay_streq(assay_json_string(assay_json_at(gates, k), "gate", ""), "nearest_mutant"))
                printf("diagnosis: %s\n", assay_json_string(assay_json_at(gates, k), "message", ""));
    }
}

void assay_kill_matrix_print(const assay_kill_matrix *m, const char *dir) {
    for (size_t i = 0; i < assay_json_len(m->fixtures); i++) {
        const assay_json *line = assay_json_at(m->fixtures, i);
        printf("fixtures: %s: %s\n", assay_json_string(line, "verdict", ""), assay_json_string(line, "message", ""));
    }
    for (int turn = 0; turn < 4; turn++)
        for (size_t i = 0; i < assay_json_len(m->rows); i++)
            if (place(assay_json_at(m->rows, i)) == turn) print_row(assay_json_at(m->rows, i));
    print_diagnosis(m);
    printf("mutation score %.4g: %zu of %zu mutants killed; ", assay_kill_matrix_score(m), m->killed, m->mutants);
    if (m->equivalent) printf("%zu said to be equivalent, not counted; ", m->equivalent);
    printf("the candidate: %s\nrun directory: %s\n", m->candidate, dir);
    if (m->powerless) printf("the score shows nothing: add a fixture with power for these questions\n");
    if (m->unrun) printf("%zu of the mutants left no output: nothing is known of them, and they count as not killed\n", m->unrun);
    if (m->killed + m->unrun < m->mutants) printf("these gates cannot see the surviving mutants with these fixtures\n");
    if (m->refuted) printf("a gate sees %zu of the mutants that are said to be equivalent: they are not\n", m->refuted);
}

assay_json *assay_kill_matrix_json(const assay_kill_matrix *m, const char *dir) {
    assay_json *j = assay_json_object();
    assay_json_set_string(j, "schema", "assay-mutants/1");
    assay_json_set_string(j, "dir", dir);
    assay_json_set_number(j, "score", assay_kill_matrix_score(m));
    assay_json_set_int(j, "mutants", (int64_t)m->mutants);
    assay_json_set_int(j, "killed", (int64_t)m->killed);
    assay_json_set_int(j, "unrun", (int64_t)m->unrun);
    assay_json_set_bool(j, "powerless", m->powerless);
    assay_json_set_string(j, "candidate", m->candidate);
    assay_json_set(j, "fixtures", assay_json_clone(m->fixtures));
    assay_json_set(j, "rows", assay_json_clone(m->rows));
    return j;
}
