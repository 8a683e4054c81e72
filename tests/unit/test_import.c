/* Importers: every file of the evidence corpus is read or refused with its reason; each format by hand; damaged input. */
#include "unit/suite.h"
#include "base/fs.h"
#include "base/names.h"
#include "import/import.h"
#include "plugin/evidence.h"
#include <math.h>

/* What becomes of each file: the schema of its record, or words of the refusal. */
static const struct {
    const char *file, *schema, *refusal;
} corpus[] = {
    {"SOURCES.tsv", NULL, "no known format"},
    {"analytics-mil/affine.analytics.mil", "compute-plan/1", NULL},
    {"analytics-mil/argsort_w.analytics.mil", "compute-plan/1", NULL},
    {"computeplan/ane-residency-chunks.json", "placement-summary/1", NULL},
    {"computeplan/placement-m4-pro.json", "placement-summary/1", NULL},
    {"latency/ane-community-results.json", NULL, "collected by hand"},
    {"latency/soak-whisper-cpu_and_ne.json", NULL, "no time of a single call"},
    {"powermetrics/m1-macos11-gb5-opencl.txt", "power-log/1", NULL},
    {"powermetrics/m1-macos11-help.txt", "power-samplers/1", NULL},
    {"powermetrics/m4max-macos15-default.log", "power-log/1", NULL},
    {"powermetrics/m4pro-macos15-gpu-many.plist", "power-log/1", NULL},
    {"powermetrics/m4pro-macos15-gpu-one.plist", "power-log/1", NULL},
};

static char *corpus_path(const char *shared, const char *file) { return assay_xprintf("%s/corpus/evidence/%s", shared, file); }

static assay_json *import_corpus(const char *file) {
    const char *shared = shared_or_skip();
    assay_json *record = NULL;
    assay_error err;
    if (!shared) return NULL;
    char *path = corpus_path(shared, file);
    CU_ASSERT_EQUAL_FATAL(assay_import_file(path, &record, &err), ASSAY_OK);
    free(path);
    return record;
}

static void every_file_is_read_or_refused(void) {
    const char *shared = shared_or_skip();
    if (!shared) return;
    for (size_t i = 0; i < sizeof corpus / sizeof *corpus; i++) {
        char *path = corpus_path(shared, corpus[i].file);
        assay_json *record = NULL;
        assay_error err = {0};
        assay_status st = assay_import_file(path, &record, &err);
        if (corpus[i].schema) {
            CU_ASSERT_EQUAL(st, ASSAY_OK);
            CU_ASSERT_STRING_EQUAL(assay_json_string(record, "schema", ""), corpus[i].schema);
            CU_ASSERT(assay_json_number(assay_json_get(record, "source"), "version", 0) >= 1);
        } else {
            CU_ASSERT_EQUAL(st, ASSAY_E_UNSUPPORTED);
            CU_ASSERT_PTR_NOT_NULL(strstr(err.message, corpus[i].refusal));
        }
        assay_json_free(record);
        free(path);
    }
}

static size_t count_files(const char *folder) {
    char **names = NULL;
    size_t n = 0, files = 0;
    assay_error err;
    CU_ASSERT_EQUAL_FATAL(assay_list_dir(folder, &names, &n, &err), ASSAY_OK);
    for (size_t i = 0; i < n; i++) {
        char *path = assay_path_join(folder, names[i]);
        files += assay_is_dir(path) ? count_files(path) : 1;
        free(path);
    }
    assay_list_free(names, n);
    return files;
}

static void the_table_has_every_file(void) {
    const char *shared = shared_or_skip();
    if (!shared) return;
    char *folder = corpus_path(shared, "");
    CU_ASSERT_EQUAL(count_files(folder), sizeof corpus / sizeof *corpus);
    free(folder);
}

static const assay_json *op_named(const assay_json *plan, const char *name) {
    for (const assay_json *o = assay_json_first(assay_json_get(plan, "operations")); o; o = assay_json_next(o))
        if (assay_streq(assay_json_string(o, "name", ""), name)) return o;
    return NULL;
}

/* The compiler's choice is read, not inferred: conv is supported on the unit and still on the CPU. M40_yes */
static void analytics_hold_choice_and_reason(void) {
    assay_json *plan = import_corpus("analytics-mil/argsort_w.analytics.mil");
    if (!plan) return;
    const assay_json *conv = op_named(plan, "wrap_in0_0_conv"), *sort = op_named(plan, "argsort_0");
    CU_ASSERT_STRING_EQUAL(assay_json_string(conv, "preferred", ""), "CPU");
    CU_ASSERT_STRING_EQUAL(assay_json_string(conv, "backend", ""), "bnns");
    CU_ASSERT_EQUAL(assay_json_len(assay_json_get(conv, "supported")), 2);
    CU_ASSERT_PTR_NULL(assay_json_get(conv, "refused"));
    CU_ASSERT_STRING_EQUAL(assay_json_string(assay_json_get(sort, "refused"), "ane", ""), "Unsupported tensor data type: int32");
    double sum = 0;
    for (const assay_json *o = assay_json_first(assay_json_get(plan, "operations")); o; o = assay_json_next(o))
        sum += assay_json_number(o, "cost", 0); /* the move to the output's buffer has no estimate */
    CU_ASSERT(isnan(assay_json_number(op_named(plan, "wrap_out_1_relu"), "cost", NAN)));
    CU_ASSERT(fabs(sum - 1) < 1e-9);
    assay_json_free(plan);
}

static double count_ane(const assay_json *log, bool zero) {
    double n = 0;
    for (const assay_json *s = assay_json_first(assay_json_get(log, "samples")); s; s = assay_json_next(s)) {
        double mw = assay_json_value(assay_json_path(s, "rails_mw.ane"));
        n += zero ? mw >= 0 && mw <= 0 : isnan(mw);
    }
    return n;
}

/* 156 samples, 157 lines with the rail: the last block is over the whole run. M48_yes */
static void summary_blocks_are_no_samples(void) {
    assay_json *log = import_corpus("powermetrics/m1-macos11-gb5-opencl.txt");
    if (!log) return;
    CU_ASSERT_EQUAL(assay_json_len(assay_json_get(log, "samples")), 156);
    CU_ASSERT_EQUAL(count_ane(log, true), 156);
    CU_ASSERT_EQUAL(assay_json_number(log, "summaries", 0), 1);
    const assay_json *first = assay_json_first(assay_json_get(log, "samples"));
    CU_ASSERT_EQUAL(assay_json_number(first, "end_s", 0), 1614500409); /* 2021-02-28 08:20:09 UTC */
    CU_ASSERT_EQUAL(assay_json_value(assay_json_path(first, "rails_mw.package")), 59);
    assay_json_free(log);
}

/* Without the cpu_power sampler there is no rail: not sampled, which is not zero. M48_no */
static void missing_rails_are_not_zero(void) {
    assay_json *log = import_corpus("powermetrics/m4pro-macos15-gpu-many.plist");
    if (!log) return;
    CU_ASSERT_EQUAL(assay_json_len(assay_json_get(log, "samples")), 5);
    CU_ASSERT_EQUAL(count_ane(log, false), 5);
    CU_ASSERT_STRING_EQUAL(assay_json_string(log, "os_build", ""), "24F74");
    CU_ASSERT_EQUAL(assay_json_number(assay_json_at(assay_json_get(log, "samples"), 0), "end_s", 0), 1751778915);
    assay_json_free(log);
}

static assay_json *import_text(const char *text, assay_status want) {
    assay_json *record = NULL;
    assay_error err = {0};
    CU_ASSERT_EQUAL(assay_import_bytes(text, strlen(text), "test", &record, &err), want);
    return record;
}

#define DOC(processor)                                                                                                           \
    "<?xml version=\"1.0\"?><plist version=\"1.0\"><dict><key>elapsed_ns</key><integer>2000000000</integer>"                      \
    "<key>timestamp</key><date>2025-07-06T05:15:15Z</date>" processor "</dict></plist>"

/* Two GPU lines are one rail; a last sample that was cut loses its rails; local time and zone give one clock. */
static void text_samples_by_hand(void) {
#define HEAD(second) "*** Sampled system activity (Sun Feb 28 00:20:" second " 2021 +0130) (1000.00ms elapsed) ***\n"
    assay_json *log = import_text("\nMachine model: Macmini9,1\nOS version: 20D80\n\n" HEAD("09") "ANE Power: 47 mW\nGPU Power: 1 mW\nGPU Power: 2 mW\n" HEAD(
                                      "10") "ANE Power: 4",
                                  ASSAY_OK);
    const assay_json *first = assay_json_at(assay_json_get(log, "samples"), 0), *last = assay_json_at(assay_json_get(log, "samples"), 1);
    CU_ASSERT_EQUAL(assay_json_value(assay_json_path(first, "rails_mw.gpu")), 1);
    CU_ASSERT_EQUAL(assay_json_number(first, "end_s", 0), 1614466209); /* 2021-02-27 22:50:09 UTC */
    CU_ASSERT_EQUAL(assay_json_len(assay_json_get(last, "rails_mw")), 0);
    CU_ASSERT_EQUAL(assay_json_number(log, "cut", 0), 1);
    assay_json_free(log);
    CU_ASSERT_PTR_NULL(import_text("Machine model: M\n\n*** Sampled system activity (yesterday) ***\n", ASSAY_E_INPUT));
}

static void energy_becomes_power(void) {
    assay_json *log = import_text(DOC("<key>processor</key><dict><key>ane_energy</key><integer>94</integer></dict>"), ASSAY_OK);
    const assay_json *s = assay_json_at(assay_json_get(log, "samples"), 0);
    CU_ASSERT_EQUAL(assay_json_value(assay_json_path(s, "rails_mw.ane")), 47);
    CU_ASSERT(isnan(assay_json_value(assay_json_path(s, "rails_mw.cpu"))));
    assay_json_free(log);
}

/* A rail of another dictionary is not the rail of the processor; a document that was cut is counted as such. */
static void only_whole_documents_count(void) {
    assay_json *log = import_text(DOC("<key>task</key><dict><key>ane_energy</key><integer>94</integer></dict>"), ASSAY_OK);
    CU_ASSERT_EQUAL(count_ane(log, false), 1);
    assay_json_free(log);
    log = import_text("<?xml version=\"1.0\"?><plist><dict><key>elapsed_ns</key><integer>5</integer>", ASSAY_OK);
    CU_ASSERT_EQUAL(assay_json_len(assay_json_get(log, "samples")), 0);
    CU_ASSERT_EQUAL(assay_json_number(log, "cut", 0), 1);
    assay_json_free(log);
}

static void plans_of_each_tool(void) {
    assay_json *p = import_text("{\"compute_units\":\"ALL\",\"operations\":[{\"operator\":\"ios18.linear\",\"preferred\":\"NeuralEngine\","
                                "\"supported\":[\"CPU\"],\"cost\":0.5},{\"operator\":\"const\",\"preferred\":null}]}",
                                ASSAY_OK);
    const assay_json *op = assay_json_at(assay_json_get(p, "operations"), 0);
    CU_ASSERT_STRING_EQUAL(assay_json_string(op, "preferred", ""), "NE");
    CU_ASSERT_STRING_EQUAL(assay_json_string(p, "requested_units", ""), "ALL");
    assay_json_free(p);
    p = import_text("[{\"op_number\":1,\"operator_id\":\"q\",\"operatorName\":\"ios18.linear\",\"cost\":0.5,\"preferred_device\":\"ANE\","
                    "\"supported_devices\":\"CPU,ANE\"}]",
                    ASSAY_OK);
    CU_ASSERT_EQUAL(assay_json_len(assay_json_get(op_named(p, "q"), "supported")), 2);
    assay_json_free(p);
    p = import_text("w = const()\n0.68% G|CN g = ios16.gather(axis: [\"a\"])\n", ASSAY_OK);
    CU_ASSERT_STRING_EQUAL(assay_json_string(op_named(p, "g"), "preferred", ""), "GPU");
    CU_ASSERT_STRING_EQUAL(assay_json_string(op_named(p, "g"), "type", ""), "ios16.gather");
    assay_json_free(p);
    CU_ASSERT_PTR_NULL(import_text("{\"with_device\":3,\"no_device\":1}", ASSAY_E_UNSUPPORTED));
    CU_ASSERT_PTR_NULL(import_text("{\"operations\":", ASSAY_E_INPUT));
}

/* M46_no: a trace whose tables are not known proves nothing. M216_no: the log of a palettisation that did not happen is read as such. */
static void logs_and_traces(void) {
    CU_ASSERT_PTR_NULL(import_text("<?xml version=\"1.0\"?><trace-query-result><node/></trace-query-result>", ASSAY_E_UNSUPPORTED));
    assay_json *log = import_text("a\nx ANECCompile() FAILED (11)\n", ASSAY_OK);
    CU_ASSERT_EQUAL(assay_json_number(assay_json_at(assay_json_get(log, "markers"), 0), "line", 0), 2);
    CU_ASSERT(assay_json_bool(log, "neural_engine_compile_failed", false));
    assay_json_free(log);
    log = import_text("Skipping palettization of layer a\n", ASSAY_OK);
    CU_ASSERT_FALSE(assay_json_bool(log, "neural_engine_compile_failed", true));
    CU_ASSERT_STRING_EQUAL(assay_json_string(assay_json_at(assay_json_get(log, "markers"), 0), "means", ""), "weights were not palettised");
    assay_json_free(log);
}

/* Cut and changed input is read, or refused with a message: never more than that. */
static void damaged_files_end_in_a_message(void) {
    const char *shared = shared_or_skip();
    for (size_t i = 0; shared && i < sizeof corpus / sizeof *corpus; i++) {
        char *path = corpus_path(shared, corpus[i].file), *data = NULL;
        size_t len = 0;
        assay_error err = {0};
        CU_ASSERT_EQUAL_FATAL(assay_read_file(path, 1 << 20, &data, &len, &err), ASSAY_OK);
        if (len > 8000) len = 8000;
        for (size_t cut = len, k = 1; cut > 0; cut -= cut < 397 ? cut : 397, k++) {
            assay_json *record = NULL;
            data[cut] = 0;
            data[k * 131 % cut] = (char)(k * 37);
            err.message[0] = 0;
            if (assay_import_bytes(data, cut, "damaged", &record, &err) != ASSAY_OK) CU_ASSERT(err.message[0] != 0);
            assay_json_free(record);
        }
        free(data);
        free(path);
    }
}

static void unknown_plans_are_not_measured(void) {
    const char *path = ASSAY_SOURCE_DIR "/README.md";
    assay_evidence_set *ev = assay_evidence_new();
    assay_error err;
    CU_ASSERT_EQUAL(assay_evidence_add_file(ev, "plan", path, &err), ASSAY_OK);
    CU_ASSERT_EQUAL(assay_evidence_at(ev, 0)->state, ASSAY_STATE_NOT_MEASURED);
    CU_ASSERT_EQUAL(assay_evidence_add_file(ev, "stderr", path, &err), ASSAY_OK);
    CU_ASSERT_EQUAL(assay_evidence_at(ev, 1)->state, ASSAY_OK_STATE);
    assay_evidence_free(ev);
}

/* Regions of a compiled asset are counted by unit; a folder that is none is refused. */
static void regions_of_a_compiled_asset(void) {
    assay_error err;
    char *root = assay_xprintf("%s/import_test.aimodelc", ASSAY_BUILD_DIR), *inner = assay_path_join(root, "main-h13-delegates");
    char *meta = assay_path_join(root, "metadata.json"), *a = assay_path_join(inner, "m_ANE_region_0"), *b = assay_path_join(inner, "m_GPU_region_1");
    CU_ASSERT_EQUAL(assay_remove_tree(root, &err), ASSAY_OK);
    CU_ASSERT_EQUAL(assay_mkdirs(inner, &err), ASSAY_OK);
    assay_json *r = NULL;
    CU_ASSERT_EQUAL(assay_import_file(root, &r, &err), ASSAY_E_UNSUPPORTED);
    CU_ASSERT_EQUAL(assay_write_file(meta, "{}", 2, &err), ASSAY_OK);
    CU_ASSERT_EQUAL(assay_write_file(a, "", 0, &err), ASSAY_OK);
    CU_ASSERT_EQUAL(assay_write_file(b, "", 0, &err), ASSAY_OK);
    CU_ASSERT_EQUAL_FATAL(assay_import_file(root, &r, &err), ASSAY_OK);
    CU_ASSERT_EQUAL(assay_json_value(assay_json_path(r, "artifact.regions.ANE")), 1);
    CU_ASSERT_EQUAL(assay_json_value(assay_json_path(r, "artifact.regions.other")), 1);
    assay_json_free(r);
    assay_remove_tree(root, &err);
    free(root), free(inner), free(meta), free(a), free(b);
}

ASSAY_SUITE("import", TEST(every_file_is_read_or_refused), TEST(the_table_has_every_file), TEST(analytics_hold_choice_and_reason),
            TEST(summary_blocks_are_no_samples), TEST(missing_rails_are_not_zero), TEST(text_samples_by_hand), TEST(energy_becomes_power),
            TEST(only_whole_documents_count), TEST(plans_of_each_tool), TEST(logs_and_traces), TEST(damaged_files_end_in_a_message),
            TEST(unknown_plans_are_not_measured), TEST(regions_of_a_compiled_asset))
