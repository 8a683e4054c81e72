/* program/write.h: from a program to the bytes of a package. */
#ifndef ASSAY_PROGRAM_WRITE_H
#define ASSAY_PROGRAM_WRITE_H
#include "program/internal.h"
#include "mil.pb-c.h"

/* A weight file in the making: which constants go there, and at which offset. Nothing is written before the whole is known. */
typedef struct assay_blob_plan { const assay_mil_const **consts; uint64_t *offsets; size_t n, cap; uint64_t end; } assay_blob_plan;
/* Does the rule send c to the weight file? (mlpackage.md section 5: 10 or more elements and a fitting type) */
bool assay_blob_wants(const assay_mil_const *c, int32_t spec_version);
uint64_t assay_blob_plan_add(assay_blob_plan *b, const assay_mil_const *c);   /* offset of the record; equal data is stored once */
assay_status assay_blob_plan_write(const assay_blob_plan *b, const char *path, assay_error *err);
void assay_blob_plan_free(assay_blob_plan *b);

/* ---- encode_value.c, encode.c: messages in `arena`. Deterministic: map entries in key order. */
/* `spec` = specification version written: the program's own, or what its opsets need when it came from text without one. */
typedef struct assay_encoder { const assay_program *p; int32_t spec; assay_arena *arena; assay_blob_plan *blobs; } assay_encoder;
ProtobufCBinaryData assay_encode_type(assay_encoder *e, const assay_mil_type *t);   /* a packed ValueType message */
Mil__Value *assay_encode_const(assay_encoder *e, const assay_mil_const *c);
void assay_encode_attrs(assay_encoder *e, const assay_mil_attr *attrs, uint32_t n, Mil__ValueEntry ***out, size_t *n_out);
Mil__Description *assay_encode_description(assay_encoder *e);
Mil__Model *assay_encode_model(assay_encoder *e);
/* Makes a message of the arena: MSG(e, Value, VALUE) is a Mil__Value * set to its defaults. */
#define ASSAY_MSG(e, Name, init) ((Mil__##Name *)assay_arena_copy((e)->arena, &(Mil__##Name)init, sizeof(Mil__##Name)))
#endif
