/* tensor/melspec.c: the Whisper log-mel front end in float64: framed cosine and sine sums, Slaney mel filters, log10, floor. */
#include "base/fmath.h"
#include "tensor/fixtures_internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RATE = 16000, SAMPLES = 480000, WINDOW = 400, HOP = 160, BINS = WINDOW / 2 + 1, FRAMES = ASSAY_MEL_FRAMES };
static const double PI = 3.141592653589793;

/* ---- filters (Slaney's scale: linear to 1000 Hz, logarithmic above) ---- */

static double log_step(void) { return assay_log(6.4) / 27; }
static double mel_of(double hz) { return hz >= 1000 ? 15 + assay_log(hz / 1000) / log_step() : hz * 3 / 200; }
static double hz_of(double mel) { return mel >= 15 ? 1000 * assay_exp((mel - 15) * log_step()) : mel * 200 / 3; }

void assay_mel_filters(uint32_t n_mels, float *out) {
    double *edge = assay_xmalloc((n_mels + 2) * sizeof *edge);
    const double top = mel_of(RATE / 2), step = top / (double)(n_mels + 1);
    for (uint32_t i = 0; i < n_mels + 2; i++) edge[i] = hz_of(i == n_mels + 1 ? top : i * step);
    for (uint32_t m = 0; m < n_mels; m++) {
        const double lo = edge[m], mid = edge[m + 1], hi = edge[m + 2], area = 2 / (hi - lo);
        for (int bin = 0; bin < BINS; bin++) {
            const double hz = (double)bin * RATE / WINDOW, up = (hz - lo) / (mid - lo), down = (hi - hz) / (hi - mid);
            const double height = up < down ? up : down;
            out[(size_t)m * BINS + (size_t)bin] = (float)(height > 0 ? height * area : 0);
        }
    }
    free(edge);
}

/* ---- spectrum ---- */

/* Sample i of the signal after zero padding to 30 s and reflection of half a window at both ends. */
static double padded(const int16_t *pcm, size_t n, int64_t i) {
    i -= WINDOW / 2;
    if (i < 0) i = -i;
    if (i >= SAMPLES) i = 2 * (SAMPLES - 1) - i;
    return (size_t)i < n ? (double)pcm[i] / 32768 : 0;
}

/* Rows 0..200: window * cos, rows 201..401: window * sin, so that one product gives both parts of every bin. */
static void fill_transform(double *a) {
    double cosine[WINDOW], sine[WINDOW], window[WINDOW];
    for (int i = 0; i < WINDOW; i++) {
        cosine[i] = assay_cos(2 * PI * i / WINDOW);
        sine[i] = assay_sin(2 * PI * i / WINDOW);
        window[i] = 0.5 - 0.5 * cosine[i];
    }
    for (int bin = 0; bin < BINS; bin++)
        for (int i = 0; i < WINDOW; i++) {
            a[bin * WINDOW + i] = window[i] * cosine[bin * i % WINDOW];
            a[(BINS + bin) * WINDOW + i] = window[i] * sine[bin * i % WINDOW];
        }
}

/* power [BINS, FRAMES] */
static void power_spectrum(const int16_t *pcm, size_t n, double *power) {
    double *transform = assay_xmalloc(2 * BINS * WINDOW * sizeof *transform);
    double *frames = assay_xmalloc((size_t)WINDOW * FRAMES * sizeof *frames);
    double *parts = assay_xmalloc((size_t)2 * BINS * FRAMES * sizeof *parts);
    fill_transform(transform);
    for (int64_t i = 0; i < WINDOW; i++)
        for (int64_t f = 0; f < FRAMES; f++) frames[i * FRAMES + f] = padded(pcm, n, f * HOP + i);
    assay_matmul_f64(2 * BINS, FRAMES, WINDOW, transform, frames, parts);
    for (int64_t i = 0; i < (int64_t)BINS * FRAMES; i++) power[i] = parts[i] * parts[i] + parts[BINS * FRAMES + i] * parts[BINS * FRAMES + i];
    free(transform);
    free(frames);
    free(parts);
}

/* log10 with a floor of 1e-10, then nothing more than 8 below the largest, then (v + 4)/4. */
static void compress(const double *mel, int64_t n, uint16_t *out) {
    double *v = assay_xmalloc((size_t)n * sizeof *v), largest = -(double)INFINITY;
    for (int64_t i = 0; i < n; i++) {
        v[i] = mel[i] > 1e-10 ? assay_log10(mel[i]) : -10;
        if (v[i] > largest) largest = v[i];
    }
    for (int64_t i = 0; i < n; i++) out[i] = assay_f64_to_f16(((v[i] > largest - 8 ? v[i] : largest - 8) + 4) / 4);
    free(v);
}

assay_status assay_log_mel(const int16_t *pcm, size_t n, uint32_t n_mels, assay_own_tensor *out, assay_error *err) {
    *out = (assay_own_tensor){0};
    if (n_mels != 80 && n_mels != 128) return assay_fail(err, ASSAY_E_INPUT, "%u mel bands: 80 and 128 are known", n_mels);
    if (n > SAMPLES) return assay_fail(err, ASSAY_E_INPUT, "%zu samples are more than 30 s at 16 kHz (%d)", n, SAMPLES);
    const int64_t shape[2] = { n_mels, FRAMES };
    assay_status status = assay_tensor_new(ASSAY_F16, 2, shape, out, err);
    if (status != ASSAY_OK) return status;
    float *filters = assay_xmalloc(n_mels * BINS * sizeof *filters);
    double *wide = assay_xmalloc(n_mels * BINS * sizeof *wide), *power = assay_xmalloc((size_t)BINS * FRAMES * sizeof *power);
    double *mel = assay_xmalloc((size_t)n_mels * FRAMES * sizeof *mel);
    assay_mel_filters(n_mels, filters);
    assay_convert(ASSAY_F64, wide, ASSAY_F32, filters, n_mels * BINS);
    power_spectrum(pcm, n, power);
    assay_matmul_f64(n_mels, FRAMES, BINS, wide, power, mel);
    compress(mel, (int64_t)n_mels * FRAMES, out->t.data);
    free(filters);
    free(wide);
    free(power);
    free(mel);
    return ASSAY_OK;
}
