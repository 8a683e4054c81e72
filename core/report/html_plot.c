/* report/html_plot.c: gains in time order, distribution functions and intervals as inline SVG. */
#include "report/html_plot.h"
#include "report/html.h"
#include <math.h>
#include <stdlib.h>

enum { WIDTH = 900, LEFT = 64, RIGHT = 12, TOP = 24, HEIGHT = 240, BOTTOM = 200, ROW = 24, NAMES = 210 };

typedef struct scale { double lo, hi, from, to; } scale;             /* value range and where it lies on the page */
static double place(const scale *s, double v) { return s->from + (v - s->lo) / (s->hi - s->lo) * (s->to - s->from); }

static void widen(scale *s, double part) {
    double span = s->hi - s->lo;
    if (!(span > 0.0)) span = fabs(s->hi) > 0.0 ? fabs(s->hi) : 1.0;
    s->lo -= span * part;
    s->hi += span * part;
}

/* 1, 2 or 5 times a power of ten: about four of them in the range. */
static double tick_step(const scale *s) {
    double rough = (s->hi - s->lo) / 4.0, step = 1e-12;
    while (step * 10.0 <= rough) step *= 10.0;
    return rough >= 5.0 * step ? 5.0 * step : rough >= 2.0 * step ? 2.0 * step : step;
}

static void open_svg(assay_buf *out, int height, const char *what) {
    assay_buf_printf(out, "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s\">\n", WIDTH, height, what);
}
static void line(assay_buf *out, double x1, double y1, double x2, double y2, const char *class) {
    assay_buf_printf(out, "<path d=\"M%.1f %.1fL%.1f %.1f\" class=\"%s\"/>", x1, y1, x2, y2, class);
}
static void label(assay_buf *out, double x, double y, const char *anchor, const char *s) {
    assay_buf_printf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
    assay_html_text(out, s);
    assay_buf_str(out, "</text>");
}
static void number(assay_buf *out, double x, double y, const char *anchor, double v) {
    assay_buf_printf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%.4g</text>", x, y, anchor, v);
}

static void ticks(assay_buf *out, const scale *s, bool vertical, double at) {
    double step = tick_step(s);
    for (double k = ceil(s->lo / step); k * step <= s->hi; k += 1.0) {
        double v = k == 0.0 ? 0.0 : k * step, p = place(s, v);
        if (vertical) line(out, at - 4.0, p, at, p, "axis"), number(out, at - 7.0, p + 4.0, "end", v);
        else line(out, p, at, p, at + 4.0, "axis"), number(out, p, at + 17.0, "middle", v);
    }
}

/* ---- gains in time order */
static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static size_t kept_gains(const assay_plot_blocks *p, double *v) {
    size_t n = 0;
    for (size_t i = 0; i < p->n; i++)
        if (!p->b[i].dropped) v[n++] = p->b[i].gain_ms;
    return n;
}

/* From the 10th to the 90th percentile with as much on either side, 0 and the interval always on it: a few spikes must not flatten the rest. */
static scale gain_scale(const assay_plot_blocks *aa, const assay_plot_blocks *ab, double lo, double hi) {
    double *v = assay_xcalloc(aa->n + ab->n + 1, sizeof *v);
    size_t n = kept_gains(aa, v);
    n += kept_gains(ab, v + n);
    qsort(v, n, sizeof *v, ascending);
    scale s = { n ? v[n / 10] : 0.0, n ? v[n - 1 - n / 10] : 0.0, BOTTOM, TOP };
    free(v);
    widen(&s, 1.0);
    s.lo = fmin(fmin(s.lo, 0.0), isfinite(lo) ? lo : 0.0);
    s.hi = fmax(fmax(s.hi, 0.0), isfinite(hi) ? hi : 0.0);
    widen(&s, 0.04);
    return s;
}

static void block_mark(assay_buf *out, const assay_plot_block *b, const scale *s, double x) {
    double y = place(s, fmin(fmax(b->gain_ms, s->lo), s->hi));
    if (b->dropped) assay_buf_printf(out, "<path d=\"M%.1f %.1fl6 6m0-6l-6 6\" class=\"axis\"/>", x - 3.0, y - 3.0);
    else if (b->gain_ms > s->hi) assay_buf_printf(out, "<path d=\"M%.1f %.1fl4 7h-8z\" class=\"mark\"/>", x, y);
    else if (b->gain_ms < s->lo) assay_buf_printf(out, "<path d=\"M%.1f %.1fl4-7h-8z\" class=\"mark\"/>", x, y);
    else if (b->control_first) assay_buf_printf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" class=\"mark\"/>", x, y);
    else assay_buf_printf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"6\" height=\"6\" class=\"a\"/>", x - 3.0, y - 3.0);
}

static void gains_panel(assay_buf *out, const assay_plot_blocks *p, const scale *y, double from, double to) {
    scale x = { -0.5, (double)p->n - 0.5, from, to };
    line(out, from, TOP, from, BOTTOM, "axis");
    line(out, from, place(y, 0.0), to, place(y, 0.0), "axis");
    label(out, from, TOP - 9.0, "start", p->title);
    for (size_t i = 0; i < p->n; i++) {
        if (i && p->b[i].process != p->b[i - 1].process) line(out, place(&x, (double)i - 0.5), TOP, place(&x, (double)i - 0.5), BOTTOM, "dots");
        block_mark(out, &p->b[i], y, place(&x, (double)i));
    }
    assay_buf_printf(out, "<text x=\"%.1f\" y=\"%d\">%zu blocks in time order; dotted: a new process</text>\n", from, BOTTOM + 17, p->n);
}

void assay_plot_gains(assay_buf *out, const assay_plot_blocks *aa, const assay_plot_blocks *ab, double lo, double hi) {
    scale y = gain_scale(aa, ab, lo, hi);
    double share = aa->n ? fmin(fmax((double)aa->n / (double)(aa->n + ab->n), 0.25), 0.5) : 0.0;
    double middle = LEFT + share * (WIDTH - LEFT - RIGHT), from = aa->n ? middle + 16.0 : LEFT;
    open_svg(out, HEIGHT, "gain of each block in time order");
    ticks(out, &y, true, LEFT);
    if (aa->n) gains_panel(out, aa, &y, LEFT, ab->n ? middle - 16.0 : WIDTH - RIGHT);
    if (ab->n) gains_panel(out, ab, &y, from, WIDTH - RIGHT);
    for (int i = 0; i < 2 && ab->n && isfinite(lo) && isfinite(hi); i++) line(out, from, place(&y, i ? hi : lo), WIDTH - RIGHT, place(&y, i ? hi : lo), "dash");
    label(out, LEFT, BOTTOM + 34.0, "start", "gain in ms, positive: candidate faster. Disc: control first; square: candidate first; triangle: off the scale; cross: dropped; dashed: interval");
    assay_buf_str(out, "\n</svg>\n");
}

/* ---- distribution functions */
static void steps(assay_buf *out, const double *v, size_t n, const scale *x, const scale *y, const char *class) {
    assay_buf_printf(out, "<path class=\"%s\" d=\"M%.1f %.1f", class, x->from, place(y, 0.0));
    for (size_t i = 0; i < n && v[i] <= x->hi; i++) assay_buf_printf(out, "H%.1fV%.1f", place(x, v[i]), place(y, (double)(i + 1) / (double)n));
    assay_buf_printf(out, "H%.1f\"/>\n", x->to);
}

static size_t beyond(const double *v, size_t n, double limit) {
    size_t count = 0;
    while (count < n && v[n - 1 - count] > limit) count++;
    return count;
}

void assay_plot_ecdf(assay_buf *out, const double *a, size_t na, const double *b, size_t nb) {
    if (!na || !nb) return;
    scale x = { fmin(a[0], b[0]), fmax(a[(na - 1) * 199 / 200], b[(nb - 1) * 199 / 200]), LEFT, WIDTH - RIGHT }, y = { 0.0, 1.0, BOTTOM, TOP };
    widen(&x, 0.02);
    open_svg(out, HEIGHT, "distribution of the durations of both arms");
    line(out, LEFT, TOP, LEFT, BOTTOM, "axis");
    line(out, LEFT, BOTTOM, WIDTH - RIGHT, BOTTOM, "axis");
    ticks(out, &y, true, LEFT);
    ticks(out, &x, false, BOTTOM);
    steps(out, a, na, &x, &y, "a");
    steps(out, b, nb, &x, &y, "b dash");
    assay_buf_printf(out, "<text x=\"%d\" y=\"%d\">share of predictions at most so long, ms. Solid: control (%zu, %zu beyond the picture); dashed: candidate (%zu, %zu)</text>\n</svg>\n", LEFT,
                     BOTTOM + 36, na, beyond(a, na, x.hi), nb, beyond(b, nb, x.hi));
}

/* ---- intervals */
void assay_plot_intervals(assay_buf *out, const assay_plot_interval *rows, size_t n, double prize) {
    scale x = { 0.0, 0.0, NAMES, WIDTH - RIGHT };
    if (!n) return;
    for (size_t i = 0; i < n; i++) x.lo = fmin(x.lo, rows[i].lo), x.hi = fmax(x.hi, rows[i].hi);
    if (isfinite(prize)) x.hi = fmax(x.hi, prize);
    widen(&x, 0.05);
    double bottom = TOP + (double)n * ROW;
    open_svg(out, (int)bottom + 46, "intervals of the gain");
    line(out, NAMES, bottom, WIDTH - RIGHT, bottom, "axis");
    ticks(out, &x, false, bottom);
    line(out, place(&x, 0.0), TOP - 6.0, place(&x, 0.0), bottom, "axis");
    if (isfinite(prize)) {
        line(out, place(&x, prize), TOP - 6.0, place(&x, prize), bottom, "dash");
        label(out, place(&x, prize), TOP - 10.0, "middle", "prize per layer");
    }
    for (size_t i = 0; i < n; i++) {
        double y = TOP + ((double)i + 0.5) * ROW, lo = place(&x, rows[i].lo), hi = place(&x, rows[i].hi);
        label(out, NAMES - 8.0, y + 4.0, "end", rows[i].label);
        assay_buf_printf(out, "<path d=\"M%.1f %.1fv10m0-5H%.1fm0-5v10\" class=\"line\"/>", lo, y - 5.0, hi);
        if (isfinite(rows[i].at)) assay_buf_printf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\" class=\"mark\"/>\n", place(&x, rows[i].at), y);
    }
    label(out, NAMES, bottom + 36.0, "start", "gain in ms, positive: candidate faster; disc: the estimate");
    assay_buf_str(out, "\n</svg>\n");
}
