/* Where each op of a function is placed, which faults apply to it there, and what one prediction costs. */
#include "backends/simulated/sim.h"
#include "base/names.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_constant(const assay_mil_op *op) { return strcmp(op->type, "const") == 0 || strncmp(op->type, "constexpr_", 10) == 0; }

/* ---- units */

/* The units that a policy allows, as a bit set. */
static uint32_t allowed(const char *compute_units) {
    uint32_t cpu = 1u << ASSAY_DEV_CPU, gpu = 1u << ASSAY_DEV_GPU, ne = 1u << ASSAY_DEV_NE;
    if (assay_streq(compute_units, "cpu_only")) return cpu;
    if (assay_streq(compute_units, "cpu_and_gpu")) return cpu | gpu;
    return assay_streq(compute_units, "cpu_and_ne") ? cpu | ne : cpu | gpu | ne;
}

/* The unit of a rule that the policy allows: its device, else its other one, else the CPU. */
static int32_t unit_of(const assay_json *rule, uint32_t units) {
    static const char *const fields[] = {"device", "otherwise"};
    for (size_t i = 0; i < 2; i++) {
        const char *name = assay_json_string(rule, fields[i], NULL);
        int32_t unit = name ? assay_sim_unit(name) : ASSAY_DEV_CPU;
        if (unit == ASSAY_DEV_UNKNOWN || units & 1u << unit) return unit;
    }
    return ASSAY_DEV_CPU;
}

static assay_status place_op(assay_sim_placed *p, const assay_sim_graph *g, assay_sim_op *o, uint32_t units, assay_error *err) {
    for (const assay_json *r = assay_json_first(assay_json_get(p->profile, "placement")); r && !o->rule; r = assay_json_next(r))
        if (assay_sim_selects(assay_json_get(r, "when"), g, o->op, NULL)) o->rule = r;
    if (!o->rule)
        return assay_fail(err, ASSAY_E_INPUT, "device profile '%s': no placement rule matches %s '%s'; end the list with a rule whose when = {}",
                          assay_json_string(p->profile, "id", ""), o->op->type, o->op->n_outs ? o->op->outs[0]->name : "");
    bool reject = assay_json_bool(o->rule, "reject", false);
    o->preferred = unit_of(o->rule, units);
    o->supported = o->preferred == ASSAY_DEV_UNKNOWN ? 0 : 1u << ASSAY_DEV_CPU | 1u << o->preferred;
    p->compile_failed |= reject && units >> ASSAY_DEV_NE & 1;
    return ASSAY_OK;
}

/* ---- faults: static ones change what is placed, the others wait for the op to run */

static assay_status find_faults(assay_sim_placed *p, const assay_sim_graph *g, assay_sim_op *o, assay_error *err) {
    uint32_t i = 0;
    for (const assay_json *f = assay_json_first(assay_json_get(p->profile, "faults")); f; f = assay_json_next(f), i++) {
        if (i >= ASSAY_SIM_FAULTS_MAX) return assay_fail(err, ASSAY_E_LIMIT, "device profile '%s': more than %d faults", assay_json_string(p->profile, "id", ""), ASSAY_SIM_FAULTS_MAX);
        if (!assay_sim_selects(assay_json_get(f, "when"), g, o->op, assay_sim_unit_name(o->preferred))) continue;
        o->faults |= 1u << i;
        const char *effect = assay_json_string(f, "effect", "");
        if (assay_streq(effect, "silent_cpu")) o->runs_on = ASSAY_DEV_CPU;
        if (assay_streq(effect, "compile_fail")) p->compile_failed = true;
    }
    return ASSAY_OK;
}

/* The compile failed, loading went on: everything runs on the CPU, and faults of other units are gone. */
static assay_status fall_back(assay_sim_placed *p, const assay_sim_graph *g, assay_error *err) {
    assay_status st = ASSAY_OK;
    for (uint32_t i = 0; st == ASSAY_OK && i < p->n; i++) {
        assay_sim_op *o = &p->ops[i];
        if (!o->rule) continue;
        o->preferred = o->runs_on = ASSAY_DEV_CPU;
        o->supported = 1u << ASSAY_DEV_CPU;
        o->faults = 0;
        st = find_faults(p, g, o, err);
    }
    return st;
}

/* ---- the cost of a prediction */

static double crossing_bytes(const assay_sim_placed *p, const assay_sim_op *o) {
    double sum = 0;
    for (uint32_t a = 0; a < o->op->n_args; a++)
        for (uint32_t i = 0; i < o->op->args[a].n; i++) {
            const assay_mil_value *v = o->op->args[a].items[i].value;
            const assay_sim_op *from = v && v->producer ? assay_sim_op_of(p, v->producer) : NULL;
            if (!from || !from->rule || from->runs_on == o->runs_on) continue;
            int64_t n = v->type && v->type->kind == ASSAY_TYPE_TENSOR ? assay_type_count(v->type) : 0;
            if (n > 0) sum += (double)n * (double)assay_mil_dtype_bits(v->type->dtype) / 8;
        }
    return sum;
}

static double unit_floor(const assay_json *profile, int32_t dev) {
    const assay_json *costs = assay_json_get(profile, "cost");
    return assay_json_number(assay_json_get(costs, dev == ASSAY_DEV_UNKNOWN ? "cpu" : assay_sim_unit_name(dev)), "floor_s", 0);
}

static void add_costs(assay_sim_placed *p) {
    const assay_json *transfer = assay_json_path(p->profile, "cost.transfer");
    int32_t unit = ASSAY_DEV_NONE;
    for (uint32_t i = 0; i < p->n; i++) {
        assay_sim_op *o = &p->ops[i];
        if (!o->rule) continue;
        o->seconds = assay_sim_op_seconds(p->profile, o->op, o->runs_on);
        p->seconds += o->seconds + crossing_bytes(p, o) / assay_json_number(transfer, "bytes_per_s", 1);
        if (o->seconds <= 0 || o->runs_on == unit) continue;
        p->seconds += unit_floor(p->profile, o->runs_on) + (unit == ASSAY_DEV_NONE ? 0 : assay_json_number(transfer, "floor_s", 0));
        unit = o->runs_on;
    }
}

/* ---- */

static void list_ops(assay_sim_placed *p, const assay_mil_function *f, assay_sim_graph *g) {
    p->n = f->n_all_ops;
    p->ops = assay_xcalloc(p->n + 1u, sizeof *p->ops);
    p->of_value = assay_xcalloc(f->n_values + 1u, sizeof *p->of_value);
    for (uint32_t i = 0; i < p->n; i++) {
        const assay_mil_op *op = f->all_ops[i];
        p->ops[i] = (assay_sim_op){.op = op, .preferred = ASSAY_DEV_NONE, .runs_on = ASSAY_DEV_NONE};
        for (uint32_t k = 0; k < op->n_outs; k++) p->of_value[op->outs[k]->id] = i + 1;
        g->flops += assay_sim_flops(op);
    }
}

assay_status assay_sim_place(const assay_json *profile, const assay_mil_function *f, const char *compute_units, assay_sim_placed *p, assay_error *err) {
    assay_sim_graph g = {.f = f};
    uint32_t units = allowed(compute_units);
    *p = (assay_sim_placed){.profile = profile};
    list_ops(p, f, &g);
    assay_status st = ASSAY_OK;
    for (uint32_t i = 0; st == ASSAY_OK && i < p->n; i++) {
        assay_sim_op *o = &p->ops[i];
        if (is_constant(o->op)) continue;
        st = place_op(p, &g, o, units, err);
        o->runs_on = o->preferred;
        if (st == ASSAY_OK) st = find_faults(p, &g, o, err);
    }
    if (st == ASSAY_OK && p->compile_failed) st = fall_back(p, &g, err);
    if (st == ASSAY_OK) add_costs(p);
    else assay_sim_placed_free(p);
    return st;
}

void assay_sim_placed_free(assay_sim_placed *p) {
    free(p->ops);
    free(p->of_value);
    memset(p, 0, sizeof *p);
}

const assay_sim_op *assay_sim_op_of(const assay_sim_placed *p, const assay_mil_op *op) {
    uint32_t i = op->n_outs ? p->of_value[op->outs[0]->id] : 0;
    return i ? &p->ops[i - 1] : NULL;
}

/* ---- what fired */

static void report(const assay_sink *sink, const char *kind, const char *id, const assay_json *rule) {
    char *key = assay_xprintf("rule.%s.%s", kind, id);
    sink->text(sink, key, assay_json_string(rule, "grade", ""));
    free(key);
}

static void report_units(const assay_sim_placed *p, const assay_sink *sink, const char *kind) {
    const assay_json *block = assay_json_get(p->profile, kind);
    for (int32_t dev = ASSAY_DEV_CPU; dev <= ASSAY_DEV_NE; dev++)
        for (uint32_t i = 0; i < p->n; i++) {
            int32_t runs_on = p->ops[i].runs_on == ASSAY_DEV_UNKNOWN ? ASSAY_DEV_CPU : p->ops[i].runs_on;
            if (!p->ops[i].rule || runs_on != dev) continue;
            report(sink, kind, assay_sim_unit_name(dev), assay_json_get(block, assay_sim_unit_name(dev)));
            break;
        }
}

void assay_sim_report_rules(const assay_sim_placed *p, const assay_sink *sink) {
    const assay_json *faults = assay_json_get(p->profile, "faults"), *costs = assay_json_get(p->profile, "cost");
    uint32_t fired = 0;
    for (uint32_t i = 0; i < p->n; i++) {
        if (p->ops[i].rule) report(sink, "placement", assay_json_string(p->ops[i].rule, "id", ""), p->ops[i].rule);
        fired |= p->ops[i].faults;
    }
    for (uint32_t i = 0; i < ASSAY_SIM_FAULTS_MAX; i++)
        if (fired >> i & 1) report(sink, "fault", assay_json_string(assay_json_at(faults, i), "id", ""), assay_json_at(faults, i));
    report_units(p, sink, "numerics");
    report_units(p, sink, "cost");
    for (const char *const *k = (const char *const[]){"transfer", "fused", "jitter", NULL}; *k; k++) report(sink, "cost", *k, assay_json_get(costs, *k));
    report(sink, "cost", "load", assay_json_get(p->profile, "load"));
}
