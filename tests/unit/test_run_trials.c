/* Requests and ids of trials, and gathering of evidence for a gate, on a small run directory made by hand. */
#include "suite.h"
#include "base/digest.h"
#include "base/fs.h"
#include "base/names.h"
#include "run/gather.h"
#include "run/judge.h"
#include "tensor/npy.h"
#include <unistd.h>

static char dir[64];

static const char plan_text[] =
    "{\"schema\":\"assay-plan/1\",\"name\":\"t\",\"compute_units\":\"all\",\"reference\":{\"kind\":\"arm\",\"arm\":\"a\",\"precision\":\"fp64\",\"path\":\"arms/a/m\",\"tree\":\"aa\",\"cut\":[\"q\"]},"
    "\"arms\":[{\"name\":\"a\",\"role\":\"control\",\"path\":\"arms/a/m\",\"tree\":\"aa\",\"compute_units\":\"all\"},"
    "{\"name\":\"b\",\"role\":\"candidate\",\"path\":\"arms/b/m\",\"tree\":\"bb\",\"compute_units\":\"all\"},"
    "{\"name\":\"b2\",\"role\":\"negative\",\"path\":\"arms/b2/m\",\"tree\":\"bb\",\"compute_units\":\"all\"},"
    "{\"name\":\"c\",\"role\":\"negative\",\"path\":\"arms/c/m\",\"tree\":\"bb\",\"compute_units\":\"cpu_only\"}],"
    "\"fixtures\":[{\"name\":\"s\",\"digest\":\"d0\",\"inputs\":[{\"name\":\"x\",\"file\":\"fixtures/s/x.npy\",\"sha256\":\"00\"}],"
    "\"perturbed\":[{\"perturb\":\"{\\\"token\\\":1}\",\"digest\":\"d1\",\"inputs\":[]}]}],"
    "\"gates\":[{\"use\":\"mock\",\"version\":\"1\",\"params\":{},\"also\":[]}],\"scripts\":[]}";

static void write_text(const char *rel, const char *text) {
    char *path = assay_path_join(dir, rel), *parent = assay_path_dir(path);
    CU_ASSERT_EQUAL_FATAL(assay_mkdirs(parent, NULL), ASSAY_OK);
    CU_ASSERT_EQUAL_FATAL(assay_write_file(path, text, strlen(text), NULL), ASSAY_OK);
    free(path);
    free(parent);
}

static assay_plan open_plan(void) {
    assay_plan p;
    assay_error err = {0};
    strcpy(dir, "/tmp/assay-test-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(dir));
    write_text("plan.json", plan_text);
    CU_ASSERT_EQUAL_FATAL(assay_plan_load(dir, &p, &err), ASSAY_OK);
    return p;
}
static void close_plan(assay_plan *p) {
    assay_plan_free(p);
    assay_remove_tree(dir, NULL);
}

static void id_of(const assay_plan *p, assay_query q, char out[17]) {
    assay_json *job = NULL;
    assay_error err = {0};
    q.struct_size = sizeof q;
    CU_ASSERT_EQUAL_FATAL(assay_trial_job(p, &q, &job, &err), ASSAY_OK);
    snprintf(out, 17, "%s", assay_json_string(job, "id", ""));
    CU_ASSERT_EQUAL(strlen(out), 16);
    assay_json_free(job);
}

static void equal_requests_are_one_trial(void) {
    assay_plan p = open_plan();
    char b[17], b2[17], again[17];
    id_of(&p, (assay_query){.kind = ASSAY_K_OUTPUT, .arm = "b", .fixture = "s"}, b);
    id_of(&p, (assay_query){.kind = ASSAY_K_OUTPUT, .arm = "b", .fixture = "s", .output = "y", .perturb = "{}"}, again);
    id_of(&p, (assay_query){.kind = ASSAY_K_OUTPUT, .arm = "b2", .fixture = "s"}, b2);
    CU_ASSERT_STRING_EQUAL(b, again);
    CU_ASSERT_STRING_EQUAL(b, b2);               /* same program, same policy: names do not matter */
    close_plan(&p);
}
static void other_policy_fixture_or_kind_is_another_trial(void) {
    assay_plan p = open_plan();
    char b[17], other[17];
    id_of(&p, (assay_query){.kind = ASSAY_K_OUTPUT, .arm = "b", .fixture = "s"}, b);
    id_of(&p, (assay_query){.kind = ASSAY_K_OUTPUT, .arm = "c", .fixture = "s"}, other);
    CU_ASSERT_STRING_NOT_EQUAL(b, other);
    id_of(&p, (assay_query){.kind = ASSAY_K_OUTPUT, .arm = "b", .fixture = "s", .perturb = "{\"token\":1}"}, other);
    CU_ASSERT_STRING_NOT_EQUAL(b, other);
    id_of(&p, (assay_query){.kind = ASSAY_K_OUTPUT, .arm = "b", .fixture = "s", .repeats = 3}, other);
    CU_ASSERT_STRING_NOT_EQUAL(b, other);
    id_of(&p, (assay_query){.kind = ASSAY_K_PLAN, .arm = "b"}, other);
    CU_ASSERT_STRING_NOT_EQUAL(b, other);
    id_of(&p, (assay_query){.kind = ASSAY_K_TIMING, .arm = "a", .arm_b = "b", .fixture = "s", .record = "{\"process\":0}"}, b);
    id_of(&p, (assay_query){.kind = ASSAY_K_TIMING, .arm = "a", .arm_b = "b", .fixture = "s", .record = "{\"process\":1}"}, other);
    CU_ASSERT_STRING_NOT_EQUAL(b, other);
    close_plan(&p);
}
static void the_reference_is_the_oracles_and_not_the_arms(void) {
    assay_plan p = open_plan();
    char arm[17], ref[17];
    assay_json *job = NULL;
    assay_query q = {.struct_size = sizeof q, .kind = ASSAY_K_OUTPUT, .arm = "@reference", .fixture = "s"};
    id_of(&p, (assay_query){.kind = ASSAY_K_OUTPUT, .arm = "a", .fixture = "s"}, arm);
    id_of(&p, q, ref);
    CU_ASSERT_STRING_NOT_EQUAL(arm, ref);
    CU_ASSERT_EQUAL_FATAL(assay_trial_job(&p, &q, &job, NULL), ASSAY_OK);
    CU_ASSERT_STRING_EQUAL(assay_json_string(job, "backend", ""), "reference");
    CU_ASSERT_STRING_EQUAL(assay_json_string(assay_json_path(job, "request.params"), "precision", ""), "fp64");
    CU_ASSERT_EQUAL(assay_json_len(assay_json_path(job, "request.params.cut")), 1);
    assay_json_free(job);
    close_plan(&p);
}
static void what_the_plan_does_not_hold_is_said(void) {
    assay_plan p = open_plan();
    assay_json *job = NULL;
    assay_error err = {0};
    assay_query q = {.struct_size = sizeof q, .kind = ASSAY_K_OUTPUT, .arm = "nobody", .fixture = "s"};
    CU_ASSERT_EQUAL(assay_trial_job(&p, &q, &job, &err), ASSAY_E_MISSING);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "nobody"));
    q.arm = "a";
    q.perturb = "{\"token\":2}";
    CU_ASSERT_EQUAL(assay_trial_job(&p, &q, &job, &err), ASSAY_E_MISSING);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "not planned with"));
    close_plan(&p);
}
static void a_folder_without_a_plan_is_refused(void) {
    assay_plan p;
    assay_error err = {0};
    CU_ASSERT_EQUAL(assay_plan_load("/tmp", &p, &err), ASSAY_E_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "not a run directory"));
}

/* ---- gathering, with a gate that asks for one output and passes when it is there */

static assay_status mock_create(const assay_gate_type *t, const assay_host *h, const assay_params *p, void **self, assay_error *e) {
    (void)t, (void)h, (void)p, (void)e;
    *self = (void *)1;
    return ASSAY_OK;
}
static int mock_mode;                            /* 0: asks for b's output; 1: fails in needs */
static assay_status mock_needs(const assay_gate_type *t, void *self, const assay_evidence *ev, const assay_request *r, assay_error *e) {
    (void)t, (void)self, (void)ev;
    assay_query q = {.struct_size = sizeof q, .kind = ASSAY_K_OUTPUT, .arm = "b", .fixture = "s"};
    if (mock_mode == 1) return snprintf(e->message, sizeof e->message, "broken inside"), ASSAY_E_INTERNAL;
    return r->need(r, "candidate", "s", &q, e);
}
static assay_status mock_judge(const assay_gate_type *t, void *self, const assay_evidence *ev, const assay_finding *f, assay_error *e) {
    (void)t, (void)self;
    assay_item item = {.struct_size = sizeof item};
    assay_status st = ev->item(ev, "candidate", 0, &item, e);
    if (st != ASSAY_OK) return st;
    f->verdict(f, item.state == ASSAY_OK_STATE ? ASSAY_PASS : ASSAY_INCONCLUSIVE);
    return ASSAY_OK;
}
static void mock_destroy(const assay_gate_type *t, void *self) { (void)t, (void)self; }

static assay_registry *mock_registry(void) {
    static const assay_param none[] = {{.name = NULL}};
    assay_gate_type g = {.name = "mock", .version = "1", .summary = "s", .path = "", .kind = "c", .params = none,
                         .create = mock_create, .needs = mock_needs, .judge = mock_judge, .destroy = mock_destroy};
    assay_registry *r = assay_registry_new();
    assay_registry_add_gate(r, &g);
    mock_mode = 0;
    return r;
}

static void leave_evidence(const assay_plan *p, const char *state, bool spoil) {
    char id[17], hex[ASSAY_HEX];
    int64_t shape[1] = {3};
    float data[3] = {1, 2, 3};
    id_of(p, (assay_query){.kind = ASSAY_K_OUTPUT, .arm = "b", .fixture = "s"}, id);
    char *folder = assay_trial_dir(p, "h", id), *file = assay_path_join(folder, "y.npy");
    CU_ASSERT_EQUAL_FATAL(assay_mkdirs(folder, NULL), ASSAY_OK);
    assay_tensor t = assay_tensor_view(ASSAY_F32, 1, shape, data);
    CU_ASSERT_EQUAL_FATAL(assay_npy_write(file, &t, NULL), ASSAY_OK);
    CU_ASSERT_EQUAL_FATAL(assay_sha256_file(file, hex, NULL), ASSAY_OK);
    if (spoil) hex[0] = hex[0] == '0' ? '1' : '0';
    char *text = assay_xprintf("{\"schema\":\"assay-trial/1\",\"id\":\"%s\",\"origin\":\"reference\",\"identity\":{\"backend\":\"reference\"},\"outcome\":{\"state\":\"%s\",\"why\":\"because\"},"
                               "\"outputs\":[{\"name\":\"y\",\"file\":\"y.npy\",\"sha256\":\"%s\"}]}", id, state, hex);
    char *rel = assay_xprintf("evidence/h/%s/trial.json", id);
    write_text(rel, text);
    free(rel);
    free(text);
    free(folder);
    free(file);
}

static void a_gate_waits_for_what_is_missing(void) {
    assay_plan p = open_plan();
    assay_registry *r = mock_registry();
    assay_json *answer = NULL;
    CU_ASSERT_EQUAL_FATAL(assay_gate_round(&p, "h", r, 0, false, &answer, NULL), ASSAY_OK);
    CU_ASSERT_EQUAL(assay_json_len(assay_json_get(answer, "missing")), 1);
    CU_ASSERT_EQUAL(assay_json_kind(assay_json_get(answer, "verdict")), ASSAY_J_NULL);
    assay_json_free(answer);
    assay_registry_free(r);
    close_plan(&p);
}
static void a_gate_judges_what_is_there(void) {
    assay_plan p = open_plan();
    assay_registry *r = mock_registry();
    assay_json *answer = NULL;
    leave_evidence(&p, "ok", false);
    CU_ASSERT_EQUAL_FATAL(assay_gate_round(&p, "h", r, 0, false, &answer, NULL), ASSAY_OK);
    CU_ASSERT_EQUAL(assay_json_len(assay_json_get(answer, "missing")), 0);
    CU_ASSERT_STRING_EQUAL(assay_json_string(assay_json_get(answer, "verdict"), "verdict", ""), "pass");
    assay_json_free(answer);
    assay_registry_free(r);
    close_plan(&p);
}
static void a_crashed_trial_reaches_the_gate_as_failed(void) {
    assay_plan p = open_plan();
    assay_registry *r = mock_registry();
    assay_json *answer = NULL;
    leave_evidence(&p, "crashed", false);
    CU_ASSERT_EQUAL_FATAL(assay_gate_round(&p, "h", r, 0, false, &answer, NULL), ASSAY_OK);
    CU_ASSERT_STRING_EQUAL(assay_json_string(assay_json_get(answer, "verdict"), "verdict", ""), "inconclusive");
    CU_ASSERT_STRING_EQUAL(assay_json_string(assay_json_at(assay_json_get(answer, "asked"), 0), "state", ""), "failed");
    assay_json_free(answer);
    assay_registry_free(r);
    close_plan(&p);
}
static void altered_evidence_is_an_error_and_no_verdict(void) {
    assay_plan p = open_plan();
    assay_registry *r = mock_registry();
    assay_json *answer = NULL;
    assay_error err = {0};
    leave_evidence(&p, "ok", true);
    CU_ASSERT_EQUAL(assay_gate_round(&p, "h", r, 0, false, &answer, &err), ASSAY_E_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "altered"));
    assay_registry_free(r);
    close_plan(&p);
}
static void a_gate_that_fails_says_so_itself(void) {
    assay_plan p = open_plan();
    assay_registry *r = mock_registry();
    assay_json *answer = NULL;
    mock_mode = 1;
    CU_ASSERT_EQUAL_FATAL(assay_gate_round(&p, "h", r, 0, false, &answer, NULL), ASSAY_OK);
    CU_ASSERT_PTR_NOT_NULL(strstr(assay_json_string(assay_json_get(answer, "error"), "message", ""), "broken inside"));
    assay_json_free(answer);
    assay_registry_free(r);
    close_plan(&p);
}
static void a_gate_of_another_version_does_not_judge(void) {
    assay_plan p = open_plan();
    assay_registry *r = mock_registry();
    assay_json *answer = NULL;
    assay_error err = {0};
    assay_json_set_string(assay_json_at(assay_json_get(p.json, "gates"), 0), "version", "2");
    CU_ASSERT_EQUAL(assay_gate_round(&p, "h", r, 0, false, &answer, &err), ASSAY_E_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "version"));
    assay_registry_free(r);
    close_plan(&p);
}
static void a_seal_is_refused_after_evidence(void) {
    assay_plan p = open_plan();
    assay_registry *r = mock_registry();
    assay_error err = {0};
    leave_evidence(&p, "ok", false);
    CU_ASSERT_EQUAL(assay_plan_seal(dir, r, &err), ASSAY_E_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "before the seal"));
    CU_ASSERT_FALSE(assay_plan_is_sealed(&p));
    assay_registry_free(r);
    close_plan(&p);
}
static void a_seal_names_its_plan(void) {
    assay_plan p = open_plan(), changed;
    assay_registry *r = mock_registry();
    assay_error err = {0};
    char *path = assay_path_join(dir, "plan.json"), *text = NULL;
    size_t len = 0;
    CU_ASSERT_EQUAL(assay_plan_seal(dir, r, NULL), ASSAY_OK);
    CU_ASSERT_TRUE(assay_plan_is_sealed(&p));
    CU_ASSERT_EQUAL_FATAL(assay_read_file(path, 1 << 20, &text, &len, NULL), ASSAY_OK);
    CU_ASSERT_EQUAL(assay_write_file(path, text, len, NULL), ASSAY_OK);      /* the same bytes: still the sealed plan */
    CU_ASSERT_EQUAL_FATAL(assay_plan_load(dir, &changed, &err), ASSAY_OK);
    assay_plan_free(&changed);
    text = assay_xrealloc(text, len + 1);
    text[len++] = '\n';
    CU_ASSERT_EQUAL(assay_write_file(path, text, len, NULL), ASSAY_OK);
    CU_ASSERT_EQUAL(assay_plan_load(dir, &changed, &err), ASSAY_E_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "changed after it was sealed"));
    free(text);
    free(path);
    assay_registry_free(r);
    close_plan(&p);
}

ASSAY_SUITE("trials", TEST(equal_requests_are_one_trial), TEST(other_policy_fixture_or_kind_is_another_trial),
            TEST(the_reference_is_the_oracles_and_not_the_arms), TEST(what_the_plan_does_not_hold_is_said), TEST(a_folder_without_a_plan_is_refused),
            TEST(a_gate_waits_for_what_is_missing), TEST(a_gate_judges_what_is_there), TEST(a_crashed_trial_reaches_the_gate_as_failed),
            TEST(altered_evidence_is_an_error_and_no_verdict), TEST(a_gate_that_fails_says_so_itself), TEST(a_gate_of_another_version_does_not_judge),
            TEST(a_seal_is_refused_after_evidence), TEST(a_seal_names_its_plan))
