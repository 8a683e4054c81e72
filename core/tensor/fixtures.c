/* tensor/fixtures.c: the named recipes of fixtures.md sections 3 and 4: layer inputs, weights, attention-level tensors. */
#include "tensor/generate.h"
#include "base/names.h"
#include "tensor/fixtures_internal.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- sizes and streams ---- */

typedef struct size_row { const char *name; int64_t batch, tokens, width; } size_row;
static const size_row sizes[] = { { "d750", 2, 750, 1280 }, { "mini", 2, 30, 256 } };

static assay_status find_size(const char *name, const size_row **out, assay_error *err) {
    static const char *const names[] = { "d750", "mini" };
    char hint[96];
    for (size_t i = 0; i < 2; i++)
        if (assay_streq(name, names[i])) {
            *out = &sizes[i];
            return ASSAY_OK;
        }
    return assay_fail(err, ASSAY_E_INPUT, "unknown fixture size '%s'%s; known: d750, mini", name, assay_did_you_mean(hint, name, names, 2));
}

static uint64_t stream_of(const size_row *z, const char *part) {
    char label[64];
    snprintf(label, sizeof label, "fx/%s/%s", z->name, part);
    return assay_stream(label);
}

static void fill_normal(uint16_t *dst, uint64_t seed, int64_t n, double gain) {
    for (int64_t i = 0; i < n; i++) dst[i] = assay_f64_to_f16(assay_normal12(seed, (uint64_t)i) * gain);
}

/* ---- x-level recipes: each fills [B,S,D] of zeros ---- */

static int64_t count_of(const size_row *z) { return z->batch * z->tokens * z->width; }

static void make_normal(const size_row *z, uint16_t *x) { fill_normal(x, stream_of(z, "normal"), count_of(z), 1); }

/* The poke is added before the one rounding, so this is not quite assay_poke_token of `normal`. */
static void make_poked(const size_row *z, uint16_t *x) {
    const uint64_t seed = stream_of(z, "normal"), poke = stream_of(z, "poke");
    const int64_t start = ((z->batch - 1) * z->tokens + 2 * z->tokens / 3) * z->width;
    make_normal(z, x);
    for (int64_t c = 0; c < z->width; c++)
        x[start + c] = assay_f64_to_f16(assay_normal12(seed, (uint64_t)(start + c)) + assay_normal12(poke, (uint64_t)c));
}

static void make_hot_token(const size_row *z, uint16_t *x) {
    uint64_t hot = stream_of(z, "hot/tok");
    fill_normal(x, stream_of(z, "hot"), count_of(z), 0x1p-6);
    for (int64_t b = 0; b < z->batch; b++) {
        uint16_t *token = x + (b * z->tokens + z->tokens / 2) * z->width;
        for (int64_t c = 0; c < z->width; c++) token[c] = assay_f64_to_f16(assay_normal12(hot, (uint64_t)(b * z->width + c)) * 16);
    }
}

static void make_repeat(const size_row *z, uint16_t *x) {
    enum { PERIOD = 10 };
    uint64_t seed = stream_of(z, "rep");
    for (int64_t i = 0; i < count_of(z); i++) {
        int64_t channel = i % z->width, token = i / z->width % z->tokens, batch = i / z->width / z->tokens;
        int64_t source = (batch * PERIOD + token % PERIOD) * z->width + channel;
        x[i] = assay_f64_to_f16(assay_normal12(seed, (uint64_t)source));
    }
}

static void make_alternate(const size_row *z, uint16_t *x) {
    uint64_t seed = stream_of(z, "alt");
    for (int64_t i = 0; i < count_of(z); i++) {
        bool even = (i / z->width % z->tokens + i % z->width) % 2 == 0;
        x[i] = assay_f64_to_f16((even ? 2 : -2) + assay_normal12(seed, (uint64_t)i) * 0x1p-8);
    }
}

static void make_near_max(const size_row *z, uint16_t *x) {
    uint64_t big = stream_of(z, "big"), sign = stream_of(z, "bigs");
    for (int64_t i = 0; i < count_of(z); i++) {
        double value = assay_uniform(big, (uint64_t)i) < 0x1p-6 ? 60000 : 0;
        x[i] = assay_f64_to_f16(value * (assay_uniform(sign, (uint64_t)i) < 0.5 ? -1 : 1));   /* half of the zeros are -0 */
    }
}

static void make_denormal(const size_row *z, uint16_t *x) {
    uint64_t seed = stream_of(z, "den");
    for (int64_t i = 0; i < count_of(z); i++) x[i] = assay_f64_to_f16((double)((int64_t)(assay_u64(seed, (uint64_t)i) >> 54) - 512) * 0x1p-24);
}

static void make_zeros(const size_row *z, uint16_t *x) { memset(x, 0, (size_t)count_of(z) * sizeof *x); }

static void make_constant(const size_row *z, uint16_t *x) {
    for (int64_t i = 0; i < count_of(z); i++) x[i] = 0x3c00;
}

static void make_halves_equal(const size_row *z, uint16_t *x) {
    int64_t half = z->tokens * z->width;
    fill_normal(x, stream_of(z, "he"), half, 1);
    for (int64_t b = 1; b < z->batch; b++) memcpy(x + b * half, x, (size_t)half * sizeof *x);
}

static const struct { const char *name; void (*make)(const size_row *, uint16_t *); } recipes[] = {
    { "normal", make_normal }, { "normal-poked", make_poked }, { "hot-token", make_hot_token }, { "repeat", make_repeat },
    { "alternate", make_alternate }, { "near-max-sparse", make_near_max }, { "denormal", make_denormal }, { "zeros", make_zeros },
    { "constant", make_constant }, { "halves-equal", make_halves_equal },
};
enum { RECIPES = sizeof recipes / sizeof *recipes };

static assay_status unknown_fixture(const char *name, assay_error *err) {
    const char *names[RECIPES + 2] = { "silence", "speech" };
    char hint[96];
    for (size_t i = 0; i < RECIPES; i++) names[i + 2] = recipes[i].name;
    return assay_fail(err, ASSAY_E_INPUT, "unknown fixture '%s'%s", name, assay_did_you_mean(hint, name, names, RECIPES + 2));
}

assay_status assay_fixture_make(const char *name, const char *size, const char *data_dir, assay_own_tensor *out, assay_error *err) {
    *out = (assay_own_tensor){0};
    const size_row *z;
    assay_status status = find_size(size, &z, err);
    if (status != ASSAY_OK) return status;
    bool speech = assay_streq(name, "speech"), silence = assay_streq(name, "silence");
    if ((speech || silence) && z != &sizes[0])
        return assay_fail(err, ASSAY_E_INPUT, "fixture '%s' exists at size d750 only, not '%s'", name, size);
    if (speech || silence) return assay_fixture_from_audio(speech, data_dir, out, err);
    for (size_t i = 0; i < RECIPES; i++) {
        if (!assay_streq(name, recipes[i].name)) continue;
        int64_t shape[3] = { z->batch, z->tokens, z->width };
        status = assay_tensor_new(ASSAY_F16, 3, shape, out, err);
        if (status == ASSAY_OK) recipes[i].make(z, out->t.data);
        return status;
    }
    return unknown_fixture(name, err);
}

assay_status assay_poke_token(assay_tensor *x, int64_t batch, int64_t position, const char *label, assay_error *err) {
    char text[160];
    if (x->rank != 3 || batch < 0 || batch >= x->shape[0] || position < 0 || position >= x->shape[1])
        return assay_fail(err, ASSAY_E_INPUT, "no token (batch %lld, position %lld) in a tensor %s; [B,S,D] is wanted, counted from 0",
                          (long long)batch, (long long)position, assay_shape_text(x->rank, x->shape, text));
    uint64_t seed = assay_stream(label);
    const int64_t size = (int64_t)assay_dtype_size(x->dtype);
    for (int64_t c = 0; c < x->shape[2]; c++) {
        char *p = (char *)x->data + (batch * x->stride[0] + position * x->stride[1] + c * x->stride[2]) * size;
        assay_store_f64(x->dtype, p, assay_load_f64(x->dtype, p) + assay_normal12(seed, (uint64_t)c));
    }
    return ASSAY_OK;
}

/* ---- weights ---- */

assay_status assay_weight_make(const char *name, const char *size, double gain, assay_own_tensor *out, assay_error *err) {
    static const char *const names[] = { "wq", "wk", "wv", "bq", "bv" };
    *out = (assay_own_tensor){0};
    const size_row *z;
    char hint[96], part[8];
    assay_status status = find_size(size, &z, err);
    if (status != ASSAY_OK) return status;
    bool known = false;
    for (size_t i = 0; i < 5; i++) known = known || assay_streq(name, names[i]);
    if (!known)
        return assay_fail(err, ASSAY_E_INPUT, "unknown weight '%s'%s; known: wq, wk, wv, bq, bv", name, assay_did_you_mean(hint, name, names, 5));
    snprintf(part, sizeof part, "%c/%c", name[0], name[1]);
    const bool matrix = name[0] == 'w';
    const double factor = !matrix ? 0.125 : (name[1] == 'v' ? 1 : gain) / sqrt((double)z->width);
    int64_t shape[2] = { z->width, z->width };
    status = assay_tensor_new(ASSAY_F16, matrix ? 2 : 1, shape, out, err);
    if (status == ASSAY_OK) fill_normal(out->t.data, stream_of(z, part), assay_tensor_count(&out->t), factor);
    return status;
}

/* ---- attention level: q, k, v ---- */

/* amplitude where normal12 is positive, -amplitude elsewhere. */
static void fill_signs(assay_tensor *t, const char *label, double amplitude) {
    uint64_t seed = assay_stream(label);
    uint16_t *x = t->data, plus = assay_f64_to_f16(amplitude), minus = assay_f64_to_f16(-amplitude);
    for (int64_t i = 0, n = assay_tensor_count(t); i < n; i++) x[i] = assay_normal12(seed, (uint64_t)i) > 0 ? plus : minus;
}

/* what: 's' token index, 'h' 64 * head + channel, 'b' batch index. */
static void fill_coordinates(assay_tensor *t, char what) {
    uint16_t *x = t->data;
    for (int64_t i = 0, n = assay_tensor_count(t); i < n; i++) {
        int64_t channel = i % t->shape[3], token = i / t->shape[3] % t->shape[2], head = i / t->shape[3] / t->shape[2] % t->shape[1];
        int64_t batch = i / t->shape[3] / t->shape[2] / t->shape[1];
        x[i] = assay_f64_to_f16((double)(what == 's' ? token : what == 'h' ? 64 * head + channel : batch));
    }
}

/* "ladder-28" -> 28; 0 when it is not of that form. */
static int ladder_amplitude(const char *name) {
    if (!assay_starts_with(name, "ladder-") || !name[7] || strlen(name) > 10) return 0;
    for (const char *p = name + 7; *p; p++)
        if (*p < '0' || *p > '9') return 0;
    return atoi(name + 7);
}

assay_status assay_attention_fixture_make(const char *name, assay_own_tensor qkv[3], assay_error *err) {
    static const char *const names[] = { "coords-s", "coords-hd", "coords-b", "uniform", "ladder-16", "ladder-28", "ladder-128" };
    static const int64_t full[4] = { 2, 20, 750, 64 }, small[4] = { 1, 1, 64, 64 };
    for (int i = 0; i < 3; i++) qkv[i] = (assay_own_tensor){0};
    const int amplitude = ladder_amplitude(name);
    bool known = amplitude > 0;
    for (size_t i = 0; i < 4; i++) known = known || assay_streq(name, names[i]);
    char hint[96];
    if (!known)
        return assay_fail(err, ASSAY_E_INPUT, "unknown attention fixture '%s'%s; known: coords-s, coords-hd, coords-b, uniform, ladder-<A>", name,
                          assay_did_you_mean(hint, name, names, sizeof names / sizeof *names));
    for (int i = 0; i < 3; i++) {
        assay_status status = assay_tensor_new(ASSAY_F16, 4, amplitude ? small : full, &qkv[i], err);
        if (status == ASSAY_OK) continue;
        while (i-- > 0) assay_tensor_free(&qkv[i]);
        return status;
    }
    const int64_t n = assay_tensor_count(&qkv[0].t);
    if (amplitude || assay_starts_with(name, "coords")) {
        fill_signs(&qkv[0].t, amplitude ? "fx/ladder/s" : "fx/coords/code", amplitude ? amplitude : 4);
        memcpy(qkv[1].t.data, qkv[0].t.data, (size_t)n * 2);
        if (amplitude) fill_normal(qkv[2].t.data, assay_stream("fx/ladder/v"), n, 1);
        else fill_coordinates(&qkv[2].t, name[7]);
    } else {
        fill_normal(qkv[0].t.data, assay_stream("fx/uniform/q"), n, 1);
        fill_normal(qkv[2].t.data, assay_stream("fx/uniform/v"), n, 1);
    }
    return ASSAY_OK;
}
