/* cli/tensor_files.h: the tensors of .safetensors and .npy files as JSON, for inspect and diff. */
#ifndef ASSAY_CLI_TENSOR_FILES_H
#define ASSAY_CLI_TENSOR_FILES_H
#include "base/json.h"
#include "base/error.h"
/* {name: {dtype, shape, sha256 (when asked: reads everything)}}; the one tensor of a .npy file has the name "(tensor)". */
assay_status assay_tensor_file_json(const char *path, bool digests, assay_json **out, assay_error *err);
#endif
