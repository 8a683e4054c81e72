/* The run side of the latency design (M63-M66): blocks, orders, warm-up, guards, clock, the watched mode. */
#include "suite.h"
#include "run/guard.h"
#include "run/steady.h"
#include "run/timing.h"
#include "base/fmath.h"
#include "base/fs.h"
#include "base/names.h"
#include "base/watch.h"
#include "tensor/generate.h"
#include <math.h>
#include <unistd.h>

#define NEAR(a, b) CU_ASSERT_DOUBLE_EQUAL(a, b, 1e-12 * (1.0 + fabs((double)(b))))

/* ---- warm-up */

static void mser_of_the_worked_vector(void) {
    static const uint64_t means[8] = {18000, 14000, 12000, 11000, 10500, 10250, 10500, 10250};
    static const double want[5] = {0.80615234375, 0.2306851311953353, 0.0625, 0.015, 0.00390625};
    uint64_t ns[42];
    double got[5];
    size_t half;
    for (size_t i = 0; i < 42; i++) ns[i] = i < 40 ? means[i / 5] + (uint64_t)(i % 5) - 2 : 99000;     /* the rest of 2 is dropped */
    CU_ASSERT_EQUAL(assay_mser5(ns, 42, &half, got), 4);
    CU_ASSERT_EQUAL(half, 4);
    for (int k = 0; k < 5; k++) NEAR(got[k] / 1e6, want[k]);
    CU_ASSERT_FALSE(assay_is_steady(ns, 42));
}
static void a_settled_series_is_steady(void) {
    uint64_t ns[40];
    for (size_t i = 0; i < 40; i++) ns[i] = i < 5 ? 20000 : 10000 + (i * 37) % 100;
    CU_ASSERT_TRUE(assay_is_steady(ns, 40));
    CU_ASSERT_FALSE(assay_is_steady(ns, 9));     /* one group of five says nothing */
    CU_ASSERT_FALSE(assay_is_steady(ns, 0));
}

/* A little noise about one level, without any drift: the sum of four even deviates. */
static void push_noise(uint64_t *ns, size_t from, size_t to, uint64_t *state) {
    for (size_t i = from; i < to; i++) {
        ns[i] = 1000000;
        for (int k = 0; k < 4; k++) {
            *state = *state * 6364136223846793005u + 1442695040888963407u;
            ns[i] += *state >> 51;
        }
    }
}
/* Of 1000 such series with `least` predictions, how many never settle though they were extended once. */
static unsigned never_settles(size_t least) {
    uint64_t ns[80], state = 1;
    unsigned never = 0;
    for (int i = 0; i < 1000; i++) {
        push_noise(ns, 0, least, &state);
        if (assay_is_steady(ns, least)) continue;
        push_noise(ns, least, 2 * least, &state);
        never += !assay_is_steady(ns, 2 * least);
    }
    return never;
}
/* Why `warmup_min` is 40 (docs/reference/statistics.md). */
static void noise_settles_in_forty_predictions_not_in_twenty(void) {
    CU_ASSERT_TRUE(never_settles(40) <= 10);
    CU_ASSERT_TRUE(never_settles(20) >= 25);
}

/* ---- order and inputs */

/* M63_yes */
static void orders_are_balanced_and_seeded(void) {
    uint8_t a[40], b[40], c[40];
    uint32_t first = 0;
    assay_timing_order("7", 0, 40, a);
    assay_timing_order("7", 0, 40, b);
    assay_timing_order("7", 1, 40, c);
    for (int i = 0; i < 40; i++) first += a[i];
    CU_ASSERT_EQUAL(first, 20);
    CU_ASSERT_EQUAL(memcmp(a, b, sizeof a), 0);
    CU_ASSERT_NOT_EQUAL(memcmp(a, c, sizeof a), 0);
}
static void inputs_are_spread_evenly(void) {
    uint32_t in[31], count[3] = {0};
    bool in_turn = true;
    assay_timing_inputs("7", 0, 31, 3, in);
    for (uint32_t i = 0; i < 31; i++) {
        CU_ASSERT_FATAL(in[i] < 3);
        count[in[i]]++;
        in_turn &= in[i] == i % 3;
    }
    CU_ASSERT_TRUE(count[0] == 11 && count[1] == 10 && count[2] == 10);
    CU_ASSERT_FALSE(in_turn);
    assay_timing_inputs("7", 0, 31, 1, in);
    for (uint32_t i = 0; i < 31; i++) CU_ASSERT_EQUAL(in[i], 0);
}

/* ---- a block, on a backend that notes its calls */

typedef struct fake { char calls[32]; size_t n; float out[2]; int wrong_at; } fake;
static assay_status fake_predict(void *session, void *binding, void *state, assay_error *err) {
    fake *f = binding;
    (void)state, (void)err;
    size_t *n = session;
    f->calls[f->n++] = (char)('0' + *n);
    f->out[0] = (int)*n == f->wrong_at ? 2.0f : 1.0f;
    ++*n;
    return ASSAY_OK;
}
static assay_status fake_fail(void *session, void *binding, void *state, assay_error *err) {
    (void)session, (void)binding, (void)state;
    return assay_fail(err, ASSAY_E_INTERNAL, "the unit is gone");
}

static void run_fake(fake f[2], uint8_t order, int wrong_at, assay_sample out[4], uint64_t *changed) {
    static const assay_backend backend = {.struct_size = sizeof backend, .name = "fake", .predict = fake_predict};
    float kept[2] = {1.0f, 0.0f};
    void *keep[1] = {kept};
    int64_t shape[1] = {2};
    assay_named_tensor named[2];
    assay_timed_input in[2];
    assay_timed_arm arms[2];
    size_t calls = 0;
    for (int i = 0; i < 2; i++) {
        f[i] = (fake){.wrong_at = wrong_at};
        named[i] = (assay_named_tensor){"y", assay_tensor_view(ASSAY_F32, 1, shape, f[i].out)};
        in[i] = (assay_timed_input){.binding = &f[i], .out = &named[i], .kept = keep, .n_out = 1};
        arms[i] = (assay_timed_arm){.b = &backend, .session = &calls, .inputs = &in[i], .n_inputs = 1};
    }
    *changed = 0;
    CU_ASSERT_EQUAL(assay_timing_block(arms, 3, 9, order, 0, out, changed, NULL), ASSAY_OK);
}
static void a_block_is_abba_or_baab(void) {
    fake f[2];
    assay_sample s[4];
    uint64_t changed;
    run_fake(f, 0, -1, s, &changed);
    CU_ASSERT_STRING_EQUAL(f[0].calls, "03");
    CU_ASSERT_STRING_EQUAL(f[1].calls, "12");
    for (uint32_t i = 0; i < 4; i++) CU_ASSERT_TRUE(s[i].process == 3 && s[i].block == 9 && s[i].slot == i && s[i].flags == 0);
    run_fake(f, 1, -1, s, &changed);
    CU_ASSERT_STRING_EQUAL(f[0].calls, "12");
    CU_ASSERT_STRING_EQUAL(f[1].calls, "03");
    CU_ASSERT_TRUE(s[0].arm == 1 && s[1].arm == 0 && s[2].arm == 0 && s[3].arm == 1 && changed == 0);
}
static void a_changed_output_is_seen(void) {
    fake f[2];
    assay_sample s[4];
    uint64_t changed;
    run_fake(f, 0, 2, s, &changed);
    CU_ASSERT_EQUAL(changed, 1);
    for (int i = 0; i < 4; i++) CU_ASSERT_EQUAL(s[i].flags, i == 2 ? ASSAY_SAMPLE_CHANGED : 0);
}
static void a_failing_call_ends_the_block(void) {
    static const assay_backend backend = {.struct_size = sizeof backend, .name = "fake", .predict = fake_fail};
    assay_timed_input in = {.n_out = 0};
    assay_timed_arm arms[2] = {{.b = &backend, .inputs = &in, .n_inputs = 1}, {.b = &backend, .inputs = &in, .n_inputs = 1}};
    assay_sample s[4];
    assay_error err;
    uint64_t changed = 0;
    CU_ASSERT_EQUAL(assay_timing_block(arms, 0, 0, 0, 0, s, &changed, &err), ASSAY_E_INTERNAL);
}

/* ---- clock */

static void the_clock_is_measured(void) {
    assay_clock_facts c;
    assay_clock_measure(&c);
    CU_ASSERT_TRUE(c.resolution_ns > 0 && c.resolution_ns < 1e7);
    CU_ASSERT_TRUE(c.read_ns > 0 && c.empty_ns >= 0 && c.harness_ns >= 0);
}

/* ---- guards, on a made-up system */

static char *fake_system(void) {
    char *root = assay_xprintf("/tmp/assay-guard-%ld", (long)getpid());
    assay_remove_tree(root, NULL);
    return root;
}
static void put(const char *root, const char *file, const char *text) {
    char *path = assay_xprintf("%s/%s", root, file), *dir = assay_path_dir(path);
    CU_ASSERT_FATAL(assay_mkdirs(dir, NULL) == ASSAY_OK);
    FILE *f = fopen(path, "w");
    CU_ASSERT_FATAL(f != NULL);
    fputs(text, f);
    fclose(f);
    free(path);
    free(dir);
}

typedef struct plant { const char *file, *before, *after, *code; } plant;
static void guards_tell_what_changed(void) {
    static const plant plants[] = {
        {"sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n", "hpet\n", "clock_source"},
        {"sys/firmware/acpi/platform_profile", "balanced\n", "low-power\n", "power_mode"},
        {"sys/class/power_supply/AC/online", "1\n", "0\n", "power_source"},
        {"sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", "3\n", "4\n", "throttled"},
        {"sys/devices/system/cpu/cpu1/cpufreq/scaling_max_freq", "3000000\n", "1200000\n", "frequency_limit"},
        {"sys/class/thermal/cooling_device0/cur_state", "0\n", "2\n", "throttled"},
        {"proc/loadavg", "0.20 0.10 0.00 1/90 1234\n", "0.90 0.10 0.00 4/90 1234\n", "load"},
        {"proc/thread-self/schedstat", "500 100 3\n", "500 900000000000 4\n", "waited"},
    };
    char *root = fake_system();
    assay_json *cpus = assay_json_array();
    assay_json_append(cpus, assay_json_new_number(1));
    put(root, "sys/class/power_supply/AC/type", "Mains\n");
    put(root, "sys/class/thermal/cooling_device0/type", "Processor\n");
    for (size_t i = 0; i < sizeof plants / sizeof *plants; i++) put(root, plants[i].file, plants[i].before);
    assay_guard *g = assay_guard_open(root, cpus, 0.02);
    for (size_t i = 0; i < sizeof plants / sizeof *plants; i++) {
        assay_guard_state a, b, c;
        assay_guard_read(g, &a);
        assay_guard_read(g, &b);
        CU_ASSERT_PTR_NULL(assay_guard_change(g, &a, &b));
        put(root, plants[i].file, plants[i].after);
        assay_guard_read(g, &c);
        const char *code = assay_guard_change(g, &b, &c);
        CU_ASSERT_TRUE(code && assay_streq(code, plants[i].code));
    }
    assay_guard *lenient = assay_guard_open(root, cpus, 1);
    assay_guard_state a, b;
    assay_guard_read(lenient, &a);
    put(root, "proc/thread-self/schedstat", "500 1900000000000 5\n");
    assay_guard_read(lenient, &b);
    CU_ASSERT_PTR_NULL(assay_guard_change(lenient, &a, &b));
    assay_guard_close(lenient);
    assay_json *offered = assay_guard_offered(g);
    CU_ASSERT_EQUAL(assay_json_len(offered), 7);
    assay_json_free(offered);
    assay_guard_close(g);
    assay_json_free(cpus);
    assay_remove_tree(root, NULL);
    free(root);
}
static void guards_leave_other_things_alone(void) {
    char *root = fake_system();
    assay_guard_state a, b;
    put(root, "sys/class/thermal/cooling_device0/type", "Fan\n");          /* a fan may turn faster */
    put(root, "sys/class/thermal/cooling_device0/cur_state", "0\n");
    put(root, "sys/class/power_supply/BAT0/type", "Battery\n");
    put(root, "sys/class/power_supply/BAT0/online", "1\n");
    put(root, "proc/loadavg", "0.20 0.10 0.00 1/90 1234\n");
    put(root, "proc/thread-self/schedstat", "500 100 3\n");
    assay_guard *g = assay_guard_open(root, NULL, 0.02);
    assay_guard_read(g, &a);
    put(root, "proc/thread-self/schedstat", "900000 101 4\n");            /* it ran, and waited for a nanosecond */
    put(root, "sys/class/thermal/cooling_device0/cur_state", "3\n");
    put(root, "proc/loadavg", "0.60 0.10 0.00 9/90 1234\n");
    assay_guard_read(g, &b);
    CU_ASSERT_PTR_NULL(assay_guard_change(g, &a, &b));
    put(root, "proc/loadavg", "nonsense\n");
    put(root, "proc/thread-self/schedstat", "500\n");
    assay_guard_read(g, &b);
    CU_ASSERT_TRUE(b.load < 0 && b.waited_ns < 0);                         /* not known, and not a change */
    CU_ASSERT_PTR_NULL(assay_guard_change(g, &a, &b));
    put(root, "proc/thread-self/schedstat", "0 0 0\n");                    /* a kernel that does not count */
    assay_guard_read(g, &b);
    CU_ASSERT_TRUE(b.waited_ns < 0);
    assay_guard_close(g);
    g = assay_guard_open("/nowhere", NULL, 0.02);
    assay_json *offered = assay_guard_offered(g);
    CU_ASSERT_EQUAL(assay_json_len(offered), 0);                           /* what is absent is not "unchanged" */
    assay_json_free(offered);
    assay_guard_close(g);
    assay_remove_tree(root, NULL);
    free(root);
}

/* ---- the watched mode */

static void feed(assay_watch *w, double gain_ms, bool baab, uint32_t flags) {
    assay_sample s[4];
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t arm = baab ? (i == 0 || i == 3) : (i == 1 || i == 2);
        s[i] = (assay_sample){.slot = i, .arm = arm, .dur_ns = (uint64_t)(10e6 + (arm ? 0 : gain_ms * 1e6)), .flags = flags};
    }
    assay_watch_block(w, s);
}
static assay_watch watch_of(double target_ms) { return (assay_watch){.alpha = 0.05, .t_opt = 40, .target_ms = target_ms, .log = assay_log}; }

/* Gains 0.5 and 1.5 in turn, 20 blocks: mean 1, s = sqrt(20/76); half width worked out apart (python). */
static void the_sequence_is_the_published_formula(void) {
    assay_watch w = watch_of(NAN);
    double lo, hi;
    for (int i = 0; i < 19; i++) feed(&w, i % 2 ? 1.5 : 0.5, i % 2, 0);
    CU_ASSERT_FALSE(assay_watch_interval(&w, &lo, &hi));                   /* no look before block 20 */
    feed(&w, 1.5, true, 0);
    CU_ASSERT_TRUE_FATAL(assay_watch_interval(&w, &lo, &hi));
    NEAR((lo + hi) / 2, 1.0);
    CU_ASSERT_DOUBLE_EQUAL((hi - lo) / 2, 0.3537095897735598, 1e-12);
    CU_ASSERT_STRING_EQUAL(assay_watch_stop(&w), "faster");
    feed(&w, 1.0, false, 1);                                               /* dropped by a guard: as if it had not been */
    CU_ASSERT_EQUAL(w.n, 20);
    feed(&w, 1.0, false, 0);
    CU_ASSERT_PTR_NULL(assay_watch_stop(&w));                              /* one order more often than the other: no look */
}
static const char *stop_at(double gain, double target) {
    assay_watch w = watch_of(target);
    for (int i = 0; i < 30; i++) feed(&w, gain + (i % 4 < 2 ? 0.125 : -0.125), i % 2, 0);
    return assay_watch_stop(&w);
}
static void it_stops_for_a_reason(void) {
    CU_ASSERT_STRING_EQUAL(stop_at(-1, NAN), "slower");
    CU_ASSERT_STRING_EQUAL(stop_at(0.5, 2), "futile");
    CU_ASSERT_STRING_EQUAL(stop_at(3, 2), "faster");
    CU_ASSERT_PTR_NULL(stop_at(2, 2));                                     /* the prize is not decided */
    CU_ASSERT_PTR_NULL(stop_at(0, NAN));
}
/* A look after every other block up to 300, no effect: a fixed-n interval would stop in a quarter of such runs (statistics.md 3.6.3). */
static void looking_often_raises_no_alarm(void) {
    int stops = 0;
    uint64_t stream = assay_stream("test/watch");
    for (uint64_t run = 0; run < 400; run++) {
        assay_watch w = {.alpha = 0.05, .t_opt = 300, .target_ms = NAN, .log = assay_log};
        const char *stopped = NULL;
        for (uint64_t i = 0; i < 300 && !stopped; i++) {
            feed(&w, assay_normal12(stream, run * 300 + i), i % 2, 0);
            stopped = assay_watch_stop(&w);
        }
        stops += stopped != NULL;
    }
    CU_ASSERT_TRUE(stops <= 20);                                           /* 5 % of 400 */
}

ASSAY_SUITE("timing", TEST(mser_of_the_worked_vector), TEST(a_settled_series_is_steady), TEST(noise_settles_in_forty_predictions_not_in_twenty), TEST(orders_are_balanced_and_seeded), TEST(inputs_are_spread_evenly),
            TEST(a_block_is_abba_or_baab), TEST(a_changed_output_is_seen), TEST(a_failing_call_ends_the_block), TEST(the_clock_is_measured),
            TEST(guards_tell_what_changed), TEST(guards_leave_other_things_alone), TEST(the_sequence_is_the_published_formula), TEST(it_stops_for_a_reason),
            TEST(looking_often_raises_no_alarm))
