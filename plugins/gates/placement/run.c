/* A probe's run record: the markers in its stderr come first, then the signal, then the regions of its artifact. An exit code
 * of 0 proves nothing. */
#include "placement.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct found {
    const char *marker, *at;
} found;

static int by_place(const void *a, const void *b) {
    const found *x = a, *y = b;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* Markers in the order in which they first stand in the text. */
static uint32_t find_markers(const char *text, const settings *s, found *out) {
    uint32_t n = 0;
    for (uint32_t i = 0; text && i < s->n_markers; i++) {
        const char *at = *s->markers[i] ? strstr(text, s->markers[i]) : NULL;
        if (at) out[n++] = (found){s->markers[i], at};
    }
    qsort(out, n, sizeof *out, by_place);
    return n;
}

static bool is_ne(const char *name) {
    return !strcasecmp(name, "NE") || !strcasecmp(name, "ANE") || !strcasecmp(name, "NeuralEngine");
}

/* Regions on the Neural Engine; NaN when the record does not say. */
static double ne_regions(const cJSON *doc) {
    const cJSON *regions = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(doc, "artifact"), "regions");
    if (!cJSON_IsObject(regions) || !regions->child) return NAN;
    double n = 0;
    for (const cJSON *e = regions->child; e; e = e->next)
        if (is_ne(e->string)) n += cJSON_IsNumber(e) ? e->valuedouble : NAN;
    return n;
}

static double number_or_nan(const cJSON *doc, const char *key) {
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(doc, key);
    return cJSON_IsNumber(v) ? v->valuedouble : NAN;
}

static void report_run(const assay_finding *f, double exit_code, double signal, double regions, const found *marks, uint32_t n) {
    cJSON *list = cJSON_CreateArray();
    for (uint32_t i = 0; i < n; i++) cJSON_AddItemToArray(list, cJSON_CreateString(marks[i].marker));
    char *text = cJSON_PrintUnformatted(list);
    f->metric(f, "run.exit_code", &exit_code, 1, "");
    f->metric(f, "run.signal", &signal, 1, "");
    if (!isnan(regions)) f->metric(f, "run.ne_regions", &regions, 1, "");
    if (text) f->detail(f, "metrics:run.markers_found", text);
    free(text);
    cJSON_Delete(list);
}

/* The planning call wants the compiled folder and aborts on anything else. */
static bool given_the_package(const cJSON *doc, const char *text) {
    const char *kind = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(doc, "path_kind"));
    return (kind && !strcmp(kind, "mlpackage")) ||
           (text && (strstr(text, "coremldata.bin") || strstr(text, "not a valid .mlmodelc")));
}

static assay_verdict judge_crash(const cJSON *doc, const char *text, double exit_code, double signal, report *r) {
    if (!isnan(signal))
        placement_invalid(r, "probe_crashed", "run", "the probe ended by signal %.0f, and no known text in stderr explains it",
                          signal);
    else
        placement_invalid(r, "probe_crashed", "run",
                          "the probe ended with exit code %.0f, and no known text in stderr explains it", exit_code);
    if (given_the_package(doc, text))
        placement_reason(r, "plan_needs_compiled_model", "run",
                         "it was given the package; compile it and give the .mlmodelc folder");
    return ASSAY_INCONCLUSIVE;
}

static const char *text_of(const cJSON *doc, const char *key) {
    const char *s = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(doc, key));
    return s ? s : "";
}

/* A plan is of the model it was asked about only while that model is loaded, from compiled files that nobody changed meanwhile (M45).
 * What the record does not say is not held against it. False when something speaks against it. */
static bool is_of_the_model(const cJSON *doc, report *r) {
    const char *before = text_of(doc, "compiled_sha256_before"), *after = text_of(doc, "compiled_sha256_after");
    bool released = cJSON_IsFalse(cJSON_GetObjectItemCaseSensitive(doc, "model_alive")), changed = *before && *after && strcmp(before, after) != 0,
         package = !strcmp(text_of(doc, "path_kind"), "mlpackage");
    if (package)
        placement_invalid(r, "plan_needs_compiled_model", "run", "it was given the package; compile it and give the .mlmodelc folder");
    if (released)
        placement_invalid(r, "model_released", "run", "the model was released before its plan was loaded: keep it alive until the plan is read");
    if (changed)
        placement_invalid(r, "compiled_model_changed", "run", "the compiled folder had digest %.12s before and %.12s after: compile it again", before, after);
    return !package && !released && !changed;
}

assay_verdict placement_judge_run(const assay_item *run, const char *stderr_text, const settings *s, report *r) {
    found marks[MARKERS_MAX];
    cJSON *doc = cJSON_Parse(run->json && *run->json ? run->json : "null");
    double exit_code = number_or_nan(doc, "exit_code"), signal = number_or_nan(doc, "signal"), regions = ne_regions(doc);
    uint32_t n = find_markers(stderr_text, s, marks);
    assay_verdict v = ASSAY_INCONCLUSIVE;
    report_run(r->f, exit_code, signal, regions, marks, n);
    if (n && s->device == ASSAY_DEV_NE) {
        v = ASSAY_KILL;
        placement_reason(r, "ne_compile_failed", "stderr", "'%s' stands in stderr: the Neural Engine compile failed",
                         marks[0].marker);
        if (exit_code == 0)
            placement_reason(r, "silent_fallback", "run", "... and the exit code is 0: it went on elsewhere without a word");
    } else if (!isnan(signal) || (!isnan(exit_code) && exit_code != 0)) {
        v = judge_crash(doc, stderr_text, exit_code, signal, r);
    } else if (!is_of_the_model(doc, r)) {
        v = ASSAY_INCONCLUSIVE;
    } else if (regions == 0 && s->device == ASSAY_DEV_NE) {
        v = ASSAY_KILL;
        placement_reason(r, "op_of_interest_not_on_ne", "run", "the artifact has no region on the Neural Engine");
    } else {
        placement_reason(r, "no_device_usage", "run", "a run record places no op: a plan or a device table is needed to go on");
    }
    cJSON_Delete(doc);
    return v;
}
