/* run/promote.h: which claims of a receipt may be said of the target, at which evidence level, in which words. */
#ifndef ASSAY_RUN_PROMOTE_H
#define ASSAY_RUN_PROMOTE_H
#include "base/json.h"

/* The levels (architecture.md section 6, M37-M42): 1 source and 2 program rest on file digests; 3 compiled on a compiled digest and
 * OS build of a device trial; 4 static placement and 6 correctness on device evidence; 5 runtime on imported records that
 * the gate corroboration has passed. Evidence of origin `reference` or `simulated` promotes nothing, and there is no override.
 *
 * `frameworks` ("assay-frameworks/1", scripts/data/frameworks.json): per framework its os_floor and the texts that give away an
 * emulator. The answer ("assay-promotion/1"): {experiment, plan_sha256, build, chip, claims:[{id, text, fate, class, level,
 * level_name, levels:[{level, name, held}], promoted, statement | null, refused:[{code, message}]}], promoted, refused}.
 * Pure; caller frees. */
assay_json *assay_promote(const assay_json *receipt, const assay_json *frameworks);
#endif
