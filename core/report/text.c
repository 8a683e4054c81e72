/* The text view of a receipt: headline, gates, kills, claims, priors. Figures per fixture: text_figures.c. */
#include "report/text.h"
#include "report/text_parts.h"
#include "base/names.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *str(const assay_json *j, const char *key) { return assay_json_string(j, key, ""); }

const char *assay_text_color(const char *verdict, bool color) {
    if (!color) return "";
    if (assay_streq(verdict, "pass") || assay_streq(verdict, "confirmed")) return "\033[32m";
    if (assay_streq(verdict, "kill") || assay_streq(verdict, "refuted")) return "\033[31m";
    if (assay_streq(verdict, "invalid")) return "\033[35m";
    if (assay_streq(verdict, "inconclusive")) return "\033[33m";
    return "\033[2m";
}
static const char *plain(bool color) { return color ? "\033[0m" : ""; }

/* "simulated (C)": the weakest grade among the rules of the profile that the evidence rests on. */
static const char *origin_text(const assay_json *row, char out[80]) {
    const char *origin = str(row, "origin"), *grade = str(row, "grade");
    snprintf(out, 80, "%s%s%s%s", *origin ? origin : "-", *grade ? " (" : "", grade, *grade ? ")" : "");
    return out;
}

/* What was imitated, once per profile. */
static void simulated_lines(const assay_json *r, assay_buf *out) {
    for (const assay_json *id = assay_json_first(assay_json_get(r, "identity")); id; id = assay_json_next(id))
        if (*str(id, "profile.id"))
            assay_buf_printf(out, "simulated device %s, profile %.12s: a rehearsal on this machine, no evidence about a device; its seconds are invented\n",
                             str(id, "profile.id"), str(id, "profile.sha256"));
}

void assay_report_headline(const assay_json *r, bool color, assay_buf *out) {
    const char *verdict = str(r, "verdict");
    assay_buf_printf(out, "%s%s%s  standing %s", assay_text_color(verdict, color), verdict, plain(color), str(r, "standing"));
    if (assay_streq(str(r, "standing"), "rehearsal")) assay_buf_str(out, " (not the target's own evidence)");
    assay_buf_printf(out, "  plan %.12s%s\n", str(r, "plan_sha256"), assay_json_bool(r, "sealed", false) ? ", sealed" : ", not sealed: exploratory");
}

/* ---- gates */

/* The first reason, as "code: message", shortened to a line's rest. */
static void first_reason(const assay_json *row, assay_buf *out) {
    const assay_json *invalid = assay_json_get(assay_json_get(row, "validity"), "reasons"), *reasons = assay_json_get(row, "reasons");
    const assay_json *list = assay_json_len(invalid) ? invalid : reasons;
    if (assay_json_len(list) == 0) return;
    const assay_json *r = assay_json_at(list, 0);
    assay_buf_printf(out, "%s: %s", str(r, "code"), str(r, "message"));
    size_t all = assay_json_len(invalid) + assay_json_len(reasons);
    if (all > 1) assay_buf_printf(out, " (and %zu more)", all - 1);
}

/* Placement and latency: the figures, and whose they are. */
static void machine_figures(const assay_json *row, assay_buf *out) {
    static const struct { const char *group, *name, *label; } figures[] = {
        {"control", "p50", "control p50 ms"}, {"candidate", "p50", "candidate p50 ms"}, {"paired", "median_delta", "median delta ms"},
        {"pilot", "noise_floor_ms", "A/A interval ms wide"}, {"pilot", "mde_ms", "detectable ms"},
        {"plan", "computing_ops", "computing ops"}, {"plan", "on_ne", "on NE"}, {"plan", "unknown", "unknown"}};
    const assay_json *metrics = assay_json_get(row, "metrics");
    assay_buf line = {0};
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        const assay_json *v = assay_json_get(assay_json_get(metrics, figures[i].group), figures[i].name);
        if (assay_json_kind(v) == ASSAY_J_NUMBER) assay_buf_printf(&line, "%s%s %.4g", line.len ? ", " : "", figures[i].label, assay_json_value(v));
    }
    bool decided = !assay_streq(str(row, "printed"), "not-measured");
    const char *whose = assay_streq(str(row, "origin"), "simulated") ? "simulated device" : decided ? "measured" : "this machine, for information";
    if (line.len) assay_buf_printf(out, "%14s%s: %s\n", "", whose, line.data);
    assay_buf_free(&line);
}

static void all_reasons(const assay_json *row, int indent, assay_buf *out) {
    for (int part = 0; part < 2; part++) {
        const assay_json *list = part ? assay_json_get(row, "reasons") : assay_json_get(assay_json_get(row, "validity"), "reasons");
        for (size_t i = 0; i < assay_json_len(list); i++) {
            const assay_json *r = assay_json_at(list, i);
            const char *where = str(r, "where");
            assay_buf_printf(out, "%*s%s%s: %s%s%s\n", indent, "", part ? "" : "invalid: ", str(r, "code"), str(r, "message"), *where ? " at " : "", where);
        }
    }
}

static int widest(const assay_json *rows, const char *key, int least) {
    for (size_t i = 0; i < assay_json_len(rows); i++) {
        int n = (int)strlen(str(assay_json_at(rows, i), key));
        if (n > least) least = n;
    }
    return least;
}

static void gate_table(const assay_json *r, bool color, assay_buf *out) {
    const assay_json *rows = assay_json_get(r, "gates");
    const int gate = widest(rows, "gate", 13), arm = widest(rows, "arm", 14);
    assay_buf_printf(out, "\n%-*s %-*s %-13s %-18s %s\n", gate, "gate", arm, "arm", "verdict", "origin", "why");
    for (size_t i = 0; i < assay_json_len(rows); i++) {
        const assay_json *row = assay_json_at(rows, i);
        const char *printed = str(row, "printed");
        char origin[80];
        assay_buf_printf(out, "%-*s %-*s %s%-13s%s %-18s ", gate, str(row, "gate"), arm, str(row, "arm"), assay_text_color(printed, color), printed, plain(color),
                         origin_text(row, origin));
        size_t reasons = assay_json_len(assay_json_get(row, "reasons")) + assay_json_len(assay_json_get(assay_json_get(row, "validity"), "reasons"));
        if (reasons <= 1) first_reason(row, out);
        assay_buf_char(out, '\n');
        if (reasons > 1) all_reasons(row, gate + 1, out);
        if (assay_json_bool(row, "target_question", false)) machine_figures(row, out);
    }
}

/* ---- the rest */

static void invalid_reasons(const assay_json *r, assay_buf *out) {
    const assay_json *list = assay_json_get(assay_json_get(r, "validity"), "reasons");
    if (assay_json_len(list)) assay_buf_str(out, "\ninvalid, so nothing above may be believed:\n");
    for (size_t i = 0; i < assay_json_len(list); i++) {
        const assay_json *x = assay_json_at(list, i);
        assay_buf_printf(out, "  %s%s%s: %s\n", str(x, "where"), *str(x, "where") ? ": " : "", str(x, "code"), str(x, "message"));
    }
}

static void must_fail_lines(const assay_json *r, assay_buf *out) {
    const assay_json *list = assay_json_get(r, "must_fail");
    if (assay_json_len(list) == 0) assay_buf_printf(out, "\n%s\n", ASSAY_REPORT_NO_MUST_FAIL);
    for (size_t i = 0; i < assay_json_len(list); i++) {
        const assay_json *by = assay_json_get(assay_json_at(list, i), "rejected_by");
        assay_buf_printf(out, "%sarm %s must fail: %s", i ? "" : "\n", str(assay_json_at(list, i), "arm"), assay_json_len(by) ? "rejected by " : "not rejected by any gate judged");
        for (size_t k = 0; k < assay_json_len(by); k++) assay_buf_printf(out, "%s%s", k ? ", " : "", assay_json_text(assay_json_at(by, k)));
        assay_buf_char(out, '\n');
    }
}

static void kill_lines(const assay_json *r, assay_buf *out) {
    static const struct { const char *key, *sign; } rules[] = {{"at_most", "<="}, {"at_least", ">="}, {"equals", "="}};
    const assay_json *kills = assay_json_get(r, "kills");
    if (assay_json_len(kills)) assay_buf_str(out, "\nkill conditions\n");
    for (size_t i = 0; i < assay_json_len(kills); i++) {
        const assay_json *k = assay_json_at(kills, i);
        assay_buf_printf(out, "  %-11s %s.%s", str(k, "state"), str(k, "gate"), str(k, "metric"));
        for (size_t n = 0; n < sizeof rules / sizeof *rules; n++) {
            const assay_json *v = assay_json_get(k, rules[n].key);
            if (assay_json_kind(v) == ASSAY_J_NUMBER) assay_buf_printf(out, " %s %.6g", rules[n].sign, assay_json_value(v));
        }
        const assay_json *v = assay_json_get(k, "value");
        if (assay_json_kind(v) == ASSAY_J_NUMBER) assay_buf_printf(out, " (is %.6g)", assay_json_value(v));
        if (*str(k, "claim")) assay_buf_printf(out, " for claim \"%s\"", str(k, "claim"));
        assay_buf_printf(out, ": %s\n", str(k, "why"));
    }
}

static void claim_lines(const assay_json *r, bool color, assay_buf *out) {
    const assay_json *claims = assay_json_get(r, "claims");
    if (assay_json_len(claims)) assay_buf_str(out, "\nclaims\n");
    for (size_t i = 0; i < assay_json_len(claims); i++) {
        const assay_json *c = assay_json_at(claims, i);
        const char *fate = str(c, "fate");
        assay_buf_printf(out, "  %-10s %s%-10s%s level %lld (%s), %s: %s\n", str(c, "id"), assay_text_color(fate, color), fate, plain(color),
                         (long long)assay_json_int(c, "level", 0), str(c, "level_name"), str(c, "class"), str(c, "text"));
        if (*str(c, "why")) assay_buf_printf(out, "             %s\n", str(c, "why"));
    }
}

static void prior_lines(const assay_json *r, assay_buf *out) {
    const assay_json *priors = assay_json_get(r, "priors");
    if (assay_json_len(priors)) assay_buf_str(out, "\nbelieved before\n");
    for (size_t i = 0; i < assay_json_len(priors); i++) {
        const assay_json *p = assay_json_at(priors, i);
        assay_buf_printf(out, "  %s: %s (%s)\n", str(p, "status"), str(p, "text"), str(p, "bearing"));
    }
}

static void source_lines(const assay_json *r, assay_buf *out) {
    const assay_json *list = assay_json_get(r, "sources");
    if (assay_json_len(list)) assay_buf_str(out, "\nwhere the sources disagree\n");
    for (const assay_json *s = assay_json_first(list); s; s = assay_json_next(s)) {
        assay_buf_printf(out, "  %s %s: %s (%s), not ", str(s, "row"), str(s, "gate"), str(s, "chosen"), str(s, "source"));
        const assay_json *others = assay_json_get(s, "not_chosen");
        for (const assay_json *o = assay_json_first(others); o; o = assay_json_next(o))
            assay_buf_printf(out, "%s%s", o == assay_json_first(others) ? "" : ", ", str(o, "name"));
        assay_buf_char(out, '\n');
    }
}

static void missing_line(const assay_json *r, assay_buf *out) {
    size_t n = assay_json_len(assay_json_get(r, "missing"));
    if (n) assay_buf_printf(out, "\n%zu trials have not been collected: 'assay trials DIR' lists them\n", n);
}

void assay_report_text(const assay_json *r, bool color, assay_buf *out) {
    assay_buf_printf(out, "%s: ", str(r, "experiment"));
    assay_report_headline(r, color, out);
    simulated_lines(r, out);
    gate_table(r, color, out);
    assay_text_figures(r, out);
    must_fail_lines(r, out);
    assay_text_compares(NULL, &r, 1, color, out);
    kill_lines(r, out);
    claim_lines(r, color, out);
    prior_lines(r, out);
    source_lines(r, out);
    invalid_reasons(r, out);
    missing_line(r, out);
}
