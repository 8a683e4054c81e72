/* A free list of large blocks, best fit within a factor of two. */
#include "ops/pool.h"
#include <stdlib.h>
#include <string.h>

enum { ALIGN = 64, FREE_MAX = 32 };
static const uint64_t SMALL_BYTES = 1 << 16, KEPT_BYTES = (uint64_t)512 << 20;

typedef struct block { void *mem; uint64_t bytes; assay_pool *owner; } block;
struct assay_pool { block *free[FREE_MAX]; uint32_t n; uint64_t bytes; };

assay_pool *assay_pool_new(void) { return assay_xcalloc(1, sizeof(assay_pool)); }

static void drop(block *b) {
    free(b->mem);
    free(b);
}

void assay_pool_free(assay_pool *p) {
    for (uint32_t i = 0; p && i < p->n; i++) drop(p->free[i]);
    free(p);
}

static void give_back(assay_own_tensor *t) {
    block *b = t->ctx;
    assay_pool *p = b->owner;
    if (p->n == FREE_MAX || p->bytes + b->bytes > KEPT_BYTES) { drop(b); return; }
    p->free[p->n++] = b;
    p->bytes += b->bytes;
}

static block *reuse(assay_pool *p, uint64_t bytes) {
    uint32_t best = p->n;
    for (uint32_t i = 0; i < p->n; i++) {
        uint64_t have = p->free[i]->bytes;
        if (have >= bytes && have / 2 <= bytes && (best == p->n || have < p->free[best]->bytes)) best = i;
    }
    if (best == p->n) return NULL;
    block *b = p->free[best];
    p->free[best] = p->free[--p->n];
    p->bytes -= b->bytes;
    return b;
}

static block *fresh(assay_pool *p, uint64_t bytes) {
    block *b = assay_xcalloc(1, sizeof *b);
    *b = (block){ .bytes = bytes, .owner = p };
    if (posix_memalign(&b->mem, ALIGN, bytes) == 0) {
        assay_mem_expect(b->mem, bytes);
        return b;
    }
    free(b);
    return NULL;
}

assay_status assay_pool_take(assay_pool *p, int32_t dtype, uint32_t rank, const int64_t *shape, assay_own_tensor *out, assay_error *err) {
    assay_tensor view = assay_tensor_view(dtype, rank, shape, NULL);
    int64_t count = assay_tensor_count(&view);
    size_t size = assay_dtype_size(dtype);
    bool large = count > 0 && size && (uint64_t)count <= (UINT64_MAX >> 2) / size && (uint64_t)count * size >= SMALL_BYTES;
    if (!large) return assay_tensor_new(dtype, rank, shape, out, err);  /* small, empty, or refused there with the right words */
    uint64_t bytes = (uint64_t)count * size;
    block *b = reuse(p, bytes);
    if (!b) b = fresh(p, bytes);
    if (!b) return assay_tensor_new(dtype, rank, shape, out, err);
    memset(out, 0, sizeof *out);
    out->t = assay_tensor_view(dtype, rank, shape, b->mem);
    out->block = b->mem;
    out->release = give_back;
    out->ctx = b;
    return ASSAY_OK;
}
