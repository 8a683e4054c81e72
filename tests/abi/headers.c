/* Every public header in one unit, in alphabetical order, then once more: they must stand alone and twice. */
#include <assay/backend.h>
#include <assay/gate.h>
#include <assay/math.h>
#include <assay/metrics.h>
#include <assay/program.h>
#include <assay/types.h>
#include <assay/backend.h>
#include <assay/gate.h>

/* A plugin in this language can fill in the tables. */
static const assay_plugin plugin = { sizeof(assay_plugin), ASSAY_ABI, 0, 0, 0, 0 };
ASSAY_EXPORT const assay_plugin *assay_plugin_query(uint32_t host_abi, assay_error *err);
ASSAY_EXPORT const assay_plugin *assay_plugin_query(uint32_t host_abi, assay_error *err) {
    (void)host_abi;
    (void)err;
    return &plugin;
}
