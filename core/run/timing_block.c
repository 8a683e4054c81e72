/* The timed block, and the seeded orders of blocks and inputs (M63). */
#include "run/timing.h"
#include "base/names.h"
#include "base/process.h"
#include "tensor/generate.h"
#include <stdlib.h>
#include <string.h>

assay_status assay_timing_call(const assay_timed_arm *a, uint32_t input, uint64_t *start_ns, uint64_t *dur_ns, assay_error *err) {
    const assay_timed_input *in = &a->inputs[input];
    int64_t t0 = assay_now_ns();
    assay_status st = a->b->predict(a->session, in->binding, in->state, err);
    int64_t t1 = assay_now_ns();
    *start_ns = (uint64_t)t0;
    *dur_ns = (uint64_t)(t1 - t0);
    if (st == ASSAY_OK && a->last_ns) {
        *start_ns = *a->invented_ns;
        *dur_ns = a->last_ns(a->session);
        *a->invented_ns += *dur_ns;
    }
    return st;
}

/* Untimed: brings the outputs over and compares every byte with the first call's. */
static assay_status check_outputs(const assay_timed_arm *a, uint32_t input, bool *changed, assay_error *err) {
    const assay_timed_input *in = &a->inputs[input];
    assay_status st = a->b->fetch ? a->b->fetch(a->session, in->binding, err) : ASSAY_OK;
    *changed = false;
    for (uint32_t i = 0; st == ASSAY_OK && i < in->n_out; i++)
        if (memcmp(in->kept[i], in->out[i].t.data, (size_t)in->out[i].t.nbytes) != 0) *changed = true;
    return st;
}

assay_status assay_timing_block(const assay_timed_arm *arms, uint32_t process, uint32_t block, uint8_t order, uint32_t input,
                                assay_sample out[ASSAY_SLOTS], uint64_t *changed, assay_error *err) {
    static const uint8_t slots[2][ASSAY_SLOTS] = {{0, 1, 1, 0}, {1, 0, 0, 1}};
    for (uint32_t s = 0; s < ASSAY_SLOTS; s++) {
        uint32_t arm = slots[order][s];
        bool differs = false;
        out[s] = (assay_sample){.process = process, .block = block, .slot = s, .arm = arm};
        assay_status st = assay_timing_call(&arms[arm], input, &out[s].start_ns, &out[s].dur_ns, err);
        if (st == ASSAY_OK) st = check_outputs(&arms[arm], input, &differs, err);
        if (st != ASSAY_OK) return st;
        out[s].flags = differs ? ASSAY_SAMPLE_CHANGED : 0u;
        *changed += differs;
    }
    return ASSAY_OK;
}

static uint64_t design_stream(const char *what, const char *seed, uint32_t process) {
    char *label = assay_xprintf("latency/%s/%s/%u", what, seed, process);
    uint64_t stream = assay_stream(label);
    free(label);
    return stream;
}

/* A number below n, from draw i of a stream. */
static uint32_t draw(uint64_t stream, uint64_t i, uint32_t n) { return (uint32_t)(((unsigned __int128)assay_u64(stream, i) * n) >> 64); }

void assay_timing_order(const char *seed, uint32_t process, uint32_t blocks, uint8_t *order) {
    uint64_t stream = design_stream("order", seed, process);
    for (uint32_t i = 0; i < blocks; i++) order[i] = i < blocks / 2 ? 0 : 1;
    for (uint32_t i = blocks; i-- > 1;) {
        uint32_t j = draw(stream, blocks - 1 - i, i + 1);
        uint8_t keep = order[i];
        order[i] = order[j];
        order[j] = keep;
    }
}

void assay_timing_inputs(const char *seed, uint32_t process, uint32_t blocks, uint32_t n, uint32_t *input) {
    uint64_t stream = design_stream("input", seed, process);
    for (uint32_t i = 0; i < blocks; i++) input[i] = i % n;
    for (uint32_t i = blocks; i-- > 1;) {
        uint32_t j = draw(stream, blocks - 1 - i, i + 1), keep = input[i];
        input[i] = input[j];
        input[j] = keep;
    }
}
