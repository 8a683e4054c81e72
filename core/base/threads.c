/* base/threads.c: a parallel loop over a pool of threads that is kept between calls. */
#include "base/threads.h"
#include "base/mem.h"
#include <fenv.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>
#if defined(__linux__)
#include <sched.h>
#endif

enum { THREADS_MAX = 256 };

typedef struct job {
    void (*fn)(void *, uint64_t, uint32_t);
    void *ctx;
    uint64_t n;
    atomic_uint_fast64_t next;
    fenv_t mode;                     /* the caller's floating-point mode, for every worker */
} job;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t start, done;
    uint32_t running, wanted, busy;  /* threads alive; workers of this round; workers still in it */
    uint64_t round;
    job *job;
} pool = { .lock = PTHREAD_MUTEX_INITIALIZER, .start = PTHREAD_COND_INITIALIZER, .done = PTHREAD_COND_INITIALIZER };

/* Counts the processors this process may use, not those the machine has: a batch job often owns fewer. */
uint32_t assay_cpu_count(void) {
#if defined(__linux__) && defined(CPU_COUNT)
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) return (uint32_t)CPU_COUNT(&set);
#endif
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (uint32_t)n : 1;
}

static void take_tasks(job *j, uint32_t worker) {
    for (;;) {
        uint64_t i = atomic_fetch_add_explicit(&j->next, 1, memory_order_relaxed);
        if (i >= j->n) return;
        j->fn(j->ctx, i, worker);
    }
}

static void *worker_main(void *arg) {
    uint32_t worker = (uint32_t)(uintptr_t)arg;
    uint64_t seen = 0;
    pthread_mutex_lock(&pool.lock);
    for (;;) {
        while (pool.round == seen || worker >= pool.wanted) {
            seen = pool.round;
            pthread_cond_wait(&pool.start, &pool.lock);
        }
        seen = pool.round;
        job *j = pool.job;
        pthread_mutex_unlock(&pool.lock);
        fesetenv(&j->mode);
        take_tasks(j, worker);
        pthread_mutex_lock(&pool.lock);
        if (--pool.busy == 0) pthread_cond_signal(&pool.done);
    }
    return NULL;
}

/* Starts what is missing; fewer threads than asked for only means less speed. Called with the lock held. */
static uint32_t grow_pool(uint32_t threads) {
    while (pool.running + 1 < threads) {
        pthread_t id;
        if (pthread_create(&id, NULL, worker_main, (void *)(uintptr_t)(pool.running + 1)) != 0) break;
        pthread_detach(id);
        pool.running++;
    }
    return pool.running + 1 < threads ? pool.running + 1 : threads;
}

void assay_parallel(uint32_t threads, uint64_t n, void (*fn)(void *ctx, uint64_t i, uint32_t worker), void *ctx) {
    if (threads > THREADS_MAX) threads = THREADS_MAX;
    if (threads > n) threads = (uint32_t)n;
    if (threads <= 1) {
        for (uint64_t i = 0; i < n; i++) fn(ctx, i, 0);
        return;
    }
    job j = { .fn = fn, .ctx = ctx, .n = n };
    atomic_init(&j.next, 0);
    fegetenv(&j.mode);
    pthread_mutex_lock(&pool.lock);
    threads = grow_pool(threads);
    pool.job = &j;
    pool.wanted = threads;
    pool.busy = threads - 1;
    pool.round++;
    pthread_cond_broadcast(&pool.start);
    pthread_mutex_unlock(&pool.lock);
    take_tasks(&j, 0);
    pthread_mutex_lock(&pool.lock);
    while (pool.busy > 0) pthread_cond_wait(&pool.done, &pool.lock);
    pool.job = NULL;
    pool.wanted = 0;
    pthread_mutex_unlock(&pool.lock);
}
