/* Planning: the files of the word `record` are copied into the run directory, and each must be one that a gate asks for. */
#include "run/gather.h"
#include "run/plan_build.h"
#include "base/digest.h"
#include "base/fs.h"
#include "base/names.h"
#include <stdlib.h>
#include <string.h>

/* ".json" of "a.json"; "" when there is none that could stand in a file name of ours. */
static const char *suffix_of(const char *file) {
    const char *dot = strrchr(assay_path_base(file), '.');
    return dot && assay_is_plain_name(dot + 1) ? dot : "";
}

static char *stored_name(const assay_json *record) {
    const char *arm = assay_json_string(record, "arm", "");
    return assay_xprintf("records/%s%s%s%s", assay_json_string(record, "name", ""), *arm ? "@" : "", arm, suffix_of(assay_json_string(record, "file", "")));
}

static assay_status store(assay_plan_build *b, const char *from, const char *rel, assay_json *row, assay_error *err) {
    char *to = assay_path_join(b->tmp, rel), *dir = assay_path_dir(to), hex[ASSAY_HEX];
    assay_status st = assay_mkdirs(dir, err);
    if (st == ASSAY_OK) st = assay_copy_file(from, to, err);
    if (st == ASSAY_OK) st = assay_sha256_file(to, hex, err);
    if (st == ASSAY_OK) {
        assay_json_set_string(row, "file", rel);
        assay_json_set_string(row, "sha256", hex);
    }
    free(to);
    free(dir);
    return st;
}

static assay_status build_record(assay_plan_build *b, const assay_json *record, assay_json *row, assay_error *err) {
    const char *given = assay_json_string(record, "file", ""), *arm = assay_json_string(record, "arm", NULL);
    char *dir = assay_path_dir(b->o->script), *from = *given == '/' ? assay_xstrdup(given) : assay_path_join(dir, given), *rel = stored_name(record);
    assay_status st = ASSAY_OK;
    assay_json_set_string(row, "name", assay_json_string(record, "name", ""));
    if (arm) assay_json_set_string(row, "arm", arm);
    if (assay_is_file(from)) {
        st = store(b, from, rel, row, err);
    } else {
        char *why = assay_xprintf("the file %s was not there when this was planned: record it, then plan again", assay_path_base(given));
        assay_json_set_string(row, "why", why);
        free(why);
    }
    free(dir);
    free(from);
    free(rel);
    return st;
}

static bool same(const assay_json *a, const char *name, const char *arm) {
    return assay_streq(assay_json_string(a, "name", ""), name) && assay_streq(assay_json_string(a, "arm", ""), arm);
}

assay_status assay_plan_build_records(assay_plan_build *b, assay_error *err) {
    const assay_json *list = assay_json_get(b->desc, "records");
    if (assay_json_len(list) == 0) return ASSAY_OK;
    assay_json *rows = assay_json_set(b->plan, "records", assay_json_array());
    assay_status st = ASSAY_OK;
    for (const assay_json *r = assay_json_first(list); st == ASSAY_OK && r; r = assay_json_next(r)) {
        const char *name = assay_json_string(r, "name", ""), *arm = assay_json_string(r, "arm", "");
        for (const assay_json *old = assay_json_first(rows); old; old = assay_json_next(old))
            if (same(old, name, arm))
                return assay_fail(err, ASSAY_E_INPUT, "%s: record \"%s\": there is one of that name%s%s already", assay_json_string(r, "where", ""), name,
                                  *arm ? " of arm " : "", arm);
        st = build_record(b, r, assay_json_append(rows, assay_json_object()), err);
    }
    return st;
}

/* ---- what the gates ask for */

/* The name of the record that would answer a need, NULL when none could. */
static const char *record_of(const assay_json *need) {
    const char *kind = assay_json_string(need, "kind", "");
    return assay_streq(kind, "record") ? assay_json_string(need, "record", "") : assay_streq(kind, "plan") ? ASSAY_PLAN_RECORD : NULL;
}

/* [{name, arm}] of all gates, before there is any evidence. */
static assay_status list_asked(const assay_plan_build *b, assay_json *asked, assay_error *err) {
    assay_status st = ASSAY_OK;
    for (size_t i = 0, n = assay_json_len(assay_json_get(b->plan, "gates")); st == ASSAY_OK && i < n; i++) {
        assay_json *needs = NULL;
        st = assay_gate_first_needs(b->plan, b->o->registry, i, &needs, err);
        for (const assay_json *need = assay_json_first(needs); need; need = assay_json_next(need)) {
            const char *name = record_of(need);
            if (!name) continue;
            assay_json *row = assay_json_append(asked, assay_json_object());
            assay_json_set_string(row, "name", name);
            assay_json_set_string(row, "arm", assay_json_string(need, "arm", ""));
        }
        assay_json_free(needs);
    }
    return st;
}

static assay_status refuse_unasked(const assay_json *record, const assay_json *asked, assay_error *err) {
    const char *name = assay_json_string(record, "name", ""), *arm = assay_json_string(record, "arm", ""), *names[64], *asks_arm = NULL;
    size_t n = 0;
    char hint[96], *which;
    for (const assay_json *a = assay_json_first(asked); a; a = assay_json_next(a)) {
        if (same(a, name, arm)) return ASSAY_OK;
        if (assay_streq(assay_json_string(a, "name", ""), name)) asks_arm = assay_json_string(a, "arm", "");
        if (n < 64) names[n++] = assay_json_string(a, "name", "");
    }
    const char *where = assay_json_string(record, "where", "");
    if (!asks_arm)
        return assay_fail(err, ASSAY_E_INPUT, "%s: record \"%s\": no gate of this experiment asks for it%s", where, name, assay_did_you_mean(hint, name, names, n));
    which = *asks_arm ? assay_xprintf("arm = \"%s\"", asks_arm) : assay_xstrdup("no arm");
    assay_fail(err, ASSAY_E_INPUT, "%s: record \"%s\": the gates ask for it with %s, not with %s%s", where, name, which, *arm ? "arm = " : "no arm", arm);
    free(which);
    return ASSAY_E_INPUT;
}

assay_status assay_plan_check_records(const assay_plan_build *b, assay_error *err) {
    const assay_json *list = assay_json_get(b->desc, "records");
    if (assay_json_len(list) == 0) return ASSAY_OK;
    assay_json *asked = assay_json_array();
    assay_status st = list_asked(b, asked, err);
    for (const assay_json *r = assay_json_first(list); st == ASSAY_OK && r; r = assay_json_next(r)) st = refuse_unasked(r, asked, err);
    assay_json_free(asked);
    return st;
}
