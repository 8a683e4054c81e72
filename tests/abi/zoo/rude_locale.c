/* It sets the locale. */
#include "zoo.h"
#include <locale.h>
static assay_status create(const assay_host *h, const assay_params *p, void **self, assay_error *err) {
    setlocale(LC_ALL, "C.UTF-8");
    return zoo_create(h, p, self, err);
}
ZOO_GATE(.create = create);
ZOO_PLUGIN(sizeof zoo_plugin, ASSAY_ABI, 1);
