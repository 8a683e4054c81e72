/* run/guard.h: what could disturb a block from outside: read before and after it, compared. A change drops the block for both
 * arms, with the reason counted; what the system does not offer is absent, never "unchanged". Between blocks only: reading
 * allocates nothing, but it does read files. */
#ifndef ASSAY_RUN_GUARD_H
#define ASSAY_RUN_GUARD_H
#include "base/json.h"

typedef struct assay_guard assay_guard;
enum { ASSAY_GUARD_SIGNALS = 96 };
typedef struct assay_guard_state {
    double load;                                 /* one-minute load average; negative: not known */
    int64_t waited_ns, at_ns;                    /* what the calling thread has waited for a processor; negative: not known; when read */
    uint64_t signal[ASSAY_GUARD_SIGNALS];        /* digest of a signal's text, or how often it was posted */
} assay_guard_state;
/* root: "" for this machine; tests give a folder that holds sys/ and proc/. `processors`: numbers of those the process runs on
 * (their limits and throttling are watched), NULL or null: all up to a ceiling. max_wait: share of the time between two readings
 * that the calling thread may have waited for a processor; 1 or more: any. */
assay_guard *assay_guard_open(const char *root, const assay_json *processors, double max_wait);
void assay_guard_close(assay_guard *g);
void assay_guard_read(const assay_guard *g, assay_guard_state *out);
/* Why the time between two readings cannot be used: "throttled" (thermal throttling, cooling, thermal pressure), "frequency_limit",
 * "power_source", "power_mode", "clock_source", "load" (the load average moved by 0.5 or more),
 * "waited" (the thread was ready to run but waited for a processor, more than this share of the time: someone else used it); NULL: nothing changed. Static. */
const char *assay_guard_change(const assay_guard *g, const assay_guard_state *before, const assay_guard_state *after);
/* [code, ...]: the kinds of signal that this system offers, each once. Caller owns it. */
assay_json *assay_guard_offered(const assay_guard *g);
#endif
