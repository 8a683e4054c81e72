/* base/mem.h: allocation of small things, arenas and growing buffers.
 * The x-functions never return NULL: when memory is out they print one line and leave with code 70. Anything whose size
 * comes from an input file is bounded before, or goes through a function that returns NULL (tensor data). */
#ifndef ASSAY_BASE_MEM_H
#define ASSAY_BASE_MEM_H
#include "base/error.h"
#include <stddef.h>
#include <stdarg.h>

void *assay_xmalloc(size_t n);
void *assay_xcalloc(size_t count, size_t size);
void *assay_xrealloc(void *p, size_t n);
char *assay_xstrdup(const char *s);
char *assay_xstrndup(const char *s, size_t n);
char *assay_xprintf(const char *fmt, ...) ASSAY_PRINTF(1, 2);

/* Tells the system that n fresh bytes at p will all be written soon: where it can, it then hands out large pages (in a virtual
 * machine, page faults otherwise cost a third of an executor run). Changes nothing but speed; small n: nothing. */
void assay_mem_expect(void *p, size_t n);

/* A block of its own pages for data of megabytes, at the start of a large page where there are such: two blocks of one size lie
 * alike, so that two equal programs run alike. Contents undefined; NULL when memory is out. Give it back with the same n. */
void *assay_mem_map(size_t n);
void assay_mem_unmap(void *p, size_t n);

/* Memory of this thread that is kept between calls, for what a kernel needs while it runs: 64-byte aligned, contents undefined,
 * good until the thread asks for the same use again. */
typedef enum assay_spare { ASSAY_SPARE_GEMM, ASSAY_SPARE_ATTENTION, ASSAY_SPARE_COUNT } assay_spare;
void *assay_mem_spare(assay_spare use, size_t n);

/* Arena: everything made in it lives until assay_arena_free. Not thread safe. */
typedef struct assay_arena assay_arena;
assay_arena *assay_arena_new(void);
void assay_arena_free(assay_arena *a);                               /* NULL is fine */
void assay_arena_reset(assay_arena *a);                              /* frees everything made in it, keeps one block for what comes */
void *assay_arena_alloc(assay_arena *a, size_t n);                   /* zeroed, aligned to 16 */
char *assay_arena_strdup(assay_arena *a, const char *s);
char *assay_arena_strndup(assay_arena *a, const char *s, size_t n);
char *assay_arena_printf(assay_arena *a, const char *fmt, ...) ASSAY_PRINTF(2, 3);
void *assay_arena_copy(assay_arena *a, const void *p, size_t n);
/* Calls fn(p) when the arena is freed (mapped files and the like), last added first. */
void assay_arena_on_free(assay_arena *a, void (*fn)(void *), void *p);

/* Growing byte buffer; always followed by a NUL that `len` does not count. Zero-initialise, free with assay_buf_free. */
typedef struct assay_buf { char *data; size_t len, cap; } assay_buf;
void assay_buf_add(assay_buf *b, const void *p, size_t n);
void assay_buf_str(assay_buf *b, const char *s);
void assay_buf_char(assay_buf *b, char c);
void assay_buf_printf(assay_buf *b, const char *fmt, ...) ASSAY_PRINTF(2, 3);
void assay_buf_vprintf(assay_buf *b, const char *fmt, va_list ap) ASSAY_PRINTF(2, 0);
char *assay_buf_take(assay_buf *b);                                  /* caller frees; the buffer is empty again */
void assay_buf_free(assay_buf *b);

/* Growing array of pointers. */
typedef struct assay_ptrs { void **items; size_t len, cap; } assay_ptrs;
void assay_ptrs_push(assay_ptrs *v, void *p);
void assay_ptrs_free(assay_ptrs *v);
#endif
