/* Planning: fixes the parameters of every gate (@-words become names) and makes the perturbed fixtures that gates ask for. */
#include "run/gather.h"
#include "run/plan_build.h"
#include "run/work.h"
#include "base/fs.h"
#include "base/names.h"
#include <stdlib.h>
#include <string.h>

static bool uses(const assay_json *fixture, const char *question) {
    const assay_json *use = assay_json_get(fixture, "use");
    if (assay_json_len(use) == 0) return true;   /* no `use`: meant for every question */
    for (size_t i = 0; i < assay_json_len(use); i++)
        if (assay_streq(assay_json_text(assay_json_at(use, i)), question)) return true;
    return false;
}

/* The names an @-word stands for: arms by role, or fixtures by use. */
static assay_json *names_of(const assay_json *plan, const char *word) {
    assay_json *names = assay_json_array();
    bool by_use = assay_starts_with(word, "@use:");
    const assay_json *rows = assay_json_get(plan, by_use ? "fixtures" : "arms");
    for (size_t i = 0; i < assay_json_len(rows); i++) {
        const assay_json *row = assay_json_at(rows, i);
        bool fits = by_use ? uses(row, word + 5) : assay_streq(assay_json_string(row, "role", ""), word + 1);
        if (fits) assay_json_append(names, assay_json_new_string(assay_json_string(row, "name", "")));
    }
    return names;
}

/* The @-word that stands for a parameter: what the script gave, else the default; NULL when it is something else. */
static const char *word_of(const assay_param *p, const assay_json *given) {
    const assay_json *v = assay_json_get(given, p->name);
    const char *text = v ? assay_json_text(v) : p->def;
    if (text && !v && text[0] == '"' && text[1] == '@') text++;
    return text && text[0] == '@' ? text : NULL;
}

static assay_status resolve_word(const assay_json *plan, const assay_param *p, const char *word, const char *who, assay_json *given, assay_error *err) {
    char *plain = assay_xstrndup(word, strcspn(word, "\""));
    assay_json *names = names_of(plan, plain);
    size_t n = assay_json_len(names);
    assay_status st = ASSAY_OK;
    if (p->type & ASSAY_T_LIST) {
        assay_json_set(given, p->name, names);
        names = NULL;
    } else if (assay_streq(plain, "@candidate") && n != 1) {
        st = assay_fail(err, ASSAY_E_INPUT, "%s.%s: the experiment has %zu arms of role \"candidate\": say which one the gate is about (arm = NAME)", who,
                        p->name, n);
    } else {
        assay_json_set_string(given, p->name, n ? assay_json_text(assay_json_at(names, 0)) : "");
    }
    assay_json_free(names);
    free(plain);
    return st;
}

/* Fixtures outside a defaulted `fixture` list: judged for information only (the figures are printed, nothing rests on them). */
static assay_json *fixtures_left_out(const assay_json *plan, const assay_json *chosen) {
    assay_json *also = assay_json_array();
    const assay_json *all = assay_json_get(plan, "fixtures");
    for (size_t i = 0; i < assay_json_len(all); i++) {
        const char *name = assay_json_string(assay_json_at(all, i), "name", "");
        bool in = false;
        for (size_t k = 0; !in && k < assay_json_len(chosen); k++) in = assay_streq(assay_json_text(assay_json_at(chosen, k)), name);
        if (!in) assay_json_append(also, assay_json_new_string(name));
    }
    return also;
}

/* The layout of the control's output, where the experiment's shapes tell it (heads, head_dim): [B, heads, S, head_dim] is
 * BHSD, [B, S, D] is BSD. A gate with a `layout` parameter gets it as its default. */
static const char *output_layout(const assay_plan_build *b) {
    const char *control = assay_plan_arm_of_role(b->plan, "control");
    const assay_json *arms = assay_json_get(b->plan, "arms"), *shapes = assay_json_get(b->plan, "shapes");
    double heads = assay_json_number(shapes, "heads", -1), head_dim = assay_json_number(shapes, "head_dim", -1);
    for (size_t i = 0; control && i < b->n_arms; i++) {
        if (!assay_streq(assay_json_string(assay_json_at(arms, i), "name", ""), control)) continue;
        const assay_mil_function *f = assay_program_function(b->programs[i], NULL);
        if (!f || !f->block || f->block->n_outputs == 0) return NULL;
        const assay_mil_type *t = f->block->outputs[0]->type;
        if (!t || t->kind != ASSAY_TYPE_TENSOR) return NULL;
        if (t->rank == 4 && (double)t->dims[1] == heads && (double)t->dims[3] == head_dim) return "BHSD";
        if (t->rank == 3 && (double)t->dims[2] == heads * head_dim) return "BSD";
    }
    return NULL;
}

static bool declares(const assay_param *table, const char *name) {
    for (const assay_param *p = table; p && p->name; p++)
        if (assay_streq(p->name, name)) return true;
    return false;
}

/* What the script gave, with arm and control among the parameters. */
static assay_json *given_params(const assay_json *gate, const assay_gate_type *type) {
    const assay_json *params = assay_json_get(gate, "params");
    assay_json *given = assay_json_kind(params) == ASSAY_J_OBJECT ? assay_json_clone(params) : assay_json_object();
    for (const char *const *k = (const char *const[]){"arm", "control", NULL}; *k; k++) {
        const char *v = assay_json_string(gate, *k, NULL);
        if (v && declares(type->params, *k)) assay_json_set_string(given, *k, v);
    }
    return given;
}

/* Where the Lua source of a gate stands in scripts/; NULL for gates in C. */
static const char *script_of(const assay_plan_build *b, const assay_gate_type *type) {
    const assay_json *files = assay_script_files(b->script);
    for (size_t i = 0; assay_streq(type->kind, "lua") && i < assay_json_len(files); i++) {
        const assay_json *f = assay_json_at(files, i);
        if (assay_streq(assay_json_string(f, "path", ""), type->path)) return assay_json_string(f, "name", NULL);
    }
    return NULL;
}

/* Which parameters the script itself gave, in the order of the gate's table: a Lua table has none, and the plan's digest must not
 * depend on one. */
static assay_json *given_names(const assay_gate_type *type, const assay_json *given) {
    assay_json *names = assay_json_array();
    for (const assay_param *p = type->params; p && p->name; p++)
        if (assay_json_get(given, p->name)) assay_json_append(names, assay_json_new_string(p->name));
    return names;
}

/* Adds to `given` what the plan itself answers: the names that @-words stand for, the layout of the output.
 * *also: the fixtures that a word left out, for information; NULL: none. */
static assay_status resolve_params(const assay_plan_build *b, const assay_gate_type *type, const char *who, assay_json *given, assay_json **also,
                                   assay_error *err) {
    bool fixture_given = assay_json_get(given, "fixture") != NULL;
    for (const assay_param *p = type->params; p && p->name; p++) {
        const char *word = word_of(p, given);
        assay_status st = word ? resolve_word(b->plan, p, word, who, given, err) : ASSAY_OK;
        if (st != ASSAY_OK) return st;
        if (word && assay_streq(p->name, "fixture") && (p->type & ASSAY_T_LIST) && !fixture_given && !b->o->mutants)
            *also = fixtures_left_out(b->plan, assay_json_get(given, "fixture"));
        const char *layout = assay_streq(p->name, "layout") && !assay_json_get(given, "layout") ? output_layout(b) : NULL;
        if (layout) assay_json_set_string(given, "layout", layout);
    }
    return ASSAY_OK;
}

static assay_status plan_gate(assay_plan_build *b, const assay_json *gate, assay_json *row, assay_error *err) {
    const char *use = assay_json_string(gate, "use", "");
    const assay_gate_type *type = assay_registry_gate(b->o->registry, use, err);
    if (!type) return assay_wrap(err, "%s", assay_json_string(gate, "where", b->o->script));
    char *who = assay_xprintf("%s: gate \"%s\"", assay_json_string(gate, "where", b->o->script), use);
    assay_json *given = given_params(gate, type), *names = given_names(type, given), *also = NULL;
    assay_gate_run *g = NULL;
    assay_status st = resolve_params(b, type, who, given, &also, err);
    if (st == ASSAY_OK) st = assay_gate_open(type, given, who, &g, err);
    if (st == ASSAY_OK) {
        const char *script = script_of(b, type);
        assay_json_set_string(row, "use", use);
        assay_json_set_string(row, "version", type->version);
        assay_json_set_string(row, "kind", type->kind);
        assay_json_set_string(row, "where", assay_json_string(gate, "where", ""));
        assay_json_set(row, "params", assay_json_clone(assay_gate_params(g)));
        assay_json_set(row, "also", also ? assay_json_clone(also) : assay_json_array());
        assay_json_set(row, "given", assay_json_clone(names));
        if (assay_json_bool(gate, "after_kill", false)) assay_json_set_bool(row, "after_kill", true);
        if (script) assay_json_set_string(row, "script", script);
    }
    assay_gate_close(g);
    assay_json_free(also);
    assay_json_free(names);
    assay_json_free(given);
    free(who);
    return st;
}

/* A gate that speaks of fixtures, got none and therefore asks for nothing could never decide anything. */
static assay_status check_fixtures(const assay_json *row, const assay_json *needs, assay_error *err) {
    const assay_json *list = assay_json_path(row, "params.fixture");
    if (assay_json_len(needs) || assay_json_kind(list) != ASSAY_J_ARRAY || assay_json_len(list)) return ASSAY_OK;
    return assay_fail(err, ASSAY_E_INPUT, "%s: gate \"%s\": the experiment has no fixture for it: add fixture { name = ..., inputs = ... }, or take its use = {...} off",
                      assay_json_string(row, "where", ""), assay_json_string(row, "use", ""));
}

/* Makes the perturbed fixtures among the needs; a gate that perturbs is not judged on further fixtures for information. */
static assay_status meet_needs(assay_plan_build *b, assay_json *row, const assay_json *needs, assay_error *err) {
    assay_status st = ASSAY_OK;
    for (size_t i = 0; st == ASSAY_OK && i < assay_json_len(needs); i++) {
        const assay_json *need = assay_json_at(needs, i);
        const char *perturb = assay_json_string(need, "perturb", NULL);
        if (!perturb) continue;
        st = assay_plan_build_perturbed(b, assay_json_string(need, "fixture", ""), perturb, err);
        assay_json_set(row, "also", assay_json_array());
    }
    if (st != ASSAY_OK) assay_wrap(err, "%s: gate \"%s\"", assay_json_string(row, "where", ""), assay_json_string(row, "use", ""));
    return st;
}

/* An arm that is not there is not measured, which is no verdict; told once a gate, because most often it is misspelt. */
static void note_unknown_arm(const assay_plan_build *b, const assay_json *row, const assay_json *needs) {
    const assay_json *arms = assay_json_get(b->plan, "arms");
    const char *names[128], *missing = NULL;
    size_t n = 0;
    for (const assay_json *a = assay_json_first(arms); a && n < 128; a = assay_json_next(a)) names[n++] = assay_json_string(a, "name", "");
    for (const assay_json *need = assay_json_first(needs); need && !missing; need = assay_json_next(need)) {
        const char *arm = assay_json_string(need, "arm", "");
        bool there = !*arm || *arm == '@' || assay_json_len(arms) > 128;
        for (size_t i = 0; i < n && !there; i++) there = assay_streq(names[i], arm);
        if (!there) missing = arm;
    }
    if (!missing || !b->o->note) return;
    char hint[96];
    char *text = assay_xprintf("%s: gate \"%s\" asks for arm '%s', which the experiment does not have%s", assay_json_string(row, "where", ""),
                               assay_json_string(row, "use", ""), missing, assay_did_you_mean(hint, missing, names, n));
    b->o->note(b->o->ctx, text);
    free(text);
}

/* ---- the cheapest first */

/* How dear the dearest thing is that a gate asks for; -1: it asks for nothing yet. */
static int dearest(const assay_json *needs) {
    static const char *const kinds[] = {"program", "plan", "output", "timing"};
    int rank = -1;
    for (const assay_json *need = assay_json_first(needs); need; need = assay_json_next(need))
        for (int k = 0; k < (int)(sizeof kinds / sizeof *kinds); k++)
            if (k > rank && assay_streq(assay_json_string(need, "kind", ""), kinds[k])) rank = k;
    return rank;
}

/* Gates are judged in the order of the script, and a kill spares what stands behind it: told once, where a dearer gate stands before a
 * cheaper one (M68). The order stays the author's. */
static void note_order(const assay_plan_build *b, const assay_json *rows, const int *rank) {
    size_t dear = 0, n = assay_json_len(rows);
    if (!b->o->note || b->o->mutants || assay_streq(assay_json_string(b->desc, "stop", ""), "never")) return;
    for (size_t i = 1; i < n; i++) {
        const assay_json *row = assay_json_at(rows, i), *before = assay_json_at(rows, dear);
        if (rank[i] >= rank[dear]) dear = i;
        if (rank[i] < 0 || rank[i] >= rank[dear]) continue;
        char *text = assay_xprintf("%s: gate \"%s\" stands behind the dearer \"%s\": a kill by it would come late; put the cheapest first",
                                   assay_json_string(row, "where", ""), assay_json_string(row, "use", ""), assay_json_string(before, "use", ""));
        b->o->note(b->o->ctx, text);
        free(text);
        return;
    }
}

assay_status assay_plan_build_gates(assay_plan_build *b, assay_error *err) {
    const assay_json *gates = assay_json_get(b->desc, "gates");
    assay_json *rows = assay_json_set(b->plan, "gates", assay_json_array());
    int *rank = assay_xcalloc(assay_json_len(gates) + 1, sizeof *rank);
    assay_status st = ASSAY_OK;
    for (size_t i = 0; st == ASSAY_OK && i < assay_json_len(gates); i++)
        st = plan_gate(b, assay_json_at(gates, i), assay_json_append(rows, assay_json_object()), err);
    for (size_t i = 0; st == ASSAY_OK && i < assay_json_len(gates); i++) {
        assay_json *needs = NULL;
        st = assay_gate_first_needs(b->plan, b->o->registry, i, &needs, err);
        if (st == ASSAY_OK) st = check_fixtures(assay_json_at(rows, i), needs, err);
        rank[i] = dearest(needs);
        if (st == ASSAY_OK) note_unknown_arm(b, assay_json_at(rows, i), needs);
        if (st == ASSAY_OK) st = meet_needs(b, assay_json_at(rows, i), needs, err);
        assay_json_free(needs);
    }
    if (st == ASSAY_OK) note_order(b, rows, rank);
    free(rank);
    return st;
}
