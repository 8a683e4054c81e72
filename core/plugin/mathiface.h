/* plugin/mathiface.h: the table behind interface "assay.math/1". */
#ifndef ASSAY_PLUGIN_MATHIFACE_H
#define ASSAY_PLUGIN_MATHIFACE_H
#include "assay/math.h"
const assay_math_1 *assay_math_iface(void);
#endif
