/* Rule 16: tables of the ten worst slices of rules 8 to 10 and 12, with their indices. */
#include "similarity.h"
#include <stdlib.h>
#include <string.h>

enum { WORST = 10 };
typedef struct figure {
    const char *name;
    double v;
} figure;
typedef struct worst_list {
    uint64_t at[WORST];
    size_t n;
} worst_list;

/* Least key first; NaN is worse than any number. */
static bool worse(double a, double b) { return isnan(a) ? !isnan(b) : a < b; }
static void keep_worst(worst_list *w, const assay_pair_stats *s, uint64_t i) {
    size_t k = w->n;
    while (k > 0 && worse(s[i].cosine, s[w->at[k - 1]].cosine)) k--;
    if (k == WORST) return;
    size_t last = w->n < WORST ? w->n++ : WORST - 1;
    memmove(w->at + k + 1, w->at + k, (last - k) * sizeof *w->at);
    w->at[k] = i;
}

static void worst_table(sim_text *t, const char *name, sim_pair *p, int kind, double floor) {
    const sim_slices *sl = sim_pair_slices(p, kind);
    worst_list w = {.n = 0};
    for (uint64_t i = 0; i < sl->n; i++)
        if (sl->at[i].norm_ref > 0 && sl->at[i].norm_ref >= floor) keep_worst(&w, sl->at, i);
    sim_text_add(t, "%s\"%s\":[", t->len > 1 ? "," : "", name);
    for (size_t i = 0; i < w.n; i++) {
        char at[96];
        const assay_pair_stats *a = &sl->at[w.at[i]];
        const figure v[] = {{"cosine", a->cosine}, {"gain", a->gain}, {"max_abs", a->max_abs}, {"rel_l2", a->rel_l2}};
        sim_text_add(t, "%s{\"index\":%s", i ? "," : "", sim_index_text(&p->r, sl->keep, (int64_t)w.at[i], at));
        for (int k = 0; k < 4; k++) sim_text_add(t, ",\"%s\":", v[k].name), sim_text_number(t, v[k].v);
        sim_text_add(t, "}");
    }
    sim_text_add(t, "]");
}

/* Centred cosines of (batch, head) slices, worst first, as far as rule 10 judges them. */
static void worst_centred(sim_text *t, sim_pair *p) {
    const sim_centred *c = sim_pair_centred(p);
    assay_pair_stats *as = c->n ? calloc(c->n, sizeof *as) : NULL;
    worst_list w = {.n = 0};
    for (uint64_t i = 0; as && i < c->n; i++) {
        as[i].cosine = c->bh_cosine[i];
        if (c->bh_share[i] >= 0x1p-5) keep_worst(&w, as, i);
    }
    sim_text_add(t, "%s\"centred\":[", t->len > 1 ? "," : "");
    for (size_t i = 0; i < w.n; i++) {
        char at[96];
        sim_text_add(t, "%s{\"index\":%s,\"centred_cosine\":", i ? "," : "",
                     sim_index_text(&p->r, p->slices[SIM_BH].keep, (int64_t)w.at[i], at));
        sim_text_number(t, c->bh_cosine[w.at[i]]), sim_text_add(t, ",\"centred_share\":"),
            sim_text_number(t, c->bh_share[w.at[i]]), sim_text_add(t, "}");
    }
    sim_text_add(t, "]");
    free(as);
}

void sim_emit_worst(const assay_finding *f, const char *label, sim_pair *p) {
    if (!sim_finite(p)) return;
    sim_text t = {0};
    char key[160];
    sim_text_add(&t, "{");
    worst_table(&t, "batch_head", p, SIM_BH, 0);
    worst_table(&t, "row", p, SIM_ROW, sim_pair_rows(p)->floor);
    worst_centred(&t, p);
    sim_text_add(&t, "}");
    f->detail(f, sim_group(key, "worst", label), t.s);
    free(t.s);
}
