/* It ends the process that asks it anything. */
#include "zoo.h"
#include <stdlib.h>
ASSAY_EXPORT const assay_plugin *assay_plugin_query(uint32_t host_abi, assay_error *err);
ASSAY_EXPORT const assay_plugin *assay_plugin_query(uint32_t host_abi, assay_error *err) {
    (void)host_abi, (void)err;
    (void)zoo_create, (void)zoo_judge, (void)zoo_destroy;
    abort();
}
