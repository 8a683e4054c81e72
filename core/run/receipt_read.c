/* Reads a receipt back: of this schema, of the plan beside it, and the bytes that the index beside it lists. */
#include "run/judge.h"
#include "base/digest.h"
#include "base/fs.h"
#include "base/names.h"
#include <stdlib.h>

static assay_status check_schema(const char *path, const assay_json *receipt, assay_error *err) {
    const char *schema = assay_json_string(receipt, "schema", "");
    if (assay_streq(schema, ASSAY_RECEIPT_SCHEMA)) return ASSAY_OK;
    return assay_fail(err, ASSAY_E_INPUT, "%s: schema is \"%.40s\", expected \"%s\": name receipt.<host>.json of a run directory", path, schema, ASSAY_RECEIPT_SCHEMA);
}

static assay_status check_plan(const char *path, const char *dir, const assay_json *receipt, assay_error *err) {
    char *plan = assay_path_join(dir, "plan.json"), hex[ASSAY_HEX];
    const char *named = assay_json_string(receipt, "plan_sha256", "");
    assay_status st = assay_sha256_file(plan, hex, err);
    if (st == ASSAY_OK && !assay_streq(named, hex))
        st = assay_fail(err, ASSAY_E_INPUT, "%s is of plan %.12s, %s is plan %.12s: 'assay judge %s' writes its own receipt", path, *named ? named : "none", plan, hex, dir);
    free(plan);
    return st;
}

static const char *listed_digest(const assay_json *index, const char *name) {
    for (const assay_json *r = assay_json_first(assay_json_get(index, "receipts")); r; r = assay_json_next(r))
        if (assay_streq(assay_json_string(r, "file", ""), name)) return assay_json_string(r, "sha256", "");
    return "";
}

/* Whoever edits the index as well is not found out: digests detect accidents, not forgers. */
static assay_status check_index(const char *path, const char *dir, assay_error *err) {
    char *file = assay_path_join(dir, "receipt.json"), hex[ASSAY_HEX];
    assay_json *index = NULL;
    assay_status st = assay_is_file(file) ? assay_json_read_file(file, &index, err)
                                          : assay_fail(err, ASSAY_E_INPUT, "%s is absent: 'assay judge %s' writes it", file, dir);
    if (st == ASSAY_OK) st = assay_sha256_file(path, hex, err);
    if (st == ASSAY_OK && !assay_streq(listed_digest(index, assay_path_base(path)), hex))
        st = assay_fail(err, ASSAY_E_INPUT, "%s is not what was written (another digest stands in receipt.json): 'assay judge %s' writes it again from the evidence", path, dir);
    assay_json_free(index);
    free(file);
    return st;
}

assay_status assay_receipt_read(const char *path, assay_json **receipt, assay_error *err) {
    char *dir = assay_path_dir(path), *plan = assay_path_join(dir, "plan.json");
    assay_status st = assay_json_read_file(path, receipt, err);
    if (st == ASSAY_OK) st = check_schema(path, *receipt, err);
    if (st == ASSAY_OK && assay_is_file(plan)) st = check_plan(path, dir, *receipt, err);
    if (st == ASSAY_OK && assay_is_file(plan)) st = check_index(path, dir, err);
    if (st != ASSAY_OK) {
        assay_json_free(*receipt);
        *receipt = NULL;
    }
    free(plan);
    free(dir);
    return st;
}
