/* tensor/npy.c: reads and writes NumPy .npy files; the header is parsed by npy_header.c. */
#include "tensor/npy.h"
#include "base/fs.h"
#include "tensor/npy_header.h"
#include <stdlib.h>
#include <string.h>

/* ---- reading ---- */

/* The elements that follow the header, checked against the bytes that are there. */
static assay_status check_extent(const assay_npy_header *h, size_t len, const char *what, size_t *bytes, assay_error *err) {
    assay_tensor shape = assay_tensor_view(h->dtype, h->rank, h->shape, NULL);
    int64_t count = assay_tensor_count(&shape);
    char text[160];
    assay_shape_text(h->rank, h->shape, text);
    if (count < 0) return assay_fail(err, ASSAY_E_INPUT, "%s: shape %s is too large", what, text);
    size_t want = (size_t)count * assay_dtype_size(h->dtype), have = len - h->data_offset;
    if (want > have)
        return assay_fail(err, ASSAY_E_INPUT, "%s: %zu data bytes for %s %s, %zu wanted: the file is cut short", what, have,
                          assay_dtype_name(h->dtype), text, want);
    if (want < have)
        return assay_fail(err, ASSAY_E_INPUT, "%s: %zu bytes after the data of %s %s; one array a file", what, have - want,
                          assay_dtype_name(h->dtype), text);
    *bytes = want;
    return ASSAY_OK;
}

static assay_tensor header_view(const assay_npy_header *h, void *data) {
    assay_tensor t = assay_tensor_view(h->dtype, h->rank, h->shape, data);
    if (!h->fortran) return t;
    int64_t step = 1;
    for (uint32_t i = 0; i < t.rank; i++) {
        t.stride[i] = step;
        step *= t.shape[i] > 0 ? t.shape[i] : 1;
    }
    return t;
}

static void swap_bytes(char *data, size_t bytes, size_t size) {
    for (char *p = data; p < data + bytes; p += size)
        for (size_t i = 0; i < size / 2; i++) {
            char c = p[i];
            p[i] = p[size - 1 - i];
            p[size - 1 - i] = c;
        }
}

/* A copy in this machine's byte order that keeps the file's element order. */
static assay_status copy_out(const assay_npy_header *h, const char *data, size_t bytes, assay_own_tensor *out, assay_error *err) {
    assay_status status = assay_tensor_new(h->dtype, h->rank, h->shape, out, err);
    if (status != ASSAY_OK) return status;
    if (bytes) memcpy(out->t.data, data, bytes);
    if (h->swapped) swap_bytes(out->t.data, bytes, assay_dtype_size(h->dtype));
    out->t = header_view(h, out->t.data);
    return ASSAY_OK;
}

assay_status assay_npy_parse(const void *data, size_t len, const char *what, assay_own_tensor *out, assay_error *err) {
    *out = (assay_own_tensor){0};
    assay_npy_header h;
    size_t bytes;
    assay_status status = assay_npy_header_parse(data, len, what, &h, err);
    if (status == ASSAY_OK) status = check_extent(&h, len, what, &bytes, err);
    return status == ASSAY_OK ? copy_out(&h, (const char *)data + h.data_offset, bytes, out, err) : status;
}

static void release_map(assay_own_tensor *t) {
    assay_map *m = t->ctx;
    assay_unmap(m);
    free(m);
}

assay_status assay_npy_read(const char *path, assay_own_tensor *out, assay_error *err) {
    *out = (assay_own_tensor){0};
    assay_map map;
    assay_status status = assay_map_file(path, &map, err);
    if (status != ASSAY_OK) return status;
    assay_npy_header h;
    size_t bytes = 0;
    status = assay_npy_header_parse(map.data, map.len, path, &h, err);
    if (status == ASSAY_OK) status = check_extent(&h, map.len, path, &bytes, err);
    bool aligned = status == ASSAY_OK && h.data_offset % assay_dtype_size(h.dtype) == 0;
    if (status == ASSAY_OK && (h.swapped || !aligned || bytes == 0)) {
        status = copy_out(&h, (const char *)map.data + h.data_offset, bytes, out, err);
    } else if (status == ASSAY_OK) {
        assay_map *kept = assay_xmalloc(sizeof *kept);
        *kept = map;
        out->t = header_view(&h, (char *)map.base + h.data_offset);
        out->release = release_map;
        out->ctx = kept;
        return ASSAY_OK;
    }
    assay_unmap(&map);
    return status;
}

/* ---- writing ---- */

assay_status assay_npy_write(const char *path, const assay_tensor *t, assay_error *err) {
    char text[ASSAY_NPY_HEADER_MAX];
    size_t header_len = assay_npy_header_format(t, text);
    if (header_len == 0)
        return assay_fail(err, ASSAY_E_UNSUPPORTED, "%s: .npy has no %s; convert to fp32 first", path, assay_dtype_name(t->dtype));
    assay_own_tensor packed = {0};
    const assay_tensor *src = t;
    if (!assay_tensor_is_contiguous(t)) {
        assay_status status = assay_tensor_copy(t, 0, &packed, err);
        if (status != ASSAY_OK) return status;
        src = &packed.t;
    }
    int64_t count = assay_tensor_count(src);
    assay_piece pieces[2] = { { text, header_len }, { src->data, (size_t)(count > 0 ? count : 0) * assay_dtype_size(src->dtype) } };
    assay_status status = assay_write_pieces(path, pieces, 2, err);
    assay_tensor_free(&packed);
    return status;
}
