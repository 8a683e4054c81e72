/* tensor/generate.h: the deterministic generator of fixtures.md section 2 (SplitMix64 in counter form) and its recipes. */
#ifndef ASSAY_TENSOR_GENERATE_H
#define ASSAY_TENSOR_GENERATE_H
#include "tensor/tensor.h"
uint64_t assay_u64(uint64_t seed, uint64_t i);                       /* draw i of a stream */
uint64_t assay_stream(const char *label);                            /* mix(FNV1a64(label)) */
double assay_normal12(uint64_t seed, uint64_t i);                    /* Irwin-Hall of 12 */
double assay_uniform(uint64_t seed, uint64_t i);                     /* [0,1), 24 bits */
void assay_fill_normal12(double *dst, uint64_t seed, uint64_t start, uint64_t n);
/* x-level fixtures of fixtures.md section 3 and 5 by name at "d750" ([2,750,1280]) or "mini" ([2,30,256]), fp16:
 * normal normal-poked hot-token repeat alternate near-max-sparse denormal zeros constant halves-equal (+ "silence",
 * "speech" at d750, which need `data_dir` for the int16 speech samples). Unknown names: did-you-mean. */
assay_status assay_fixture_make(const char *name, const char *size, const char *data_dir, assay_own_tensor *out, assay_error *err);
/* Weights wset(D, gain): name wq wk wv bq bv; T = "d750" or "mini". [D,D] or [D], fp16. */
assay_status assay_weight_make(const char *name, const char *size, double gain, assay_own_tensor *out, assay_error *err);
/* Attention-level fixtures of section 4 ("coords-s" "coords-hd" "coords-b" "uniform" "ladder-<A>"): q, k, v (fp16). */
assay_status assay_attention_fixture_make(const char *name, assay_own_tensor qkv[3], assay_error *err);
/* Log-mel front end and stand-in stem of section 5. pcm: int16 samples. out [n_mels,3000] fp16 / [2,750,1280] fp16. */
assay_status assay_log_mel(const int16_t *pcm, size_t n, uint32_t n_mels, assay_own_tensor *out, assay_error *err);
assay_status assay_stem(const assay_tensor *log_mel, assay_own_tensor *out, assay_error *err);
/* The perturbation {"token":...}: adds normal12(label) [D] to token (batch, position) of x [B,S,D] in float64, one rounding. (The
 * fixture normal-poked adds before normal12 is rounded: it differs from this on `normal` by a rounding here and there.) */
assay_status assay_poke_token(assay_tensor *x, int64_t batch, int64_t position, const char *label, assay_error *err);
#endif
