/* The table of interface "assay.metrics/1". */
#include "metrics/metrics.h"

const struct assay_metrics_1 *assay_metrics_iface(void) {
    static const assay_metrics_1 table = {
        .struct_size = sizeof table,
        .pair = assay_metrics_pair,
        .slices = assay_metrics_slices,
        .centred = assay_metrics_centred,
        .ulp16 = assay_metrics_ulp16,
        .elements_over = assay_metrics_elements_over,
        .difference = assay_metrics_difference,
        .load = assay_metrics_load,
        .bytes_equal = assay_metrics_bytes_equal,
        .read = assay_metrics_read,
        .pair_and_rest = assay_metrics_pair_and_rest,
        .further = assay_metrics_further,
    };
    return &table;
}
