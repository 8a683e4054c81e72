/* run/steady.h: has a warm-up settled? Pure arithmetic on a series of durations. */
#ifndef ASSAY_RUN_STEADY_H
#define ASSAY_RUN_STEADY_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* MSER-5 (White 1997) as statistics.md 3.4 states it. Groups of 5 are averaged, a rest is dropped; MSER(k) is the sum of squares
 * of the group means after the k-th about their mean, over (K - k)^2. Returns the smallest k of the minimum over 0..floor(K/2) and
 * stores floor(K/2) in *half; with fewer than 2 groups both are 0. mser, of at least floor(K/2)+1 numbers, may be NULL. */
size_t assay_mser5(const uint64_t *ns, size_t n, size_t *half, double *mser);
/* The best truncation lies before the middle of the series. */
bool assay_is_steady(const uint64_t *ns, size_t n);
#endif
