/* The tables of the `compare` words: arms side by side, the same word of several hosts in one table. */
#include "report/text.h"
#include "report/text_parts.h"
#include "base/names.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *str(const assay_json *j, const char *key) { return assay_json_string(j, key, ""); }

/* "NE 12 CPU 3", or "-" where nothing tells. */
static void placement(const assay_json *row, assay_buf *out) {
    static const char *const units[] = {"NE", "GPU", "CPU", "unknown"};
    const assay_json *ops = assay_json_get(row, "preferred_ops");
    char text[96] = "-";
    int len = 0;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        const assay_json *n = assay_json_get(ops, units[i]);
        if (n) len += snprintf(text + len, sizeof text - (size_t)len, "%s%s %.0f", len ? " " : "", units[i], assay_json_value(n));
    }
    assay_buf_printf(out, " %-18s", text);
}

static void figure(const assay_json *group, const char *name, bool from_one, const char *format, assay_buf *out) {
    const assay_json *v = assay_json_get(group, name);
    char text[40] = "-";
    bool known = assay_json_kind(v) == ASSAY_J_NUMBER && !isnan(assay_json_value(v));
    double x = known ? from_one ? 1 - assay_json_value(v) : assay_json_value(v) : 0;
    if (known && assay_streq(format, "e")) snprintf(text, sizeof text, "%.2e", x);
    if (known && assay_streq(format, "f")) snprintf(text, sizeof text, "%.2f", x);
    if (!known && assay_json_bool(group, "identical", false)) snprintf(text, sizeof text, "equal");
    assay_buf_printf(out, " %9s", text);
}

typedef struct tables { const char *const *hosts; const assay_json *const *receipts; size_t n, word; int arm_width; } tables;

static const assay_json *word_of(const tables *t, size_t host) { return assay_json_at(assay_json_get(t->receipts[host], "compares"), t->word); }

/* "a" for the first output met in the table, "b" for the next that has other bits ... */
static char letter(const tables *t, const char *sha256) {
    const char *seen[26];
    int n = 0;
    for (size_t h = 0; h < t->n; h++) {
        const assay_json *table = assay_json_get(word_of(t, h), "table");
        for (size_t i = 0; i < assay_json_len(table); i++) {
            const char *sha = str(assay_json_at(table, i), "sha256");
            int k = 0;
            while (k < n && !assay_streq(seen[k], sha)) k++;
            if (assay_streq(sha, sha256)) return (char)('a' + k);
            if (k == n && *sha && n < 25) seen[n++] = sha;
        }
    }
    return '-';
}

static void arm_line(const tables *t, size_t host, const assay_json *row, assay_buf *out) {
    const assay_json *r = assay_json_get(row, "against_reference"), *f = assay_json_get(row, "against_first");
    const char *units = str(row, "compute_units");
    if (t->n > 1) assay_buf_printf(out, "  %-28s", t->hosts[host]);
    assay_buf_printf(out, "  %-*s %-12s", t->arm_width, str(row, "arm"), *units ? units : "-");
    placement(row, out);
    if (*str(row, "why")) {
        assay_buf_printf(out, " no output: %s\n", str(row, "why"));
        return;
    }
    figure(r, "cosine", true, "e", out);
    figure(r, "max_abs", false, "e", out);
    figure(r, "psnr_db", false, "f", out);
    figure(r, "snr_db", false, "f", out);
    assay_buf_printf(out, "    %c", letter(t, str(row, "sha256")));
    if (f && !assay_json_bool(f, "comparable", false)) assay_buf_str(out, "  another shape");
    else if (f) assay_buf_printf(out, "  %lld differ, at most %.3g", (long long)assay_json_int(f, "differing", 0), assay_json_number(f, "max_abs", NAN));
    assay_buf_char(out, '\n');
}

/* Room for the longest name of an arm, so that the columns stand below each other. */
static int arm_width(const tables *t) {
    size_t width = 18;
    for (size_t h = 0; h < t->n; h++) {
        const assay_json *table = assay_json_get(word_of(t, h), "table");
        for (size_t i = 0; i < assay_json_len(table); i++)
            if (strlen(str(assay_json_at(table, i), "arm")) > width) width = strlen(str(assay_json_at(table, i), "arm"));
    }
    return (int)width;
}

static void head(const tables *t, assay_buf *out) {
    const assay_json *compare = word_of(t, 0);
    const char *expect = str(compare, "expect");
    assay_buf_printf(out, "\narms side by side on %s%s%s\n", str(compare, "fixture"), assay_streq(expect, "any") ? "" : ", expected ",
                     assay_streq(expect, "any") ? "" : expect);
    if (t->n > 1) assay_buf_printf(out, "  %-28s", "host");
    assay_buf_printf(out, "  %-*s %-12s %-18s %9s %9s %9s %9s %5s  %s\n", t->arm_width, "arm", "asked for", "ops prefer", "1-cos", "max-abs", "PSNR dB", "SNR dB", "bits",
                     "against the first arm");
}

static void answer(const tables *t, size_t host, bool color, assay_buf *out) {
    const char *printed = str(word_of(t, host), "printed");
    if (assay_streq(str(word_of(t, host), "expect"), "any")) return;
    assay_buf_printf(out, "  %s%s%s%s%s\n", t->n > 1 ? t->hosts[host] : "", t->n > 1 ? ": " : "", assay_text_color(printed, color), printed,
                     color ? "\033[0m" : "");
}

void assay_text_compares(const char *const *hosts, const assay_json *const *receipts, size_t n, bool color, assay_buf *out) {
    tables t = {.hosts = hosts, .receipts = receipts, .n = n};
    for (size_t words = n ? assay_json_len(assay_json_get(receipts[0], "compares")) : 0; t.word < words; t.word++) {
        t.arm_width = arm_width(&t);
        head(&t, out);
        for (size_t h = 0; h < n; h++) {
            const assay_json *table = assay_json_get(word_of(&t, h), "table");
            for (size_t k = 0; k < assay_json_len(table); k++) arm_line(&t, h, assay_json_at(table, k), out);
        }
        for (size_t h = 0; h < n; h++) answer(&t, h, color, out);
    }
}
