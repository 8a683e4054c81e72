/* tensor/tensor.h: making, viewing and copying tensors. assay_tensor (assay/types.h) is a view; whoever allocated its data
 * frees it. Shapes are in elements, row-major unless strides say otherwise; rank 0 is a scalar with one element. */
#ifndef ASSAY_TENSOR_TENSOR_H
#define ASSAY_TENSOR_TENSOR_H
#include "tensor/dtype.h"
#include "base/mem.h"

/* A tensor that owns its memory (64-byte aligned) or a file mapping. Free with assay_tensor_free. */
typedef struct assay_own_tensor { assay_tensor t; void *block; void (*release)(struct assay_own_tensor *); void *ctx; } assay_own_tensor;
/* Zeroed. ASSAY_E_INPUT for a negative or overflowing shape, ASSAY_E_NOMEM when there is no memory. */
assay_status assay_tensor_new(int32_t dtype, uint32_t rank, const int64_t *shape, assay_own_tensor *out, assay_error *err);
void assay_tensor_free(assay_own_tensor *t);                         /* zeroed or freed tensors are fine */
/* View of existing contiguous memory. */
assay_tensor assay_tensor_view(int32_t dtype, uint32_t rank, const int64_t *shape, void *data);
int64_t assay_tensor_count(const assay_tensor *t);                   /* elements; -1 when it would overflow */
bool assay_tensor_is_contiguous(const assay_tensor *t);
bool assay_tensor_same_shape(const assay_tensor *a, const assay_tensor *b);
/* Address of the element at a flat C-order index. */
void *assay_tensor_at(const assay_tensor *t, int64_t flat);
/* C-order copy into contiguous memory with conversion; works on any strides. dst must hold count * size bytes. */
void assay_tensor_read(const assay_tensor *t, int32_t to_dtype, void *dst);
/* A contiguous copy in `dtype` (0 = same). */
assay_status assay_tensor_copy(const assay_tensor *t, int32_t dtype, assay_own_tensor *out, assay_error *err);
/* Views without copying; false if it cannot be expressed. */
bool assay_tensor_permute(const assay_tensor *t, const uint32_t *perm, assay_tensor *out);
bool assay_tensor_slice(const assay_tensor *t, uint32_t axis, int64_t start, int64_t count, assay_tensor *out);
bool assay_tensor_select(const assay_tensor *t, uint32_t axis, int64_t index, assay_tensor *out); /* axis removed */
bool assay_tensor_reshape(const assay_tensor *t, uint32_t rank, const int64_t *shape, assay_tensor *out); /* contiguous only */
/* SHA-256 over the little-endian C-order elements (never over padding), as in fixtures.md. */
void assay_tensor_digest(const assay_tensor *t, char hex[65]);
/* "[2,750,1280]" */
const char *assay_shape_text(uint32_t rank, const int64_t *shape, char out[160]);
#endif
