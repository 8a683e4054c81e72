/* The judge's rules about the whole run: validity, verdict, standing, and the fate and level of each claim. */
#include "run/judge.h"
#include "base/names.h"
#include <stdlib.h>
#include <string.h>

static bool is(const assay_json *j, const char *key, const char *value) { return assay_streq(assay_json_string(j, key, ""), value); }

/* ---- validity */

static void add(assay_json *reasons, const char *code, const char *where, const char *message) {
    assay_json *r = assay_json_append(reasons, assay_json_object());
    assay_json_set_string(r, "code", code);
    assay_json_set_string(r, "where", where);
    assay_json_set_string(r, "message", message);
}

static void add_invalid_gates(const assay_json *rows, assay_json *reasons) {
    for (size_t i = 0; i < assay_json_len(rows); i++) {
        const assay_json *row = assay_json_at(rows, i), *list = assay_json_get(assay_json_get(row, "validity"), "reasons");
        if (!is(row, "printed", "invalid")) continue;
        for (size_t k = 0; k < assay_json_len(list); k++) {
            const assay_json *r = assay_json_at(list, k);
            add(reasons, assay_json_string(r, "code", ""), assay_json_string(row, "gate", ""), assay_json_string(r, "message", ""));
        }
    }
}

static bool has_code(const assay_json *reasons, const char *code) {
    for (size_t i = 0; i < assay_json_len(reasons); i++)
        if (is(assay_json_at(reasons, i), "code", code)) return true;
    return false;
}

/* Does the gate say this code of an arm, or of a fixture? `where` is "ARM", "FIXTURE" or "FIXTURE ARM". */
static bool says_of(const assay_json *reasons, const char *code, const char *fixture, const char *arm) {
    char *both = assay_xprintf("%s%s%s", fixture, *fixture && *arm ? " " : "", arm);
    bool found = false;
    for (const assay_json *r = assay_json_first(reasons); r && !found; r = assay_json_next(r)) found = is(r, "code", code) && is(r, "where", both);
    free(both);
    return found;
}

typedef enum tried { NOT_GIVEN, UNTRIED, LIVES, REJECTED } tried;

/* What became of a must_fail arm in one gate. A gate that was given its tensor has rejected it, unless it says that it lacks power, that
 * it let the arm live, or that it came to a verdict without trying. Rejected on one fixture is rejected: a fault need not show on all. */
static tried outcome_of(const assay_json *row, const assay_json *asked, const char *arm) {
    const assay_json *reasons = assay_json_get(row, "reasons");
    tried best = NOT_GIVEN;
    if (is(row, "printed", "not-measured")) return NOT_GIVEN;
    for (const assay_json *a = assay_json_first(asked); a; a = assay_json_next(a)) {
        const char *fixture = assay_json_string(a, "fixture", "");
        if (!is(a, "role", "must_fail") || !is(a, "arm", arm) || !is(a, "state", "ok")) continue;
        tried here = REJECTED;
        if (says_of(reasons, "must_fail_not_tried", fixture, "")) here = UNTRIED;
        else if (says_of(reasons, "must_fail_alive", fixture, arm) || says_of(reasons, "must_fail_alive", "", arm)) here = LIVES;
        if (here > best) best = here;
    }
    bool powerless = has_code(assay_json_get(assay_json_get(row, "validity"), "reasons"), "gate_has_no_power");
    return powerless && best == REJECTED ? LIVES : best;
}

assay_json *assay_rule_must_fail(const assay_json *plan, const assay_json *rows, const assay_json *asked) {
    assay_json *out = assay_json_array();
    const assay_json *arms = assay_json_get(plan, "arms");
    for (size_t i = 0; i < assay_json_len(arms); i++) {
        const char *name = assay_json_string(assay_json_at(arms, i), "name", "");
        if (!is(assay_json_at(arms, i), "role", "must_fail")) continue;
        assay_json *row = assay_json_append(out, assay_json_object()), *by = assay_json_set(row, "rejected_by", assay_json_array());
        assay_json_set_string(row, "arm", name);
        for (size_t k = 0; k < assay_json_len(rows); k++)
            if (outcome_of(assay_json_at(rows, k), assay_json_at(asked, k), name) == REJECTED)
                assay_json_append(by, assay_json_new_string(assay_json_string(assay_json_at(rows, k), "gate", "")));
    }
    return out;
}

/* A gate that was given the arm decided before it came to try it: not seen is not there only where someone looked. */
static bool is_untried(const assay_json *rows, const assay_json *asked, const char *arm) {
    for (size_t k = 0; k < assay_json_len(rows); k++)
        if (!is(assay_json_at(rows, k), "printed", "pass") && outcome_of(assay_json_at(rows, k), assay_json_at(asked, k), arm) == UNTRIED) return true;
    return false;
}

assay_json *assay_rule_validity(const assay_json *plan, const assay_json *rows, const assay_json *asked, bool complete) {
    assay_json *reasons = assay_json_array();
    bool compared = false;
    add_invalid_gates(rows, reasons);
    if (!complete) return reasons;
    for (size_t i = 0; i < assay_json_len(rows); i++) compared |= !is(assay_json_at(rows, i), "printed", "not-measured");
    if (!compared) add(reasons, "nothing_compared", "", "no gate compared anything: there is nothing to believe");
    assay_json *must_fail = assay_rule_must_fail(plan, rows, asked);
    for (size_t i = 0; i < assay_json_len(must_fail); i++) {
        const char *name = assay_json_string(assay_json_at(must_fail, i), "arm", "");
        if (assay_json_len(assay_json_get(assay_json_at(must_fail, i), "rejected_by")) || is_untried(rows, asked, name)) continue;
        char *text = assay_xprintf("arm \"%s\" must be rejected and no gate of the run rejected it: add it to a gate that sees outputs", name);
        add(reasons, "must_fail_not_rejected", name, text);
        free(text);
    }
    assay_json_free(must_fail);
    return reasons;
}

/* ---- verdict and standing */

const char *assay_rule_run_verdict(const assay_json *rows, const assay_json *compares, const assay_json *invalid_reasons) {
    bool kill = false, open = false, pass = false;
    if (assay_json_len(invalid_reasons)) return "invalid";
    for (int list = 0; list < 2; list++) {
        const assay_json *l = list ? compares : rows;
        for (size_t i = 0; i < assay_json_len(l); i++) {
            const assay_json *row = assay_json_at(l, i);
            kill |= is(row, "printed", "kill");
            open |= is(row, "printed", "inconclusive") || has_code(assay_json_get(row, "reasons"), "evidence_missing");
            pass |= is(row, "printed", "pass");
        }
    }
    return kill ? "kill" : open || !pass ? "inconclusive" : "pass";
}

static bool is_own(const assay_json *plan, const assay_json *a) {
    return is(a, "origin", "device") || is(a, "origin", "imported") || (is(a, "origin", "reference") && assay_plan_target_is_reference(plan));
}

const char *assay_rule_standing(const assay_json *plan, const assay_json *rows, const assay_json *asked) {
    bool any = false;
    if (assay_json_kind(assay_json_get(plan, "target")) != ASSAY_J_OBJECT) return "rehearsal";
    for (size_t i = 0; i < assay_json_len(rows); i++) {
        const assay_json *row = assay_json_at(rows, i), *list = assay_json_at(asked, i), *reasons = assay_json_get(row, "reasons");
        if (has_code(reasons, "not_the_target") || has_code(reasons, "no_device_evidence") || has_code(reasons, "evidence_missing")) return "rehearsal";
        for (size_t k = 0; k < assay_json_len(list); k++) {
            const assay_json *a = assay_json_at(list, k);
            if (is(a, "role", "reference") || is(a, "kind", "program") || !is(a, "state", "ok")) continue;
            any = true;
            if (!is_own(plan, a)) return "rehearsal";
        }
    }
    return any ? "target" : "rehearsal";
}

/* ---- claims */

static bool is_needed(const assay_json *claim, const char *gate) {
    const assay_json *needs = assay_json_get(claim, "needs");
    for (size_t i = 0; i < assay_json_len(needs); i++)
        if (assay_streq(assay_json_text(assay_json_at(needs, i)), gate)) return true;
    return false;
}

static bool killed_by_name(const assay_json *kills, const char *claim, const char *state) {
    for (size_t i = 0; i < assay_json_len(kills); i++)
        if (is(assay_json_at(kills, i), "claim", claim) && is(assay_json_at(kills, i), "state", state)) return true;
    return false;
}

static const char *fate_of(const assay_json *claim, const assay_json *rows, const assay_json *kills, bool valid) {
    const char *id = assay_json_string(claim, "id", "");
    const assay_json *needs = assay_json_get(claim, "needs");
    bool all_pass = assay_json_len(needs) > 0;
    if (!valid) return "undecided";
    if (killed_by_name(kills, id, "fired")) return "refuted";
    for (size_t k = 0; k < assay_json_len(needs); k++) {
        bool found = false;
        for (size_t i = 0; i < assay_json_len(rows); i++) {
            const assay_json *row = assay_json_at(rows, i);
            if (!is(row, "gate", assay_json_text(assay_json_at(needs, k)))) continue;
            found = true;
            if (is(row, "printed", "kill")) return "refuted";
            all_pass &= is(row, "printed", "pass");
        }
        all_pass &= found;
    }
    return all_pass && !killed_by_name(kills, id, "unknown") ? "confirmed" : "undecided";
}

/* Whether a passed gate that the claim needs saw evidence of a kind: a plan of placement, a log of power or a rule of authoring is no
 * measurement of time, however the claim's text reads (M79, M253). */
static bool saw_kind(const assay_json *claim, const assay_json *rows, const assay_json *asked, const char *kind) {
    for (size_t i = 0; i < assay_json_len(rows); i++) {
        const assay_json *row = assay_json_at(rows, i), *list = assay_json_at(asked, i);
        if (!is_needed(claim, assay_json_string(row, "gate", "")) || !is(row, "printed", "pass")) continue;
        for (const assay_json *a = assay_json_first(list); a; a = assay_json_next(a))
            if (is(a, "kind", kind) && is(a, "state", "ok")) return true;
    }
    return false;
}

static void add_fate(const assay_json *claim, const assay_json *rows, const assay_json *asked, const char *fate, assay_json *row) {
    const char *about = assay_json_string(claim, "about", NULL);
    bool other_kind = about && assay_streq(fate, "confirmed") && !saw_kind(claim, rows, asked, about);
    assay_json_set_string(row, "fate", other_kind ? "undecided" : fate);
    if (about) assay_json_set_string(row, "about", about);
    if (!other_kind) return;
    char *why = assay_xprintf("it is about %s, and no gate that it needs saw evidence of that kind", about);
    assay_json_set_string(row, "why", why);
    free(why);
}

/* The six levels: 1 source, 2 program, 3 compiled, 4 static placement, 5 runtime, 6 correctness. Digests of files carry 1 and 2;
 * 4 and 6 need device evidence from every arm item of a passed gate. 3 and 5 are for `promote`, which reads more than a receipt. */
static int level_of(const assay_json *claim, const assay_json *rows, const assay_json *asked) {
    int level = 2;
    for (size_t i = 0; i < assay_json_len(rows); i++) {
        const assay_json *row = assay_json_at(rows, i), *list = assay_json_at(asked, i);
        if (!is_needed(claim, assay_json_string(row, "gate", "")) || !is(row, "printed", "pass")) continue;
        bool output = false, plan = false, device = true;
        for (size_t k = 0; k < assay_json_len(list); k++) {
            const assay_json *a = assay_json_at(list, k);
            if (is(a, "role", "reference") || is(a, "kind", "program") || !is(a, "state", "ok")) continue;
            output |= is(a, "kind", "output");
            plan |= is(a, "kind", "plan");
            device &= is(a, "origin", "device");
        }
        int here = device && output ? 6 : device && plan ? 4 : 2;
        if (here > level) level = here;
    }
    return level;
}

static bool is_trained(const char *provenance) { return assay_streq(provenance, "trained") || assay_streq(provenance, "recorded"); }

/* Random weights and stand-in activations cap a claim at "probe": what holds for them may not hold for the model. */
static const char *class_of(const assay_json *plan) {
    const assay_json *weights = assay_json_get(plan, "weights"), *fixtures = assay_json_get(plan, "fixtures");
    if (assay_json_kind(weights) == ASSAY_J_OBJECT && !is_trained(assay_json_string(weights, "provenance", ""))) return "probe";
    for (size_t i = 0; i < assay_json_len(fixtures); i++)
        if (is_trained(assay_json_string(assay_json_at(fixtures, i), "provenance", ""))) return "model";
    return "probe";
}

assay_json *assay_rule_claims(const assay_json *plan, const assay_json *rows, const assay_json *asked, const assay_json *kills, bool valid) {
    static const char *const level_names[] = {"", "source", "program", "compiled", "static placement", "runtime", "correctness"};
    assay_json *out = assay_json_array();
    const assay_json *claims = assay_json_get(plan, "claims");
    for (size_t i = 0; i < assay_json_len(claims); i++) {
        const assay_json *c = assay_json_at(claims, i);
        assay_json *row = assay_json_append(out, assay_json_object());
        int level = level_of(c, rows, asked);
        assay_json_set_string(row, "id", assay_json_string(c, "id", ""));
        assay_json_set_string(row, "text", assay_json_string(c, "text", ""));
        assay_json_set(row, "needs", assay_json_clone(assay_json_get(c, "needs")));
        add_fate(c, rows, asked, fate_of(c, rows, kills, valid), row);
        assay_json_set_int(row, "level", level);
        assay_json_set_string(row, "level_name", level_names[level]);
        assay_json_set_string(row, "class", class_of(plan));
    }
    return out;
}
