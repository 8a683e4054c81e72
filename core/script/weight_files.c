/* Projection weights out of .safetensors, .npy and packages. Every offset of a file is checked before it is used. */
#include "script/weight_files.h"
#include "base/fs.h"
#include "base/names.h"
#include "program/sites.h"
#include "tensor/safetensors.h"
#include "tensor/npy.h"
#include <stdlib.h>
#include <string.h>

static assay_status read_safetensors(const char *path, const char *name, assay_own_tensor *out, assay_error *err) {
    assay_safetensors *s;
    assay_status st = assay_safetensors_open(path, &s, err);
    if (st != ASSAY_OK) return st;
    const assay_safetensors_entry *e = assay_safetensors_find(s, name);
    st = e ? assay_safetensors_read(e, out, err) : assay_fail(err, ASSAY_E_MISSING, "%s: no tensor '%s'", path, name);
    assay_safetensors_free(s);
    return st;
}

/* ---- packages: from the attention's operands back to the projection */
static const assay_mil_op *projection_of(const assay_mil_value *v) {
    for (int steps = 0; v && steps < 64; steps++) {
        const assay_mil_op *op = v->producer;
        if (!op || strcmp(op->type, "linear") == 0) return op;
        v = assay_op_in(op, "x"); /* layout ops, casts and the scale all call it x */
    }
    return NULL;
}

/* Operands q, k, v of the first attention. */
static bool find_attention(const assay_mil_function *f, const assay_mil_value *qkv[3]) {
    size_t n;
    assay_site *s = assay_sites_find(f, &n);
    if (n) qkv[0] = s->query, qkv[1] = s->key, qkv[2] = s->value;
    free(s);
    return n > 0;
}

static assay_status read_package(const char *path, const char *key, assay_own_tensor *out, assay_error *err) {
    assay_program *p;
    assay_status st = assay_program_read(path, &p, err);
    if (st) return st;
    const assay_mil_value *qkv[3] = {NULL, NULL, NULL};
    const assay_mil_function *f = assay_program_function(p, NULL);
    bool bias = key[0] == 'b';
    static const char order[] = "qkv";
    const char *which = strchr(order, key[bias]);
    assay_own_tensor read = {0};
    if (!f || !find_attention(f, qkv))
        st = assay_fail(err, ASSAY_E_INPUT, "%s: no attention found, so no projections", path);
    else if (strlen(key) > 2)
        st = assay_fail(err, ASSAY_E_MISSING, "%s: no tensor '%s'", path, key);
    else {
        const assay_mil_op *op = projection_of(qkv[which - order]);
        const assay_mil_const *c = op ? assay_op_const(op, bias ? "bias" : "weight") : NULL;
        if (!c && bias)
            st = assay_fail(err, ASSAY_E_MISSING, "%s: no bias '%s'", path, key);
        else if (!c)
            st = assay_fail(err, ASSAY_E_INPUT, "%s: '%s' does not come from a linear projection with constant weights", path,
                            key);
        else
            st = assay_const_read(c, &read, err);
    }
    if (!st) st = assay_tensor_copy(&read.t, 0, out, err);
    assay_tensor_free(&read);
    assay_program_free(p);
    return st;
}

assay_status assay_weight_file_read(const char *path, const char *key, const assay_json *names, assay_own_tensor *out,
                                    assay_error *err) {
    const char *asked = assay_json_string(names, key, NULL);
    if (assay_ends_with(path, ".npy")) {
        bool meant = assay_json_len(names) ? asked != NULL : assay_streq(key, "qkv");
        if (!meant) return assay_fail(err, ASSAY_E_MISSING, "%s: holds one tensor", path);
        return assay_npy_read(path, out, err);
    }
    assay_status refused = assay_refuse_checkpoint(path, err);
    if (refused != ASSAY_OK) return refused;
    if (!assay_is_safetensors(path)) return read_package(path, key, out, err);
    if (names && !asked) return assay_fail(err, ASSAY_E_MISSING, "%s: '%s' is not asked for", path, key);
    assay_status st = read_safetensors(path, asked ? asked : key, out, err);
    if (st == ASSAY_E_MISSING && asked)
        return assay_fail(err, ASSAY_E_INPUT, "%s: no tensor '%s' (asked for as weights.names.%s)", path, asked, key);
    return st;
}
