/* Fuzz target: a .npy file. What is accepted must be readable to its last element. */
#include "tensor/npy.h"
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    assay_own_tensor t;
    if (assay_npy_parse(data, size, "fuzz", &t, NULL) != ASSAY_OK) return 0;
    int64_t count = assay_tensor_count(&t.t);
    if (count < 0 || (uint64_t)count * assay_dtype_size(t.t.dtype) > size) abort();
    double *all = malloc((size_t)count * sizeof *all + 1);
    if (all) assay_tensor_read(&t.t, ASSAY_F64, all);
    free(all);
    char hex[65];
    assay_tensor_digest(&t.t, hex);
    assay_tensor_free(&t);
    return 0;
}
