/* Parameters of the similarity gates: presets, declared limits, axes. */
#include "similarity.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

assay_status sim_fail(assay_error *err, assay_status code, const char *fmt, ...) {
    if (!err) return code;
    va_list ap;
    va_start(ap, fmt);
    err->code = code;
    vsnprintf(err->message, sizeof err->message, fmt, ap);
    va_end(ap);
    return code;
}

static bool get(const sim *s, const char *name, uint32_t i, assay_value *v) {
    *v = (assay_value){0};
    return s->host->param(s->params, name, i, v) == ASSAY_OK;
}
const char *sim_param_text(const sim *s, const char *name, uint32_t i) {
    assay_value v;
    return get(s, name, i, &v) && v.s ? v.s : "";
}
double sim_param_number(const sim *s, const char *name, double otherwise) {
    assay_value v;
    if (!get(s, name, 0, &v)) return otherwise;
    return v.type == ASSAY_T_INT ? (double)v.i : v.f;
}
static int32_t axis(const sim *s, const char *name) { return (int32_t)sim_param_number(s, name, -1); }

/* statistics.md section 3.2, table and presets; calibration.md section 4 for the letters. */
static sim_limits preset_limits(int preset) {
    sim_limits none = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, 0x1p-11, 0x1p-10, true},
               l = none;
    if (preset == SIM_PRESET_NONE) return l;
    l.cosine_min = 0.9999;
    l.max_abs_factor = 4;
    if (preset == SIM_PRESET_REPORT) return l;
    l.row_cosine_min = 0.999;
    l.gain_tolerance = 0x1p-7;
    if (preset == SIM_PRESET_CALIBRATION) {
        l.gain_tolerance = 0.01, l.psnr_min_db = 40, l.snr_min_db = 40;
        l.control_floor = l.row_skip = 0, l.slices_dead = false;
        return l;
    }
    l.centred_cosine_min = 0.999, l.per_head_cosine_min = 0.9999;
    l.rel_l2_factor = 2, l.row_rel_l2_factor = 4, l.outlier_share_max = 0.5;
    return l;
}

static void declared(sim *s) {
    struct {
        const char *name;
        double *to;
    } all[] = {
        {"cosine_min", &s->lim.cosine_min},
        {"centred_cosine_min", &s->lim.centred_cosine_min},
        {"per_head_cosine_min", &s->lim.per_head_cosine_min},
        {"row_cosine_min", &s->lim.row_cosine_min},
        {"gain_tolerance", &s->lim.gain_tolerance},
        {"rel_l2_max", &s->lim.rel_l2_max},
        {"max_abs_max", &s->lim.max_abs_max},
        {"psnr_min_db", &s->lim.psnr_min_db},
        {"snr_min_db", &s->lim.snr_min_db},
        {"atol", &s->lim.atol},
        {"rtol", &s->lim.rtol},
        {"max_abs_factor_vs_control", &s->lim.max_abs_factor},
        {"row_rel_l2_factor_vs_control", &s->lim.row_rel_l2_factor},
        {"rel_l2_factor_vs_control", &s->lim.rel_l2_factor},
        {"outlier_share_max", &s->lim.outlier_share_max},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) *all[i].to = sim_param_number(s, all[i].name, *all[i].to);
}

static assay_status read_layout(sim *s, const char *tag, assay_error *err) {
    static const char roles[] = "BHSCDE1";
    size_t n = strlen(tag);
    if (n > ASSAY_RANK_MAX || strspn(tag, roles) != n)
        return sim_fail(err, ASSAY_E_INPUT, "layout '%s': expected up to %d letters of B H S C D E 1, such as BHSD", tag,
                        ASSAY_RANK_MAX);
    memcpy(s->layout, tag, n + 1);
    for (size_t i = 0; i < n; i++) {
        int32_t *to = tag[i] == 'B'   ? &s->given.batch
                      : tag[i] == 'H' ? &s->given.head
                      : tag[i] == 'S' ? &s->given.token
                      : tag[i] == '1' ? NULL
                                      : &s->given.channel;
        if (!to) continue;
        if (*to >= 0) return sim_fail(err, ASSAY_E_INPUT, "layout '%s' names an axis twice", tag);
        *to = (int32_t)i;
    }
    return ASSAY_OK;
}

/* Tensors of unlike layouts are never compared: equal shapes would give a number of 5 to 15 dB and a hunt for nothing. */
static assay_status same_layout(const sim *s, const char *candidate, assay_error *err) {
    if (!*candidate || strcmp(candidate, s->layout) == 0) return ASSAY_OK;
    return sim_fail(err, ASSAY_E_INPUT, "the candidate's layout is %s, the reference's %s: unlike layouts are not compared; convert one of them first",
                    candidate, s->layout[0] ? s->layout : "not given");
}

static void read_axes(sim *s) {
    struct {
        const char *name;
        int32_t *to;
    } all[] = {{"batch_axis", &s->given.batch},
               {"head_axis", &s->given.head},
               {"token_axis", &s->given.token},
               {"channel_axis", &s->given.channel},
               {"step_axis", &s->step_axis}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        int32_t a = axis(s, all[i].name);
        if (a < 0) continue;
        *all[i].to = a;
        s->any_axis = true;
    }
    s->repeat_axis = axis(s, "repeat_axis");
}

const assay_metrics_1 *sim_metrics(const assay_host *host, assay_error *err) {
    const assay_metrics_1 *m = host->get(host->ctx, ASSAY_METRICS_1);
    if (!m)
        sim_fail(err, ASSAY_E_UNSUPPORTED, "the host has no interface %s", ASSAY_METRICS_1);
    else if (m->struct_size < sizeof *m)
        sim_fail(err, ASSAY_E_UNSUPPORTED, "the host's %s is older than this gate: %u bytes, %zu are wanted", ASSAY_METRICS_1, m->struct_size, sizeof *m);
    return m && m->struct_size >= sizeof *m ? m : NULL;
}

assay_status sim_open(sim *s, const assay_host *host, const assay_params *params, assay_error *err) {
    static const char *const presets[] = {"default", "report", "calibration-4", "none"};
    *s = (sim){.host = host, .params = params, .given = {-1, -1, -1, -1}, .step_axis = -1, .repeat_axis = -1};
    s->m = sim_metrics(host, err);
    if (!s->m) return ASSAY_E_UNSUPPORTED;
    const char *preset = sim_param_text(s, "preset", 0);
    for (int i = 0; i < 4; i++)
        if (strcmp(preset, presets[i]) == 0) s->preset = i;
    s->lim = preset_limits(s->preset);
    declared(s);
    const char *tag = sim_param_text(s, "layout", 0);
    s->any_axis = *tag != 0;
    assay_status st = read_layout(s, tag, err);
    if (st == ASSAY_OK) st = same_layout(s, sim_param_text(s, "candidate_layout", 0), err);
    if (st != ASSAY_OK) return st;
    read_axes(s);
    s->valid_tokens = (int64_t)sim_param_number(s, "valid_tokens", 0), s->repeats = (uint32_t)sim_param_number(s, "repeats", 1);
    if (s->repeats > 1 && s->repeat_axis < 0) s->repeat_axis = 0; /* a trial stacks its repeats in front */
    s->in_run = *sim_param_text(s, "arm", 0) != 0;
    return ASSAY_OK;
}

assay_status sim_axes(const sim *s, uint32_t rank, assay_axes *out, assay_error *err) {
    *out = s->given;
    if (!s->any_axis) {
        if (s->in_run && rank == 4)
            *out = (assay_axes){0, 1, 2, 3};
        else if (rank >= 2)
            out->channel = (int32_t)rank - 1;
        return ASSAY_OK;
    }
    if (s->layout[0] && strlen(s->layout) != rank)
        return sim_fail(err, ASSAY_E_INPUT, "layout '%s' has %zu axes, the tensor has %u", s->layout, strlen(s->layout), rank);
    int32_t all[] = {out->batch, out->head, out->token, out->channel, s->step_axis};
    for (int i = 0; i < 5; i++) {
        if (all[i] >= (int32_t)rank) return sim_fail(err, ASSAY_E_INPUT, "axis %d: the tensor has %u axes", (int)all[i], rank);
        for (int j = 0; j < i && i < 4; j++)
            if (all[i] >= 0 && all[i] == all[j]) return sim_fail(err, ASSAY_E_INPUT, "axis %d has two meanings", (int)all[i]);
    }
    if (out->head > 0 && out->batch < 0 && out->token != 0 && out->channel != 0) out->batch = 0;
    return ASSAY_OK;
}

assay_tensor sim_valid(const sim *s, const assay_tensor *t) {
    assay_tensor v = *t;
    assay_axes axes;
    if (s->valid_tokens > 0 && sim_axes(s, t->rank, &axes, NULL) == ASSAY_OK && axes.token >= 0 && v.shape[axes.token] > s->valid_tokens)
        v.shape[axes.token] = s->valid_tokens;
    return v;
}
