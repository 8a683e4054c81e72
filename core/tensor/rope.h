/* tensor/rope.h: tables of rotary position embeddings. */
#ifndef ASSAY_TENSOR_ROPE_H
#define ASSAY_TENSOR_ROPE_H
#include "tensor/tensor.h"

typedef struct assay_rope_spec {
    double theta;                                /* base of the frequencies, above 1 */
    int64_t first;                               /* position of row 0 */
    bool sine;                                   /* sine instead of cosine */
    bool interleaved;                            /* pairs (0,1)(2,3)...; else (0,n/2)(1,n/2+1)... */
    int32_t angles;                              /* frequency, position and angle are each rounded to this dtype; ASSAY_F64: exact */
} assay_rope_spec;

/* Fills `t` [..., positions, dim] with cos or sin of position * theta^(-2 pair / dim); one rounding to the dtype of t. The last axis
 * must be even. ASSAY_E_INPUT for a shape or theta that makes no table. */
assay_status assay_rope_fill(const assay_tensor *t, const assay_rope_spec *spec, assay_error *err);
#endif
