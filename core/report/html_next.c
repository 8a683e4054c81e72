/* report/html_next.c: the leaf of the decision tree on the page: what the verdict means for the work, why, and what comes next. */
#include "report/html.h"
#include "report/next.h"
#include <stdlib.h>

static void tagged(assay_buf *out, const char *tag, const char *text) {
    assay_buf_printf(out, "<%s>", tag);
    assay_html_text(out, text);
    assay_buf_printf(out, "</%s>", tag);
}

static void leaf(assay_buf *out, const assay_next *n) {
    const assay_json *rows = assay_json_get(n->leaf, "rows");
    assay_buf_str(out, "<p>");
    tagged(out, "b", assay_json_string(n->leaf, "title", ""));
    assay_buf_str(out, " (leaf ");
    tagged(out, "code", assay_json_string(n->leaf, "id", ""));
    for (const assay_json *r = assay_json_first(rows); r; r = assay_json_next(r)) {
        assay_buf_str(out, r == assay_json_first(rows) ? " of " : ", ");
        assay_html_text(out, assay_json_text(r));
    }
    assay_buf_str(out, ")</p>\n");
}

static void because(assay_buf *out, const assay_json *evidence) {
    if (assay_json_len(evidence)) assay_html_table(out, "What led there", evidence);
}

static void steps(assay_buf *out, const assay_json *list) {
    assay_buf_str(out, "<ol>\n");
    for (const assay_json *s = assay_json_first(list); s; s = assay_json_next(s)) {
        tagged(out, "li", assay_json_text(s));
        assay_buf_char(out, '\n');
    }
    assay_buf_str(out, "</ol>\n");
}

static void script(assay_buf *out, const char *stub) {
    if (!stub) return;
    assay_buf_str(out, "<details><summary>The next experiment, as a script to fill in</summary>\n");
    tagged(out, "pre", stub);
    assay_buf_str(out, "\n</details>\n");
}

void assay_html_next(assay_buf *out, const assay_json *receipt) {
    assay_next next;
    assay_error err = {0};
    char *stub = NULL;
    assay_status st = assay_next_find(receipt, &next, &err);
    if (st == ASSAY_OK) st = assay_next_stub(&next, receipt, &stub, &err);
    if (st != ASSAY_OK || next.leaf) assay_buf_str(out, "<h2>What is next</h2>\n");
    if (st != ASSAY_OK) {
        tagged(out, "p", err.message);
    } else if (next.leaf) {
        leaf(out, &next);
        because(out, next.evidence);
        steps(out, assay_json_get(next.leaf, "steps"));
        script(out, stub);
    }
    free(stub);
    assay_next_free(&next);
}
