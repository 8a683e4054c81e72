/* Fuzz target: a package's Manifest.json. What is accepted names a path that stays inside the package. */
#include "program/internal.h"
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *rel = NULL;
    if (assay_manifest_root((const char *)data, size, "fuzz", &rel, NULL) != ASSAY_OK) return 0;
    if (!rel || !assay_path_is_inside(rel)) abort();
    free(rel);
    return 0;
}
