/* gates/latency/records.c: reads timed blocks (live trials) and recorded documents (latency-samples/1, latency-sets/1). */
#include "latency.h"
#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static assay_status fail(assay_error *err, assay_status code, const char *what, const char *detail) {
    if (err) {
        err->code = code;
        snprintf(err->message, sizeof err->message, "%s%s", what, detail);
    }
    return code;
}

static void *grow(void *p, size_t n, size_t size) {
    void *q = realloc(p, (n ? n : 1) * size);
    if (!q) abort();
    return q;
}

void lat_data_free(lat_data *d) {
    for (size_t i = 0; i < d->n_sets; i++) free(d->sets[i].v);
    free(d->sets);
    free(d->blocks);
    free(d->control);
    free(d->candidate);
    memset(d, 0, sizeof *d);
}

static lat_block *add_block(lat_data *d) {
    if (d->n_blocks == d->cap_blocks) d->blocks = grow(d->blocks, d->cap_blocks = d->cap_blocks * 2 + 64, sizeof *d->blocks);
    lat_block *b = &d->blocks[d->n_blocks++];
    memset(b, 0, sizeof *b);
    return b;
}

static void add_duration(lat_data *d, bool candidate, double ms) {
    double **v = candidate ? &d->candidate : &d->control;
    size_t *n = candidate ? &d->n_candidate : &d->n_control;
    *v = grow(*v, *n + 1, sizeof **v);
    (*v)[(*n)++] = ms;
    if (!isfinite(ms) || !(ms > 0.0)) d->bad_sample = true;
}

/* ---- recorded documents */

static double number_of(const cJSON *j) { return cJSON_IsNumber(j) ? j->valuedouble : NAN; }

static assay_status read_sets(const cJSON *doc, lat_data *d, assay_error *err) {
    const cJSON *sets = cJSON_GetObjectItemCaseSensitive(doc, "sets"), *s;
    if (!cJSON_IsObject(sets)) return fail(err, ASSAY_E_INPUT, "latency-sets/1: ", "no object 'sets'");
    cJSON_ArrayForEach(s, sets) {
        size_t n = cJSON_IsArray(s) ? (size_t)cJSON_GetArraySize(s) : 0;
        d->sets = grow(d->sets, d->n_sets + 1, sizeof *d->sets);
        snprintf(d->sets[d->n_sets].name, sizeof d->sets->name, "%s", s->string);
        d->sets[d->n_sets].v = grow(NULL, n, sizeof(double));
        d->sets[d->n_sets].n = n;
        const cJSON *x;
        size_t i = 0;
        cJSON_ArrayForEach(x, s) if (i < n) {
            d->sets[d->n_sets].v[i] = number_of(x);
            if (!isfinite(d->sets[d->n_sets].v[i++])) d->bad_sample = true;
        }
        d->n_sets++;
    }
    return ASSAY_OK;
}

static size_t list_after(const cJSON *doc, const char *key, size_t skip, const cJSON **first) {
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(doc, key);
    size_t n = cJSON_IsArray(list) ? (size_t)cJSON_GetArraySize(list) : 0;
    *first = n > skip ? cJSON_GetArrayItem(list, (int)skip) : NULL;
    return n > skip ? n - skip : 0;
}

static assay_status read_pairs(const cJSON *doc, uint32_t process, lat_data *d, assay_error *err) {
    const cJSON *design = cJSON_GetObjectItemCaseSensitive(doc, "design"), *c, *k, *o;
    double warmup = number_of(cJSON_GetObjectItemCaseSensitive(doc, "warmup"));
    size_t skip = warmup >= 0.0 && warmup < 1e9 ? (size_t)warmup : 0;
    size_t nc = list_after(doc, "control", skip, &c), nk = list_after(doc, "candidate", skip, &k), no = list_after(doc, "order", skip, &o);
    if (!nc && !nk) return fail(err, ASSAY_E_INPUT, "latency-samples/1: ", "no samples in 'control' and 'candidate' after the warm-up");
    bool interleaved = cJSON_IsString(design) && strcmp(design->valuestring, "interleaved-pairs") == 0;
    if (!interleaved || nc != nk) d->paired = false;
    bool has_order = no == nc && no > 0, first_before = false;
    if (!has_order) d->order_recorded = false;
    for (size_t i = 0; i < (nc > nk ? nc : nk); i++) {
        double a = i < nc ? number_of(c) : 0.0, b = i < nk ? number_of(k) : 0.0;
        if (i < nc) add_duration(d, false, a);
        if (i < nk) add_duration(d, true, b);
        if (i < nc && i < nk) {
            lat_block *blk = add_block(d);
            *blk = (lat_block){ .process = process, .n_control = 1, .n_candidate = 1, .control = { a }, .candidate = { b } };
            blk->control_first = has_order && cJSON_IsString(o) && strcmp(o->valuestring, "AB") == 0;
            if (i > 0 && blk->control_first == first_before) d->alternating = false;
            first_before = blk->control_first;
        }
        if (i < nc) c = c->next;
        if (i < nk) k = k->next;
        if (has_order) o = o->next;
    }
    return ASSAY_OK;
}

static assay_status read_document(const char *json, uint32_t index, lat_data *d, assay_error *err) {
    cJSON *doc = cJSON_Parse(json);
    const cJSON *schema = doc ? cJSON_GetObjectItemCaseSensitive(doc, "schema") : NULL;
    assay_status st;
    if (cJSON_IsString(schema) && strcmp(schema->valuestring, "latency-sets/1") == 0) st = read_sets(doc, d, err);
    else if (cJSON_IsString(schema) && strcmp(schema->valuestring, "latency-samples/1") == 0) st = read_pairs(doc, index, d, err);
    else st = fail(err, ASSAY_E_INPUT, "samples: unknown schema; known are ", "latency-samples/1 and latency-sets/1");
    cJSON_Delete(doc);
    return st;
}

/* ---- live blocks: samples of one process, in slots 0..3 of numbered blocks */

static bool fact(const char *json, const char *key) {
    cJSON *doc = json ? cJSON_Parse(json) : NULL;
    bool r = doc && cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(doc, key));
    cJSON_Delete(doc);
    return r;
}

static void read_live(const assay_item *item, uint32_t process, lat_data *d) {
    lat_block *b = NULL;
    uint32_t current = 0;
    for (uint64_t i = 0; i < item->sample_count; i++) {
        const assay_sample *s = &item->samples[i];
        double ms = (double)s->dur_ns / 1e6;
        if (!b || s->block != current) {
            b = add_block(d);
            b->process = process;
            b->control_first = s->arm == 0;
            current = s->block;
        }
        if (s->flags & 1u) b->dropped = true;
        uint32_t *n = s->arm ? &b->n_candidate : &b->n_control;
        if (*n < 2) (s->arm ? b->candidate : b->control)[*n] = ms;
        ++*n;
        if (!(s->flags & 1u)) add_duration(d, s->arm != 0, ms);
    }
    d->live = true;
    d->alternating = false;
    if (fact(item->json, "output_changed")) d->output_changed = true;
    if (fact(item->json, "no_steady_state")) d->unsteady = true;
}

assay_status lat_read(const assay_evidence *ev, lat_data *d, assay_error *err) {
    memset(d, 0, sizeof *d);
    d->paired = d->order_recorded = d->alternating = true;
    uint32_t n = ev->count(ev, "samples"), documents = 0;
    for (uint32_t i = 0; i < n; i++) {
        assay_item item = { .struct_size = sizeof item };
        assay_status st = ev->item(ev, "samples", i, &item, err);
        if (st != ASSAY_OK) return st;
        if (item.state != ASSAY_OK_STATE) continue;
        if (item.kind == ASSAY_K_TIMING) read_live(&item, d->processes++, d);
        else if (item.json && (st = read_document(item.json, documents, d, err)) != ASSAY_OK) return st;
        else documents++;
    }
    if (documents) d->processes = documents;
    d->is_sessions = documents > 1;
    for (size_t i = 0; i < d->n_blocks; i++) {
        const lat_block *b = &d->blocks[i];
        d->dropped += b->dropped;
        if (!b->dropped && (b->n_control != b->n_candidate || b->n_control == 0 || b->n_control > 2)) d->paired = false;
    }
    return ASSAY_OK;
}
