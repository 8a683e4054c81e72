/* plugin/loader.h: opens one shared object and checks its descriptors against the ABI; the registry decides what to keep. */
#ifndef ASSAY_PLUGIN_LOADER_H
#define ASSAY_PLUGIN_LOADER_H
#include "assay/gate.h"
#include "base/error.h"

/* dlopen, query, and every check that needs no gate to be started. The object stays open for the life of the program. A
 * refusal names the wanted and the found ABI, or what dlerror() said. */
assay_status assay_plugin_open(const char *path, const assay_plugin **out, assay_error *err);
/* The checks alone, for a descriptor that is there already. */
assay_status assay_plugin_check(const assay_plugin *p, assay_error *err);
#endif
