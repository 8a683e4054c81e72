/* tensor/tensor.c: tensors that own memory, strided views and C-order copies out of them. */
#include "tensor/tensor.h"
#include "base/digest.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGN = 64, GATHER = 1024 };

const char *assay_shape_text(uint32_t rank, const int64_t *shape, char out[160]) {
    size_t at = 0;
    out[at++] = '[';
    for (uint32_t i = 0; i < rank && at < 150; i++) {
        int n = snprintf(out + at, 160 - at, "%s%lld", i ? "," : "", (long long)shape[i]);
        at += n > 0 && (size_t)n < 160 - at ? (size_t)n : 0;
    }
    snprintf(out + at, 160 - at, "]");
    return out;
}

/* ---- making ---- */

/* Elements of a shape; -1 for a negative axis or when the count or 8 bytes an element would overflow. */
static int64_t shape_count(uint32_t rank, const int64_t *shape) {
    int64_t n = 1;
    bool empty = false;
    for (uint32_t i = 0; i < rank; i++) {
        if (shape[i] < 0) return -1;
        if (shape[i] == 0) empty = true;
        else if (n > INT64_MAX / 16 / shape[i]) return -1;
        else n *= shape[i];
    }
    return empty ? 0 : n;
}

int64_t assay_tensor_count(const assay_tensor *t) { return t->rank > ASSAY_RANK_MAX ? -1 : shape_count(t->rank, t->shape); }

assay_tensor assay_tensor_view(int32_t dtype, uint32_t rank, const int64_t *shape, void *data) {
    assay_tensor t;
    memset(&t, 0, sizeof t);
    t.dtype = dtype;
    t.rank = rank > ASSAY_RANK_MAX ? ASSAY_RANK_MAX : rank;
    t.data = data;
    for (uint32_t i = 0; i < t.rank; i++) t.shape[i] = shape[i];
    const int64_t count = shape_count(t.rank, t.shape);
    if (count < 0) return t;                                         /* impossible: strides and nbytes stay 0 */
    int64_t step = 1;
    for (uint32_t i = t.rank; i-- > 0;) {
        t.stride[i] = step;
        step *= shape[i] > 0 ? shape[i] : 1;
    }
    t.nbytes = (uint64_t)count * assay_dtype_size(dtype);
    return t;
}

assay_status assay_tensor_new(int32_t dtype, uint32_t rank, const int64_t *shape, assay_own_tensor *out, assay_error *err) {
    *out = (assay_own_tensor){0};
    char text[160];
    if (!assay_dtype_size(dtype)) return assay_fail(err, ASSAY_E_TYPE, "unknown element type %d", (int)dtype);
    if (rank > ASSAY_RANK_MAX) return assay_fail(err, ASSAY_E_INPUT, "rank %u is above %d", rank, ASSAY_RANK_MAX);
    int64_t count = shape_count(rank, shape);
    if (count < 0) return assay_fail(err, ASSAY_E_INPUT, "shape %s is negative or too large", assay_shape_text(rank, shape, text));
    size_t bytes = (size_t)count * assay_dtype_size(dtype);
    void *block = calloc(1, bytes + ALIGN);                          /* calloc: large blocks come as untouched zero pages */
    if (!block) return assay_fail(err, ASSAY_E_NOMEM, "no memory for a %s tensor %s (%zu bytes)", assay_dtype_name(dtype),
                                  assay_shape_text(rank, shape, text), bytes);
    assay_mem_expect(block, bytes + ALIGN);
    uintptr_t skip = (ALIGN - (uintptr_t)block % ALIGN) % ALIGN;
    out->block = block;
    out->t = assay_tensor_view(dtype, rank, shape, (char *)block + skip);
    return ASSAY_OK;
}

void assay_tensor_free(assay_own_tensor *t) {
    if (!t) return;
    if (t->release) t->release(t);
    else free(t->block);
    *t = (assay_own_tensor){0};
}

/* ---- looking ---- */

bool assay_tensor_is_contiguous(const assay_tensor *t) {
    int64_t step = 1;
    for (uint32_t i = t->rank; i-- > 0;) {
        if (t->shape[i] == 0) return true;
        if (t->shape[i] != 1 && t->stride[i] != step) return false;
        step *= t->shape[i];
    }
    return true;
}

bool assay_tensor_same_shape(const assay_tensor *a, const assay_tensor *b) {
    return a->rank == b->rank && memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) == 0;
}

void *assay_tensor_at(const assay_tensor *t, int64_t flat) {
    int64_t offset = 0;
    for (uint32_t i = t->rank; i-- > 0;) {
        offset += flat % t->shape[i] * t->stride[i];
        flat /= t->shape[i];
    }
    return (char *)t->data + offset * (int64_t)assay_dtype_size(t->dtype);
}

/* ---- copying ---- */

/* n elements `step` apart, gathered in pieces and converted. */
static void read_row(int32_t from, const char *src, int64_t step, int32_t to, char *dst, int64_t n) {
    const size_t size = assay_dtype_size(from), to_size = assay_dtype_size(to);
    if (step == 1) {
        assay_convert(to, dst, from, src, (size_t)n);
        return;
    }
    char piece[GATHER * 8];
    while (n > 0) {
        size_t k = n < GATHER ? (size_t)n : GATHER;
        for (size_t i = 0; i < k; i++) memcpy(piece + i * size, src + (int64_t)i * step * (int64_t)size, size);
        assay_convert(to, dst, from, piece, k);
        src += (int64_t)k * step * (int64_t)size;
        dst += k * to_size;
        n -= (int64_t)k;
    }
}

typedef struct row_sink { void (*put)(void *ctx, const char *src, int64_t step, int64_t n); void *ctx; } row_sink;

/* Gives the tensor to `sink` in C order, in rows as long as the strides allow. */
static void each_row(const assay_tensor *t, row_sink sink) {
    if (assay_tensor_count(t) <= 0) return;
    uint32_t outer = t->rank;
    int64_t n = 1, step = 1;
    if (outer > 0) {
        n = t->shape[--outer];
        step = t->stride[outer];
    }
    while (outer > 0 && t->stride[outer - 1] == n * step) n *= t->shape[--outer];   /* axes that lie one after the other */
    int64_t index[ASSAY_RANK_MAX] = {0}, offset = 0;
    const int64_t size = (int64_t)assay_dtype_size(t->dtype);
    for (;;) {
        sink.put(sink.ctx, (const char *)t->data + offset * size, step, n);
        uint32_t axis = outer;
        while (axis > 0) {
            axis--;
            offset += t->stride[axis];
            if (++index[axis] < t->shape[axis]) break;
            offset -= index[axis] * t->stride[axis];
            index[axis] = 0;
            if (axis == 0) return;
        }
        if (outer == 0) return;
    }
}

typedef struct reading { int32_t from, to; char *dst; } reading;

static void put_read(void *ctx, const char *src, int64_t step, int64_t n) {
    reading *r = ctx;
    read_row(r->from, src, step, r->to, r->dst, n);
    r->dst += (size_t)n * assay_dtype_size(r->to);
}

void assay_tensor_read(const assay_tensor *t, int32_t to_dtype, void *dst) {
    reading r = { t->dtype, to_dtype, dst };
    each_row(t, (row_sink){ put_read, &r });
}

assay_status assay_tensor_copy(const assay_tensor *t, int32_t dtype, assay_own_tensor *out, assay_error *err) {
    if (dtype == 0) dtype = t->dtype;
    assay_status status = assay_tensor_new(dtype, t->rank, t->shape, out, err);
    if (status == ASSAY_OK) assay_tensor_read(t, dtype, out->t.data);
    return status;
}

typedef struct hashing { int32_t dtype; assay_sha256 *sha; } hashing;

static void put_hash(void *ctx, const char *src, int64_t step, int64_t n) {
    hashing *h = ctx;
    const int64_t size = (int64_t)assay_dtype_size(h->dtype);
    if (step == 1) {
        assay_sha256_add(h->sha, src, (size_t)(n * size));
        return;
    }
    char piece[GATHER * 8];
    while (n > 0) {
        int64_t k = n < GATHER ? n : GATHER;
        read_row(h->dtype, src, step, h->dtype, piece, k);
        assay_sha256_add(h->sha, piece, (size_t)(k * size));
        src += k * step * size;
        n -= k;
    }
}

void assay_tensor_digest(const assay_tensor *t, char hex[65]) {
    hashing h = { t->dtype, assay_sha256_new() };
    each_row(t, (row_sink){ put_hash, &h });
    assay_sha256_done(h.sha, hex);
}

/* ---- views ---- */

bool assay_tensor_permute(const assay_tensor *t, const uint32_t *perm, assay_tensor *out) {
    assay_tensor r = *t;
    uint32_t seen = 0;
    for (uint32_t i = 0; i < t->rank; i++) {
        if (perm[i] >= t->rank || (seen >> perm[i] & 1)) return false;
        seen |= 1u << perm[i];
        r.shape[i] = t->shape[perm[i]];
        r.stride[i] = t->stride[perm[i]];
    }
    *out = r;
    return true;
}

bool assay_tensor_slice(const assay_tensor *t, uint32_t axis, int64_t start, int64_t count, assay_tensor *out) {
    if (axis >= t->rank || start < 0 || count < 0 || start > t->shape[axis] || count > t->shape[axis] - start) return false;
    assay_tensor r = *t;
    uint64_t skip = (uint64_t)(start * t->stride[axis]) * assay_dtype_size(t->dtype);
    r.shape[axis] = count;
    if (count > 0) r.data = (char *)t->data + skip;                  /* an empty slice at the end would point past it */
    r.nbytes = count > 0 && skip <= t->nbytes ? t->nbytes - skip : 0;
    *out = r;
    return true;
}

bool assay_tensor_select(const assay_tensor *t, uint32_t axis, int64_t index, assay_tensor *out) {
    assay_tensor r;
    if (!assay_tensor_slice(t, axis, index, 1, &r)) return false;
    for (uint32_t i = axis; i + 1 < r.rank; i++) {
        r.shape[i] = r.shape[i + 1];
        r.stride[i] = r.stride[i + 1];
    }
    r.rank--;
    r.shape[r.rank] = r.stride[r.rank] = 0;
    *out = r;
    return true;
}

bool assay_tensor_reshape(const assay_tensor *t, uint32_t rank, const int64_t *shape, assay_tensor *out) {
    if (rank > ASSAY_RANK_MAX || !assay_tensor_is_contiguous(t)) return false;
    int64_t count = shape_count(rank, shape);
    if (count < 0 || count != assay_tensor_count(t)) return false;
    uint64_t nbytes = t->nbytes;
    *out = assay_tensor_view(t->dtype, rank, shape, t->data);
    out->nbytes = nbytes;
    return true;
}
