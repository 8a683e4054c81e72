/* The interfaces that every plugin may ask for: assay.program/1, assay.metrics/1, assay.math/1. */
#include "plugin/registry.h"
#include "plugin/mathiface.h"
#include "assay/metrics.h"
#include "metrics/metrics.h"
#include "program/iface.h"

void assay_host_provide_core(void) {
    assay_host_provide(ASSAY_PROGRAM_1, assay_program_iface());
    assay_host_provide(ASSAY_METRICS_1, assay_metrics_iface());
    assay_host_provide(ASSAY_MATH_1, assay_math_iface());
}
