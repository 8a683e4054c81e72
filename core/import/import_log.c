/* Lines of compilers and runtimes that mean something, and the parts of a compiled asset. Tools wrap these lines in their own
 * way, so only the stable part of each is looked for, anywhere in the text. */
#include "import/formats.h"
#include "base/fs.h"
#include "base/names.h"
#include <stdlib.h>
#include <string.h>

/* The list has a version of its own (that of the importer): a new marker can turn an old log around. */
static const struct marker {
    const char *text, *means;
    bool failed; /* the Neural Engine compile failed */
} markers[] = {
    {"MILCompilerForANE error", "the Neural Engine compile failed; Core ML may go on elsewhere", true},
    {"ANECCompile() FAILED", "the Neural Engine compile failed", true},
    {"ANECCompileOffline() failed", "the Core AI build tool fell back, and may still exit with 0", true},
    {"Failed to build the model execution plan", "there is no plan for the requested units", true},
    {"failed to load ANE model", "an older runtime could not load the model on the Neural Engine", true},
    {"com.apple.appleneuralengine.compiler", "the Neural Engine compile failed, by a private API", true},
    {"Skipping palettization", "weights were not palettised", false},
    {"[CostModelFeature]", "figures of the cost model, on a cold cache only", false},
    {"Unsupported op ", "a backend refused an op", false},
};
enum { MARKERS = sizeof markers / sizeof *markers };

static bool is_log(const assay_foreign *in) {
    for (size_t i = 0; !in->json && i < MARKERS; i++)
        if (strstr(in->text, markers[i].text)) return true;
    return false;
}

static double line_of(const char *text, const char *at) {
    double line = 1;
    for (; text < at; text++) line += *text == '\n';
    return line;
}

static assay_status read_log(const assay_foreign *in, assay_json *record, assay_error *err) {
    size_t text_bytes = strlen(in->text);
    if (text_bytes != in->len) /* what stands behind it was not looked at, and could be the failure */
        return assay_fail(err, ASSAY_E_INPUT, "%s: byte %zu is NUL: a damaged log says nothing about what it does not show; save it as text",
                          in->what, text_bytes);
    assay_json_set_string(record, "schema", "compiler-log/1");
    assay_json *found = assay_json_set(record, "markers", assay_json_array());
    bool failed = false;
    for (size_t i = 0; i < MARKERS; i++) {
        const char *at = strstr(in->text, markers[i].text);
        if (!at) continue;
        assay_json *m = assay_json_append(found, assay_json_object());
        assay_json_set_string(m, "text", markers[i].text);
        assay_json_set_string(m, "means", markers[i].means);
        assay_json_set_number(m, "line", line_of(in->text, at));
        failed = failed || markers[i].failed;
    }
    assay_json_set_bool(record, "neural_engine_compile_failed", failed);
    return ASSAY_OK;
}

const assay_importer assay_import_compiler_log = {"compiler log", 1, is_log, read_log};

/* ---- X.aimodelc: each delegate folder holds the files of its regions */
static bool count_regions(const char *folder, int depth, double *ne, double *all) {
    char **names = NULL;
    size_t n = 0;
    assay_error ignored;
    if (depth > 8 || assay_list_dir(folder, &names, &n, &ignored) != ASSAY_OK) return false;
    bool read = true;
    for (size_t i = 0; read && i < n; i++) {
        char *path = assay_path_join(folder, names[i]);
        bool region = strstr(names[i], "_region_") != NULL;
        *all += region;
        *ne += region && strstr(names[i], "_ANE_region_");
        if (!region && assay_is_dir(path)) read = count_regions(path, depth + 1, ne, all);
        free(path);
    }
    assay_list_free(names, n);
    return read;
}

assay_status assay_import_regions(const char *folder, assay_json *record, assay_error *err) {
    char *metadata = assay_path_join(folder, "metadata.json");
    bool asset = assay_is_file(metadata) && strstr(assay_path_base(folder), ".aimodelc");
    double ne = 0, all = 0;
    free(metadata);
    if (!asset)
        return assay_fail(err, ASSAY_E_UNSUPPORTED, "%s: this folder is no compiled Core AI asset (.aimodelc with metadata.json)", folder);
    if (!count_regions(folder, 0, &ne, &all)) return assay_fail(err, ASSAY_E_INPUT, "%s: a folder of it cannot be read", folder);
    assay_json_set_string(record, "schema", "probe-run/1");
    assay_json_set(record, "exit_code", assay_json_new_null());
    assay_json *artifact = assay_json_set(record, "artifact", assay_json_object());
    assay_json_set_bool(artifact, "exists", true);
    assay_json *regions = assay_json_set(artifact, "regions", assay_json_object());
    assay_json_set_number(regions, "ANE", ne);
    assay_json_set_number(regions, "other", all - ne);
    return ASSAY_OK;
}
