/* tensor/stem.c: the stand-in stem: two convolutions, exact GELU, positions, and the layer norm at the layer boundary. Inputs
 * are fp16 and weights multiples of 2^-12, so every sum of products is exact in double whatever its order. */
#include "base/fmath.h"
#include "base/fs.h"
#include "tensor/fixtures_internal.h"
#include "tensor/npy.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAPS = 3, WIDTH = ASSAY_STEM_WIDTH, FRAMES = ASSAY_MEL_FRAMES, POSITIONS = ASSAY_STEM_POSITIONS };

/* Weights on the grid 2^-12: round half to even by way of 1.5 * 2^52. */
static double *grid_weights(int mels, const char *part, int64_t n, double gain) {
    char label[48];
    snprintf(label, sizeof label, "fx/stem%d/%s", mels, part);
    const uint64_t seed = assay_stream(label);
    double *w = assay_xmalloc((size_t)n * sizeof *w);
    for (int64_t i = 0; i < n; i++) w[i] = ((assay_normal12(seed, (uint64_t)i) * gain * 4096 + 0x1.8p52) - 0x1.8p52) / 4096;
    return w;
}

static double round_f16(double v) { return (double)assay_f16_to_f32(assay_f64_to_f16(v)); }
static double gelu(double v) { return 0.5 * v * (1 + assay_erf(v / sqrt(2.0))); }

/* x [channels, length] -> columns [channels * TAPS, out_length]: what each output position sees, zeros outside. */
static void unfold(const double *x, int64_t channels, int64_t length, int64_t stride, double *columns) {
    const int64_t out_length = (length - 1) / stride + 1;
    for (int64_t c = 0; c < channels; c++)
        for (int64_t tap = 0; tap < TAPS; tap++)
            for (int64_t t = 0; t < out_length; t++) {
                const int64_t at = t * stride + tap - 1;
                *columns++ = at >= 0 && at < length ? x[c * length + at] : 0;
            }
}

/* Kernel 3, padding 1, then GELU rounded to fp16; returns [WIDTH, (length - 1)/stride + 1], caller frees. */
static double *convolve(const double *x, int64_t channels, int64_t length, int64_t stride, const double *w, const double *bias) {
    const int64_t out_length = (length - 1) / stride + 1;
    double *columns = assay_xmalloc((size_t)(channels * TAPS * out_length) * sizeof *columns);
    double *y = assay_xmalloc((size_t)(WIDTH * out_length) * sizeof *y);
    unfold(x, channels, length, stride, columns);
    assay_matmul_f64(WIDTH, out_length, channels * TAPS, w, columns, y);
    for (int64_t o = 0; o < WIDTH; o++)
        for (int64_t t = 0; t < out_length; t++) y[o * out_length + t] = round_f16(gelu(y[o * out_length + t] + bias[o]));
    free(columns);
    return y;
}

/* Sine half, then cosine half, over logarithmically spaced time scales. */
static double position_value(int64_t position, int64_t channel, double step) {
    const int64_t half = WIDTH / 2, i = channel % half;
    const double angle = (double)position * assay_exp(-step * (double)i);
    return round_f16(channel < half ? assay_sin(angle) : assay_cos(angle));
}

static void add_positions(const double *y, uint16_t *out) {
    const double step = assay_log(10000) / (double)(WIDTH / 2 - 1);
    for (int64_t c = 0; c < WIDTH; c++)
        for (int64_t t = 0; t < POSITIONS; t++) out[t * WIDTH + c] = assay_f64_to_f16(y[c * POSITIONS + t] + position_value(t, c, step));
}

assay_status assay_stem_raw(const assay_tensor *log_mel, assay_own_tensor *out, assay_error *err) {
    *out = (assay_own_tensor){0};
    char text[160];
    const int64_t shape[2] = { POSITIONS, WIDTH };
    if (log_mel->rank != 2 || (log_mel->shape[0] != 80 && log_mel->shape[0] != 128) || log_mel->shape[1] != FRAMES)
        return assay_fail(err, ASSAY_E_INPUT, "the stem takes a log-mel [80|128,3000], not %s", assay_shape_text(log_mel->rank, log_mel->shape, text));
    assay_status status = assay_tensor_new(ASSAY_F16, 2, shape, out, err);
    if (status != ASSAY_OK) return status;
    const int mels = (int)log_mel->shape[0];
    double *x = assay_xmalloc((size_t)mels * FRAMES * sizeof *x);
    assay_tensor_read(log_mel, ASSAY_F64, x);
    double *w1 = grid_weights(mels, "w1", (int64_t)WIDTH * mels * TAPS, 1.5 / sqrt(TAPS * mels)), *b1 = grid_weights(mels, "b1", WIDTH, 0.1);
    double *h = convolve(x, mels, FRAMES, 1, w1, b1);
    double *w2 = grid_weights(mels, "w2", (int64_t)WIDTH * WIDTH * TAPS, 2 / sqrt(TAPS * WIDTH)), *b2 = grid_weights(mels, "b2", WIDTH, 0.1);
    double *y = convolve(h, WIDTH, FRAMES, 2, w2, b2);
    add_positions(y, out->t.data);
    double *all[] = { x, w1, b1, h, w2, b2, y };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
    return ASSAY_OK;
}

/* Eight lanes, element i to lane i mod 8, then a fixed tree (architecture.md section 7, rule 3). */
static double lane_sum(const double *v, int64_t n) {
    double s[8] = {0};
    for (int64_t i = 0; i < n; i++) s[i % 8] += v[i];
    return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

/* Layer norm without affine, eps 1e-5, over one token; in place. */
static void normalise(uint16_t *token) {
    double v[WIDTH], square[WIDTH];
    for (int i = 0; i < WIDTH; i++) v[i] = (double)assay_f16_to_f32(token[i]);
    const double mean = lane_sum(v, WIDTH) / WIDTH;
    for (int i = 0; i < WIDTH; i++) {
        v[i] -= mean;
        square[i] = v[i] * v[i];
    }
    const double deviation = sqrt(lane_sum(square, WIDTH) / WIDTH + 1e-5);
    for (int i = 0; i < WIDTH; i++) token[i] = assay_f64_to_f16(v[i] / deviation);
}

assay_status assay_stem(const assay_tensor *log_mel, assay_own_tensor *out, assay_error *err) {
    assay_status status = assay_stem_raw(log_mel, out, err);
    if (status != ASSAY_OK) return status;
    uint16_t *x = out->t.data;
    for (int64_t t = 0; t < POSITIONS; t++) normalise(x + t * WIDTH);
    const int64_t shape[3] = { 2, POSITIONS / 2, WIDTH };            /* the two halves in time become two batch rows */
    out->t = assay_tensor_view(ASSAY_F16, 3, shape, out->t.data);
    return ASSAY_OK;
}

assay_status assay_fixture_from_audio(bool speech, const char *data_dir, assay_own_tensor *out, assay_error *err) {
    enum { MELS = 128 };
    assay_own_tensor pcm = {0}, mel = {0};
    *out = (assay_own_tensor){0};
    assay_status status = ASSAY_OK;
    if (speech) {
        char *path = assay_path_join(data_dir ? data_dir : ".", "speech-pcm16.npy");
        status = assay_npy_read(path, &pcm, err);
        if (status == ASSAY_OK && (pcm.t.dtype != ASSAY_I16 || pcm.t.rank != 1))
            status = assay_fail(err, ASSAY_E_INPUT, "%s: int16 samples in one axis are wanted", path);
        free(path);
    }
    if (status == ASSAY_OK) status = assay_log_mel(pcm.t.data, speech ? (size_t)assay_tensor_count(&pcm.t) : 0, MELS, &mel, err);
    if (status == ASSAY_OK) status = assay_stem(&mel.t, out, err);
    assay_tensor_free(&pcm);
    assay_tensor_free(&mel);
    return status;
}
