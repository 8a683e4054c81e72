/* What the clock can tell apart and what the harness itself costs: an arm that does nothing, timed like any other. */
#include "run/timing.h"
#include "base/process.h"
#include <stdlib.h>

enum { READS = 2000, BLOCKS = 256 };

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *v, size_t n) {
    qsort(v, n, sizeof *v, by_value);
    return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

static void measure_reading(assay_clock_facts *out) {
    int64_t start = assay_now_ns(), last = start, least = 0;
    for (int i = 0; i < READS; i++) {
        int64_t now = assay_now_ns();
        if (now > last && (least == 0 || now - last < least)) least = now - last;
        last = now;
    }
    out->resolution_ns = (double)least;
    out->read_ns = (double)(last - start) / READS;
}

static assay_status do_nothing(void *session, void *binding, void *state, assay_error *err) {
    (void)session, (void)binding, (void)state, (void)err;
    return ASSAY_OK;
}

void assay_clock_measure(assay_clock_facts *out) {
    static const assay_backend nothing = {.struct_size = sizeof nothing, .name = "empty", .predict = do_nothing};
    assay_timed_input none = {.n_out = 0};
    assay_timed_arm one = {.b = &nothing, .inputs = &none, .n_inputs = 1}, empty[2] = {one, one};
    static double dur[BLOCKS * ASSAY_SLOTS], wall[BLOCKS];
    assay_sample s[ASSAY_SLOTS];
    uint64_t changed = 0;
    measure_reading(out);
    for (uint32_t i = 0; i < BLOCKS; i++) {
        int64_t start = assay_now_ns();
        assay_timing_block(empty, 0, i, i % 2, 0, s, &changed, NULL);
        wall[i] = (double)(assay_now_ns() - start) / ASSAY_SLOTS;
        for (uint32_t k = 0; k < ASSAY_SLOTS; k++) dur[i * ASSAY_SLOTS + k] = (double)s[k].dur_ns;
    }
    out->empty_ns = median(dur, BLOCKS * ASSAY_SLOTS);
    double rest = median(wall, BLOCKS) - 2 * out->read_ns;
    out->harness_ns = rest > 0 ? rest : 0;
}
