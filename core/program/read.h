/* program/read.h: shared by the files that turn serialized messages into a program. Messages are short-lived: what
 * the program keeps is copied into its arena. Errors name the file, the function and the op. */
#ifndef ASSAY_PROGRAM_READ_H
#define ASSAY_PROGRAM_READ_H
#include "program/internal.h"
#include "mil.pb-c.h"

/* protobuf-c allocates in a passing arena; nothing is freed one by one. */
ProtobufCAllocator assay_arena_allocator(assay_arena *passing);

/* A type met before, and the message it was made from. */
typedef struct assay_seen_type { const assay_mil_type *type; const void *bytes; size_t len; } assay_seen_type;

typedef struct assay_reader {
    assay_program *p; const char *model_dir; assay_scope *scope; assay_error *err;
    assay_ptrs spare;                            /* arenas for messages, one a nesting depth, used again and again */
    const char *words[64];                       /* keys and op types met before, by hash */
    assay_seen_type types[256];                  /* by hash: most values share a few */
} assay_reader;

/* Copies into the program's arena; NULL stays NULL. */
const char *assay_read_text(assay_reader *r, const char *s);
const char *assay_read_word(assay_reader *r, const char *s);   /* likewise, for one of the few that come again and again */
/* ---- read_value.c */
const assay_mil_type *assay_read_type(assay_reader *r, const ProtobufCBinaryData *packed);   /* a ValueType message; NULL: failed, r->err says why */
const assay_mil_const *assay_read_const(assay_reader *r, const Mil__Value *v);          /* likewise */
/* Attributes in the order of the file, the last of equal keys kept. */
assay_status assay_read_attrs(assay_reader *r, Mil__ValueEntry *const *list, size_t n, assay_mil_attr **out, uint32_t *n_out);
/* ---- read_features.c */
assay_status assay_read_description(assay_reader *r, const Mil__Description *d);
#endif
