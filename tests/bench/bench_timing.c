/* tests/bench/bench_timing.c: what timing itself costs: the clock, an arm that does nothing, a slot of a block around it. */
#include "run/timing.h"
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 21 };

static int by_harness(const void *a, const void *b) {
    double x = ((const assay_clock_facts *)a)->harness_ns, y = ((const assay_clock_facts *)b)->harness_ns;
    return (x > y) - (x < y);
}

int main(void) {
    assay_clock_facts c[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) assay_clock_measure(&c[i]);
    qsort(c, ROUNDS, sizeof *c, by_harness);
    printf("\ntiming, median of %d rounds (1024 slots each)\n", ROUNDS);
    printf("clock step %.0f ns, one reading %.1f ns, an empty arm is timed at %.0f ns\n", c[ROUNDS / 2].resolution_ns, c[ROUNDS / 2].read_ns,
           c[ROUNDS / 2].empty_ns);
    printf("harness per timed prediction, beyond two readings: %.1f ns (best %.1f, worst %.1f)\n", c[ROUNDS / 2].harness_ns, c[0].harness_ns,
           c[ROUNDS - 1].harness_ns);
    return 0;
}
