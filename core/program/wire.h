/* program/wire.h: a first look at serialized bytes, before anything is allocated for them. */
#ifndef ASSAY_PROGRAM_WIRE_H
#define ASSAY_PROGRAM_WIRE_H
#include "assay/types.h"
#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>

/* Walks all known messages: lengths inside their parent, nesting at most 200 deep, strings valid UTF-8 without NUL. What it
 * accepts, protobuf-c can unpack without running out of stack. `what` and the byte offset stand in the message. */
assay_status assay_wire_check(const ProtobufCMessageDescriptor *d, const void *bytes, size_t len, const char *what, assay_error *err);
/* Field number of the model's type (mlpackage.md section 8): 502 for an ML Program; 0: none; -1: not a protobuf message. */
int32_t assay_wire_model_type(const void *bytes, size_t len);
const char *assay_model_type_name(int32_t number);         /* "neuralNetwork"; never NULL */
#endif
