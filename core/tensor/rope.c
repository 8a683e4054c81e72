/* Tables of rotary position embeddings, in float64 or with the angles rounded to another dtype on the way. */
#include "tensor/rope.h"
#include "base/fmath.h"

static double rounded(double x, int32_t dtype) {
    unsigned char bits[8];
    assay_store_f64(dtype, bits, x);
    return assay_load_f64(dtype, bits);
}

static double entry(const assay_rope_spec *s, int64_t position, int64_t pair, int64_t dim) {
    double frequency = rounded(assay_pow(s->theta, -2.0 * (double)pair / (double)dim), s->angles);
    double angle = rounded(rounded((double)position, s->angles) * frequency, s->angles);
    return s->sine ? assay_sin(angle) : assay_cos(angle);
}

assay_status assay_rope_fill(const assay_tensor *t, const assay_rope_spec *s, assay_error *err) {
    int64_t dim = t->rank < 2 ? 0 : t->shape[t->rank - 1], positions = t->rank < 2 ? 0 : t->shape[t->rank - 2];
    if (dim < 2 || dim % 2) return assay_fail(err, ASSAY_E_INPUT, "rope: the last of two or more axes must be an even number of channels");
    if (!(s->theta > 1)) return assay_fail(err, ASSAY_E_INPUT, "rope: theta must be above 1");
    for (int64_t i = 0, n = assay_tensor_count(t); i < n; i++) {
        int64_t channel = i % dim, position = s->first + i / dim % positions;
        int64_t pair = s->interleaved ? channel / 2 : channel % (dim / 2);
        assay_store_f64(t->dtype, assay_tensor_at(t, i), entry(s, position, pair, dim));
    }
    return ASSAY_OK;
}
