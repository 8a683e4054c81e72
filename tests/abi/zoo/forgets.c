/* It keeps state from one judge() call to the next. */
#include "zoo.h"
static assay_status judge(void *self, const assay_evidence *ev, const assay_finding *f, assay_error *err) {
    static double calls;
    (void)self, (void)ev, (void)err;
    (void)zoo_judge;
    calls++;
    f->metric(f, "calls", &calls, 1, "");
    f->verdict(f, ASSAY_NOT_MEASURED);
    return ASSAY_OK;
}
ZOO_GATE(.judge = judge);
ZOO_PLUGIN(sizeof zoo_plugin, ASSAY_ABI, 1);
