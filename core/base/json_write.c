/* base/json_write.c: the canonical JSON writer (architecture.md section 7) and its indented sister for people. */
#include "base/json_internal.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void assay_json_format_number(double v, char out[40]) {
    if (!isfinite(v)) {
        snprintf(out, 40, isnan(v) ? "null" : v > 0 ? "\"inf\"" : "\"-inf\"");
        return;
    }
    if (v == floor(v) && fabs(v) <= 0x1p53) {
        snprintf(out, 40, "%.0f", v == 0 ? 0.0 : v);                 /* minus zero is written as 0 */
        return;
    }
    static const int digits[] = { 15, 16, 17 };
    for (int i = 0; i < 3; i++) {
        snprintf(out, 40, "%.*g", digits[i], v);
        if (strtod(out, NULL) == v) return;
    }
}

static void write_string(const char *s, assay_buf *out) {
    assay_buf_char(out, '"');
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        const char *escape = c == '"' ? "\\\"" : c == '\\' ? "\\\\" : c == '\b' ? "\\b" : c == '\f' ? "\\f" :
                             c == '\n' ? "\\n" : c == '\r' ? "\\r" : c == '\t' ? "\\t" : NULL;
        if (escape) assay_buf_str(out, escape);
        else if (c < 0x20) assay_buf_printf(out, "\\u%04x", c);
        else assay_buf_char(out, (char)c);
    }
    assay_buf_char(out, '"');
}

static int by_key(const void *a, const void *b) {
    return strcmp(assay_json_key(*(assay_json *const *)a), assay_json_key(*(assay_json *const *)b));
}

/* indent < 0: canonical, everything on one line. */
static void line_break(assay_buf *out, int indent) {
    if (indent < 0) return;
    assay_buf_char(out, '\n');
    for (int i = 0; i < indent; i++) assay_buf_str(out, "  ");
}

static void write_value(const assay_json *j, assay_buf *out, int indent);

static void write_tree(const assay_json *j, assay_buf *out, int indent) {
    const bool object = assay_json_kind(j) == ASSAY_J_OBJECT;
    const int inner = indent < 0 ? -1 : indent + 1;
    assay_ptrs v = {0};
    for (assay_json *c = assay_json_first(j); c; c = assay_json_next(c)) assay_ptrs_push(&v, c);
    if (object && v.len > 1) qsort(v.items, v.len, sizeof *v.items, by_key);
    assay_buf_char(out, object ? '{' : '[');
    for (size_t i = 0; i < v.len; i++) {
        if (i) assay_buf_char(out, ',');
        line_break(out, inner);
        if (object) {
            write_string(assay_json_key(v.items[i]), out);
            assay_buf_str(out, indent < 0 ? ":" : ": ");
        }
        write_value(v.items[i], out, inner);
    }
    if (v.len) line_break(out, indent);
    assay_buf_char(out, object ? '}' : ']');
    assay_ptrs_free(&v);
}

static void write_value(const assay_json *j, assay_buf *out, int indent) {
    char number[40];
    switch (assay_json_kind(j)) {
    case ASSAY_J_BOOL: assay_buf_str(out, assay_json_truth(j) ? "true" : "false"); return;
    case ASSAY_J_STRING: write_string(assay_json_text(j), out); return;
    case ASSAY_J_NUMBER:
        assay_json_format_number(assay_json_value(j), number);
        assay_buf_str(out, number);
        return;
    case ASSAY_J_ARRAY:
    case ASSAY_J_OBJECT: write_tree(j, out, indent); return;
    default: assay_buf_str(out, "null"); return;
    }
}

void assay_json_write(const assay_json *j, assay_buf *out) {
    write_value(j, out, -1);
    assay_buf_char(out, '\n');
}

char *assay_json_print(const assay_json *j) {
    assay_buf b = {0};
    write_value(j, &b, -1);
    return assay_buf_take(&b);
}

char *assay_json_pretty(const assay_json *j) {
    assay_buf b = {0};
    write_value(j, &b, 0);
    assay_buf_char(&b, '\n');
    return assay_buf_take(&b);
}
