/* zoo.h: a gate that is right, for the plugins of the zoo to be wrong around. */
#ifndef ASSAY_TEST_ZOO_H
#define ASSAY_TEST_ZOO_H
#include <assay/gate.h>

static assay_status zoo_create(const assay_host *h, const assay_params *p, void **self, assay_error *err) {
    (void)h, (void)p, (void)err;
    *self = 0;
    return ASSAY_OK;
}
static assay_status zoo_judge(void *self, const assay_evidence *ev, const assay_finding *f, assay_error *err) {
    (void)self, (void)ev, (void)err;
    f->verdict(f, ASSAY_NOT_MEASURED);
    return ASSAY_OK;
}
static void zoo_destroy(void *self) { (void)self; }

/* A gate descriptor; fields given later win. */
#define ZOO_GATE(...)                                                                                                                    \
    _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Woverride-init\"") static const assay_gate zoo_gate = {            \
        .struct_size = sizeof zoo_gate, .name = "animal", .version = "1.0", .summary = "a gate of the zoo", .create = zoo_create,        \
        .judge = zoo_judge, .destroy = zoo_destroy, __VA_ARGS__ };                                                                       \
    _Pragma("GCC diagnostic pop") static const assay_gate *const zoo_gates[] = { &zoo_gate }
#define ZOO_PLUGIN(size, abi_version, count)                                                                                             \
    static const assay_plugin zoo_plugin = { .struct_size = (size), .abi = (abi_version), .gate_count = (count), .gates = zoo_gates };   \
    ASSAY_EXPORT const assay_plugin *assay_plugin_query(uint32_t host_abi, assay_error *err);                                            \
    ASSAY_EXPORT const assay_plugin *assay_plugin_query(uint32_t host_abi, assay_error *err) {                                           \
        (void)host_abi, (void)err;                                                                                                       \
        return &zoo_plugin;                                                                                                              \
    }                                                                                                                                    \
    extern int zoo_end
#endif
