/* Dumps that give shares or counts of a whole model. They place no op by name, so no rule about an op can be judged by them. */
#include "import/formats.h"
#include "base/names.h"
#include <math.h>

static bool has(const assay_json *j, const char *key) { return assay_json_kind(j) == ASSAY_J_OBJECT && assay_json_get(j, key); }

static const assay_json *first_of(const assay_json *list) {
    return assay_json_kind(list) == ASSAY_J_ARRAY ? assay_json_first(list) : NULL;
}

static assay_json *add_row(assay_json *rows, const char *model, const char *units, double ops) {
    assay_json *row = assay_json_append(rows, assay_json_object());
    assay_json_set_string(row, "model", model);
    assay_json_set_string(row, "requested_units", units);
    assay_json_set_number(row, "ops", ops);
    return row;
}

static assay_json *begin(assay_json *record) {
    assay_json_set_string(record, "schema", "placement-summary/1");
    return assay_json_set(record, "rows", assay_json_array());
}

/* ---- shares by cost and by count, a row for each model and policy; devices without ops are left out of the maps */
static bool is_shares(const assay_foreign *in) { return has(first_of(assay_json_get(in->json, "rows")), "by_cost_fraction"); }

static void copy(assay_json *to, const char *as, const assay_json *from) {
    assay_json_set(to, as, from ? assay_json_clone(from) : assay_json_new_null());
}

static assay_status read_shares(const assay_foreign *in, assay_json *record, assay_error *err) {
    (void)err;
    assay_json *rows = begin(record), *host = assay_json_set(record, "host", assay_json_object());
    assay_json_set_string(host, "chip", assay_json_string(in->json, "chip", NULL));
    assay_json_set_string(host, "version", assay_json_string(in->json, "macos", NULL));
    assay_json_set_string(host, "build", NULL);
    for (const assay_json *r = assay_json_first(assay_json_get(in->json, "rows")); r; r = assay_json_next(r)) {
        assay_json *row = add_row(rows, assay_json_string(r, "model", ""), assay_json_string(r, "units", NULL),
                                  assay_json_number(r, "ops", NAN));
        copy(row, "share_of_cost_estimated", assay_json_get(r, "by_cost_fraction"));
        copy(row, "share_of_ops", assay_json_get(r, "by_count_fraction"));
    }
    return ASSAY_OK;
}

const assay_importer assay_import_plan_summary = {"MLComputePlan summary", 1, is_shares, read_shares};

/* ---- counts per chunk: on the Neural Engine or not, nothing about which other device */
static bool is_chunks(const assay_foreign *in) { return has(first_of(in->json), "aneOps"); }

static assay_status read_chunks(const assay_foreign *in, assay_json *record, assay_error *err) {
    (void)err;
    assay_json *rows = begin(record);
    for (const assay_json *c = assay_json_first(in->json); c; c = assay_json_next(c)) {
        double total = assay_json_number(c, "totalOps", NAN), ne = assay_json_number(c, "aneOps", NAN);
        assay_json *row = add_row(rows, assay_json_string(c, "chunkName", ""), NULL, total);
        assay_json_set(row, "share_of_cost_estimated", assay_json_new_null());
        assay_json *share = assay_json_set(row, "share_of_ops", assay_json_object());
        assay_json_set_number(share, "ANE", ne / total); /* of no ops: undefined */
    }
    return ASSAY_OK;
}

const assay_importer assay_import_plan_chunks = {"counts per chunk", 1, is_chunks, read_chunks};

/* ---- only with and without a device: nothing about which */
static bool is_usage(const assay_foreign *in) { return has(in->json, "with_device") && has(in->json, "no_device"); }

static assay_status read_usage(const assay_foreign *in, assay_json *record, assay_error *err) {
    (void)record;
    return assay_fail(err, ASSAY_E_UNSUPPORTED, "%s: it counts ops with and without a device, and does not say which device: not measured",
                      in->what);
}

const assay_importer assay_import_plan_usage = {"device usage counts", 1, is_usage, read_usage};
