/* base/cpu.h: what __builtin_cpu_supports cannot be asked with every compiler. x86-64 only. */
#ifndef ASSAY_BASE_CPU_H
#define ASSAY_BASE_CPU_H
#if defined(__x86_64__)
#include <cpuid.h>
#include <stdbool.h>

/* clang 14's __builtin_cpu_supports does not know "f16c". Asked once: in a virtual machine CPUID costs some ten microseconds. */
static inline bool assay_cpu_has_f16c(void) {
    static _Atomic int known; /* 0 not asked yet, 1 no, 2 yes */
    int has = known;
    if (!has) {
        unsigned a, b, c = 0, d;
        known = has = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C) ? 2 : 1;
    }
    return has == 2;
}
#endif
#endif
