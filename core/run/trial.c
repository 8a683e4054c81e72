/* Requests, ids and folders of trials. */
#include "run/trial.h"
#include "base/digest.h"
#include "base/fs.h"
#include "base/names.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#ifdef __APPLE__
#include <sys/sysctl.h>
#endif

static void add_id(assay_json *job) {
    char *text = assay_json_print(assay_json_get(job, "request")), hex[ASSAY_HEX], id[17];
    assay_sha256_of(text, strlen(text), hex);
    memcpy(id, hex, 16);
    id[16] = 0;
    assay_json_set_string(job, "id", id);
    free(text);
}

/* Numeric precision of an arm: what its program declares; of the reference: what the plan says, with the cut. */
static assay_json *numeric_params(const assay_json *arm, bool oracle) {
    assay_json *params = assay_json_object();
    assay_json_set_string(params, "precision", oracle ? assay_json_string(arm, "precision", "fp64") : "declared");
    const assay_json *cut = oracle ? assay_json_get(arm, "cut") : NULL;
    if (assay_json_len(cut)) assay_json_set(params, "cut", assay_json_clone(cut));
    return params;
}

static assay_status add_arm(const assay_plan *p, const char *name, const char *key, assay_json *job, assay_json *request, assay_error *err) {
    const assay_json *arm = assay_plan_arm(p, name);
    if (!arm) return assay_fail(err, ASSAY_E_MISSING, "the plan has no program for arm '%s'", name ? name : "");
    char path_key[16], units_key[32];
    snprintf(path_key, sizeof path_key, "%s_path", key);
    snprintf(units_key, sizeof units_key, "%s", assay_streq(key, "arm") ? "compute_units" : "compute_units_b");
    assay_json_set_string(job, key, name);
    assay_json_set_string(job, path_key, assay_json_string(arm, "path", ""));
    assay_json_set_string(request, key, assay_json_string(arm, "tree", ""));
    if (!assay_streq(name, "@reference")) {
        const char *units = assay_json_string(arm, "compute_units", NULL);
        assay_json_set_string(request, units_key, units ? units : assay_json_string(p->json, "compute_units", "all"));
    }
    return ASSAY_OK;
}

static void add_inputs(const assay_json *state, assay_json *owner) {
    assay_json *inputs = assay_json_set(owner, "inputs", assay_json_array());
    const assay_json *rows = assay_json_get(state, "inputs");
    for (size_t i = 0; i < assay_json_len(rows); i++) {
        assay_json *in = assay_json_append(inputs, assay_json_object());
        for (const char *const *k = (const char *const[]){"name", "file", "sha256", NULL}; *k; k++)
            assay_json_set_string(in, *k, assay_json_string(assay_json_at(rows, i), *k, ""));
    }
}

static assay_status add_fixture(const assay_plan *p, const assay_query *q, assay_json *job, assay_json *request, assay_error *err) {
    const assay_json *f = assay_plan_fixture(p, q->fixture);
    if (!f) return assay_fail(err, ASSAY_E_MISSING, "the plan has no fixture '%s'", q->fixture ? q->fixture : "");
    const assay_json *state = assay_plan_state(f, q->perturb);
    if (!state) return assay_fail(err, ASSAY_E_MISSING, "fixture '%s' was not planned with the perturbation %s", q->fixture, q->perturb);
    assay_json_set_string(job, "fixture", q->fixture);
    if (state != f) assay_json_set_string(job, "perturb", q->perturb);
    add_inputs(state, job);
    assay_json_set_string(request, "fixture", assay_json_string(state, "digest", ""));
    return ASSAY_OK;
}

/* The design of one timing process. Its `fixtures` become digests in the request (names are no part of it) and files in the job. */
static assay_status add_design(const assay_plan *p, const char *text, assay_json *job, assay_json *request, assay_error *err) {
    assay_json *design = NULL;
    assay_status st = assay_json_parse(text, strlen(text), "design of a timing trial", &design, err);
    if (st != ASSAY_OK) return st;
    const assay_json *names = assay_json_get(assay_json_set(request, "design", design), "fixtures");
    assay_json *digests = assay_json_array(), *files = assay_json_array();
    for (size_t i = 0; st == ASSAY_OK && i < assay_json_len(names); i++) {
        const char *name = assay_json_text(assay_json_at(names, i));
        const assay_json *f = assay_plan_fixture(p, name);
        if (!f) {
            st = assay_fail(err, ASSAY_E_MISSING, "the plan has no fixture '%s'", name ? name : "");
            break;
        }
        assay_json *row = assay_json_append(files, assay_json_object());
        assay_json_set_string(row, "fixture", name);
        add_inputs(f, row);
        assay_json_append(digests, assay_json_new_string(assay_json_string(f, "digest", "")));
    }
    if (names) assay_json_set(design, "fixtures", digests), assay_json_set(job, "rotation", files);
    else assay_json_free(digests), assay_json_free(files);
    return st;
}

/* Asked for by name, and none of the outputs that the plan lists. */
static bool is_value_inside(const assay_plan *p, const assay_query *q) {
    const assay_json *outputs = assay_json_get(assay_plan_arm(p, q->arm), "outputs");
    bool inside = q->output && assay_json_len(outputs) > 0;
    for (size_t i = 0; inside && i < assay_json_len(outputs); i++) inside = !assay_streq(assay_json_text(assay_json_at(outputs, i)), q->output);
    return inside;
}

/* The reference, and an arm that models its arithmetic, run on the reference backend whatever the backend of the run. */
static bool on_reference(const assay_plan *p, const char *arm) {
    return assay_streq(arm, "@reference") || assay_streq(assay_json_string(assay_plan_arm(p, arm), "backend", NULL), "reference");
}

static assay_status fill_request(const assay_plan *p, const assay_query *q, assay_json *job, assay_json *request, assay_error *err) {
    bool oracle = assay_streq(q->arm, "@reference"), at_home = !oracle && on_reference(p, q->arm);
    if (oracle && q->kind != ASSAY_K_OUTPUT) return assay_fail(err, ASSAY_E_MISSING, "the reference has outputs only");
    const char *arm = q->arm || q->kind != ASSAY_K_RECORD ? q->arm : assay_plan_arm_of_role(p->json, "control");  /* of the machine: beside the control */
    assay_status st = add_arm(p, arm, "arm", job, request, err);
    if (q->kind == ASSAY_K_RECORD) assay_json_set_string(request, "record", q->record);
    if (st != ASSAY_OK || q->kind == ASSAY_K_PLAN || q->kind == ASSAY_K_RECORD) return st;
    assay_json_set(request, "params", numeric_params(assay_plan_arm(p, q->arm), oracle));
    if (oracle) assay_json_set_bool(request, "oracle", true);
    if (at_home) assay_json_set_string(request, "backend", "reference");
    st = add_fixture(p, q, job, request, err);
    if (st != ASSAY_OK || q->kind == ASSAY_K_OUTPUT) {
        if (q->repeats > 1) assay_json_set_int(request, "repeats", q->repeats);
        if (is_value_inside(p, q)) assay_json_set_string(request, "value", q->output);
        return st;
    }
    st = add_arm(p, q->arm_b, "arm_b", job, request, err);
    if (st == ASSAY_OK) st = add_design(p, q->record ? q->record : "{}", job, request, err);
    if (assay_plan_target_is_reference(p->json)) assay_json_set_bool(job, "reference_is_target", true);
    return st;
}

assay_status assay_trial_job(const assay_plan *p, const assay_query *q, assay_json **out, assay_error *err) {
    if (q->kind < ASSAY_K_OUTPUT || q->kind > ASSAY_K_RECORD)
        return assay_fail(err, ASSAY_E_MISSING, "no trial makes evidence of kind %s", assay_kind_name(q->kind));
    assay_json *job = assay_json_object(), *request = assay_json_set(job, "request", assay_json_object());
    assay_json_set_string(job, "schema", ASSAY_JOB_SCHEMA);
    assay_json_set_string(job, "kind", assay_kind_name(q->kind));
    assay_json_set_string(request, "schema", "assay-request/1");
    assay_json_set_string(request, "kind", assay_kind_name(q->kind));
    assay_json_set_string(job, "backend", on_reference(p, q->arm) ? "reference" : NULL);
    assay_status st = fill_request(p, q, job, request, err);
    if (st != ASSAY_OK) {
        assay_json_free(job);
        return st;
    }
    add_id(job);
    *out = job;
    return ASSAY_OK;
}

char *assay_trial_dir(const assay_plan *p, const char *host, const char *id) { return assay_xprintf("%s/evidence/%s/%s", p->dir, host, id); }

bool assay_trial_is_done(const assay_plan *p, const char *host, const char *id) {
    if (!host) return false;
    char *path = assay_xprintf("%s/evidence/%s/%s/trial.json", p->dir, host, id);
    bool done = assay_is_file(path);
    free(path);
    return done;
}

assay_status assay_trial_read(const assay_plan *p, const char *host, const char *id, assay_json **trial, char sha256[65], assay_error *err) {
    char *path = assay_xprintf("%s/evidence/%s/%s/trial.json", p->dir, host, id);
    assay_json *t = NULL;
    assay_status st = assay_json_read_file(path, &t, err);
    if (st == ASSAY_OK) st = assay_sha256_file(path, sha256, err);
    if (st == ASSAY_OK && (!assay_streq(assay_json_string(t, "schema", ""), ASSAY_TRIAL_SCHEMA) || !assay_streq(assay_json_string(t, "id", ""), id)))
        st = assay_fail(err, ASSAY_E_INPUT, "%s: not the %s of trial %s: the evidence was moved or altered", path, ASSAY_TRIAL_SCHEMA, id);
    free(path);
    if (st != ASSAY_OK) assay_json_free(t);
    else *trial = t;
    return st;
}

static char *job_path(const char *dir, const char *id) { return assay_xprintf("%s/trials/%s.json", dir, id); }

assay_status assay_job_write(const assay_plan *p, const assay_json *job, assay_error *err) {
    char *path = job_path(p->dir, assay_json_string(job, "id", "")), *parent = assay_path_dir(path);
    assay_status st = ASSAY_OK;
    if (!assay_is_file(path)) {
        assay_buf text = {0};
        assay_json_write(job, &text);
        st = assay_mkdirs(parent, err);
        if (st == ASSAY_OK) st = assay_write_inside(path, text.data, text.len, err);
        assay_buf_free(&text);
    }
    free(path);
    free(parent);
    return st;
}

assay_status assay_job_read(const char *dir, const char *id, assay_json **job, assay_error *err) {
    if (strlen(id) != 16 || strspn(id, "0123456789abcdef") != 16)
        return assay_fail(err, ASSAY_E_USAGE, "'%s' is not a trial id (16 hex digits; 'assay trials DIR' lists them)", id);
    char *path = job_path(dir, id);
    assay_status st = assay_is_file(path) ? assay_json_read_file(path, job, err)
                                          : assay_fail(err, ASSAY_E_INPUT, "%s has no trial %s; 'assay trials %s' lists what there is to do", dir, id, dir);
    free(path);
    return st;
}

char *assay_host_name(const char *backend) {
    struct utsname u;
    const char *model = "unknown", *build = "unknown";
    if (uname(&u) == 0) {
        model = u.machine;
        build = u.release;
    }
#ifdef __APPLE__
    char hw[64] = "", os[64] = "";
    size_t n = sizeof hw, m = sizeof os;
    if (sysctlbyname("hw.model", hw, &n, NULL, 0) == 0 && *hw) model = hw;
    if (sysctlbyname("kern.osversion", os, &m, NULL, 0) == 0 && *os) build = os;
#endif
    char *name = assay_xprintf("%.24s-%.20s-%.16s", model, build, backend);
    for (char *c = name; *c; c++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-", *c)) *c = '_';
    return name;
}

assay_status assay_plan_hosts(const assay_plan *p, char ***names, size_t *n, assay_error *err) {
    char *dir = assay_path_join(p->dir, "evidence");
    *names = NULL;
    *n = 0;
    assay_status st = assay_is_dir(dir) ? assay_list_dir(dir, names, n, err) : ASSAY_OK;
    free(dir);
    return st;
}
