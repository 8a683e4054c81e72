/* ops/slots.h: values at run time: a tensor view on reference-counted memory. Private to ops/eval.c and the executor. */
#ifndef ASSAY_OPS_SLOTS_H
#define ASSAY_OPS_SLOTS_H
#include "ops/eval.h"
#include "ops/pool.h"

typedef struct assay_ref { assay_own_tensor own; uint32_t users; } assay_ref;
typedef struct assay_slot { assay_tensor t; assay_ref *ref; } assay_slot;    /* t.dtype 0: no value */
typedef struct assay_scratch_block { struct assay_scratch_block *before; assay_own_tensor own; } assay_scratch_block;
typedef struct assay_scratch { assay_scratch_block *last; } assay_scratch;

void assay_slot_clear(assay_slot *s);                                /* drops this user; the last one frees */
void assay_slot_own(assay_pool *p, assay_slot *s, assay_own_tensor *own);  /* takes the memory over, empties `own` */
void assay_slot_share(assay_slot *s, const assay_slot *from);
void assay_scratch_free(assay_scratch *s);
void assay_canonical_nan(const assay_tensor *t);                     /* NaNs of a contiguous fp32 or float64 tensor */
/* float64 to fp16 with one rounding, through float32 rounded to odd. */
void assay_narrow_f64_f16(const assay_kernels *k, const double *src, uint16_t *dst, int64_t n);
#endif
