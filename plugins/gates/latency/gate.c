/* gates/latency/gate.c: is the candidate faster, by enough? Asks for timed blocks of control and candidate from several fresh
 * processes and judges them; recorded samples are judged the same way. */
#include "latency.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct latency {
    const assay_math_1 *math;
    const assay_host *host;
    const assay_params *params;
    lat_params p;
    char arm[80], control[80], fixture[80];
    uint32_t processes, blocks;
} latency;

static const assay_param params[] = {
    { "arm", "@candidate", NULL, NULL, "arm that should be faster", 1, 0, ASSAY_T_STRING, 0 },
    { "control", "@control", NULL, NULL, "arm it is compared with", 1, 0, ASSAY_T_STRING, 0 },
    { "fixture", "@use:parity", NULL, NULL, "input of the timed predictions; the first is taken", 1, 0, ASSAY_T_STRING | ASSAY_T_LIST, 0 },
    { "confidence", "0.95", NULL, "fraction", "of all intervals", 0.5, 0.9999, ASSAY_T_NUMBER, 0 },
    { "min_pairs", "20", NULL, "blocks", "fewer after the warm-up is inconclusive", 1, 1e6, ASSAY_T_INT, 0 },
    { "layers", "", NULL, "layers", "rewritten layers; the prize is layers times the gain", 1, 1e6, ASSAY_T_INT, ASSAY_PARAM_PREREGISTERED },
    { "min_prize_ms", "", NULL, "ms", "smallest gain over all layers worth having; in force only together with layers", 0, 1e9, ASSAY_T_NUMBER, ASSAY_PARAM_PREREGISTERED },
    { "prize_ms", "", NULL, "ms", "alias of min_prize_ms", 0, 1e9, ASSAY_T_NUMBER, 0 },
    { "margin_ms", "", NULL, "ms", "equivalence margin per layer; default min_prize_ms / layers", 0, 1e9, ASSAY_T_NUMBER, 0 },
    { "block_length", "0", NULL, "blocks", "of the moving-block interval; at least n/6", 0, 1e6, ASSAY_T_INT, 0 },
    { "unit_of_analysis", "auto", "auto|block|pair|process|session", NULL, "what counts as one observation; pair = block, session = process", 1, 0, ASSAY_T_STRING, 0 },
    { "processes", "5", NULL, "processes", "fresh processes of a live run", 1, 64, ASSAY_T_INT, 0 },
    { "blocks", "8", NULL, "blocks", "ABBA or BAAB blocks in each process; half of each, in random order", 2, 10000, ASSAY_T_INT, 0 },
    { "warmup_min", "20", NULL, "predictions", "least warm-up per process and arm", 0, 100000, ASSAY_T_INT, 0 },
    { "warmup_s", "2", NULL, "s", "least warm-up time per process and arm", 0, 3600, ASSAY_T_NUMBER, 0 },
    { "seed", "1", NULL, NULL, "of block orders and resampling", 0, 9007199254740991.0, ASSAY_T_INT, 0 },
    { "resolve_ms", "", NULL, "ms", "gain worth resolving where there is no prize; recorded in the receipt", 0, 1e9, ASSAY_T_NUMBER, 0 },
    { "expected_gain_ms", "", NULL, "ms", "gain the author expects; recorded in the receipt", -1e9, 1e9, ASSAY_T_NUMBER, 0 },
    { "gap_ms", "", NULL, "ms", "end-to-end gap that remains; recorded in the receipt", 0, 1e9, ASSAY_T_NUMBER, 0 },
    { "max_blocks", "1000", NULL, "blocks", "most blocks a run may take", 2, 1000000, ASSAY_T_INT, 0 },
    { 0 },
};

static double number(const latency *g, const char *name) {
    assay_value v;
    if (g->host->param(g->params, name, 0, &v) != ASSAY_OK) return NAN;
    return v.type == ASSAY_T_INT ? (double)v.i : v.f;
}

static void text(const latency *g, const char *name, char *out, size_t size) {
    assay_value v;
    out[0] = 0;
    if (g->host->param(g->params, name, 0, &v) == ASSAY_OK && v.s) snprintf(out, size, "%s", v.s);
}

static assay_status create(const assay_host *host, const assay_params *given, void **self, assay_error *err) {
    const assay_math_1 *math = host->get(host->ctx, ASSAY_MATH_1);
    if (!math) {
        if (err) err->code = ASSAY_E_ABI, snprintf(err->message, sizeof err->message, "latency: the host offers no %s", ASSAY_MATH_1);
        return ASSAY_E_ABI;
    }
    latency *g = calloc(1, sizeof *g);
    if (!g) return ASSAY_E_NOMEM;
    *g = (latency){ .math = math, .host = host, .params = given };
    char unit[16];
    text(g, "arm", g->arm, sizeof g->arm);
    text(g, "control", g->control, sizeof g->control);
    text(g, "fixture", g->fixture, sizeof g->fixture);
    text(g, "unit_of_analysis", unit, sizeof unit);
    g->p = (lat_params){ .confidence = number(g, "confidence"), .min_prize_ms = number(g, "min_prize_ms"), .margin_ms = number(g, "margin_ms"),
                         .layers = number(g, "layers"), .min_pairs = (size_t)number(g, "min_pairs"), .block_length = (size_t)number(g, "block_length") };
    if (isnan(g->p.min_prize_ms)) g->p.min_prize_ms = number(g, "prize_ms");
    g->p.unit = strcmp(unit, "block") == 0 || strcmp(unit, "pair") == 0 ? LAT_UNIT_BLOCK : strcmp(unit, "auto") == 0 ? LAT_UNIT_AUTO : LAT_UNIT_PROCESS;
    snprintf(g->p.seed, sizeof g->p.seed, "%.0f", number(g, "seed"));
    g->processes = (uint32_t)number(g, "processes");
    g->blocks = (uint32_t)number(g, "blocks");
    *self = g;
    return ASSAY_OK;
}

/* One TIMING query per fresh process. */
static assay_status needs(void *self, const assay_evidence *so_far, const assay_request *req, assay_error *err) {
    latency *g = self;
    (void)so_far;
    if (!g->arm[0] || !g->control[0] || !g->fixture[0]) return ASSAY_OK;
    for (uint32_t i = 0; i < g->processes; i++) {
        char design[256];
        snprintf(design, sizeof design, "{\"blocks\":%u,\"pilot\":false,\"process\":%u,\"seed\":\"%s\",\"warmup_min\":%.0f,\"warmup_s\":%.6g}", g->blocks + g->blocks % 2, i,
                 g->p.seed, number(g, "warmup_min"), number(g, "warmup_s"));
        assay_query q = { .struct_size = sizeof q, .kind = ASSAY_K_TIMING, .arm = g->control, .arm_b = g->arm, .fixture = g->fixture, .record = design };
        assay_status st = req->need(req, "samples", "", &q, err);
        if (st != ASSAY_OK) return st;
    }
    return ASSAY_OK;
}

/* Raises the validity codes of step 3; returns whether there was one. */
static bool invalid_codes(const lat_data *d, const assay_finding *f) {
    size_t n = 0, first = 0, equal = 0;
    for (size_t i = 0; i < d->n_blocks; i++) {
        const lat_block *b = &d->blocks[i];
        if (b->dropped) continue;
        n++;
        first += b->control_first;
        equal += b->control[0] == b->candidate[0] && (b->n_control < 2 || b->control[1] == b->candidate[1]);
    }
    double uneven = fabs(2.0 * (double)first - (double)n), allowed = 0.2 * (double)n > 1.0 ? 0.2 * (double)n : 1.0;
    const struct { bool holds; const char *code, *text; } rows[] = {
        { d->bad_sample, "bad_sample", "a duration is not finite or not above 0" },
        { !d->paired, "design_not_paired", "the arms were not interleaved: drift between them reads as a difference; measure ABBA blocks" },
        { d->paired && !d->order_recorded, "order_not_recorded", "nobody can tell which arm went first" },
        { d->paired && d->order_recorded && uneven > allowed, "order_not_counterbalanced", "one arm goes first too often" },
        { d->paired && n > 0 && equal == n, "identical_samples", "every pair is equal: the same numbers twice are not a measurement" },
        { d->failed_run, "command_failed", "a recorded run ended with an error: it is no measurement" },
        { d->output_changed, "output_changed", "a timed prediction gave another output than the untimed one" },
    };
    bool any = false;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].holds) f->invalid(f, rows[i].code, rows[i].text, ""), any = true;
    return any;
}

static assay_status judge(void *self, const assay_evidence *ev, const assay_finding *f, assay_error *err) {
    latency *g = self;
    lat_data d;
    const lat_names names = { g->control, g->arm };
    assay_status st = lat_read(ev, &names, &d, err);
    if (st != ASSAY_OK) {
        lat_data_free(&d);
        return st;
    }
    for (size_t i = 0; i < d.n_sets; i++) {
        char group[80];
        snprintf(group, sizeof group, "set:%s", d.sets[i].name);
        lat_arm_figures(g->math, f, group, d.sets[i].v, d.sets[i].n, g->p.confidence);
    }
    if (!d.n_control || !d.n_candidate) {
        bool none = !d.n_sets && !d.n_control && !d.n_candidate;
        f->reason(f, "nothing_to_compare", none ? "no samples were given" : "there are no two arms in the samples", "");
        f->verdict(f, ASSAY_NOT_MEASURED);
    } else {
        lat_arm_figures(g->math, f, "control", d.control, d.n_control, g->p.confidence);
        lat_arm_figures(g->math, f, "candidate", d.candidate, d.n_candidate, g->p.confidence);
        lat_decide(g->math, &d, &g->p, f, invalid_codes(&d, f));
    }
    lat_data_free(&d);
    return ASSAY_OK;
}

static const assay_gate gate = {
    .struct_size = sizeof gate, .name = "latency", .version = "1.0",
    .summary = "is the candidate faster than the control, by enough to be worth having?",
    .params = params, .create = create, .needs = needs, .judge = judge, .destroy = free,
};
static const assay_gate *const gates[] = { &gate };
static const assay_plugin plugin = { .struct_size = sizeof plugin, .abi = ASSAY_ABI, .gate_count = 1, .gates = gates };

ASSAY_EXPORT const assay_plugin *assay_plugin_query(uint32_t host_abi, assay_error *err);
ASSAY_EXPORT const assay_plugin *assay_plugin_query(uint32_t host_abi, assay_error *err) {
    if (host_abi >> 16 == ASSAY_ABI >> 16) return &plugin;
    if (err) err->code = ASSAY_E_ABI, snprintf(err->message, sizeof err->message, "latency: built for ABI %u, the host has %u", ASSAY_ABI >> 16, host_abi >> 16);
    return NULL;
}
