/* Preloaded by the allocation test: counts what the process asks of the allocator. glibc only (its __libc_ entry points). */
#include <errno.h>
#include <stdlib.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
#define SHOWN __attribute__((visibility("default")))

SHOWN unsigned long assay_test_allocations(void);
static unsigned long count;

static void one_more(void) { __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED); }
unsigned long assay_test_allocations(void) { return __atomic_load_n(&count, __ATOMIC_RELAXED); }

SHOWN void *malloc(size_t n) { one_more(); return __libc_malloc(n); }
SHOWN void *calloc(size_t n, size_t size) { one_more(); return __libc_calloc(n, size); }
SHOWN void *realloc(void *p, size_t n) { one_more(); return __libc_realloc(p, n); }
SHOWN void *memalign(size_t align, size_t n);
SHOWN void *memalign(size_t align, size_t n) { one_more(); return __libc_memalign(align, n); }
SHOWN void *aligned_alloc(size_t align, size_t n) { one_more(); return __libc_memalign(align, n); }
SHOWN int posix_memalign(void **out, size_t align, size_t n) {
    one_more();
    *out = __libc_memalign(align, n);
    return *out ? 0 : ENOMEM;
}
