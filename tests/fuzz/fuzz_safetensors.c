/* Fuzz target: a .safetensors file. What is accepted must be readable to its last byte. */
#include "tensor/safetensors.h"
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    assay_safetensors *s;
    uint64_t total = 0;
    if (assay_safetensors_parse(data, size, "fuzz", &s, NULL) != ASSAY_OK) return 0;
    for (size_t i = 0; i < assay_safetensors_count(s); i++) {
        const assay_safetensors_entry *e = assay_safetensors_at(s, i);
        assay_own_tensor t;
        char hex[65];
        assay_safetensors_digest(e, hex);
        total += e->nbytes;
        if (assay_safetensors_read(e, &t, NULL) != ASSAY_OK) continue;
        if ((uint64_t)assay_tensor_count(&t.t) * assay_dtype_size(t.t.dtype) != e->nbytes) abort();
        assay_tensor_free(&t);
    }
    if (total > size) abort(); /* no overlaps */
    assay_safetensors_free(s);
    return 0;
}
