/* The qualification gate: one cell of the matrix (OS build x chip x package digest) a receipt, and what the cells say together.
 */
#ifndef QUALIFICATION_H
#define QUALIFICATION_H
#include <assay/gate.h>
#include <cjson/cJSON.h>
#include <stdbool.h>

enum { OPS_MAX = 32 };
typedef struct settings {
    const char *ops[OPS_MAX];
    uint32_t n_ops;     /* op types without opset prefix */
    const char *device; /* "CPU", "GPU" or "NE" */
    double cosine_min;
} settings;

/* One receipt, judged. Texts are borrowed from its JSON and never NULL. */
typedef struct cell {
    const char *package, *compiled, *build, *chip; /* "" when the receipt does not say */
    assay_verdict verdict;
    bool invalid;
} cell;

/* Judges one receipt: "assay-receipt/1", or a recorded one {package_digest, compiled_digest, host, placement, parity}. Its
 * reasons go to `f`, with `where`. */
cell qualification_cell(const settings *s, const cJSON *receipt, const char *where, const assay_finding *f);
/* kill > inconclusive > not-measured > pass */
assay_verdict qualification_worse(assay_verdict a, assay_verdict b);
const char *qualification_name(const cell *c); /* "pass", "kill", ..., "invalid" */
#endif
