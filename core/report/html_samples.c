/* report/html_samples.c: the timed predictions of the evidence: which trials belong to one comparison, and its pictures. */
#include "report/html.h"
#include "report/html_plot.h"
#include "assay/types.h"
#include "base/fs.h"
#include "base/names.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 900, PANEL = 170, PAD = 46, DROPPED = 1 };

/* One timing trial: one fresh process. control, candidate, fixture are names of the receipt; equal arms: an A/A pilot. */
typedef struct trial { const char *control, *candidate, *fixture; assay_sample *s; size_t n; bool pilot; } trial;
typedef struct trials { trial *items; size_t n; } trials;

/* Samples of one timing trial; absent or damaged files give none. */
static bool load(const char *evidence_dir, const assay_json *e, trial *out) {
    char *path = assay_xprintf("%s/%s/samples.bin", evidence_dir, assay_json_string(e, "trial", "")), *data = NULL;
    size_t len = 0;
    bool ok = assay_read_file(path, 64u << 20, &data, &len, NULL) == ASSAY_OK && len > 0 && len % sizeof(assay_sample) == 0;
    free(path);
    if (!ok) {
        free(data);
        return false;
    }
    *out = (trial){ assay_json_string(e, "arm", ""), assay_json_string(e, "arm_b", ""), assay_json_string(e, "fixture", ""), (assay_sample *)(void *)data,
                    len / sizeof(assay_sample), false };
    out->pilot = *out->control && assay_streq(out->control, out->candidate);
    return true;
}

static trials collect(const assay_json *receipt, const char *evidence_dir) {
    const assay_json *list = assay_json_get(receipt, "evidence");
    trials t = { assay_xcalloc(assay_json_len(list) + 1, sizeof *t.items), 0 };
    for (const assay_json *e = assay_json_first(list); e; e = assay_json_next(e))
        if (assay_streq(assay_json_string(e, "kind", ""), "timing") && load(evidence_dir, e, &t.items[t.n])) t.n++;
    return t;
}

/* ---- blocks of a comparison */
typedef struct comparison { assay_plot_block *b; size_t n; double *ms[2]; size_t n_ms[2]; } comparison;

static void take_block(comparison *c, const assay_sample *s, size_t n, size_t process) {
    double sum[2] = { 0.0, 0.0 }, count[2] = { 0.0, 0.0 };
    bool dropped = false;
    for (size_t i = 0; i < n; i++) {
        sum[s[i].arm != 0] += (double)s[i].dur_ns / 1e6;
        count[s[i].arm != 0] += 1.0;
        dropped |= (s[i].flags & DROPPED) != 0;
    }
    if (!(count[0] > 0.0 && count[1] > 0.0)) return;
    c->b[c->n++] = (assay_plot_block){ sum[0] / count[0] - sum[1] / count[1], process, s[0].arm == 0, dropped };
    for (size_t i = 0; i < n && !dropped; i++) c->ms[s[i].arm != 0][c->n_ms[s[i].arm != 0]++] = (double)s[i].dur_ns / 1e6;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Trials with the arms and fixture of `of`; as a pilot those that time its control twice. */
static bool belongs(const trial *t, const trial *of, bool pilot) {
    return assay_streq(t->control, of->control) && assay_streq(t->fixture, of->fixture) && t->pilot == pilot && (pilot || assay_streq(t->candidate, of->candidate));
}

static comparison compare(const trials *all, const trial *of, bool pilot) {
    comparison c = { NULL, 0, { NULL, NULL }, { 0, 0 } };
    size_t total = 1;
    for (size_t i = 0; i < all->n; i++) total += all->items[i].n;
    c.b = assay_xcalloc(total, sizeof *c.b);
    c.ms[0] = assay_xcalloc(total, sizeof(double));
    c.ms[1] = assay_xcalloc(total, sizeof(double));
    for (size_t i = 0; i < all->n; i++) {
        const trial *t = &all->items[i];
        for (size_t from = 0, to; belongs(t, of, pilot) && from < t->n; from = to) {
            for (to = from + 1; to < t->n && t->s[to].block == t->s[from].block; to++) {}
            take_block(&c, t->s + from, to - from, i);
        }
    }
    for (int k = 0; k < 2; k++) qsort(c.ms[k], c.n_ms[k], sizeof(double), ascending);
    return c;
}

static void release(comparison *c) { free(c->b), free(c->ms[0]), free(c->ms[1]); }

/* ---- the gate's own figures */

/* The row of the gate that judged these arms: it gives a gain and names the candidate. */
static const assay_json *judged(const assay_json *receipt, const trial *of) {
    for (const assay_json *g = assay_json_first(assay_json_get(receipt, "gates")); g; g = assay_json_next(g))
        if (assay_json_path(g, "metrics.gate.gain_ms") && assay_streq(assay_json_string(assay_json_get(g, "params"), "arm", ""), of->candidate)) return g;
    return NULL;
}

static double at(const assay_json *g, const char *path) { return assay_json_value(assay_json_path(g, path)); }

/* Adds a row where both ends are known. Deltas are turned into gains. */
static void add_row(assay_plot_interval *rows, size_t *n, const char *name, double lo, double hi, double mid, bool delta) {
    if (!isfinite(lo) || !isfinite(hi)) return;
    assay_plot_interval *r = &rows[(*n)++];
    *r = delta ? (assay_plot_interval){ .lo = -hi, .hi = -lo, .at = -mid } : (assay_plot_interval){ .lo = lo, .hi = hi, .at = mid };
    snprintf(r->label, sizeof r->label, "%s", name);
}

static void intervals(assay_buf *out, const assay_json *g) {
    static const struct { const char *name, *interval, *estimate; } opinions[] = {
        { "median, order statistics", "order_ci95_median", "median_delta" },
        { "Hodges-Lehmann", "hodges_lehmann_ci", "hodges_lehmann_delta" },
        { "mean, BCa bootstrap", "bca_ci95_mean", "mean_delta" },
        { "mean, moving blocks", "block_boot_ci95_mean", "mean_delta" },
        { "mean, Student's t", "t_ci95_mean", "mean_delta" },
    };
    assay_plot_interval rows[8];
    char name[64], path[96];
    size_t n = 0;
    add_row(rows, &n, "A/A pilot", at(g, "metrics.pilot.gain_ms_ci_low"), at(g, "metrics.pilot.gain_ms_ci_high"), at(g, "metrics.pilot.gain_ms"), false);
    snprintf(name, sizeof name, "decides: %.40s", assay_json_string(assay_json_path(g, "metrics.gate"), "interval_method", ""));
    add_row(rows, &n, name, at(g, "metrics.gate.gain_ms_ci_low"), at(g, "metrics.gate.gain_ms_ci_high"), at(g, "metrics.gate.gain_ms"), false);
    const assay_json *paired = assay_json_path(g, "metrics.paired");
    for (size_t i = 0; i < sizeof opinions / sizeof *opinions; i++) {
        const assay_json *iv = assay_json_get(paired, opinions[i].interval);
        snprintf(path, sizeof path, "metrics.paired.%s", opinions[i].estimate);
        add_row(rows, &n, opinions[i].name, assay_json_number(iv, "lo", NAN), assay_json_number(iv, "hi", NAN), at(g, path), true);
    }
    assay_plot_intervals(out, rows, n, at(g, "params.min_prize_ms") / at(g, "params.layers"));
}

static void draw_comparison(assay_buf *out, const assay_json *receipt, const trials *all, const trial *of) {
    const assay_json *g = of->pilot ? NULL : judged(receipt, of);
    comparison aa = compare(all, of, true), ab = { NULL, 0, { NULL, NULL }, { 0, 0 } };
    if (!of->pilot) ab = compare(all, of, false);
    assay_plot_blocks left = { "A/A pilot: the control against itself", aa.b, aa.n }, right = { "A/B: control against candidate", ab.b, ab.n };
    assay_buf_str(out, "<h3>");
    assay_html_text(out, of->control);
    assay_buf_str(out, " against ");
    assay_html_text(out, of->candidate);
    if (*of->fixture) assay_buf_str(out, " on "), assay_html_text(out, of->fixture);
    assay_buf_str(out, "</h3>\n");
    assay_plot_gains(out, &left, &right, at(g, "metrics.gate.gain_ms_ci_low"), at(g, "metrics.gate.gain_ms_ci_high"));
    if (ab.n) assay_plot_ecdf(out, ab.ms[0], ab.n_ms[0], ab.ms[1], ab.n_ms[1]);
    if (g) intervals(out, g);
    release(&aa);
    release(&ab);
}

/* Drawn once: by the first trial of its comparison. A pilot has its place beside the comparison, and one of its own where there is none. */
static bool is_first(const trials *all, size_t k) {
    const trial *t = &all->items[k];
    for (size_t i = 0; i < all->n; i++)
        if ((i < k && belongs(&all->items[i], t, t->pilot)) ||
            (t->pilot && !all->items[i].pilot && assay_streq(all->items[i].control, t->control) && assay_streq(all->items[i].fixture, t->fixture))) return false;
    return true;
}

/* ---- every prediction, a panel per process */
static void point(assay_buf *out, double x, double y, bool candidate) {
    if (candidate) assay_buf_printf(out, "<path d=\"M%.1f %.1fl6 6m0-6l-6 6\" class=\"b\"/>", x - 3.0, y - 3.0);
    else assay_buf_printf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" class=\"a\"/>", x, y);
}

static void draw_trial(assay_buf *out, const trial *t, double lo, double hi, size_t index) {
    double top = 8.0, bottom = PANEL - 26.0, span = hi > lo ? hi - lo : 1.0;
    assay_buf_printf(out, "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"process %zu\">\n", WIDTH, PANEL, index);
    assay_buf_printf(out, "<path d=\"M%d %.0fV%.0fH%d\" class=\"axis\"/>", PAD, top, bottom, WIDTH - 8);
    assay_buf_printf(out, "<text x=\"%d\" y=\"%.0f\" text-anchor=\"end\">%.4g</text>", PAD - 4, top + 8.0, hi);
    assay_buf_printf(out, "<text x=\"%d\" y=\"%.0f\" text-anchor=\"end\">%.4g</text>", PAD - 4, bottom, lo);
    assay_buf_printf(out, "<text x=\"%d\" y=\"%d\">process %zu%s, %zu predictions in time order, ms</text>\n", PAD, PANEL - 8, index, t->pilot ? " (A/A pilot)" : "", t->n);
    for (size_t k = 0; k < t->n; k++) {
        double x = PAD + 8.0 + (double)k * (WIDTH - PAD - 24.0) / (double)(t->n > 1 ? t->n - 1 : 1);
        point(out, x, bottom - ((double)t->s[k].dur_ns / 1e6 - lo) / span * (bottom - top), t->s[k].arm != 0);
    }
    assay_buf_str(out, "\n</svg>\n");
}

static void draw_trials(assay_buf *out, const trials *all) {
    double lo = INFINITY, hi = 0.0;
    for (size_t i = 0; i < all->n; i++)
        for (size_t k = 0; k < all->items[i].n; k++) {
            double ms = (double)all->items[i].s[k].dur_ns / 1e6;
            lo = fmin(lo, ms);
            hi = fmax(hi, ms);
        }
    assay_buf_str(out, "<details><summary>Every prediction. Circles: control. Crosses: candidate. One panel per fresh process; warm-up is not shown.</summary>\n");
    for (size_t i = 0; i < all->n; i++) draw_trial(out, &all->items[i], lo, hi, i);
    assay_buf_str(out, "</details>\n");
}

void assay_html_samples(assay_buf *out, const assay_json *receipt, const char *evidence_dir) {
    trials t = collect(receipt, evidence_dir);
    if (t.n) assay_buf_str(out, "<h2>Timed predictions</h2>\n");
    for (size_t i = 0; i < t.n; i++)
        if (is_first(&t, i)) draw_comparison(out, receipt, &t, &t.items[i]);
    if (t.n) draw_trials(out, &t);
    for (size_t i = 0; i < t.n; i++) free(t.items[i].s);
    free(t.items);
}
