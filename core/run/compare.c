/* Judges the `compare` words of a plan: two arms against each other on one fixture, neither being the reference. */
#include "run/judge.h"
#include "base/names.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static assay_status need_output(assay_gather *g, const char *role, const char *arm, const char *fixture, assay_evidence_set *set, assay_error *err) {
    assay_need need = {.role = role, .label = fixture};
    need.query = (assay_query){.struct_size = sizeof need.query, .kind = ASSAY_K_OUTPUT, .arm = arm, .fixture = fixture};
    return assay_gather_need(g, &need, set, err);
}

typedef struct distance { bool comparable, identical; double max_abs; int64_t differing; } distance;

/* Every element; a NaN on one side only counts as infinitely far. */
static distance measure(const assay_tensor *a, const assay_tensor *b) {
    distance d = {.comparable = assay_tensor_same_shape(a, b), .max_abs = 0};
    if (!d.comparable) return d;
    int64_t n = assay_tensor_count(a);
    for (int64_t i = 0; i < n; i++) {
        double x = assay_load_f64(a->dtype, assay_tensor_at(a, i)), y = assay_load_f64(b->dtype, assay_tensor_at(b, i));
        if (x == y || (isnan(x) && isnan(y))) continue;
        double diff = isnan(x) || isnan(y) ? INFINITY : fabs(x - y);
        d.differing++;
        if (diff > d.max_abs) d.max_abs = diff;
    }
    d.identical = d.differing == 0;
    return d;
}

static void judge_pair(const assay_tensor *a, const assay_tensor *b, const char *expect, assay_json *row) {
    distance d = measure(a, b);
    bool met = d.comparable && (assay_streq(expect, "differ") || assay_streq(expect, "different") ? !d.identical : d.identical);
    assay_json_set_bool(row, "comparable", d.comparable);
    assay_json_set_bool(row, "identical", d.identical);
    assay_json_set_int(row, "differing", d.differing);
    assay_json_set_number(row, "max_abs", d.comparable ? d.max_abs : NAN);
    assay_json_set_string(row, "printed", !*expect ? "not-measured" : met ? "pass" : "kill");
}

/* The fixture named, or the first of the plan. */
static const char *fixture_of(const assay_gather *g, const assay_json *compare) {
    const char *named = assay_json_string(compare, "fixture", NULL);
    return named ? named : assay_json_string(assay_json_at(assay_json_get(g->plan->json, "fixtures"), 0), "name", "");
}

assay_status assay_compare_arms(assay_gather *g, const assay_json *compare, assay_json **out, assay_error *err) {
    const assay_json *arms = assay_json_get(compare, "arms");
    const char *a = assay_json_text(assay_json_at(arms, 0)), *b = assay_json_text(assay_json_at(arms, 1));
    const char *fixture = fixture_of(g, compare), *expect = assay_json_string(compare, "expect", "");
    assay_json *row = assay_json_object();
    assay_json_set(row, "arms", arms ? assay_json_clone(arms) : assay_json_array());
    assay_json_set_string(row, "fixture", fixture);
    assay_json_set_string(row, "expect", expect);
    assay_json_set_string(row, "printed", "inconclusive");
    assay_evidence_set *set = assay_evidence_new();
    assay_status st = need_output(g, "a", a, fixture, set, err);
    if (st == ASSAY_OK) st = need_output(g, "b", b, fixture, set, err);
    if (st == ASSAY_OK && assay_evidence_len(set) == 2) {
        const assay_item *x = assay_evidence_at(set, 0), *y = assay_evidence_at(set, 1);
        if (x->state == ASSAY_OK_STATE && y->state == ASSAY_OK_STATE) judge_pair(&x->tensor, &y->tensor, expect, row);
        else assay_json_set_string(row, "why", x->state != ASSAY_OK_STATE ? x->why : y->why);
    }
    assay_evidence_free(set);
    if (st != ASSAY_OK) assay_json_free(row);
    else *out = row;
    return st;
}
