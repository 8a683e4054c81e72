/* One gate of the plan against the evidence of one host: asked until it asks nothing new, then judged. Runs in a worker. */
#include "run/gather.h"
#include "base/digest.h"
#include "base/fs.h"
#include "base/names.h"
#include <stdlib.h>
#include <string.h>

static const assay_json *gate_row(const assay_json *plan, size_t i) { return assay_json_at(assay_json_get(plan, "gates"), i); }

static assay_status open_gate(const assay_json *row, const assay_registry *r, bool information, assay_gate_run **g, assay_error *err) {
    const assay_gate_type *type = assay_registry_gate(r, assay_json_string(row, "use", ""), err);
    if (!type) return ASSAY_E_MISSING;
    const char *planned = assay_json_string(row, "version", "");
    if (!assay_streq(type->version, planned))
        return assay_fail(err, ASSAY_E_MISSING, "gate \"%s\" is version %s here, the plan was made with %s: judge with that one, or plan again", type->name,
                          type->version, planned);
    assay_json *params = assay_json_clone(assay_json_get(row, "params"));
    if (information) assay_json_set(params, "fixture", assay_json_clone(assay_json_get(row, "also")));
    assay_status st = assay_gate_open(type, params, assay_json_string(row, "where", type->name), g, err);
    assay_json_free(params);
    return st;
}

static bool same_text(const char *a, const char *b) { return assay_streq(a ? a : "", b ? b : ""); }

static bool same_need(const assay_need *a, const assay_need *b) {
    const assay_query *x = &a->query, *y = &b->query;
    return same_text(a->role, b->role) && same_text(a->label, b->label) && x->kind == y->kind && same_text(x->arm, y->arm) &&
           same_text(x->arm_b, y->arm_b) && same_text(x->fixture, y->fixture) && same_text(x->output, y->output) &&
           same_text(x->record, y->record) && same_text(x->perturb, y->perturb) && x->repeats == y->repeats;
}

static bool known(const assay_need_list *lists, size_t n, const assay_need *need) {
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < lists[i].len; k++)
            if (same_need(&lists[i].items[k], need)) return true;
    return false;
}

static bool is(const assay_json *row, const char *key, const char *value) { return assay_streq(assay_json_string(row, key, ""), value); }

/* One process of the series that `row` belongs to (the same role and arms) was timed on the reference backend. */
static bool was_timed_here(const assay_json *asked, const assay_json *row) {
    for (size_t i = 0; i < assay_json_len(asked); i++) {
        const assay_json *a = assay_json_at(asked, i);
        bool same = is(a, "kind", "timing") && is(a, "role", assay_json_string(row, "role", "")) && is(a, "arm", assay_json_string(row, "arm", "")) &&
                    is(a, "arm_b", assay_json_string(row, "arm_b", ""));
        if (same && is(a, "origin", "reference")) return true;
    }
    return false;
}

/* Figures taken on a backend that is not the target decide nothing (the judge will say not_the_target): one process of each series
 * is enough, and when nothing else is missing, nothing is. */
static bool is_information_only(const assay_gather *g) {
    if (assay_plan_target_is_reference(g->plan->json)) return false;
    for (size_t i = 0; i < assay_json_len(g->asked); i++) {
        const assay_json *a = assay_json_at(g->asked, i);
        if (is(a, "state", "missing") && !(is(a, "kind", "timing") && was_timed_here(g->asked, a))) return false;
    }
    return true;
}

static void drop_missing(assay_gather *g) {
    assay_json_free(g->missing);
    g->missing = assay_json_array();
}

/* Rounds of needs and gathering. On return g->missing tells whether judging is possible. */
static assay_status ask(assay_gate_run *gate, assay_gather *g, assay_evidence_set *set, bool *gate_failed, assay_error *err) {
    assay_need_list lists[ASSAY_ROUNDS_MAX];
    memset(lists, 0, sizeof lists);
    assay_status st = ASSAY_OK;
    size_t rounds = 0;
    for (bool more = true; st == ASSAY_OK && more && rounds < ASSAY_ROUNDS_MAX; rounds++) {
        more = false;
        st = assay_gate_needs(gate, set, &lists[rounds], err);
        if (st != ASSAY_OK) {
            *gate_failed = true;
            rounds++;
            break;
        }
        for (size_t i = 0; st == ASSAY_OK && i < lists[rounds].len; i++) {
            const assay_need *need = &lists[rounds].items[i];
            assay_need_list own = {.items = lists[rounds].items, .len = i};
            if (known(lists, rounds, need) || known(&own, 1, need)) continue;
            st = assay_gather_need(g, need, set, err);
            more = true;
        }
        if (st == ASSAY_OK && is_information_only(g)) drop_missing(g);
        if (assay_json_len(g->missing)) break;
    }
    for (size_t i = 0; i < ASSAY_ROUNDS_MAX; i++) assay_need_list_free(&lists[i]);
    return st;
}

/* A line that the gate says while it asks: it goes with the answer, to who watches the run. */
static void keep_line(void *ctx, const char *msg) { assay_json_append(ctx, assay_json_new_string(msg)); }

static void set_error(assay_json *answer, const assay_error *e) {
    assay_json *row = assay_json_set(answer, "error", assay_json_object());
    assay_json_set_string(row, "message", e->message);
}

assay_status assay_gate_round(const assay_plan *p, const char *host, const assay_registry *r, size_t gate, bool information, assay_json **out,
                              assay_error *err) {
    assay_json *answer = assay_json_object(), *verdict = NULL;
    assay_gather g;
    assay_gather_open(&g, p, host);
    assay_gate_run *run = NULL;
    assay_evidence_set *set = assay_evidence_new();
    assay_error why = {0};
    bool failed = false;
    assay_status st = open_gate(gate_row(p->json, gate), r, information, &run, &why);
    if (st != ASSAY_OK) failed = st != ASSAY_E_MISSING;
    else {
        assay_host_listen(keep_line, assay_json_set(answer, "said", assay_json_array()));
        st = ask(run, &g, set, &failed, &why);
        assay_host_listen(NULL, NULL);
    }
    if (st == ASSAY_OK && assay_json_len(g.missing) == 0) {
        st = assay_gate_judge(run, set, &verdict, &why);
        failed = st != ASSAY_OK;
    }
    if (failed) set_error(answer, &why);
    assay_json_set(answer, "verdict", verdict ? verdict : assay_json_new_null());
    assay_json_set(answer, "asked", g.asked);
    assay_json_set(answer, "missing", g.missing);
    g.asked = g.missing = NULL;
    assay_gate_close(run);
    assay_evidence_free(set);
    if (st != ASSAY_OK && !failed) {
        assay_json_free(answer);
        return assay_fail(err, st == ASSAY_E_MISSING ? ASSAY_E_INPUT : st, "%s", why.message);
    }
    *out = answer;
    return ASSAY_OK;
}

assay_status assay_gate_first_needs(const assay_json *plan, const assay_registry *r, size_t gate, assay_json **needs, assay_error *err) {
    assay_gate_run *run = NULL;
    assay_need_list list = {0};
    assay_evidence_set *none = assay_evidence_new();
    assay_json *rows = assay_json_array();
    assay_status st = open_gate(gate_row(plan, gate), r, false, &run, err);
    if (st == ASSAY_OK) st = assay_gate_needs(run, none, &list, err);
    for (size_t i = 0; st == ASSAY_OK && i < list.len; i++) {
        const assay_query *q = &list.items[i].query;
        assay_json *row = assay_json_append(rows, assay_json_object());
        assay_json_set_string(row, "kind", assay_kind_name(q->kind));
        assay_json_set_string(row, "arm", q->arm);
        if (q->fixture) assay_json_set_string(row, "fixture", q->fixture);
        if (q->perturb) assay_json_set_string(row, "perturb", q->perturb);
        if (q->record) assay_json_set_string(row, "record", q->record);
    }
    assay_need_list_free(&list);
    assay_gate_close(run);
    assay_evidence_free(none);
    if (st != ASSAY_OK) assay_json_free(rows);
    else *needs = rows;
    return st;
}

/* The copied Lua decides verdicts, so it must be the Lua that was planned. */
static assay_status check_scripts(const assay_plan *p, const char *root, assay_error *err) {
    const assay_json *rows = assay_json_get(p->json, "scripts");
    for (size_t i = 0; i < assay_json_len(rows); i++) {
        const char *name = assay_json_string(assay_json_at(rows, i), "name", "");
        if (!assay_path_is_inside(name)) return assay_fail(err, ASSAY_E_INPUT, "%s/plan.json: script name '%s' leaves the folder", p->dir, name);
        char *path = assay_path_join(root, name), hex[ASSAY_HEX];
        assay_status st = assay_sha256_file(path, hex, err);
        if (st == ASSAY_OK && !assay_streq(hex, assay_json_string(assay_json_at(rows, i), "sha256", "")))
            st = assay_fail(err, ASSAY_E_INPUT, "%s: the script was altered since it was planned", path);
        free(path);
        if (st != ASSAY_OK) return st;
    }
    return ASSAY_OK;
}

assay_status assay_plan_load_gates(const assay_plan *p, assay_registry *r, assay_error *err) {
    const assay_json *gates = assay_json_get(p->json, "gates");
    char *root = assay_path_join(p->dir, "scripts");
    assay_status st = ASSAY_OK;
    for (size_t i = 0; st == ASSAY_OK && i < assay_json_len(gates); i++) {
        const char *script = assay_json_string(assay_json_at(gates, i), "script", NULL);
        if (!script) continue;
        if (!assay_path_is_inside(script)) st = assay_fail(err, ASSAY_E_INPUT, "%s/plan.json: script name '%s' leaves the folder", p->dir, script);
        if (st == ASSAY_OK) st = check_scripts(p, root, err);
        if (st != ASSAY_OK) break;
        char *path = assay_path_join(root, script);
        st = assay_script_load_gate(r, path, root, err);
        free(path);
    }
    free(root);
    return st;
}
