/* Memory of a session: large blocks in a free list (best fit within a factor of two), small pieces in lists by powers of two.
 * Once every size was wanted, a run asks the system for nothing. */
#include "ops/pool.h"
#include <stdlib.h>
#include <string.h>

enum { ALIGN = 64, FREE_MAX = 32, SMALLEST_BITS = 6, LARGE_BITS = 16, CLASSES = LARGE_BITS - SMALLEST_BITS + 1 };
static const uint64_t MAPPED_BYTES = 2 << 20, KEPT_BYTES = (uint64_t)512 << 20;

/* AddressSanitizer sees the end of a block only where the allocator gave just that much, and its use after it was freed. */
#if defined(__SANITIZE_ADDRESS__)
enum { EXACT = 1 };
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
enum { EXACT = 1 };
#else
enum { EXACT = 0 };
#endif
#else
enum { EXACT = 0 };
#endif

/* In front of a piece's bytes. */
typedef struct piece { _Alignas(ALIGN) struct piece *next; assay_pool *owner; uint32_t class; } piece;
typedef struct block { void *mem; uint64_t bytes; assay_pool *owner; } block;
struct assay_pool { piece *small[CLASSES]; block *free[FREE_MAX]; uint32_t n; uint64_t bytes; };

assay_pool *assay_pool_new(void) { return assay_xcalloc(1, sizeof(assay_pool)); }

/* ---- small */
static uint32_t class_of(size_t bytes) {
    uint32_t c = 0;
    while (((size_t)1 << (SMALLEST_BITS + c)) < bytes) c++;
    return c;
}

/* The piece with its header; NULL when memory is out. */
static piece *take_piece(assay_pool *p, size_t bytes) {
    const uint32_t class = class_of(bytes);
    piece *x = p->small[class];
    if (x) {
        p->small[class] = x->next;
        return x;
    }
    void *mem;
    if (posix_memalign(&mem, ALIGN, sizeof *x + ((size_t)1 << (SMALLEST_BITS + class))) != 0) return NULL;
    x = mem;
    *x = (piece){ .owner = p, .class = class };
    return x;
}

static void put_piece(piece *x) {
    x->next = x->owner->small[x->class];
    x->owner->small[x->class] = x;
}

void *assay_pool_node(assay_pool *p, size_t bytes) {
    piece *x = take_piece(p, bytes);
    if (!x) return assay_xcalloc(SIZE_MAX, SIZE_MAX);                /* leaves with the message of memory that is out */
    return memset(x + 1, 0, bytes);
}

void assay_pool_put(void *node) {
    if (node) put_piece((piece *)node - 1);
}

static void give_back_piece(assay_own_tensor *t) { assay_pool_put(t->block); }

/* ---- large */
static void drop(block *b) {
    if (b->bytes >= MAPPED_BYTES) assay_mem_unmap(b->mem, b->bytes);
    else free(b->mem);
    assay_pool_put(b);
}

static void give_back_block(assay_own_tensor *t) {
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
    void *mem = NULL;
    if (bytes >= MAPPED_BYTES) mem = assay_mem_map(bytes);
    else if (posix_memalign(&mem, ALIGN, bytes) != 0) mem = NULL;
    if (!mem) return NULL;
    block *b = assay_pool_node(p, sizeof *b);
    *b = (block){ .mem = mem, .bytes = bytes, .owner = p };
    return b;
}

void assay_pool_free(assay_pool *p) {
    for (uint32_t i = 0; p && i < p->n; i++) drop(p->free[i]);
    for (uint32_t c = 0; p && c < CLASSES; c++)
        for (piece *x = p->small[c], *next; x; x = next) {
            next = x->next;
            free(x);
        }
    free(p);
}

/* ---- tensors */
static bool take_small(assay_pool *p, uint64_t bytes, assay_own_tensor *out) {
    piece *x = take_piece(p, (size_t)bytes);
    if (!x) return false;
    *out = (assay_own_tensor){ .block = x + 1, .release = give_back_piece };
    return true;
}

static bool take_large(assay_pool *p, uint64_t bytes, assay_own_tensor *out) {
    block *b = reuse(p, bytes);
    if (!b) b = fresh(p, bytes);
    if (!b) return false;
    *out = (assay_own_tensor){ .block = b->mem, .release = give_back_block, .ctx = b };
    return true;
}

assay_status assay_pool_take(assay_pool *p, int32_t dtype, uint32_t rank, const int64_t *shape, assay_own_tensor *out, assay_error *err) {
    assay_tensor view = assay_tensor_view(dtype, rank, shape, NULL);
    int64_t count = assay_tensor_count(&view);
    size_t size = assay_dtype_size(dtype);
    bool sound = rank <= ASSAY_RANK_MAX && count >= 0 && size && (uint64_t)count <= (UINT64_MAX >> 2) / size;
    if (!sound || EXACT) return assay_tensor_new(dtype, rank, shape, out, err);  /* what is not sound is refused there with the right words */
    uint64_t bytes = (uint64_t)count * size;
    if (!(bytes <= (uint64_t)1 << LARGE_BITS ? take_small : take_large)(p, bytes, out)) return assay_tensor_new(dtype, rank, shape, out, err);
    out->t = assay_tensor_view(dtype, rank, shape, out->block);
    return ASSAY_OK;
}

assay_status assay_pool_copy(assay_pool *p, const assay_tensor *t, int32_t dtype, assay_own_tensor *out, assay_error *err) {
    if (dtype == 0) dtype = t->dtype;
    assay_status st = assay_pool_take(p, dtype, t->rank, t->shape, out, err);
    if (st == ASSAY_OK) assay_tensor_read(t, dtype, out->t.data);
    return st;
}
