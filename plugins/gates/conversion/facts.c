/* Tables beside the verdict: each attention with its operands, and facts that an experiment may want to hold constant. */
#include "conversion.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put(const assay_finding *f, const char *key, cJSON *table) {
    char *text = cJSON_PrintUnformatted(table);
    if (text) f->detail(f, key, text);
    free(text);
    cJSON_Delete(table);
}

static cJSON *trace_table(const assay_program_1 *p, const trace *t) {
    cJSON *o = cJSON_CreateObject(), *names = cJSON_AddArrayToObject(o, "projections");
    for (uint32_t i = 0; i < t->n_projections; i++)
        cJSON_AddItemToArray(names, cJSON_CreateString(p->value_name(p->op_output(t->projections[i], 0))));
    cJSON *factors = cJSON_AddArrayToObject(o, "factors");
    for (uint32_t i = 0; i < t->n_scales; i++) cJSON_AddItemToArray(factors, cJSON_CreateNumber(t->factors[i]));
    if (t->input && !t->n_projections) cJSON_AddStringToObject(o, "input", t->input);
    return o;
}

static cJSON *site_table(const assay_program_1 *p, const site *s) {
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "output", s->out ? p->value_name(s->out) : "");
    cJSON_AddStringToObject(o, "spelling", s->fused ? "fused" : "explicit");
    cJSON_AddBoolToObject(o, "exposed", s->exposed);
    if (s->fused) cJSON_AddBoolToObject(o, "masked", s->masked);
    cJSON_AddItemToObject(o, "query", trace_table(p, &s->q));
    cJSON_AddItemToObject(o, "key", trace_table(p, &s->k));
    cJSON_AddItemToObject(o, "value", trace_table(p, &s->v));
    if (!s->fused) cJSON_AddItemToObject(o, "scores", trace_table(p, &s->scores));
    cJSON *shape = cJSON_AddArrayToObject(o, "query_shape");
    for (int32_t i = 0; s->query && i < p->value_rank(s->query); i++)
        cJSON_AddItemToArray(shape, cJSON_CreateNumber((double)p->value_dim(s->query, (uint32_t)i)));
    return o;
}

static bool any_type(const assay_program_1 *p, const assay_p_function *f, const char *prefix) {
    for (uint32_t i = 0; i < p->op_count(f); i++)
        if (p->op_reachable(p->op(f, i)) && !strncmp(p->op_type(p->op(f, i)), prefix, strlen(prefix))) return true;
    return false;
}

#define VERSION "com.github.apple.coremltools.version"
#define SOURCE "com.github.apple.coremltools.source"

/* A pair of framework and converter that is in no list of tested ones explains odd programs; it decides nothing (M18). */
void conversion_check_converter(const assay_program_1 *p, const settings *s, const arm *a, report *r) {
    const char *source = p->metadata(a->program, SOURCE), *version = p->metadata(a->program, VERSION);
    char pair[160], message[400];
    snprintf(pair, sizeof pair, "%s coremltools %s", source ? source : "?", version ? version : "?");
    for (uint32_t i = 0; i < s->n_tested; i++)
        if (!strcmp(pair, s->tested[i])) return;
    if (s->n_tested == 0) return;
    if (source && version)
        snprintf(message, sizeof message, "made by '%s', which is not one of tested_pairs; first: '%.100s'", pair, s->tested[0]);
    else
        snprintf(message, sizeof message, "the package names no converter or no source framework: its versions are unknown");
    r->f->reason(r->f, "converter_untested", message, a->name);
}

static cJSON *fact_table(const assay_program_1 *p, const arm *a) {
    static const char *const versions[] = {VERSION, SOURCE, "com.github.apple.coremltools.source_dialect"};
    cJSON *o = cJSON_CreateObject();
    cJSON_AddNumberToObject(o, "spec_version", p->spec_version(a->program));
    cJSON_AddBoolToObject(o, "has_state", any_type(p, a->fn, "read_state") || any_type(p, a->fn, "coreml_update_state"));
    cJSON_AddBoolToObject(o, "has_compressed_weights", any_type(p, a->fn, "constexpr_"));
    cJSON_AddBoolToObject(o, "has_tile", any_type(p, a->fn, "tile"));
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        const char *v = p->metadata(a->program, versions[i]);
        if (v) cJSON_AddStringToObject(o, strrchr(versions[i], '.') + 1, v);
    }
    return o;
}

void conversion_report_facts(const assay_program_1 *p, const arm *a, const assay_finding *f) {
    char key[64];
    cJSON *sites = cJSON_CreateArray();
    for (uint32_t i = 0; i < a->n_sites; i++) cJSON_AddItemToArray(sites, site_table(p, &a->sites[i]));
    snprintf(key, sizeof key, "attention.%s", a->role);
    put(f, key, sites);
    snprintf(key, sizeof key, "facts.%s", a->role);
    put(f, key, fact_table(p, a));
}

void conversion_report_rules(report *r) {
    put(r->f, "rules", r->rules);
    r->rules = NULL;
}
