/* Turns the needs of a gate into items of evidence: programs from the plan, everything else from published trials. */
#include "run/gather.h"
#include "base/digest.h"
#include "base/fs.h"
#include "base/names.h"
#include "tensor/npy.h"
#include <stdlib.h>
#include <string.h>

void assay_gather_open(assay_gather *g, const assay_plan *p, const char *host) {
    *g = (assay_gather){.plan = p, .host = host, .asked = assay_json_array(), .missing = assay_json_array()};
}

void assay_gather_close(assay_gather *g) {
    assay_json_free(g->asked);
    assay_json_free(g->missing);
    memset(g, 0, sizeof *g);
}

static int32_t origin_of(const char *name) {
    static const struct { const char *name; int32_t origin; } table[] = {
        {"device", ASSAY_ORIGIN_DEVICE}, {"reference", ASSAY_ORIGIN_REFERENCE}, {"simulated", ASSAY_ORIGIN_SIMULATED}, {"imported", ASSAY_ORIGIN_IMPORTED}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (assay_streq(name, table[i].name)) return table[i].origin;
    return 0;
}

/* The line of `asked` for a need; the rules of the judge work on these lines alone. */
static assay_json *note_need(assay_gather *g, const assay_need *n) {
    assay_json *row = assay_json_append(g->asked, assay_json_object());
    assay_json_set_string(row, "role", n->role);
    assay_json_set_string(row, "label", n->label);
    assay_json_set_string(row, "kind", assay_kind_name(n->query.kind));
    assay_json_set_string(row, "arm", n->query.arm);
    if (n->query.arm_b) assay_json_set_string(row, "arm_b", n->query.arm_b);
    if (n->query.fixture) assay_json_set_string(row, "fixture", n->query.fixture);
    if (n->query.perturb) assay_json_set_string(row, "perturb", n->query.perturb);
    if (n->query.kind == ASSAY_K_RECORD) assay_json_set_string(row, "record", n->query.record);
    return row;
}

static void add_absent(assay_evidence_set *set, const assay_need *n, assay_json *row, int32_t state, const char *why) {
    static const char *const names[] = {"", "ok", "not_measured", "failed", "unavailable"};
    assay_json_set_string(row, "state", names[state]);
    assay_json_set_string(row, "why", why);
    assay_evidence_add_absent(set, n->query.kind, n->role, n->label, n->query.arm, state, why);
}

static void note_ok(assay_json *row, const char *origin, const char *sha256) {
    assay_json_set_string(row, "state", "ok");
    assay_json_set_string(row, "origin", origin);
    assay_json_set_string(row, "sha256", sha256);
}

static assay_status check_digest(const char *path, const char *want, const char *got, assay_error *err) {
    if (assay_streq(want, got)) return ASSAY_OK;
    return assay_fail(err, ASSAY_E_INPUT, "%s: digest %.12s... differs from the recorded %.12s...: the file was altered; nothing can be judged from it", path,
                      got, want);
}

static assay_status add_program(assay_gather *g, const assay_need *n, assay_evidence_set *set, assay_json *row, assay_error *err) {
    const assay_json *arm = assay_plan_arm(g->plan, n->query.arm);
    if (!arm) {
        add_absent(set, n, row, ASSAY_STATE_UNAVAILABLE, "the plan has no program for this arm");
        return ASSAY_OK;
    }
    char *path = assay_plan_path(g->plan, assay_json_string(arm, "path", "")), tree[ASSAY_HEX];
    assay_program *p = NULL;
    assay_status st = assay_tree_digest(path, tree, err);
    if (st == ASSAY_OK) st = check_digest(path, assay_json_string(arm, "tree", ""), tree, err);
    if (st == ASSAY_OK) st = assay_program_read(path, &p, err);
    if (st == ASSAY_OK) {
        const char *origin = assay_json_string(arm, "origin", "reference");
        note_ok(row, origin, tree);
        assay_evidence_add_program(set, n->role, n->label, n->query.arm, origin_of(origin), tree, p);
    }
    free(path);
    return st;
}

/* Maps a .npy file whose digest must be `sha256`. */
static assay_status read_tensor(const char *path, const char *sha256, assay_own_tensor *t, assay_error *err) {
    char hex[ASSAY_HEX];
    assay_status st = assay_sha256_file(path, hex, err);
    if (st == ASSAY_OK) st = check_digest(path, sha256, hex, err);
    return st == ASSAY_OK ? assay_npy_read(path, t, err) : st;
}

static assay_status add_imported_reference(assay_gather *g, const assay_need *n, assay_evidence_set *set, assay_json *row, assay_error *err) {
    const assay_json *tensors = assay_json_get(assay_json_get(g->plan->json, "reference"), "tensors");
    const assay_json *t = assay_json_get(tensors, n->query.fixture ? n->query.fixture : "");
    if (!t || (n->query.perturb && !assay_streq(n->query.perturb, "{}"))) {
        add_absent(set, n, row, ASSAY_STATE_UNAVAILABLE, "the imported reference has no tensor for this fixture");
        return ASSAY_OK;
    }
    if (n->query.output) {
        add_absent(set, n, row, ASSAY_STATE_UNAVAILABLE, "an imported reference has no values inside");
        return ASSAY_OK;
    }
    char *path = assay_plan_path(g->plan, assay_json_string(t, "file", ""));
    const char *sha = assay_json_string(t, "sha256", "");
    assay_own_tensor own = {0};
    assay_status st = read_tensor(path, sha, &own, err);
    if (st == ASSAY_OK) {
        note_ok(row, "imported", sha);
        assay_evidence_add_tensor(set, n->role, n->label, n->query.arm, ASSAY_ORIGIN_IMPORTED, sha, &own);
    }
    free(path);
    return st;
}

/* A record of the plan. What is wrong with it is no error of the run: it counts as not measured, with the way out, in words that do not
 * depend on where the run directory stands. */
static void add_planned_record(assay_gather *g, const assay_need *n, const assay_json *record, assay_evidence_set *set, assay_json *row) {
    const char *file = assay_json_string(record, "file", NULL), *sha = assay_json_string(record, "sha256", "");
    assay_error why = {0};
    char *path = assay_plan_path(g->plan, file ? file : ""), hex[ASSAY_HEX];
    assay_status st = file ? ASSAY_OK : assay_fail(&why, ASSAY_E_MISSING, "%s", assay_json_string(record, "why", "no file"));
    if (file && !assay_path_is_inside(file)) st = assay_fail(&why, ASSAY_E_INPUT, "its file name '%s' leaves the run directory", file);
    if (st == ASSAY_OK) st = assay_sha256_file(path, hex, &why);
    if (st == ASSAY_OK && !assay_streq(hex, sha))
        st = assay_fail(&why, ASSAY_E_INPUT, "%s is not the file that was planned: put that one back, or plan again with this one", file);
    if (st == ASSAY_OK) st = assay_evidence_add_record(set, n->role, n->label, n->query.arm, sha, path, &why);
    if (st == ASSAY_OK) note_ok(row, "imported", sha);
    else add_absent(set, n, row, ASSAY_STATE_NOT_MEASURED, assay_starts_with(why.message, path) ? why.message + strlen(g->plan->dir) + 1 : why.message);
    free(path);
}

static const assay_json *pick_output(const assay_json *trial, const char *name) {
    const assay_json *outs = assay_json_get(trial, "outputs");
    for (size_t i = 0; i < assay_json_len(outs); i++)
        if (!name || assay_streq(assay_json_string(assay_json_at(outs, i), "name", ""), name)) return assay_json_at(outs, i);
    return NULL;
}

typedef struct payload { const char *origin, *sha256; char *path; } payload;

static assay_status add_output(const assay_need *n, const payload *f, assay_evidence_set *set, assay_json *row, assay_error *err) {
    assay_own_tensor own = {0};
    assay_status st = read_tensor(f->path, f->sha256, &own, err);
    if (st != ASSAY_OK) return st;
    note_ok(row, f->origin, f->sha256);
    assay_evidence_add_tensor(set, n->role, n->label, n->query.arm, origin_of(f->origin), f->sha256, &own);
    return ASSAY_OK;
}

static assay_status add_table(const assay_need *n, const payload *f, assay_evidence_set *set, assay_json *row, assay_error *err) {
    char hex[ASSAY_HEX];
    assay_json *doc = NULL;
    assay_status st = assay_sha256_file(f->path, hex, err);
    if (st == ASSAY_OK) st = check_digest(f->path, f->sha256, hex, err);
    if (st == ASSAY_OK) st = assay_json_read_file(f->path, &doc, err);
    if (st == ASSAY_OK) {
        note_ok(row, f->origin, f->sha256);
        assay_evidence_add_json(set, n->role, n->label, n->query.arm, origin_of(f->origin), f->sha256, doc);
    }
    assay_json_free(doc);
    return st;
}

static assay_status add_samples(const assay_need *n, const assay_json *trial, const payload *f, assay_evidence_set *set, assay_json *row, assay_error *err) {
    char *data = NULL, hex[ASSAY_HEX];
    size_t len = 0;
    assay_status st = assay_read_file(f->path, (size_t)1 << 30, &data, &len, err);
    if (st == ASSAY_OK) {
        assay_sha256_of(data, len, hex);
        st = check_digest(f->path, f->sha256, hex, err);
    }
    if (st == ASSAY_OK && len % sizeof(assay_sample) != 0)
        st = assay_fail(err, ASSAY_E_INPUT, "%s: %zu bytes are no whole number of samples", f->path, len);
    if (st == ASSAY_OK) {
        note_ok(row, f->origin, f->sha256);
        assay_evidence_add_samples(set, n->role, n->label, n->query.arm, origin_of(f->origin), f->sha256, (const assay_sample *)(const void *)data,
                                   len / sizeof(assay_sample), assay_json_get(trial, "timing"));
    }
    free(data);
    return st;
}

/* The payload file that answers a need, from the trial's own table. */
static assay_status add_payload(assay_gather *g, const assay_need *n, const char *id, const assay_json *trial, assay_evidence_set *set, assay_json *row,
                                assay_error *err) {
    const assay_json *file = n->query.kind == ASSAY_K_OUTPUT ? pick_output(trial, n->query.output)
                             : n->query.kind == ASSAY_K_PLAN ? assay_json_get(trial, "device_table")
                             : n->query.kind == ASSAY_K_RECORD ? assay_json_get(trial, "record")
                                                             : assay_json_get(trial, "samples");
    if (!file) {
        add_absent(set, n, row, ASSAY_STATE_FAILED, n->query.output ? "the arm has no output of that name" : "the trial left no such file");
        return ASSAY_OK;
    }
    const char *name = assay_json_string(file, "file", "");
    if (!assay_path_is_inside(name)) return assay_fail(err, ASSAY_E_INPUT, "trial %s: file name '%s' leaves its folder", id, name);
    payload f = {.origin = assay_json_string(trial, "origin", ""), .sha256 = assay_json_string(file, "sha256", "")};
    f.path = assay_xprintf("%s/evidence/%s/%s/%s", g->plan->dir, g->host, id, name);
    assay_status st = n->query.kind == ASSAY_K_OUTPUT ? add_output(n, &f, set, row, err)
                      : n->query.kind == ASSAY_K_TIMING ? add_samples(n, trial, &f, set, row, err)
                                                        : add_table(n, &f, set, row, err);
    free(f.path);
    return st;
}

static assay_status add_trial(assay_gather *g, const assay_need *n, const char *id, assay_evidence_set *set, assay_json *row, assay_error *err) {
    assay_json *trial = NULL;
    char sha[ASSAY_HEX];
    assay_status st = assay_trial_read(g->plan, g->host, id, &trial, sha, err);
    if (st != ASSAY_OK) return st;
    assay_json_set_string(row, "trial_sha256", sha);
    if (assay_json_get(trial, "rules")) assay_json_set(row, "rules", assay_json_clone(assay_json_get(trial, "rules")));
    const assay_json *outcome = assay_json_get(trial, "outcome");
    const char *state = assay_json_string(outcome, "state", ""), *why = assay_json_string(outcome, "why", state);
    if (assay_streq(state, "ok")) st = add_payload(g, n, id, trial, set, row, err);
    else add_absent(set, n, row, assay_streq(state, "unavailable") ? ASSAY_STATE_UNAVAILABLE : ASSAY_STATE_FAILED, why);
    assay_json_set_string(row, "outcome", state);
    assay_json_free(trial);
    return st;
}

static bool listed(const assay_json *jobs, const char *id) {
    for (size_t i = 0; i < assay_json_len(jobs); i++)
        if (assay_streq(assay_json_string(assay_json_at(jobs, i), "id", ""), id)) return true;
    return false;
}

void assay_jobs_add(assay_json *jobs, const assay_json *more) {
    for (size_t i = 0; i < assay_json_len(more); i++) {
        const assay_json *job = assay_json_at(more, i);
        if (!listed(jobs, assay_json_string(job, "id", ""))) assay_json_append(jobs, assay_json_clone(job));
    }
}

assay_status assay_gather_need(assay_gather *g, const assay_need *n, assay_evidence_set *set, assay_error *err) {
    assay_json *row = note_need(g, n);
    if (n->query.kind == ASSAY_K_PROGRAM) return add_program(g, n, set, row, err);
    const char *name = n->query.kind == ASSAY_K_RECORD ? n->query.record : n->query.kind == ASSAY_K_PLAN ? ASSAY_PLAN_RECORD : NULL;
    const assay_json *record = name ? assay_plan_record(g->plan, name, n->query.arm) : NULL;
    if (record) {
        add_planned_record(g, n, record, set, row);
        return ASSAY_OK;
    }
    const assay_json *ref = assay_json_get(g->plan->json, "reference");
    if (assay_streq(n->query.arm, "@reference") && assay_json_get(ref, "tensors")) return add_imported_reference(g, n, set, row, err);
    assay_json *job = NULL;
    assay_error why = {0};
    assay_status st = assay_trial_job(g->plan, &n->query, &job, &why);
    if (st == ASSAY_E_MISSING) {
        add_absent(set, n, row, ASSAY_STATE_UNAVAILABLE, why.message);
        return ASSAY_OK;
    }
    if (st != ASSAY_OK) return assay_fail(err, st, "%s", why.message);
    const char *id = assay_json_string(job, "id", "");
    assay_json_set_string(row, "trial", id);
    if (assay_trial_is_done(g->plan, g->host, id)) {
        st = add_trial(g, n, id, set, row, err);
        assay_json_free(job);
    } else {
        assay_json_set_string(row, "state", "missing");
        if (listed(g->missing, id)) assay_json_free(job);
        else assay_json_append(g->missing, job);
    }
    return st;
}
