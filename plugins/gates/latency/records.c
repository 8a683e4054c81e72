/* gates/latency/records.c: reads recorded documents (latency-samples/1, latency-sets/1); timing trials and other files by live.c and import.c. */
#include "latency.h"
#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- recorded documents */

static double number_of(const cJSON *j) { return cJSON_IsNumber(j) ? j->valuedouble : NAN; }

static assay_status read_sets(const cJSON *doc, lat_data *d, assay_error *err) {
    const cJSON *sets = cJSON_GetObjectItemCaseSensitive(doc, "sets"), *s, *x;
    if (!cJSON_IsObject(sets)) return lat_fail(err, "latency-sets/1: no object 'sets'");
    cJSON_ArrayForEach(s, sets) {
        size_t n = 0;
        double *v = lat_alloc(cJSON_IsArray(s) ? (size_t)cJSON_GetArraySize(s) : 0, sizeof *v);
        if (cJSON_IsArray(s)) cJSON_ArrayForEach(x, s) v[n++] = number_of(x);
        lat_add_set(d, s->string, v, n);
        free(v);
    }
    return ASSAY_OK;
}

static size_t list_after(const cJSON *doc, const char *key, size_t skip, const cJSON **first) {
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(doc, key);
    size_t n = cJSON_IsArray(list) ? (size_t)cJSON_GetArraySize(list) : 0;
    *first = n > skip ? cJSON_GetArrayItem(list, (int)skip) : NULL;
    return n > skip ? n - skip : 0;
}

/* What a pairs document says besides its samples: unit (ms), warmup (0), order ("AB" or "BA" each). A word or number that is none is refused. */
static assay_status read_terms(const cJSON *doc, double *scale, size_t *skip, assay_error *err) {
    const cJSON *unit = cJSON_GetObjectItemCaseSensitive(doc, "unit"), *warmup = cJSON_GetObjectItemCaseSensitive(doc, "warmup"), *o;
    *scale = !unit ? 1.0 : cJSON_IsString(unit) ? lat_unit_ms(unit->valuestring) : NAN;
    if (isnan(*scale)) return lat_fail(err, "latency-samples/1: unit is ns, us, ms or s");
    double n = warmup ? number_of(warmup) : 0.0;
    if (!(n >= 0.0 && n < 1e9 && n == floor(n))) return lat_fail(err, "latency-samples/1: warmup is how many samples to leave out: a whole number from 0");
    *skip = (size_t)n;
    cJSON_ArrayForEach(o, cJSON_GetObjectItemCaseSensitive(doc, "order"))
        if (!cJSON_IsString(o) || (strcmp(o->valuestring, "AB") != 0 && strcmp(o->valuestring, "BA") != 0))
            return lat_fail(err, "latency-samples/1: each order is \"AB\" (control first) or \"BA\"");
    return ASSAY_OK;
}

static assay_status read_pairs(const cJSON *doc, uint32_t process, lat_data *d, assay_error *err) {
    const cJSON *design = cJSON_GetObjectItemCaseSensitive(doc, "design"), *c, *k, *o;
    double scale = 1.0;
    size_t skip = 0;
    assay_status st = read_terms(doc, &scale, &skip, err);
    if (st != ASSAY_OK) return st;
    size_t nc = list_after(doc, "control", skip, &c), nk = list_after(doc, "candidate", skip, &k), no = list_after(doc, "order", skip, &o);
    if (!nc && !nk) return lat_fail(err, "latency-samples/1: no samples in the lists 'control' and 'candidate' after the warm-up");
    bool interleaved = cJSON_IsString(design) && strcmp(design->valuestring, "interleaved-pairs") == 0;
    if (!interleaved || nc != nk) d->paired = false;
    bool has_order = no == nc && no > 0;
    if (!has_order) d->order_recorded = false;
    for (size_t i = 0; i < nc || i < nk; i++) {
        bool first = has_order && cJSON_IsString(o) && strcmp(o->valuestring, "AB") == 0;
        if (i < nc && i < nk) lat_add_pair(d, process, first, number_of(c) * scale, number_of(k) * scale);
        else if (i < nc) lat_add_duration(d, false, number_of(c) * scale);
        else lat_add_duration(d, true, number_of(k) * scale);
        if (i < nc) c = c->next;
        if (i < nk) k = k->next;
        if (has_order && o) o = o->next;
    }
    return ASSAY_OK;
}

/* One document, or a list of them. Documents with paired samples of their own count as sessions, each a process. */
static assay_status read_document(const cJSON *doc, const lat_names *names, lat_data *d, uint32_t *sessions, assay_error *err) {
    const cJSON *schema = cJSON_GetObjectItemCaseSensitive(doc, "schema"), *each;
    const char *name = cJSON_IsString(schema) ? schema->valuestring : "";
    assay_status st = ASSAY_OK;
    if (cJSON_IsArray(doc)) {
        cJSON_ArrayForEach(each, doc) {
            if (cJSON_IsArray(each)) return lat_fail(err, "samples: a list inside the list of documents");
            if ((st = read_document(each, names, d, sessions, err)) != ASSAY_OK) break;
        }
        return st;
    }
    if (cJSON_IsString(doc)) return lat_import_csv(doc->valuestring, names, d, err);
    if (strcmp(name, "latency-sets/1") == 0) return read_sets(doc, d, err);
    if (strcmp(name, "latency-samples/1") == 0) {
        ++*sessions;
        return read_pairs(doc, d->processes++, d, err);
    }
    if (*name) return lat_fail(err, "samples: unknown schema '%.60s'; known are latency-samples/1 and latency-sets/1", name);
    return lat_import_json(doc, names, d, err);
}

static assay_status read_text(const char *json, const lat_names *names, lat_data *d, uint32_t *sessions, assay_error *err) {
    cJSON *doc = cJSON_Parse(json);
    assay_status st = doc ? read_document(doc, names, d, sessions, err) : lat_fail(err, "samples: no JSON");
    cJSON_Delete(doc);
    return st;
}

assay_status lat_read(const assay_evidence *ev, const lat_names *names, lat_data *d, assay_error *err) {
    memset(d, 0, sizeof *d);
    d->paired = d->order_recorded = d->alternating = true;
    uint32_t n = ev->count(ev, "samples"), sessions = 0;
    for (uint32_t i = 0; i < n; i++) {
        assay_item item = { .struct_size = sizeof item };
        assay_status st = ev->item(ev, "samples", i, &item, err);
        if (st == ASSAY_OK && item.state == ASSAY_OK_STATE) {
            if (item.kind == ASSAY_K_TIMING) lat_read_live(&item, d->processes++, d);
            else if (item.json) st = read_text(item.json, names, d, &sessions, err);
        }
        if (st != ASSAY_OK) return st;
    }
    if (!d->live && (d->n_control > LAT_SAMPLES_MAX || d->n_candidate > LAT_SAMPLES_MAX))
        return lat_fail(err, "samples: more than %d durations of an arm; judge fewer, all from one stretch of time", LAT_SAMPLES_MAX);
    if (d->processes == 0) d->processes = 1;     /* pairs from single runs of another harness */
    d->is_sessions = sessions > 1;
    for (size_t i = 0; i < d->n_blocks; i++) {
        const lat_block *b = &d->blocks[i];
        d->dropped += b->dropped;
        if (!b->dropped && (b->n_control != b->n_candidate || b->n_control == 0 || b->n_control > 2)) d->paired = false;
    }
    return ASSAY_OK;
}
