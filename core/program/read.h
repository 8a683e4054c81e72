/* program/read.h: shared by the files that turn serialized messages into a program. Messages are short-lived: what
 * the program keeps is copied into its arena. Errors name the file, the function and the op. */
#ifndef ASSAY_PROGRAM_READ_H
#define ASSAY_PROGRAM_READ_H
#include "program/internal.h"
#include "mil.pb-c.h"

typedef struct assay_reader {
    assay_program *p; const char *model_dir; assay_scope *scope; assay_error *err;
    assay_ptrs spare;                            /* arenas for messages, one a nesting depth, used again and again */
    const assay_mil_type *types[256];            /* tensor types met before, by hash: most values share a few */
} assay_reader;

/* Copies into the program's arena; NULL stays NULL. */
const char *assay_read_text(assay_reader *r, const char *s);
/* ---- read_value.c */
const assay_mil_type *assay_read_type(assay_reader *r, const Mil__ValueType *t);        /* NULL: failed, r->err says why */
const assay_mil_const *assay_read_const(assay_reader *r, const Mil__Value *v);          /* likewise */
/* Attributes in the order of the file, the last of equal keys kept. */
assay_status assay_read_attrs(assay_reader *r, Mil__ValueEntry *const *list, size_t n, assay_mil_attr **out, uint32_t *n_out);
/* ---- read_features.c */
assay_status assay_read_description(assay_reader *r, const Mil__Description *d);
#endif
