/* Promotion: a pure function of one receipt. What is refused is said with a code; what is promoted is said in words that the
 * level allows, never in more: random weights (M54) and private frameworks (M78) cap it. */
#include "run/promote.h"
#include "base/names.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SOURCE = 1, PROGRAM, COMPILED, PLACEMENT, RUNTIME, CORRECTNESS, LEVELS };
static const char *const level_names[LEVELS] = {"",        "source",     "program", "compiled", "static placement",
                                                "runtime", "correctness"};

static const char *str(const assay_json *j, const char *key) { return assay_json_string(j, key, ""); }
static bool is(const assay_json *j, const char *key, const char *value) { return assay_streq(str(j, key), value); }

static void refuse(assay_json *claim, const char *code, const char *message) {
    assay_json *r = assay_json_append(assay_json_get(claim, "refused"), assay_json_object());
    assay_json_set_string(r, "code", code);
    assay_json_set_string(r, "message", message);
}

static const assay_json *identity_of(const assay_json *receipt) { return assay_json_at(assay_json_get(receipt, "identity"), 0); }

/* ---- what the claim's gates have seen */

typedef struct seen {
    bool output, plan, record, own, rehearsed, passed;
} seen;

static bool is_needed(const assay_json *claim, const char *gate) {
    for (const assay_json *n = assay_json_first(assay_json_get(claim, "needs")); n; n = assay_json_next(n))
        if (assay_streq(assay_json_text(n), gate)) return true;
    return false;
}

/* Programs are files, the same on every machine; the reference may be computed anywhere. Everything else has to be the target's
 * own. */
static void see_item(const assay_json *e, bool runtime, seen *s) {
    if (is(e, "kind", "program") || is(e, "role", "reference")) return;
    s->output |= is(e, "kind", "output");
    s->plan |= is(e, "kind", "plan");
    s->record |= runtime && is(e, "kind", "record"); /* no other gate ties records to the time of the predictions */
    if (is(e, "origin", "device") || is(e, "origin", "imported"))
        s->own = true;
    else
        s->rehearsed = true;
}

static seen see(const assay_json *receipt, const assay_json *claim) {
    seen s = {0};
    for (const assay_json *g = assay_json_first(assay_json_get(receipt, "gates")); g; g = assay_json_next(g)) {
        if (!is_needed(claim, str(g, "gate")) || !is(g, "printed", "pass")) continue;
        s.passed = true;
        for (const assay_json *e = assay_json_first(assay_json_get(g, "evidence")); e; e = assay_json_next(e))
            see_item(e, is(g, "gate", "corroboration"), &s);
    }
    return s;
}

static const char *candidate_digest(const assay_json *receipt) {
    for (const assay_json *a = assay_json_first(assay_json_get(receipt, "arms")); a; a = assay_json_next(a))
        if (is(a, "role", "candidate")) return str(a, "tree");
    return "";
}

static int hold_levels(const assay_json *receipt, const seen *s, assay_json *row) {
    const assay_json *id = identity_of(receipt);
    bool target = s->own && !s->rehearsed, compiled = target && *str(id, "compiled.sha256") && *str(id, "os.build");
    const bool held[LEVELS] = {[SOURCE] = assay_json_len(assay_json_get(receipt, "scripts")) > 0,
                               [PROGRAM] = *candidate_digest(receipt) != 0,
                               [COMPILED] = compiled,
                               [PLACEMENT] = target && s->plan,
                               [RUNTIME] = target && s->record,
                               [CORRECTNESS] = target && s->output};
    assay_json *levels = assay_json_set(row, "levels", assay_json_array());
    int highest = 0;
    for (int l = SOURCE; l < LEVELS; l++) {
        assay_json *x = assay_json_append(levels, assay_json_object());
        assay_json_set_int(x, "level", l);
        assay_json_set_string(x, "name", level_names[l]);
        assay_json_set_bool(x, "held", held[l]);
        if (held[l]) highest = l;
    }
    return highest;
}

/* ---- refusals */

/* "27.0.1" against "27.0": part by part; a text that is no version is below every floor. */
static bool is_below(const char *version, const char *floor) {
    char *v = NULL, *f = NULL;
    while (*floor) {
        long a = strtol(version, &v, 10), b = strtol(floor, &f, 10);
        if (v == version || a < b) return true;
        if (a > b) return false;
        version = *v == '.' ? v + 1 : v;
        floor = *f == '.' ? f + 1 : f;
        if (*floor && !*version) version = "0";
    }
    return false;
}

static void check_machine(const assay_json *receipt, const assay_json *frameworks, assay_json *row) {
    const assay_json *id = identity_of(receipt),
                     *f = assay_json_get(frameworks, str(assay_json_get(receipt, "target"), "framework"));
    const char *version = str(id, "os.version"), *floor = str(f, "os_floor"), *model = str(id, "hardware.model");
    char message[240];
    if (!*str(id, "os.build") || !*str(id, "chip"))
        refuse(row, "machine_unknown", "the evidence names no OS build or no chip: it holds for no machine");
    if (*floor && is_below(version, floor)) {
        snprintf(message, sizeof message, "recorded on version \"%.40s\", the framework begins with %.20s", version, floor);
        refuse(row, "below_version_floor", message);
    }
    for (const assay_json *e = assay_json_first(assay_json_get(f, "emulators")); e; e = assay_json_next(e))
        if (strstr(model, assay_json_text(e))) {
            snprintf(message, sizeof message, "\"%.60s\" is an emulated device: it has no such unit", model);
            refuse(row, "emulated_device", message);
        }
    if (assay_json_bool(id, "private_api", false))
        refuse(row, "private_interface", "the evidence was made through private interfaces of the vendor: it is research, no ground to build on");
    if (assay_json_len(assay_json_get(receipt, "identity")) > 1)
        refuse(row, "several_machines", "the evidence comes from several machines or builds: judge each host by itself");
}

/* A speed-up whose numbers drift (a parity that did not pass) needs more than its samples: a transcript gate that passed under the
 * id of a policy (M75). */
static void check_drift(const assay_json *receipt, const assay_json *claim, assay_json *row) {
    bool drifts = false, allowed = false;
    for (const assay_json *g = assay_json_first(assay_json_get(receipt, "gates")); g; g = assay_json_next(g)) {
        drifts |= is(g, "gate", "parity") && !is(g, "printed", "pass");
        allowed |= is(g, "gate", "transcript") && is(g, "printed", "pass") && *assay_json_string(assay_json_get(g, "params"), "policy", "");
    }
    if (is_needed(claim, "latency") && drifts && !allowed)
        refuse(row, "speed_with_drift",
               "parity did not pass: a faster arm that drifts needs a gate transcript that passes, with the id of a policy");
}

static void check_claim(const assay_json *receipt, const assay_json *frameworks, const seen *s, assay_json *row) {
    bool target = s->own || s->rehearsed; /* more than program files was looked at */
    if (!assay_json_bool(assay_json_get(receipt, "validity"), "valid", false)) refuse(row, "invalid_run", "the run is invalid");
    if (!assay_json_bool(receipt, "sealed", false))
        refuse(row, "exploratory",
               "the plan was not sealed before it was measured: its thresholds could have been chosen afterwards");
    if (!is(row, "fate", "confirmed")) refuse(row, "not_confirmed", "the claim is not confirmed");
    if (s->rehearsed && s->own)
        refuse(row, "mixed_origins",
               "a part of the evidence is the target's own, a part is simulated or from the reference backend");
    else if (s->rehearsed)
        refuse(row, "rehearsal", "the evidence is simulated or from the reference backend: nothing was shown on the target");
    if (target && !s->rehearsed) check_machine(receipt, frameworks, row);
}

/* ---- words */

static char *statement_of(const assay_json *receipt, const assay_json *claim, int level) {
    const assay_json *id = identity_of(receipt);
    const char *probe = is(claim, "class", "probe") ? " As a probe: weights or activations are stand-ins." : "",
               *text = str(claim, "text");
    const char *build = str(id, "os.build"), *chip = str(id, "chip");
    switch (level) {
    case CORRECTNESS:
        return assay_xprintf("On %s, build %s, against the reference: %s. Nothing is said of another build or chip.%s", chip,
                             build, text, probe);
    case RUNTIME:
        return assay_xprintf("On %s, build %s, corroborated while it ran: %s. Whether the output is right is not said.%s", chip,
                             build, text, probe);
    case PLACEMENT:
        return assay_xprintf("By the compute plan of build %s on %s: %s. A plan is an anticipation, no execution, and says "
                             "nothing of correctness.%s",
                             build, chip, text, probe);
    case COMPILED:
        return assay_xprintf("As compiled by build %s: %s. Where it runs, and whether it is right there, is not said.%s", build,
                             text, probe);
    default:
        return assay_xprintf("In the program file %.12s: %s. Where it runs, and whether it is right there, is not said.%s",
                             candidate_digest(receipt), text, probe);
    }
}

/* ---- all claims */

static bool add_claim(const assay_json *receipt, const assay_json *frameworks, const assay_json *claim, assay_json *out) {
    static const char *const keys[] = {"id", "text", "fate", "class", NULL};
    assay_json *row = assay_json_append(out, assay_json_object());
    for (const char *const *k = keys; *k; k++) assay_json_set_string(row, *k, str(claim, *k));
    assay_json_set(row, "refused", assay_json_array());
    seen s = see(receipt, claim);
    int level = hold_levels(receipt, &s, row);
    check_claim(receipt, frameworks, &s, row);
    check_drift(receipt, claim, row);
    bool promoted = level >= PROGRAM && assay_json_len(assay_json_get(row, "refused")) == 0;
    char *words = promoted ? statement_of(receipt, claim, level) : NULL;
    assay_json_set_int(row, "level", level);
    assay_json_set_string(row, "level_name", level_names[level]);
    assay_json_set_bool(row, "promoted", promoted);
    assay_json_set_string(row, "statement", words);
    free(words);
    return promoted;
}

assay_json *assay_promote(const assay_json *receipt, const assay_json *frameworks) {
    assay_json *p = assay_json_object(), *claims = assay_json_set(p, "claims", assay_json_array());
    int64_t promoted = 0, refused = 0;
    for (const assay_json *c = assay_json_first(assay_json_get(receipt, "claims")); c; c = assay_json_next(c))
        if (add_claim(receipt, frameworks, c, claims))
            promoted++;
        else
            refused++;
    assay_json_set_string(p, "schema", "assay-promotion/1");
    assay_json_set_string(p, "experiment", str(receipt, "experiment"));
    assay_json_set_string(p, "plan_sha256", str(receipt, "plan_sha256"));
    assay_json_set_string(p, "build", str(identity_of(receipt), "os.build"));
    assay_json_set_string(p, "chip", str(identity_of(receipt), "chip"));
    assay_json_set_int(p, "promoted", promoted);
    assay_json_set_int(p, "refused", refused);
    return p;
}
