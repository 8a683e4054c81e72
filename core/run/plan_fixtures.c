/* Planning: materialises the fixtures and their perturbed states, checked against the inputs of every arm (M14) and hashed. */
#include "run/plan_build.h"
#include "base/digest.h"
#include "base/fs.h"
#include "base/names.h"
#include "tensor/npy.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A fixture is data to compute with: one NaN or infinity in it would be blamed on an arm. */
static assay_status check_finite(const assay_tensor *t, const char *who, assay_error *err) {
    if (!assay_dtype_is_float(t->dtype)) return ASSAY_OK;
    int64_t n = assay_tensor_count(t);
    size_t size = assay_dtype_size(t->dtype);
    bool packed = assay_tensor_is_contiguous(t);
    for (int64_t i = 0; i < n; i++) {
        const void *p = packed ? (const char *)t->data + (size_t)i * size : assay_tensor_at(t, i);
        if (!isfinite(assay_load_f64(t->dtype, p)))
            return assay_fail(err, ASSAY_E_INPUT, "%s: element %lld is not finite: a fixture must be finite everywhere", who, (long long)i);
    }
    return ASSAY_OK;
}

static assay_status check_fits(const assay_mil_function *f, const char *input, const assay_tensor *t, const char *who, const char *arm,
                               assay_error *err) {
    for (uint32_t i = 0; f && i < f->n_inputs; i++) {
        const assay_mil_type *want = f->inputs[i]->type;
        if (!assay_streq(f->inputs[i]->name, input) || !want || want->kind != ASSAY_TYPE_TENSOR) continue;
        bool fits = want->rank == t->rank;
        for (uint32_t k = 0; fits && k < t->rank; k++) fits = want->dims[k] < 0 || want->dims[k] == t->shape[k];
        char got[160], expected[160];
        if (!fits)
            return assay_fail(err, ASSAY_E_INPUT, "%s: shape %s does not fit: arm \"%s\" takes %s %s", who,
                              assay_shape_text(t->rank, t->shape, got), arm, input, assay_shape_text(want->rank, want->dims, expected));
        int32_t dtype = assay_mil_to_dtype(want->dtype);
        if (dtype && assay_dtype_is_float(dtype) != assay_dtype_is_float(t->dtype))
            return assay_fail(err, ASSAY_E_INPUT, "%s: %s does not fit: arm \"%s\" takes %s as %s", who, assay_dtype_name(t->dtype), arm,
                              input, assay_mil_dtype_name(want->dtype));
    }
    return ASSAY_OK;
}

/* The control's function: what every fixture must fit. */
static const assay_mil_function *control_function(const assay_plan_build *b, const char **name) {
    *name = assay_plan_arm_of_role(b->plan, "control");
    const assay_json *arms = assay_json_get(b->plan, "arms");
    for (size_t i = 0; *name && i < b->n_arms; i++)
        if (assay_streq(assay_json_string(assay_json_at(arms, i), "name", ""), *name)) return assay_program_function(b->programs[i], NULL);
    return NULL;
}

static assay_status check_has_inputs(const assay_mil_function *f, const assay_json *names, const char *who, const char *arm, assay_error *err) {
    for (uint32_t i = 0; f && i < f->n_inputs; i++) {
        bool found = false;
        if (f->inputs[i]->type && f->inputs[i]->type->kind != ASSAY_TYPE_TENSOR) continue;
        for (size_t k = 0; !found && k < assay_json_len(names); k++)
            found = assay_streq(assay_json_text(assay_json_at(names, k)), f->inputs[i]->name);
        if (!found) return assay_fail(err, ASSAY_E_INPUT, "%s: has no input '%s', which arm \"%s\" takes", who, f->inputs[i]->name, arm);
    }
    return ASSAY_OK;
}

/* Writes one input below `folder` and describes it in `rows`. */
static assay_status write_input(assay_plan_build *b, const char *folder, const char *name, const assay_tensor *t, assay_json *rows, assay_error *err) {
    char *rel = assay_xprintf("%s/%s.npy", folder, name), *abs = assay_path_join(b->tmp, rel);
    char hex[ASSAY_HEX];
    assay_status st = assay_npy_write(abs, t, err);
    if (st == ASSAY_OK) st = assay_plan_store_object(b->tmp, abs, hex, err);
    if (st == ASSAY_OK) {
        assay_json *row = assay_json_append(rows, assay_json_object()), *shape = assay_json_set(row, "shape", assay_json_array());
        assay_json_set_string(row, "name", name);
        assay_json_set_string(row, "file", rel);
        assay_json_set_string(row, "sha256", hex);
        assay_json_set_string(row, "dtype", assay_dtype_name(t->dtype));
        for (uint32_t k = 0; k < t->rank; k++) assay_json_append(shape, assay_json_new_number((double)t->shape[k]));
    }
    free(rel);
    free(abs);
    return st;
}

/* A state of a fixture is named by its input files alone. */
static void set_digest(assay_json *row) {
    const assay_json *inputs = assay_json_get(row, "inputs");
    assay_json *id = assay_json_array();
    for (size_t i = 0; i < assay_json_len(inputs); i++) {
        const assay_json *in = assay_json_at(inputs, i);
        assay_json *pair = assay_json_append(id, assay_json_array());
        assay_json_append(pair, assay_json_new_string(assay_json_string(in, "name", "")));
        assay_json_append(pair, assay_json_new_string(assay_json_string(in, "sha256", "")));
    }
    char *text = assay_json_print(id), hex[ASSAY_HEX];
    assay_sha256_of(text, strlen(text), hex);
    assay_json_set_string(row, "digest", hex);
    free(text);
    assay_json_free(id);
}

static assay_status check_inputs(assay_plan_build *b, const assay_json *names, const assay_own_tensor *t, size_t n, const char *who, assay_error *err) {
    const char *arm = NULL;
    const assay_mil_function *f = control_function(b, &arm);
    if (n != assay_json_len(names)) return assay_fail(err, ASSAY_E_INTERNAL, "%s: %zu tensors for %zu inputs", who, n, assay_json_len(names));
    assay_status st = check_has_inputs(f, names, who, arm, err);
    for (size_t i = 0; st == ASSAY_OK && i < n; i++) {
        const char *name = assay_json_text(assay_json_at(names, i));
        if (!assay_is_plain_name(name)) st = assay_fail(err, ASSAY_E_INPUT, "%s: input name '%s' cannot name a file", who, name);
        if (st == ASSAY_OK) st = check_fits(f, name, &t[i].t, who, arm, err);
        if (st == ASSAY_OK) st = check_finite(&t[i].t, who, err);
    }
    return st;
}

/* Makes fixture `i` in the state `perturb` (NULL: as it is) below `folder`; fills row.inputs and row.digest. */
static assay_status make_state(assay_plan_build *b, size_t i, const char *perturb, const char *folder, assay_json *row, assay_error *err) {
    const assay_json *f = assay_json_at(assay_json_get(b->desc, "fixtures"), i), *names = assay_json_get(f, "inputs");
    const char *name = assay_json_string(f, "name", "");
    char *who = assay_xprintf("%s: fixture \"%s\"", assay_json_string(f, "where", b->o->script), name);
    char *abs = assay_path_join(b->tmp, folder);
    if (b->o->note) {
        char *what = assay_xprintf("fixture %s%s", name, perturb ? " (perturbed)" : "");
        b->o->note(b->o->ctx, what);
        free(what);
    }
    assay_own_tensor *tensors = NULL;
    size_t n = 0;
    assay_status st = assay_script_make_fixture(b->script, i, perturb, &tensors, &n, err);
    if (st == ASSAY_OK) st = check_inputs(b, names, tensors, n, who, err);
    if (st == ASSAY_OK) st = assay_mkdirs(abs, err);
    assay_json *rows = assay_json_set(row, "inputs", assay_json_array());
    for (size_t k = 0; st == ASSAY_OK && k < n; k++)
        st = write_input(b, folder, assay_json_text(assay_json_at(names, k)), &tensors[k].t, rows, err);
    if (st == ASSAY_OK) set_digest(row);
    for (size_t k = 0; k < n; k++) assay_tensor_free(&tensors[k]);
    free(tensors);
    free(abs);
    free(who);
    return st;
}

assay_status assay_plan_build_fixtures(assay_plan_build *b, assay_error *err) {
    const assay_json *list = assay_json_get(b->desc, "fixtures");
    assay_json *rows = assay_json_set(b->plan, "fixtures", assay_json_array());
    assay_status st = ASSAY_OK;
    for (size_t i = 0; st == ASSAY_OK && i < assay_json_len(list); i++) {
        const assay_json *f = assay_json_at(list, i);
        assay_json *row = assay_json_append(rows, assay_json_object());
        for (const char *const *k = (const char *const[]){"name", "provenance", "use", NULL}; *k; k++) {
            const assay_json *v = assay_json_get(f, *k);
            assay_json_set(row, *k, v ? assay_json_clone(v) : assay_json_new_null());
        }
        assay_json_set(row, "perturbed", assay_json_array());
        char *folder = assay_xprintf("fixtures/%s", assay_json_string(f, "name", ""));
        st = make_state(b, i, NULL, folder, row, err);
        free(folder);
    }
    return st;
}

assay_status assay_plan_build_perturbed(assay_plan_build *b, const char *fixture, const char *perturb, assay_error *err) {
    const assay_json *rows = assay_json_get(b->plan, "fixtures");
    for (size_t i = 0; i < assay_json_len(rows); i++) {
        const assay_json *row = assay_json_at(rows, i);
        if (!assay_streq(assay_json_string(row, "name", ""), fixture)) continue;
        if (assay_plan_state(row, perturb)) return ASSAY_OK;
        char hex[ASSAY_HEX];
        assay_sha256_of(perturb, strlen(perturb), hex);
        char *folder = assay_xprintf("fixtures/%s@%.8s", fixture, hex);
        assay_json *state = assay_json_append(assay_json_get(row, "perturbed"), assay_json_object());
        assay_json_set_string(state, "perturb", perturb);
        assay_status st = make_state(b, i, perturb, folder, state, err);
        free(folder);
        return st;
    }
    return assay_fail(err, ASSAY_E_INPUT, "a gate asks for fixture \"%s\", which the experiment does not have", fixture);
}
