/* simulated/sim.h: what the parts of the simulated backend share. It runs a program on the reference executor and imitates,
 * from a device profile, where each op is placed, how its numbers are kept, what goes wrong and how long it takes. Nothing it
 * says is evidence about a device; its durations are invented seconds. */
#ifndef ASSAY_SIM_SIM_H
#define ASSAY_SIM_SIM_H
#include "assay/backend.h"
#include "backends/simulated/profile.h"
#include "ops/kernels/kernels.h"
#include "program/program.h"

struct assay_eval;                               /* ops/eval.h */
struct assay_slot;                               /* ops/slots.h */

/* ---- units: the profile's ane, gpu, cpu and unknown are ASSAY_DEV_NE, _GPU, _CPU and _UNKNOWN */
int32_t assay_sim_unit(const char *name);
const char *assay_sim_unit_name(int32_t dev);

/* ---- select.c: the selectors of a rule or fault. `on`: the unit the op was placed on; 0 while it is being placed. */
typedef struct assay_sim_graph { const assay_mil_function *f; double flops; } assay_sim_graph;
bool assay_sim_selects(const assay_json *when, const assay_sim_graph *g, const assay_mil_op *op, const char *on);

/* ---- cost.c: a roofline and fixed costs. Constants and ops that only move or re-read elements cost nothing. */
double assay_sim_flops(const assay_mil_op *op);  /* two for a multiply-add */
/* Seconds of one op alone on a unit; the op of cost.fused costs what its spelled-out form would, times the factor. */
double assay_sim_op_seconds(const assay_json *profile, const assay_mil_op *op, int32_t dev);

/* ---- place.c: what a profile decides about a function before anything runs */
enum { ASSAY_SIM_FAULTS_MAX = 32 };
typedef struct assay_sim_op {
    const assay_mil_op *op;
    const assay_json *rule;                      /* that placed it; NULL: a constant */
    int32_t preferred, runs_on;                  /* ASSAY_DEV_...: what a plan says, and where it runs (silent_cpu tells them apart) */
    uint32_t supported, faults;                  /* bit sets: units; faults of the profile that apply */
    double seconds;                              /* alone, where it runs */
} assay_sim_op;
typedef struct assay_sim_placed {
    const assay_json *profile;
    assay_sim_op *ops; uint32_t n; uint32_t *of_value;   /* of_value[id]: 1 + index of the op that makes a value */
    bool compile_failed;                         /* a reject rule or a compile_fail fault: no plan, everything on the CPU */
    double seconds;                              /* of one prediction: ops, dispatch of each segment, transfers between units */
} assay_sim_placed;
assay_status assay_sim_place(const assay_json *profile, const assay_mil_function *f, const char *compute_units, assay_sim_placed *out, assay_error *err);
void assay_sim_placed_free(assay_sim_placed *p);
const assay_sim_op *assay_sim_op_of(const assay_sim_placed *p, const assay_mil_op *op);
/* Tells the sink what fired, as "rule.<kind>.<id>" = grade, kinds placement, numerics, fault, cost. */
void assay_sim_report_rules(const assay_sim_placed *p, const assay_sink *sink);

/* ---- numerics.c: an op's kernel with the numbers of its unit, then the faults that apply to it */
enum { ASSAY_SIM_FLASH, ASSAY_SIM_FOLD, ASSAY_SIM_PREQ, ASSAY_SIM_PREK, ASSAY_SIM_SPLIT, ASSAY_SIM_POST };       /* order of attention */
enum { ASSAY_SIM_F32, ASSAY_SIM_F16WIDE, ASSAY_SIM_F16RCP, ASSAY_SIM_F16NARROW, ASSAY_SIM_NOSHIFT };              /* softmax */
typedef struct assay_sim_numerics {
    bool store_f16, accumulate_f16, flush, nan_to_inf, nan_to_zero;
    double ceiling;                              /* of stored sums of products; 0: none */
    int order, softmax;
} assay_sim_numerics;
typedef struct assay_sim_run {
    const assay_sim_placed *placed;
    assay_sim_numerics units[5];                 /* by ASSAY_DEV_... */
    uint64_t prediction;                         /* 1 for the first of a session */
} assay_sim_run;
void assay_sim_read_numerics(const assay_json *profile, assay_sim_run *run);
assay_status assay_sim_around(void *run, struct assay_eval *ev, assay_status (*kernel)(struct assay_eval *, assay_error *), assay_error *err);

/* A layout op may hand its input on: makes the output's memory the op's own, so that it may be changed. */
struct assay_pool;
assay_status assay_sim_own_output(struct assay_pool *pool, struct assay_slot *s, assay_error *err);

/* ---- kernels.c: the reference kernels with a unit's rounding. The table belongs to the calling thread and holds until the next call. */
typedef struct assay_sim_attention {
    assay_sim_numerics n;
    bool uniform, scale_twice, no_scale, mask_transposed, ignore_mask;
} assay_sim_attention;
const assay_kernels *assay_sim_kernels(const assay_kernels *base, const assay_sim_attention *how);
float assay_sim_round16(float x);                /* to the nearest fp16, half to even */
/* attention.c: scaled dot product attention as `how` says, on the products of `k`. */
void assay_sim_attend(const assay_kernels *k, const assay_sim_attention *how, const assay_sdpa_args *a);
/* softmax of rows as `softmax` says; in and out hold fp16 values in float unless it is F32. */
void assay_sim_softmax(const assay_kernels *k, int softmax, const float *src, float *dst, int64_t rows, int64_t n, uint32_t threads);

/* ---- faults.c: the effects that change what an op wrote */
bool assay_sim_has_fault(const assay_sim_run *run, const assay_sim_op *op, const char *effect);
assay_status assay_sim_apply_faults(const assay_sim_run *run, const assay_sim_op *op, struct assay_eval *ev, assay_error *err);
/* Does the profile's fault make prediction i differ from others (stale_first_run, flip)? */
bool assay_sim_prediction_differs(const assay_sim_placed *p, uint64_t prediction);

/* ---- record.c: what runs where, as power logs and peak memory would show it */
assay_status assay_sim_record(const assay_sim_placed *p, const char *name, assay_json **out, assay_error *err);

/* ---- clock.c: the invented time of this process, one clock for all sessions (one thread) */
/* The next prediction's nanoseconds: `seconds` with the profile's jitter, drift and spikes, drawn from its seed and `trial`. */
uint64_t assay_sim_tick_ns(const assay_json *profile, const char *trial, double seconds);
uint64_t assay_sim_draw_load_ns(const assay_json *profile, const char *which, const char *what);   /* "compile_ms" or "warm_ms", of the program `what` */
#endif
