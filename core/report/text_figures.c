/* The table of similarity figures per fixture: control, candidate, and candidate against control. */
#include "report/text_parts.h"
#include "base/names.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *str(const assay_json *j, const char *key) { return assay_json_string(j, key, ""); }

/* A figure, or "-" where it is undefined or absent. */
static void number(const assay_json *group, const char *name, bool from_one, const char *format, assay_buf *out) {
    const assay_json *v = assay_json_get(group, name);
    double x = assay_json_kind(v) == ASSAY_J_NUMBER ? assay_json_value(v) : NAN;
    char text[40] = "-";
    if (from_one) x = 1.0 - x;
    if (!isnan(x)) snprintf(text, sizeof text, assay_streq(format, "e") ? "%.2e" : "%.2f", x);
    if (assay_json_bool(group, "identical", false) && isnan(x)) snprintf(text, sizeof text, "equal");
    assay_buf_printf(out, " %10s", text);
}

static void figure_line(const char *fixture, const char *arm, const assay_json *g, assay_buf *out) {
    assay_buf_printf(out, "%-12s %-26s", fixture, arm);
    number(g, "cosine", true, "e", out);
    number(g, "worst_slice_cosine", true, "e", out);
    number(g, "row_cosine", true, "e", out);
    number(g, "centred_cosine", true, "e", out);
    number(g, "max_abs", false, "e", out);
    number(g, "max_abs_over_rms", false, "e", out);
    number(g, "psnr_db", false, "f", out);
    number(g, "snr_db", false, "f", out);
    assay_buf_char(out, '\n');
}

/* "candidate:stress" -> the group of that role and label; without a label the bare role. */
static const assay_json *group_of(const assay_json *metrics, const char *role, const char *label) {
    char *key = *label ? assay_xprintf("%s:%s", role, label) : assay_xstrdup(role);
    const assay_json *g = assay_json_get(metrics, key);
    free(key);
    return g;
}

/* Lines of one fixture, as rows {fixture, arm, group}. */
static void fixture_rows(const assay_json *row, const char *label, bool information, assay_json *out) {
    const assay_json *metrics = assay_json_get(row, "metrics"), *params = assay_json_get(row, "params");
    const char *arm = str(params, "arm"), *control = str(params, "control");
    if (!*arm) arm = "candidate";
    if (!*control) control = "control";
    char *versus = assay_xprintf("%s vs %s", arm, control);
    const struct { const char *role, *name; } lines[] = {{"control", control}, {"candidate", arm}, {"candidate_vs_control", versus}};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        const assay_json *g = group_of(metrics, lines[i].role, label);
        if (!g) continue;
        assay_json *line = assay_json_append(out, assay_json_object());
        assay_json_set_string(line, "fixture", label);
        assay_json_set_string(line, "arm", lines[i].name);
        assay_json_set(line, "group", assay_json_clone(g));
        assay_json_set_bool(line, "information", information);
    }
    free(versus);
}

static void collect(const assay_json *row, bool information, assay_json *out) {
    const assay_json *metrics = assay_json_get(row, "metrics");
    for (size_t i = 0; i < assay_json_len(metrics); i++) {
        const char *key = assay_json_key_at(metrics, i);
        size_t n = strcspn(key, ":");
        if (n == 9 && strncmp(key, "candidate", 9) == 0) fixture_rows(row, key[n] ? key + n + 1 : "", information, out);
    }
}

/* A table is a comparison of both arms with the reference: it has figures of the candidate against the control. */
static bool has_figures(const assay_json *row) {
    const assay_json *metrics = assay_json_get(row, "metrics");
    for (size_t i = 0; i < assay_json_len(metrics); i++)
        if (assay_starts_with(assay_json_key_at(metrics, i), "candidate_vs_control") && assay_json_get(assay_json_at(metrics, i), "snr_db")) return true;
    return false;
}

static bool same_gate(const assay_json *a, const assay_json *b) {
    return assay_streq(str(a, "gate"), str(b, "gate")) && assay_streq(str(a, "arm"), str(b, "arm"));
}

static assay_json *table_of(const assay_json *receipt, const assay_json *row) {
    const assay_json *information = assay_json_get(receipt, "information");
    assay_json *lines = assay_json_array();
    collect(row, false, lines);
    for (size_t k = 0; k < assay_json_len(information); k++)
        if (same_gate(assay_json_at(information, k), row)) collect(assay_json_at(information, k), true, lines);
    return lines;
}

static bool holds(const assay_json *lines, const assay_json *line) {
    for (size_t i = 0; i < assay_json_len(lines); i++) {
        const assay_json *l = assay_json_at(lines, i);
        if (assay_streq(str(l, "fixture"), str(line, "fixture")) && assay_streq(str(l, "arm"), str(line, "arm")) &&
            assay_json_number(assay_json_get(l, "group"), "max_abs", -1) == assay_json_number(assay_json_get(line, "group"), "max_abs", -1))
            return true;
    }
    return false;
}

/* Is there a gate further on whose table says all that this one says? */
static bool is_repeated_later(const assay_json *receipt, size_t i, const assay_json *lines) {
    const assay_json *gates = assay_json_get(receipt, "gates");
    for (size_t k = i + 1; k < assay_json_len(gates); k++) {
        if (!has_figures(assay_json_at(gates, k))) continue;
        assay_json *later = table_of(receipt, assay_json_at(gates, k));
        bool all = true;
        for (size_t n = 0; all && n < assay_json_len(lines); n++) all = holds(later, assay_json_at(lines, n));
        assay_json_free(later);
        if (all) return true;
    }
    return false;
}

static void print_table(const char *gate, const assay_json *lines, assay_buf *out) {
    bool starred = false;
    const char *last = NULL;
    assay_buf_printf(out, "\n%s, against the reference\n%-12s %-26s %10s %10s %10s %10s %10s %10s %10s %10s\n", gate, "fixture", "arm", "1-cos", "head 1-cos",
                     "row 1-cos", "1-centred", "max-abs", "/RMS", "PSNR dB", "SNR dB");
    for (size_t i = 0; i < assay_json_len(lines); i++) {
        const assay_json *l = assay_json_at(lines, i);
        bool information = assay_json_bool(l, "information", false);
        char *fixture = assay_xprintf("%s%s", str(l, "fixture"), information ? " *" : "");
        figure_line(last && assay_streq(last, str(l, "fixture")) ? "" : fixture, str(l, "arm"), assay_json_get(l, "group"), out);
        last = str(l, "fixture");
        starred |= information;
        free(fixture);
    }
    if (starred) assay_buf_str(out, "* left out of this gate's claim by its use; printed for information\n");
}

void assay_text_figures(const assay_json *receipt, assay_buf *out) {
    const assay_json *gates = assay_json_get(receipt, "gates");
    for (size_t i = 0; i < assay_json_len(gates); i++) {
        const assay_json *row = assay_json_at(gates, i);
        if (!has_figures(row)) continue;
        assay_json *lines = table_of(receipt, row);
        if (!is_repeated_later(receipt, i, lines)) print_table(str(row, "gate"), lines, out);
        assay_json_free(lines);
    }
}
