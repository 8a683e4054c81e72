/* One receipt, one cell: was it right, and right where it was claimed to run? Right output in the wrong place decides nothing
 * about the place (M52); a cell that does not say where it was measured qualifies nothing (M51). */
#include "qualification.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

assay_verdict qualification_worse(assay_verdict a, assay_verdict b) {
    static const int rank[] = {[ASSAY_PASS] = 1, [ASSAY_NOT_MEASURED] = 2, [ASSAY_INCONCLUSIVE] = 3, [ASSAY_KILL] = 4};
    return rank[b] > rank[a] ? b : a;
}

const char *qualification_name(const cell *c) {
    static const char *const names[] = {[ASSAY_PASS] = "pass",
                                        [ASSAY_NOT_MEASURED] = "not-measured",
                                        [ASSAY_INCONCLUSIVE] = "inconclusive",
                                        [ASSAY_KILL] = "kill"};
    return c->invalid ? "invalid" : names[c->verdict];
}

static const cJSON *get(const cJSON *j, const char *key) { return cJSON_GetObjectItemCaseSensitive(j, key); }

static const char *text(const cJSON *j, const char *key) {
    const char *s = cJSON_GetStringValue(get(j, key));
    return s ? s : "";
}

static double number(const cJSON *j, const char *key) {
    const cJSON *v = get(j, key);
    return cJSON_IsNumber(v) ? v->valuedouble : NAN;
}

typedef struct verdict_of {
    cell *c;
    const char *where;
    const assay_finding *f;
} verdict_of;

static void say(const verdict_of *o, assay_verdict v, const char *code, const char *message) {
    o->c->verdict = qualification_worse(o->c->verdict, v);
    o->f->reason(o->f, code, message, o->where);
}

/* Every cell must say what was measured where, or it could be read as a pass of any build. */
static void check_key(const verdict_of *o) {
    char message[160];
    const char *lacks = !*o->c->package ? "package digest" : !*o->c->build ? "OS build" : !*o->c->chip ? "chip" : NULL;
    if (!lacks) return;
    snprintf(message, sizeof message, "the receipt has no %s: it qualifies nothing; record it with the evidence", lacks);
    say(o, ASSAY_INCONCLUSIVE, "receipt_incomplete", message);
}

/* ---- recorded receipts */

/* A figure that is absent, a text, or outside of what it can be was not measured: it may kill, never pass. */
static bool is_measured(const cJSON *parity, double cosine) {
    double nonfinite = number(parity, "nonfinite"), zeros = number(parity, "zero_fraction");
    return cosine <= 1.0 + 1e-9 && nonfinite >= 0.0 && zeros >= 0.0 && zeros <= 1.0;
}

static void judge_parity(const settings *s, const cJSON *parity, const verdict_of *o) {
    char message[160];
    double cosine = number(parity, "cosine");
    if (!cJSON_IsObject(parity)) {
        say(o, ASSAY_INCONCLUSIVE, "no_parity",
            "the receipt holds no comparison of the output: placement never implies correctness");
    } else if (number(parity, "nonfinite") > 0.0) {
        say(o, ASSAY_KILL, "nonfinite_output", "NaN or infinity in the output");
    } else if (number(parity, "zero_fraction") >= 1.0) {
        say(o, ASSAY_KILL, "all_zero_output", "every element of the output is 0");
    } else if (!(cosine >= s->cosine_min)) {
        snprintf(message, sizeof message, "cosine %.9g, at least %.9g is asked", cosine, s->cosine_min);
        say(o, ASSAY_KILL, "cosine_below_min", message);
    } else if (!is_measured(parity, cosine)) {
        say(o, ASSAY_INCONCLUSIVE, "parity_incomplete",
            "the comparison needs cosine (at most 1), nonfinite and zero_fraction (0 to 1) as numbers; record it again");
    }
}

static void judge_placement(const settings *s, const cJSON *placement, const verdict_of *o) {
    char code[64], message[200], lower[8] = "";
    for (size_t k = 0; k + 1 < sizeof lower && s->device[k]; k++) lower[k] = (char)(s->device[k] | 0x20);
    for (uint32_t i = 0; i < s->n_ops; i++) {
        const char *device = text(placement, s->ops[i]);
        if (!*device || !strcmp(device, "unknown")) {
            snprintf(message, sizeof message, "the receipt does not say where %.100s is placed", s->ops[i]);
            say(o, ASSAY_INCONCLUSIVE, "no_device_usage", message);
        } else if (strcmp(device, s->device) != 0) {
            snprintf(code, sizeof code, "op_of_interest_not_on_%s", lower);
            snprintf(message, sizeof message, "%.100s is on %.20s: whatever is right there says nothing about %.8s", s->ops[i],
                     device, s->device);
            say(o, ASSAY_INCONCLUSIVE, code, message);
        }
    }
}

static void judge_recorded(const settings *s, const cJSON *receipt, const verdict_of *o) {
    const cJSON *host = get(receipt, "host");
    cell *c = o->c;
    c->package = text(receipt, "package_digest");
    c->compiled = text(receipt, "compiled_digest");
    c->build = text(host, "build");
    c->chip = text(host, "chip");
    check_key(o);
    judge_parity(s, get(receipt, "parity"), o);
    judge_placement(s, get(receipt, "placement"), o);
}

/* ---- receipts of assay */

static const char *candidate_digest(const cJSON *receipt) {
    const cJSON *arm;
    cJSON_ArrayForEach(arm, get(receipt, "arms")) if (!strcmp(text(arm, "role"), "candidate")) return text(arm, "tree");
    return "";
}

/* The reasons of the gates that were not passed come along. */
static void copy_reasons(const cJSON *receipt, const verdict_of *o) {
    const cJSON *gate, *r;
    cJSON_ArrayForEach(gate, get(receipt, "gates")) {
        if (!strcmp(text(gate, "printed"), "pass")) continue;
        cJSON_ArrayForEach(r, get(gate, "reasons")) o->f->reason(o->f, text(r, "code"), text(r, "message"), o->where);
    }
}

/* Whether the rows of gates or compares carry a pass: one of them passed, none says otherwise. */
static bool rows_pass(const cJSON *rows, bool *any) {
    const cJSON *row;
    cJSON_ArrayForEach(row, rows) {
        const char *printed = text(row, "printed");
        if (!strcmp(printed, "pass")) *any = true;
        else if (strcmp(printed, "not-measured") != 0) return false;
    }
    return true;
}

/* A receipt that was edited, or cut: its verdict does not follow from its own rows. */
static bool contradicts_itself(const cJSON *receipt) {
    bool any = false;
    if (strcmp(text(receipt, "verdict"), "pass") != 0) return false;
    bool pass = rows_pass(get(receipt, "gates"), &any) && rows_pass(get(receipt, "compares"), &any);
    return !pass || !any || cJSON_GetArraySize(get(get(receipt, "validity"), "reasons")) > 0;
}

static void judge_own(const cJSON *receipt, const verdict_of *o) {
    const cJSON *identity = cJSON_GetArrayItem(get(receipt, "identity"), 0);
    const char *verdict = text(receipt, "verdict");
    cell *c = o->c;
    c->package = candidate_digest(receipt);
    c->compiled = text(identity, "compiled.sha256");
    c->build = text(identity, "os.build");
    c->chip = text(identity, "chip");
    bool edited = contradicts_itself(receipt);
    c->invalid = edited || !strcmp(verdict, "invalid");
    c->verdict = !strcmp(verdict, "kill") ? ASSAY_KILL : !strcmp(verdict, "pass") ? ASSAY_PASS : ASSAY_INCONCLUSIVE;
    copy_reasons(receipt, o);
    if (edited)
        o->f->invalid(o->f, "receipt_contradicts_itself",
                      "it says pass, and its gates do not: it was edited or cut; judge the evidence again", o->where);
    else if (c->invalid)
        o->f->invalid(o->f, "receipt_invalid", "the run behind this receipt is invalid", o->where);
    if (strcmp(text(receipt, "standing"), "target") != 0 && c->verdict == ASSAY_PASS)
        say(o, ASSAY_INCONCLUSIVE, "not_the_target", "a rehearsal: none of this was shown on the target");
    check_key(o);
}

cell qualification_cell(const settings *s, const cJSON *receipt, const char *where, const assay_finding *f) {
    cell c = {.package = "", .compiled = "", .build = "", .chip = "", .verdict = ASSAY_PASS};
    verdict_of o = {&c, where, f};
    if (!strcmp(text(receipt, "schema"), "assay-receipt/1"))
        judge_own(receipt, &o);
    else if (cJSON_IsObject(receipt) && !get(receipt, "schema"))
        judge_recorded(s, receipt, &o);
    else {
        c.invalid = true;
        f->invalid(f, "not_a_receipt", "neither assay-receipt/1 nor a recorded receipt", where);
    }
    return c;
}
