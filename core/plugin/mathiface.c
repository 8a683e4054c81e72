/* plugin/mathiface.c: hands base/fmath.h and the generator to plugins as "assay.math/1". */
#include "plugin/mathiface.h"
#include "base/fmath.h"
#include "tensor/generate.h"

const assay_math_1 *assay_math_iface(void) {
    static const assay_math_1 table = {
        .struct_size = sizeof table,
        .exp = assay_exp, .log = assay_log, .log1p = assay_log1p, .log2 = assay_log2, .log10 = assay_log10,
        .pow = assay_pow, .sin = assay_sin, .cos = assay_cos, .tanh = assay_tanh, .atan = assay_atan,
        .erf = assay_erf, .erfc = assay_erfc, .lgamma = assay_lgamma,
        .normal_cdf = assay_normal_cdf, .normal_quantile = assay_normal_quantile,
        .stream = assay_stream, .u64 = assay_u64, .normal12 = assay_normal12,
    };
    return &table;
}
