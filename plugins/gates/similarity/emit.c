/* Hands figures to the finding under the metric names of cases/README.md. Undefined = NaN, printed as null. */
#include "similarity.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *sim_group(char out[160], const char *role, const char *label) {
    snprintf(out, 160, "%s%s%s", role, *label ? ":" : "", label);
    return out;
}
void sim_metric_list(const assay_finding *f, const char *group, const char *name, const double *v, uint64_t n, const char *unit) {
    char key[256];
    snprintf(key, sizeof key, "%s.%s", group, name);
    f->metric(f, key, v, n, unit);
}
void sim_metric(const assay_finding *f, const char *group, const char *name, double v, const char *unit) {
    sim_metric_list(f, group, name, &v, 1, unit);
}
void sim_metric_json(const assay_finding *f, const char *group, const char *name, const char *json) {
    char key[256];
    snprintf(key, sizeof key, "metrics:%s.%s", group, name);
    f->detail(f, key, json);
}
static void truth(const assay_finding *f, const char *group, const char *name, bool v) {
    sim_metric_json(f, group, name, v ? "true" : "false");
}
static double index_or_null(int64_t i) { return i < 0 ? NAN : (double)i; }

typedef struct named_value {
    const char *name;
    double v;
    const char *unit;
} named_value;

static void counts(const assay_finding *f, const char *g, const assay_pair_stats *a) {
    double n = (double)a->count;
    const named_value all[] = {
        {"count", n, "elements"},
        {"nonfinite_ref", (double)a->nonfinite_ref, "elements"},
        {"nonfinite_cand", (double)a->nonfinite_cand, "elements"},
        {"nan_cand", (double)a->nan_cand, "elements"},
        {"first_nonfinite_cand", index_or_null(a->first_nonfinite_cand), "index"},
        {"zero_fraction_cand", n > 0 ? (double)a->zeros_cand / n : NAN, "share"},
        {"zero_fraction_ref", n > 0 ? (double)a->zeros_ref / n : NAN, "share"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) sim_metric(f, g, all[i].name, all[i].v, all[i].unit);
}

static void similarity(const assay_finding *f, const char *g, const assay_pair_stats *a) {
    const named_value all[] = {
        {"cosine", a->cosine, "1"},
        {"pearson", a->pearson, "1"},
        {"gain", a->gain, "1"},
        {"scale_fit", a->gain, "1"},
        {"rel_l2", a->rel_l2, "1"},
        {"max_abs", a->max_abs, "tensor"},
        {"max_abs_index", index_or_null(a->max_abs_index), "index"},
        {"mean_abs", a->mean_abs, "tensor"},
        {"rmse", a->rmse, "tensor"},
        {"snr_db", a->snr_db, "dB"},
        {"psnr_db", a->psnr_db, "dB"},
        {"max_abs_over_rms", a->max_abs_over_rms, "1"},
        {"energy_share_top1", a->energy_share_top1, "share"},
        {"rms_ref", a->rms_ref, "tensor"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) sim_metric(f, g, all[i].name, all[i].v, all[i].unit);
    truth(f, g, "identical", a->identical != 0);
}

static void heads(const assay_finding *f, const char *g, sim_pair *p) {
    const sim_slices *h = sim_pair_slices(p, SIM_HEAD), *bh = sim_pair_slices(p, SIM_BH);
    if (!h->n) return;
    double *list = calloc(h->n, sizeof *list), worst = INFINITY;
    if (!list) return;
    for (uint64_t i = 0; i < h->n; i++) list[i] = h->at[i].cosine;
    sim_metric_list(f, g, "per_head_cosine", list, h->n, "1");
    if (h->n == 1) { /* a list of one stays a list */
        sim_text t = {0};
        sim_text_add(&t, "["), sim_text_number(&t, list[0]), sim_text_add(&t, "]");
        sim_metric_json(f, g, "per_head_cosine", t.s);
        free(t.s);
    }
    for (uint64_t i = 0; i < bh->n; i++)
        if (!(bh->at[i].cosine >= worst)) worst = bh->at[i].cosine; /* an undefined one sticks: nothing is below NaN */
    for (uint64_t i = 0; i < bh->n; i++)
        if (isnan(bh->at[i].cosine)) worst = NAN;
    sim_metric(f, g, "worst_slice_cosine", worst, "1");
    free(list);
}

static void rows(const assay_finding *f, const char *g, sim_pair *p) {
    const sim_rows *r = sim_pair_rows(p);
    sim_metric(f, g, "row_cosine", r->cosine, "1");
    sim_metric(f, g, "row_rel_l2", r->rel_l2, "1");
    sim_metric(f, g, "row_cosine_index", index_or_null(r->worst), "row");
    if (!r->total) return;
    sim_metric(f, g, "rows_skipped", (double)r->skipped, "rows");
    sim_metric(f, g, "dead_rows", (double)r->dead, "rows");
}

static void centred(const assay_finding *f, const char *g, sim_pair *p) {
    const sim_centred *c = sim_pair_centred(p);
    if (!c->applied) return;
    double worst = NAN;
    uint64_t low = 0;
    for (uint64_t i = 0; i < c->n; i++) {
        if (!(c->bh_share[i] >= 0x1p-5))
            low++;
        else if (!(c->bh_cosine[i] >= worst))
            worst = c->bh_cosine[i];
    }
    sim_metric(f, g, "centred_cosine", c->cosine, "1");
    sim_metric(f, g, "centred_share", c->share, "share");
    sim_metric(f, g, "worst_slice_centred_cosine", worst, "1");
    sim_metric(f, g, "low_centred_power", (double)low, "slices");
}

/* [{axis, index}] of head and channel slices that are dead in the candidate only. */
static void dead_lists(const assay_finding *f, const char *g, sim_pair *p) {
    sim_text dead = {0}, zero = {0};
    const int32_t axes[] = {p->axes.head, p->axes.channel};
    sim_text_add(&dead, "["), sim_text_add(&zero, "[");
    for (int k = 0; k < 2; k++) {
        if (axes[k] < 0) continue;
        uint64_t n = (uint64_t)p->r.shape[axes[k]];
        assay_pair_stats *at = calloc(n + 1, sizeof *at);
        if (at && p->s->m->slices(&p->r, &p->c, 1u << axes[k], at, n, NULL) == ASSAY_OK)
            for (uint64_t i = 0; i < n; i++) {
                if (at[i].constant_cand && !at[i].constant_ref)
                    sim_text_add(&dead, "%s{\"axis\":%d,\"index\":%llu}", dead.len > 1 ? "," : "", (int)axes[k],
                                 (unsigned long long)i);
                if (at[i].zeros_cand == at[i].count && at[i].zeros_ref < at[i].count)
                    sim_text_add(&zero, "%s{\"axis\":%d,\"index\":%llu}", zero.len > 1 ? "," : "", (int)axes[k],
                                 (unsigned long long)i);
            }
        free(at);
    }
    sim_text_add(&dead, "]"), sim_text_add(&zero, "]");
    sim_metric_json(f, g, "dead_slices", dead.s);
    sim_metric_json(f, g, "zero_slices", zero.s);
    free(dead.s), free(zero.s);
}

static void elements(const assay_finding *f, const char *g, sim_pair *p, const sim_elements *e) {
    sim_metric(f, g, "rows_total", (double)e->rows_total, "rows");
    sim_metric(f, g, "rows_with_nonfinite", (double)e->rows_nonfinite, "rows");
    sim_metric(f, g, "leading_rows_equal", (double)e->leading_rows_equal, "rows");
    sim_metric(f, g, "first_dead_index", index_or_null(e->first_dead), "index");
    truth(f, g, "argmax_equal_all_rows", e->argmax_equal && sim_finite(p));
    if (p->c.dtype == ASSAY_F16)
        sim_metric(f, g, "subnormal_fraction_cand", p->all.count ? (double)e->subnormal / (double)p->all.count : NAN, "share");
    uint32_t bits = sim_constant_axes(p->s, &p->c);
    sim_text t = {0};
    sim_text_add(&t, "[");
    for (uint32_t i = 0; i < p->c.rank; i++)
        if (bits >> i & 1) sim_text_add(&t, "%s%u", t.len > 1 ? "," : "", i);
    sim_text_add(&t, "]");
    sim_metric_json(f, g, "constant_axes_cand", t.s);
    free(t.s);
}

static void ulps(const assay_finding *f, const char *g, sim_pair *p) {
    const double *u = sim_pair_further(p)->ulp;
    sim_metric(f, g, "max_ulp", u[0], "ulp");
    sim_metric(f, g, "ulp_p50", u[1], "ulp");
    sim_metric(f, g, "ulp_p99", u[2], "ulp");
}

void sim_emit_pair(const assay_finding *f, const char *g, sim_pair *p, const sim_elements *e) {
    counts(f, g, &p->all);
    similarity(f, g, &p->all);
    ulps(f, g, p);
    heads(f, g, p);
    rows(f, g, p);
    centred(f, g, p);
    if (!e) return;
    dead_lists(f, g, p);
    elements(f, g, p, e);
}

void sim_emit_ratios(const assay_finding *f, const char *g, sim_pair *p, sim_pair *control) {
    if (!control || !sim_finite(p) || !sim_finite(control)) return;
    const sim_rows *a = sim_pair_rows(p), *b = sim_pair_rows(control);
    sim_metric(f, g, "rel_l2_over_control", control->all.rel_l2 > 0 ? p->all.rel_l2 / control->all.rel_l2 : NAN, "1");
    sim_metric(f, g, "max_abs_over_control", control->all.max_abs > 0 ? p->all.max_abs / control->all.max_abs : NAN, "1");
    sim_metric(f, g, "row_rel_l2_over_control", b->rel_l2 > 0 ? a->rel_l2 / b->rel_l2 : NAN, "1");
}

void sim_emit_lines(const assay_finding *f, const char *label, const sim_report *r) {
    sim_text t = {0};
    char key[160];
    sim_text_add(&t, "[");
    for (size_t i = 0; i < r->n_lines; i++) {
        sim_text_add(&t, "%s{\"rule\":", i ? "," : ""), sim_text_string(&t, r->lines[i].rule);
        sim_text_add(&t, ",\"applied\":%s", r->lines[i].applied ? "true" : "false");
        if (!r->lines[i].applied) sim_text_add(&t, ",\"why\":"), sim_text_string(&t, r->lines[i].why);
        sim_text_add(&t, "}");
    }
    sim_text_add(&t, "]");
    f->detail(f, sim_group(key, "rules", label), t.s);
    free(t.s);
}

void sim_emit_limits(const assay_finding *f, const sim *s) {
    const sim_limits *l = &s->lim;
    const named_value all[] = {
        {"cosine_min", l->cosine_min, 0},
        {"centred_cosine_min", l->centred_cosine_min, 0},
        {"per_head_cosine_min", l->per_head_cosine_min, 0},
        {"row_cosine_min", l->row_cosine_min, 0},
        {"gain_tolerance", l->gain_tolerance, 0},
        {"rel_l2_max", l->rel_l2_max, 0},
        {"max_abs_max", l->max_abs_max, 0},
        {"psnr_min_db", l->psnr_min_db, 0},
        {"snr_min_db", l->snr_min_db, 0},
        {"atol", l->atol, 0},
        {"rtol", l->rtol, 0},
        {"max_abs_factor_vs_control", l->max_abs_factor, 0},
        {"row_rel_l2_factor_vs_control", l->row_rel_l2_factor, 0},
        {"rel_l2_factor_vs_control", l->rel_l2_factor, 0},
        {"outlier_share_max", l->outlier_share_max, 0},
        {"control_floor", l->control_floor, 0},
    };
    sim_text t = {0};
    sim_text_add(&t, "{");
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        sim_text_add(&t, "%s\"%s\":", i ? "," : "", all[i].name);
        sim_text_number(&t, all[i].v);
    }
    sim_text_add(&t, "}");
    f->detail(f, "limits", t.s);
    free(t.s);
}
