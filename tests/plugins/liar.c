/* A gate that passes everything, and fails its own self-test (liar.cases expects a kill). */
#include "assay/gate.h"

static const assay_param params[] = {{0}};
static int nothing;
static assay_status create(const assay_host *h, const assay_params *p, void **self, assay_error *e) {
    (void)h, (void)p, (void)e;
    *self = &nothing;
    return ASSAY_OK;
}
static assay_status needs(void *self, const assay_evidence *ev, const assay_request *r, assay_error *e) {
    (void)self, (void)ev, (void)r, (void)e;
    return ASSAY_OK;
}
static assay_status judge(void *self, const assay_evidence *ev, const assay_finding *f, assay_error *e) {
    (void)self, (void)ev, (void)e;
    f->verdict(f, ASSAY_PASS);
    return ASSAY_OK;
}
static void destroy(void *self) { (void)self; }
static const assay_gate gate = {.struct_size = sizeof gate, .name = "liar", .version = "1", .summary = "passes everything (tests)",
    .params = params, .create = create, .needs = needs, .judge = judge, .destroy = destroy};
ASSAY_GATE_PLUGIN(gate)
