/* The invented clock: durations drawn from the profile's own seed, so that equal trials give equal samples. */
#include "backends/simulated/sim.h"
#include "base/fmath.h"
#include "base/names.h"
#include "tensor/generate.h"
#include <stdlib.h>

/* Predictions of this process so far: drift is in time, so both arms of a paired trial share it. */
static uint64_t ticks;

static uint64_t to_ns(double seconds) { return seconds < 1e-9 ? 1 : seconds > 1e9 ? (uint64_t)1000000000000000000 : (uint64_t)(seconds * 1e9 + 0.5); }

uint64_t assay_sim_tick_ns(const assay_json *profile, const char *trial, double seconds) {
    const assay_json *jitter = assay_json_path(profile, "cost.jitter");
    uint64_t i = ticks++;
    double t = seconds * (1 + assay_json_number(jitter, "drift_per_trial", 0) * (double)i);
    if (assay_streq(assay_json_string(jitter, "kind", ""), "none")) return to_ns(t);
    char *label = assay_xprintf("simulated/%s/%s", assay_json_string(jitter, "seed", ""), trial), *spikes = assay_xprintf("%s/spike", label);
    t *= assay_exp(assay_json_number(jitter, "sigma", 0) * assay_normal12(assay_stream(label), i));
    if (assay_uniform(assay_stream(spikes), i) < assay_json_number(jitter, "spike_p", 0)) t *= assay_json_number(jitter, "spike_x", 1);
    free(label);
    free(spikes);
    return to_ns(t);
}

uint64_t assay_sim_draw_load_ns(const assay_json *profile, const char *which, const char *what) {
    const assay_json *spread = assay_json_get(assay_json_get(profile, "load"), which);
    char *label = assay_xprintf("simulated/load/%s/%s", which, what);
    double z = assay_normal12(assay_stream(label), 0);
    free(label);
    return to_ns(assay_json_number(spread, "mean", 0) * 1e-3 * assay_exp(assay_json_number(spread, "sigma", 0) * z));
}
