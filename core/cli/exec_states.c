/* States of `assay exec`: read before the first call, written after the last. */
#include "cli/exec_states.h"
#include "base/fs.h"
#include "base/names.h"
#include "tensor/npy.h"
#include <stdlib.h>
#include <string.h>

enum { NAMES_MAX = 64 };

static assay_status no_such_state(const assay_exec_state *s, const char *name, assay_error *err) {
    const char *names[NAMES_MAX];
    size_t n = 0;
    char hint[96];
    for (uint32_t i = 0; i < assay_exec_state_count(s) && n < NAMES_MAX; i++) names[n++] = assay_exec_state_at(s, i).name;
    return assay_fail(err, ASSAY_E_INPUT, "--state-in: the function has no state '%s'%s", name,
                      assay_did_you_mean(hint, name, names, n));
}

static assay_status load(const assay_named_tensor *state, const char *file, assay_error *err) {
    assay_own_tensor t;
    char a[160], b[160];
    assay_status st = assay_npy_read(file, &t, err);
    if (st != ASSAY_OK) return st;
    if (!assay_tensor_same_shape(&t.t, &state->t))
        st = assay_fail(err, ASSAY_E_INPUT, "state '%s' has shape %s, %s holds %s", state->name,
                        assay_shape_text(state->t.rank, state->t.shape, a), file, assay_shape_text(t.t.rank, t.t.shape, b));
    else
        assay_tensor_read(&t.t, state->t.dtype, state->t.data);
    assay_tensor_free(&t);
    return st;
}

assay_status assay_exec_state_load(assay_exec_state *s, const char *given, assay_error *err) {
    const char *eq = strchr(given, '=');
    if (!eq || eq == given || !eq[1]) return assay_fail(err, ASSAY_E_INPUT, "--state-in takes NAME=FILE.npy, got '%s'", given);
    char *name = assay_xstrndup(given, (size_t)(eq - given));
    assay_status st = ASSAY_OK;
    bool found = false;
    for (uint32_t i = 0; i < assay_exec_state_count(s) && !found; i++) {
        assay_named_tensor state = assay_exec_state_at(s, i);
        found = !strcmp(state.name, name);
        if (found) st = load(&state, eq + 1, err);
    }
    if (!found) st = no_such_state(s, name, err);
    free(name);
    return st;
}

assay_status assay_exec_state_save(const assay_exec_state *s, const char *dir, assay_json *list, assay_error *err) {
    assay_status st = dir ? assay_mkdirs(dir, err) : ASSAY_OK;
    for (uint32_t i = 0; i < assay_exec_state_count(s) && st == ASSAY_OK; i++) {
        assay_named_tensor state = assay_exec_state_at(s, i);
        char hex[65];
        assay_json *row = assay_json_append(list, assay_json_object());
        assay_json_set_string(row, "name", state.name);
        assay_json_set_string(row, "dtype", assay_dtype_name(state.t.dtype));
        assay_tensor_digest(&state.t, hex);
        assay_json_set_string(row, "sha256", hex);
        if (!dir) continue;
        char *file = assay_xprintf("%s.npy", state.name), *path = assay_path_join(dir, file);
        st = assay_path_is_inside(file) ? assay_npy_write(path, &state.t, err)
                                        : assay_fail(err, ASSAY_E_INPUT, "state '%s' cannot name a file", state.name);
        assay_json_set_string(row, "file", file);
        free(file);
        free(path);
    }
    return st;
}
