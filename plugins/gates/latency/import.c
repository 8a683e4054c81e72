/* gates/latency/import.c: samples of other harnesses: hyperfine JSON, Google Benchmark JSON. What a file does not say (the order of
 * the arms, which pairs belong together) is never made up: the rule then calls the design invalid. */
#include "latency.h"
#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One command or benchmark of a document. */
typedef struct series { char *name; double *ms; size_t n; } series;
typedef struct all_series { series *items; size_t n; } all_series;

static series *named(all_series *all, const char *name) {
    for (size_t i = 0; i < all->n; i++)
        if (strcmp(all->items[i].name, name) == 0) return &all->items[i];
    series *grown = realloc(all->items, (all->n + 1) * sizeof *grown);
    if (!grown) abort();
    all->items = grown;
    series *s = &all->items[all->n++];
    *s = (series){ .name = lat_alloc(strlen(name) + 1, 1) };
    memcpy(s->name, name, strlen(name));
    return s;
}

static void append(series *s, double ms) {
    double *grown = realloc(s->ms, (s->n + 1) * sizeof *grown);
    if (!grown) abort();
    s->ms = grown;
    s->ms[s->n++] = ms;
}

static void release(all_series *all) {
    for (size_t i = 0; i < all->n; i++) free(all->items[i].name), free(all->items[i].ms);
    free(all->items);
}

static const char *text_of(const cJSON *o, const char *key) {
    const cJSON *j = cJSON_GetObjectItemCaseSensitive(o, key);
    return cJSON_IsString(j) ? j->valuestring : NULL;
}
static double number_of(const cJSON *j) { return cJSON_IsNumber(j) ? j->valuedouble : NAN; }

/* results[]: command, times in seconds, exit_codes. */
static bool read_hyperfine(const cJSON *doc, all_series *all, lat_data *d) {
    const cJSON *results = cJSON_GetObjectItemCaseSensitive(doc, "results"), *r, *x;
    if (!cJSON_IsArray(results)) return false;
    cJSON_ArrayForEach(r, results) {
        const char *name = text_of(r, "command");
        const cJSON *times = cJSON_GetObjectItemCaseSensitive(r, "times"), *codes = cJSON_GetObjectItemCaseSensitive(r, "exit_codes");
        if (!name || !cJSON_IsArray(times)) return false;
        series *s = named(all, name);
        cJSON_ArrayForEach(x, times) append(s, number_of(x) * 1e3);
        cJSON_ArrayForEach(x, codes) if (number_of(x) != 0.0) d->failed_run = true;
    }
    return true;
}

/* benchmarks[]: one entry a repetition, real_time in time_unit; aggregates are left out. */
static bool read_google_benchmark(const cJSON *doc, all_series *all, lat_data *d) {
    const cJSON *benchmarks = cJSON_GetObjectItemCaseSensitive(doc, "benchmarks"), *b;
    if (!cJSON_IsArray(benchmarks)) return false;
    cJSON_ArrayForEach(b, benchmarks) {
        const char *type = text_of(b, "run_type"), *name = text_of(b, "run_name"), *unit = text_of(b, "time_unit");
        if (type && strcmp(type, "iteration") != 0) continue;
        if (!name) name = text_of(b, "name");
        if (!name) return false;
        if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(b, "error_occurred"))) d->failed_run = true;
        else append(named(all, name), number_of(cJSON_GetObjectItemCaseSensitive(b, "real_time")) * lat_unit_ms(unit ? unit : "ns"));
    }
    return true;
}

static const series *find(const all_series *all, const char *name) {
    for (size_t i = 0; i < all->n; i++)
        if (strcmp(all->items[i].name, name) == 0) return &all->items[i];
    return NULL;
}

static assay_status no_such_name(const all_series *all, const char *name, assay_error *err) {
    char known[160] = "";
    for (size_t i = 0, at = 0; i < all->n && at + 1 < sizeof known; i++) at += (size_t)snprintf(known + at, sizeof known - at, "%s%s", i ? ", " : "", all->items[i].name);
    return lat_fail(err, "samples: no '%.60s'; the file has %s (parameters control and arm name the two to compare)", name, all->n ? known : "none");
}

/* The two to compare: by the names that the gate was given; without names, a file that holds just two. In a second file the first
 * command may be the other one, so there the names are needed. */
static assay_status choose(const all_series *all, const lat_names *names, const lat_data *d, const series **control, const series **candidate, assay_error *err) {
    if (names->control[0] && !(*control = find(all, names->control))) return no_such_name(all, names->control, err);
    if (names->candidate[0] && !(*candidate = find(all, names->candidate))) return no_such_name(all, names->candidate, err);
    if (*control || *candidate || all->n != 2) return ASSAY_OK;
    if (d->n_control || d->n_candidate) return lat_fail(err, "samples: several files: say which command is which by the parameters control and arm ('%.60s', '%.60s')", all->items[0].name, all->items[1].name);
    *control = &all->items[0], *candidate = &all->items[1];
    return ASSAY_OK;
}

static void add_sets(const all_series *all, lat_data *d) {
    for (size_t i = 0; i < all->n; i++) lat_add_set(d, all->items[i].name, all->items[i].ms, all->items[i].n);
}

/* One run of each: a pair. More runs of each: the harness ran them one arm after the other. */
static void add_arms(const series *control, const series *candidate, bool order_known, lat_data *d) {
    if (control->n == 1 && candidate->n == 1) {
        lat_add_pair(d, d->processes, control < candidate, control->ms[0], candidate->ms[0]);
        if (!order_known) d->order_recorded = false;
        return;
    }
    d->paired = false;
    for (size_t i = 0; i < control->n; i++) lat_add_duration(d, false, control->ms[i]);
    for (size_t i = 0; i < candidate->n; i++) lat_add_duration(d, true, candidate->ms[i]);
}

assay_status lat_import_json(const cJSON *doc, const lat_names *names, lat_data *d, assay_error *err) {
    all_series all = { NULL, 0 };
    const series *control = NULL, *candidate = NULL;
    bool hyperfine = read_hyperfine(doc, &all, d);
    assay_status st = ASSAY_OK;
    if (!hyperfine && !read_google_benchmark(doc, &all, d))
        st = lat_fail(err, "samples: unknown format; known are latency-samples/1 and latency-sets/1 documents, hyperfine JSON (results[].command and times), "
                           "Google Benchmark JSON (benchmarks[].real_time) and CSV with a header");
    else st = choose(&all, names, d, &control, &candidate, err);
    if (st == ASSAY_OK && control && candidate) add_arms(control, candidate, hyperfine, d);
    else if (st == ASSAY_OK) add_sets(&all, d);
    release(&all);
    return st;
}
