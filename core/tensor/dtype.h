/* tensor/dtype.h: element types (ASSAY_F16 ... of assay/types.h) and exact conversions between them. */
#ifndef ASSAY_TENSOR_DTYPE_H
#define ASSAY_TENSOR_DTYPE_H
#include "assay/types.h"
#include <stdbool.h>
#include <stddef.h>

size_t assay_dtype_size(int32_t dtype);                              /* bytes; 0 for an unknown code */
const char *assay_dtype_name(int32_t dtype);                         /* "fp16" "bf16" "fp32" "fp64" "bool" "int8" ... */
int32_t assay_dtype_parse(const char *name);                         /* also "float16", "float32", ...; 0 when unknown */
bool assay_dtype_is_float(int32_t dtype);
bool assay_dtype_is_int(int32_t dtype);                              /* signed or unsigned, not bool */
/* IEEE half: round to nearest even, subnormals kept, overflow to infinity, NaN to the positive quiet NaN 0x7e00. */
uint16_t assay_f32_to_f16(float x);
uint16_t assay_f64_to_f16(double x);                                 /* one rounding, not through float */
float assay_f16_to_f32(uint16_t h);                                  /* exact */
uint16_t assay_f32_to_bf16(float x);
uint16_t assay_f64_to_bf16(double x);                                /* one rounding */
float assay_bf16_to_f32(uint16_t h);
/* One element, widened to double (int64/uint64 beyond 2^53 round to nearest even). */
double assay_load_f64(int32_t dtype, const void *p);
/* One element stored with one rounding; integers: truncated towards zero and saturated, NaN gives 0. */
void assay_store_f64(int32_t dtype, void *p, double v);
/* n contiguous elements, any pair of types; the same results as load then store (integers to integers exactly, saturated);
 * equal types copy the bytes. Neither side needs to be aligned. */
void assay_convert(int32_t to, void *dst, int32_t from, const void *src, size_t n);
#endif
