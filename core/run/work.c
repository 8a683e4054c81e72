/* In the worker: does one job (outputs, device table or timing) and writes trial.json last. */
#include "run/work.h"
#include "base/digest.h"
#include "base/fmath.h"
#include "base/fs.h"
#include "base/names.h"
#include "tensor/npy.h"
#include <stdlib.h>
#include <string.h>

static const char *origin_name(int32_t origin) {
    static const char *const names[] = {"", "device", "reference", "simulated", "imported"};
    return origin >= 1 && origin <= 4 ? names[origin] : "";
}

assay_json *assay_trial_new(const assay_json *job, const assay_backend_type *b) {
    assay_json *t = assay_json_object();
    assay_json_set_string(t, "schema", ASSAY_TRIAL_SCHEMA);
    assay_json_set_string(t, "id", assay_json_string(job, "id", ""));
    assay_json_set(t, "request", assay_json_clone(assay_json_get(job, "request")));
    assay_json_set_string(t, "origin", origin_name(b->origin));
    assay_json *id = assay_json_set(t, "identity", assay_json_object());
    assay_json_set_string(id, "backend", b->backend->name);
    assay_json_set_string(id, "backend.version", b->backend->version);
    if (b->origin == ASSAY_ORIGIN_DEVICE) assay_json_set_string(id, "backend.sha256", b->sha256);
    return t;
}

void assay_trial_outcome(assay_json *trial, const char *state, const char *why) {
    assay_json *o = assay_json_set(trial, "outcome", assay_json_object());
    assay_json_set_string(o, "state", state);
    if (why) assay_json_set_string(o, "why", why);
}

static void identity_text(const assay_sink *s, const char *key, const char *value) { assay_json_set_string(s->ctx, key, value); }
static void identity_number(const assay_sink *s, const char *key, double value, const char *unit) {
    (void)unit;
    assay_json_set_number(s->ctx, key, value);
}
static void identity_op(const assay_sink *s, const assay_op_row *row) { (void)s, (void)row; }

static assay_status add_identity(const assay_work *w, assay_json *trial, assay_error *err) {
    const assay_backend *b = w->backend->backend;
    assay_sink sink = {.struct_size = sizeof sink, .ctx = assay_json_get(trial, "identity"), .text = identity_text, .number = identity_number, .op = identity_op};
    return b->identity ? b->identity(assay_host_table(), &sink, err) : ASSAY_OK;
}

/* ---- outputs */

static assay_status write_payload(const assay_work *w, const char *file, const assay_tensor *t, assay_json *row, assay_error *err) {
    char *path = assay_path_join(w->out, file), hex[ASSAY_HEX];
    assay_status st = assay_npy_write(path, t, err);
    if (st == ASSAY_OK) st = assay_sha256_file(path, hex, err);
    free(path);
    if (st != ASSAY_OK) return st;
    assay_json_set_string(row, "file", file);
    assay_json_set_string(row, "sha256", hex);
    assay_json_set_string(row, "dtype", assay_dtype_name(t->dtype));
    assay_json *shape = assay_json_set(row, "shape", assay_json_array());
    for (uint32_t k = 0; k < t->rank; k++) assay_json_append(shape, assay_json_new_number((double)t->shape[k]));
    return ASSAY_OK;
}

/* Repeats of one call stand along a new first axis. */
static assay_status new_stack(const assay_tensor *t, int64_t repeats, assay_own_tensor *out, assay_error *err) {
    int64_t shape[ASSAY_RANK_MAX] = {repeats};
    if (t->rank + 1 > ASSAY_RANK_MAX) return assay_fail(err, ASSAY_E_UNSUPPORTED, "repeats of a rank-%u output cannot be stored", t->rank);
    memcpy(shape + 1, t->shape, t->rank * sizeof *shape);
    return assay_tensor_new(t->dtype, t->rank + 1, shape, out, err);
}

static assay_status call_once(assay_bound_arm *a, assay_error *err) {
    assay_status st = a->b->predict(a->session, a->binding, a->state, err);
    if (st == ASSAY_OK && a->b->fetch) st = a->b->fetch(a->session, a->binding, err);
    return st;
}

static assay_status call_repeated(assay_bound_arm *a, int64_t repeats, assay_own_tensor *stacks, assay_error *err) {
    assay_status st = ASSAY_OK;
    for (uint32_t i = 0; st == ASSAY_OK && i < a->n_out; i++) st = new_stack(&a->out[i].t, repeats, &stacks[i], err);
    for (int64_t r = 0; st == ASSAY_OK && r < repeats; r++) {
        st = call_once(a, err);
        for (uint32_t i = 0; st == ASSAY_OK && i < a->n_out; i++) {
            size_t bytes = (size_t)assay_tensor_count(&a->out[i].t) * assay_dtype_size(a->out[i].t.dtype);
            assay_tensor_read(&a->out[i].t, a->out[i].t.dtype, (char *)stacks[i].t.data + (size_t)r * bytes);
        }
    }
    return st;
}

static assay_status store_outputs(const assay_work *w, const assay_bound_arm *a, const assay_own_tensor *stacks, assay_json *trial, assay_error *err) {
    assay_json *rows = assay_json_set(trial, "outputs", assay_json_array());
    assay_status st = ASSAY_OK;
    for (uint32_t i = 0; st == ASSAY_OK && i < a->n_out; i++) {
        const char *name = a->out_names[i].name;
        char *file = assay_is_plain_name(name) ? assay_xprintf("%s.npy", name) : assay_xprintf("output%u.npy", i);
        assay_json *row = assay_json_append(rows, assay_json_object());
        assay_json_set_string(row, "name", name);
        st = write_payload(w, file, stacks ? &stacks[i].t : &a->out[i].t, row, err);
        free(file);
    }
    return st;
}

/* *arm_failed tells a fault of the arm or backend (an outcome) from one of the disk. */
static assay_status do_output(const assay_work *w, assay_json *trial, bool *arm_failed, assay_error *err) {
    const assay_json *request = assay_json_get(w->job, "request");
    int64_t repeats = assay_json_int(request, "repeats", 1);
    assay_bound_arm a;
    assay_own_tensor *stacks = NULL;
    *arm_failed = true;
    assay_json *facts = assay_json_object();
    assay_status st = assay_arm_open(w, assay_json_string(w->job, "arm_path", ""), assay_json_string(request, "compute_units", "all"), facts, &a, err);
    if (st == ASSAY_OK) st = assay_arm_bind(w, &a, err);
    if (st == ASSAY_OK && repeats > 1) {
        stacks = assay_xcalloc(a.n_out + 1, sizeof *stacks);
        st = call_repeated(&a, repeats, stacks, err);
    } else if (st == ASSAY_OK) {
        st = call_once(&a, err);
    }
    const char *why = NULL;
    if (st == ASSAY_OK && !assay_fp_mode_ok(&why))
        st = assay_fail(err, ASSAY_E_INTERNAL, "backend '%s' left the floating-point mode changed (%s)", w->backend->backend->name, why);
    if (st == ASSAY_OK) {
        *arm_failed = false;
        st = store_outputs(w, &a, stacks, trial, err);
    }
    assay_json_remove(facts, "numbers");         /* times: they differ between equal runs */
    assay_work_take_facts(w, facts, trial);
    assay_json_set(trial, "facts", facts);
    for (uint32_t i = 0; stacks && i < a.n_out; i++) assay_tensor_free(&stacks[i]);
    free(stacks);
    assay_arm_close(&a);
    return st;
}

/* ---- device table */

static const char *device_name(int32_t dev) {
    static const char *const names[] = {NULL, "none", "CPU", "GPU", "NE"};
    return dev >= 0 && dev <= 4 ? names[dev] : NULL;
}

static void table_op(const assay_sink *s, const assay_op_row *r) {
    assay_json *rows = assay_json_get(s->ctx, "operations"), *row = assay_json_append(rows, assay_json_object());
    assay_json_set_int(row, "index", (int64_t)assay_json_len(rows) - 1);
    assay_json_set_string(row, "function", r->function);
    assay_json_set_string(row, "name", r->output);
    assay_json_set_string(row, "type", r->type);
    assay_json_set_string(row, "preferred", device_name(r->preferred));
    assay_json *supported = assay_json_set(row, "supported", r->supported ? assay_json_array() : assay_json_new_null());
    for (int32_t d = ASSAY_DEV_CPU; r->supported && d <= ASSAY_DEV_NE; d++)
        if (r->supported & (1u << d)) assay_json_append(supported, assay_json_new_string(device_name(d)));
    assay_json_set_number(row, "cost", r->cost);
}
static void table_text(const assay_sink *s, const char *key, const char *value) {
    assay_json_set_string(assay_json_get(s->ctx, "host"), key, value);
}

static void table_number(const assay_sink *s, const char *key, double value, const char *unit) { (void)s, (void)key, (void)value, (void)unit; }

assay_status assay_work_write_json(const assay_work *w, const char *file, const char *key, const assay_json *doc, assay_json *trial, assay_error *err) {
    assay_buf text = {0};
    char *path = assay_path_join(w->out, file), hex[ASSAY_HEX];
    assay_json_write(doc, &text);
    assay_status st = assay_write_inside(path, text.data, text.len, err);
    assay_sha256_of(text.data, text.len, hex);
    assay_json *row = assay_json_set(trial, key, assay_json_object());
    assay_json_set_string(row, "file", file);
    assay_json_set_string(row, "sha256", hex);
    assay_buf_free(&text);
    free(path);
    return st;
}

static assay_status do_plan(const assay_work *w, assay_json *trial, bool *arm_failed, assay_error *err) {
    const char *units = assay_json_string(assay_json_get(w->job, "request"), "compute_units", "all");
    assay_json *table = assay_json_object();
    assay_json_set_string(table, "schema", "compute-plan/1");
    assay_json_set_string(table, "source", w->backend->backend->name);
    assay_json_set_string(table, "requested_units", units);
    assay_json_set(table, "host", assay_json_object());
    assay_json_set(table, "operations", assay_json_array());
    assay_sink sink = {.struct_size = sizeof sink, .ctx = table, .text = table_text, .number = table_number, .op = table_op};
    assay_bound_arm a;
    *arm_failed = true;
    assay_json *facts = assay_json_object();
    assay_status st = assay_arm_open(w, assay_json_string(w->job, "arm_path", ""), units, facts, &a, err);
    assay_work_take_facts(w, facts, trial);
    assay_json_free(facts);
    if (st == ASSAY_OK) st = a.b->plan(a.session, &sink, err);
    if (st == ASSAY_OK) {
        *arm_failed = false;
        st = assay_work_write_json(w, "device-table.json", "device_table", table, trial, err);
    }
    assay_arm_close(&a);
    assay_json_free(table);
    return st;
}

/* ---- */

static assay_status check_arm(const assay_work *w, const char *path_key, const char *digest_key, assay_error *err) {
    const char *rel = assay_json_string(w->job, path_key, NULL);
    if (!rel) return ASSAY_OK;
    char *path = assay_path_join(w->dir, rel), hex[ASSAY_HEX];
    assay_status st = assay_tree_digest(path, hex, err);
    if (st == ASSAY_OK && !assay_streq(hex, assay_json_string(assay_json_get(w->job, "request"), digest_key, "")))
        st = assay_fail(err, ASSAY_E_IO, "%s: the arm was altered since it was planned", path);
    free(path);
    return st;
}

static assay_status write_trial(const assay_work *w, const assay_json *trial, assay_error *err) {
    assay_buf text = {0};
    char *path = assay_path_join(w->out, "trial.json");
    assay_json_write(trial, &text);
    assay_status st = assay_write_inside(path, text.data, text.len, err);
    assay_buf_free(&text);
    free(path);
    return st;
}

static const char *what_it_lacks(const assay_backend_type *b, const char *kind) {
    if (assay_streq(kind, "plan") && !b->backend->plan) return "this backend has no compute plan";
    if (assay_streq(kind, "record") && !b->record) return "nothing was recorded under this name: attach the file with the word `record` and plan again";
    return NULL;
}

static assay_status do_kind(const assay_work *w, assay_json *trial, bool *arm_failed, assay_error *why) {
    const char *kind = assay_json_string(w->job, "kind", ""), *lacks = what_it_lacks(w->backend, kind);
    if (lacks) {
        assay_trial_outcome(trial, "unavailable", lacks);
        return ASSAY_OK;
    }
    if (assay_streq(kind, "output")) return do_output(w, trial, arm_failed, why);
    if (assay_streq(kind, "plan")) return do_plan(w, trial, arm_failed, why);
    if (assay_streq(kind, "record")) return assay_work_record(w, trial, arm_failed, why);
    if (assay_streq(kind, "timing")) return assay_work_timing(w, trial, why);
    return assay_fail(why, ASSAY_E_INTERNAL, "unknown kind of trial '%s'", kind);
}

assay_status assay_work_do(const assay_work *w, assay_error *err) {
    assay_json *trial = assay_trial_new(w->job, w->backend);
    assay_error why = {0};
    bool arm_failed = false;
    assay_fp_mode_set();
    assay_status st = check_arm(w, "arm_path", "arm", &why);
    if (st == ASSAY_OK) st = check_arm(w, "arm_b_path", "arm_b", &why);
    if (st == ASSAY_OK) {
        arm_failed = true;
        st = add_identity(w, trial, &why);
    }
    if (st == ASSAY_OK) st = do_kind(w, trial, &arm_failed, &why);
    if (st == ASSAY_OK && !assay_json_get(trial, "outcome")) assay_trial_outcome(trial, "ok", NULL);
    else if (st != ASSAY_OK && arm_failed && st != ASSAY_E_IO) assay_trial_outcome(trial, "failed", why.message);
    else if (st != ASSAY_OK) st = assay_fail(err, st, "%s", why.message);
    if (assay_json_get(trial, "outcome")) st = write_trial(w, trial, err);
    assay_json_free(trial);
    return st;
}
