/* The gate "power": can the fixtures of an experiment show what they are asked? One answer for each question over the set of
 * its fixtures: one that can is enough (M69). statistics.md section 3.3, "Power numbers". */
#include "power.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const assay_param params[] = {
    SIM_TEXT("control", "@control", "arm whose experiment this is; empty outside of one"),
    SIM_TEXTS("scale", "@use:scale", "fixtures for questions about scale and scores"),
    SIM_TEXTS("parity", "@use:parity", "fixtures for questions about heads, batch rows and tokens"),
    SIM_TEXT("query", "q", "value of the reference's program, [B, H, S, E], before any scale"),
    SIM_TEXT("key", "k", "likewise"),
    SIM_TEXT("value", "v", "likewise"),
    SIM_TEXT("mask", "", "value that is added to the scores, or a boolean mask; none: the question is not asked"),
    {"logit_sd_min", "0.1", 0, "", "median over (batch, head) of the scores' sd within a row", 0, 1e300, ASSAY_T_NUMBER, 0},
    {"scale_error_max", "0.25", 0, "", "largest relative error of the scale that may stay unseen", 0, 1e300, ASSAY_T_NUMBER, 0},
    {"cosine_min", "0.9999", 0, "", "the similarity gate whose eyes are used: it sees a relative change of sqrt(2 (1 - this))", -1, 1,
     ASSAY_T_NUMBER, 0},
    {0},
};

enum { MESSAGE = 500 };
typedef struct measured {
    const char *label;
    power_figures at;
    double visible; /* smallest change of the output that the similarity gate sees, relative */
} measured;
typedef struct fixtures {
    measured *all;
    size_t n;
} fixtures;

static double smallest_scale_error(const measured *x) { return x->visible / x->at.scale_response; }

/* Each question: what a fixture without power lacks, in words; false when it has power. Comparisons are written so that NaN fails. */
static bool lacks_scale(const sim *s, const measured *x, char *why, size_t size) {
    double sd = sim_param_number(s, "logit_sd_min", 0.1), most = sim_param_number(s, "scale_error_max", 0.25);
    if (x->at.logit_sd_median >= sd && smallest_scale_error(x) <= most) return false;
    snprintf(why, size, "median logit sd %.3g (at least %.3g), smallest scale error it can see %.3g %% (at most %.3g %%)",
             x->at.logit_sd_median, sd, 100 * smallest_scale_error(x), 100 * most);
    return true;
}

static bool lacks_parity(const sim *s, const measured *x, char *why, size_t size) {
    const struct {
        const char *what;
        double distance;
    } all[] = {{"tokens", x->at.token_distance}, {"heads", x->at.head_distance}, {"batch rows", x->at.batch_distance}};
    (void)s;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (isnan(all[i].distance) || all[i].distance >= x->visible) continue; /* NaN: there is one only */
        snprintf(why, size, "outputs of neighbouring %s differ by %.3g of their size, the gate sees %.3g", all[i].what,
                 all[i].distance, x->visible);
        return true;
    }
    if (x->at.dead_rows <= 0.5) return false;
    snprintf(why, size, "%.3g %% of the rows are dead in the reference", 100 * x->at.dead_rows);
    return true;
}

static bool lacks_mask(const sim *s, const measured *x, char *why, size_t size) {
    (void)s;
    if (x->at.masked_weight >= x->visible && !(x->at.mask_asymmetry <= 0)) return false;
    if (!(x->at.masked_share > 0))
        snprintf(why, size, "the mask leaves every key to every query");
    else if (x->at.mask_asymmetry <= 0)
        snprintf(why, size, "the mask equals its transpose: a transposed one looks the same");
    else
        snprintf(why, size, "ignoring the mask would give the masked keys %.3g of the weight, the gate sees %.3g", x->at.masked_weight,
                 x->visible);
    return true;
}

/* What has power for no question: figures of NaN would leave out the questions that they cannot answer. */
static bool lacks_numbers(const measured *x, char *why, size_t size) {
    if (x->at.nonfinite == 0) return false;
    snprintf(why, size, "%llu values of query, key and value are not finite", (unsigned long long)x->at.nonfinite);
    return true;
}

typedef bool lacks_fn(const sim *s, const measured *x, char *why, size_t size);
static const struct question {
    const char *name, *list; /* list: parameter with its fixtures */
    lacks_fn *lacks;
} questions[] = {{"scale", "scale", lacks_scale}, {"parity", "parity", lacks_parity}, {"mask", "parity", lacks_mask}};

/* In a run the list says who is meant; outside, an empty list means everything that was given. */
static bool meant(const sim *s, const struct question *q, const char *label) {
    bool any = false;
    for (uint32_t i = 0; *sim_param_text(s, q->list, i); i++, any = true)
        if (strcmp(sim_param_text(s, q->list, i), label) == 0) return true;
    return !any && !s->in_run;
}

static void ask_question(const sim *s, const struct question *q, const fixtures *set, const assay_finding *f) {
    char message[MESSAGE] = "";
    size_t at = 0, able = 0;
    for (size_t i = 0; i < set->n; i++) {
        const measured *x = &set->all[i];
        char why[200], group[160];
        if (!meant(s, q, x->label)) continue;
        bool lacks = lacks_numbers(x, why, sizeof why) || q->lacks(s, x, why, sizeof why);
        char name[64];
        snprintf(name, sizeof name, "power_for_%s", q->name);
        sim_metric_json(f, sim_group(group, "fixture", x->label), name, lacks ? "false" : "true");
        able += !lacks;
        if (lacks && at < sizeof message)
            at += (size_t)snprintf(message + at, sizeof message - at, "%s%s%s%s", at ? "; " : "", x->label, *x->label ? ": " : "", why);
    }
    if (able) return;
    char text[MESSAGE + 160];
    snprintf(text, sizeof text, "no fixture has power for questions of %s: %s", q->name,
             at ? message : "none is meant for it (use)");
    f->invalid(f, "no_fixture_with_power", text, q->name);
}

static void emit(const measured *x, const assay_finding *f) {
    const power_figures *p = &x->at;
    char group[160];
    sim_group(group, "fixture", x->label);
    const struct {
        const char *name, *unit;
        double value;
    } all[] = {
        {"logit_sd_median", "1", p->logit_sd_median},
        {"predicted_cosine_scale_twice", "1", p->predicted_cosine},
        {"entropy_share", "1", p->entropy_share},
        {"common_mode_share", "1", p->common_mode},
        {"dead_row_share", "1", p->dead_rows},
        {"smallest_scale_error", "1", smallest_scale_error(x)},
        {"change_scale_twice", "1", p->scale_twice},
        {"head_distance", "1", p->head_distance},
        {"batch_distance", "1", p->batch_distance},
        {"token_distance", "1", p->token_distance},
        {"qk_asymmetry", "1", p->qk_asymmetry},
        {"masked_share", "1", p->masked_share},
        {"masked_weight_if_ignored", "1", p->masked_weight},
        {"mask_asymmetry", "1", p->mask_asymmetry},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) sim_metric(f, group, all[i].name, all[i].value, all[i].unit);
    sim_metric(f, group, "nonfinite", (double)p->nonfinite, "1");
    sim_metric_list(f, group, "logit_sd_per_head", p->head_logit_sd, p->heads, "1");
}

static assay_status measure(const sim *s, const sim_items *items, measured *x, assay_error *err) {
    const assay_item *q = sim_item(items, "query", x->label), *k = sim_item(items, "key", x->label);
    const assay_item *v = sim_item(items, "value", x->label), *mask = sim_item(items, "mask", x->label);
    power_inputs in = {.m = s->m, .math = s->host->get(s->host->ctx, ASSAY_MATH_1)};
    if (!in.math) return sim_fail(err, ASSAY_E_ABI, "power: the host has no %s", ASSAY_MATH_1);
    in.q = &q->tensor, in.k = &k->tensor, in.v = &v->tensor, in.mask = sim_usable(mask) ? &mask->tensor : NULL;
    x->visible = sqrt(2 * (1 - sim_param_number(s, "cosine_min", 0.9999)));
    return power_figures_of(&in, &x->at, err);
}

/* The first piece that is not there; NULL: all are. */
static const char *missing_role(const sim_items *items, const char *label) {
    static const char *const roles[] = {"query", "key", "value"};
    for (int i = 0; i < 3; i++)
        if (!sim_usable(sim_item(items, roles[i], label))) return roles[i];
    return NULL;
}

static assay_status judge_items(const sim *s, const sim_items *items, fixtures *set, const assay_finding *f, assay_error *err) {
    const char *labels[SIM_LABELS];
    size_t n = sim_labels(items, "query", labels, SIM_LABELS);
    bool masks = false, complete = n > 0 || s->in_run;
    set->all = calloc(n + 1, sizeof *set->all);
    if (!set->all) return sim_fail(err, ASSAY_E_NOMEM, "power: no memory");
    for (size_t i = 0; i < n; i++) {
        const char *role = missing_role(items, labels[i]);
        measured *x = &set->all[set->n];
        x->label = labels[i];
        complete = complete && !role;
        masks = masks || sim_usable(sim_item(items, "mask", labels[i]));
        if (role) {
            sim_tell_missing(items, role, labels[i], f);
            continue;
        }
        set->n++;
        assay_status st = measure(s, items, x, err);
        if (st != ASSAY_OK) return st;
        emit(x, f);
    }
    for (size_t i = 0; complete && i < sizeof questions / sizeof *questions; i++)
        if (questions[i].lacks != lacks_mask || masks) ask_question(s, &questions[i], set, f);
    if (!n && !s->in_run) f->reason(f, "evidence_missing", "query, key and value of a fixture are needed", "");
    f->verdict(f, complete ? ASSAY_PASS : ASSAY_NOT_MEASURED);
    return ASSAY_OK;
}

static assay_status judge(void *self, const assay_evidence *ev, const assay_finding *f, assay_error *err) {
    static const char *const roles[] = {"query", "key", "value", "mask", NULL};
    sim_items items;
    fixtures set = {0};
    assay_status st = sim_items_load(ev, roles, &items, err);
    if (st == ASSAY_OK) st = judge_items(self, &items, &set, f, err);
    for (size_t i = 0; i < set.n; i++) power_free(&set.all[i].at);
    free(set.all);
    sim_items_free(&items);
    return st;
}

static assay_status ask(const assay_request *req, const char *role, const char *fixture, const char *value, assay_error *err) {
    assay_query q = {.struct_size = sizeof q, .kind = ASSAY_K_OUTPUT, .arm = "@reference", .fixture = fixture, .output = value};
    return *value ? req->need(req, role, fixture, &q, err) : ASSAY_OK;
}

static assay_status needs(void *self, const assay_evidence *so_far, const assay_request *req, assay_error *err) {
    static const char *const lists[] = {"scale", "parity"}, *const roles[] = {"query", "key", "value", "mask"};
    const sim *s = self;
    assay_status st = ASSAY_OK;
    (void)so_far;
    for (int k = 0; k < 2 && s->in_run; k++)
        for (uint32_t i = 0; st == ASSAY_OK && *sim_param_text(s, lists[k], i); i++)
            for (int r = 0; st == ASSAY_OK && r < 4; r++) st = ask(req, roles[r], sim_param_text(s, lists[k], i), sim_param_text(s, roles[r], 0), err);
    return st;
}

static const assay_gate gate = {
    .struct_size = sizeof gate,
    .name = "power",
    .version = "1.0",
    .params = params,
    .summary = "for each question at least one fixture of the set could show a wrong answer",
    .create = sim_create_plain,
    .needs = needs,
    .judge = judge,
    .destroy = free,
};
ASSAY_GATE_PLUGIN(gate)
