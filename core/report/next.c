/* Finds the leaf of the decision tree that a receipt ends at (M71-M75). */
#include "report/next.h"
#include "base/fs.h"
#include "base/names.h"
#include "script/script.h"
#include <stdlib.h>
#include <string.h>

static const char *str(const assay_json *j, const char *key) { return assay_json_string(j, key, ""); }

/* ---- conditions */

static bool holds(const assay_json *list, const char *text) {
    for (const assay_json *c = assay_json_first(list); c; c = assay_json_next(c))
        if (assay_streq(assay_json_text(c), text)) return true;
    return false;
}

/* An absent or empty list asks nothing. */
static bool allows(const assay_json *list, const char *text) { return assay_json_len(list) == 0 || holds(list, text); }

static void note(assay_json *evidence, const char *gate, const char *code, const char *message) {
    assay_json *e = assay_json_append(evidence, assay_json_object());
    assay_json_set_string(e, "gate", gate);
    assay_json_set_string(e, "code", code);
    assay_json_set_string(e, "message", message);
}

/* The reasons of one list with one of the codes; when no code is asked for, all of them. Returns how many. */
static size_t note_reasons(const assay_json *list, const assay_json *codes, const char *gate, assay_json *evidence) {
    size_t n = 0;
    for (const assay_json *r = assay_json_first(list); r; r = assay_json_next(r)) {
        if (!allows(codes, str(r, "code"))) continue;
        note(evidence, gate, str(r, "code"), str(r, "message"));
        n++;
    }
    return n;
}

static bool gate_fits(const assay_json *row, const assay_json *when, assay_json *evidence) {
    const assay_json *codes = assay_json_get(when, "codes");
    const char *gate = str(row, "gate");
    if (!allows(assay_json_get(when, "gates"), gate) || !allows(assay_json_get(when, "printed"), str(row, "printed")))
        return false;
    size_t n = note_reasons(assay_json_path(row, "validity.reasons"), codes, gate, evidence);
    n += note_reasons(assay_json_get(row, "reasons"), codes, gate, evidence);
    if (!n && assay_json_len(codes) == 0) note(evidence, gate, str(row, "printed"), "");
    return n || assay_json_len(codes) == 0;
}

static bool any_gate_fits(const assay_json *receipt, const assay_json *when, assay_json *evidence) {
    if (!assay_json_get(when, "gates") && !assay_json_get(when, "printed") && !assay_json_get(when, "codes")) return true;
    for (const assay_json *g = assay_json_first(assay_json_get(receipt, "gates")); g; g = assay_json_next(g))
        if (gate_fits(g, when, evidence)) return true;
    return !assay_json_get(when, "gates") && !assay_json_get(when, "printed") &&
           note_reasons(assay_json_path(receipt, "validity.reasons"), assay_json_get(when, "codes"), "run", evidence) > 0;
}

static bool has_passed(const assay_json *receipt, const char *gate) {
    for (const assay_json *g = assay_json_first(assay_json_get(receipt, "gates")); g; g = assay_json_next(g))
        if (assay_streq(str(g, "gate"), gate) && assay_streq(str(g, "printed"), "pass")) return true;
    return false;
}

static bool leaf_fits(const assay_json *receipt, const assay_json *when, assay_json *evidence) {
    const char *standing = str(when, "standing");
    if (!allows(assay_json_get(when, "verdict"), str(receipt, "verdict"))) return false;
    if (*standing && !assay_streq(standing, str(receipt, "standing"))) return false;
    for (const assay_json *g = assay_json_first(assay_json_get(when, "passed")); g; g = assay_json_next(g))
        if (!has_passed(receipt, assay_json_text(g))) return false;
    return any_gate_fits(receipt, when, evidence);
}

/* ---- the tree */

static assay_status read_tree(assay_next *n, assay_error *err) {
    char *scripts = assay_scripts_dir(NULL);
    n->dir = assay_path_join(scripts ? scripts : ".", "next");
    char *path = assay_path_join(n->dir, "leaves.json");
    assay_status st = assay_json_read_file(path, &n->tree, err);
    free(path);
    free(scripts);
    return st;
}

assay_status assay_next_find(const assay_json *receipt, assay_next *out, assay_error *err) {
    *out = (assay_next){0};
    assay_status st = read_tree(out, err);
    for (const assay_json *l = assay_json_first(assay_json_get(out->tree, "leaves")); st == ASSAY_OK && l && !out->leaf;
         l = assay_json_next(l)) {
        assay_json *evidence = assay_json_array();
        if (leaf_fits(receipt, assay_json_get(l, "when"), evidence)) {
            out->leaf = l;
            out->evidence = evidence;
        } else {
            assay_json_free(evidence);
        }
    }
    return st;
}

void assay_next_free(assay_next *n) {
    assay_json_free(n->tree);
    assay_json_free(n->evidence);
    free(n->dir);
    *n = (assay_next){0};
}

/* ---- words */

void assay_next_text(const assay_next *n, assay_buf *out) {
    if (!n->leaf) return;
    assay_buf_printf(out, "\nnext: %s [%s", str(n->leaf, "title"), str(n->leaf, "id"));
    for (const assay_json *r = assay_json_first(assay_json_get(n->leaf, "rows")); r; r = assay_json_next(r))
        assay_buf_printf(out, " %s", assay_json_text(r));
    assay_buf_str(out, "]\n");
    for (const assay_json *s = assay_json_first(assay_json_get(n->leaf, "steps")); s; s = assay_json_next(s))
        assay_buf_printf(out, "  - %s\n", assay_json_text(s));
}

void assay_next_evidence_text(const assay_next *n, assay_buf *out) {
    for (const assay_json *e = assay_json_first(n->evidence); e; e = assay_json_next(e))
        assay_buf_printf(out, "because %s: %s%s%s\n", str(e, "gate"), str(e, "code"), *str(e, "message") ? ": " : "",
                         str(e, "message"));
}

assay_json *assay_next_json(const assay_next *n, const char *stub) {
    assay_json *j = assay_json_object();
    assay_json_set_string(j, "schema", "assay-next/1");
    assay_json_set_string(j, "leaf", n->leaf ? str(n->leaf, "id") : NULL);
    assay_json_set_string(j, "title", n->leaf ? str(n->leaf, "title") : NULL);
    assay_json_set(j, "steps", n->leaf ? assay_json_clone(assay_json_get(n->leaf, "steps")) : assay_json_array());
    assay_json_set(j, "evidence", n->evidence ? assay_json_clone(n->evidence) : assay_json_array());
    assay_json_set_string(j, "script", stub);
    return j;
}

static char *replaced(char *text, const char *word, const char *by) {
    assay_buf b = {0};
    const char *at = text, *hit;
    for (; (hit = strstr(at, word)); at = hit + strlen(word)) assay_buf_printf(&b, "%.*s%s", (int)(hit - at), at, by);
    assay_buf_str(&b, at);
    free(text);
    return b.data;
}

assay_status assay_next_stub(const assay_next *n, const assay_json *receipt, char **stub, assay_error *err) {
    char *text = NULL, *path, *name;
    size_t len = 0;
    *stub = NULL;
    if (!n->leaf || !*str(n->leaf, "stub")) return ASSAY_OK;
    path = assay_path_join(n->dir, str(n->leaf, "stub"));
    assay_status st = assay_read_file(path, 1 << 20, &text, &len, err);
    free(path);
    if (st != ASSAY_OK) return st;
    char plan[13] = "";
    strncat(plan, str(receipt, "plan_sha256"), 12);
    name = assay_xprintf("%.40s-next", str(receipt, "experiment"));
    text = replaced(text, "@EXPERIMENT@", str(receipt, "experiment"));
    text = replaced(text, "@PLAN@", plan);
    text = replaced(text, "@LEAF@", str(n->leaf, "id"));
    *stub = replaced(text, "@NAME@", name);
    free(name);
    return ASSAY_OK;
}
