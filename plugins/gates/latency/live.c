/* gates/latency/live.c: reads timing trials: their blocks, what the harness says of itself, and whether an early stop was rightful. */
#include "latency.h"
#include "base/watch.h"
#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static double number_in(const cJSON *j, const char *key) {
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(j, key);
    return cJSON_IsNumber(v) ? v->valuedouble : NAN;
}

static void largest(double *so_far, double v) {
    if (!isnan(v) && !(*so_far >= v)) *so_far = v;
}

static void count_dropped(const cJSON *dropped, lat_harness *h) {
    const cJSON *row;
    cJSON_ArrayForEach(row, dropped) {
        size_t i = 0;
        while (i < h->n_dropped && strcmp(h->dropped[i].code, row->string) != 0) i++;
        if (i == LAT_DROPS_MAX || !cJSON_IsNumber(row)) continue;
        if (i == h->n_dropped) snprintf(h->dropped[h->n_dropped++].code, sizeof h->dropped->code, "%s", row->string);
        h->dropped[i].blocks += row->valuedouble;
    }
}

/* The trial's stop, repeated from its samples: it must have stopped at the first look that said so, and nowhere else. */
static bool stopped_rightly(const assay_math_1 *m, const cJSON *watch, const assay_item *item) {
    const cJSON *stopped = cJSON_GetObjectItemCaseSensitive(watch, "stopped");
    assay_watch w = { .alpha = number_in(watch, "alpha"), .t_opt = number_in(watch, "t_opt"), .target_ms = number_in(watch, "target_ms"), .log = m->log };
    const char *found = NULL;
    if (!(w.alpha > 0.0) || !(w.t_opt > 0.0) || item->sample_count % 4 != 0) return false;
    for (uint64_t i = 0; i < item->sample_count; i += 4) {
        if (found) return false;
        assay_watch_block(&w, item->samples + i);
        found = assay_watch_stop(&w);
    }
    return cJSON_IsString(stopped) ? found && strcmp(found, stopped->valuestring) == 0 : !found;
}

static void read_facts(const char *json, lat_data *d) {
    cJSON *doc = json ? cJSON_Parse(json) : NULL;
    const cJSON *clock = cJSON_GetObjectItemCaseSensitive(doc, "clock"), *watch = cJSON_GetObjectItemCaseSensitive(doc, "watch");
    lat_harness *h = &d->harness;
    if (!doc) return;
    largest(&h->resolution_ns, number_in(clock, "resolution_ns"));
    largest(&h->read_ns, number_in(clock, "read_ns"));
    largest(&h->empty_ns, number_in(clock, "empty_ns"));
    largest(&h->harness_ns, number_in(clock, "harness_ns"));
    count_dropped(cJSON_GetObjectItemCaseSensitive(doc, "dropped"), h);
    h->cut_short |= cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(doc, "cut_short"));
    d->output_changed |= cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(doc, "output_changed"));
    d->unsteady |= cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(doc, "no_steady_state"));
    if (cJSON_IsString(cJSON_GetObjectItemCaseSensitive(watch, "stopped"))) h->stopped++;
    cJSON_Delete(doc);
}

void lat_read_live(const assay_item *item, uint32_t process, lat_data *d) {
    lat_block *b = NULL;
    uint32_t current = 0;
    for (uint64_t i = 0; i < item->sample_count; i++) {
        const assay_sample *s = &item->samples[i];
        double ms = (double)s->dur_ns / 1e6;
        if (!b || s->block != current) {
            b = lat_add_block(d);
            b->process = process;
            b->control_first = s->arm == 0;
            current = s->block;
        }
        if (s->flags & 1u) b->dropped = true;
        uint32_t *n = s->arm ? &b->n_candidate : &b->n_control;
        if (*n < 2) (s->arm ? b->candidate : b->control)[*n] = ms;
        ++*n;
        if (!(s->flags & 1u)) lat_add_duration(d, s->arm != 0, ms);
    }
    if (!d->live) d->harness = (lat_harness){ .resolution_ns = NAN, .read_ns = NAN, .empty_ns = NAN, .harness_ns = NAN };
    d->live = true;
    d->alternating = false;
    read_facts(item->json, d);
}

assay_status lat_read_trials(const assay_evidence *ev, const char *role, const char *label, lat_data *d, uint32_t *failed, assay_error *err) {
    memset(d, 0, sizeof *d);
    *failed = 0;
    d->paired = d->order_recorded = true;
    for (uint32_t i = 0; i < ev->count(ev, role); i++) {
        assay_item item = { .struct_size = sizeof item };
        assay_status st = ev->item(ev, role, i, &item, err);
        if (st != ASSAY_OK) return st;
        if (item.kind != ASSAY_K_TIMING || strcmp(item.label ? item.label : "", label) != 0) continue;
        if (item.state == ASSAY_OK_STATE) lat_read_live(&item, d->processes++, d);
        else ++*failed;
    }
    for (size_t i = 0; i < d->n_blocks; i++) d->dropped += d->blocks[i].dropped;
    return ASSAY_OK;
}

bool lat_stops_agree(const assay_math_1 *m, const assay_evidence *ev) {
    bool agree = true;
    for (uint32_t i = 0; i < ev->count(ev, "samples"); i++) {
        assay_item item = { .struct_size = sizeof item };
        if (ev->item(ev, "samples", i, &item, NULL) != ASSAY_OK || item.kind != ASSAY_K_TIMING || !item.json) continue;
        cJSON *doc = cJSON_Parse(item.json);
        const cJSON *watch = cJSON_GetObjectItemCaseSensitive(doc, "watch");
        if (watch) agree &= stopped_rightly(m, watch, &item);
        cJSON_Delete(doc);
    }
    return agree;
}

void lat_harness_figures(const lat_data *d, const assay_finding *f) {
    char json[512] = "{";
    size_t at = 1;
    if (!d->live) return;
    lat_metric(f, "harness", "clock_resolution_ns", d->harness.resolution_ns, "ns");
    lat_metric(f, "harness", "clock_read_ns", d->harness.read_ns, "ns");
    lat_metric(f, "harness", "empty_arm_ns", d->harness.empty_ns, "ns");
    lat_metric(f, "harness", "cost_ns", d->harness.harness_ns, "ns");
    lat_metric(f, "harness", "dropped_blocks", (double)d->dropped, "blocks");
    lat_metric(f, "harness", "stopped_processes", (double)d->harness.stopped, "processes");
    for (size_t i = 0; i < d->harness.n_dropped; i++)
        at += (size_t)snprintf(json + at, sizeof json - at, "%s\"%s\":%.0f", i ? "," : "", d->harness.dropped[i].code, d->harness.dropped[i].blocks);
    snprintf(json + at, sizeof json - at, "}");
    f->detail(f, "metrics:harness.dropped_by", json);
}
