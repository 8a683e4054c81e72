/* Reading power logs: which samples lie inside of the signposted predictions, and the state of the rail in each. */
#include "corroboration.h"
#include <math.h>
#include <string.h>

static double number(const cJSON *o, const char *key) {
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);
    return cJSON_IsNumber(v) ? v->valuedouble : NAN;
}

/* Seconds of [from, to] that predictions fill. Overlapping intervals are not counted twice: they are in order of their start. */
static double filled(const cJSON *intervals, double from, double to) {
    double sum = 0, reached = from;
    const cJSON *e;
    cJSON_ArrayForEach(e, intervals) {
        const cJSON *start = cJSON_GetArrayItem(e, 0), *end = cJSON_GetArrayItem(e, 1);
        if (!cJSON_IsNumber(start) || !cJSON_IsNumber(end)) continue;
        double a = fmax(start->valuedouble, reached), b = fmin(end->valuedouble, to);
        if (!(b > a)) continue;
        sum += b - a;
        reached = b;
    }
    return sum;
}

static bool is_inside(const cJSON *sample, const cJSON *intervals, double min_cover) {
    double end = number(sample, "end_s"), elapsed = number(sample, "elapsed_s");
    return elapsed > 0 && filled(intervals, end - elapsed, end) >= min_cover * elapsed; /* NaN: not inside */
}

rail_counts corroboration_count(const cJSON *log, const cJSON *intervals, double min_cover) {
    rail_counts c = {.peak_mw = NAN};
    const cJSON *sample;
    cJSON_ArrayForEach(sample, cJSON_GetObjectItemCaseSensitive(log, "samples")) {
        if (intervals && !is_inside(sample, intervals, min_cover)) continue;
        double mw = number(cJSON_GetObjectItemCaseSensitive(sample, "rails_mw"), "ane");
        c.samples++;
        c.not_sampled += !(mw >= 0);
        c.zero += mw >= 0 && mw <= 0;
        c.nonzero += mw > 0;
        c.peak_mw = fmax(c.peak_mw, mw); /* fmax drops NaN */
    }
    return c;
}

static bool same(const cJSON *a, const cJSON *b, const char *key) {
    const char *x = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(a, key));
    const char *y = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(b, key));
    return x && y && *x && !strcmp(x, y);
}

bool corroboration_same_host(const cJSON *a, const cJSON *b) { return same(a, b, "hw_model") && same(a, b, "os_build"); }
bool corroboration_same_boot(const cJSON *a, const cJSON *b) { return same(a, b, "boot_time"); }
