/* The receipt: verdicts, validity, claims and the digests of everything that was read. No time, no path of this machine,
 * nothing of the judging machine, no plugin digests: the same evidence gives the same bytes everywhere. */
#include "run/judge.h"
#include "run/judging.h"
#include "base/digest.h"
#include "base/fs.h"
#include "base/names.h"
#include <stdlib.h>
#include <string.h>

static bool is(const assay_json *j, const char *key, const char *value) { return assay_streq(assay_json_string(j, key, ""), value); }

static void copy(assay_json *to, const assay_json *from, const char *const *keys) {
    for (; *keys; keys++) {
        const assay_json *v = assay_json_get(from, *keys);
        assay_json_set(to, *keys, v ? assay_json_clone(v) : assay_json_new_null());
    }
}

static assay_json *pick_rows(const assay_json *rows, const char *const *keys) {
    assay_json *out = assay_json_array();
    for (size_t i = 0; i < assay_json_len(rows); i++) copy(assay_json_append(out, assay_json_object()), assay_json_at(rows, i), keys);
    return out;
}

/* ---- evidence and identity */

static const assay_json *find_trial(const assay_json *list, const char *id) {
    for (size_t i = 0; i < assay_json_len(list); i++)
        if (is(assay_json_at(list, i), "trial", id)) return assay_json_at(list, i);
    return NULL;
}

static void add_evidence(const assay_json *asked, assay_json *out) {
    static const char *const keys[] = {"trial", "kind", "arm", "arm_b", "fixture", "perturb", "origin", "outcome", NULL};
    for (size_t i = 0; i < assay_json_len(asked); i++) {
        const assay_json *a = assay_json_at(asked, i);
        const char *id = assay_json_string(a, "trial", NULL);
        if (!id || !assay_json_string(a, "trial_sha256", NULL) || find_trial(out, id)) continue;
        assay_json *row = assay_json_append(out, assay_json_object());
        for (const char *const *k = keys; *k; k++)
            if (assay_json_get(a, *k)) assay_json_set(row, *k, assay_json_clone(assay_json_get(a, *k)));
        assay_json_set_string(row, "sha256", assay_json_string(a, "trial_sha256", ""));
    }
}

static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* Two texts of one profile are two devices. */
static assay_status check_one_profile(const assay_judging *j, const assay_json *identities, assay_error *err) {
    const char *first = NULL;
    for (const assay_json *id = assay_json_first(identities); id; id = assay_json_next(id)) {
        const char *sha = assay_json_string(id, "profile.sha256", NULL);
        if (sha && first && !assay_streq(sha, first))
            return assay_fail(err, ASSAY_E_INPUT, "%s: the evidence of host '%s' comes from two device profiles (%.12s and %.12s): the profile was changed; collect anew under another --host",
                              j->plan->dir, j->host, first, sha);
        if (sha) first = sha;
    }
    return ASSAY_OK;
}

/* What the trials say about the machines and backends that left them, each once. */
static assay_status add_identity(const assay_judging *j, const assay_json *evidence, assay_json *receipt, assay_error *err) {
    assay_ptrs texts = {0};
    assay_status st = ASSAY_OK;
    for (size_t i = 0; st == ASSAY_OK && i < assay_json_len(evidence); i++) {
        assay_json *trial = NULL;
        char sha[ASSAY_HEX];
        st = assay_trial_read(j->plan, j->host, assay_json_string(assay_json_at(evidence, i), "trial", ""), &trial, sha, err);
        if (st == ASSAY_OK) assay_ptrs_push(&texts, assay_json_print(assay_json_get(trial, "identity")));
        assay_json_free(trial);
    }
    if (texts.len) qsort(texts.items, texts.len, sizeof *texts.items, by_text);
    assay_json *list = assay_json_set(receipt, "identity", assay_json_array());
    for (size_t i = 0; i < texts.len; i++) {
        const char *t = texts.items[i];
        assay_json *id = NULL;
        if ((i == 0 || strcmp(t, texts.items[i - 1]) != 0) && assay_json_parse(t, strlen(t), "identity", &id, NULL) == ASSAY_OK) assay_json_append(list, id);
    }
    for (size_t i = 0; i < texts.len; i++) free(texts.items[i]);
    assay_ptrs_free(&texts);
    return st == ASSAY_OK ? check_one_profile(j, list, err) : st;
}

/* Options as used; of a path only the last part, for where a file lay is nothing of the experiment (its digest is). */
static assay_json *option_values(const assay_json *options) {
    assay_json *out = assay_json_object();
    for (size_t i = 0; i < assay_json_len(options); i++) {
        const assay_json *v = assay_json_at(options, i);
        const char *text = assay_json_text(v), *slash = text ? strrchr(text, '/') : NULL;
        assay_json_set(out, assay_json_key_at(options, i), slash ? assay_json_new_string(slash + 1) : assay_json_clone(v));
    }
    return out;
}

/* ---- priors: printed beside the outcome; one of another backend or scale never supports anything (M53) */

static assay_json *prior_rows(const assay_json *plan) {
    const assay_json *priors = assay_json_get(plan, "priors"), *target = assay_json_get(plan, "target");
    assay_json *out = assay_json_array();
    for (size_t i = 0; i < assay_json_len(priors); i++) {
        assay_json *row = assay_json_append(out, assay_json_clone(assay_json_at(priors, i)));
        const char *backend = assay_json_string(row, "backend", NULL), *unit = assay_json_string(target, "unit", "");
        bool same = backend && (assay_streq(backend, unit) || assay_streq(backend, assay_json_string(target, "framework", "")));
        assay_json_remove(row, "where");
        assay_json_set_string(row, "bearing", same ? "context" : "other backend: supports neither a kill nor a pass");
    }
    return out;
}

/* Says nothing when all is well: what a gate's cases are is nothing of the evidence. */
static void add_selftests(const assay_judging *j, assay_json *reasons) {
    for (size_t i = 0; i < assay_json_len(j->selftests); i++) {
        const assay_json *row = assay_json_at(j->selftests, i);
        const char *first = assay_json_text(assay_json_at(assay_json_get(row, "problems"), 0));
        char *text = assay_xprintf("the gate fails one of its own cases (%s): it is not believed", first ? first : "no answer");
        assay_json *r = assay_json_append(reasons, assay_json_object());
        assay_json_set_string(r, "code", "gate_self_test_failed");
        assay_json_set_string(r, "where", assay_json_string(row, "gate", ""));
        assay_json_set_string(r, "message", text);
        free(text);
    }
}

/* What was planned, without what is only a way to run it. */
static void add_plan(const assay_judging *j, assay_json *r) {
    static const char *const plan_keys[] = {"target", "seeds", "stop", "opset", "precision", "compute_units", "sources", NULL};
    static const char *const arm_keys[] = {"name", "role", "compute_units", "structural", "tree", "origin", NULL};
    static const char *const fixture_keys[] = {"name", "provenance", "digest", NULL};
    static const char *const script_keys[] = {"name", "sha256", NULL};
    const assay_json *plan = j->plan->json;
    assay_json_set_string(r, "schema", ASSAY_RECEIPT_SCHEMA);
    assay_json_set_string(r, "experiment", assay_json_string(plan, "name", ""));
    assay_json_set_string(r, "plan_sha256", j->plan->sha256);
    assay_json_set_bool(r, "sealed", assay_plan_is_sealed(j->plan));
    copy(r, plan, plan_keys);
    assay_json_set(r, "options", option_values(assay_json_get(plan, "options")));
    assay_json_set(r, "arms", pick_rows(assay_json_get(plan, "arms"), arm_keys));
    assay_json_set(r, "fixtures", pick_rows(assay_json_get(plan, "fixtures"), fixture_keys));
    assay_json_set(r, "scripts", pick_rows(assay_json_get(plan, "scripts"), script_keys));
    assay_json_set(r, "reference", assay_json_clone(assay_json_get(plan, "reference")));
}

static void add_outcome(const assay_judging *j, assay_json *r) {
    const assay_json *plan = j->plan->json;
    bool complete = !j->stopped && assay_json_len(j->missing) == 0;   /* else "not seen" is not "not there" */
    assay_json *reasons = assay_rule_validity(plan, j->rows, j->asked, complete);
    add_selftests(j, reasons);
    bool valid = assay_json_len(reasons) == 0;
    assay_json_set(r, "claims", assay_rule_claims(plan, j->rows, j->asked, j->kills, valid));
    assay_json_set_string(r, "verdict", assay_rule_run_verdict(j->rows, j->compares, reasons));
    assay_json_set_string(r, "standing", assay_rule_standing(plan, j->rows, j->asked));
    assay_json *validity = assay_json_set(r, "validity", assay_json_object());
    assay_json_set_bool(validity, "valid", valid);
    assay_json_set(validity, "reasons", reasons);
    assay_json_set(r, "must_fail", assay_rule_must_fail(plan, j->rows, j->asked));
    assay_json_set(r, "gates", assay_json_clone(j->rows));
    assay_json_set(r, "kills", assay_json_clone(j->kills));
    assay_json_set(r, "compares", assay_json_clone(j->compares));
    assay_json_set(r, "information", assay_json_clone(j->information));
    assay_json_set(r, "priors", prior_rows(plan));
    assay_json_set(r, "missing", assay_json_clone(j->missing));
}

assay_status assay_judging_receipt(assay_judging *j, assay_json **out, assay_error *err) {
    assay_json *r = assay_json_object();
    add_plan(j, r);
    add_outcome(j, r);
    assay_json *evidence = assay_json_set(r, "evidence", assay_json_array());
    for (size_t i = 0; i < assay_json_len(j->asked); i++) add_evidence(assay_json_at(j->asked, i), evidence);
    add_evidence(j->extra, evidence);
    assay_status st = add_identity(j, evidence, r, err);
    if (st != ASSAY_OK) assay_json_free(r);
    else *out = r;
    return st;
}

/* ---- files */

static assay_status write_json(const assay_plan *p, const char *name, const assay_json *j, assay_error *err) {
    assay_buf text = {0};
    assay_json_write(j, &text);
    char *path = assay_plan_path(p, name);
    assay_status st = assay_write_file(path, text.data, text.len, err);
    free(path);
    assay_buf_free(&text);
    return st;
}

/* receipt.json: one line per host, from the receipts that stand beside it. */
static assay_status write_index(const assay_plan *p, assay_error *err) {
    static const char *const keys[] = {"verdict", "standing", "sealed", NULL};
    char **names = NULL;
    size_t n = 0;
    assay_status st = assay_list_dir(p->dir, &names, &n, err);
    assay_json *index = assay_json_object(), *hosts = assay_json_set(index, "receipts", assay_json_array());
    assay_json_set_string(index, "schema", "assay-receipts/1");
    assay_json_set_string(index, "experiment", assay_json_string(p->json, "name", ""));
    assay_json_set_string(index, "plan_sha256", p->sha256);
    for (size_t i = 0; st == ASSAY_OK && i < n; i++) {
        if (!assay_starts_with(names[i], "receipt.") || !assay_ends_with(names[i], ".json") || assay_streq(names[i], "receipt.json")) continue;
        char *path = assay_plan_path(p, names[i]), hex[ASSAY_HEX];
        assay_json *r = NULL;
        st = assay_json_read_file(path, &r, err);
        if (st == ASSAY_OK) st = assay_sha256_file(path, hex, err);
        if (st == ASSAY_OK) {
            assay_json *row = assay_json_append(hosts, assay_json_object());
            assay_json_set_string(row, "file", names[i]);
            assay_json_set_string(row, "sha256", hex);
            copy(row, r, keys);
        }
        assay_json_free(r);
        free(path);
    }
    assay_list_free(names, n);
    if (st == ASSAY_OK) st = write_json(p, "receipt.json", index, err);
    assay_json_free(index);
    return st;
}

assay_status assay_receipt_write(const assay_plan *p, const char *host, const assay_json *receipt, assay_error *err) {
    char *name = assay_xprintf("receipt.%s.json", host);
    assay_status st = write_json(p, name, receipt, err);
    free(name);
    return st == ASSAY_OK ? write_index(p, err) : st;
}

int assay_receipt_exit(const assay_json *receipt, bool require_target) {
    if (is(receipt, "verdict", "invalid")) return 5;
    if (is(receipt, "verdict", "kill")) return 1;
    if (!is(receipt, "verdict", "pass")) return 4;
    return require_target && !is(receipt, "standing", "target") ? 6 : 0;
}
