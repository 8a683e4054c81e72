/* report/html_samples.c: a plain picture of the timed predictions, readable without colour. */
#include "report/html.h"
#include "assay/types.h"
#include "base/fs.h"
#include "base/names.h"
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 900, PANEL = 170, PAD = 46 };

typedef struct panel { char *trial; assay_sample *s; size_t n; } panel;
typedef struct panels { panel *items; size_t n; double lo, hi; } panels;

/* Samples of one timing trial; absent or damaged files give no panel. */
static bool load(const char *evidence_dir, const char *trial, panel *out) {
    char *path = assay_xprintf("%s/%s/samples.bin", evidence_dir, trial), *data = NULL;
    size_t len = 0;
    bool ok = assay_read_file(path, 64u << 20, &data, &len, NULL) == ASSAY_OK && len > 0 && len % sizeof(assay_sample) == 0;
    free(path);
    if (ok) *out = (panel){ assay_xstrdup(trial), (assay_sample *)(void *)data, len / sizeof(assay_sample) };
    else free(data);
    return ok;
}

static panels collect(const assay_json *receipt, const char *evidence_dir) {
    panels p = { NULL, 0, 0.0, 0.0 };
    const assay_json *list = assay_json_get(receipt, "evidence");
    p.items = assay_xcalloc(assay_json_len(list) + 1, sizeof *p.items);
    for (size_t i = 0; i < assay_json_len(list); i++) {
        const assay_json *e = assay_json_at(list, i);
        if (!assay_streq(assay_json_string(e, "kind", ""), "timing")) continue;
        if (load(evidence_dir, assay_json_string(e, "trial", ""), &p.items[p.n])) p.n++;
    }
    for (size_t i = 0; i < p.n; i++)
        for (size_t k = 0; k < p.items[i].n; k++) {
            double ms = (double)p.items[i].s[k].dur_ns / 1e6;
            if (p.lo == 0.0 || ms < p.lo) p.lo = ms;
            if (ms > p.hi) p.hi = ms;
        }
    return p;
}

static void point(assay_buf *out, double x, double y, bool candidate) {
    if (candidate) assay_buf_printf(out, "<path d=\"M%.1f %.1fl6 6m0-6l-6 6\" class=\"b\"/>", x - 3.0, y - 3.0);
    else assay_buf_printf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" class=\"a\"/>", x, y);
}

static void draw(assay_buf *out, const panel *p, const panels *all, size_t index) {
    double top = 8.0, bottom = PANEL - 26.0, span = all->hi > all->lo ? all->hi - all->lo : 1.0;
    assay_buf_printf(out, "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"process %zu\">\n", WIDTH, PANEL, index);
    assay_buf_printf(out, "<path d=\"M%d %.0fV%.0fH%d\" class=\"axis\"/>", PAD, top, bottom, WIDTH - 8);
    assay_buf_printf(out, "<text x=\"%d\" y=\"%.0f\" text-anchor=\"end\">%.4g</text>", PAD - 4, top + 8.0, all->hi);
    assay_buf_printf(out, "<text x=\"%d\" y=\"%.0f\" text-anchor=\"end\">%.4g</text>", PAD - 4, bottom, all->lo);
    assay_buf_printf(out, "<text x=\"%d\" y=\"%d\">process %zu, %zu predictions in time order, ms</text>\n", PAD, PANEL - 8, index, p->n);
    for (size_t k = 0; k < p->n; k++) {
        double x = PAD + 8.0 + (double)k * (WIDTH - PAD - 24.0) / (double)(p->n > 1 ? p->n - 1 : 1);
        double y = bottom - ((double)p->s[k].dur_ns / 1e6 - all->lo) / span * (bottom - top);
        point(out, x, y, p->s[k].arm != 0);
    }
    assay_buf_str(out, "\n</svg>\n");
}

void assay_html_samples(assay_buf *out, const assay_json *receipt, const char *evidence_dir) {
    panels p = collect(receipt, evidence_dir);
    if (p.n) assay_buf_str(out, "<h2>Timed predictions</h2>\n<p>Circles: control. Crosses: candidate. One panel per fresh process; warm-up is not shown.</p>\n");
    for (size_t i = 0; i < p.n; i++) {
        draw(out, &p.items[i], &p, i);
        free(p.items[i].trial);
        free(p.items[i].s);
    }
    free(p.items);
}
