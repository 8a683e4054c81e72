/* report/html.c: the page: claims and their fate, gates with reasons, what is next, both censuses side by side, tables, samples, identity. */
#include "report/html.h"
#include "report/text.h"
#include "base/fs.h"
#include "base/names.h"
#include <stdlib.h>
#include <string.h>

static const char style[] =
    "body{font:15px/1.45 system-ui,sans-serif;max-width:980px;margin:2em auto;padding:0 1em;color:#111;background:#fff}"
    "table{border-collapse:collapse;margin:.8em 0;font-size:13px}caption{text-align:left;font-weight:600;padding:.2em 0}"
    "th,td{border:1px solid #bbb;padding:.2em .5em;text-align:left;vertical-align:top}th{background:#f2f2f2}"
    ".verdict{font-size:20px;border:2px solid #111;padding:.4em .8em;display:inline-block}"
    ".pass{background:#e6f4e6}.kill{background:#f9dede}.invalid{background:#f9dede;outline:2px dashed #900}.inconclusive{background:#fff3d0}"
    "svg{width:100%;height:auto}svg text{font:12px sans-serif}.axis{fill:none;stroke:#555}.a{fill:none;stroke:#06c}.b{fill:none;stroke:#c30;stroke-width:1.5}"
    ".line{fill:none;stroke:#111;stroke-width:2}.mark{fill:#111;stroke:none}.dash{fill:none;stroke-dasharray:6 4}path.dash:not(.b){stroke:#111}.dots{fill:none;stroke:#777;stroke-dasharray:2 4}"
    "code{word-break:break-all}pre{font-size:12px;background:#f2f2f2;padding:.6em;overflow-x:auto}details{margin:.4em 0}";

static void cell(assay_buf *out, const assay_json *row, const char *key) {
    assay_buf_str(out, "<td>");
    assay_html_value(out, assay_json_get(row, key));
    assay_buf_str(out, "</td>");
}

static void must_fail(assay_buf *out, const assay_json *arms) {
    if (assay_json_len(arms)) {
        assay_html_table(out, "Arms that must fail", arms);
        return;
    }
    assay_buf_str(out, "<p>");
    assay_html_text(out, ASSAY_REPORT_NO_MUST_FAIL);
    assay_buf_str(out, ".</p>\n");
}

static void heading(assay_buf *out, const assay_json *r) {
    const char *verdict = assay_json_string(r, "verdict", "");
    const assay_json *why = assay_json_path(r, "validity.reasons");
    assay_buf_str(out, "<h1>");
    assay_html_text(out, assay_json_string(r, "experiment", ""));
    assay_buf_printf(out, "</h1>\n<p class=\"verdict %s\">%s</p>\n<p>Standing: <b>", verdict, verdict);
    assay_html_text(out, assay_json_string(r, "standing", ""));
    assay_buf_str(out, assay_json_bool(r, "sealed", false) ? "</b>. The plan was sealed before any trial.</p>\n" : "</b>. The plan was not sealed: results are exploratory.</p>\n");
    if (assay_json_len(why)) assay_html_table(out, "Why this run is invalid", why);
    must_fail(out, assay_json_get(r, "must_fail"));
}

static void claims(assay_buf *out, const assay_json *list) {
    if (assay_json_len(list) == 0) return;
    assay_buf_str(out, "<h2>Claims</h2>\n<table><tr><th>claim</th><th>fate</th><th>level</th><th>class</th><th>needs</th></tr>\n");
    for (size_t i = 0; i < assay_json_len(list); i++) {
        const assay_json *c = assay_json_at(list, i);
        assay_buf_str(out, "<tr>");
        cell(out, c, "text");
        cell(out, c, "fate");
        assay_buf_printf(out, "<td>%lld ", (long long)assay_json_int(c, "level", 0));
        assay_html_text(out, assay_json_string(c, "level_name", ""));
        assay_buf_str(out, "</td>");
        cell(out, c, "class");
        cell(out, c, "needs");
        assay_buf_str(out, "</tr>\n");
    }
    assay_buf_str(out, "</table>\n");
}

static void reasons(assay_buf *out, const assay_json *list) {
    for (size_t i = 0; i < assay_json_len(list); i++) {
        const assay_json *x = assay_json_at(list, i);
        const char *where = assay_json_string(x, "where", "");
        assay_buf_str(out, "<b>");
        assay_html_text(out, assay_json_string(x, "code", ""));
        assay_buf_str(out, "</b> ");
        assay_html_text(out, assay_json_string(x, "message", ""));
        if (where && *where) {
            assay_buf_str(out, " <code>");
            assay_html_text(out, where);
            assay_buf_str(out, "</code>");
        }
        assay_buf_str(out, "<br>");
    }
}

static void gates(assay_buf *out, const assay_json *list) {
    assay_buf_str(out, "<h2>Gates</h2>\n<table><tr><th>gate</th><th>arm</th><th>verdict</th><th>origin</th><th>reasons</th></tr>\n");
    for (size_t i = 0; i < assay_json_len(list); i++) {
        const assay_json *g = assay_json_at(list, i);
        const char *printed = assay_json_string(g, "printed", "");
        assay_buf_str(out, "<tr>");
        cell(out, g, "gate");
        cell(out, g, "arm");
        assay_buf_printf(out, "<td class=\"%s\">%s</td>", printed, printed);
        cell(out, g, "origin");
        assay_buf_str(out, "<td>");
        reasons(out, assay_json_path(g, "validity.reasons"));
        reasons(out, assay_json_get(g, "reasons"));
        const char *info = assay_json_string(g, "information_verdict", NULL);
        if (info) {
            assay_buf_str(out, "<i>this machine, for information: ");
            assay_html_text(out, info);
            assay_buf_str(out, "</i> ");
            reasons(out, assay_json_get(g, "information_reasons"));
        }
        assay_buf_str(out, "</td></tr>\n");
    }
    assay_buf_str(out, "</table>\n");
}

/* Both arms' reachable ops beside each other, from whichever gate counted them. */
static void census(assay_buf *out, const assay_json *gate_rows) {
    for (size_t i = 0; i < assay_json_len(gate_rows); i++) {
        const assay_json *m = assay_json_get(assay_json_at(gate_rows, i), "metrics");
        const assay_json *a = assay_json_path(m, "control.ops_reachable"), *b = assay_json_path(m, "candidate.ops_reachable");
        if (assay_json_kind(a) != ASSAY_J_OBJECT || assay_json_kind(b) != ASSAY_J_OBJECT) continue;
        assay_json *both = assay_json_object();
        for (size_t k = 0; k < assay_json_len(a); k++) assay_json_set_bool(both, assay_json_key_at(a, k), true);
        for (size_t k = 0; k < assay_json_len(b); k++) assay_json_set_bool(both, assay_json_key_at(b, k), true);
        assay_buf_str(out, "<h2>Ops that reach the output</h2>\n<table><tr><th>op</th><th>control</th><th>candidate</th></tr>\n");
        for (size_t k = 0; k < assay_json_len(both); k++) {
            const char *op = assay_json_key_at(both, k);
            assay_buf_str(out, "<tr><td>");
            assay_html_text(out, op);
            assay_buf_printf(out, "</td><td>%g</td><td>%g</td></tr>\n", assay_json_number(a, op, 0.0), assay_json_number(b, op, 0.0));
        }
        assay_buf_str(out, "</table>\n");
        assay_json_free(both);
    }
}

/* Metrics of one gate: groups as columns, names as rows, so that control and candidate stand side by side. */
static void metrics(assay_buf *out, const assay_json *groups) {
    assay_json *names = assay_json_object();
    for (size_t g = 0; g < assay_json_len(groups); g++) {
        const assay_json *group = assay_json_at(groups, g);
        for (size_t k = 0; k < assay_json_len(group); k++) assay_json_set_bool(names, assay_json_key_at(group, k), true);
    }
    assay_buf_str(out, "<table><tr><th></th>");
    for (size_t g = 0; g < assay_json_len(groups); g++) {
        assay_buf_str(out, "<th>");
        assay_html_text(out, assay_json_key_at(groups, g));
        assay_buf_str(out, "</th>");
    }
    assay_buf_str(out, "</tr>\n");
    for (size_t k = 0; k < assay_json_len(names); k++) {
        const char *name = assay_json_key_at(names, k);
        assay_buf_str(out, "<tr><th>");
        assay_html_text(out, name);
        assay_buf_str(out, "</th>");
        for (size_t g = 0; g < assay_json_len(groups); g++) {
            const assay_json *v = assay_json_get(assay_json_at(groups, g), name);
            assay_buf_str(out, "<td>");
            if (v) assay_html_value(out, v);
            assay_buf_str(out, "</td>");
        }
        assay_buf_str(out, "</tr>\n");
    }
    assay_buf_str(out, "</table>\n");
    assay_json_free(names);
}

static void gate_details(assay_buf *out, const assay_json *list, const char *what) {
    for (size_t i = 0; i < assay_json_len(list); i++) {
        const assay_json *g = assay_json_at(list, i), *d = assay_json_get(g, "details");
        if (assay_json_len(assay_json_get(g, "metrics")) == 0 && assay_json_len(d) == 0) continue;
        assay_buf_str(out, "<details><summary>");
        assay_html_text(out, assay_json_string(g, "gate", ""));
        assay_buf_str(out, " ");
        assay_html_text(out, assay_json_string(g, "arm", ""));
        assay_html_text(out, what);
        assay_buf_str(out, "</summary>\n");
        metrics(out, assay_json_get(g, "metrics"));
        for (size_t k = 0; k < assay_json_len(d); k++) assay_html_table(out, assay_json_key_at(d, k), assay_json_at(d, k));
        assay_html_table(out, "parameters in force", assay_json_get(g, "params"));
        assay_buf_str(out, "</details>\n");
    }
}

static void rest(assay_buf *out, const assay_json *r) {
    static const struct { const char *key, *caption; } parts[] = {
        { "sources", "Where the sources disagree" }, { "kills", "Kill conditions" }, { "compares", "Comparisons" }, { "priors", "Prior beliefs" }, { "arms", "Arms" }, { "fixtures", "Fixtures" },
        { "reference", "Reference" }, { "target", "Target" }, { "options", "Options" }, { "seeds", "Seeds" }, { "scripts", "Scripts" }, { "identity", "Machines and backends" },
        { "evidence", "Evidence" },
    };
    assay_buf_str(out, "<h2>What it rests on</h2>\n");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const assay_json *v = assay_json_get(r, parts[i].key);
        if (assay_json_len(v)) assay_html_table(out, parts[i].caption, v);
    }
    assay_buf_str(out, "<p>Digest of the plan: <code>");
    assay_html_text(out, assay_json_string(r, "plan_sha256", ""));
    assay_buf_str(out, "</code>. Digests detect accidents, not forgers.</p>\n");
}

void assay_report_page(const assay_json *r, const char *evidence_dir, assay_buf *out) {
    const assay_json *rows = assay_json_get(r, "gates"), *info = assay_json_get(r, "information");
    assay_buf_str(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\"><title>");
    assay_html_text(out, assay_json_string(r, "experiment", ""));
    assay_buf_printf(out, "</title><style>%s</style></head><body>\n", style);
    heading(out, r);
    claims(out, assay_json_get(r, "claims"));
    gates(out, rows);
    assay_html_next(out, r);
    census(out, rows);
    assay_buf_str(out, "<h2>Figures</h2>\n");
    gate_details(out, rows, ": figures, tables, parameters");
    gate_details(out, info, ": fixtures left out of the claim, for information");
    assay_html_samples(out, r, evidence_dir);
    rest(out, r);
    assay_buf_str(out, "</body></html>\n");
}

assay_status assay_report_html(const char *run_dir, const char *host, assay_error *err) {
    char *path = assay_xprintf("%s/receipt.%s.json", run_dir, host), *evidence = assay_xprintf("%s/evidence/%s", run_dir, host);
    char *page = assay_path_join(run_dir, "report.html");
    assay_json *receipt = NULL;
    assay_status st = assay_json_read_file(path, &receipt, err);
    if (st == ASSAY_OK) {
        assay_buf out = { 0 };
        assay_report_page(receipt, evidence, &out);
        st = assay_write_file(page, out.data, out.len, err);
        assay_buf_free(&out);
    }
    assay_json_free(receipt);
    free(path);
    free(evidence);
    free(page);
    return st;
}
