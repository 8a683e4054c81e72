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

static void fixture_lines(const assay_json *row, const char *label, bool information, assay_buf *out) {
    const assay_json *metrics = assay_json_get(row, "metrics"), *params = assay_json_get(row, "params");
    const char *arm = str(params, "arm"), *control = str(params, "control");
    if (!*arm) arm = "candidate";
    if (!*control) control = "control";
    char *fixture = assay_xprintf("%s%s", label, information ? " *" : ""), *versus = assay_xprintf("%s vs %s", arm, control);
    const struct { const char *role, *name; } lines[] = {{"control", control}, {"candidate", arm}, {"candidate_vs_control", versus}};
    bool first = true;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        const assay_json *g = group_of(metrics, lines[i].role, label);
        if (!g) continue;
        figure_line(first ? fixture : "", lines[i].name, g, out);
        first = false;
    }
    free(fixture);
    free(versus);
}

static bool has_figures(const assay_json *row) {
    const assay_json *metrics = assay_json_get(row, "metrics");
    for (size_t i = 0; i < assay_json_len(metrics); i++)
        if (assay_starts_with(assay_json_key_at(metrics, i), "candidate") && assay_json_get(assay_json_at(metrics, i), "snr_db")) return true;
    return false;
}

static void row_lines(const assay_json *row, bool information, assay_buf *out) {
    const assay_json *metrics = assay_json_get(row, "metrics");
    for (size_t i = 0; i < assay_json_len(metrics); i++) {
        const char *key = assay_json_key_at(metrics, i);
        size_t n = strcspn(key, ":");
        if (n == 9 && strncmp(key, "candidate", 9) == 0) fixture_lines(row, key[n] ? key + n + 1 : "", information, out);
    }
}

static bool same_gate(const assay_json *a, const assay_json *b) {
    return assay_streq(str(a, "gate"), str(b, "gate")) && assay_streq(str(a, "arm"), str(b, "arm"));
}

void assay_text_figures(const assay_json *receipt, assay_buf *out) {
    const assay_json *gates = assay_json_get(receipt, "gates"), *information = assay_json_get(receipt, "information");
    for (size_t i = 0; i < assay_json_len(gates); i++) {
        const assay_json *row = assay_json_at(gates, i);
        bool starred = false;
        if (!has_figures(row)) continue;
        assay_buf_printf(out, "\n%s, against the reference\n%-12s %-26s %10s %10s %10s %10s %10s %10s %10s %10s\n", str(row, "gate"), "fixture", "arm", "1-cos",
                         "head 1-cos", "row 1-cos", "1-centred", "max-abs", "/RMS", "PSNR dB", "SNR dB");
        row_lines(row, false, out);
        for (size_t k = 0; k < assay_json_len(information); k++) {
            const assay_json *info = assay_json_at(information, k);
            if (!same_gate(info, row) || !has_figures(info)) continue;
            row_lines(info, true, out);
            starred = true;
        }
        if (starred) assay_buf_str(out, "* left out of this gate's claim by its use; printed for information\n");
    }
}
