/* base/cpu.h: what __builtin_cpu_supports cannot be asked with every compiler. x86-64 only. */
#ifndef ASSAY_BASE_CPU_H
#define ASSAY_BASE_CPU_H
#if defined(__x86_64__)
#include <cpuid.h>
#include <stdbool.h>

/* clang 14's __builtin_cpu_supports does not know "f16c". */
static inline bool assay_cpu_has_f16c(void) {
    unsigned a, b, c = 0, d;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}
#endif
#endif
