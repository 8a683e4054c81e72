/* program/internal.h: what the files of core/program share among themselves. */
#ifndef ASSAY_PROGRAM_INTERNAL_H
#define ASSAY_PROGRAM_INTERNAL_H
#include "program/program.h"
#include "base/fs.h"

/* ---- types.c */
void assay_type_print(assay_buf *b, const assay_mil_type *t);             /* as MIL text, scalars bare: "tensor<fp16, [1, 4]>", "string" */

/* ---- scope.c: names to values with nested scopes. An inner name may hide an outer one; within one scope names are unique. */
typedef struct assay_scope assay_scope;
assay_scope *assay_scope_new(size_t expect);                     /* room for that many names; it grows */
void assay_scope_free(assay_scope *s);
bool assay_scope_add(assay_scope *s, const char *name, assay_mil_value *v);   /* false: already in this scope. The name is borrowed */
assay_mil_value *assay_scope_find(const assay_scope *s, const char *name);    /* innermost, or NULL */
void assay_scope_push(assay_scope *s);
void assay_scope_pop(assay_scope *s);
void assay_scope_suggest(const assay_scope *s, const char *name, char out[96]);   /* " (did you mean 'x'?)" or "" */

/* ---- blob.c: weight files of a program, opened when first asked for. */
/* Fills c's data, nbytes, absent, why_absent from record `offset` of `file` (as written in the program). c->type is set.
 * A file that is not there makes c absent and is not an error; a record that does not fit is. */
assay_status assay_blob_resolve(assay_program *p, const char *model_dir, const char *file, uint64_t offset, assay_mil_const *c, assay_error *err);
/* One weight file for reporting. */
typedef struct assay_blob_entry { uint64_t offset, size_bytes, data_offset, padding_bits; int32_t code; const char *dtype; } assay_blob_entry;
size_t assay_blob_file_count(const assay_program *p);
/* Name, size, version of weight file i and all its records (malloc'd, caller frees; NULL: only their number). Absent file: *why
 * set and nothing else. */
assay_status assay_blob_walk(const assay_program *p, size_t i, const char **name, uint64_t *size, uint32_t *version, assay_blob_entry **entries, size_t *n,
                             const char **why, assay_error *err);
assay_status assay_blob_digest(const assay_program *p, size_t i, const assay_blob_entry *e, char hex[65], assay_error *err);
/* Copies every weight file to its place below another model folder. */
assay_status assay_blob_copy_files(const assay_program *p, const char *model_dir, assay_error *err);
int32_t assay_blob_code(int32_t mil_dtype);              /* dtype code of the blob file; 0: none (bool, string, 64-bit) */

/* ---- index.c */
/* Appends `user` to v's users; the array's room is the power of two at or above n_users. */
void assay_value_add_user(assay_program *p, assay_mil_value *v, assay_mil_op *user);
assay_signature *assay_program_signature(assay_program *p, const assay_mil_function *f);   /* NULL: none */

/* ---- flexible.c: shapes of inputs from the text form's function attribute, into the features. */
void assay_program_flexible(assay_program *p);

/* ---- build.c: room for one more element in steps of powers of two; arrays made elsewhere hold at least that. */
void *assay_grow(assay_program *p, void *items, uint32_t n, size_t size);
void *assay_room(assay_program *p, uint32_t n, size_t size);   /* a new array of n with such room; NULL for none */

/* ---- wire.c */
/* True (and names it) when the bytes are a Git LFS pointer instead of the file. */
bool assay_is_lfs_pointer(const void *data, size_t len);
bool assay_text_is_clean(const void *text, size_t len);   /* valid UTF-8 without NUL */

/* ---- build.c */
/* A program that holds nothing yet. */
assay_program *assay_program_empty(const char *source);

/* ---- digest.c: by value id, the hash of what each value is computed from; "" for constants. */
void assay_function_hashes(const assay_mil_function *f, char (*out)[65]);

/* ---- read_package.c: the path of the model below Data/ that a Manifest.json names (malloc'd), once all its entries are in order. */
assay_status assay_manifest_root(const char *text, size_t len, const char *what, char **rel, assay_error *err);
#endif
