/* gates/latency/gate.c: is the candidate faster, by enough? Asks for timed blocks of control and candidate from several fresh
 * processes (ask.c) and judges them; recorded samples are judged the same way. */
#include "ask.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const assay_param params[] = {
    { "arm", "@candidate", NULL, NULL, "arm that should be faster", 1, 0, ASSAY_T_STRING, 0 },
    { "control", "@control", NULL, NULL, "arm it is compared with", 1, 0, ASSAY_T_STRING, 0 },
    { "fixture", "@use:parity", NULL, NULL, "inputs of the timed predictions; several take turns from block to block", 1, 0, ASSAY_T_STRING | ASSAY_T_LIST, 0 },
    { "confidence", "0.95", NULL, "fraction", "of all intervals", 0.5, 0.9999, ASSAY_T_NUMBER, 0 },
    { "min_pairs", "20", NULL, "blocks", "fewer after the warm-up is inconclusive", 1, 1e6, ASSAY_T_INT, 0 },
    { "layers", "", NULL, "layers", "rewritten layers; the prize is layers times the gain", 1, 1e6, ASSAY_T_INT, ASSAY_PARAM_PREREGISTERED },
    { "min_prize_ms", "", NULL, "ms", "smallest gain over all layers worth having; needs layers; 0: none", 0, 1e9, ASSAY_T_NUMBER, ASSAY_PARAM_PREREGISTERED },
    { "prize_ms", "", NULL, "ms", "alias of min_prize_ms; not beside it", 0, 1e9, ASSAY_T_NUMBER, 0 },
    { "margin_ms", "", NULL, "ms", "equivalence margin per layer; default min_prize_ms / layers; 0: none", 0, 1e9, ASSAY_T_NUMBER, ASSAY_PARAM_PREREGISTERED },
    { "block_length", "0", NULL, "blocks", "of the moving-block interval; at least n/6", 0, 1e6, ASSAY_T_INT, 0 },
    { "unit_of_analysis", "auto", "auto|block|pair|process|session", NULL, "what counts as one observation; pair = block, session = process", 1, 0, ASSAY_T_STRING, 0 },
    { "processes", "5", NULL, "processes", "fresh processes of a live run", 1, 64, ASSAY_T_INT, 0 },
    { "blocks", "", NULL, "blocks", "ABBA or BAAB blocks in each process, half of each, in random order; default: as many as the pilot says are needed", 2, 10000, ASSAY_T_INT, 0 },
    { "warmup_min", "40", NULL, "predictions", "least warm-up per process and arm", 0, 100000, ASSAY_T_INT, 0 },
    { "warmup_s", "2", NULL, "s", "least warm-up time per process and arm", 0, 3600, ASSAY_T_NUMBER, 0 },
    { "max_wait", "0.02", NULL, NULL, "share of a block's time that the timed thread may wait for a processor; above it the block is dropped; 1: never", 0, 1, ASSAY_T_NUMBER, 0 },
    { "seed", "1", NULL, NULL, "of block orders and resampling", 0, 9007199254740991.0, ASSAY_T_INT, 0 },
    { "resolve_ms", "", NULL, "ms", "gain per layer worth resolving where there is no prize; default 1 % of the pilot's level", 0, 1e9, ASSAY_T_NUMBER, 0 },
    { "expected_gain_ms", "", NULL, "ms", "gain per layer the author expects; the run must tell it from the prize", -1e9, 1e9, ASSAY_T_NUMBER, 0 },
    { "gap_ms", "", NULL, "ms", "end-to-end gap that remains; undeclared, a pass says faster and never continue; 0: none", 0, 1e9, ASSAY_T_NUMBER, ASSAY_PARAM_PREREGISTERED },
    { "max_blocks", "1000", NULL, "blocks", "most blocks a run may take; one that needs more is refused", 2, 1000000, ASSAY_T_INT, 0 },
    { "probe_control", "", NULL, NULL, "control of two layers, asked for where the regions of the arms are not known to be equally many", 1, 0, ASSAY_T_STRING, 0 },
    { "probe_arm", "", NULL, NULL, "candidate of two layers", 1, 0, ASSAY_T_STRING, 0 },
    { "watched", "false", NULL, NULL, "a process stops early when its confidence sequence has decided", 1, 0, ASSAY_T_BOOL, 0 },
    { 0 },
};

static double number(const latency *g, const char *name) {
    assay_value v;
    if (g->host->param(g->params, name, 0, &v) != ASSAY_OK) return NAN;
    return v.type == ASSAY_T_INT ? (double)v.i : v.f;
}

static const char *whole_text(const latency *g, const char *name) {
    assay_value v;
    return g->host->param(g->params, name, 0, &v) == ASSAY_OK && v.s ? v.s : "";
}

static void text(const latency *g, const char *name, char *out, size_t size) { snprintf(out, size, "%s", whole_text(g, name)); }

static void read_fixtures(latency *g) {
    assay_value v;
    while (g->n_fixtures < LAT_FIXTURES_MAX && g->host->param(g->params, "fixture", g->n_fixtures, &v) == ASSAY_OK && v.s && v.s[0])
        snprintf(g->fixtures[g->n_fixtures++], LAT_NAME, "%s", v.s);
}

/* What contradicts itself is refused: nobody should believe in a prize that is not in force. */
static assay_status check_prize(const latency *g, assay_error *err) {
    char text[160] = "";
    if (!isnan(number(g, "min_prize_ms")) && !isnan(number(g, "prize_ms")))
        snprintf(text, sizeof text, "min_prize_ms and prize_ms are two names of one number: give min_prize_ms alone");
    else if (g->p.min_prize_ms > 0.0 && isnan(g->p.layers))
        snprintf(text, sizeof text, "min_prize_ms %g without layers: the prize is layers x gain; give layers, or min_prize_ms 0 for none", g->p.min_prize_ms);
    if (!text[0]) return ASSAY_OK;
    if (err) err->code = ASSAY_E_INPUT, snprintf(err->message, sizeof err->message, "%s", text);
    return ASSAY_E_INPUT;
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
    text(g, "probe_arm", g->probe_arm, sizeof g->probe_arm);
    text(g, "probe_control", g->probe_control, sizeof g->probe_control);
    read_fixtures(g);
    text(g, "unit_of_analysis", unit, sizeof unit);
    g->p = (lat_params){ .confidence = number(g, "confidence"), .min_prize_ms = number(g, "min_prize_ms"), .margin_ms = number(g, "margin_ms"),
                         .layers = number(g, "layers"), .min_pairs = (size_t)number(g, "min_pairs"), .block_length = (size_t)number(g, "block_length") };
    if (isnan(g->p.min_prize_ms)) g->p.min_prize_ms = number(g, "prize_ms");
    assay_status st = check_prize(g, err);
    if (st != ASSAY_OK) {
        free(g);
        return st;
    }
    g->p.unit = strcmp(unit, "block") == 0 || strcmp(unit, "pair") == 0 ? LAT_UNIT_BLOCK : strcmp(unit, "auto") == 0 ? LAT_UNIT_AUTO : LAT_UNIT_PROCESS;
    snprintf(g->p.seed, sizeof g->p.seed, "%.0f", number(g, "seed"));
    double blocks = number(g, "blocks");
    g->question = (lat_question){ .layers = g->p.layers, .min_prize_ms = g->p.min_prize_ms, .expected_gain_ms = number(g, "expected_gain_ms"),
                                  .resolve_ms = number(g, "resolve_ms"), .confidence = g->p.confidence, .processes = (uint32_t)number(g, "processes"),
                                  .blocks = isnan(blocks) ? 0 : (uint32_t)blocks, .max_blocks = number(g, "max_blocks") };
    g->warmup_min = number(g, "warmup_min");
    g->warmup_s = number(g, "warmup_s");
    g->max_wait = number(g, "max_wait");
    g->gap_ms = number(g, "gap_ms");
    g->watched = number(g, "watched") > 0.0;
    *self = g;
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
        { d->bad_sample, "bad_sample", "a duration is not a number, or not between a femtosecond and thirty years" },
        { !d->paired, "design_not_paired", "the arms were not interleaved: drift between them reads as a difference; measure ABBA blocks" },
        { d->paired && !d->order_recorded, "order_not_recorded", "nobody can tell which arm went first" },
        { d->paired && d->order_recorded && uneven > allowed, "order_not_counterbalanced", "one arm goes first too often" },
        { d->paired && n > 0 && equal == n, "identical_samples", "every pair is equal: the same numbers twice are not a measurement" },
        { d->failed_run, "command_failed", "a recorded run ended with an error: it is no measurement" },
        { d->stopping_disagrees, "stopping_disagrees", "a process stopped where its own samples do not say so" },
        { d->output_changed, "output_changed", "a timed prediction gave another output than the untimed one" },
    };
    bool any = false;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].holds) f->invalid(f, rows[i].code, rows[i].text, ""), any = true;
    return any;
}

/* Two layers beside one, where the prize may not be layers x gain. */
static assay_status read_probe(const latency *g, const assay_evidence *ev, const lat_decision *one, lat_prize *z, assay_error *err) {
    lat_data d;
    lat_series s;
    uint32_t failed = 0;
    assay_status st = lat_read_trials(ev, "probe", "", &d, &failed, err);
    if (st == ASSAY_OK && d.processes && !failed) {
        lat_ruling two;
        lat_series_make(&d, &s);
        if (s.n) {
            lat_rule(g->math, &d, &s, &g->p, true, &two);
            lat_marginal(one, &two.figures, z);
        }
        lat_series_free(&s);
    }
    lat_data_free(&d);
    return st;
}

/* The rule on timed or recorded pairs; in a live run layers x gain is a prize only where the arms are submitted equally often. */
static assay_status judge_arms(const latency *g, const assay_evidence *ev, const lat_data *d, lat_prize *z, const assay_finding *f, assay_error *err) {
    lat_params p = g->p;
    lat_series s;
    lat_ruling r;
    bool invalid = invalid_codes(d, f), apart = d->live && lat_has_prize(&g->question) && !lat_is_comparable(z);
    if (apart) p.layers = NAN;
    lat_decide(g->math, d, &p, f, invalid);
    if (!d->paired) return ASSAY_OK;
    lat_series_make(d, &s);
    lat_rule(g->math, d, &s, &p, invalid, &r);
    lat_series_free(&s);
    double low = g->p.layers * r.figures.lo;
    if (apart) {
        assay_status st = read_probe(g, ev, &r.figures, z, err);
        if (st != ASSAY_OK) return st;
        if (r.verdict == ASSAY_PASS) f->verdict(f, lat_prize_rule(z, &g->p, f));
        low = z->probed ? g->p.layers * z->lo : NAN;
    }
    if (lat_has_prize(&g->question) && d->live) lat_prize_figures(z, g->p.layers, f);
    if (!invalid) lat_gap(g->gap_ms, low, f);
    return ASSAY_OK;
}

/* Says what became of the pilot; returns whether the run that it allows is there to be judged. */
static bool judge_pilot(const latency *g, const lat_standing *s, const assay_finding *f) {
    char text[200];
    f->detail(f, "metrics:gate.decided", "false"); /* until the arms themselves are judged */
    if (s->runs) lat_pilot_figures(&s->pilot, s->runs, &g->question, &s->size, f);
    if (s->failed) {
        f->reason(f, "pilot_failed", "the control could not be timed against itself", "");
        f->verdict(f, ASSAY_NOT_MEASURED);
    } else if (s->disturbed) {
        f->reason(f, "pilot_disturbed", "guards dropped more than half of the pilot's blocks: someone else uses this machine; run it again when it is quiet, "
                  "or allow more waiting (max_wait)", "");
        f->verdict(f, ASSAY_NOT_MEASURED);
    } else if (s->biased) {
        f->invalid(f, "harness_biased", "the control differs from itself in two pilots: what measures is not even-handed", "");
        f->verdict(f, ASSAY_INCONCLUSIVE);
    } else if (s->runs && s->size.cannot_decide) {
        snprintf(text, sizeof text, "%.0f blocks would be needed to resolve %.4g ms; allowed are %.0f: a quieter machine, a larger target, or more", ceil(s->size.needed),
                 s->size.target_ms, g->question.blocks ? (double)s->size.n : g->question.max_blocks);
        f->reason(f, "cannot_decide", text, "");
        f->verdict(f, ASSAY_INCONCLUSIVE);
    } else return true;
    return false;
}

static assay_status judge_samples(const latency *g, const assay_evidence *ev, lat_data *d, lat_prize *z, const assay_finding *f, assay_error *err) {
    for (size_t i = 0; i < d->n_sets; i++) {
        char group[80];
        snprintf(group, sizeof group, "set:%s", d->sets[i].name);
        lat_arm_figures(g->math, f, group, d->sets[i].v, d->sets[i].n, g->p.confidence);
    }
    if (!d->n_control || !d->n_candidate) {
        bool none = !d->n_sets && !d->n_control && !d->n_candidate;
        f->reason(f, "nothing_to_compare", none ? "no samples were given" : "there are no two arms in the samples", "");
        f->verdict(f, ASSAY_NOT_MEASURED);
        return ASSAY_OK;
    }
    lat_arm_figures(g->math, f, "control", d->control, d->n_control, g->p.confidence);
    lat_arm_figures(g->math, f, "candidate", d->candidate, d->n_candidate, g->p.confidence);
    d->stopping_disagrees = !lat_stops_agree(g->math, ev);
    lat_harness_figures(d, f);
    return judge_arms(g, ev, d, z, f, err);
}

static assay_status judge(void *self, const assay_evidence *ev, const assay_finding *f, assay_error *err) {
    latency *g = self;
    lat_data d;
    lat_standing standing;
    assay_status seen = lat_examine(g, ev, &standing, err);
    if (seen != ASSAY_OK || !judge_pilot(g, &standing, f)) return seen;
    const lat_names names = { whole_text(g, "control"), whole_text(g, "arm") };    /* commands are longer than names of arms */
    assay_status st = lat_read(ev, &names, &d, err);
    if (st != ASSAY_OK) {
        lat_data_free(&d);
        return st;
    }
    if (d.bad_sample) {                          /* what is no duration has no quantiles */
        invalid_codes(&d, f);
        f->verdict(f, ASSAY_INCONCLUSIVE);
    } else st = judge_samples(g, ev, &d, &standing.prize, f, err);
    lat_data_free(&d);
    return st;
}

static const assay_gate gate = {
    .struct_size = sizeof gate, .name = "latency", .version = "1.1",
    .summary = "is the candidate faster than the control, by enough to be worth having?",
    .params = params, .create = create, .needs = lat_needs, .judge = judge, .destroy = free,
};
ASSAY_GATE_PLUGIN(gate)
