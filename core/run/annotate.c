/* What the judge adds to a gate's row from the evidence that the gate asked for: the grades of the rules behind simulated
 * evidence, whether the arm gave the very output of an arm that must fail, and whether a negative arm died. */
#include "run/judge.h"
#include "base/names.h"
#include <stdlib.h>
#include <string.h>

static bool is(const assay_json *j, const char *key, const char *value) { return assay_streq(assay_json_string(j, key, ""), value); }

/* Documented, firsthand, community, inferred, refuted: from the strongest to the weakest. */
static int weakness(const char *grade) {
    const char *at = grade && *grade && !grade[1] ? strchr("DFCIX", *grade) : NULL;
    return at ? (int)(at - "DFCIX") : (int)strlen("DFCIX");
}

void assay_rule_add_grades(assay_json *row, const assay_json *asked) {
    assay_json *all = NULL;
    const char *weakest = NULL;
    for (const assay_json *a = assay_json_first(asked); a; a = assay_json_next(a))
        for (const assay_json *r = assay_json_first(assay_json_get(a, "rules")); r; r = assay_json_next(r)) {
            if (!all) all = assay_json_set(row, "rules", assay_json_object());
            assay_json_set(all, assay_json_key(r), assay_json_clone(r));
            if (!weakest || weakness(assay_json_text(r)) > weakness(weakest)) weakest = assay_json_text(r);
        }
    if (weakest) assay_json_set_string(row, "grade", weakest);
}

static bool same_question(const assay_json *a, const assay_json *b) {
    return is(a, "kind", "output") && is(b, "kind", "output") && assay_streq(assay_json_string(a, "fixture", ""), assay_json_string(b, "fixture", "")) &&
           assay_streq(assay_json_string(a, "perturb", ""), assay_json_string(b, "perturb", ""));
}

void assay_rule_add_twins(assay_json *row, const assay_json *asked) {
    if (!is(row, "verdict", "kill")) return;
    for (const assay_json *c = assay_json_first(asked); c; c = assay_json_next(c))
        for (const assay_json *m = assay_json_first(asked); m; m = assay_json_next(m)) {
            if (!is(c, "role", "candidate") || !is(m, "role", "must_fail") || !same_question(c, m)) continue;
            const char *sha = assay_json_string(c, "sha256", NULL), *fixture = assay_json_string(c, "fixture", "");
            if (!sha || !is(m, "sha256", sha)) continue;
            char *text = assay_xprintf("arm \"%s\" is indistinguishable from the dead path: on '%s' its output is bit for bit that of must_fail arm \"%s\"",
                                       assay_json_string(c, "arm", ""), fixture, assay_json_string(m, "arm", ""));
            assay_rule_add_reason(row, "reasons", "same_as_must_fail", text);
            free(text);
        }
}

/* A negative arm is expected right: one that died (a crash of the CPU's own attention is known) leaves a pass without its control. */
void assay_rule_doubt_negatives(assay_json *row, const assay_json *asked) {
    if (!is(row, "verdict", "pass")) return;
    for (const assay_json *a = assay_json_first(asked); a; a = assay_json_next(a)) {
        if (!is(a, "role", "negative") || !is(a, "state", "failed")) continue;
        char *text = assay_xprintf("negative arm \"%s\" left no output on '%s' (%s): whether the graph is right elsewhere is not known", assay_json_string(a, "arm", ""),
                                   assay_json_string(a, "fixture", ""), assay_json_string(a, "why", "failed"));
        assay_json_set_string(row, "verdict", "inconclusive");
        assay_rule_add_reason(row, "reasons", "negative_failed", text);
        free(text);
    }
}
