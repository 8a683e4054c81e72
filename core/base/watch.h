/* base/watch.h: the watched mode of a timing trial: an asymptotic confidence sequence on the gains of its blocks (statistics.md 3.6.3),
 * looked at while it runs. Valid at every look together, so that stopping early is no peeking. Pure: the worker stops by it and the
 * latency gate, which is compiled with the same file, repeats it on the recorded samples. */
#ifndef ASSAY_BASE_WATCH_H
#define ASSAY_BASE_WATCH_H
#include "assay/types.h"
#include <stdbool.h>

enum { ASSAY_WATCH_FROM = 20 };                  /* no look before that many kept blocks */
typedef struct assay_watch {
    double alpha, t_opt, target_ms;              /* t_opt: block at which the sequence is narrowest; target_ms: gain that the prize asks for, NaN: none */
    double (*log)(double);                       /* the host's, the same bits on every machine */
    double n, mean, squares;                     /* gains in ms so far (Welford) */
    int balance;                                 /* ABBA blocks less BAAB blocks */
} assay_watch;
/* Takes the four samples of a block. A block that a guard dropped is left out. */
void assay_watch_block(assay_watch *w, const assay_sample s[4]);
/* The sequence's interval of the mean gain; false before block 20. */
bool assay_watch_interval(const assay_watch *w, double *lo_ms, double *hi_ms);
/* Whether to stop after this block: "slower" (all of the interval below 0), "futile" (below the target), "faster" (above 0 and at
 * least the target), else NULL. Looks only where both orders occurred equally often. Static. */
const char *assay_watch_stop(const assay_watch *w);
#endif
