/* It leaves the program instead of failing. */
#include "zoo.h"
#include <stdlib.h>
static assay_status judge(void *self, const assay_evidence *ev, const assay_finding *f, assay_error *err) {
    (void)self, (void)ev, (void)f, (void)err;
    (void)zoo_judge;
    exit(0);
}
ZOO_GATE(.judge = judge);
ZOO_PLUGIN(sizeof zoo_plugin, ASSAY_ABI, 1);
