/* gates/latency/calibrate.h: the calibration suite: simulated machines with a known gain, judged by the gate's own rule. It answers
 * how often the gate is wrong; `assay calibrate latency` drives it. A run depends on its seed alone, so runs may be spread over
 * threads in any way. */
#ifndef ASSAY_LATENCY_CALIBRATE_H
#define ASSAY_LATENCY_CALIBRATE_H
#include "latency.h"

enum { LAT_SIM_PROCESSES = 5, LAT_SIM_EFFECTS = 3, LAT_SIM_SIZES = 2 };
extern const double lat_sim_effect_ms[LAT_SIM_EFFECTS];              /* 0, 1 % and 3 % of the 10 ms that a prediction takes */
extern const size_t lat_sim_blocks[LAT_SIM_SIZES];                   /* 40 and 100 */

/* A machine. What is 0 is absent. Percentages of `design` are those of the design's own simulation (statistics.md 3.6.2): false
 * alarms, coverage, passes at 1 % and at 3 %; negative: not given. */
typedef struct lat_condition {
    const char *name, *title;
    double noise_ms;                                                 /* white, of each prediction */
    double drift_phi, drift_ms;                                      /* AR(1) over predictions, common to both arms */
    double linear;                                                   /* relative growth of the level over the run */
    double spikes[2];                                                /* share of predictions of control, candidate with + Exp(5 ms) */
    double clock, stay;                                              /* second clock's factor on the level; mean stay in predictions */
    double slot_ms[4];                                               /* added to the prediction in this slot of its block */
    double step_ms;                                                  /* of the timer */
    double process_ms;                                               /* sd of the gain between processes */
    double wander_phi, wander_ms;                                    /* AR(1) of the gain over blocks, through all processes */
    bool recorded;                                                   /* pairs AB, BA, AB ... of one process instead of ABBA blocks */
    double shift_ms;                                                 /* true median of d at effect 0 where the tail moves it */
    double design[LAT_SIM_SIZES][4];
} lat_condition;
extern const lat_condition lat_conditions[];
extern const size_t lat_condition_count;

/* One experiment of n blocks. `out` is filled anew; lat_data_free. */
void lat_simulate(const assay_math_1 *m, const lat_condition *c, size_t n, double effect_ms, uint64_t seed, lat_data *out);

/* What the gate made of one experiment. */
typedef struct lat_outcome { assay_verdict verdict; bool covers, by_process, autocorrelation; } lat_outcome;
lat_outcome lat_simulate_and_judge(const assay_math_1 *m, const lat_condition *c, size_t n, double effect_ms, uint64_t seed);

/* n predictions in a row without any gain, in slots 0, 1, 0, 1 ... */
void lat_sim_series(const assay_math_1 *m, const lat_condition *c, size_t n, uint64_t seed, double *out);

/* designs.c: other designs where no arm is faster: 100 predictions of each, white noise of 0.2 ms and AR(1) drift with innovations of
 * 0.2 ms; in pairs the second prediction is 0.05 ms faster. `design_percent`: figures of statistics.md 3.4. */
typedef struct lat_design { const char *name, *title; double design_percent[4]; bool (*alarm)(const assay_math_1 *m, double phi, uint64_t seed); } lat_design;
enum { LAT_DESIGNS = 4, LAT_DRIFTS = 4, LAT_LOOKS = 2 };
extern const double lat_drifts[LAT_DRIFTS];                          /* 0, 0.5, 0.9, 0.98 */
extern const lat_design lat_designs[LAT_DESIGNS];
/* Looking at every tenth block from 20 to 300 and stopping at the first interval without 0. */
typedef struct lat_look { const char *name, *title; double design_percent; bool (*alarm)(const assay_math_1 *m, uint64_t seed); } lat_look;
extern const lat_look lat_looks[LAT_LOOKS];
#endif
