/* gates/latency/designs.c: other designs of the same measurement, each tested at 5 % in the way it is usually done, to show beside
 * the gate's own how often they find a difference that is not there. */
#include "calibrate.h"
#include <math.h>

enum { ARM = 100, LOOK = 10, FIRST_LOOK = 20, LAST = 300, BEST = 100 };
const double lat_drifts[LAT_DRIFTS] = { 0.0, 0.5, 0.9, 0.98 };

static lat_condition machine(double phi, double second_slot_ms) {
    return (lat_condition){ .noise_ms = 0.2, .drift_phi = phi, .drift_ms = 0.2 / sqrt(1.0 - phi * phi),
                            .slot_ms = { 0.0, second_slot_ms, 0.0, second_slot_ms } };
}

/* One arm after the other, Welch's t-test. */
static bool sequential(const assay_math_1 *m, double phi, uint64_t seed) {
    lat_condition c = machine(phi, 0.0);
    double x[2 * ARM], *a = x, *b = x + ARM;
    lat_sim_series(m, &c, 2 * ARM, seed, x);
    double va = lat_sd(a, ARM) * lat_sd(a, ARM) / ARM, vb = lat_sd(b, ARM) * lat_sd(b, ARM) / ARM;
    double df = (va + vb) * (va + vb) / ((va * va + vb * vb) / (ARM - 1));
    return lat_t_two_sided(m, (lat_mean(a, ARM) - lat_mean(b, ARM)) / sqrt(va + vb), df) < 0.05;
}

/* Pairs, order-statistic interval of their differences. */
static bool pairs(const assay_math_1 *m, double phi, uint64_t seed, bool random) {
    lat_condition c = machine(phi, -0.05);
    double x[2 * ARM], d[ARM];
    lat_sim_series(m, &c, 2 * ARM, seed, x);
    for (uint64_t i = 0; i < ARM; i++) {
        d[i] = x[2 * i] - x[2 * i + 1];
        if (random && m->u64(~seed, i) >> 63) d[i] = -d[i];
    }
    lat_interval iv = lat_order_interval(m, d, ARM, 0.95);
    return iv.lo > 0.0 || iv.hi < 0.0;
}
static bool fixed_order(const assay_math_1 *m, double phi, uint64_t seed) { return pairs(m, phi, seed, false); }
static bool random_order(const assay_math_1 *m, double phi, uint64_t seed) { return pairs(m, phi, seed, true); }

static bool blocks(const assay_math_1 *m, double phi, uint64_t seed) {
    lat_condition c = machine(phi, -0.05);
    return lat_simulate_and_judge(m, &c, ARM / 2, 0.0, seed).verdict != ASSAY_INCONCLUSIVE;
}

const lat_design lat_designs[LAT_DESIGNS] = {
    { "sequential", "one arm after the other, Welch's t-test", { 6, 20, 65, 85 }, sequential },
    { "fixed-order", "pairs, always the same arm first", { 15, 16, 19, 17 }, fixed_order },
    { "random-order", "pairs in random order", { 5, 5, 5, 4 }, random_order },
    { "blocks", "this gate: ABBA and BAAB blocks in 5 processes", { -1, -1, -1, -1 }, blocks },
};

/* Half width of the normal-mixture confidence sequence after t blocks (Robbins 1970), best near `best` blocks. */
static double sequence_half(const assay_math_1 *m, double t, double sd, double best) {
    double l = -2.0 * m->log(0.05), rho2 = (l + m->log(1.0 + l)) / best;
    return sd * sqrt(2.0 * (t * rho2 + 1.0) / (t * t * rho2) * m->log(sqrt(t * rho2 + 1.0) / 0.05));
}

static bool look(const assay_math_1 *m, uint64_t seed, bool sequence) {
    double d[LAST];
    for (uint64_t i = 0; i < LAST; i++) d[i] = 0.2 * m->normal_quantile(((double)(m->u64(seed, i) >> 11) + 0.5) * 0x1p-53);
    for (size_t n = FIRST_LOOK; n <= LAST; n += LOOK) {
        double sd = lat_sd(d, n), mean = lat_mean(d, n);
        if (sequence ? fabs(mean) > sequence_half(m, (double)n, sd, BEST) : lat_t_two_sided(m, mean / sd * sqrt((double)n), (double)n - 1.0) < 0.05) return true;
    }
    return false;
}
static bool look_t(const assay_math_1 *m, uint64_t seed) { return look(m, seed, false); }
static bool look_sequence(const assay_math_1 *m, uint64_t seed) { return look(m, seed, true); }

const lat_look lat_looks[LAT_LOOKS] = {
    { "peeking", "95 % t-interval at every look", 26.0, look_t },
    { "sequence", "confidence sequence", 2.9, look_sequence },
};
