/* Evidence sets and judging, with a gate made on the spot: what it sees, what it may ask, and the object that comes out. */
#include "unit/suite.h"
#include "plugin/evidence.h"
#include <math.h>

static int seen_items;
static assay_verdict say;
static const char *bad_detail;

static assay_status needs(const assay_gate_type *t, void *self, const assay_evidence *ev, const assay_request *req,
                          assay_error *err) {
    (void)t, (void)self;
    if (ev->count(ev, "candidate")) return ASSAY_OK;
    assay_query q = {.struct_size = sizeof q,
                     .kind = ASSAY_K_OUTPUT,
                     .arm = "fused",
                     .fixture = "stress",
                     .perturb = "{\"token\":{\"batch\":1}}"};
    assay_status st = req->need(req, "candidate", "stress", &q, err);
    if (!st) st = req->need(req, "candidate", "stress", &q, err); /* asked twice, listed once */
    q.kind = ASSAY_K_PROGRAM;
    return st ? st : req->need(req, "program", NULL, &q, err);
}

static assay_status judge(const assay_gate_type *t, void *self, const assay_evidence *ev, const assay_finding *f,
                          assay_error *err) {
    (void)t, (void)self;
    assay_item it = {.struct_size = sizeof it};
    seen_items = 0;
    for (uint32_t i = 0; i < ev->count(ev, "candidate"); i++, seen_items++) {
        assay_status st = ev->item(ev, "candidate", i, &it, err);
        if (st) return st;
    }
    double one = 0.5, list[2] = {1, NAN}, undefined = NAN;
    f->metric(f, "candidate:b9.cosine", &one, 1, "1");
    f->metric(f, "count", &one, 1, NULL);
    f->metric(f, "candidate:b9.per_head_cosine", list, 2, NULL);
    f->metric(f, "control.cosine", &undefined, 1, NULL);
    f->reason(f, "not_fused", "no such op", "arm fused");
    if (say == ASSAY_INCONCLUSIVE) f->invalid(f, "gate_has_no_power", "zeros pass", "");
    f->detail(f, "metrics:candidate.opset", "\"ios18\"");
    f->detail(f, "worst", bad_detail ? bad_detail : "[1,2]");
    if (say) f->verdict(f, say);
    return ASSAY_OK;
}

static assay_registry *registry(void) {
    assay_gate_type g = {
        .name = "probe", .version = "1.0", .summary = "test gate", .path = "here", .kind = "lua", .needs = needs, .judge = judge};
    assay_registry *r = assay_registry_new();
    assay_registry_add_gate(r, &g);
    return r;
}

static assay_own_tensor small_tensor(void) {
    assay_own_tensor t;
    int64_t shape[2] = {2, 3};
    CU_ASSERT_EQUAL_FATAL(assay_tensor_new(ASSAY_F32, 2, shape, &t, NULL), ASSAY_OK);
    return t;
}

static void finding_becomes_a_verdict_object(void) {
    assay_registry *r = registry();
    assay_evidence_set *ev = assay_evidence_new();
    assay_own_tensor t = small_tensor();
    assay_evidence_add_tensor(ev, "candidate", "b9", "fused", ASSAY_ORIGIN_REFERENCE, "ab12", &t);
    assay_evidence_add_absent(ev, ASSAY_K_PLAN, "plan", "", "fused", ASSAY_STATE_UNAVAILABLE, "no device");
    assay_json *v = NULL;
    assay_error err = {0};
    say = ASSAY_KILL;
    CU_ASSERT_EQUAL_FATAL(assay_judge(r, "probe", NULL, ev, &v, &err), ASSAY_OK);
    CU_ASSERT_EQUAL(seen_items, 1);
    char *text = assay_json_print(v);
    CU_ASSERT_STRING_EQUAL(text, "{\"details\":{\"worst\":[1,2]},\"evidence\":[{\"arm\":\"fused\",\"kind\":\"output\",\"label\":\"b9\",\"origin\":"
                                 "\"reference\",\"role\":\"candidate\",\"sha256\":\"ab12\"},"
                                 "{\"arm\":\"fused\",\"kind\":\"plan\",\"label\":\"\",\"origin\":null,\"role\":\"plan\",\"sha256\":\"\",\"state\":"
                                 "\"unavailable\",\"why\":\"no device\"}],"
                                 "\"gate\":\"probe\",\"metrics\":{\"candidate\":{\"opset\":\"ios18\"},\"candidate:b9\":{"
                                 "\"cosine\":0.5,\"per_head_cosine\":[1,null]},\"control\":{\"cosine\":null},"
                                 "\"gate\":{\"count\":0.5}},\"params\":{},\"reasons\":[{\"code\":\"not_fused\",\"message\":\"no "
                                 "such op\",\"where\":\"arm fused\"}],\"schema\":\"assay-verdict/1\","
                                 "\"units\":{\"candidate:b9\":{\"cosine\":\"1\"}},\"validity\":{\"reasons\":[],\"valid\":true},"
                                 "\"verdict\":\"kill\",\"version\":\"1.0\"}");
    CU_ASSERT_STRING_EQUAL(assay_printed_verdict(v), "kill");
    free(text);
    assay_json_free(v);
    assay_evidence_free(ev);
    assay_registry_free(r);
}

static void invalid_stands_ahead_of_the_verdict(void) {
    assay_registry *r = registry();
    assay_evidence_set *ev = assay_evidence_new();
    assay_json *v = NULL;
    say = ASSAY_INCONCLUSIVE;
    CU_ASSERT_EQUAL_FATAL(assay_judge(r, "probe", NULL, ev, &v, NULL), ASSAY_OK);
    CU_ASSERT_STRING_EQUAL(assay_printed_verdict(v), "invalid");
    CU_ASSERT_STRING_EQUAL(assay_printed_verdict(NULL), "invalid");
    assay_json_free(v);
    assay_evidence_free(ev);
    assay_registry_free(r);
}

static void no_verdict_is_a_gate_error(void) {
    assay_registry *r = registry();
    assay_evidence_set *ev = assay_evidence_new();
    assay_json *v = NULL;
    assay_error err = {0};
    say = 0;
    CU_ASSERT_EQUAL(assay_judge(r, "probe", NULL, ev, &v, &err), ASSAY_E_INTERNAL);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "gave no verdict"));
    say = 17;
    CU_ASSERT_EQUAL(assay_judge(r, "probe", NULL, ev, &v, &err), ASSAY_E_INTERNAL);
    say = ASSAY_PASS;
    bad_detail = "{broken";
    CU_ASSERT_EQUAL(assay_judge(r, "probe", NULL, ev, &v, &err), ASSAY_E_INTERNAL);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "detail 'worst'"));
    bad_detail = NULL;
    CU_ASSERT_PTR_NULL(v);
    assay_evidence_free(ev);
    assay_registry_free(r);
}

static void unknown_gate_gets_a_suggestion(void) {
    assay_registry *r = registry();
    assay_json *v = NULL;
    assay_error err = {0};
    assay_evidence_set *ev = assay_evidence_new();
    CU_ASSERT_NOT_EQUAL(assay_judge(r, "prob", NULL, ev, &v, &err), ASSAY_OK);
    CU_ASSERT_STRING_EQUAL(err.message, "no gate 'prob' (did you mean 'probe'?)");
    assay_evidence_free(ev);
    assay_registry_free(r);
}

static void asks_until_it_has_what_it_needs(void) {
    assay_registry *r = registry();
    assay_evidence_set *ev = assay_evidence_new();
    assay_gate_run *g = NULL;
    assay_need_list l;
    CU_ASSERT_EQUAL_FATAL(assay_gate_open(assay_registry_gate(r, "probe", NULL), NULL, NULL, &g, NULL), ASSAY_OK);
    CU_ASSERT_EQUAL_FATAL(assay_gate_needs(g, ev, &l, NULL), ASSAY_OK);
    CU_ASSERT_EQUAL_FATAL(l.len, 2);
    CU_ASSERT_STRING_EQUAL(l.items[0].query.perturb, "{\"token\":{\"batch\":1}}");
    CU_ASSERT_STRING_EQUAL(l.items[0].label, "stress");
    CU_ASSERT_STRING_EQUAL(l.items[1].role, "program");
    CU_ASSERT_STRING_EQUAL(l.items[1].label, "");
    assay_need_list_free(&l);
    assay_own_tensor t = small_tensor();
    assay_evidence_add_tensor(ev, "candidate", "stress", "fused", ASSAY_ORIGIN_REFERENCE, "", &t);
    CU_ASSERT_EQUAL(assay_gate_needs(g, ev, &l, NULL), ASSAY_OK);
    CU_ASSERT_EQUAL(l.len, 0);
    assay_need_list_free(&l);
    assay_gate_close(g);
    assay_evidence_free(ev);
    assay_registry_free(r);
}

static void plans_become_rows(void) {
    const char *text =
        "[{\"schema\":\"compute-plan/1\",\"operations\":["
        "{\"type\":\"ios18.linear\",\"name\":\"q\",\"preferred\":\"ANE\",\"supported\":[\"CPU\",\"NeuralEngine\"],\"cost\":0.25},"
        "{\"type\":\"const\",\"name\":\"w\",\"preferred\":\"none\",\"supported\":null,\"cost\":null},"
        "{\"type\":\"ios_odd\",\"name\":\"o\",\"preferred\":null}, 7]}, {\"schema\":\"probe-run/1\"}]";
    assay_json *j = NULL;
    CU_ASSERT_EQUAL_FATAL(assay_json_parse(text, strlen(text), "t", &j, NULL), ASSAY_OK);
    assay_evidence_set *ev = assay_evidence_new();
    assay_evidence_add_json(ev, "plan", NULL, NULL, ASSAY_ORIGIN_IMPORTED, NULL, j);
    CU_ASSERT_EQUAL_FATAL(assay_evidence_len(ev), 2);
    const assay_item *it = assay_evidence_at(ev, 0);
    CU_ASSERT_EQUAL(it->kind, ASSAY_K_PLAN);
    CU_ASSERT_EQUAL_FATAL(it->row_count, 4);
    CU_ASSERT_STRING_EQUAL(it->rows[0].type, "linear");
    CU_ASSERT_EQUAL(it->rows[0].preferred, ASSAY_DEV_NE);
    CU_ASSERT_EQUAL(it->rows[0].supported, 1u << ASSAY_DEV_CPU | 1u << ASSAY_DEV_NE);
    CU_ASSERT_EQUAL(it->rows[0].cost, 0.25);
    CU_ASSERT_EQUAL(it->rows[1].preferred, ASSAY_DEV_NONE);
    CU_ASSERT(isnan(it->rows[1].cost));
    CU_ASSERT_EQUAL(it->rows[2].preferred, ASSAY_DEV_UNKNOWN);
    CU_ASSERT_STRING_EQUAL(it->rows[2].type, "ios_odd");
    CU_ASSERT_EQUAL(it->rows[3].preferred, ASSAY_DEV_UNKNOWN);
    CU_ASSERT_EQUAL(assay_evidence_at(ev, 1)->kind, ASSAY_K_RECORD);
    CU_ASSERT_PTR_NULL(assay_evidence_at(ev, 2));
    assay_evidence_remove(ev, 0);
    CU_ASSERT_EQUAL(assay_evidence_len(ev), 1);
    assay_json_free(j);
    assay_evidence_free(ev);
}

static void the_first_gate_of_a_name_is_kept(void) {
    assay_registry *r = registry();
    assay_gate_type twin = {
        .name = "probe", .version = "2.0", .summary = "another", .path = "there", .kind = "lua", .judge = judge};
    assay_registry_add_gate(r, &twin);
    const assay_refusal *refusals;
    CU_ASSERT_EQUAL_FATAL(assay_registry_refusals(r, &refusals), 1);
    CU_ASSERT_STRING_EQUAL(refusals[0].why, "gate 'probe' is already there from here");
    CU_ASSERT_STRING_EQUAL(assay_registry_gate(r, "probe", NULL)->version, "1.0");
    assay_registry_free(r);
}

/* ---- a gate that writes down its calls */
static char calls[16];
static void note(char c) {
    size_t n = strlen(calls);
    if (n + 1 < sizeof calls) calls[n] = c;
}
static assay_status mock_create(const assay_gate_type *t, const assay_host *h, const assay_params *p, void **self,
                                assay_error *err) {
    (void)t, (void)p;
    note('c');
    CU_ASSERT_EQUAL(h->abi, ASSAY_ABI);
    CU_ASSERT_PTR_NOT_NULL(h->get(h->ctx, "assay.metrics/1"));
    CU_ASSERT_PTR_NULL(h->get(h->ctx, "assay.metrics/9"));
    *self = calls;
    return say ? ASSAY_OK : assay_fail(err, ASSAY_E_INPUT, "not today");
}
static assay_status mock_needs(const assay_gate_type *t, void *self, const assay_evidence *ev, const assay_request *req,
                               assay_error *err) {
    (void)t, (void)ev, (void)req, (void)err;
    CU_ASSERT_PTR_EQUAL(self, calls);
    note('n');
    return ASSAY_OK;
}
static assay_status mock_judge(const assay_gate_type *t, void *self, const assay_evidence *ev, const assay_finding *f,
                               assay_error *err) {
    (void)t, (void)self, (void)ev, (void)err;
    note('j');
    f->verdict(f, ASSAY_PASS);
    return ASSAY_OK;
}
static void mock_destroy(const assay_gate_type *t, void *self) {
    (void)t, (void)self;
    note('d');
}

static void calls_come_in_order(void) {
    assay_gate_type g = {.name = "mock",
                         .version = "1",
                         .summary = "writes down its calls",
                         .path = "here",
                         .kind = "c",
                         .create = mock_create,
                         .needs = mock_needs,
                         .judge = mock_judge,
                         .destroy = mock_destroy};
    assay_registry *r = assay_registry_new();
    assay_evidence_set *ev = assay_evidence_new();
    assay_gate_run *run = NULL;
    assay_need_list needs_of = {0};
    assay_json *v = NULL;
    assay_error err = {0};
    assay_registry_add_gate(r, &g);
    memset(calls, 0, sizeof calls);
    say = ASSAY_PASS;
    CU_ASSERT_EQUAL_FATAL(assay_gate_open(assay_registry_gate(r, "mock", NULL), NULL, NULL, &run, &err), ASSAY_OK);
    CU_ASSERT_EQUAL(assay_gate_needs(run, ev, &needs_of, &err), ASSAY_OK);
    assay_need_list_free(&needs_of);
    CU_ASSERT_EQUAL(assay_gate_judge(run, ev, &v, &err), ASSAY_OK);
    assay_json_free(v);
    assay_gate_close(run);
    CU_ASSERT_STRING_EQUAL(calls, "cnjd");
    say = 0; /* a create that fails is the last call */
    CU_ASSERT_EQUAL(assay_gate_open(assay_registry_gate(r, "mock", NULL), NULL, NULL, &run, &err), ASSAY_E_INPUT);
    CU_ASSERT_STRING_EQUAL(err.message, "gate \"mock\": not today");
    CU_ASSERT_STRING_EQUAL(calls, "cnjdc");
    assay_evidence_free(ev);
    assay_registry_free(r);
}

ASSAY_SUITE("judge", TEST(calls_come_in_order), TEST(finding_becomes_a_verdict_object), TEST(invalid_stands_ahead_of_the_verdict),
            TEST(no_verdict_is_a_gate_error), TEST(unknown_gate_gets_a_suggestion), TEST(asks_until_it_has_what_it_needs),
            TEST(plans_become_rows), TEST(the_first_gate_of_a_name_is_kept))
