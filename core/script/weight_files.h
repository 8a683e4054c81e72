/* script/weight_files.h: projection weights out of files: .safetensors, .npy, or a package, where q, k and v are found by data
 * flow (never by name). */
#ifndef ASSAY_SCRIPT_WEIGHT_FILES_H
#define ASSAY_SCRIPT_WEIGHT_FILES_H
#include "base/json.h"
#include "tensor/tensor.h"

/* The tensor `key` (q, k, v, bq, bk, bv, qkv, bqkv); `names` maps keys to the file's own names and may be NULL. A .npy file
 * holds one tensor: qkv if it has three equal parts and nothing else is said. ASSAY_E_MISSING when the file has no such
 * tensor and `names` does not ask for it. */
assay_status assay_weight_file_read(const char *path, const char *key, const assay_json *names, assay_own_tensor *out, assay_error *err);
#endif
