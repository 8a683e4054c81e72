/* Outcomes of rules: collecting them, deciding by the order of statistics.md section 3.2, handing them to the finding. */
#include "similarity.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *grow(void *p, size_t *cap, size_t n, size_t size) {
    if (n < *cap) return p;
    size_t want = *cap ? 2 * *cap : 16;
    void *q = realloc(p, want * size);
    if (!q) abort(); /* a few hundred bytes: the machine is out of memory */
    *cap = want;
    return q;
}
void sim_report_free(sim_report *r) {
    free(r->items);
    free(r->lines);
    *r = (sim_report){0};
}

void sim_add(sim_report *r, int rule, int kind, const char *code, const char *where, const char *fmt, ...) {
    r->items = grow(r->items, &r->cap, r->n, sizeof *r->items);
    sim_outcome *o = &r->items[r->n++];
    *o = (sim_outcome){.rule = rule, .kind = kind, .code = code};
    snprintf(o->where, sizeof o->where, "%s", where);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(o->message, sizeof o->message, fmt, ap);
    va_end(ap);
}
void sim_line_add(sim_report *r, const char *rule, bool applied, const char *why) {
    r->lines = grow(r->lines, &r->cap_lines, r->n_lines, sizeof *r->lines);
    sim_line *l = &r->lines[r->n_lines++];
    *l = (sim_line){.rule = rule, .applied = applied};
    snprintf(l->why, sizeof l->why, "%s", applied ? "" : why);
}

bool sim_has(const sim_report *r, int kind) {
    for (size_t i = 0; i < r->n; i++)
        if (r->items[i].kind == kind) return true;
    return false;
}
bool sim_has_code(const sim_report *r, const char *code) {
    for (size_t i = 0; i < r->n; i++)
        if (strcmp(r->items[i].code, code) == 0) return true;
    return false;
}
bool sim_applied(const sim_report *r, const char *rule) {
    for (size_t i = 0; i < r->n_lines; i++)
        if (strcmp(r->lines[i].rule, rule) == 0 && r->lines[i].applied) return true;
    return false;
}

enum { LAST_ORDERED_RULE = 5 };
static const sim_outcome *decider(const sim_report *r) {
    const sim_outcome *first = NULL;
    for (size_t i = 0; i < r->n; i++) {
        const sim_outcome *o = &r->items[i];
        if (o->kind != SIM_DIAGNOSIS && o->rule <= LAST_ORDERED_RULE && (!first || o->rule < first->rule)) first = o;
    }
    return first;
}

assay_verdict sim_decide(const sim_report *r, bool *invalid) {
    const sim_outcome *first = decider(r);
    *invalid = first ? first->kind == SIM_INVALID : sim_has(r, SIM_INVALID);
    if (first) return first->kind == SIM_KILL ? ASSAY_KILL : ASSAY_INCONCLUSIVE;
    if (sim_has(r, SIM_KILL)) return ASSAY_KILL;
    return sim_has(r, SIM_INVALID) || sim_has(r, SIM_UNDECIDED) ? ASSAY_INCONCLUSIVE : ASSAY_PASS;
}

static void give(const sim_outcome *o, const char *label, bool invalid, const assay_finding *f) {
    char where[200];
    snprintf(where, sizeof where, "%s%s%s", label, *label && o->where[0] ? " " : "", o->where);
    (invalid ? f->invalid : f->reason)(f, o->code, o->message, where);
}
/* Once an earlier rule has decided, a later invalidity is listed among the reasons. */
void sim_report_give(const sim_report *r, const char *label, const assay_finding *f) {
    const sim_outcome *first = decider(r);
    if (first) give(first, label, first->kind == SIM_INVALID, f);
    for (size_t i = 0; i < r->n; i++) {
        const sim_outcome *o = &r->items[i];
        if (o == first) continue;
        give(o, label, o->kind == SIM_INVALID && (!first || first->kind == SIM_INVALID), f);
    }
}
