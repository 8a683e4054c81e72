/* Counts ops by type: present in the function, and reachable from its outputs. A type that one arm lacks counts 0 there. */
#include "conversion.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint32_t conversion_count(const assay_program_1 *p, const assay_p_function *f, const char *type) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->op_count(f); i++) n += p->op_reachable(p->op(f, i)) && !strcmp(p->op_type(p->op(f, i)), type);
    return n;
}

/* A package names the opset CoreML8 where MIL text and people say ios18. */
void conversion_opset_name(const char *opset, char out[24]) {
    static const char *const names[][2] = {
        {"CoreML5", "ios15"}, {"CoreML6", "ios16"}, {"CoreML7", "ios17"}, {"CoreML8", "ios18"}, {"CoreML9", "ios26"}};
    snprintf(out, 24, "%s", opset ? opset : "");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (opset && !strcmp(opset, names[i][0])) snprintf(out, 24, "%s", names[i][1]);
}

static void add_count(cJSON *table, const char *type, int n) {
    cJSON *old = cJSON_GetObjectItemCaseSensitive(table, type);
    if (old)
        cJSON_SetNumberValue(old, old->valuedouble + n);
    else
        cJSON_AddNumberToObject(table, type, n);
}

static void add_zeros(const assay_program_1 *p, const arm *a, cJSON *table) {
    for (uint32_t i = 0; a && i < p->op_count(a->fn); i++) add_count(table, p->op_type(p->op(a->fn, i)), 0);
}

static void put(const assay_finding *f, const char *role, const char *name, cJSON *table) {
    char key[64], *text = cJSON_PrintUnformatted(table);
    snprintf(key, sizeof key, "metrics:%s.%s", role, name);
    if (text) f->detail(f, key, text);
    free(text);
    cJSON_Delete(table);
}

static void census_of(const assay_program_1 *p, const settings *s, const arm *a, const arm *other, const assay_finding *f) {
    cJSON *present = cJSON_CreateObject(), *reachable = cJSON_CreateObject();
    char opset[24], quoted[32], key[64];
    for (uint32_t i = 0; i < p->op_count(a->fn); i++) {
        const assay_p_op *op = p->op(a->fn, i);
        add_count(present, p->op_type(op), 1);
        add_count(reachable, p->op_type(op), p->op_reachable(op) ? 1 : 0);
    }
    add_zeros(p, other, present);
    add_zeros(p, other, reachable);
    for (uint32_t i = 0; i < s->n_require; i++) add_count(reachable, s->require[i], 0);
    for (uint32_t i = 0; i < s->n_forbid; i++) add_count(reachable, s->forbid[i], 0);
    put(f, a->role, "ops_present", present);
    put(f, a->role, "ops_reachable", reachable);
    conversion_opset_name(p->function_opset(a->fn), opset);
    snprintf(quoted, sizeof quoted, "\"%s\"", opset);
    snprintf(key, sizeof key, "metrics:%s.opset", a->role);
    f->detail(f, key, quoted);
    double sites = a->n_sites;
    snprintf(key, sizeof key, "%s.attention_sites", a->role);
    f->metric(f, key, &sites, 1, "");
}

void conversion_census(const assay_program_1 *p, const settings *s, const arm *candidate, const arm *control,
                       const assay_finding *f) {
    census_of(p, s, candidate, control, f);
    if (control) census_of(p, s, control, candidate, f);
}
