/* The records that a device would have left while an arm ran: power logs that show whether the Neural Engine drew anything, and the
 * peak of live memory. Powers and times are invented; what they say of placement follows from where the profile runs each op. */
#include "backends/simulated/sim.h"
#include "base/names.h"
#include <stdlib.h>

enum { SAMPLES = 4, SAMPLE_S = 1 };
static const double busy_mw = 1000;              /* invented: only "above zero" is read */

/* ---- who and when */

static assay_json *new_record(const assay_sim_placed *p, const char *schema) {
    const assay_json *claims = assay_json_get(p->profile, "claims");
    assay_json *r = assay_json_object(), *source = assay_json_set(r, "source", assay_json_object());
    assay_json_set_string(r, "schema", schema);
    assay_json_set_string(source, "format", "simulated device");
    assay_json_set_int(source, "version", 1);
    assay_json_set_string(r, "hw_model", assay_json_string(claims, "hardware", "none"));
    assay_json_set_string(r, "os_build", assay_json_string(claims, "build", "none"));
    assay_json_set_string(r, "boot_time", "simulated");
    return r;
}

/* mw < 0: the rail was not sampled. */
static assay_json *power_log(const assay_sim_placed *p, double mw) {
    assay_json *r = new_record(p, "power-log/1"), *samples = assay_json_set(r, "samples", assay_json_array());
    for (int i = 1; i <= SAMPLES; i++) {
        assay_json *s = assay_json_append(samples, assay_json_object()), *rails = assay_json_set(s, "rails_mw", assay_json_object());
        assay_json_set_int(s, "end_s", i * SAMPLE_S);
        assay_json_set_int(s, "elapsed_s", SAMPLE_S);
        if (mw >= 0) assay_json_set_number(rails, "ane", mw);
    }
    return r;
}

static assay_json *intervals(const assay_sim_placed *p) {
    assay_json *r = new_record(p, "prediction-intervals/1"), *all = assay_json_append(assay_json_set(r, "intervals", assay_json_array()), assay_json_array());
    assay_json_append(all, assay_json_new_number(0));
    assay_json_append(all, assay_json_new_number(SAMPLES * SAMPLE_S));
    return r;
}

static assay_json *samplers(const assay_sim_placed *p) {
    assay_json *r = new_record(p, "power-samplers/1");
    assay_json_append(assay_json_set(r, "samplers", assay_json_array()), assay_json_new_string("cpu_power"));
    return r;
}

/* Unknown is no zero: where nothing runs on the Neural Engine and some op's unit is unknown, the rail is not sampled. */
static double rail_of(const assay_sim_placed *p) {
    bool unknown = false;
    for (uint32_t i = 0; i < p->n; i++) {
        if (!p->ops[i].rule) continue;
        if (p->ops[i].runs_on == ASSAY_DEV_NE) return busy_mw;
        unknown |= p->ops[i].runs_on == ASSAY_DEV_UNKNOWN;
    }
    return unknown ? -1 : 0;
}

/* ---- memory */

static double bytes_of(const assay_mil_value *v) {
    int64_t n = v->type && v->type->kind == ASSAY_TYPE_TENSOR ? assay_type_count(v->type) : 0;
    return n > 0 ? (double)n * (double)assay_mil_dtype_bits(v->type->dtype) / 8 : 0;
}

/* For each op the last one that reads any of its outputs; its own index when nothing does. */
static uint32_t *last_uses(const assay_sim_placed *p) {
    uint32_t *last = assay_xcalloc(p->n + 1u, sizeof *last);
    for (uint32_t i = 0; i < p->n; i++) {
        const assay_mil_op *op = p->ops[i].op;
        last[i] = i;
        for (uint32_t a = 0; a < op->n_args; a++)
            for (uint32_t k = 0; k < op->args[a].n; k++) {
                const assay_mil_value *v = op->args[a].items[k].value;
                const assay_sim_op *from = v && v->producer ? assay_sim_op_of(p, v->producer) : NULL;
                if (from) last[from - p->ops] = i;
            }
    }
    return last;
}

/* Constants stay; what an op makes lives until its last reader has run. A fused op holds nothing between its inputs and its output. */
static double peak_bytes(const assay_sim_placed *p) {
    uint32_t *last = last_uses(p);
    double *until = assay_xcalloc(p->n + 1u, sizeof *until), live = 0, peak = 0;
    for (uint32_t i = 0; i < p->n; i++) {
        const assay_sim_op *o = &p->ops[i];
        double made = 0;
        for (uint32_t k = 0; k < o->op->n_outs; k++) made += bytes_of(o->op->outs[k]);
        live += made;
        if (live > peak) peak = live;
        if (o->rule) until[last[i]] += made;     /* a constant has no rule and is never freed */
        live -= until[i];
    }
    free(last);
    free(until);
    return peak;
}

static assay_json *memory(const assay_sim_placed *p) {
    assay_json *r = new_record(p, "memory-record/1");
    assay_json_set_string(r, "method", "estimated: constants and live activations of the program");
    assay_json_set_int(r, "peak_bytes", (int64_t)peak_bytes(p));
    return r;
}

/* ---- */

assay_status assay_sim_record(const assay_sim_placed *p, const char *name, assay_json **out, assay_error *err) {
    if (assay_streq(name, "rails")) *out = power_log(p, rail_of(p));
    else if (assay_streq(name, "cpu_only") || assay_streq(name, "idle")) *out = power_log(p, 0);
    else if (assay_streq(name, "positive")) *out = power_log(p, busy_mw);
    else if (assay_streq(name, "intervals")) *out = intervals(p);
    else if (assay_streq(name, "samplers")) *out = samplers(p);
    else if (assay_streq(name, "memory")) *out = memory(p);
    else return assay_fail(err, ASSAY_E_UNSUPPORTED, "a simulated device leaves no record '%s': attach a file with the word `record`", name);
    return ASSAY_OK;
}
