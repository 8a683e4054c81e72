/* The planted faults that change what an op wrote, or end the process. */
#include "backends/simulated/sim.h"
#include "base/names.h"
#include "ops/slots.h"
#include <math.h>
#include <stdlib.h>

static const assay_json *fault_at(const assay_sim_placed *p, uint32_t i) { return assay_json_at(assay_json_get(p->profile, "faults"), i); }

static bool is(const assay_json *fault, const char *effect) { return assay_streq(assay_json_string(fault, "effect", ""), effect); }

bool assay_sim_has_fault(const assay_sim_run *run, const assay_sim_op *op, const char *effect) {
    for (uint32_t i = 0; i < ASSAY_SIM_FAULTS_MAX; i++)
        if (op->faults >> i & 1 && is(fault_at(run->placed, i), effect)) return true;
    return false;
}

static bool is_due(const assay_json *fault, uint64_t prediction) {
    if (is(fault, "stale_first_run")) return prediction == 1;
    return is(fault, "flip") && prediction % (uint64_t)assay_json_int(fault, "every_n", 1) == 0;
}

bool assay_sim_prediction_differs(const assay_sim_placed *p, uint64_t prediction) {
    for (uint32_t i = 0; i < p->n; i++)
        for (uint32_t k = 0; p->ops[i].faults && k < ASSAY_SIM_FAULTS_MAX; k++)
            if (p->ops[i].faults >> k & 1 && is_due(fault_at(p, k), prediction)) return true;
    return false;
}

/* ---- effects on a float tensor; everything is computed in double and rounded once */

static double get(const assay_tensor *t, int64_t i) { return assay_load_f64(t->dtype, (const char *)t->data + (size_t)i * assay_dtype_size(t->dtype)); }
static void put(const assay_tensor *t, int64_t i, double v) { assay_store_f64(t->dtype, (char *)t->data + (size_t)i * assay_dtype_size(t->dtype), v); }

static void fill(const assay_tensor *t, double v) {
    for (int64_t i = 0, n = assay_tensor_count(t); i < n; i++) put(t, i, v);
}

static void gain(const assay_tensor *t, double x) {
    for (int64_t i = 0, n = assay_tensor_count(t); i < n; i++) put(t, i, get(t, i) * x);
}

/* The last rows (axis -2) of every matrix. */
static void tail_zero(const assay_tensor *t, int64_t rows) {
    if (t->rank < 2) return;
    int64_t width = t->shape[t->rank - 1], height = t->shape[t->rank - 2];
    for (int64_t i = 0, n = assay_tensor_count(t); i < n; i++)
        if (i / width % height >= height - rows) put(t, i, 0);
}

/* The first two heads (axis -3) of every batch change places. */
static void swap_heads(const assay_tensor *t) {
    if (t->rank < 3 || t->shape[t->rank - 3] < 2) return;
    int64_t head = t->shape[t->rank - 1] * t->shape[t->rank - 2], batch = head * t->shape[t->rank - 3];
    for (int64_t i = 0, n = assay_tensor_count(t); i < n; i++) {
        if (i % batch >= head) continue;
        double v = get(t, i);
        put(t, i, get(t, i + head));
        put(t, i + head, v);
    }
}

/* The lowest bit of the first element. */
static void flip(const assay_tensor *t) {
    if (assay_tensor_count(t) > 0) *(uint8_t *)t->data ^= 1u;
}

static void apply(const assay_json *fault, const assay_tensor *t, uint64_t prediction) {
    if (is(fault, "zero") || (is(fault, "stale_first_run") && is_due(fault, prediction))) fill(t, 0);
    else if (is(fault, "constant")) fill(t, assay_json_number(fault, "value", 0));
    else if (is(fault, "nan")) fill(t, (double)NAN);
    else if (is(fault, "gain")) gain(t, assay_json_number(fault, "x", 1));
    else if (is(fault, "tail_zero")) tail_zero(t, assay_json_int(fault, "rows", 1));
    else if (is(fault, "swap_heads")) swap_heads(t);
    else if (is(fault, "flip") && is_due(fault, prediction)) flip(t);
}

assay_status assay_sim_apply_faults(const assay_sim_run *run, const assay_sim_op *op, assay_eval *ev, assay_error *err) {
    for (uint32_t i = 0; op->faults && i < ASSAY_SIM_FAULTS_MAX; i++) {
        const assay_json *fault = op->faults >> i & 1 ? fault_at(run->placed, i) : NULL;
        if (fault && is(fault, "crash")) abort();
        for (uint32_t k = 0; fault && k < ev->n_out; k++) {
            assay_slot *s = &ev->outs[k];
            if (!s->t.dtype || !assay_dtype_is_float(s->t.dtype)) continue;
            ASSAY_TRY(assay_sim_own_output(ev->pool, s, err));
            apply(fault, &s->t, run->prediction);
        }
    }
    return ASSAY_OK;
}
