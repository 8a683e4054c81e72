/* Progress of a run: trial k of n, arm, gate, elapsed time and an estimate of the rest. */
#include "report/progress.h"
#include "base/names.h"
#include "base/process.h"
#include <string.h>

static void erase(assay_progress_view *v) {
    if (v->live && v->width) fprintf(v->out, "\r%*s\r", (int)v->width, "");
    v->width = 0;
}

static void show(assay_progress_view *v, const char *text) {
    size_t n = strlen(text);
    fprintf(v->out, "\r%s", text);
    if (n < v->width) fprintf(v->out, "%*s\r%s", (int)(v->width - n), "", text);
    fflush(v->out);
    v->width = n;
}

static void trial_begin(void *ctx, size_t k, size_t n, const assay_json *job, const char *gate) {
    assay_progress_view *v = ctx;
    const char *fixture = assay_json_string(job, "fixture", NULL);
    const char *record = assay_json_string(assay_json_get(job, "request"), "record", NULL);
    if (!v->start_ns) v->start_ns = assay_now_ns();
    v->n = n;
    snprintf(v->line, sizeof v->line, "trial %zu of %zu  %s%s%s  %s%s%s%s  for %s", k, n, assay_json_string(job, "kind", ""), record ? " " : "", record ? record : "", assay_json_string(job, "arm", ""),
             fixture ? " on " : "", fixture ? fixture : "", assay_json_string(job, "perturb", NULL) ? " (perturbed)" : "", gate);
    if (v->live) show(v, v->line);
}

/* The rest of the trials known now, at the mean pace so far. */
static double estimate_s(const assay_progress_view *v) {
    if (!v->ended || v->ended >= v->n) return -1;
    return (double)(assay_now_ns() - v->start_ns) * 1e-9 / (double)v->ended * (double)(v->n - v->ended);
}

static void tick(void *ctx, double elapsed_s) {
    assay_progress_view *v = ctx;
    if (!v->live) return;
    char text[280];
    double rest_s = estimate_s(v);
    if (rest_s < 0) snprintf(text, sizeof text, "%s  %.0f s", v->line, elapsed_s);
    else snprintf(text, sizeof text, "%s  %.0f s, about %.0f s left", v->line, elapsed_s, rest_s);
    show(v, text);
}

static void trial_end(void *ctx, const char *state, double wall_s) {
    assay_progress_view *v = ctx;
    v->ended++;
    if (!v->live) fprintf(v->out, "%s: %s, %.2f s\n", v->line, state, wall_s);
    else if (!assay_streq(state, "ok")) {
        erase(v);
        fprintf(v->out, "%s: %s\n", v->line, state);
    }
}

static void judging(void *ctx, const char *gate) {
    assay_progress_view *v = ctx;
    (void)gate;
    if (v->live) show(v, "judging");
}

static void said(void *ctx, const char *gate, const char *line) {
    assay_progress_view *v = ctx;
    erase(v);
    fprintf(v->out, "%s: %s\n", gate, line);
}

assay_progress assay_progress_open(assay_progress_view *view, FILE *out, bool live, bool quiet) {
    *view = (assay_progress_view){.out = out, .live = live && !quiet, .quiet = quiet};
    if (quiet) return (assay_progress){.ctx = view};
    return (assay_progress){.trial_begin = trial_begin, .tick = tick, .trial_end = trial_end, .judging = judging, .said = said, .ctx = view};
}

void assay_progress_close(assay_progress_view *view) {
    erase(view);
    fflush(view->out);
}

void assay_progress_note(assay_progress_view *view, const char *what) {
    char text[200];
    if (view->quiet) return;
    snprintf(text, sizeof text, "planning: %s", what);
    if (view->live) show(view, text);
    else fprintf(view->out, "%s\n", text);
}
