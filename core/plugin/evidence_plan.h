/* plugin/evidence_plan.h: reads a neutral compute plan (schema compute-plan/1) into op rows. */
#ifndef ASSAY_PLUGIN_EVIDENCE_PLAN_H
#define ASSAY_PLUGIN_EVIDENCE_PLAN_H
#include "assay/types.h"
#include "base/json.h"

#define ASSAY_COMPUTE_PLAN_1 "compute-plan/1"
/* CPU, GPU, NE (also ANE, NeuralEngine, any case) and "none"; anything else, null included, is ASSAY_DEV_UNKNOWN. */
int32_t assay_device_parse(const char *name);
const char *assay_device_name(int32_t dev); /* "CPU" "GPU" "NE" "none" "unknown" */
/* Rows of `operations`, in the arena; the opset prefix of a type ("ios18.") is stripped. */
const assay_op_row *assay_plan_rows(assay_arena *a, const assay_json *doc, uint64_t *n);
#endif
