/* tensor/npy.h: NumPy .npy files, versions 1-3, C and Fortran order, little and big endian. Bounds are checked before use. */
#ifndef ASSAY_TENSOR_NPY_H
#define ASSAY_TENSOR_NPY_H
#include "tensor/tensor.h"
/* Maps the file (native order: data is used in place, read-only; Fortran order becomes strides; other endianness is copied). */
assay_status assay_npy_read(const char *path, assay_own_tensor *out, assay_error *err);
assay_status assay_npy_parse(const void *data, size_t len, const char *what, assay_own_tensor *out, assay_error *err); /* copies */
/* Version 1.0, C order, little endian; header padded to 64 as NumPy does. bf16 is refused (NumPy has no such type). */
assay_status assay_npy_write(const char *path, const assay_tensor *t, assay_error *err);
#endif
