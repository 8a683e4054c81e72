/* gates/latency/simulate.c: simulated machines of the calibration suite: a level of 10 ms with drift, clocks, spikes, slots and a
 * timer, and a gain that is known. */
#include "calibrate.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HALF = 2 };                               /* predictions of an arm in an ABBA block */
static const double level_ms = 10.0, spike_ms = 5.0;
const double lat_sim_effect_ms[LAT_SIM_EFFECTS] = { 0.0, 0.1, 0.3 };
const size_t lat_sim_blocks[LAT_SIM_SIZES] = { 40, 100 };

/* The design's table quotes no noise for the last two rows. Its figures, the share of runs with `autocorrelation` among them, come
 * out with white noise of 0.02 ms beside the wander, and with a wander that goes on through the processes. Noise is not scaled by
 * the clock. The shift under one-sided spikes solves 0.9025 F(x / 0.2) + 0.0975 P(spiked d <= x) = 1/2. */
const lat_condition lat_conditions[] = {
    { .name = "iid", .title = "independent noise", .noise_ms = 0.2, .design = { { 2.5, 97.3, 54, 100 }, { 2.5, 97.4, 88, 100 } } },
    { .name = "ar50", .title = "AR(1) 0.5 drift of both arms, sd 5 %", .noise_ms = 0.2, .drift_phi = 0.5, .drift_ms = 0.5,
      .design = { { 2.7, 97.3, 13, 82 }, { 2.5, 97.5, 31, 99 } } },
    { .name = "ar90", .title = "AR(1) 0.9 drift, sd 5 %", .noise_ms = 0.2, .drift_phi = 0.9, .drift_ms = 0.5,
      .design = { { 2.5, 97.3, 34, 100 }, { 2.3, 97.5, 69, 100 } } },
    { .name = "ar98", .title = "AR(1) 0.98 drift, sd 5 %", .noise_ms = 0.2, .drift_phi = 0.98, .drift_ms = 0.5,
      .design = { { 2.5, 97.4, 48, 100 }, { 2.4, 97.4, 84, 100 } } },
    { .name = "linear", .title = "linear drift, +10 % over the run", .noise_ms = 0.2, .linear = 0.1,
      .design = { { 2.7, 97.2, 53, 100 }, { 2.5, 97.4, 88, 100 } } },
    { .name = "spikes", .title = "spikes, 5 % of predictions, + Exp(5 ms), both arms", .noise_ms = 0.2, .spikes = { 0.05, 0.05 },
      .design = { { 2.5, 97.1, 35, 98 }, { 2.3, 97.5, 73, 100 } } },
    { .name = "spikes-control", .title = "spikes on the control only", .noise_ms = 0.2, .spikes = { 0.05, 0.0 }, .shift_ms = 0.025,
      .design = { { 4.7, 97.3, 65, 100 }, { 7.6, 97.5, 94, 100 } } },
    { .name = "clocks", .title = "two clocks, x 1.5, mean stay 40 predictions", .noise_ms = 0.2, .clock = 1.5, .stay = 40.0,
      .design = { { 2.5, 97.2, 48, 100 }, { 2.6, 97.4, 85, 100 } } },
    { .name = "position", .title = "position bias: slot 0 +3 %, slot 3 -1 %", .noise_ms = 0.2, .slot_ms = { 0.3, 0.0, 0.0, -0.1 },
      .design = { { 2.1, 97.8, 47, 100 }, { 1.6, 98.3, 85, 100 } } },
    { .name = "timer", .title = "timer step 0.25 ms (1.25 noise sd)", .noise_ms = 0.2, .step_ms = 0.25,
      .design = { { 0.0, 100.0, 0, 3 }, { 0.0, 100.0, 0, 4 } } },
    { .name = "pairs-ar90", .title = "recorded AB/BA alternation, 1 process, AR(1) 0.9 drift", .noise_ms = 0.2, .drift_phi = 0.9, .drift_ms = 0.5,
      .recorded = true, .design = { { 4.1, 95.9, 25, 97 }, { 3.6, 96.4, 53, 100 } } },
    { .name = "pairs-position", .title = "recorded AB/BA alternation, first slot +3 %", .noise_ms = 0.2, .slot_ms = { 0.3 }, .recorded = true,
      .design = { { 0.2, 99.6, 7, 91 }, { 0.3, 99.7, 24, 100 } } },
    { .name = "process20", .title = "gain differs between processes, sd 0.2 s_d", .noise_ms = 0.2, .process_ms = 0.04,
      .design = { { 3.1, 96.8, 46, -1 }, { 4.1, 95.9, 71, -1 } } },
    { .name = "process50", .title = "same, 0.5 s_d", .noise_ms = 0.2, .process_ms = 0.1, .design = { { 4.5, 95.4, 28, -1 }, { 5.1, 94.9, 32, -1 } } },
    { .name = "process100", .title = "same, 1.0 s_d", .noise_ms = 0.2, .process_ms = 0.2, .design = { { 4.7, 95.3, 12, -1 }, { 4.6, 95.1, 14, -1 } } },
    { .name = "wander50", .title = "the gain itself wanders, AR(1) 0.5, sd s_d", .noise_ms = 0.02, .wander_phi = 0.5, .wander_ms = 0.2,
      .design = { { 4.6, 95.1, 24, -1 }, { 2.2, 97.2, 51, -1 } } },
    { .name = "wander90", .title = "the gain itself wanders, AR(1) 0.9, sd s_d", .noise_ms = 0.02, .wander_phi = 0.9, .wander_ms = 0.2,
      .design = { { 7.7, 78.3, 11, -1 }, { 3.6, 90.7, 9, -1 } } },
};
const size_t lat_condition_count = sizeof lat_conditions / sizeof *lat_conditions;

typedef struct world {
    const assay_math_1 *m; const lat_condition *c;
    uint64_t seed, drawn;
    double drift, wander, gain, done, total;     /* done, total: predictions, for the linear drift */
    double spare;                                /* the second normal deviate of a pair */
    bool has_spare, fast;
} world;

static double uniform(world *w) { return ((double)(w->m->u64(w->seed, w->drawn++) >> 11) + 0.5) * 0x1p-53; }

/* Marsaglia's polar method: two deviates at a time, much quicker than the normal quantile. */
static double normal(world *w) {
    double x, y, r;
    if (w->has_spare) {
        w->has_spare = false;
        return w->spare;
    }
    do {
        x = 2.0 * uniform(w) - 1.0;
        y = 2.0 * uniform(w) - 1.0;
        r = x * x + y * y;
    } while (!(r < 1.0));
    r = sqrt(-2.0 * w->m->log(r) / r);
    w->has_spare = true;
    w->spare = y * r;
    return x * r;
}

/* Next value of a stationary AR(1) of the given sd. */
static double step_ar1(world *w, double now, double phi, double sd) { return phi * now + sqrt(1.0 - phi * phi) * sd * normal(w); }

static double prediction(world *w, size_t slot, bool candidate) {
    const lat_condition *c = w->c;
    double ms = level_ms * (1.0 + c->linear * w->done / w->total);
    w->done += 1.0;
    if (c->stay > 0.0) {
        if (uniform(w) < 1.0 / c->stay) w->fast = !w->fast;
        if (!w->fast) ms *= c->clock;
    }
    if (c->drift_ms > 0.0) ms += w->drift = step_ar1(w, w->drift, c->drift_phi, c->drift_ms);
    ms += c->noise_ms * normal(w) + c->slot_ms[slot] - (candidate ? w->gain : 0.0);
    if (c->spikes[candidate] > 0.0 && uniform(w) < c->spikes[candidate]) ms -= spike_ms * w->m->log(uniform(w));
    return c->step_ms > 0.0 ? floor(ms / c->step_ms + 0.5) * c->step_ms : ms;
}

static void block(world *w, lat_data *out, uint32_t process, bool control_first) {
    size_t half = w->c->recorded ? 1 : HALF;
    lat_block *b = &out->blocks[out->n_blocks++];
    *b = (lat_block){ .process = process, .control_first = control_first };
    for (size_t slot = 0; slot < 2 * half; slot++) {
        bool outer = slot == 0 || slot == 3, candidate = outer != control_first;
        double ms = prediction(w, slot, candidate);
        if (candidate) b->candidate[b->n_candidate++] = out->candidate[out->n_candidate++] = ms;
        else b->control[b->n_control++] = out->control[out->n_control++] = ms;
    }
}

/* Half of the orders are control first; shuffled, or in strict alternation for recorded pairs. */
static void draw_orders(world *w, bool *first, size_t n) {
    for (size_t i = 0; i < n; i++) first[i] = i % 2 == 0;
    for (size_t i = n - 1; i > 0 && !w->c->recorded; i--) {
        size_t j = (size_t)(uniform(w) * (double)(i + 1));
        bool t = first[i];
        first[i] = first[j];
        first[j] = t;
    }
}

void lat_simulate(const assay_math_1 *m, const lat_condition *c, size_t n, double effect_ms, uint64_t seed, lat_data *out) {
    world w = { .m = m, .c = c, .seed = seed, .total = (double)n * (c->recorded ? 2.0 : 4.0) };
    uint32_t processes = c->recorded ? 1 : LAT_SIM_PROCESSES;
    bool *first = lat_alloc(n, sizeof *first);
    *out = (lat_data){ .paired = true, .order_recorded = true, .alternating = c->recorded, .processes = processes };
    out->blocks = lat_alloc(n, sizeof *out->blocks);
    out->control = lat_alloc(HALF * n, sizeof *out->control);
    out->candidate = lat_alloc(HALF * n, sizeof *out->candidate);
    w.fast = uniform(&w) < 0.5;
    w.drift = c->drift_ms * normal(&w);
    w.wander = c->wander_ms * normal(&w);
    for (uint32_t p = 0; p < processes; p++) {
        double of_process = effect_ms + c->process_ms * normal(&w);
        draw_orders(&w, first, n / processes);
        for (size_t i = 0; i < n / processes; i++) {
            w.gain = of_process + w.wander;
            block(&w, out, p, first[i]);
            w.wander = step_ar1(&w, w.wander, c->wander_phi, c->wander_ms);
        }
    }
    free(first);
}

void lat_sim_series(const assay_math_1 *m, const lat_condition *c, size_t n, uint64_t seed, double *out) {
    world w = { .m = m, .c = c, .seed = seed, .total = (double)n };
    w.drift = c->drift_ms * normal(&w);
    for (size_t i = 0; i < n; i++) out[i] = prediction(&w, i % 2, false);
}

lat_outcome lat_simulate_and_judge(const assay_math_1 *m, const lat_condition *c, size_t n, double effect_ms, uint64_t seed) {
    const lat_params p = { .confidence = 0.95, .min_prize_ms = NAN, .margin_ms = NAN, .layers = NAN, .min_pairs = 20, .resamples = 1000, .seed = "1" };
    double truth = effect_ms + c->shift_ms;
    lat_data data;
    lat_series s;
    lat_ruling r;
    lat_simulate(m, c, n, effect_ms, seed, &data);
    lat_series_make(&data, &s);
    lat_rule(m, &data, &s, &p, false, &r);
    lat_outcome o = { .verdict = r.verdict, .covers = r.figures.lo <= truth && truth <= r.figures.hi, .by_process = r.figures.unit == LAT_UNIT_PROCESS };
    for (size_t i = 0; i < r.n_reasons; i++) o.autocorrelation |= strcmp(r.reasons[i].code, "autocorrelation") == 0;
    for (size_t i = 0; i < r.n_notes; i++) o.autocorrelation |= strcmp(r.notes[i], "autocorrelation") == 0;
    lat_series_free(&s);
    lat_data_free(&data);
    return o;
}
