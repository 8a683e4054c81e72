/* run/timing.h: the inner parts of a timing trial: one block, the clock, the processors. work_timing.c puts them together. */
#ifndef ASSAY_RUN_TIMING_H
#define ASSAY_RUN_TIMING_H
#include "assay/backend.h"
#include "base/json.h"

enum { ASSAY_SLOTS = 4, ASSAY_SAMPLE_DROPPED = 1, ASSAY_SAMPLE_CHANGED = 2 };

/* One fixture bound to one arm: what is called, and the outputs of the untimed first call that every later one must repeat. */
typedef struct assay_timed_input {
    void *binding, *state;
    const assay_named_tensor *out; void **kept; uint32_t n_out;
} assay_timed_input;
typedef struct assay_timed_arm {
    const assay_backend *b; void *session;
    assay_timed_input *inputs; uint32_t n_inputs;
    uint64_t (*last_ns)(void *session);          /* a simulated device: how long its last call took; NULL: the clock tells */
    uint64_t *invented_ns;                       /* that device's time so far; it stands still between calls */
} assay_timed_arm;
/* One prediction between two readings of the clock. */
assay_status assay_timing_call(const assay_timed_arm *a, uint32_t input, uint64_t *start_ns, uint64_t *dur_ns, assay_error *err);
/* One ABBA (order 0) or BAAB (order 1) block of arms[0] = A and arms[1] = B, every slot on the same input. Writes the four
 * samples; `changed` counts predictions whose outputs differ from the first call's (compared between the timed parts). Nothing is
 * allocated, locked, read or written here besides what the backend does. */
assay_status assay_timing_block(const assay_timed_arm *arms, uint32_t process, uint32_t block, uint8_t order, uint32_t input,
                                assay_sample out[ASSAY_SLOTS], uint64_t *changed, assay_error *err);
/* Order of the blocks: half ABBA, half BAAB, permuted by the stream latency/order/<seed>/<process>; for an odd number one BAAB more. */
void assay_timing_order(const char *seed, uint32_t process, uint32_t blocks, uint8_t *order);
/* Which of n inputs each block takes: as equally often as the number allows, permuted by latency/input/<seed>/<process>. */
void assay_timing_inputs(const char *seed, uint32_t process, uint32_t blocks, uint32_t n, uint32_t *input);

/* Measured at the start of every timing process. */
typedef struct assay_clock_facts {
    double resolution_ns;                        /* smallest step seen between two different readings */
    double read_ns;                              /* one reading, mean */
    double empty_ns;                             /* what an arm that does nothing is timed at, median */
    double harness_ns;                           /* wall time of a slot with such an arm, beyond two readings, median over blocks */
} assay_clock_facts;
void assay_clock_measure(assay_clock_facts *out);

/* Keeps the process on `threads` processors (the last ones it may use) and raises its priority, where that is allowed; call before
 * any thread is started. Facts: {processors: [numbers] | null, priority: text | null}: null = not allowed or not offered. */
void assay_timing_settle(uint32_t threads, assay_json *facts);
#endif
