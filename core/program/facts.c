/* Facts of a program as JSON, for `assay inspect` and for trials: names follow the truth files of the corpus. Weights are not
 * read: their places and types are. */
#include "program/facts.h"
#include "program/facts_more.h"
#include "program/internal.h"
#include "program/optable.h"
#include "base/digest.h"
#include <stdlib.h>
#include <string.h>

/* ---- types */
static assay_json *dims_json(uint32_t rank, const int64_t *dims) {
    assay_json *a = assay_json_array();
    for (uint32_t i = 0; i < rank; i++)
        assay_json_append(a, dims[i] >= 0 ? assay_json_new_number((double)dims[i])
                                          : assay_json_new_string(dims[i] == ASSAY_DIM_UNKNOWN ? "?" : "..."));
    return a;
}

assay_json *assay_type_json(const assay_mil_type *t) {
    static const char *const kinds[] = {"", "tensor", "list", "tuple", "dict", "state"};
    assay_json *j = assay_json_object();
    assay_json_set_string(j, "kind", kinds[t->kind]);
    if (t->kind == ASSAY_TYPE_TENSOR) {
        assay_json_set_string(j, "dtype", assay_mil_dtype_name(t->dtype));
        assay_json_set(j, "shape", dims_json(t->rank, t->dims));
    } else if (t->kind == ASSAY_TYPE_DICT) {
        assay_json_set(j, "key", assay_type_json(t->sub[0]));
        assay_json_set(j, "value", assay_type_json(t->sub[1]));
    } else if (t->kind == ASSAY_TYPE_STATE) {
        assay_json_set(j, "wraps", assay_type_json(t->sub[0]));
    } else {
        assay_json *parts = assay_json_set(j, "types", assay_json_array());
        for (uint32_t i = 0; i < t->n_sub; i++) assay_json_append(parts, assay_type_json(t->sub[i]));
        if (t->kind == ASSAY_TYPE_LIST && t->length >= 0) assay_json_set_int(j, "length", t->length);
    }
    return j;
}

static assay_json *values_json(assay_mil_value *const *values, uint32_t n) {
    assay_json *a = assay_json_array();
    for (uint32_t i = 0; i < n; i++)
        assay_json_set_string(assay_json_append(a, assay_type_json(values[i]->type)), "name", values[i]->name);
    return a;
}

/* ---- features */
static const char *feature_kind(int32_t kind) {
    static const char *const names[] = {"",           "multiArrayType", "imageType",    "dictionaryType", "int64Type",
                                        "doubleType", "stringType",     "sequenceType", "stateType"};
    return names[kind];
}

static void add_flexible(assay_json *j, const assay_feature *f) {
    if (f->flexible == 1 && f->n_ranges) {
        assay_json *a = assay_json_set(j, "shape_range", assay_json_array());
        for (uint32_t i = 0; i < f->n_ranges; i++) {
            assay_json *pair = assay_json_append(a, assay_json_array());
            assay_json_append(pair, assay_json_new_number((double)f->ranges[i][0]));
            assay_json_append(pair, assay_json_new_number((double)f->ranges[i][1]));
        }
    }
    if (f->flexible == 2 && f->n_shapes) {
        assay_json *a = assay_json_set(j, "enumerated_shapes", assay_json_array());
        for (uint32_t i = 0; i < f->n_shapes; i++) assay_json_append(a, dims_json(f->rank, f->shapes[i]));
    }
}

static assay_json *feature_json(const assay_feature *f) {
    assay_json *j = assay_json_object();
    assay_json_set_string(j, "name", f->name);
    assay_json_set_string(j, "kind", feature_kind(f->kind));
    if (f->description && *f->description) assay_json_set_string(j, "description", f->description);
    if (f->optional) assay_json_set_bool(j, "optional", true);
    if (f->kind == ASSAY_FEATURE_TENSOR || f->kind == ASSAY_FEATURE_STATE) {
        assay_json_set_string(j, "dtype", f->dtype ? assay_dtype_name(f->dtype) : NULL);
        assay_json_set(j, "shape", dims_json(f->rank, f->shape));
        add_flexible(j, f);
    }
    if (f->kind == ASSAY_FEATURE_IMAGE) {
        assay_json_set_int(j, "width", f->width);
        assay_json_set_int(j, "height", f->height);
        assay_json_set_int(j, "color_space", f->color_space);
    }
    return j;
}

static assay_json *feature_list(const assay_feature *list, uint32_t n) {
    assay_json *a = assay_json_array();
    for (uint32_t i = 0; i < n; i++) assay_json_append(a, feature_json(&list[i]));
    return a;
}

static assay_json *features_json(const assay_signature *s) {
    assay_json *j = assay_json_object();
    assay_json_set(j, "input", feature_list(s->inputs, s->n_inputs));
    assay_json_set(j, "output", feature_list(s->outputs, s->n_outputs));
    assay_json_set(j, "state", feature_list(s->states, s->n_states));
    if (s->predicted_feature) assay_json_set_string(j, "predicted_feature", s->predicted_feature);
    if (s->predicted_probabilities) assay_json_set_string(j, "predicted_probabilities", s->predicted_probabilities);
    return j;
}

/* ---- ops: how often each type stands in the function's own block, as the truth files count; nested ones are told apart. */
static int by_text(const void *a, const void *b) {
    const char *const *x = a, *const *y = b;
    return strcmp(*x, *y);
}

static assay_json *histogram(const char **types, size_t n) {
    assay_json *j = assay_json_object();
    qsort(types, n, sizeof *types, by_text);
    for (size_t i = 0; i < n;) {
        size_t k = i;
        while (k < n && !strcmp(types[k], types[i])) k++;
        assay_json_set_int(j, types[i], (int64_t)(k - i));
        i = k;
    }
    return j;
}

static void add_histograms(assay_json *j, const assay_mil_function *f) {
    const char **types = assay_xcalloc(f->n_all_ops + 1, sizeof *types);
    size_t n = 0;
    for (uint32_t i = 0; i < f->n_all_ops; i++) types[n++] = f->all_ops[i]->type;
    assay_json_set(j, "op_histogram", histogram(types, n));
    n = 0;
    for (uint32_t i = 0; i < f->n_all_ops; i++)
        if (f->all_ops[i]->reachable) types[n++] = f->all_ops[i]->type;
    assay_json_set(j, "op_histogram_reachable", histogram(types, n));
    free(types);
    n = 0;
    types = assay_xcalloc(f->n_all_ops + 1, sizeof *types);
    for (uint32_t i = 0; i < f->n_all_ops; i++)
        if (strcmp(f->all_ops[i]->type, "const") && !assay_optable_find(f->all_ops[i]->type)) types[n++] = f->all_ops[i]->type;
    assay_json_set(j, "unknown_ops", histogram(types, n));
    free(types);
}

static assay_json *function_json(assay_program *p, const assay_mil_function *f) {
    assay_json *j = assay_json_object();
    assay_json_set_string(j, "opset", f->opset);
    assay_json_set(j, "inputs", values_json(f->inputs, f->n_inputs));
    assay_json *outs = assay_json_set(j, "outputs", assay_json_array());
    for (uint32_t i = 0; i < f->block->n_outputs; i++) assay_json_append(outs, assay_json_new_string(f->block->outputs[i]->name));
    assay_json_set(j, "output_types", values_json(f->block->outputs, f->block->n_outputs));
    add_histograms(j, f);
    assay_json_set(j, "attention_sites", assay_sites_json(f));
    assay_json_set(j, "layout_ops", assay_layout_json(f));
    assay_json_set(j, "compression", assay_compression_json(f));
    const assay_signature *s = assay_program_signature(p, f);
    if (s) assay_json_set(j, "features", features_json(s));
    return j;
}

/* ---- weights */
static assay_json *entry_json(const assay_blob_entry *e) {
    assay_json *j = assay_json_object();
    assay_json_set_int(j, "offset", (int64_t)e->offset);
    assay_json_set_int(j, "dtype_code", e->code);
    assay_json_set_string(j, "dtype", e->dtype);
    assay_json_set_int(j, "size_bytes", (int64_t)e->size_bytes);
    assay_json_set_int(j, "data_offset", (int64_t)e->data_offset);
    assay_json_set_int(j, "padding_bits", (int64_t)e->padding_bits);
    return j;
}

static assay_json *weight_file_json(const assay_program *p, size_t i, int detail) {
    const char *name, *why;
    uint64_t size;
    uint32_t version;
    assay_blob_entry *entries = NULL;
    size_t n;
    assay_error err;
    assay_json *j = assay_json_object();
    assay_status s =
        assay_blob_walk(p, i, &name, &size, &version, detail >= ASSAY_FACTS_PLACES ? &entries : NULL, &n, &why, &err);
    assay_json_set_string(j, "file", name);
    if (s || why) {
        assay_json_set_string(j, s ? "damaged" : "absent", s ? err.message : why);
        return j;
    }
    assay_json_set_int(j, "size", (int64_t)size);
    assay_json_set_int(j, "version", version);
    assay_json_set_int(j, "count", (int64_t)n);
    if (detail < ASSAY_FACTS_PLACES) return j;
    assay_json *list = assay_json_set(j, "entries", assay_json_array());
    for (size_t k = 0; k < n; k++) {
        assay_json *e = assay_json_append(list, entry_json(&entries[k]));
        char hex[65];
        if (detail >= ASSAY_FACTS_DIGESTS && !assay_blob_digest(p, i, &entries[k], hex, &err))
            assay_json_set_string(e, "sha256", hex);
    }
    free(entries);
    return j;
}

static void add_reference(assay_json *list, const assay_mil_function *f, const assay_mil_op *op, const char *param,
                          const assay_mil_const *c, bool digests) {
    if (!c->blob_file) return;
    assay_json *j = assay_json_append(list, assay_json_object());
    assay_json_set_string(j, "function", f->name);
    assay_json_set_string(j, "op", op->n_outs ? op->outs[0]->name : "");
    assay_json_set_string(j, "param", param);
    assay_json_set_string(j, "file", c->blob_file);
    assay_json_set_int(j, "offset", (int64_t)c->blob_offset);
    assay_json_set_string(j, "dtype", assay_mil_dtype_name(c->type->dtype));
    assay_json_set(j, "shape", dims_json(c->type->rank, c->type->dims));
    assay_json_set_int(j, "elements", assay_type_count(c->type));
    if (c->absent) assay_json_set_bool(j, "absent", true);
    if (!digests || c->absent) return;
    char hex[65];
    assay_const_digest(c, hex);
    assay_json_set_string(j, "sha256_unpacked", hex);
}

static assay_json *references_json(const assay_program *p, bool digests) {
    assay_json *list = assay_json_array();
    for (uint32_t i = 0; i < p->n_functions; i++) {
        const assay_mil_function *f = p->functions[i];
        for (uint32_t k = 0; k < f->n_all_ops; k++) {
            const assay_mil_op *op = f->all_ops[k];
            for (uint32_t a = 0; a < op->n_attrs; a++) add_reference(list, f, op, op->attrs[a].key, op->attrs[a].value, digests);
            for (uint32_t a = 0; a < op->n_args; a++)
                for (uint32_t b = 0; b < op->args[a].n; b++)
                    if (op->args[a].items[b].literal)
                        add_reference(list, f, op, op->args[a].key, op->args[a].items[b].literal, digests);
        }
    }
    return list;
}

/* ---- all of it */
static bool is_own_key(const char *key) {
    return !strcmp(key, "shortDescription") || !strcmp(key, "versionString") || !strcmp(key, "author") || !strcmp(key, "license");
}

assay_json *assay_program_facts_full(const assay_program *p, int detail) {
    assay_json *j = assay_json_object();
    assay_json_set_int(j, "specification_version", p->spec_version);
    assay_json_set_string(j, "model_type", "mlProgram");
    assay_json_set_bool(j, "is_multifunction", p->n_functions > 1);
    assay_json_set_string(j, "default_function", p->default_function);
    assay_json *own = assay_json_set(j, "metadata", assay_json_object()),
               *user = assay_json_set(j, "user_metadata", assay_json_object());
    for (uint32_t i = 0; i < p->n_metadata; i++)
        assay_json_set_string(is_own_key(p->metadata[i].key) ? own : user, p->metadata[i].key, p->metadata[i].value);
    assay_json_set(j, "converter", assay_versions_json(p));
    assay_json *functions = assay_json_set(j, "functions", assay_json_object());
    for (uint32_t i = 0; i < p->n_functions; i++)
        assay_json_set(functions, p->functions[i]->name, function_json((assay_program *)(uintptr_t)p, p->functions[i]));
    assay_json *files = assay_json_set(j, "weight_files", assay_json_array());
    for (size_t i = 0; i < assay_blob_file_count(p); i++) assay_json_append(files, weight_file_json(p, i, detail));
    if (assay_blob_file_count(p) == 1) assay_json_set(j, "weight_file", assay_json_clone(assay_json_at(files, 0)));
    if (detail >= ASSAY_FACTS_PLACES) assay_json_set(j, "weight_references", references_json(p, detail >= ASSAY_FACTS_DIGESTS));
    return j;
}

assay_json *assay_program_facts(const assay_program *p) { return assay_program_facts_full(p, ASSAY_FACTS_PLACES); }
