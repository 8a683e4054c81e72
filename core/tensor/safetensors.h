/* tensor/safetensors.h: .safetensors files and their sharded index. The header and every place in a file are checked on opening:
 * a header of at most 100 MB, known types, sizes that agree with shapes, data without holes and overlaps. Files are mapped. */
#ifndef ASSAY_TENSOR_SAFETENSORS_H
#define ASSAY_TENSOR_SAFETENSORS_H
#include "tensor/tensor.h"

enum { ASSAY_SAFETENSORS_HEADER_MAX = 100000000 };
typedef struct assay_safetensors assay_safetensors;
typedef struct assay_safetensors_entry {
    const char *name, *type; /* "F16" as in the header */
    int32_t dtype;           /* ASSAY_F16 ...; 0: an 8-bit float, which is listed and cannot be read */
    uint32_t rank;
    int64_t shape[ASSAY_RANK_MAX];
    const void *data; /* mapped, not aligned */
    uint64_t nbytes;
    const char *file; /* path of the shard */
} assay_safetensors_entry;

bool assay_is_safetensors(const char *path); /* by its name: .safetensors or .safetensors.index.json */
assay_status assay_safetensors_open(const char *path, assay_safetensors **out, assay_error *err);
/* One file in memory, which must outlive the result. */
assay_status assay_safetensors_parse(const void *data, size_t len, const char *what, assay_safetensors **out, assay_error *err);
void assay_safetensors_free(assay_safetensors *s);
size_t assay_safetensors_count(const assay_safetensors *s);
const assay_safetensors_entry *assay_safetensors_at(const assay_safetensors *s, size_t i); /* in the order of the header */
const assay_safetensors_entry *assay_safetensors_find(const assay_safetensors *s, const char *name);
assay_status assay_safetensors_read(const assay_safetensors_entry *e, assay_own_tensor *out, assay_error *err); /* a copy */
/* SHA-256 of the little-endian elements. */
void assay_safetensors_digest(const assay_safetensors_entry *e, char hex[65]);

/* A PyTorch checkpoint (.pt, .pth, .ckpt, or pickle and ZIP under .bin): reading one can run code, so it is refused; the error
 * says how to convert it. ASSAY_OK: it is none. */
assay_status assay_refuse_checkpoint(const char *path, assay_error *err);
#endif
