/* What files of tensors hold: names, types, shapes, digests. */
#include "cli/tensor_files.h"
#include "base/names.h"
#include "tensor/npy.h"
#include "tensor/safetensors.h"

static assay_json *entry(const char *dtype, uint32_t rank, const int64_t *dims) {
    assay_json *j = assay_json_object();
    assay_json_set_string(j, "dtype", dtype);
    assay_json *shape = assay_json_set(j, "shape", assay_json_array());
    for (uint32_t i = 0; i < rank; i++) assay_json_append(shape, assay_json_new_number((double)dims[i]));
    return j;
}

static assay_status of_npy(const char *path, bool digests, assay_json *out, assay_error *err) {
    assay_own_tensor t;
    char hex[65];
    assay_status st = assay_npy_read(path, &t, err);
    if (st != ASSAY_OK) return st;
    assay_json *j = assay_json_set(out, "(tensor)", entry(assay_dtype_name(t.t.dtype), t.t.rank, t.t.shape));
    assay_tensor_digest(&t.t, hex);
    if (digests) assay_json_set_string(j, "sha256", hex);
    assay_tensor_free(&t);
    return ASSAY_OK;
}

static assay_status of_safetensors(const char *path, bool digests, assay_json *out, assay_error *err) {
    assay_safetensors *s;
    assay_status st = assay_safetensors_open(path, &s, err);
    if (st != ASSAY_OK) return st;
    for (size_t i = 0; i < assay_safetensors_count(s); i++) {
        const assay_safetensors_entry *e = assay_safetensors_at(s, i);
        assay_json *j = assay_json_set(out, e->name, entry(e->dtype ? assay_dtype_name(e->dtype) : e->type, e->rank, e->shape));
        char hex[65];
        if (digests) {
            assay_safetensors_digest(e, hex);
            assay_json_set_string(j, "sha256", hex);
        }
    }
    assay_safetensors_free(s);
    return ASSAY_OK;
}

assay_status assay_tensor_file_json(const char *path, bool digests, assay_json **out, assay_error *err) {
    assay_json *j = assay_json_object();
    assay_status st = assay_ends_with(path, ".npy") ? of_npy(path, digests, j, err) : of_safetensors(path, digests, j, err);
    if (st != ASSAY_OK) assay_json_free(j), j = NULL;
    *out = j;
    return st;
}
