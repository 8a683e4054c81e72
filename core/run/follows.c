/* The word `follows`: an experiment that may only start from the stated outcome of an earlier one. */
#include "run/plan_build.h"
#include "base/digest.h"
#include "base/fs.h"
#include "base/names.h"
#include "run/judge.h"
#include <stdlib.h>
#include <string.h>

static assay_status check_wanted(const char *where, const assay_json *need, assay_error *err) {
    static const char *const verdicts[] = {"pass", "kill", "inconclusive", "not-measured", "invalid"};
    const char *wanted = assay_json_text(need);
    char hint[96];
    for (size_t i = 0; wanted && i < sizeof verdicts / sizeof *verdicts; i++)
        if (assay_streq(verdicts[i], wanted)) return ASSAY_OK;
    return assay_fail(err, ASSAY_E_INPUT, "%s: follows.needs.%s: expected a verdict (pass, kill, inconclusive, not-measured, invalid)%s", where, assay_json_key(need),
                      wanted ? assay_did_you_mean(hint, wanted, verdicts, sizeof verdicts / sizeof *verdicts) : "");
}

/* The last gate of that name decides: an experiment may ask one gate of several arms. */
static assay_status check_need(const char *where, const char *receipt_path, const assay_json *receipt, const assay_json *need, assay_error *err) {
    const char *gate = assay_json_key(need), *got = NULL, *names[64];
    char hint[96];
    size_t n = 0;
    assay_status st = check_wanted(where, need, err);
    if (st != ASSAY_OK) return st;
    for (const assay_json *row = assay_json_first(assay_json_get(receipt, "gates")); row; row = assay_json_next(row)) {
        const char *name = assay_json_string(row, "gate", "");
        if (n < 64) names[n++] = name;
        if (assay_streq(name, gate)) got = assay_json_string(row, "printed", "");
    }
    if (!got) return assay_fail(err, ASSAY_E_INPUT, "%s: follows: %s has no gate '%s'%s", where, receipt_path, gate, assay_did_you_mean(hint, gate, names, n));
    if (assay_streq(got, assay_json_text(need))) return ASSAY_OK;
    return assay_fail(err, ASSAY_E_INPUT, "%s: follows: gate '%s' of %s is %s, and this experiment starts only from %s: run the earlier one first, or state another start", where,
                      gate, receipt_path, got, assay_json_text(need));
}

static assay_status check_receipt(const char *where, const char *path, const assay_json *receipt, const assay_json *needs, assay_error *err) {
    if (!assay_json_bool(assay_json_get(receipt, "validity"), "valid", false))
        return assay_fail(err, ASSAY_E_INPUT, "%s: follows: the run of %s is invalid: nothing can start from it", where, path);
    assay_status st = ASSAY_OK;
    for (const assay_json *n = assay_json_first(needs); st == ASSAY_OK && n; n = assay_json_next(n)) st = check_need(where, path, receipt, n, err);
    return st;
}

assay_status assay_plan_build_follows(assay_plan_build *b, assay_error *err) {
    const assay_json *f = assay_json_get(b->desc, "follows");
    if (assay_json_kind(f) != ASSAY_J_OBJECT) return ASSAY_OK;
    const char *given = assay_json_string(f, "receipt", ""), *where = assay_json_string(f, "where", b->o->script);
    char *dir = assay_path_dir(b->o->script), *path = *given == '/' ? assay_xstrdup(given) : assay_path_join(dir, given), hex[ASSAY_HEX];
    assay_json *receipt = NULL;
    assay_status st = ASSAY_OK;
    if (!assay_is_file(path)) st = assay_fail(err, ASSAY_E_INPUT, "%s: follows: there is no receipt %s yet: run the earlier experiment first", where, path);
    else if (assay_receipt_read(path, &receipt, err) != ASSAY_OK) st = assay_wrap(err, "%s: follows", where);
    if (st == ASSAY_OK) st = check_receipt(where, given, receipt, assay_json_get(f, "needs"), err);
    if (st == ASSAY_OK) st = assay_sha256_file(path, hex, err);
    if (st == ASSAY_OK) {
        assay_json *row = assay_json_get(b->plan, "follows");
        assay_json_set_string(row, "receipt", assay_path_base(given));
        assay_json_set_string(row, "sha256", hex);
        for (const char *const *k = (const char *const[]){"experiment", "verdict", "standing", NULL}; *k; k++) assay_json_set_string(row, *k, assay_json_string(receipt, *k, ""));
    }
    assay_json_free(receipt);
    free(path);
    free(dir);
    return st;
}
