/* Tells foreign files apart by their content and hands them to the reader of their format. Files that are known and yet no
 * evidence are refused with the reason. */
#include "import/formats.h"
#include "base/fs.h"
#include "base/names.h"
#include <stdlib.h>
#include <string.h>

enum { FILE_MAX_BYTES = 256 << 20 };

/* A log of a compiler is known by one line anywhere in it, so it is asked last. */
static const assay_importer *const importers[] = {
    &assay_import_plan_ops,     &assay_import_plan_profiler, &assay_import_plan_summary, &assay_import_plan_chunks,
    &assay_import_plan_usage,   &assay_import_analytics,     &assay_import_power_text,   &assay_import_power_plist,
    &assay_import_power_help,   &assay_import_plan_inspect,  &assay_import_compiler_log,
};

static bool has(const assay_json *j, const char *key) { return assay_json_get(j, key) != NULL; }

/* Known, and no evidence. NULL: not one of these. */
static const char *no_evidence(const assay_foreign *in) {
    const assay_json *j = in->json;
    if (has(j, "windows") && has(j, "units"))
        return "throughput by window: it holds no time of a single call, so no median and no p95 can be had from it";
    if (has(j, "training_results") || has(j, "results_by_chip"))
        return "ranges collected by hand: no sample, no order and no program digest stand behind them";
    if (strstr(in->text, "<trace-query-result") || strstr(in->text, "<trace-toc"))
        return "a trace export: the schemas of the Core ML and Neural Engine instruments are not known here, so its rows prove "
               "nothing; a power log with prediction intervals can";
    return NULL;
}

static void set_source(assay_json *record, const char *format, int version) {
    assay_json *source = assay_json_set(record, "source", assay_json_object());
    assay_json_set_string(source, "format", format);
    assay_json_set_int(source, "version", version);
}

static assay_status read_with(const assay_importer *importer, const assay_foreign *in, assay_json **out, assay_error *err) {
    assay_json *record = assay_json_object();
    set_source(record, importer->format, importer->version);
    assay_status st = importer->read(in, record, err);
    if (st == ASSAY_OK)
        *out = record;
    else
        assay_json_free(record);
    return st;
}

/* A record of ours: taken as it is. */
static bool is_neutral(const assay_json *j) {
    static const char *const schemas[] = {"compute-plan/1", "probe-run/1",          "placement-summary/1", "power-log/1",
                                          "power-samplers/1", "prediction-intervals/1", "compiler-log/1"};
    const char *schema = assay_json_kind(j) == ASSAY_J_OBJECT ? assay_json_string(j, "schema", NULL) : NULL;
    for (size_t i = 0; i < sizeof schemas / sizeof *schemas; i++)
        if (assay_streq(schema, schemas[i])) return true;
    return false;
}

static assay_status dispatch(const assay_foreign *in, assay_json **out, assay_error *err) {
    if (is_neutral(in->json)) {
        *out = assay_json_clone(in->json);
        return ASSAY_OK;
    }
    const char *why = no_evidence(in);
    if (why) return assay_fail(err, ASSAY_E_UNSUPPORTED, "%s: %s", in->what, why);
    for (size_t i = 0; i < sizeof importers / sizeof *importers; i++)
        if (importers[i]->matches(in)) return read_with(importers[i], in, out, err);
    return assay_fail(err, ASSAY_E_UNSUPPORTED, "%s: no known format of evidence (docs/reference/imports.md lists them); it counts as "
                                                "not measured", in->what);
}

assay_status assay_import_bytes(const char *data, size_t len, const char *what, assay_json **out, assay_error *err) {
    assay_json *json = NULL;
    assay_error not_json;
    char first = data[strspn(data, " \t\r\n")];
    if ((first == '{' || first == '[') && assay_json_parse(data, len, what, &json, &not_json)) {
        if (first == '{') return assay_fail(err, not_json.code, "%s", not_json.message); /* '[' also begins lines of logs */
        json = NULL;
    }
    assay_foreign in = {.text = data, .len = len, .what = what, .json = json};
    assay_status st = dispatch(&in, out, err);
    assay_json_free(json);
    return st;
}

assay_status assay_import_file(const char *path, assay_json **out, assay_error *err) {
    if (assay_is_dir(path)) {
        assay_json *record = assay_json_object();
        set_source(record, "compiled Core AI asset", 1);
        assay_status st = assay_import_regions(path, record, err);
        if (st == ASSAY_OK)
            *out = record;
        else
            assay_json_free(record);
        return st;
    }
    char *data = NULL;
    size_t len = 0;
    assay_status st = assay_read_file(path, FILE_MAX_BYTES, &data, &len, err);
    if (st == ASSAY_OK) st = assay_import_bytes(data, len, path, out, err);
    free(data);
    return st;
}
