/* It changes the rounding mode. */
#include "zoo.h"
#include <fenv.h>
static assay_status create(const assay_host *h, const assay_params *p, void **self, assay_error *err) {
    fesetround(FE_UPWARD);
    return zoo_create(h, p, self, err);
}
ZOO_GATE(.create = create);
ZOO_PLUGIN(sizeof zoo_plugin, ASSAY_ABI, 1);
