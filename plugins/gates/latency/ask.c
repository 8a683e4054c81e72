/* gates/latency/ask.c: asks for the pilot, then for the run whose size follows from it. */
#include "ask.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const labels[] = { "1", "2" };   /* of the pilot and its repeat */

assay_status lat_examine(const latency *g, const assay_evidence *ev, lat_standing *out, assay_error *err) {
    unsigned differing = 0;
    *out = (lat_standing){ .runs = 0 };
    for (unsigned i = 0; i < 2; i++) {
        lat_data d;
        uint32_t failed = 0;
        lat_pilot pilot;
        assay_status st = lat_read_trials(ev, "pilot", labels[i], &d, &failed, err);
        if (st == ASSAY_OK && d.processes && lat_pilot_judge(g->math, &d, &g->p, &pilot)) {
            out->pilot = pilot;
            out->runs++;
            differing += pilot.differs;
        }
        out->failed |= failed > 0;
        out->disturbed |= 2 * d.dropped > d.n_blocks;
        lat_data_free(&d);
        if (st != ASSAY_OK) return st;
    }
    out->again = out->runs == 1 && differing == 1;
    out->biased = differing == 2;
    if (out->runs) lat_plan_size(g->math, &out->pilot, &g->question, &out->size);
    return lat_read_regions(ev, &out->prize, err);
}

typedef struct design { const char *control, *arm, *role, *label; char seed[64]; uint32_t processes, blocks; bool pilot; } design;

/* One process as JSON: assay_work_timing reads it. */
static void write_design(const latency *g, const design *w, uint32_t process, char *out, size_t size) {
    size_t at = (size_t)snprintf(out, size, "{\"blocks\":%u,", w->blocks);
    for (uint32_t i = 1; i < g->n_fixtures; i++) at += (size_t)snprintf(out + at, size - at, "%s\"%s\"", i == 1 ? "\"fixtures\":[" : ",", g->fixtures[i]);
    at += (size_t)snprintf(out + at, size - at, "%s\"pilot\":%s,\"process\":%u,\"seed\":\"%s\",\"warmup_min\":%.0f,\"warmup_s\":%.6g,\"max_wait\":%.6g", g->n_fixtures > 1 ? "]," : "",
                           w->pilot ? "true" : "false", process, w->seed, g->warmup_min, g->warmup_s, g->max_wait);
    if (g->watched && !w->pilot) {
        at += (size_t)snprintf(out + at, size - at, ",\"watch\":{\"alpha\":%.15g,\"t_opt\":%u,\"target_ms\":", 1.0 - g->p.confidence, w->blocks);
        if (lat_has_prize(&g->question)) at += (size_t)snprintf(out + at, size - at, "%.17g}", g->question.min_prize_ms / g->question.layers);
        else at += (size_t)snprintf(out + at, size - at, "null}");
    }
    snprintf(out + at, size - at, "}");
}

static assay_status ask_timing(const latency *g, const design *w, const assay_request *req, assay_error *err) {
    char text[LAT_FIXTURES_MAX * (LAT_NAME + 4) + 512];
    assay_status st = ASSAY_OK;
    for (uint32_t i = 0; st == ASSAY_OK && i < w->processes; i++) {
        write_design(g, w, i, text, sizeof text);
        assay_query q = { .struct_size = sizeof q, .kind = ASSAY_K_TIMING, .arm = w->control, .arm_b = w->arm, .fixture = g->fixtures[0], .record = text };
        st = req->need(req, w->role, w->label, &q, err);
    }
    return st;
}

static assay_status ask_pilot(const latency *g, unsigned run, const assay_request *req, assay_error *err) {
    design w = { .control = g->control, .arm = g->control, .role = "pilot", .label = labels[run], .processes = LAT_PILOT_PROCESSES, .blocks = LAT_PILOT_BLOCKS, .pilot = true };
    snprintf(w.seed, sizeof w.seed, "%s-pilot%u", g->p.seed, run + 1);
    return ask_timing(g, &w, req, err);
}

static assay_status ask_tables(const latency *g, const assay_request *req, assay_error *err) {
    const struct { const char *label, *arm; } rows[] = { { "control", g->control }, { "candidate", g->arm } };
    assay_status st = ASSAY_OK;
    for (size_t i = 0; st == ASSAY_OK && i < 2; i++) {
        assay_query q = { .struct_size = sizeof q, .kind = ASSAY_K_PLAN, .arm = rows[i].arm };
        st = req->need(req, "plan", rows[i].label, &q, err);
    }
    return st;
}

static assay_status ask_run(const latency *g, const lat_standing *s, const assay_request *req, assay_error *err) {
    char line[400];
    design w = { .control = g->control, .arm = g->arm, .role = "samples", .label = "", .processes = g->question.processes, .blocks = s->size.blocks };
    snprintf(w.seed, sizeof w.seed, "%s", g->p.seed);
    lat_pilot_say(&s->pilot, &g->question, &s->size, line, sizeof line);
    g->host->log(g->host->ctx, 1, line);
    assay_status st = ask_timing(g, &w, req, err);
    bool probe = g->probe_arm[0] && g->probe_control[0] && lat_has_prize(&g->question) && !lat_is_comparable(&s->prize);
    if (st != ASSAY_OK || !probe) return st;
    w.control = g->probe_control;
    w.arm = g->probe_arm;
    w.role = "probe";
    snprintf(w.seed, sizeof w.seed, "%s-probe", g->p.seed);
    return ask_timing(g, &w, req, err);
}

assay_status lat_needs(void *self, const assay_evidence *so_far, const assay_request *req, assay_error *err) {
    const latency *g = self;
    lat_standing s;
    if (!g->arm[0] || !g->control[0] || !g->n_fixtures) return ASSAY_OK;
    assay_status st = lat_examine(g, so_far, &s, err);
    if (st == ASSAY_OK && lat_has_prize(&g->question)) st = ask_tables(g, req, err);
    if (st == ASSAY_OK) st = ask_pilot(g, 0, req, err);
    if (st == ASSAY_OK && (s.again || s.runs == 2)) st = ask_pilot(g, 1, req, err);
    if (st != ASSAY_OK || s.runs == 0 || s.failed || s.disturbed || s.again || s.biased || s.size.cannot_decide) return st;
    return ask_run(g, &s, req, err);
}
