/* An op with the numbers of the unit it runs on: what the unit reads, its kernels, what it stores, then the planted faults. */
#include "backends/simulated/sim.h"
#include "base/names.h"
#include "ops/slots.h"
#include <math.h>
#include <string.h>

/* ---- reading the profile */

static int choice(const assay_json *unit, const char *key, const char *const *names) {
    for (int i = 0; names[i]; i++)
        if (assay_streq(names[i], assay_json_string(unit, key, ""))) return i;
    return 0;
}

static bool is(const assay_json *unit, const char *key, const char *value) { return assay_streq(assay_json_string(unit, key, ""), value); }

static assay_sim_numerics read_unit(const assay_json *unit) {
    static const char *const orders[] = {"flash", "fold", "preq", "prek", "split", "post", NULL};
    static const char *const softmaxes[] = {"f32", "f16wide", "f16rcp", "f16narrow", "noshift", NULL};
    return (assay_sim_numerics){.store_f16 = is(unit, "store", "fp16"), .accumulate_f16 = is(unit, "accumulate", "fp16"), .flush = is(unit, "subnormal_mac", "flush"),
                                .nan_to_inf = is(unit, "nan_input", "inf"), .nan_to_zero = is(unit, "indeterminate", "zero"),
                                .ceiling = assay_json_number(unit, "matmul_store_ceiling", 0), .order = choice(unit, "order", orders),
                                .softmax = choice(unit, "softmax", softmaxes)};
}

/* An op whose unit is unknown runs with the numbers of the CPU. */
void assay_sim_read_numerics(const assay_json *profile, assay_sim_run *run) {
    const assay_json *block = assay_json_get(profile, "numerics");
    run->units[ASSAY_DEV_UNKNOWN] = run->units[ASSAY_DEV_CPU] = read_unit(assay_json_get(block, "cpu"));
    run->units[ASSAY_DEV_GPU] = read_unit(assay_json_get(block, "gpu"));
    run->units[ASSAY_DEV_NE] = read_unit(assay_json_get(block, "ane"));
}

/* ---- elements, wherever they are held */

static bool sums_products(const assay_mil_op *op) {
    static const char *const types[] = {"linear", "matmul", "conv", "conv_transpose", "einsum", "scaled_dot_product_attention"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(op->type, types[i]) == 0) return true;
    return false;
}

/* What a unit makes of one element that it reads; `mac`: for a sum of products. */
static float as_read(const assay_sim_numerics *u, bool mac, float x) {
    if (u->nan_to_inf && x != x) return (float)INFINITY;
    return mac && u->flush && fabsf(x) < 0x1p-14f ? 0 : x;
}

static float as_stored(const assay_sim_numerics *u, bool mac, float x) {
    if (u->store_f16) x = assay_sim_round16(x);
    if (mac && u->ceiling > 0 && fabsf(x) >= (float)u->ceiling) x = copysignf((float)INFINITY, x);
    if (mac && u->flush && fabsf(x) < 0x1p-14f) x = 0;
    return u->nan_to_zero && x != x ? 0 : x;
}

/* The least index of an element that `f` would change, or n. */
typedef float (*element_fn)(const assay_sim_numerics *u, bool mac, float x);

static float get(const assay_tensor *t, int64_t i) { return t->dtype == ASSAY_F16 ? assay_f16_to_f32(((const uint16_t *)t->data)[i]) : ((const float *)t->data)[i]; }

static void put(const assay_tensor *t, int64_t i, float x) {
    if (t->dtype == ASSAY_F16) ((uint16_t *)t->data)[i] = assay_f32_to_f16(x);
    else ((float *)t->data)[i] = x;
}

static bool same(float a, float b) { return memcmp(&a, &b, sizeof a) == 0; }

static int64_t first_changed(const assay_tensor *t, const assay_sim_numerics *u, bool mac, element_fn f) {
    int64_t n = t->dtype == ASSAY_F16 || t->dtype == ASSAY_F32 ? assay_tensor_count(t) : 0, i = 0;
    while (i < n && same(f(u, mac, get(t, i)), get(t, i))) i++;
    return i < n ? i : -1;
}

static void change_from(const assay_tensor *t, int64_t i, const assay_sim_numerics *u, bool mac, element_fn f) {
    for (int64_t n = assay_tensor_count(t); i < n; i++) put(t, i, f(u, mac, get(t, i)));
}

/* ---- inputs: changed copies stand in for the time of the op */

typedef struct stand_in { assay_slot *slot; void *data; } stand_in;
enum { INPUTS_MAX = 64 };

static assay_status read_inputs(assay_eval *ev, const assay_sim_numerics *u, bool mac, stand_in *kept, uint32_t *n, assay_error *err) {
    for (uint32_t a = 0; a < ev->op->n_args; a++)
        for (uint32_t i = 0; i < ev->op->args[a].n && *n < INPUTS_MAX; i++) {
            const assay_mil_value *v = ev->op->args[a].items[i].value;
            assay_slot *s = v ? &ev->slots[v->id] : NULL;
            int64_t from = s && s->t.dtype ? first_changed(&s->t, u, mac, as_read) : -1;
            if (from < 0) continue;
            size_t bytes = (size_t)assay_tensor_count(&s->t) * assay_dtype_size(s->t.dtype);
            void *copy = assay_eval_scratch(ev, bytes, 1, err);
            if (!copy) return ASSAY_E_NOMEM;
            memcpy(copy, s->t.data, bytes);
            kept[(*n)++] = (stand_in){s, s->t.data};
            s->t.data = copy;
            change_from(&s->t, from, u, mac, as_read);
        }
    return ASSAY_OK;
}

/* ---- outputs */

assay_status assay_sim_own_output(assay_pool *pool, assay_slot *s, assay_error *err) {
    if (s->ref && s->ref->users == 1) return ASSAY_OK;
    assay_own_tensor copy;
    ASSAY_TRY(assay_pool_copy(pool, &s->t, s->t.dtype, &copy, err));
    assay_slot_own(pool, s, &copy);
    return ASSAY_OK;
}

static assay_status store_outputs(assay_eval *ev, const assay_sim_numerics *u, bool mac, assay_error *err) {
    for (uint32_t k = 0; k < ev->n_out; k++) {
        assay_slot *s = &ev->outs[k];
        int64_t from = s->t.dtype ? first_changed(&s->t, u, mac, as_stored) : -1;
        if (from < 0) continue;
        ASSAY_TRY(assay_sim_own_output(ev->pool, s, err));
        change_from(&s->t, from, u, mac, as_stored);
    }
    return ASSAY_OK;
}

/* ---- the op */

static assay_sim_attention how_to_attend(const assay_sim_run *run, const assay_sim_op *o, const assay_sim_numerics *u, bool fp16) {
    assay_sim_attention h = {.n = *u, .uniform = assay_sim_has_fault(run, o, "uniform"), .scale_twice = assay_sim_has_fault(run, o, "scale_twice"),
                             .no_scale = assay_sim_has_fault(run, o, "no_scale"), .mask_transposed = assay_sim_has_fault(run, o, "mask_transposed"),
                             .ignore_mask = assay_sim_has_fault(run, o, "ignore_mask")};
    if (!fp16 && !u->store_f16) h.n.order = ASSAY_SIM_FLASH;         /* what is stored in between is stored as declared: not rounded */
    if (assay_sim_has_fault(run, o, "fp16_accumulate")) h.n.accumulate_f16 = true;
    if (assay_sim_has_fault(run, o, "noshift")) h.n.softmax = ASSAY_SIM_NOSHIFT;
    return h;
}

assay_status assay_sim_around(void *ctx, assay_eval *ev, assay_status (*kernel)(assay_eval *, assay_error *), assay_error *err) {
    const assay_sim_run *run = ctx;
    const assay_sim_op *o = assay_sim_op_of(run->placed, ev->op);
    if (!o || !o->rule) return kernel(ev, err);
    const assay_sim_numerics *u = &run->units[o->runs_on];
    bool mac = sums_products(ev->op);
    stand_in kept[INPUTS_MAX];
    uint32_t n = 0;
    assay_sim_attention how = how_to_attend(run, o, u, ev->n_out && ev->out_dtypes[0] == ASSAY_F16);
    const assay_kernels *before = ev->k;
    assay_status st = read_inputs(ev, u, mac, kept, &n, err);
    ev->k = assay_sim_kernels(before, &how);
    if (st == ASSAY_OK) st = kernel(ev, err);
    ev->k = before;
    /* An output that shares the stand-in's memory would outlive it. */
    for (uint32_t k = 0; st == ASSAY_OK && n && k < ev->n_out; k++)
        if (ev->outs[k].ref) st = assay_sim_own_output(ev->pool, &ev->outs[k], err);
    while (n-- > 0) kept[n].slot->t.data = kept[n].data;
    if (st == ASSAY_OK) st = store_outputs(ev, u, mac, err);
    return st == ASSAY_OK ? assay_sim_apply_faults(run, o, ev, err) : st;
}
