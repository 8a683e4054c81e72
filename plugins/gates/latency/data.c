/* gates/latency/data.c: the samples in memory, as the readers of files, of live trials and the simulation fill them. */
#include "latency.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

lat_block *lat_add_block(lat_data *d) {
    if (d->n_blocks == d->cap_blocks) d->blocks = grow(d->blocks, d->cap_blocks = d->cap_blocks * 2 + 64, sizeof *d->blocks);
    lat_block *b = &d->blocks[d->n_blocks++];
    memset(b, 0, sizeof *b);
    return b;
}

/* From a femtosecond to thirty years: beyond, no clock counted it, and squares and logarithms of it may not be finite. */
static bool is_duration(double ms) { return ms >= 1e-12 && ms <= 1e12; }

double lat_unit_ms(const char *unit) {
    static const struct { const char *unit; double ms; } units[] = { { "ms", 1.0 }, { "us", 1e-3 }, { "ns", 1e-6 }, { "s", 1e3 } };
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(unit, units[i].unit) == 0) return units[i].ms;
    return NAN;
}

void lat_add_duration(lat_data *d, bool candidate, double ms) {
    double **v = candidate ? &d->candidate : &d->control;
    size_t *n = candidate ? &d->n_candidate : &d->n_control;
    if ((*n & (*n - 1)) == 0) *v = grow(*v, *n ? *n * 2 : 1, sizeof **v);       /* room for the next power of two */
    (*v)[(*n)++] = ms;
    if (!is_duration(ms)) d->bad_sample = true;
}

void lat_add_pair(lat_data *d, uint32_t process, bool control_first, double control, double candidate) {
    const lat_block *before = d->n_blocks ? &d->blocks[d->n_blocks - 1] : NULL;
    if (before && before->process == process && before->control_first == control_first) d->alternating = false;
    *lat_add_block(d) = (lat_block){ .process = process, .control_first = control_first, .n_control = 1, .n_candidate = 1, .control = { control }, .candidate = { candidate } };
    lat_add_duration(d, false, control);
    lat_add_duration(d, true, candidate);
}

void lat_add_set(lat_data *d, const char *name, const double *v, size_t n) {
    d->sets = grow(d->sets, d->n_sets + 1, sizeof *d->sets);
    snprintf(d->sets[d->n_sets].name, sizeof d->sets->name, "%s", name);
    d->sets[d->n_sets].v = grow(NULL, n, sizeof *v);
    d->sets[d->n_sets++].n = n;
    for (size_t i = 0; i < n; i++) {
        d->sets[d->n_sets - 1].v[i] = v[i];
        if (!is_duration(v[i])) d->bad_sample = true;
    }
}

assay_status lat_fail(assay_error *err, const char *fmt, ...) {
    if (err) {
        va_list ap;
        va_start(ap, fmt);
        vsnprintf(err->message, sizeof err->message, fmt, ap);
        va_end(ap);
        err->code = ASSAY_E_INPUT;
    }
    return ASSAY_E_INPUT;
}
