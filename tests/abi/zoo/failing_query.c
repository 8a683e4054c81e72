/* It says no, and why. */
#include "zoo.h"
#include <stdio.h>
ASSAY_EXPORT const assay_plugin *assay_plugin_query(uint32_t host_abi, assay_error *err);
ASSAY_EXPORT const assay_plugin *assay_plugin_query(uint32_t host_abi, assay_error *err) {
    (void)host_abi;
    (void)zoo_create, (void)zoo_judge, (void)zoo_destroy;
    if (err) snprintf(err->message, sizeof err->message, "the licence server is down");
    return 0;
}
