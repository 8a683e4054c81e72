/* The corroboration gate: did the Neural Engine draw power while the predictions ran? Zero proves nothing until a positive
 * control of the same host shows that its rail can be seen at all; non-zero proves nothing while a CPU-only run draws too. */
#include "corroboration.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROLES = 7 };
enum { RAILS, INTERVALS, CPU_ONLY, IDLE, POSITIVE, SAMPLERS, TRACE };
static const char *const roles[ROLES] = {"rails", "intervals", "cpu_only", "idle", "positive", "samplers", "trace"};
static const char *const schemas[ROLES] = {"power-log/1", "prediction-intervals/1", "power-log/1", "power-log/1",
                                           "power-log/1", "power-samplers/1",       NULL};

static const assay_param params[] = {
    {.name = "arm", .def = "@candidate", .unit = "arm", .help = "arm whose predictions the rails are to show", .type = ASSAY_T_STRING},
    {.name = "sampler", .def = "cpu_power", .help = "sampler that holds the rail, by the host's own help text", .min = 1,
     .type = ASSAY_T_STRING},
    {.name = "min_cover", .def = "0.5", .unit = "1", .help = "part of a sample that predictions must fill for it to count", .min = 0.01,
     .max = 1, .type = ASSAY_T_NUMBER},
    {.name = "min_samples", .def = "3", .unit = "samples", .help = "samples inside of the predictions that are needed", .min = 1,
     .max = 1e6, .type = ASSAY_T_INT},
    {.name = "min_nonzero", .def = "3", .unit = "samples", .help = "of these, how many must be above zero", .min = 1, .max = 1e6,
     .type = ASSAY_T_INT},
    {.name = NULL},
};

typedef struct settings {
    const char *arm, *sampler;
    double min_cover, min_samples, min_nonzero;
} settings;

typedef struct evidence {
    cJSON *docs[ROLES]; /* NULL: not there, or not in a known format */
    char why[200];      /* what the rails say of their absence; "" when they were not asked for */
    const assay_finding *f;
} evidence;

static assay_status fail(assay_error *err, assay_status code, const char *message) {
    if (err) {
        err->code = code;
        snprintf(err->message, sizeof err->message, "%s", message);
    }
    return code;
}

static assay_status create(const assay_host *h, const assay_params *ps, void **self, assay_error *err) {
    assay_value v;
    settings *s = calloc(1, sizeof *s);
    if (!s) return fail(err, ASSAY_E_NOMEM, "out of memory");
    s->arm = h->param(ps, "arm", 0, &v) == ASSAY_OK ? v.s : "";
    s->sampler = h->param(ps, "sampler", 0, &v) == ASSAY_OK ? v.s : "";
    s->min_cover = h->param(ps, "min_cover", 0, &v) == ASSAY_OK ? v.f : 1;
    s->min_samples = h->param(ps, "min_samples", 0, &v) == ASSAY_OK ? (double)v.i : INFINITY;
    s->min_nonzero = h->param(ps, "min_nonzero", 0, &v) == ASSAY_OK ? (double)v.i : INFINITY;
    *self = s;
    return ASSAY_OK;
}

static void destroy(void *self) { free(self); }

/* Rails and intervals are of the arm's run, the others of the machine. */
static assay_status needs(void *self, const assay_evidence *so_far, const assay_request *req, assay_error *err) {
    const settings *s = self;
    (void)so_far;
    for (int i = 0; i < TRACE; i++) {
        assay_query q = {.struct_size = sizeof q, .kind = ASSAY_K_RECORD, .record = roles[i], .arm = i <= INTERVALS ? s->arm : NULL};
        assay_status st = req->need(req, roles[i], "", &q, err);
        if (st != ASSAY_OK) return st;
    }
    return ASSAY_OK;
}

/* ---- evidence */
static void load(const assay_evidence *ev, evidence *e) {
    for (int i = 0; i < ROLES; i++) {
        assay_item it = {.struct_size = sizeof it};
        if (!ev->count(ev, roles[i]) || ev->item(ev, roles[i], 0, &it, NULL) != ASSAY_OK) continue;
        if (it.state != ASSAY_OK_STATE) {
            if (i == RAILS) snprintf(e->why, sizeof e->why, ": %.180s", it.why ? it.why : "");
            continue;
        }
        cJSON *doc = cJSON_Parse(it.json && *it.json ? it.json : "null");
        const char *schema = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(doc, "schema"));
        bool known = i == TRACE || (schema && !strcmp(schema, schemas[i]));
        if (i == INTERVALS) known = known && cJSON_IsArray(cJSON_GetObjectItemCaseSensitive(doc, "intervals"));
        if (known) {
            e->docs[i] = doc;
            continue;
        }
        cJSON_Delete(doc);
        e->f->reason(e->f, "unknown_format", "this is in no known format: it counts as not measured", roles[i]);
    }
}

static assay_verdict because(const evidence *e, assay_verdict v, const char *code, const char *where, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
static assay_verdict because(const evidence *e, assay_verdict v, const char *code, const char *where, const char *fmt, ...) {
    char message[300];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(message, sizeof message, fmt, ap);
    va_end(ap);
    e->f->reason(e->f, code, message, where);
    return v;
}

static void report(const assay_finding *f, const char *group, const rail_counts *c) {
    const struct {
        const char *name, *unit;
        double v;
    } all[] = {{"samples", "", c->samples}, {"not_sampled", "", c->not_sampled}, {"zero", "", c->zero}, {"nonzero", "", c->nonzero},
               {"peak", "mW", c->peak_mw}};
    char key[64];
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        snprintf(key, sizeof key, "%s.%s", group, all[i].name);
        f->metric(f, key, &all[i].v, 1, all[i].unit);
    }
}

/* ---- rules. Each gives a verdict, or 0 to go on. */
static bool offers(const cJSON *samplers, const char *name) {
    const cJSON *e;
    cJSON_ArrayForEach(e, cJSON_GetObjectItemCaseSensitive(samplers, "samplers")) {
        if (cJSON_IsString(e) && !strcmp(e->valuestring, name)) return true;
    }
    return false;
}

static assay_verdict check_setting(const settings *s, const evidence *e) {
    const cJSON *rails = e->docs[RAILS];
    for (int i = INTERVALS; i <= POSITIVE; i++)
        if (e->docs[i] && (!corroboration_same_host(rails, e->docs[i]) ||
                           (i == INTERVALS && !corroboration_same_boot(rails, e->docs[i])))) {
            e->f->invalid(e->f, "logs_of_different_hosts",
                          "it is not of the same machine, OS build and (for intervals) boot as the rails, or does not say", roles[i]);
            return ASSAY_INCONCLUSIVE;
        }
    if (!e->docs[SAMPLERS])
        return because(e, ASSAY_INCONCLUSIVE, "samplers_not_enumerated", "samplers",
                       "give the help text of the host's own powermetrics: samplers are never assumed");
    if (!offers(e->docs[SAMPLERS], s->sampler)) {
        e->f->invalid(e->f, "sampler_not_offered", "the host's own list does not name this sampler", s->sampler);
        return ASSAY_INCONCLUSIVE;
    }
    if (!e->docs[INTERVALS])
        return because(e, ASSAY_INCONCLUSIVE, "no_intervals", "intervals",
                       "without the times of the predictions nothing ties the rails to them");
    return 0;
}

static assay_verdict check_silence(const evidence *e) {
    rail_counts positive = corroboration_count(e->docs[POSITIVE], NULL, 0);
    report(e->f, "positive", &positive);
    if (positive.nonzero > 0)
        return because(e, ASSAY_KILL, "rail_silent", "rails",
                       "the rail is zero in every sample of the run, and reached %.0f mW under the positive control", positive.peak_mw);
    return because(e, ASSAY_INCONCLUSIVE, "zero_without_positive_control", "rails",
                   "the rail is zero, and no load known to use the Neural Engine showed that it is ever anything else here");
}

static assay_verdict check_contrast(const evidence *e) {
    rail_counts cpu = corroboration_count(e->docs[CPU_ONLY], NULL, 0), idle = corroboration_count(e->docs[IDLE], NULL, 0);
    report(e->f, "cpu_only", &cpu);
    if (e->docs[IDLE]) report(e->f, "idle", &idle);
    if (cpu.zero + cpu.nonzero < 1)
        return because(e, ASSAY_INCONCLUSIVE, "no_cpu_only_contrast", "cpu_only",
                       "no sampled rail of a CPU-only run: what was drawn may not be the predictions'");
    if (cpu.nonzero > 0 || idle.nonzero > 0)
        return because(e, ASSAY_INCONCLUSIVE, "contrast_not_silent", cpu.nonzero > 0 ? "cpu_only" : "idle",
                       "the rail draws up to %.0f mW without the predictions on the Neural Engine",
                       fmax(cpu.nonzero > 0 ? cpu.peak_mw : 0, idle.nonzero > 0 ? idle.peak_mw : 0));
    return ASSAY_PASS;
}

static assay_verdict judge_rails(const settings *s, const evidence *e) {
    if (!e->docs[RAILS]) return because(e, ASSAY_NOT_MEASURED, "no_rail_log", "rails", "no power log of the run is there%s", e->why);
    rail_counts all = corroboration_count(e->docs[RAILS], NULL, 0);
    if (all.zero + all.nonzero < 1) {
        report(e->f, "run", &all);
        return because(e, ASSAY_NOT_MEASURED, "rail_not_sampled", "rails",
                       "no sample holds the rail: it belongs to the sampler %s (not sampled is not zero)", s->sampler);
    }
    assay_verdict v = check_setting(s, e);
    if (v) return v;
    rail_counts run = corroboration_count(e->docs[RAILS], cJSON_GetObjectItemCaseSensitive(e->docs[INTERVALS], "intervals"), s->min_cover);
    report(e->f, "run", &run);
    if (!(run.zero + run.nonzero >= s->min_samples))
        return because(e, ASSAY_INCONCLUSIVE, "too_few_samples", "rails", "%.0f samples lie inside of the predictions, %.0f are needed",
                       run.zero + run.nonzero, s->min_samples);
    if (run.nonzero < 1) return check_silence(e);
    if (!(run.nonzero >= s->min_nonzero))
        return because(e, ASSAY_INCONCLUSIVE, "too_few_nonzero", "rails", "%.0f samples are above zero, %.0f are needed", run.nonzero,
                       s->min_nonzero);
    return check_contrast(e);
}

static assay_status judge(void *self, const assay_evidence *ev, const assay_finding *f, assay_error *err) {
    evidence e = {.f = f};
    (void)err;
    load(ev, &e);
    if (e.docs[TRACE])
        f->reason(f, "unknown_trace_schema", "no schema of a Neural Engine trace is known: it decides nothing", "trace");
    f->verdict(f, judge_rails(self, &e));
    for (int i = 0; i < ROLES; i++) cJSON_Delete(e.docs[i]);
    return ASSAY_OK;
}

/* ---- the plugin */
static const assay_gate gate = {
    .struct_size = sizeof gate,
    .name = "corroboration",
    .version = "1.0",
    .summary = "the Neural Engine drew power while the predictions ran, and not in a CPU-only run",
    .params = params,
    .create = create,
    .needs = needs,
    .judge = judge,
    .destroy = destroy};
ASSAY_GATE_PLUGIN(gate)
