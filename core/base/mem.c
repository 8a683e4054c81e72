/* base/mem.c: allocation that cannot return NULL, arenas, growing buffers and pointer arrays. */
#include "base/mem.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static void out_of_memory(size_t n) {
    fprintf(stderr, "assay: out of memory (%zu bytes wanted)\n", n);
    exit(70);
}

void *assay_xmalloc(size_t n) {
    void *p = malloc(n ? n : 1);
    if (!p) out_of_memory(n);
    return p;
}

void *assay_xcalloc(size_t count, size_t size) {
    void *p = calloc(count ? count : 1, size ? size : 1);
    if (!p) out_of_memory(size && count > SIZE_MAX / size ? SIZE_MAX : count * size);
    return p;
}

void *assay_xrealloc(void *p, size_t n) {
    void *q = realloc(p, n ? n : 1);
    if (!q) out_of_memory(n);
    return q;
}

char *assay_xstrndup(const char *s, size_t n) {
    char *p = assay_xmalloc(n + 1);
    if (n) memcpy(p, s, n);
    p[n] = '\0';
    return p;
}

char *assay_xstrdup(const char *s) { return assay_xstrndup(s, strlen(s)); }

char *assay_xprintf(const char *fmt, ...) {
    assay_buf b = {0};
    va_list ap;
    va_start(ap, fmt);
    assay_buf_vprintf(&b, fmt, ap);
    va_end(ap);
    return assay_buf_take(&b);
}

void assay_mem_expect(void *p, size_t n) {
#if defined(MADV_HUGEPAGE)
    enum { WORTH_IT = 4 << 20 };
    const uintptr_t page = 4096, from = ((uintptr_t)p + page - 1) / page * page, end = ((uintptr_t)p + n) / page * page;
    if (n >= WORTH_IT) madvise((char *)p + (from - (uintptr_t)p), end - from, MADV_HUGEPAGE);
#else
    (void)p, (void)n;
#endif
}

enum { LARGE_PAGE = 2 << 20 };
static size_t mapped_bytes(size_t n) { return (n + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE; }

void *assay_mem_map(size_t n) {
    if (n == 0 || n > SIZE_MAX / 2) return NULL;
    const size_t bytes = mapped_bytes(n);
    char *all = mmap(NULL, bytes + LARGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED) return NULL;
    const size_t before = (LARGE_PAGE - (uintptr_t)all % LARGE_PAGE) % LARGE_PAGE;
    if (before) munmap(all, before);
    munmap(all + before + bytes, LARGE_PAGE - before);
    assay_mem_expect(all + before, bytes);
    return all + before;
}

void assay_mem_unmap(void *p, size_t n) {
    if (p) munmap(p, mapped_bytes(n));
}

void *assay_mem_spare(assay_spare use, size_t n) {
    static _Thread_local struct { void *p; size_t n; } kept[ASSAY_SPARE_COUNT];
    if (kept[use].n >= n && kept[use].p) return kept[use].p;
    if (n > SIZE_MAX / 2) out_of_memory(n);
    free(kept[use].p);
    kept[use].n = (n + 63) / 64 * 64;
    if (posix_memalign(&kept[use].p, 64, kept[use].n ? kept[use].n : 64) != 0) out_of_memory(n);
    assay_mem_expect(kept[use].p, kept[use].n);
    return kept[use].p;
}

/* ---- arena ---- */

/* Blocks double up to ARENA_LARGE, and large ones are asked of the system in one go: page faults one by one cost more. */
enum { ARENA_BLOCK = 16 * 1024, ARENA_LARGE = 1024 * 1024, ARENA_POPULATE = 128 * 1024, ARENA_ALIGN = 16 };
typedef struct arena_block { struct arena_block *next; size_t used, size; void *pad; } arena_block;   /* data follows, 16-aligned */
typedef struct arena_hook { struct arena_hook *next; void (*fn)(void *); void *p; } arena_hook;
struct assay_arena { arena_block *blocks; arena_hook *hooks; };

assay_arena *assay_arena_new(void) { return assay_xcalloc(1, sizeof(assay_arena)); }

void assay_arena_reset(assay_arena *a) {
    for (arena_hook *h = a->hooks, *next; h; h = next) {
        next = h->next;                          /* hooks lie in the arena: read before the memory is used again */
        h->fn(h->p);
    }
    a->hooks = NULL;
    for (arena_block *b = a->blocks ? a->blocks->next : NULL, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    if (!a->blocks) return;
    a->blocks->next = NULL;
    a->blocks->used = 0;
}

void assay_arena_free(assay_arena *a) {
    if (!a) return;
    assay_arena_reset(a);
    free(a->blocks);
    free(a);
}

static size_t next_block_size(const assay_arena *a) {
    size_t size = a->blocks ? 2 * a->blocks->size : ARENA_BLOCK;
    return size < ARENA_BLOCK ? ARENA_BLOCK : size < ARENA_LARGE ? size : ARENA_LARGE;
}

static arena_block *new_block(size_t size) {
    arena_block *b = assay_xmalloc(sizeof *b + size);
    *b = (arena_block){ .size = size };
#ifdef MADV_POPULATE_WRITE
    uintptr_t page = 4096, from = ((uintptr_t)b + page - 1) / page * page, to = (uintptr_t)(b + 1) + size;
    if (size >= ARENA_POPULATE && size <= ARENA_LARGE) madvise((void *)from, (to - from) / page * page, MADV_POPULATE_WRITE);
#endif
    return b;
}

/* A large request gets a block of its own behind the current one, whose free space stays in use. */
static void *arena_take(assay_arena *a, size_t n) {
    if (n > SIZE_MAX / 2) out_of_memory(n);
    n = (n + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
    arena_block *b = a->blocks;
    if (b && b->size - b->used < n && n > ARENA_BLOCK / 4) {
        b = new_block(n);
        b->next = a->blocks->next;
        a->blocks->next = b;
    } else if (!b || b->size - b->used < n) {
        size_t size = next_block_size(a);
        b = new_block(n > size ? n : size);
        b->next = a->blocks;
        a->blocks = b;
    }
    void *p = (char *)(b + 1) + b->used;
    b->used += n;
    return p;
}

void *assay_arena_alloc(assay_arena *a, size_t n) {
    void *p = arena_take(a, n ? n : 1);
    memset(p, 0, n ? n : 1);
    return p;
}

void *assay_arena_copy(assay_arena *a, const void *p, size_t n) {
    void *q = arena_take(a, n ? n : 1);
    if (n) memcpy(q, p, n);
    return q;
}

char *assay_arena_strndup(assay_arena *a, const char *s, size_t n) {
    char *p = arena_take(a, n + 1);
    if (n) memcpy(p, s, n);
    p[n] = '\0';
    return p;
}

char *assay_arena_strdup(assay_arena *a, const char *s) { return assay_arena_strndup(a, s, strlen(s)); }

char *assay_arena_printf(assay_arena *a, const char *fmt, ...) {
    assay_buf b = {0};
    va_list ap;
    va_start(ap, fmt);
    assay_buf_vprintf(&b, fmt, ap);
    va_end(ap);
    char *p = assay_arena_strndup(a, b.data, b.len);
    assay_buf_free(&b);
    return p;
}

void assay_arena_on_free(assay_arena *a, void (*fn)(void *), void *p) {
    arena_hook *h = assay_arena_alloc(a, sizeof *h);
    h->fn = fn;
    h->p = p;
    h->next = a->hooks;
    a->hooks = h;
}

/* ---- buffer ---- */

static void buf_reserve(assay_buf *b, size_t extra) {
    if (extra > SIZE_MAX / 4 || b->len > SIZE_MAX / 4) out_of_memory(extra);
    size_t need = b->len + extra + 1;
    if (need <= b->cap) return;
    size_t cap = b->cap ? b->cap : 64;
    while (cap < need) cap += cap / 2;
    b->data = assay_xrealloc(b->data, cap);
    b->cap = cap;
    b->data[b->len] = '\0';
}

void assay_buf_add(assay_buf *b, const void *p, size_t n) {
    buf_reserve(b, n);
    if (n) memcpy(b->data + b->len, p, n);
    b->len += n;
    b->data[b->len] = '\0';
}

void assay_buf_str(assay_buf *b, const char *s) { assay_buf_add(b, s, strlen(s)); }
void assay_buf_char(assay_buf *b, char c) { assay_buf_add(b, &c, 1); }

void assay_buf_vprintf(assay_buf *b, const char *fmt, va_list ap) {
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    if (n > 0) {
        buf_reserve(b, (size_t)n);
        vsnprintf(b->data + b->len, (size_t)n + 1, fmt, again);
        b->len += (size_t)n;
    }
    va_end(again);
}

void assay_buf_printf(assay_buf *b, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    assay_buf_vprintf(b, fmt, ap);
    va_end(ap);
}

char *assay_buf_take(assay_buf *b) {
    buf_reserve(b, 0);
    char *p = b->data;
    *b = (assay_buf){0};
    return p;
}

void assay_buf_free(assay_buf *b) {
    free(b->data);
    *b = (assay_buf){0};
}

/* ---- pointers ---- */

void assay_ptrs_push(assay_ptrs *v, void *p) {
    if (v->len == v->cap) {
        v->cap = v->cap ? v->cap * 2 : 8;
        v->items = assay_xrealloc(v->items, v->cap * sizeof *v->items);
    }
    v->items[v->len++] = p;
}

void assay_ptrs_free(assay_ptrs *v) {
    free(v->items);
    *v = (assay_ptrs){0};
}
