/* In the worker: one fresh process of the interleaved latency design (statistics.md 3.4): compile, load and first call apart,
 * warm-up with MSER-5, then ABBA / BAAB blocks in an order balanced and seeded by the plan, inputs rotated from block to block.
 *
 * trial.json "timing": {design, process, pilot, clock: {name, resolution_ns, read_ns, empty_ns, harness_ns}, processors, priority,
 *   profiled, guards: [what the system offers], planned_blocks, blocks, cut_short, order: ["ABBA", ...], fixtures: [names], input: [per
 *   block], load_average: [per block], dropped: {reason: blocks}, watch: {alpha, t_opt, target_ms, stopped} where asked for,
 *   control, candidate: {compile_ns, load_ns, first_ns, warmup_ns: [...], extended, steady}, output_changed, no_steady_state}.
 * samples.bin: assay_sample records; arm 0 = control (A), 1 = candidate (B); flags bit 0 = block dropped by a guard, bit 1 = output
 * changed. */
#include "run/work.h"
#include "run/guard.h"
#include "run/steady.h"
#include "run/timing.h"
#include "base/digest.h"
#include "base/fmath.h"
#include "base/fs.h"
#include "base/names.h"
#include "base/process.h"
#include "base/watch.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <stdio.h>

enum { BLOCKS_MAX = 100000, INPUTS_MAX = 64 };
/* A backend that is not the target is timed for information only: no warm-up and block begins after this many seconds (half of
 * them for a pilot), one block aside. */
#define INFORMATION_S 3.0

typedef struct series { uint64_t *ns; size_t len, cap; bool extended, steady; } series;
typedef struct arm_bench {
    assay_bound_arm *bound; uint32_t n_bound;    /* [0] holds the session, the others further inputs of it */
    assay_timed_input *inputs;
    series warm;
} arm_bench;
typedef struct bench {
    const assay_work *w; const assay_json *design;
    arm_bench arms[2]; assay_timed_arm timed[2];
    assay_clock_facts clock; assay_json *settled;
    assay_guard *guard;                          /* NULL: a simulated device, which nothing of this machine disturbs */
    uint32_t process, blocks, done; uint8_t *order; uint32_t *input;
    assay_sample *samples; double *load; const char **dropped;
    assay_watch watch; bool watched; const char *stopped;
    bool information; double budget_s; int64_t deadline_ns; uint64_t changed;
    uint64_t invented_ns;                        /* a simulated device's time so far */
    assay_json *facts;                           /* what the backend said of both arms */
} bench;

static void push(series *s, uint64_t ns) {
    if (s->len == s->cap) {
        s->cap = s->cap ? s->cap * 2 : 64;
        s->ns = assay_xrealloc(s->ns, s->cap * sizeof *s->ns);
    }
    s->ns[s->len++] = ns;
}

/* ---- opening */

static const assay_json *rotation(const bench *b) { return assay_json_get(b->w->job, "rotation"); }

static uint32_t n_inputs(const bench *b) { return 1 + (uint32_t)assay_json_len(rotation(b)); }

static assay_timed_arm timed_arm(bench *b, const assay_bound_arm *a, assay_timed_input *inputs, uint32_t n) {
    return (assay_timed_arm){.b = a->b, .session = a->session, .inputs = inputs, .n_inputs = n, .last_ns = b->w->backend->last_ns, .invented_ns = &b->invented_ns};
}

/* The untimed first call on an input: its outputs are what every timed call must repeat. */
static assay_status first_call(bench *b, arm_bench *t, uint32_t i, uint64_t *ns, assay_error *err) {
    assay_bound_arm *a = &t->bound[i];
    assay_timed_input *in = &t->inputs[i];
    assay_timed_arm one = timed_arm(b, a, in, 1);
    uint64_t start;
    *in = (assay_timed_input){.binding = a->binding, .state = a->state, .out = a->out_names, .n_out = a->n_out};
    assay_status st = assay_timing_call(&one, 0, &start, ns, err);
    if (st == ASSAY_OK && a->b->fetch) st = a->b->fetch(a->session, a->binding, err);
    if (st != ASSAY_OK) return st;
    in->kept = assay_xcalloc(a->n_out + 1, sizeof *in->kept);
    for (uint32_t k = 0; k < a->n_out; k++) {
        size_t n = (size_t)a->out[k].t.nbytes;
        in->kept[k] = assay_xmalloc(n ? n : 1);
        memcpy(in->kept[k], a->out[k].t.data, n);
    }
    return ASSAY_OK;
}

static assay_status open_arm(bench *b, int i, assay_error *err) {
    arm_bench *t = &b->arms[i];
    const assay_json *request = assay_json_get(b->w->job, "request");
    const char *path = assay_json_string(b->w->job, i ? "arm_b_path" : "arm_path", "");
    const char *units = assay_json_string(request, i ? "compute_units_b" : "compute_units", "all");
    uint32_t n = n_inputs(b);
    t->bound = assay_xcalloc(n, sizeof *t->bound);
    t->inputs = assay_xcalloc(n, sizeof *t->inputs);
    assay_json_remove(b->facts, "numbers");      /* the other arm's */
    assay_status st = assay_arm_open(b->w, path, units, b->facts, &t->bound[0], err);
    t->n_bound = t->bound[0].b ? 1 : 0;
    for (uint32_t k = 0; st == ASSAY_OK && k < n; k++) {
        uint64_t ns = 0;
        if (k) assay_arm_share(&t->bound[0], assay_json_get(assay_json_at(rotation(b), k - 1), "inputs"), &t->bound[k]);
        t->n_bound = k + 1;
        st = assay_arm_bind(b->w, &t->bound[k], err);
        if (st == ASSAY_OK) st = first_call(b, t, k, &ns, err);
        if (k == 0) t->bound[0].first_ns = ns;
    }
    b->timed[i] = timed_arm(b, &t->bound[0], t->inputs, n);
    return st;
}

/* ---- warm-up */

/* Both arms in turn, so that neither warms the machine for the other. Stops at least_n calls and least_s seconds per arm. */
static assay_status warm_up(bench *b, size_t least_n, double least_s, assay_error *err) {
    double spent[2] = {0, 0};
    size_t from[2] = {b->arms[0].warm.len, b->arms[1].warm.len};
    for (;;) {
        bool enough = true;
        for (int i = 0; i < 2; i++) enough &= b->arms[i].warm.len - from[i] >= least_n && spent[i] >= least_s;
        bool late = b->information && assay_now_ns() >= b->deadline_ns - (int64_t)(b->budget_s * 0.5e9);
        if (enough || late) return ASSAY_OK;
        for (int i = 0; i < 2; i++) {
            uint64_t start, ns;
            uint32_t input = (uint32_t)(b->arms[i].warm.len % b->timed[i].n_inputs);
            assay_status st = assay_timing_call(&b->timed[i], input, &start, &ns, err);
            if (st != ASSAY_OK) return st;
            push(&b->arms[i].warm, ns);
            spent[i] += (double)ns * 1e-9;
        }
    }
}

static assay_status warm_up_until_steady(bench *b, assay_error *err) {
    size_t least_n = (size_t)assay_json_int(b->design, "warmup_min", 40);
    double least_s = assay_json_number(b->design, "warmup_s", 2);
    assay_status st = warm_up(b, least_n, least_s, err);
    for (int i = 0; i < 2; i++) b->arms[i].warm.steady = assay_is_steady(b->arms[i].warm.ns, b->arms[i].warm.len);
    if (st != ASSAY_OK || b->information || (b->arms[0].warm.steady && b->arms[1].warm.steady)) return st;
    size_t more = b->arms[0].warm.len > b->arms[1].warm.len ? b->arms[0].warm.len : b->arms[1].warm.len;
    st = warm_up(b, more, 0, err);
    for (int i = 0; i < 2; i++) {
        b->arms[i].warm.extended = true;
        b->arms[i].warm.steady = assay_is_steady(b->arms[i].warm.ns, b->arms[i].warm.len);
    }
    return st;
}

/* ---- blocks */

static double number_or_nan(const assay_json *j, const char *key) {
    const assay_json *v = assay_json_get(j, key);
    return v ? assay_json_value(v) : NAN;
}

static void set_watch(bench *b) {
    const assay_json *w = assay_json_get(b->design, "watch");
    b->watched = w != NULL && !b->information;
    b->watch = (assay_watch){.alpha = assay_json_number(w, "alpha", 0.05), .t_opt = assay_json_number(w, "t_opt", b->blocks),
                             .target_ms = number_or_nan(w, "target_ms"), .log = assay_log};
}

static void read_guard(const bench *b, assay_guard_state *out) {
    *out = (assay_guard_state){.load = -1, .waited_ns = -1};
    if (b->guard) assay_guard_read(b->guard, out);
}

/* A block and what a guard and the watched mode say of it; the guards are read between blocks only. */
static assay_status run_block(bench *b, uint32_t i, assay_guard_state *before, assay_error *err) {
    assay_sample *s = &b->samples[i * ASSAY_SLOTS];
    assay_guard_state after;
    b->load[i] = before->load;
    assay_status st = assay_timing_block(b->timed, b->process, i, b->order[i], b->input[i], s, &b->changed, err);
    if (st != ASSAY_OK) return st;
    read_guard(b, &after);
    b->dropped[i] = b->guard ? assay_guard_change(b->guard, before, &after) : NULL;
    for (int k = 0; b->dropped[i] && k < ASSAY_SLOTS; k++) s[k].flags |= ASSAY_SAMPLE_DROPPED;
    *before = after;
    b->done = i + 1;
    if (b->watched) {
        assay_watch_block(&b->watch, s);
        b->stopped = assay_watch_stop(&b->watch);
    }
    return ASSAY_OK;
}

static assay_status run_blocks(bench *b, assay_error *err) {
    assay_guard_state state;
    assay_status st = ASSAY_OK;
    read_guard(b, &state);
    for (uint32_t i = 0; st == ASSAY_OK && i < b->blocks && !b->stopped; i++) {
        if (b->information && i >= 1 && assay_now_ns() >= b->deadline_ns) break;
        st = run_block(b, i, &state, err);
    }
    return st;
}

/* ---- facts */

static void arm_facts(const arm_bench *t, assay_json *row) {
    const assay_bound_arm *a = &t->bound[0];
    assay_json_set(row, "compile_ns", a->compile_ns ? assay_json_new_number((double)a->compile_ns) : assay_json_new_null());
    assay_json_set_number(row, "load_ns", (double)a->load_ns);
    assay_json_set_number(row, "first_ns", (double)a->first_ns);
    assay_json_set_bool(row, "extended", t->warm.extended);
    assay_json_set_bool(row, "steady", t->warm.steady);
    assay_json *w = assay_json_set(row, "warmup_ns", assay_json_array());
    for (size_t i = 0; i < t->warm.len; i++) assay_json_append(w, assay_json_new_number((double)t->warm.ns[i]));
}

static void harness_facts(const bench *b, assay_json *t) {
    assay_json *clock = assay_json_set(t, "clock", assay_json_object());
    assay_json_set_string(clock, "name", b->w->backend->last_ns ? "invented" : "monotonic raw");
    assay_json_set_number(clock, "resolution_ns", b->clock.resolution_ns);
    assay_json_set_number(clock, "read_ns", b->clock.read_ns);
    assay_json_set_number(clock, "empty_ns", b->clock.empty_ns);
    assay_json_set_number(clock, "harness_ns", b->clock.harness_ns);
    assay_json_set(t, "processors", assay_json_clone(assay_json_get(b->settled, "processors")));
    assay_json_set(t, "priority", assay_json_clone(assay_json_get(b->settled, "priority")));
    assay_json_set_bool(t, "profiled", false);
    assay_json_set(t, "guards", b->guard ? assay_guard_offered(b->guard) : assay_json_array());
}

static void block_facts(const bench *b, assay_json *t) {
    assay_json *order = assay_json_set(t, "order", assay_json_array()), *load = assay_json_set(t, "load_average", assay_json_array());
    assay_json *dropped = assay_json_set(t, "dropped", assay_json_object()), *input = assay_json_set(t, "input", assay_json_array());
    assay_json *fixtures = assay_json_set(t, "fixtures", assay_json_array());
    assay_json_append(fixtures, assay_json_new_string(assay_json_string(b->w->job, "fixture", "")));
    for (size_t i = 0; i < assay_json_len(rotation(b)); i++)
        assay_json_append(fixtures, assay_json_new_string(assay_json_string(assay_json_at(rotation(b), i), "fixture", "")));
    for (uint32_t i = 0; i < b->done; i++) {
        assay_json_append(order, assay_json_new_string(b->order[i] ? "BAAB" : "ABBA"));
        assay_json_append(input, assay_json_new_number(b->input[i]));
        assay_json_append(load, b->load[i] >= 0 ? assay_json_new_number(b->load[i]) : assay_json_new_null());
        if (b->dropped[i]) assay_json_set_int(dropped, b->dropped[i], assay_json_int(dropped, b->dropped[i], 0) + 1);
    }
}

static void timing_facts(const bench *b, assay_json *trial) {
    assay_json *t = assay_json_set(trial, "timing", assay_json_object());
    assay_json_set_string(t, "design", "interleaved-blocks");
    assay_json_set_int(t, "process", b->process);
    assay_json_set_bool(t, "pilot", assay_json_bool(b->design, "pilot", false));
    assay_json_set_int(t, "planned_blocks", b->blocks);
    assay_json_set_int(t, "blocks", b->done);
    assay_json_set_bool(t, "cut_short", b->done < b->blocks && !b->stopped);
    assay_json_set_bool(t, "output_changed", b->changed > 0);
    assay_json_set_bool(t, "no_steady_state", !b->information && !(b->arms[0].warm.steady && b->arms[1].warm.steady));
    if (b->watched) {
        assay_json *w = assay_json_set(t, "watch", assay_json_object());
        assay_json_set_number(w, "alpha", b->watch.alpha);
        assay_json_set_number(w, "t_opt", b->watch.t_opt);
        assay_json_set_number(w, "target_ms", b->watch.target_ms);
        assay_json_set_string(w, "stopped", b->stopped);
    }
    harness_facts(b, t);
    block_facts(b, t);
    arm_facts(&b->arms[0], assay_json_set(t, "control", assay_json_object()));
    arm_facts(&b->arms[1], assay_json_set(t, "candidate", assay_json_object()));
}

static assay_status write_samples(const bench *b, assay_json *trial, assay_error *err) {
    size_t bytes = (size_t)b->done * ASSAY_SLOTS * sizeof(assay_sample);
    char *path = assay_path_join(b->w->out, "samples.bin"), hex[ASSAY_HEX];
    assay_status st = assay_write_inside(path, b->samples, bytes, err);
    assay_sha256_of(b->samples, bytes, hex);
    assay_json *row = assay_json_set(trial, "samples", assay_json_object());
    assay_json_set_string(row, "file", "samples.bin");
    assay_json_set_string(row, "sha256", hex);
    free(path);
    return st;
}

/* ---- */

static void close_arm(arm_bench *t) {
    for (uint32_t i = 0; i < t->n_bound; i++)
        for (uint32_t k = 0; t->inputs[i].kept && k < t->inputs[i].n_out; k++) free(t->inputs[i].kept[k]);
    for (uint32_t i = 0; i < t->n_bound; i++) free(t->inputs[i].kept);
    for (uint32_t i = t->n_bound; i-- > 1;) assay_arm_unbind(&t->bound[i]);
    if (t->n_bound) assay_arm_close(&t->bound[0]);
    free(t->bound);
    free(t->inputs);
    free(t->warm.ns);
}

static void close_bench(bench *b) {
    for (int i = 0; i < 2; i++) close_arm(&b->arms[i]);
    if (b->guard) assay_guard_close(b->guard);
    assay_json_free(b->settled);
    assay_json_free(b->facts);
    free(b->order);
    free(b->input);
    free(b->samples);
    free(b->load);
    free(b->dropped);
}

static void set_up(bench *b) {
    const char *seed = assay_json_string(b->design, "seed", "0");
    size_t n = b->blocks;
    b->process = (uint32_t)assay_json_int(b->design, "process", 0);
    b->information = b->w->backend->origin == ASSAY_ORIGIN_REFERENCE && !assay_json_bool(b->w->job, "reference_is_target", false);
    b->budget_s = assay_json_bool(b->design, "pilot", false) ? INFORMATION_S / 2 : INFORMATION_S;
    b->deadline_ns = assay_now_ns() + (int64_t)(b->budget_s * 1e9);
    b->order = assay_xcalloc(n, sizeof *b->order);
    b->input = assay_xcalloc(n, sizeof *b->input);
    b->samples = assay_xcalloc(n * ASSAY_SLOTS, sizeof *b->samples);
    b->load = assay_xcalloc(n, sizeof *b->load);
    b->dropped = assay_xcalloc(n, sizeof *b->dropped);
    assay_timing_order(seed, b->process, b->blocks, b->order);
    assay_timing_inputs(seed, b->process, b->blocks, n_inputs(b), b->input);
    set_watch(b);
    b->settled = assay_json_object();
    b->facts = assay_json_object();
    if (b->w->backend->last_ns) return;          /* neither this machine's clock nor its processors matter */
    assay_timing_settle(b->w->threads, b->settled);
    assay_clock_measure(&b->clock);
    /* Figures for information may come from a busy machine: nothing is decided on them. */
    const double max_wait = b->information ? 1 : assay_json_number(b->design, "max_wait", 0.02);
    b->guard = assay_guard_open("", assay_json_get(b->settled, "processors"), max_wait);
}

assay_status assay_work_timing(const assay_work *w, assay_json *trial, assay_error *err) {
    bench b = {.w = w, .design = assay_json_path(w->job, "request.design")};
    int64_t blocks = assay_json_int(b.design, "blocks", 8);
    if (blocks < 1 || blocks > BLOCKS_MAX) return assay_fail(err, ASSAY_E_INPUT, "design of a timing trial: %lld blocks", (long long)blocks);
    if (n_inputs(&b) > INPUTS_MAX) return assay_fail(err, ASSAY_E_LIMIT, "a timing trial rotates at most %d inputs", INPUTS_MAX);
    b.blocks = (uint32_t)blocks;
    set_up(&b);
    assay_status st = open_arm(&b, 0, err);
    if (st == ASSAY_OK) st = open_arm(&b, 1, err);
    if (st == ASSAY_OK) st = warm_up_until_steady(&b, err);
    if (st == ASSAY_OK) st = run_blocks(&b, err);
    if (st == ASSAY_OK) {
        timing_facts(&b, trial);
        st = write_samples(&b, trial, err);
    }
    assay_work_take_facts(w, b.facts, trial);
    close_bench(&b);
    return st;
}
