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
#endif
