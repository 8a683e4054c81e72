/* tensor/generate.c: SplitMix64 in counter form: named streams, and deviates that are the same bits in C, Lua and NumPy. */
#include "tensor/generate.h"

static uint64_t mix(uint64_t z) {
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

uint64_t assay_u64(uint64_t seed, uint64_t i) { return mix(seed + (i + 1) * 0x9E3779B97F4A7C15u); }

uint64_t assay_stream(const char *label) {
    uint64_t h = 0xCBF29CE484222325u;
    for (const unsigned char *p = (const unsigned char *)label; *p; p++) h = (h ^ *p) * 0x100000001B3u;
    return mix(h);
}

static uint32_t lane_sum(uint64_t u) {
    return (uint32_t)(u & 0xffff) + (uint32_t)(u >> 16 & 0xffff) + (uint32_t)(u >> 32 & 0xffff) + (uint32_t)(u >> 48);
}

double assay_normal12(uint64_t seed, uint64_t i) {
    uint32_t sum = lane_sum(assay_u64(seed, 3 * i)) + lane_sum(assay_u64(seed, 3 * i + 1)) + lane_sum(assay_u64(seed, 3 * i + 2));
    return (double)((int32_t)sum - 393210) * 0x1p-16;                /* 393210 = 12 * 65535 / 2 */
}

double assay_uniform(uint64_t seed, uint64_t i) { return (double)(assay_u64(seed, i) >> 40) * 0x1p-24; }

void assay_fill_normal12(double *dst, uint64_t seed, uint64_t start, uint64_t n) {
    for (uint64_t i = 0; i < n; i++) dst[i] = assay_normal12(seed, start + i);
}
