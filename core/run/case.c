/* Judges a case folder by its expected.json: loads the inputs of each part, applies its transforms, asks the gate, compares. */
#include "run/case.h"
#include "base/fs.h"
#include "base/names.h"
#include <stdlib.h>
#include <string.h>

/* ---- inputs */
static assay_status check_declared(const assay_evidence_set *ev, size_t from, const char *key, const assay_json *f,
                                   assay_error *err) {
    const assay_json *shape = assay_json_get(f, "shape");
    if (assay_json_kind(shape) != ASSAY_J_ARRAY) return ASSAY_OK;
    const assay_item *it = assay_evidence_at(ev, from);
    if (!it || it->kind != ASSAY_K_OUTPUT)
        return assay_fail(err, ASSAY_E_INPUT, "%s: a shape is declared, the file holds no tensor", key);
    bool same =
        assay_json_len(shape) == it->tensor.rank && assay_dtype_parse(assay_json_string(f, "dtype", "")) == it->tensor.dtype;
    for (uint32_t i = 0; same && i < it->tensor.rank; i++)
        same = assay_json_value(assay_json_at(shape, i)) == (double)it->tensor.shape[i];
    char text[160];
    return same ? ASSAY_OK
                : assay_fail(err, ASSAY_E_INPUT, "%s: the file holds %s%s, expected.json declares another type or shape", key,
                             assay_dtype_name(it->tensor.dtype), assay_shape_text(it->tensor.rank, it->tensor.shape, text));
}

static assay_status load_inputs(const char *dir, const assay_json *inputs, assay_evidence_set *ev, assay_error *err) {
    for (size_t i = 0; i < assay_json_len(inputs); i++) {
        const char *key = assay_json_key_at(inputs, i);
        const assay_json *f = assay_json_at(inputs, i);
        const char *file = assay_json_string(f, "file", "");
        if (!assay_path_is_inside(file))
            return assay_fail(err, ASSAY_E_INPUT, "input %s: '%s' is not a file of the case folder", key, file);
        char *path = assay_path_join(dir, file);
        size_t from = assay_evidence_len(ev);
        assay_status st = assay_evidence_add_file(ev, key, path, err);
        if (st == ASSAY_OK) st = check_declared(ev, from, key, f, err);
        free(path);
        if (st != ASSAY_OK) return st;
    }
    return ASSAY_OK;
}

/* ---- expectations */
static bool holds_text(const assay_json *list, const char *s) {
    for (size_t i = 0; i < assay_json_len(list); i++)
        if (assay_streq(assay_json_text(assay_json_at(list, i)), s)) return true;
    return false;
}
static bool right_verdict(const assay_json *x, const char *got, char **diff) {
    bool right = assay_streq(got, assay_json_string(x, "verdict", "")) || holds_text(assay_json_get(x, "also_acceptable"), got);
    if (right && !holds_text(assay_json_get(x, "must_not"), got)) return true;
    *diff = assay_xprintf("verdict: got %s, expected %s", got, assay_json_string(x, "verdict", "nothing"));
    return false;
}

static bool holds_code(const assay_json *reasons, const char *code) {
    for (size_t i = 0; i < assay_json_len(reasons); i++)
        if (assay_streq(assay_json_string(assay_json_at(reasons, i), "code", ""), code)) return true;
    return false;
}
static bool right_reasons(const assay_json *x, const assay_json *v, char **diff) {
    const assay_json *want = assay_json_get(x, "reasons");
    for (size_t i = 0; i < assay_json_len(want); i++) {
        const char *code = assay_json_text(assay_json_at(want, i));
        if (holds_code(assay_json_get(v, "reasons"), code) || holds_code(assay_json_path(v, "validity.reasons"), code)) continue;
        *diff = assay_xprintf("reasons: '%s' is missing", code ? code : "");
        return false;
    }
    return true;
}

static bool right_part(const assay_json *x, const assay_json *verdict, const char *got, char **diff) {
    const assay_json *tol = assay_json_get(x, "tolerance"), *metrics = assay_json_get(x, "metrics");
    if (!right_verdict(x, got, diff) || !right_reasons(x, verdict, diff)) return false;
    return !metrics || assay_case_agrees(assay_json_get(verdict, "metrics"), metrics, assay_json_number(tol, "rel", 1e-9),
                                         assay_json_number(tol, "abs", 1e-9), "", diff);
}

/* ---- one part */
static void merge_metrics(assay_json *verdict, const assay_json *extra) {
    assay_json *metrics = assay_json_get(verdict, "metrics");
    for (size_t i = 0; i < assay_json_len(extra); i++) {
        const char *group = assay_json_key_at(extra, i);
        assay_json *g = assay_json_get(metrics, group);
        if (!g) g = assay_json_set(metrics, group, assay_json_object());
        const assay_json *from = assay_json_at(extra, i);
        for (size_t k = 0; k < assay_json_len(from); k++)
            assay_json_set(g, assay_json_key_at(from, k), assay_json_clone(assay_json_at(from, k)));
    }
}

static const char *gate_name(const assay_json *e, const assay_json *part) {
    const char *name = assay_json_string(part, "gate", assay_json_string(e, "gate", ""));
    return assay_streq(name, "dead-path") || assay_streq(name, "deadpath") ? "dead_path" : name;
}

static assay_status judge_part(const assay_case_tools *tools, const char *dir, const char *gate, const assay_json *part,
                               assay_json **verdict, assay_error *err) {
    assay_evidence_set *ev = assay_evidence_new();
    const assay_json *given = assay_json_get(part, "params"), *transforms = assay_json_get(part, "transform");
    assay_json *params = assay_json_kind(given) == ASSAY_J_OBJECT ? assay_json_clone(given) : assay_json_object(),
               *extra = assay_json_object();
    assay_status st = load_inputs(dir, assay_json_get(part, "inputs"), ev, err);
    for (size_t i = 0; st == ASSAY_OK && i < assay_json_len(transforms); i++)
        st = assay_case_transform(assay_json_at(transforms, i), ev, params, extra, err);
    if (st == ASSAY_OK) st = assay_judge(tools->registry, gate, params, ev, verdict, err);
    if (st == ASSAY_OK) merge_metrics(*verdict, extra);
    assay_json_free(params);
    assay_json_free(extra);
    assay_evidence_free(ev);
    return st;
}

static assay_status run_part(const assay_case_tools *tools, const char *dir, const assay_json *e, const char *name,
                             const assay_json *part, assay_json *row, assay_error *err) {
    assay_json *verdict = NULL;
    const assay_json *x = assay_json_get(part, "expected");
    assay_status st = judge_part(tools, dir, gate_name(e, part), part, &verdict, err);
    if (st != ASSAY_OK) return assay_wrap(err, "part %s", name);
    char *diff = NULL;
    const char *got = assay_printed_verdict(verdict);
    bool ok = right_part(x, verdict, got, &diff);
    assay_json_set_string(row, "part", name);
    assay_json_set_string(row, "gate", gate_name(e, part));
    assay_json_set_string(row, "got", got);
    assay_json_set_string(row, "expected", assay_json_string(x, "verdict", NULL));
    assay_json_set_bool(row, "ok", ok);
    assay_json_set_string(row, "difference", diff);
    assay_json_set(row, "verdict", verdict);
    free(diff);
    return ASSAY_OK;
}

/* ---- the case */
static const char *combined(const assay_json *parts, const char *how) {
    const char *v = NULL;
    for (size_t i = 0; i < assay_json_len(parts); i++) {
        const assay_json *p = assay_json_at(parts, i);
        const char *got = assay_json_string(p, "got", NULL);
        if (assay_streq(how, "worst"))
            v = assay_case_worst(v, got);
        else if (assay_streq(how, assay_json_string(p, "part", "")))
            return got;
    }
    return v;
}

static void conclude(assay_json *out, const assay_json *e, const char *dir) {
    const assay_json *x = assay_json_get(e, "expected"), *parts = assay_json_get(out, "parts");
    const char *got = combined(parts, assay_json_string(x, "combine", "worst"));
    char *diff = NULL;
    bool ok = true;
    for (size_t i = 0; i < assay_json_len(parts) && ok; i++) {
        const assay_json *p = assay_json_at(parts, i);
        ok = assay_json_bool(p, "ok", false);
        if (!ok) diff = assay_xprintf("part %s: %s", assay_json_string(p, "part", ""), assay_json_string(p, "difference", ""));
    }
    if (ok) ok = right_verdict(x, got ? got : "nothing", &diff);
    assay_json_set_string(out, "case", assay_json_string(e, "case", dir));
    assay_json_set_string(out, "gate", gate_name(e, NULL));
    assay_json_set_bool(out, "ok", ok);
    assay_json_set_string(out, "got", got);
    assay_json_set_string(out, "expected", assay_json_string(x, "verdict", NULL));
    assay_json_set_string(out, "difference", diff);
    free(diff);
}

static assay_status run_expected(const assay_case_tools *tools, const char *dir, const assay_json *e, assay_json **result,
                                 assay_error *err) {
    const assay_json *parts = assay_json_get(e, "parts");
    const char *schema = assay_json_string(e, "schema", "");
    if (!assay_streq(schema, "case-expected/2"))
        return assay_fail(err, ASSAY_E_INPUT, "expected.json: schema '%.60s', this program reads case-expected/2", schema);
    if (assay_json_kind(parts) != ASSAY_J_OBJECT || !assay_json_len(parts))
        return assay_fail(err, ASSAY_E_INPUT, "expected.json: no parts, so nothing would be judged");
    assay_json *out = assay_json_object(), *rows = assay_json_set(out, "parts", assay_json_array());
    assay_status st = ASSAY_OK;
    for (size_t i = 0; st == ASSAY_OK && i < assay_json_len(parts); i++)
        st = run_part(tools, dir, e, assay_json_key_at(parts, i), assay_json_at(parts, i),
                      assay_json_append(rows, assay_json_object()), err);
    if (st == ASSAY_OK)
        conclude(out, e, dir);
    else
        assay_json_free(out), out = NULL;
    *result = out;
    return st;
}

assay_status assay_case_run(const assay_case_tools *tools, const char *dir, assay_json **result, assay_error *err) {
    char *expected = assay_path_join(dir, "expected.json"), *package = assay_path_join(dir, "case.json");
    assay_json *e = NULL;
    assay_status st;
    *result = NULL;
    if (assay_is_file(expected)) {
        st = assay_json_read_file(expected, &e, err);
        if (st == ASSAY_OK) st = run_expected(tools, dir, e, result, err);
    } else if (assay_is_file(package)) {
        st = assay_case_package(tools, dir, result, err);
    } else {
        st = assay_fail(err, ASSAY_E_INPUT, "neither expected.json nor case.json is there: not a case folder");
    }
    if (st != ASSAY_OK) assay_wrap(err, "%s", dir);
    assay_json_free(e);
    free(expected);
    free(package);
    return st;
}
