/* ops/pool.h: memory of values and scratch, kept from op to op and run to run: fresh pages cost more than most ops. One thread. */
#ifndef ASSAY_OPS_POOL_H
#define ASSAY_OPS_POOL_H
#include "tensor/tensor.h"

typedef struct assay_pool assay_pool;
assay_pool *assay_pool_new(void);
/* Every tensor taken must have been freed before. */
void assay_pool_free(assay_pool *p);
/* A contiguous tensor, 64-byte aligned, contents undefined; assay_tensor_free gives it back. */
assay_status assay_pool_take(assay_pool *p, int32_t dtype, uint32_t rank, const int64_t *shape, assay_own_tensor *out, assay_error *err);
/* As assay_tensor_copy, from the pool. */
assay_status assay_pool_copy(assay_pool *p, const assay_tensor *t, int32_t dtype, assay_own_tensor *out, assay_error *err);
/* A zeroed record of at most 64 KiB; like the x-functions it never returns NULL. assay_pool_put gives it back (NULL is fine). */
void *assay_pool_node(assay_pool *p, size_t bytes);
void assay_pool_put(void *node);
#endif
