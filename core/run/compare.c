/* Judges the `compare` words of a plan: arms side by side on one fixture, as a table. What is expected is a relation among the arms
 * (equal, different), never a figure against the reference: that is the business of gates. */
#include "run/judge.h"
#include "base/names.h"
#include "metrics/metrics.h"
#include "script/schema.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ARMS_MAX = ASSAY_COMPARE_MAX };
typedef struct side_by_side {
    const assay_json *arms;                      /* names */
    size_t n;
    const char *fixture, *expect;
    assay_item out[ARMS_MAX], plan[ARMS_MAX], reference;
    size_t alike[ARMS_MAX];                      /* the first arm with the same values */
} side_by_side;

static const char *arm_name(const side_by_side *s, size_t i) { return assay_json_text(assay_json_at(s->arms, i)); }

/* ---- evidence: the outputs of all arms, the reference's, and where each arm's ops are placed */
static assay_status need(assay_gather *g, const side_by_side *s, int32_t kind, const char *role, const char *arm, assay_evidence_set *set, assay_error *err) {
    assay_need n = {.role = role, .label = s->fixture};
    n.query = (assay_query){.struct_size = sizeof n.query, .kind = kind, .arm = arm, .fixture = kind == ASSAY_K_OUTPUT ? s->fixture : NULL};
    return assay_gather_need(g, &n, set, err);
}

static assay_status gather(assay_gather *g, const side_by_side *s, assay_evidence_set *set, assay_error *err) {
    assay_status st = need(g, s, ASSAY_K_OUTPUT, "reference", "@reference", set, err);
    for (size_t i = 0; st == ASSAY_OK && i < s->n; i++) {
        st = need(g, s, ASSAY_K_OUTPUT, "compare", arm_name(s, i), set, err);
        if (st == ASSAY_OK) st = need(g, s, ASSAY_K_PLAN, "placement", arm_name(s, i), set, err);
    }
    return st;
}

static void unpack(side_by_side *s, const assay_evidence_set *set) {
    s->reference = *assay_evidence_at(set, 0);
    for (size_t i = 0; i < s->n; i++) s->out[i] = *assay_evidence_at(set, 1 + 2 * i), s->plan[i] = *assay_evidence_at(set, 2 + 2 * i);
}

/* ---- figures */
typedef struct distance { bool comparable; double max_abs; int64_t differing; } distance;

/* Every element; a NaN on one side only counts as infinitely far. */
static distance measure(const assay_tensor *a, const assay_tensor *b) {
    distance d = {.comparable = assay_tensor_same_shape(a, b)};
    int64_t n = d.comparable ? assay_tensor_count(a) : 0;
    for (int64_t i = 0; i < n; i++) {
        double x = assay_load_f64(a->dtype, assay_tensor_at(a, i)), y = assay_load_f64(b->dtype, assay_tensor_at(b, i));
        if (x == y || (isnan(x) && isnan(y))) continue;
        double diff = isnan(x) || isnan(y) ? INFINITY : fabs(x - y);
        d.differing++;
        if (diff > d.max_abs) d.max_abs = diff;
    }
    return d;
}

static void put_agreement(const assay_item *reference, const assay_item *x, assay_json *row) {
    assay_pair_stats p = {.struct_size = sizeof p};
    assay_error ignored;
    if (reference->state != ASSAY_OK_STATE || assay_metrics_pair(&reference->tensor, &x->tensor, -1, &p, &ignored) != ASSAY_OK) return;
    assay_json *o = assay_json_set(row, "against_reference", assay_json_object());
    assay_json_set_bool(o, "identical", p.identical != 0);
    assay_json_set_number(o, "cosine", p.cosine);
    assay_json_set_number(o, "max_abs", p.max_abs);
    assay_json_set_number(o, "psnr_db", p.psnr_db);
    assay_json_set_number(o, "snr_db", p.snr_db);
}

/* How many ops prefer each unit; absent where nothing tells. */
static void put_placement(const assay_item *plan, assay_json *row) {
    static const char *const names[] = {"unknown", NULL, "CPU", "GPU", "NE"};
    int64_t ops[5] = {0};
    if (plan->state != ASSAY_OK_STATE) return;
    assay_json *o = assay_json_set(row, "preferred_ops", assay_json_object());
    for (uint64_t i = 0; i < plan->row_count; i++)
        if (plan->rows[i].preferred >= 0 && plan->rows[i].preferred < 5) ops[plan->rows[i].preferred]++;
    for (size_t d = 0; d < 5; d++)
        if (names[d] && ops[d]) assay_json_set_int(o, names[d], ops[d]);
}

static void put_arm(const assay_gather *g, const side_by_side *s, size_t i, assay_json *row) {
    const assay_json *arm = assay_plan_arm(g->plan, arm_name(s, i));
    assay_json_set_string(row, "arm", arm_name(s, i));
    assay_json_set_string(row, "role", assay_json_string(arm, "role", ""));
    assay_json_set_string(row, "compute_units", assay_json_string(arm, "compute_units", ""));
    put_placement(&s->plan[i], row);
    if (s->out[i].state != ASSAY_OK_STATE) {
        assay_json_set_string(row, "why", s->out[i].why);
        return;
    }
    assay_json_set_string(row, "sha256", s->out[i].sha256);
    assay_json_set_string(row, "equals", arm_name(s, s->alike[i]));
    put_agreement(&s->reference, &s->out[i], row);
    if (i == 0 || s->out[0].state != ASSAY_OK_STATE) return;
    distance d = measure(&s->out[0].tensor, &s->out[i].tensor);
    assay_json *o = assay_json_set(row, "against_first", assay_json_object());
    assay_json_set_bool(o, "comparable", d.comparable);
    assay_json_set_int(o, "differing", d.differing);
    assay_json_set_number(o, "max_abs", d.comparable ? d.max_abs : NAN);
}

static bool same_values(const assay_tensor *a, const assay_tensor *b) {
    distance d = measure(a, b);
    return d.comparable && d.differing == 0;
}

static void find_alike(side_by_side *s) {
    for (size_t i = 0; i < s->n; i++) {
        s->alike[i] = i;
        for (size_t k = 0; k < i && s->alike[i] == i && s->out[i].state == ASSAY_OK_STATE; k++)
            if (s->out[k].state == ASSAY_OK_STATE && same_values(&s->out[k].tensor, &s->out[i].tensor)) s->alike[i] = k;
    }
}

/* ---- the answer */
static const char *relation(const side_by_side *s, assay_json *row) {
    size_t distinct = 0;
    bool comparable = true;
    for (size_t i = 0; i < s->n; i++) {
        if (s->out[i].state != ASSAY_OK_STATE) {
            assay_json_set_string(row, "why", s->out[i].why);
            return "inconclusive";
        }
        comparable &= assay_tensor_same_shape(&s->out[0].tensor, &s->out[i].tensor);
        distinct += s->alike[i] == i;
    }
    assay_json_set_bool(row, "comparable", comparable);
    assay_json_set_bool(row, "identical", distinct == 1);
    assay_json_set_int(row, "distinct", (int64_t)distinct);
    if (assay_streq(s->expect, "any")) return "not-measured";
    return comparable && (assay_streq(s->expect, "different") ? distinct == s->n : distinct == 1) ? "pass" : "kill";
}

/* The largest difference from the first arm, over all. */
static void put_largest(assay_json *row) {
    const assay_json *table = assay_json_get(row, "table");
    double largest = 0;
    int64_t differing = 0;
    for (size_t i = 0; i < assay_json_len(table); i++) {
        const assay_json *d = assay_json_get(assay_json_at(table, i), "against_first");
        if (!d) continue;
        if (assay_json_int(d, "differing", 0) > differing) differing = assay_json_int(d, "differing", 0);
        double x = assay_json_number(d, "max_abs", NAN);
        if (!(x <= largest)) largest = x;
    }
    assay_json_set_int(row, "differing", differing);
    assay_json_set_number(row, "max_abs", largest);
}

static void answer(const assay_gather *g, side_by_side *s, assay_json *row) {
    assay_json *table = assay_json_set(row, "table", assay_json_array());
    find_alike(s);
    for (size_t i = 0; i < s->n; i++) put_arm(g, s, i, assay_json_append(table, assay_json_object()));
    assay_json_set_string(row, "printed", relation(s, row));
    put_largest(row);
}

/* The fixture named, or the first of the plan. */
static const char *fixture_of(const assay_gather *g, const assay_json *compare) {
    const char *named = assay_json_string(compare, "fixture", NULL);
    return named ? named : assay_json_string(assay_json_at(assay_json_get(g->plan->json, "fixtures"), 0), "name", "");
}

assay_status assay_compare_arms(assay_gather *g, const assay_json *compare, assay_json **out, assay_error *err) {
    side_by_side *s = assay_xcalloc(1, sizeof *s);
    s->arms = assay_json_get(compare, "arms");
    s->n = assay_json_len(s->arms) < ARMS_MAX ? assay_json_len(s->arms) : ARMS_MAX;
    s->fixture = fixture_of(g, compare);
    s->expect = assay_json_string(compare, "expect", "equal");
    assay_json *row = assay_json_object();
    assay_json_set(row, "arms", s->arms ? assay_json_clone(s->arms) : assay_json_array());
    assay_json_set_string(row, "fixture", s->fixture);
    assay_json_set_string(row, "expect", s->expect);
    assay_json_set_string(row, "printed", "inconclusive");
    assay_evidence_set *set = assay_evidence_new();
    assay_status st = gather(g, s, set, err);
    if (st == ASSAY_OK && assay_evidence_len(set) == 1 + 2 * s->n) {
        unpack(s, set);
        answer(g, s, row);
    }
    assay_evidence_free(set);
    free(s);
    if (st != ASSAY_OK) assay_json_free(row);
    else *out = row;
    return st;
}
