/* gates/latency/latency.h: the parts of the latency gate. Formulas and defaults: statistics.md 3.4-3.6 of the design; the test
 * vectors of its section 3.6.4 are in test_latency.c. Durations are milliseconds; d is the gain of a block (control minus
 * candidate, positive = candidate faster). Undefined figures are NaN. */
#ifndef ASSAY_LATENCY_H
#define ASSAY_LATENCY_H
#include "assay/gate.h"
#include "assay/math.h"
#include <stdbool.h>
#include <stddef.h>

typedef struct lat_interval { double lo, hi; bool defined; size_t rank_lo, rank_hi; double achieved; } lat_interval;
typedef struct lat_block {
    uint32_t process;
    bool control_first, control_last, dropped;   /* control_last: only where a file lists predictions */
    uint32_t n_control, n_candidate;             /* durations kept in the block: 1 + 1 for a pair, 2 + 2 for ABBA */
    double control[2], candidate[2];
} lat_block;

enum { LAT_DROPS_MAX = 8, LAT_SAMPLES_MAX = 200000 };                /* recorded durations of an arm: a minute of analysis */
/* What timing trials say of themselves; of several the largest figure. */
typedef struct lat_harness {
    double resolution_ns, read_ns, empty_ns, harness_ns;             /* NaN: not recorded */
    struct { char code[24]; double blocks; } dropped[LAT_DROPS_MAX]; size_t n_dropped;
    uint32_t stopped;                                                /* processes that the watched mode ended early */
    bool cut_short;
} lat_harness;
/* All that the input says. Owned arrays; lat_data_free. */
typedef struct lat_data {
    lat_block *blocks; size_t n_blocks, cap_blocks;
    double *control, *candidate; size_t n_control, n_candidate;      /* kept durations of each arm, in time order */
    uint32_t processes;
    size_t dropped;
    bool paired, order_recorded, alternating, is_sessions, live;     /* is_sessions: a list of recorded documents */
    bool bad_sample, output_changed, unsteady, failed_run, stopping_disagrees;
    struct { char name[64]; double *v; size_t n; } *sets; size_t n_sets;
    lat_harness harness;                                             /* where `live` */
} lat_data;
void lat_data_free(lat_data *d);
/* Names of the two arms, "" for none: which commands or benchmarks of a file to compare. */
typedef struct lat_names { const char *control, *candidate; } lat_names;
assay_status lat_read(const assay_evidence *ev, const lat_names *names, lat_data *out, assay_error *err);
/* data.c, for those who fill a lat_data */
assay_status lat_fail(assay_error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));   /* ASSAY_E_INPUT */
lat_block *lat_add_block(lat_data *d);                               /* zeroed */
void lat_add_duration(lat_data *d, bool candidate, double ms);
void lat_add_pair(lat_data *d, uint32_t process, bool control_first, double control, double candidate);
void lat_add_set(lat_data *d, const char *name, const double *v, size_t n);
double lat_unit_ms(const char *unit);                                /* ns, us, ms, s in milliseconds; NaN: another word */
/* import.c, import_csv.c: files of other harnesses */
struct cJSON;
assay_status lat_import_json(const struct cJSON *doc, const lat_names *names, lat_data *d, assay_error *err);
assay_status lat_import_csv(const char *text, const lat_names *names, lat_data *d, assay_error *err);
/* live.c: timing trials. `failed` counts those of the role and label that left no samples. */
void lat_read_live(const assay_item *item, uint32_t process, lat_data *d);
assay_status lat_read_trials(const assay_evidence *ev, const char *role, const char *label, lat_data *d, uint32_t *failed, assay_error *err);
/* The watched mode's stops, repeated from the samples: each at the first look that said so, and no other. */
bool lat_stops_agree(const assay_math_1 *m, const assay_evidence *ev);
void lat_harness_figures(const lat_data *d, const assay_finding *f);

/* dist.c */
double lat_t_quantile(const assay_math_1 *m, double p, double df);
double lat_t_two_sided(const assay_math_1 *m, double t, double df);  /* P(|T| >= |t|) */
double lat_chi2_upper(const assay_math_1 *m, double x, double df);
typedef struct lat_binomial { size_t n, l; double p, below, term, log_all, log_p, log_q; bool exact; } lat_binomial;
lat_binomial lat_binomial_start(const assay_math_1 *m, size_t n, double p);
double lat_binomial_next(const assay_math_1 *m, lat_binomial *b);    /* P(X < 1), then P(X < 2) ... up to P(X < n + 1) */

void *lat_alloc(size_t n, size_t size);                              /* zeroed; aborts when memory is out */
/* order.c: quantiles and distribution-free intervals. `sorted` is ascending. */
void lat_sort(double *v, size_t n);
double *lat_sorted_copy(const double *v, size_t n);                  /* caller frees */
double lat_quantile(const double *sorted, size_t n, double p);       /* type 7; NaN for n = 0 */
double lat_median(const double *v, size_t n);
double lat_median_of(double *v, size_t n);                           /* the same; v is reordered */
double lat_mean(const double *v, size_t n);
double lat_sd(const double *v, size_t n);                            /* n - 1 */
lat_interval lat_order_interval(const assay_math_1 *m, const double *v, size_t n, double confidence);
lat_interval lat_quantile_interval(const assay_math_1 *m, const double *v, size_t n, double p, double confidence);
typedef struct lat_hl { double estimate; lat_interval ci; size_t k; } lat_hl;
lat_hl lat_hodges_lehmann(const double *v, size_t n, double confidence);

/* series.c: how the values hang together in time */
void lat_midranks(const double *v, size_t n, double *ranks);
double lat_lag1(const double *v, size_t n);                          /* 0 if the denominator is 0 */
double lat_lag1_rank(const double *v, size_t n);
double lat_lag1_within(const double *v, const uint32_t *process, size_t n);
typedef struct lat_kw { double h, tie_factor, corrected, p; } lat_kw;
lat_kw lat_kruskal_wallis(const assay_math_1 *m, const double *v, const uint32_t *process, size_t n, uint32_t processes);
typedef struct lat_pettitt { double k; size_t at; double p; } lat_pettitt;
lat_pettitt lat_pettitt_test(const assay_math_1 *m, const double *v, size_t n);
size_t lat_change_points(const assay_math_1 *m, const double *v, size_t n, size_t *out, size_t max);      /* left lengths, ascending */
double lat_timer_step(const double *durations, size_t n);            /* NaN: none */
typedef struct lat_modes { bool defined, two; double d, ratio; double split; } lat_modes;
lat_modes lat_two_modes(const assay_math_1 *m, const double *levels, size_t n);
double lat_theil_sen(const double *v, size_t n);                     /* slope per block */
double lat_mad(const double *v, size_t n);

/* resample.c: counter-based draws, the same numbers on every machine */
typedef struct lat_pair { double lo, hi; } lat_pair;
lat_pair lat_boot_mean(const assay_math_1 *m, const double *v, size_t n, const char *seed, uint32_t resamples, double confidence);
lat_pair lat_boot_median(const assay_math_1 *m, const double *v, size_t n, const char *seed, uint32_t resamples, double confidence);
lat_pair lat_block_boot(const assay_math_1 *m, const double *v, size_t n, size_t block_length, bool median, const char *seed, uint32_t resamples, double confidence);
typedef struct lat_bca { double z0, a, p_lo, p_hi; lat_pair ci; } lat_bca;
/* From the sums of resamples already drawn, which are sorted on return. */
lat_bca lat_bca_of_sums(const assay_math_1 *m, const double *v, size_t n, double *sums, uint32_t resamples, double confidence);
lat_bca lat_bca_mean(const assay_math_1 *m, const double *v, size_t n, const char *seed, uint32_t resamples, double confidence);
double lat_randomisation_p(const assay_math_1 *m, const double *d, const bool *control_first, const uint32_t *process, size_t n, const char *seed);
/* Sign-flip p of abs(mean) and of abs(median), both over the same flips: all of them up to 14 values, else 10000 drawn. */
double lat_sign_flip_p(const assay_math_1 *m, const double *d, size_t n, const char *seed);
double lat_sign_flip_p_median(const assay_math_1 *m, const double *d, size_t n, const char *seed);

/* interval.c, decide.c: statistics.md 3.6.1 */
enum { LAT_UNIT_AUTO, LAT_UNIT_BLOCK, LAT_UNIT_PROCESS };
enum { LAT_RESAMPLES = 10000 };
typedef struct lat_params {
    double confidence, min_prize_ms, margin_ms, layers;              /* NaN: not declared */
    size_t min_pairs, block_length;
    uint32_t resamples;                                              /* of the moving blocks; 0: LAT_RESAMPLES */
    int unit;
    char seed[40];
} lat_params;
typedef struct lat_series {                                          /* the kept blocks as arrays */
    size_t n; double *d, *level; bool *control_first; uint32_t *process; uint32_t processes;
} lat_series;
void lat_series_make(const lat_data *data, lat_series *s);
void lat_series_free(lat_series *s);
typedef struct lat_decision {
    double gain, lo, hi;                                             /* the deciding interval; infinite when unbounded */
    const char *method;                                              /* "order-statistic" "effective-n" "moving-block" "process-t" "none" */
    double achieved, lag1, lag1_rank, effective_n, timer_step, ties, p_process;
    lat_interval order;
    lat_modes modes;
    size_t change_points[64], n_change_points;
    int unit;
    bool coarse;
} lat_decision;
typedef struct lat_bounds { double lo, hi; const char *method; double achieved; bool correlated, starved; } lat_bounds;    /* starved: n_eff < 10 */
lat_bounds lat_deciding_interval(const assay_math_1 *m, const lat_series *s, const lat_params *p, const lat_decision *r, double confidence, double *gain);
enum { LAT_CODES_MAX = 16 };
typedef struct lat_ruling {
    lat_decision figures;
    assay_verdict verdict;
    bool decided;                                                    /* nothing (too few blocks, regimes ...) keeps the interval from deciding */
    struct { const char *code; char text[160]; } reasons[LAT_CODES_MAX]; size_t n_reasons;
    const char *notes[LAT_CODES_MAX]; size_t n_notes;                /* codes that hold beside a verdict that they do not change */
} lat_ruling;
/* The rule itself, on at least one kept pair: no output, nothing but `out` is written. `invalid`: figures only. */
void lat_rule(const assay_math_1 *m, const lat_data *data, const lat_series *s, const lat_params *p, bool invalid, lat_ruling *out);
enum { LAT_OUTLIER_Z = 10 };
double lat_outlier_scale(const double *d, size_t n);                 /* 1.4826 MAD, or from the mean deviation; 0: all equal */
/* Judges paired data; reports reasons, figures and the verdict. `invalid` says that validity codes were raised before. */
void lat_decide(const assay_math_1 *m, const lat_data *data, const lat_params *p, const assay_finding *f, bool invalid);

/* pilot.c: control against itself, before the run, and the size of the run that follows (statistics.md 3.4) */
enum { LAT_PILOT_PROCESSES = 2, LAT_PILOT_BLOCKS = 10, LAT_BLOCKS_MIN = 8 };
typedef struct lat_pilot {
    size_t n;
    double gain, lo, hi, level, scale, lag1, lag1_rank, timer_step;  /* ms; scale = 1.4826 MAD of the block differences */
    bool differs, complete;                                          /* complete: both processes, not cut short */
} lat_pilot;
/* Judges a pilot by lat_rule with the block as the unit; false when it has no kept block. */
bool lat_pilot_judge(const assay_math_1 *m, const lat_data *d, const lat_params *params, lat_pilot *out);
typedef struct lat_question {
    double layers, min_prize_ms, expected_gain_ms, resolve_ms, confidence;       /* NaN: not declared */
    uint32_t processes, blocks;                                      /* blocks per process; 0: as the pilot says */
    double max_blocks;
} lat_question;
bool lat_has_prize(const lat_question *q);                           /* a prize of 0 is none */
typedef struct lat_size {
    double target_ms, needed, mde_ms;                                /* needed: blocks in all; NaN: not known */
    uint32_t blocks, n;                                              /* per process; in all */
    bool cannot_decide;
} lat_size;
void lat_plan_size(const assay_math_1 *m, const lat_pilot *a, const lat_question *q, lat_size *out);
void lat_pilot_figures(const lat_pilot *a, unsigned runs, const lat_question *q, const lat_size *s, const assay_finding *f);
void lat_pilot_say(const lat_pilot *a, const lat_question *q, const lat_size *s, char *out, size_t size);

/* prize.c: layers x gain (statistics.md 3.6.3) */
typedef struct lat_prize {
    double control, candidate;                                       /* regions of the device tables; NaN: not known */
    bool probed; double marginal, lo, hi;                            /* gain of a further layer, ms */
} lat_prize;
assay_status lat_read_regions(const assay_evidence *ev, lat_prize *out, assay_error *err);
bool lat_is_comparable(const lat_prize *p);
void lat_marginal(const lat_decision *one, const lat_decision *two, lat_prize *out);
/* The prize rule where layers x gain itself may not be used, for arms that are otherwise found faster. */
assay_verdict lat_prize_rule(const lat_prize *z, const lat_params *p, const assay_finding *f);
void lat_prize_figures(const lat_prize *z, double layers, const assay_finding *f);
void lat_gap(double gap_ms, double prize_low_ms, const assay_finding *f);

/* report.c: figures */
void lat_metric(const assay_finding *f, const char *group, const char *name, double v, const char *unit);
void lat_interval_metric(const assay_finding *f, const char *key, const lat_interval *iv, double sign);
void lat_pair_metric(const assay_finding *f, const char *key, lat_pair iv);
void lat_arm_figures(const assay_math_1 *m, const assay_finding *f, const char *group, const double *v, size_t n, double confidence);
void lat_second_opinions(const assay_math_1 *m, const lat_series *s, const lat_data *data, const lat_params *p, const assay_finding *f);
/* figures.c */
void lat_figures(const assay_math_1 *m, const lat_series *s, const lat_data *data, const lat_decision *r, const lat_params *p, const assay_finding *f);
#endif
