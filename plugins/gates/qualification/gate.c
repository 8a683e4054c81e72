/* The qualification gate: is a package right where it is claimed to run, on every OS build and chip that left a receipt? A
 * verdict of one build says nothing about another (M51), and a refuted cell is never averaged away. */
#include "qualification.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const assay_param params[] = {
    {.name = "cosine_min",
     .def = "0.9999",
     .help = "of a recorded receipt's output",
     .unit = "1",
     .min = -1,
     .max = 1,
     .type = ASSAY_T_NUMBER},
    {.name = "op_of_interest",
     .def = "",
     .help = "op types that a recorded receipt must place on the device",
     .min = 1,
     .type = ASSAY_T_STRING | ASSAY_T_LIST},
    {.name = "require_device", .def = "NE", .choices = "CPU|GPU|NE", .help = "the device", .min = 1, .type = ASSAY_T_STRING},
    {.name = NULL},
};

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
    s->device = h->param(ps, "require_device", 0, &v) == ASSAY_OK ? v.s : "NE";
    s->cosine_min = h->param(ps, "cosine_min", 0, &v) == ASSAY_OK ? v.f : NAN;
    while (s->n_ops < OPS_MAX && h->param(ps, "op_of_interest", s->n_ops, &v) == ASSAY_OK && *v.s) s->ops[s->n_ops++] = v.s;
    *self = s;
    return ASSAY_OK;
}

/* ---- the cells together */

typedef struct matrix {
    cell *cells;
    size_t n;
    cJSON *documents;
} matrix;

static bool same_package(const cell *a, const cell *b) { return !strcmp(a->package, b->package); }

/* Cells of one package with different verdicts: none of them may be carried over to another build or chip. */
static bool is_transferable(const matrix *m) {
    for (size_t i = 0; i < m->n; i++)
        for (size_t k = 0; k < i; k++)
            if (same_package(&m->cells[i], &m->cells[k]) &&
                strcmp(qualification_name(&m->cells[i]), qualification_name(&m->cells[k])) != 0)
                return false;
    return true;
}

static void put(const assay_finding *f, const char *key, cJSON *v) {
    char *text = cJSON_PrintUnformatted(v);
    if (text) f->detail(f, key, text);
    free(text);
    cJSON_Delete(v);
}

static void report(const matrix *m, const assay_finding *f) {
    cJSON *verdicts = cJSON_CreateArray(), *rows = cJSON_CreateArray();
    for (size_t i = 0; i < m->n; i++) {
        const cell *c = &m->cells[i];
        cJSON *row = cJSON_CreateObject();
        cJSON_AddItemToArray(verdicts, cJSON_CreateString(qualification_name(c)));
        cJSON_AddStringToObject(row, "package", c->package);
        cJSON_AddStringToObject(row, "compiled", c->compiled);
        cJSON_AddStringToObject(row, "build", c->build);
        cJSON_AddStringToObject(row, "chip", c->chip);
        cJSON_AddStringToObject(row, "verdict", qualification_name(c));
        cJSON_AddItemToArray(rows, row);
    }
    put(f, "metrics:gate.verdicts", verdicts);
    put(f, "cells", rows);
    if (!is_transferable(m))
        f->reason(f, "verdict_not_transferable",
                  "the same package gets different verdicts: each holds for its own OS build and chip only", "receipts");
}

/* ---- reading */

static assay_status add_document(const settings *s, const assay_item *it, matrix *m, const assay_finding *f, assay_error *err) {
    cJSON *doc = cJSON_Parse(it->json ? it->json : "");
    cJSON *list = cJSON_IsArray(doc) ? doc : cJSON_CreateArray();
    cJSON *receipt;
    if (!doc) {
        cJSON_Delete(list);
        return fail(err, ASSAY_E_INPUT, "receipts: not JSON");
    }
    if (list != doc) cJSON_AddItemToArray(list, doc);
    cJSON_AddItemToArray(m->documents, list);
    cell *more = realloc(m->cells, (m->n + (size_t)cJSON_GetArraySize(list) + 1) * sizeof *more);
    if (!more) return fail(err, ASSAY_E_NOMEM, "out of memory");
    m->cells = more;
    cJSON_ArrayForEach(receipt, list) {
        char where[48];
        if (!s->n_ops && !cJSON_GetObjectItemCaseSensitive(receipt, "schema"))
            return fail(err, ASSAY_E_USAGE,
                        "a recorded receipt can only be judged for named ops: give op_of_interest (for example "
                        "scaled_dot_product_attention)");
        snprintf(where, sizeof where, "receipt %zu", m->n + 1);
        m->cells[m->n] = qualification_cell(s, receipt, where, f);
        m->n++;
    }
    return ASSAY_OK;
}

static assay_status judge(void *self, const assay_evidence *ev, const assay_finding *f, assay_error *err) {
    matrix m = {.documents = cJSON_CreateArray()};
    assay_status st = ASSAY_OK;
    for (uint32_t i = 0; st == ASSAY_OK && i < ev->count(ev, "receipts"); i++) {
        assay_item it = {.struct_size = sizeof it};
        st = ev->item(ev, "receipts", i, &it, err);
        if (st == ASSAY_OK && it.state == ASSAY_OK_STATE) st = add_document(self, &it, &m, f, err);
    }
    if (st == ASSAY_OK) {
        assay_verdict worst = m.n ? ASSAY_PASS : ASSAY_NOT_MEASURED;
        for (size_t i = 0; i < m.n; i++) worst = qualification_worse(worst, m.cells[i].verdict);
        if (m.n)
            report(&m, f);
        else
            f->reason(f, "no_receipts", "no receipt was given", "");
        f->verdict(f, worst);
    }
    free(m.cells);
    cJSON_Delete(m.documents);
    return st;
}

/* ---- the plugin */
static const assay_gate gate = {
    .struct_size = sizeof gate,
    .name = "qualification",
    .version = "1.0",
    .summary = "right where it is claimed to run, on every OS build and chip with a receipt; no verdict is carried over",
    .params = params,
    .create = create,
    .judge = judge,
    .destroy = free};
ASSAY_GATE_PLUGIN(gate)
