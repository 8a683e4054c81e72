/* tensor/npy_header.h: the header of a .npy file: magic, version, and a Python dictionary literal of three fixed keys. */
#ifndef ASSAY_TENSOR_NPY_HEADER_H
#define ASSAY_TENSOR_NPY_HEADER_H
#include "tensor/tensor.h"

enum { ASSAY_NPY_HEADER_MAX = 512 };
typedef struct assay_npy_header {
    int32_t dtype;
    bool fortran, swapped;                                           /* first axis fastest; big endian */
    uint32_t rank;
    int64_t shape[ASSAY_RANK_MAX];                                   /* not negative */
    size_t data_offset;                                              /* at most the length that was given */
} assay_npy_header;
assay_status assay_npy_header_parse(const void *data, size_t len, const char *what, assay_npy_header *h, assay_error *err);
/* Version 1.0, C order, padded with spaces to a multiple of 64. Returns the length; 0 for a type that NumPy has not. */
size_t assay_npy_header_format(const assay_tensor *t, char out[ASSAY_NPY_HEADER_MAX]);
#endif
