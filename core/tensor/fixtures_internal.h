/* tensor/fixtures_internal.h: what the fixture files share among themselves. */
#ifndef ASSAY_TENSOR_FIXTURES_INTERNAL_H
#define ASSAY_TENSOR_FIXTURES_INTERNAL_H
#include "tensor/generate.h"

enum { ASSAY_MEL_FRAMES = 3000, ASSAY_STEM_WIDTH = 1280, ASSAY_STEM_POSITIONS = 1500 };

/* "speech" (reads data_dir/speech-pcm16.npy) or "silence" through log-mel, stem and layer norm: [2,750,1280] fp16. */
assay_status assay_fixture_from_audio(bool speech, const char *data_dir, assay_own_tensor *out, assay_error *err);
/* The mel filter bank [n_mels,201] in float32, n_mels 80 or 128. */
void assay_mel_filters(uint32_t n_mels, float *out);
/* Stem without the layer norm: log-mel [n_mels,3000] fp16 -> [1500,1280] fp16. */
assay_status assay_stem_raw(const assay_tensor *log_mel, assay_own_tensor *out, assay_error *err);
/* C[m,n] = A[m,k] B[k,n] + 0 in double: every sum in ascending k, product and sum rounded apart, so the bits do not depend on
 * the machine. Row-major and contiguous. */
void assay_matmul_f64(int64_t m, int64_t n, int64_t k, const double *a, const double *b, double *c);
#endif
