/* The confidence sequence of the watched mode: normal mixture (Robbins 1970; Waudby-Smith et al. 2024). */
#include "base/watch.h"
#include <math.h>

void assay_watch_block(assay_watch *w, const assay_sample s[4]) {
    double ns[2] = {0, 0};
    for (int i = 0; i < 4; i++) {
        if (s[i].flags & 1u) return;
        ns[s[i].arm ? 1 : 0] += (double)s[i].dur_ns;
    }
    double d = (ns[0] - ns[1]) / 2e6, step = d - w->mean;
    w->n += 1;
    w->mean += step / w->n;
    w->squares += step * (d - w->mean);
    w->balance += s[0].arm ? -1 : 1;
}

bool assay_watch_interval(const assay_watch *w, double *lo_ms, double *hi_ms) {
    if (!(w->n >= ASSAY_WATCH_FROM)) return false;
    double minus_log = -2 * w->log(w->alpha), rho2 = (minus_log + w->log(1 + minus_log)) / w->t_opt, q = w->n * rho2 + 1;
    double s = sqrt(w->squares / (w->n - 1)), half = s * sqrt(2 * q / (w->n * w->n * rho2) * w->log(sqrt(q) / w->alpha));
    *lo_ms = w->mean - half;
    *hi_ms = w->mean + half;
    return true;
}

const char *assay_watch_stop(const assay_watch *w) {
    double lo, hi;
    if (w->balance != 0 || !assay_watch_interval(w, &lo, &hi)) return 0;
    if (hi < 0) return "slower";
    if (hi < w->target_ms) return "futile";
    if (lo > 0 && !(lo < w->target_ms)) return "faster";
    return 0;
}
