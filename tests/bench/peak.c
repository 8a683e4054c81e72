/* tests/bench/peak.c: how fast this processor can do fused multiply-adds with nothing else to do: the 100 % of the tables. */
#include "bench/bench.h"
#include "base/process.h"
#include "base/threads.h"
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

enum { CHAINS = 12, ROUNDS = 4000000 };          /* twelve independent chains hide the latency of two or four units */
static volatile float sink;

/* Each body is CHAINS fma a step; the empty asm keeps the compiler from merging or dropping them. */
#define CHAIN_LOOP(VEC, SET, FMA)                                                                              \
    VEC x = SET(0.999999f), y = SET(1e-6f), c[CHAINS];                                                         \
    _Pragma("GCC unroll 12") for (int j = 0; j < CHAINS; j++) c[j] = SET((float)j);                            \
    for (int i = 0; i < ROUNDS; i++)                                                                           \
        _Pragma("GCC unroll 12") for (int j = 0; j < CHAINS; j++) {                                            \
            c[j] = FMA(c[j], x, y);                                                                            \
            __asm__ volatile("" : KEEP(c[j]));                                                                 \
        }                                                                                                      \
    float lane[sizeof(VEC) / sizeof(float)];                                                                   \
    _Pragma("GCC unroll 12") for (int j = 0; j < CHAINS; j++) {                                                \
        memcpy(lane, &c[j], sizeof lane);                                                                      \
        sink = lane[0];                                                                                        \
    }
#if defined(__x86_64__)
#define KEEP "+v"
__attribute__((target("avx512f"))) static void loop_avx512(void) { CHAIN_LOOP(__m512, _mm512_set1_ps, _mm512_fmadd_ps) }
__attribute__((target("avx2,fma"))) static void loop_avx2(void) { CHAIN_LOOP(__m256, _mm256_set1_ps, _mm256_fmadd_ps) }
#elif defined(__aarch64__)
#define KEEP "+w"
static float32x4_t neon_fma(float32x4_t a, float32x4_t b, float32x4_t c) { return vfmaq_f32(c, a, b); }
static void loop_neon(void) { CHAIN_LOOP(float32x4_t, vdupq_n_f32, neon_fma) }
#endif

static void one_worker(void *ctx, uint64_t i, uint32_t worker) {
    (void)i, (void)worker;
    void (*loop)(void) = *(void (**)(void))ctx;
    loop();
}

double bench_peak_gflops(const char *level, uint32_t threads) {
    void (*loop)(void) = NULL;
    double lanes = 0;
#if defined(__x86_64__)
    if (strcmp(level, "avx512") == 0) loop = loop_avx512, lanes = 16;
    if (strcmp(level, "avx2") == 0) loop = loop_avx2, lanes = 8;
#elif defined(__aarch64__)
    if (strcmp(level, "neon") == 0) loop = loop_neon, lanes = 4;
#endif
    if (!loop) return 0;
    int64_t start = assay_now_ns();
    assay_parallel(threads, threads, one_worker, &loop);
    return 2.0 * CHAINS * lanes * ROUNDS * threads / (double)(assay_now_ns() - start);
}
