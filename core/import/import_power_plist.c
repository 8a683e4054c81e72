/* The property lists of powermetrics: whole XML documents with a NUL between them. Only a handful of keys is needed, so the
 * tags are walked with the key of each open dictionary; anything unknown is stepped over. */
#include "import/power.h"
#include "base/names.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 32, KEY = 48, VALUE = 128 };

static bool is_plist(const assay_foreign *in) {
    return !in->json && assay_starts_with(in->text, "<?xml") && strstr(in->text, "<plist") && strstr(in->text, "<key>elapsed_ns</key>");
}

/* What one document says; NaN and "" where it does not. */
typedef struct document {
    double elapsed_ns, power[5], energy[5];
    char hw_model[VALUE], os_build[VALUE], boot_time[VALUE], timestamp[VALUE];
    bool whole;
} document;
static const char *const rails[5] = {"ane", "cpu", "gpu", "combined", "dram"};

static void keep(char out[VALUE], const char *value) { snprintf(out, VALUE, "%.*s", VALUE - 1, value); }

static void top_value(document *d, const char *key, const char *value) {
    if (!strcmp(key, "elapsed_ns")) d->elapsed_ns = strtod(value, NULL);
    if (!strcmp(key, "hw_model")) keep(d->hw_model, value);
    if (!strcmp(key, "kern_osversion")) keep(d->os_build, value);
    if (!strcmp(key, "kern_boottime")) keep(d->boot_time, value);
    if (!strcmp(key, "timestamp")) keep(d->timestamp, value);
}

/* Rails live in the dictionary of the cpu_power sampler: power in mW, or only energy in mJ on older systems. */
static void processor_value(document *d, const char *key, const char *value) {
    for (size_t i = 0; i < 5; i++) {
        size_t n = strlen(rails[i]);
        if (strncmp(key, rails[i], n)) continue;
        if (!strcmp(key + n, "_power")) d->power[i] = strtod(value, NULL);
        if (!strcmp(key + n, "_energy")) d->energy[i] = strtod(value, NULL);
    }
}

typedef struct walk {
    char keys[DEPTH_MAX][KEY]; /* the key last read in each open container */
    int depth;                 /* 1: in the top dictionary */
} walk;

static void scalar(walk *w, document *d, const char *value) {
    if (w->depth == 1) top_value(d, w->keys[1], value);
    if (w->depth == 2 && !strcmp(w->keys[1], "processor")) processor_value(d, w->keys[2], value);
}

/* One tag and the text behind it up to the next. False: nested too deep, or closed more than was opened. */
static bool step(walk *w, document *d, const char *tag, const char *text) {
    bool opens = !strcmp(tag, "dict") || !strcmp(tag, "array"), closes = !strcmp(tag, "/dict") || !strcmp(tag, "/array");
    if (opens) {
        if (++w->depth >= DEPTH_MAX) return false;
        w->keys[w->depth][0] = 0;
    } else if (closes) {
        if (w->depth-- <= 0) return false;
    } else if (!strcmp(tag, "key") && w->depth > 0) {
        snprintf(w->keys[w->depth], KEY, "%.*s", KEY - 1, text);
    } else if (!strcmp(tag, "integer") || !strcmp(tag, "real") || !strcmp(tag, "string") || !strcmp(tag, "date")) {
        scalar(w, d, text);
    } else if (!strcmp(tag, "/plist")) {
        d->whole = w->depth == 0;
    }
    return true;
}

static bool read_document(const char *text, document *d) {
    walk w = {.depth = 0};
    *d = (document){.elapsed_ns = NAN};
    for (size_t i = 0; i < 5; i++) d->power[i] = d->energy[i] = NAN;
    for (const char *p = strchr(text, '<'); p;) {
        const char *end = strchr(p, '>');
        if (!end) return true; /* cut inside a tag */
        const char *next = strchr(end, '<');
        char tag[16], value[VALUE];
        snprintf(tag, sizeof tag, "%.*s", (int)strcspn(p + 1, " >"), p + 1);
        size_t n = next ? (size_t)(next - end - 1) : 0;
        snprintf(value, sizeof value, "%.*s", n < VALUE ? (int)n : VALUE - 1, end + 1);
        if (!step(&w, d, tag, value)) return false;
        p = next;
    }
    return true;
}

static double seconds_of(const char *date) {
    int y, mo, d, h, mi, s;
    return sscanf(date, "%4d-%2d-%2dT%2d:%2d:%2dZ", &y, &mo, &d, &h, &mi, &s) == 6 ? assay_power_seconds(y, mo, d, h, mi, s) : NAN;
}

static void add_sample(const document *d, assay_json *record, assay_json *samples) {
    assay_json *to = assay_power_add(samples, seconds_of(d->timestamp), d->elapsed_ns / 1e9);
    for (size_t i = 0; i < 5; i++) {
        double mw = isnan(d->power[i]) ? d->energy[i] * 1e9 / d->elapsed_ns : d->power[i];
        if (!isnan(mw)) assay_power_set(to, rails[i], mw);
    }
    assay_json_set_string(record, "hw_model", d->hw_model);
    assay_json_set_string(record, "os_build", d->os_build);
    assay_json_set_string(record, "boot_time", d->boot_time);
}

static assay_status read_plist(const assay_foreign *in, assay_json *record, assay_error *err) {
    assay_json *samples = assay_power_begin(record);
    double cut = 0;
    for (size_t at = 0; at < in->len; at += strlen(in->text + at) + 1) {
        document d;
        if (!in->text[at]) continue;
        if (!read_document(in->text + at, &d))
            return assay_fail(err, ASSAY_E_INPUT, "%s: document at byte %zu: its dictionaries are nested too deep or do not match", in->what, at);
        if (d.whole && d.elapsed_ns > 0)
            add_sample(&d, record, samples);
        else
            cut++;
    }
    assay_json_set_number(record, "cut", cut);
    assay_json_set_number(record, "summaries", 0);
    return ASSAY_OK;
}

const assay_importer assay_import_power_plist = {"powermetrics plist", 1, is_plist, read_plist};
