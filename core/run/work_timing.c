/* In the worker: one fresh process of the interleaved latency design (statistics.md 3.4): compile, load and first call apart,
 * warm-up with MSER-5, then ABBA / BAAB blocks in an order balanced and seeded by the plan.
 *
 * trial.json "timing": {design, process, pilot, clock, planned_blocks, blocks, cut_short, order:["ABBA", ...],
 *   control, candidate: {compile_ns, load_ns, first_ns, warmup_ns:[...], extended, steady}, load_average:[per block],
 *   output_changed, no_steady_state}. samples.bin: assay_sample records; arm 0 = control (A), 1 = candidate (B); flags bit 1 = output changed
 * (bit 0 marks a block that a guard dropped). */
#include "run/work.h"
#include "base/digest.h"
#include "base/fs.h"
#include "base/names.h"
#include "base/process.h"
#include "tensor/generate.h"
#include <stdlib.h>
#include <string.h>
#include <stdio.h>

enum { SLOTS = 4, GROUP = 5, BLOCKS_MAX = 100000, OUTPUT_CHANGED = 2 };
/* A backend that is not a target is timed for information only: no warm-up and block begins after this many seconds, one
 * block aside. */
#define INFORMATION_S 3.0

typedef struct series { uint64_t *ns; size_t len, cap; bool extended, steady; } series;
typedef struct timed_arm { assay_bound_arm a; void **kept; series warm; } timed_arm;
typedef struct bench {
    const assay_work *w; const assay_json *design;
    timed_arm arms[2];
    uint32_t process, blocks, done; uint8_t *order;          /* order[b] 0 = ABBA, 1 = BAAB */
    assay_sample *samples; double *load;
    bool information; int64_t deadline_ns; uint64_t changed;
} bench;

static void push(series *s, uint64_t ns) {
    if (s->len == s->cap) {
        s->cap = s->cap ? s->cap * 2 : 64;
        s->ns = assay_xrealloc(s->ns, s->cap * sizeof *s->ns);
    }
    s->ns[s->len++] = ns;
}

static double sum_squares_after(const double *z, size_t k, size_t n) {
    double mean = 0, sum = 0;
    for (size_t j = k; j < n; j++) mean += z[j];
    mean /= (double)(n - k);
    for (size_t j = k; j < n; j++) sum += (z[j] - mean) * (z[j] - mean);
    return sum;
}

/* MSER-5 (White 1997) as statistics.md 3.4 states it: the series is steady when the best truncation lies before its middle. */
static bool is_steady(const series *s) {
    size_t n = s->len / GROUP, half = n / 2, best = 0;
    if (n < 2) return false;
    double *z = assay_xcalloc(n, sizeof *z), least = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < GROUP; k++) z[i] += (double)s->ns[i * GROUP + k];
        z[i] /= GROUP;
    }
    for (size_t k = 0; k <= half; k++) {
        double v = sum_squares_after(z, k, n) / ((double)(n - k) * (double)(n - k));
        if (k == 0 || v < least) {
            least = v;
            best = k;
        }
    }
    free(z);
    return best < half;
}

static assay_status timed_call(timed_arm *t, uint64_t *start_ns, uint64_t *dur_ns, assay_error *err) {
    int64_t t0 = assay_now_ns();
    assay_status st = t->a.b->predict(t->a.session, t->a.binding, t->a.state, err);
    int64_t t1 = assay_now_ns();
    *start_ns = (uint64_t)t0;
    *dur_ns = (uint64_t)(t1 - t0);
    return st;
}

/* Untimed: brings the outputs over and compares every byte with the first call's. */
static assay_status check_outputs(timed_arm *t, bool *changed, assay_error *err) {
    assay_status st = t->a.b->fetch ? t->a.b->fetch(t->a.session, t->a.binding, err) : ASSAY_OK;
    *changed = false;
    for (uint32_t i = 0; st == ASSAY_OK && i < t->a.n_out; i++)
        if (memcmp(t->kept[i], t->a.out[i].t.data, (size_t)t->a.out[i].t.nbytes) != 0) *changed = true;
    return st;
}

static assay_status open_arm(bench *b, int i, assay_error *err) {
    timed_arm *t = &b->arms[i];
    const assay_json *request = assay_json_get(b->w->job, "request");
    const char *path = assay_json_string(b->w->job, i ? "arm_b_path" : "arm_path", "");
    const char *units = assay_json_string(request, i ? "compute_units_b" : "compute_units", "all");
    uint64_t start;
    assay_status st = assay_arm_open(b->w, path, units, NULL, &t->a, err);
    if (st == ASSAY_OK) st = assay_arm_bind(b->w, &t->a, err);
    if (st == ASSAY_OK) st = timed_call(t, &start, &t->a.first_ns, err);
    if (st == ASSAY_OK && t->a.b->fetch) st = t->a.b->fetch(t->a.session, t->a.binding, err);
    if (st != ASSAY_OK) return st;
    t->kept = assay_xcalloc(t->a.n_out + 1, sizeof *t->kept);
    for (uint32_t k = 0; k < t->a.n_out; k++) {
        size_t n = (size_t)t->a.out[k].t.nbytes;
        t->kept[k] = assay_xmalloc(n ? n : 1);
        memcpy(t->kept[k], t->a.out[k].t.data, n);
    }
    return ASSAY_OK;
}

/* Both arms in turn, so that neither warms the machine for the other. Stops at least_n calls and least_s seconds per arm. */
static assay_status warm_up(bench *b, size_t least_n, double least_s, assay_error *err) {
    double spent[2] = {0, 0};
    size_t from[2] = {b->arms[0].warm.len, b->arms[1].warm.len};
    for (;;) {
        bool enough = true;
        for (int i = 0; i < 2; i++) enough &= b->arms[i].warm.len - from[i] >= least_n && spent[i] >= least_s;
        bool late = b->information && assay_now_ns() >= b->deadline_ns - (int64_t)(INFORMATION_S * 0.5e9);
        if (enough || late) return ASSAY_OK;
        for (int i = 0; i < 2; i++) {
            uint64_t start, ns;
            assay_status st = timed_call(&b->arms[i], &start, &ns, err);
            if (st != ASSAY_OK) return st;
            push(&b->arms[i].warm, ns);
            spent[i] += (double)ns * 1e-9;
        }
    }
}

static assay_status warm_up_until_steady(bench *b, assay_error *err) {
    size_t least_n = (size_t)assay_json_int(b->design, "warmup_min", 20);
    double least_s = assay_json_number(b->design, "warmup_s", 2);
    assay_status st = warm_up(b, least_n, least_s, err);
    for (int i = 0; i < 2; i++) b->arms[i].warm.steady = is_steady(&b->arms[i].warm);
    if (st != ASSAY_OK || b->information || (b->arms[0].warm.steady && b->arms[1].warm.steady)) return st;
    size_t more = b->arms[0].warm.len > b->arms[1].warm.len ? b->arms[0].warm.len : b->arms[1].warm.len;
    st = warm_up(b, more, 0, err);
    for (int i = 0; i < 2; i++) {
        b->arms[i].warm.extended = true;
        b->arms[i].warm.steady = is_steady(&b->arms[i].warm);
    }
    return st;
}

/* Half of the blocks ABBA, half BAAB, permuted by the stream latency/order/<seed>/<process>. */
static void make_order(bench *b) {
    char *label = assay_xprintf("latency/order/%s/%u", assay_json_string(b->design, "seed", "0"), b->process);
    uint64_t stream = assay_stream(label);
    free(label);
    for (uint32_t i = 0; i < b->blocks; i++) b->order[i] = i < b->blocks / 2 ? 0 : 1;
    for (uint32_t i = b->blocks; i-- > 1;) {
        uint32_t j = (uint32_t)(((unsigned __int128)assay_u64(stream, b->blocks - 1 - i) * (i + 1)) >> 64);
        uint8_t keep = b->order[i];
        b->order[i] = b->order[j];
        b->order[j] = keep;
    }
}

/* One block: nothing is allocated, written or read here besides the calls themselves. */
static assay_status run_block(bench *b, uint32_t block, assay_error *err) {
    static const uint8_t slots[2][SLOTS] = {{0, 1, 1, 0}, {1, 0, 0, 1}};
    for (uint32_t s = 0; s < SLOTS; s++) {
        uint32_t arm = slots[b->order[block]][s];
        assay_sample *out = &b->samples[block * SLOTS + s];
        bool changed = false;
        *out = (assay_sample){.process = b->process, .block = block, .slot = s, .arm = arm};
        assay_status st = timed_call(&b->arms[arm], &out->start_ns, &out->dur_ns, err);
        if (st == ASSAY_OK) st = check_outputs(&b->arms[arm], &changed, err);
        if (st != ASSAY_OK) return st;
        out->flags = changed ? OUTPUT_CHANGED : 0u;
        b->changed += changed;
    }
    return ASSAY_OK;
}

static assay_status run_blocks(bench *b, assay_error *err) {
    for (uint32_t i = 0; i < b->blocks; i++) {
        if (b->information && i >= 1 && assay_now_ns() >= b->deadline_ns) break;
        double load[1];
        b->load[i] = getloadavg(load, 1) == 1 ? load[0] : -1;
        assay_status st = run_block(b, i, err);
        if (st != ASSAY_OK) return st;
        b->done = i + 1;
    }
    return ASSAY_OK;
}

static void arm_facts(const timed_arm *t, assay_json *row) {
    assay_json_set(row, "compile_ns", t->a.compile_ns ? assay_json_new_number((double)t->a.compile_ns) : assay_json_new_null());
    assay_json_set_number(row, "load_ns", (double)t->a.load_ns);
    assay_json_set_number(row, "first_ns", (double)t->a.first_ns);
    assay_json_set_bool(row, "extended", t->warm.extended);
    assay_json_set_bool(row, "steady", t->warm.steady);
    assay_json *w = assay_json_set(row, "warmup_ns", assay_json_array());
    for (size_t i = 0; i < t->warm.len; i++) assay_json_append(w, assay_json_new_number((double)t->warm.ns[i]));
}

static void timing_facts(const bench *b, assay_json *trial) {
    assay_json *t = assay_json_set(trial, "timing", assay_json_object());
    assay_json_set_string(t, "design", "interleaved-blocks");
    assay_json_set_int(t, "process", b->process);
    assay_json_set_bool(t, "pilot", assay_json_bool(b->design, "pilot", false));
    assay_json_set_string(t, "clock", "monotonic raw");
    assay_json_set_int(t, "planned_blocks", b->blocks);
    assay_json_set_int(t, "blocks", b->done);
    assay_json_set_bool(t, "cut_short", b->done < b->blocks);
    assay_json_set_bool(t, "output_changed", b->changed > 0);
    assay_json_set_bool(t, "no_steady_state", !b->information && !(b->arms[0].warm.steady && b->arms[1].warm.steady));
    arm_facts(&b->arms[0], assay_json_set(t, "control", assay_json_object()));
    arm_facts(&b->arms[1], assay_json_set(t, "candidate", assay_json_object()));
    assay_json *order = assay_json_set(t, "order", assay_json_array()), *load = assay_json_set(t, "load_average", assay_json_array());
    for (uint32_t i = 0; i < b->done; i++) {
        assay_json_append(order, assay_json_new_string(b->order[i] ? "BAAB" : "ABBA"));
        assay_json_append(load, b->load[i] >= 0 ? assay_json_new_number(b->load[i]) : assay_json_new_null());
    }
}

static assay_status write_samples(const bench *b, assay_json *trial, assay_error *err) {
    size_t bytes = (size_t)b->done * SLOTS * sizeof(assay_sample);
    char *path = assay_path_join(b->w->out, "samples.bin"), hex[ASSAY_HEX];
    assay_status st = assay_write_inside(path, b->samples, bytes, err);
    assay_sha256_of(b->samples, bytes, hex);
    assay_json *row = assay_json_set(trial, "samples", assay_json_object());
    assay_json_set_string(row, "file", "samples.bin");
    assay_json_set_string(row, "sha256", hex);
    free(path);
    return st;
}

static void close_bench(bench *b) {
    for (int i = 0; i < 2; i++) {
        for (uint32_t k = 0; b->arms[i].kept && k < b->arms[i].a.n_out; k++) free(b->arms[i].kept[k]);
        free(b->arms[i].kept);
        free(b->arms[i].warm.ns);
        if (b->arms[i].a.b) assay_arm_close(&b->arms[i].a);
    }
    free(b->order);
    free(b->samples);
    free(b->load);
}

assay_status assay_work_timing(const assay_work *w, assay_json *trial, assay_error *err) {
    bench b = {.w = w, .design = assay_json_path(w->job, "request.design")};
    int64_t blocks = assay_json_int(b.design, "blocks", 8);
    if (blocks < 1 || blocks > BLOCKS_MAX) return assay_fail(err, ASSAY_E_INPUT, "design of a timing trial: %lld blocks", (long long)blocks);
    b.blocks = (uint32_t)blocks;
    b.process = (uint32_t)assay_json_int(b.design, "process", 0);
    b.information = w->backend->origin == ASSAY_ORIGIN_REFERENCE;
    b.order = assay_xcalloc(b.blocks, sizeof *b.order);
    b.samples = assay_xcalloc((size_t)b.blocks * SLOTS, sizeof *b.samples);
    b.load = assay_xcalloc(b.blocks, sizeof *b.load);
    b.deadline_ns = assay_now_ns() + (int64_t)(INFORMATION_S * 1e9);
    make_order(&b);
    assay_status st = open_arm(&b, 0, err);
    if (st == ASSAY_OK) st = open_arm(&b, 1, err);
    if (st == ASSAY_OK) st = warm_up_until_steady(&b, err);
    if (st == ASSAY_OK) st = run_blocks(&b, err);
    if (st == ASSAY_OK) {
        timing_facts(&b, trial);
        st = write_samples(&b, trial, err);
    }
    close_bench(&b);
    return st;
}
