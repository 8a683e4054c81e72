/* tests/unit/gate_pair.h: small tensors, a gate loaded from its shared object, and its answer as "verdict code code ...". */
#ifndef ASSAY_TEST_GATE_PAIR_H
#define ASSAY_TEST_GATE_PAIR_H
#include "unit/suite.h"
#include "plugin/evidence.h"
#include "tensor/generate.h"
#include <math.h>

static assay_registry *gate_registry;
__attribute__((unused)) static assay_registry *gates_loaded(const char *name) {
    char path[1024];
    assay_error err = {0};
    if (gate_registry) return gate_registry;
    gate_registry = assay_registry_new();
    snprintf(path, sizeof path, "%s/bin/gates/%s.so", ASSAY_BUILD_DIR, name);
    if (assay_registry_load_file(gate_registry, path, &err)) printf("\n  %s\n", err.message);
    return gate_registry;
}

/* r[i] = normal12 of a label: nothing is drawn at random. */
__attribute__((unused)) static void fill(double *v, size_t n, const char *label) {
    for (size_t i = 0; i < n; i++) v[i] = assay_normal12(assay_stream(label), i);
}

/* Stored as dtype (one rounding). */
__attribute__((unused)) static void put(assay_evidence_set *ev, const char *role, const char *label, int32_t dtype, uint32_t rank,
                                        const int64_t *shape, const double *v) {
    assay_own_tensor own;
    CU_ASSERT_EQUAL_FATAL(assay_tensor_new(dtype, rank, shape, &own, NULL), ASSAY_OK);
    for (int64_t i = 0, n = assay_tensor_count(&own.t); i < n; i++) assay_store_f64(dtype, assay_tensor_at(&own.t, i), v[i]);
    assay_evidence_add_tensor(ev, role, label, NULL, ASSAY_ORIGIN_REFERENCE, "", &own);
}

/* Takes the evidence over. NULL and the message in `err` when the gate cannot judge. */
__attribute__((unused)) static assay_json *judge(const char *gate, assay_evidence_set *ev, const char *params, assay_error *err) {
    assay_json *p = NULL, *v = NULL;
    CU_ASSERT_EQUAL_FATAL(assay_json_parse(params, strlen(params), "test", &p, NULL), ASSAY_OK);
    assay_judge(gates_loaded(gate), gate, p, ev, &v, err);
    assay_json_free(p);
    assay_evidence_free(ev);
    return v;
}

__attribute__((unused)) static bool has_code(const assay_json *v, const char *code) {
    const assay_json *lists[] = {assay_json_path(v, "validity.reasons"), assay_json_get(v, "reasons")};
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < assay_json_len(lists[k]); i++)
            if (strcmp(assay_json_string(assay_json_at(lists[k], i), "code", ""), code) == 0) return true;
    return false;
}

__attribute__((unused)) static double metric(const assay_json *v, const char *group, const char *name) {
    const assay_json *m = assay_json_get(assay_json_get(assay_json_get(v, "metrics"), group), name);
    return assay_json_kind(m) == ASSAY_J_BOOL ? assay_json_truth(m) : assay_json_value(m);
}

/* "verdict" or "verdict code" : the code must be there. Frees v. */
__attribute__((unused)) static void expect(assay_json *v, const char *verdict, const char *code) {
    const char *got = v ? assay_printed_verdict(v) : "an error";
    bool right = strcmp(got, verdict) == 0 && (!code || has_code(v, code));
    CU_ASSERT(right);
    if (!right) {
        char *text = v ? assay_json_print(assay_json_get(v, "reasons")) : NULL;
        printf("\n  got %s %s, want %s %s\n", got, text ? text : "", verdict, code ? code : "");
        free(text);
    }
    assay_json_free(v);
}
#endif
