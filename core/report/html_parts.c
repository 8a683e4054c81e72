/* report/html_parts.c: escaping, values and generic tables; nested values become nested tables. */
#include "report/html.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void assay_html_text(assay_buf *out, const char *s) {
    if (!s) {
        assay_buf_str(out, "&ndash;");
        return;
    }
    for (; *s; s++) {
        if (*s == '<') assay_buf_str(out, "&lt;");
        else if (*s == '>') assay_buf_str(out, "&gt;");
        else if (*s == '&') assay_buf_str(out, "&amp;");
        else if (*s == '"') assay_buf_str(out, "&quot;");
        else assay_buf_char(out, *s);
    }
}

static void number(assay_buf *out, double v) {
    char full[40], brief[32];
    assay_json_format_number(v, full);
    snprintf(brief, sizeof brief, "%.6g", v);
    if (strtod(brief, NULL) == v) assay_buf_str(out, brief);
    else assay_buf_printf(out, "<span title=\"%s\">%s</span>", full, brief);
}

static bool is_table(const assay_json *v);
static void row_table(assay_buf *out, const assay_json *rows);
static void key_table(assay_buf *out, const assay_json *obj);

static void joined(assay_buf *out, const assay_json *list) {
    for (size_t i = 0; i < assay_json_len(list); i++) {
        if (i) assay_buf_str(out, ", ");
        assay_html_value(out, assay_json_at(list, i));
    }
}

void assay_html_value(assay_buf *out, const assay_json *v) {
    switch (assay_json_kind(v)) {
    case ASSAY_J_NULL: assay_buf_str(out, "<i>undefined</i>"); break;
    case ASSAY_J_BOOL: assay_buf_str(out, assay_json_truth(v) ? "yes" : "no"); break;
    case ASSAY_J_NUMBER: number(out, assay_json_value(v)); break;
    case ASSAY_J_STRING: assay_html_text(out, assay_json_text(v)); break;
    case ASSAY_J_ARRAY:
        if (!is_table(v)) joined(out, v);
        else {
            assay_buf_str(out, "<table>");
            row_table(out, v);
            assay_buf_str(out, "</table>");
        }
        break;
    default:
        if (assay_json_len(v) == 0) break;
        assay_buf_str(out, "<table>");
        key_table(out, v);
        assay_buf_str(out, "</table>");
    }
}

static bool is_table(const assay_json *v) {
    if (assay_json_kind(v) != ASSAY_J_ARRAY || assay_json_len(v) == 0) return false;
    for (size_t i = 0; i < assay_json_len(v); i++)
        if (assay_json_kind(assay_json_at(v, i)) != ASSAY_J_OBJECT) return false;
    return true;
}

/* Keys of all rows, in order of first appearance; borrowed. */
static size_t columns(const assay_json *rows, const char **out, size_t max) {
    size_t n = 0;
    for (size_t i = 0; i < assay_json_len(rows); i++) {
        const assay_json *row = assay_json_at(rows, i);
        for (size_t k = 0; k < assay_json_len(row); k++) {
            const char *key = assay_json_key_at(row, k);
            bool known = false;
            for (size_t j = 0; j < n; j++) known |= strcmp(out[j], key) == 0;
            if (!known && n < max) out[n++] = key;
        }
    }
    return n;
}

static void row_table(assay_buf *out, const assay_json *rows) {
    const char *cols[24];
    size_t n = columns(rows, cols, 24);
    assay_buf_str(out, "<tr>");
    for (size_t j = 0; j < n; j++) {
        assay_buf_str(out, "<th>");
        assay_html_text(out, cols[j]);
        assay_buf_str(out, "</th>");
    }
    assay_buf_str(out, "</tr>\n");
    for (size_t i = 0; i < assay_json_len(rows); i++) {
        assay_buf_str(out, "<tr>");
        for (size_t j = 0; j < n; j++) {
            const assay_json *v = assay_json_get(assay_json_at(rows, i), cols[j]);
            assay_buf_str(out, "<td>");
            if (v) assay_html_value(out, v);
            assay_buf_str(out, "</td>");
        }
        assay_buf_str(out, "</tr>\n");
    }
}

static void key_table(assay_buf *out, const assay_json *obj) {
    for (size_t k = 0; k < assay_json_len(obj); k++) {
        assay_buf_str(out, "<tr><th>");
        assay_html_text(out, assay_json_key_at(obj, k));
        assay_buf_str(out, "</th><td>");
        assay_html_value(out, assay_json_at(obj, k));
        assay_buf_str(out, "</td></tr>\n");
    }
}

void assay_html_table(assay_buf *out, const char *caption, const assay_json *v) {
    assay_buf_str(out, "<table><caption>");
    assay_html_text(out, caption);
    assay_buf_str(out, "</caption>\n");
    if (is_table(v)) row_table(out, v);
    else if (assay_json_kind(v) == ASSAY_J_OBJECT) key_table(out, v);
    else {
        assay_buf_str(out, "<tr><td>");
        assay_html_value(out, v);
        assay_buf_str(out, "</td></tr>\n");
    }
    assay_buf_str(out, "</table>\n");
}
