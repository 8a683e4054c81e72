/* The judge's rules about one gate: the target rule and the kills of the plan. */
#include "run/judge.h"
#include "base/names.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <stdio.h>

static bool is(const assay_json *j, const char *key, const char *value) { return assay_streq(assay_json_string(j, key, ""), value); }

void assay_rule_add_reason(assay_json *row, const char *list, const char *code, const char *message) {
    assay_json *owner = row, *reasons;
    if (assay_streq(list, "validity")) {
        owner = assay_json_get(row, "validity");
        assay_json_set_bool(owner, "valid", false);
    }
    reasons = assay_json_get(owner, "reasons");
    assay_json *r = assay_json_append(reasons, assay_json_object());
    assay_json_set_string(r, "code", code);
    assay_json_set_string(r, "message", message);
    assay_json_set_string(r, "where", "");
}

static void set_printed(assay_json *row) { assay_json_set_string(row, "printed", assay_printed_verdict(row)); }

static void set_validity(assay_json *row, bool valid) {
    assay_json *v = assay_json_set(row, "validity", assay_json_object());
    assay_json_set_bool(v, "valid", valid);
    assay_json_set(v, "reasons", assay_json_array());
}

assay_json *assay_rule_unjudged(const assay_json *gate, const char *code, const char *message) {
    assay_json *row = assay_json_object();
    assay_json_set_string(row, "schema", "assay-verdict/1");
    assay_json_set_string(row, "gate", assay_json_string(gate, "use", ""));
    assay_json_set_string(row, "version", assay_json_string(gate, "version", ""));
    assay_json_set_string(row, "arm", assay_json_string(assay_json_get(gate, "params"), "arm", ""));
    assay_json_set_string(row, "verdict", "not-measured");
    set_validity(row, true);
    assay_json_set(row, "reasons", assay_json_array());
    assay_json_set(row, "metrics", assay_json_object());
    assay_json_set(row, "evidence", assay_json_array());
    assay_json_set(row, "params", assay_json_clone(assay_json_get(gate, "params")));
    assay_json_set_string(row, "origin", "");
    assay_json_set_bool(row, "target_question", false);
    assay_rule_add_reason(row, "reasons", code, message);
    set_printed(row);
    return row;
}

static bool only_programs(const assay_json *asked) {
    for (size_t i = 0; i < assay_json_len(asked); i++)
        if (!is(assay_json_at(asked, i), "kind", "program")) return false;
    return true;
}

/* Origins of the evidence joined by '+'. The reference's is left out (it is always the oracle's), and so is a program's beside
 * other evidence: it is read, not measured. */
static void set_origin(assay_json *row, const assay_json *asked) {
    static const char *const all[] = {"device", "imported", "simulated", "reference"};
    assay_buf text = {0};
    bool only_reference_role = true, programs = only_programs(asked);
    for (size_t i = 0; i < assay_json_len(asked); i++) {
        const assay_json *a = assay_json_at(asked, i);
        if (!is(a, "role", "reference") && (programs || !is(a, "kind", "program")) && is(a, "state", "ok")) only_reference_role = false;
    }
    for (size_t o = 0; o < sizeof all / sizeof *all; o++) {
        bool seen = false;
        for (size_t i = 0; i < assay_json_len(asked); i++) {
            const assay_json *a = assay_json_at(asked, i);
            seen |= is(a, "state", "ok") && is(a, "origin", all[o]) && (only_reference_role || !is(a, "role", "reference")) &&
                    (programs || !is(a, "kind", "program"));
        }
        if (seen) assay_buf_printf(&text, "%s%s", text.len ? "+" : "", all[o]);
    }
    assay_json_set_string(row, "origin", text.data ? text.data : "");
    assay_buf_free(&text);
}

static bool is_target_kind(const assay_json *a) { return is(a, "kind", "plan") || is(a, "kind", "timing") || is(a, "kind", "record"); }

static void make_not_measured(assay_json *row, const char *code, const char *message) {
    assay_json_set_string(row, "information_verdict", assay_printed_verdict(row));
    assay_json_set_string(row, "verdict", "not-measured");
    assay_json *old = assay_json_clone(assay_json_get(row, "reasons")), *invalid = assay_json_get(assay_json_get(row, "validity"), "reasons");
    for (size_t i = 0; i < assay_json_len(invalid); i++) assay_json_append(old, assay_json_clone(assay_json_at(invalid, i)));
    set_validity(row, true);
    assay_json_set(row, "reasons", assay_json_array());
    assay_rule_add_reason(row, "reasons", code, message);
    assay_json_set(row, "information_reasons", old);
}

/* With what the first piece that is not there says of itself: it names the way out. */
static void make_no_evidence(assay_json *row, const assay_json *asked) {
    const char *why = NULL;
    for (size_t i = 0; !why && i < assay_json_len(asked); i++)
        if (is_target_kind(assay_json_at(asked, i))) why = assay_json_string(assay_json_at(asked, i), "why", NULL);
    char *text = assay_xprintf("the target left no evidence for this question%s%s", why ? ": " : "", why ? why : "");
    make_not_measured(row, "no_device_evidence", text);
    free(text);
}

/* Placement, latency, memory and corroboration can only be decided by the target's own evidence (device or imported; the reference
 * backend's where the experiment is about that backend), or as a rehearsal by a simulated one. */
static void apply_target_rule(const assay_json *plan, assay_json *row, const assay_json *asked) {
    bool target = false, ok = false, foreign = false, failed = false, reference = assay_plan_target_is_reference(plan);
    for (size_t i = 0; i < assay_json_len(asked); i++) {
        const assay_json *a = assay_json_at(asked, i);
        if (!is_target_kind(a)) continue;
        target = true;
        failed |= is(a, "state", "failed");
        if (!is(a, "state", "ok")) continue;
        ok = true;
        foreign |= !(is(a, "origin", "device") || is(a, "origin", "imported") || is(a, "origin", "simulated") || (reference && is(a, "origin", "reference")));
    }
    assay_json_set_bool(row, "target_question", target);
    if (!target) return;
    if (foreign)
        make_not_measured(row, "not_the_target", "measured on a backend that is not the experiment's target: the figures are this machine's, for information");
    else if (!ok && !failed && !is(row, "verdict", "not-measured"))
        make_no_evidence(row, asked);
}

assay_json *assay_rule_row(const assay_json *plan, const assay_json *gate, const assay_json *answer) {
    const assay_json *verdict = assay_json_get(answer, "verdict"), *asked = assay_json_get(answer, "asked"), *error = assay_json_get(answer, "error");
    assay_json *row;
    if (assay_json_kind(verdict) == ASSAY_J_OBJECT) {
        row = assay_json_clone(verdict);
        assay_json_set_string(row, "arm", assay_json_string(assay_json_get(gate, "params"), "arm", ""));
        set_origin(row, asked);
        assay_rule_add_grades(row, asked);
        assay_rule_add_twins(row, asked);
        assay_rule_doubt_negatives(row, asked);
        apply_target_rule(plan, row, asked);
    } else if (error) {
        row = assay_rule_unjudged(gate, "gate_failed", assay_json_string(error, "message", "the gate failed"));
        assay_rule_add_reason(row, "validity", "gate_failed", assay_json_string(error, "message", "the gate failed"));
    } else {
        row = assay_rule_unjudged(gate, "evidence_missing", "the evidence that this gate asks for has not been collected");
    }
    set_printed(row);
    return row;
}

/* ---- kills */

static bool has_label(const char *group, const char *fixture) {
    const char *colon = strchr(group, ':');
    return !fixture || !colon || assay_streq(colon + 1, fixture);
}

typedef struct found { const assay_json *value; bool any, undefined, fired; char where[96]; } found;

static bool is_given(const assay_json *j) { return assay_json_kind(j) != ASSAY_J_NULL; }

static bool fires(const assay_json *kill, const assay_json *metric) {
    const assay_json *at_most = assay_json_get(kill, "at_most"), *at_least = assay_json_get(kill, "at_least"), *equals = assay_json_get(kill, "equals");
    double v = assay_json_value(metric);
    return (is_given(at_most) && v <= assay_json_value(at_most)) || (is_given(at_least) && v >= assay_json_value(at_least)) ||
           (is_given(equals) && assay_json_equal(equals, metric));
}

static void take(found *f, const assay_json *kill, const assay_json *metric, const char *group) {
    bool fired = fires(kill, metric);
    if (!is_given(metric) || (!is_given(assay_json_get(kill, "equals")) && isnan(assay_json_value(metric)))) f->undefined = true;
    if (!f->any || (fired && !f->fired)) {
        f->value = metric;
        snprintf(f->where, sizeof f->where, "%s", group);
    }
    f->any = true;
    f->fired |= fired;
}

/* A bare name is looked up in `gate`, else in every group of the candidate (of one fixture, where the kill names it), else in
 * the one other group that has it; "GROUP.NAME" means that group alone, "GROUP.NAME.KEY" one figure of a table
 * in it. Nothing else is tried. */
static found look_up(const assay_json *metrics, const assay_json *kill) {
    found f = {.value = NULL};
    const char *name = assay_json_string(kill, "metric", ""), *dot = strrchr(name, '.'), *fixture = assay_json_string(kill, "fixture", NULL);
    if (dot) {
        char *group = assay_xstrndup(name, (size_t)(dot - name));
        const assay_json *m = assay_json_get(assay_json_get(metrics, group), dot + 1);
        if (!m) m = assay_json_path(metrics, name);
        if (m) take(&f, kill, m, group);
        free(group);
        return f;
    }
    const assay_json *own = assay_json_get(assay_json_get(metrics, "gate"), name);
    if (own) {
        take(&f, kill, own, "gate");
        return f;
    }
    for (size_t i = 0; i < assay_json_len(metrics); i++) {
        const char *group = assay_json_key_at(metrics, i);
        size_t n = strcspn(group, ":");
        const assay_json *m = n == 9 && strncmp(group, "candidate", 9) == 0 ? assay_json_get(assay_json_at(metrics, i), name) : NULL;
        if (m && has_label(group, fixture)) take(&f, kill, m, group);
    }
    for (size_t i = 0, others = 0; !f.any && others < 2 && i < assay_json_len(metrics); i++) {
        const assay_json *m = assay_json_get(assay_json_at(metrics, i), name);
        if (!m || !has_label(assay_json_key_at(metrics, i), fixture)) continue;
        if (++others == 1) take(&f, kill, m, assay_json_key_at(metrics, i));
    }
    return f;
}

static assay_json *kill_row(const assay_json *kill, const char *state) {
    assay_json *row = assay_json_clone(kill);
    assay_json_set_string(row, "state", state);
    return row;
}

static bool names_gate(const assay_json *kill, const assay_json *row) {
    const char *arm = assay_json_string(kill, "arm", NULL);
    return is(kill, "gate", assay_json_string(row, "gate", "")) && (!arm || is(row, "arm", arm));
}

/* " (did you mean ...?)" among the figures that the gate gave, or "". */
static const char *metric_hint(char out[96], const assay_json *row, const char *metric) {
    const assay_json *groups = assay_json_get(row, "metrics");
    const char *names[256];
    size_t n = 0;
    for (size_t i = 0; i < assay_json_len(groups); i++)
        for (size_t k = 0; n < 256 && k < assay_json_len(assay_json_at(groups, i)); k++) names[n++] = assay_json_key_at(assay_json_at(groups, i), k);
    return assay_did_you_mean(out, metric, names, n);
}

static void unknown_metric(assay_json *row, const assay_json *kill, bool undefined) {
    const char *metric = assay_json_string(kill, "metric", "");
    char hint[96];
    char *text = assay_xprintf("kill on %s.%s: %s%s, so it cannot be ruled out", assay_json_string(kill, "gate", ""), metric,
                               undefined ? "the figure is undefined here" : "the gate gives no figure of that name",
                               undefined ? "" : metric_hint(hint, row, metric));
    if (is(row, "verdict", "pass")) assay_json_set_string(row, "verdict", "inconclusive");
    assay_rule_add_reason(row, "reasons", undefined ? "kill_metric_undefined" : "kill_metric_unknown", text);
    free(text);
}

/* A gate may say that its figures are too weak for any decision: metric `decided` = false. */
static bool decides_nothing(const assay_json *row) {
    const assay_json *decided = assay_json_path(row, "metrics.gate.decided");
    return is(row, "printed", "not-measured") || is(row, "printed", "invalid") || (assay_json_kind(decided) == ASSAY_J_BOOL && !assay_json_truth(decided));
}

static void kill_row_by(assay_json *row, const assay_json *kill) {
    assay_json_set_string(row, "verdict", "kill");
    assay_rule_add_reason(row, "reasons", "kill_condition", assay_json_string(kill, "why", "a kill condition of the plan was met"));
}

static void apply_kill(assay_json *row, const assay_json *kill, assay_json *kills) {
    if (decides_nothing(row)) {
        assay_json_append(kills, kill_row(kill, "not-applied"));
        return;
    }
    found f = look_up(assay_json_get(row, "metrics"), kill);
    const char *claim = assay_json_string(kill, "claim", NULL);
    bool unknown = !f.any || (f.undefined && !f.fired);
    assay_json *k = assay_json_append(kills, kill_row(kill, unknown ? "unknown" : f.fired ? "fired" : "quiet"));
    assay_json_set(k, "value", f.value ? assay_json_clone(f.value) : assay_json_new_null());
    assay_json_set_string(k, "group", f.where);
    if (unknown && (!claim || !f.any)) unknown_metric(row, kill, f.any);
    if (f.fired && !unknown && !claim) kill_row_by(row, kill);
}

static bool rests_on(const assay_json *claim, const char *gate) {
    for (const assay_json *n = assay_json_first(assay_json_get(claim, "needs")); n; n = assay_json_next(n))
        if (assay_streq(assay_json_text(n), gate)) return true;
    return false;
}

/* The first fired kill among `kills` from `from` on, of that claim; NULL when there is none. */
static const assay_json *fired_for(const assay_json *kills, size_t from, const char *claim) {
    for (size_t i = from; i < assay_json_len(kills); i++)
        if (is(assay_json_at(kills, i), "state", "fired") && is(assay_json_at(kills, i), "claim", claim)) return assay_json_at(kills, i);
    return NULL;
}

/* A gate that does not decide by itself is decided where the plan's kills have refuted every claim that rests on it: nothing is left
 * for it to answer. */
static void settle_by_claims(const assay_json *plan, assay_json *row, const assay_json *kills, size_t from) {
    const assay_json *last = NULL;
    for (const assay_json *c = assay_json_first(assay_json_get(plan, "claims")); c; c = assay_json_next(c)) {
        if (!rests_on(c, assay_json_string(row, "gate", ""))) continue;
        last = fired_for(kills, from, assay_json_string(c, "id", ""));
        if (!last) return;
    }
    if (last) kill_row_by(row, last);
}

void assay_rule_kills(const assay_json *plan, assay_json *row, assay_json *kills) {
    const assay_json *list = assay_json_get(plan, "kills");
    size_t from = assay_json_len(kills);
    for (size_t i = 0; i < assay_json_len(list); i++)
        if (names_gate(assay_json_at(list, i), row)) apply_kill(row, assay_json_at(list, i), kills);
    if (assay_streq(assay_printed_verdict(row), "inconclusive")) settle_by_claims(plan, row, kills, from);
    set_printed(row);
}
