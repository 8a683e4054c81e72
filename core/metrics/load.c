/* Reads tensors of any type and stride as blocks of float64, exactly widened; fp16, fp32 and fp64 have their own loops. */
#include "metrics/metrics.h"
#include "tensor/tensor.h"
#include <string.h>

enum { RUN = 256 }; /* elements gathered at a time when the inner stride is not 1 */

int64_t assay_metrics_count(const assay_tensor *t) {
    int64_t n = 1;
    for (uint32_t i = 0; i < t->rank; i++) n *= t->shape[i];
    return n;
}

assay_status assay_metrics_check(const assay_tensor *ref, const assay_tensor *cand, assay_error *err) {
    if (ref->rank > ASSAY_RANK_MAX || cand->rank > ASSAY_RANK_MAX)
        return assay_fail(err, ASSAY_E_INPUT, "metrics: rank above %d", ASSAY_RANK_MAX);
    if (!assay_dtype_size(ref->dtype) || !assay_dtype_size(cand->dtype))
        return assay_fail(err, ASSAY_E_TYPE, "metrics: unknown element type");
    if (ref->rank != cand->rank || memcmp(ref->shape, cand->shape, ref->rank * sizeof ref->shape[0]) != 0) {
        char a[160], b[160];
        return assay_fail(err, ASSAY_E_INPUT, "metrics: shapes differ: %s and %s", assay_shape_text(ref->rank, ref->shape, a),
                          assay_shape_text(cand->rank, cand->shape, b));
    }
    return ASSAY_OK;
}

void assay_reader_init(assay_reader *rd, const assay_tensor *t) {
    *rd = (assay_reader){.base = t->data, .dtype = t->dtype, .size = assay_dtype_size(t->dtype)};
    for (uint32_t i = 0; i < t->rank; i++) {
        if (t->shape[i] == 1) continue;
        uint32_t last = rd->rank;
        if (last && rd->stride[last - 1] == t->stride[i] * t->shape[i]) { /* continues the axis before: join them */
            rd->shape[last - 1] *= t->shape[i];
            rd->stride[last - 1] = t->stride[i];
            continue;
        }
        rd->shape[last] = t->shape[i];
        rd->stride[last] = t->stride[i];
        rd->rank++;
    }
    if (!rd->rank) {
        rd->rank = 1;
        rd->shape[0] = 1;
        rd->stride[0] = 1;
    }
}

void assay_reader_seek(assay_reader *rd, int64_t flat) {
    rd->offset = 0;
    for (uint32_t i = rd->rank; i-- > 0;) {
        rd->at[i] = flat % rd->shape[i];
        flat /= rd->shape[i];
        rd->offset += rd->at[i] * rd->stride[i];
    }
}

/* Moves n elements on, n not beyond the end of the innermost axis. */
static void advance(assay_reader *rd, int64_t n) {
    uint32_t i = rd->rank - 1;
    rd->at[i] += n;
    rd->offset += n * rd->stride[i];
    while (rd->at[i] == rd->shape[i] && i > 0) {
        rd->offset += rd->stride[i - 1] - rd->at[i] * rd->stride[i];
        rd->at[i] = 0;
        rd->at[--i]++;
    }
}

/* Exact for every finite half: the exponent is rebiased by one multiplication with 2^112; infinity and NaN get theirs back. */
static void widen_f16(const unsigned char *p, size_t n, double *restrict out) {
    for (size_t i = 0; i < n; i++) {
        uint16_t h;
        memcpy(&h, p + 2 * i, 2);
        uint32_t bits = (uint32_t)(h & 0x7fff) << 13;
        float f;
        memcpy(&f, &bits, 4);
        f *= 0x1p112f;
        memcpy(&bits, &f, 4);
        bits |= (uint32_t)(h & 0x8000) << 16 | ((h & 0x7c00) == 0x7c00 ? 0x7f800000u : 0u);
        memcpy(&f, &bits, 4);
        out[i] = (double)f;
    }
}

static void widen_f32(const unsigned char *p, size_t n, double *restrict out) {
    for (size_t i = 0; i < n; i++) {
        float f;
        memcpy(&f, p + 4 * i, 4);
        out[i] = (double)f;
    }
}

static void widen(int32_t dtype, size_t size, const unsigned char *p, size_t n, double *out) {
    if (dtype == ASSAY_F16)
        widen_f16(p, n, out);
    else if (dtype == ASSAY_F32)
        widen_f32(p, n, out);
    else if (dtype == ASSAY_F64)
        memcpy(out, p, n * sizeof *out);
    else
        for (size_t i = 0; i < n; i++) out[i] = assay_load_f64(dtype, p + i * size);
}

static void gather(const unsigned char *p, size_t step, size_t size, size_t n, unsigned char *out) {
    if (size == 2)
        for (size_t i = 0; i < n; i++) memcpy(out + 2 * i, p + i * step, 2);
    else if (size == 4)
        for (size_t i = 0; i < n; i++) memcpy(out + 4 * i, p + i * step, 4);
    else
        for (size_t i = 0; i < n; i++) memcpy(out + size * i, p + i * step, size);
}

void assay_reader_next(assay_reader *rd, size_t n, double *out) {
    unsigned char raw[RUN * 8];
    uint32_t in = rd->rank - 1;
    while (n > 0) {
        size_t left = (size_t)(rd->shape[in] - rd->at[in]), run = left < n ? left : n;
        const unsigned char *p = rd->base + (size_t)rd->offset * rd->size;
        if (rd->stride[in] != 1) {
            run = run < RUN ? run : RUN;
            gather(p, (size_t)rd->stride[in] * rd->size, rd->size, run, raw);
            p = raw;
        }
        widen(rd->dtype, rd->size, p, run, out);
        advance(rd, (int64_t)run);
        out += run;
        n -= run;
    }
}

const void *assay_reader_span(assay_reader *rd, size_t n, double *buffer, int *type) {
    uint32_t in = rd->rank - 1;
    bool known = rd->dtype == ASSAY_F16 || rd->dtype == ASSAY_F32 || rd->dtype == ASSAY_F64;
    *type = ASSAY_BLOCK_F64;
    if (!known || rd->stride[in] != 1 || (size_t)(rd->shape[in] - rd->at[in]) < n) {
        assay_reader_next(rd, n, buffer);
        return buffer;
    }
    const unsigned char *p = rd->base + (size_t)rd->offset * rd->size;
    *type = rd->dtype == ASSAY_F16 ? ASSAY_BLOCK_F16 : rd->dtype == ASSAY_F32 ? ASSAY_BLOCK_F32 : ASSAY_BLOCK_F64;
    advance(rd, (int64_t)n);
    return p;
}
