/* program/program.h: an ML Program (MIL) in memory: functions, blocks, ops, values, types, constants, and the model's
 * description. Everything belongs to the program's arena and lives until assay_program_free; names are unique in their
 * scope; ops stand in topological order. Codes and meanings: formats/mlpackage.md. This part knows ops only through the
 * registered op table (program/optable.h): nothing here names an op of interest. */
#ifndef ASSAY_PROGRAM_PROGRAM_H
#define ASSAY_PROGRAM_PROGRAM_H
#include "base/mem.h"
#include "base/json.h"
#include "tensor/tensor.h"

/* MIL data type codes (TensorType.dataType). */
enum { ASSAY_MIL_BOOL = 1, ASSAY_MIL_STRING = 2, ASSAY_MIL_FP16 = 10, ASSAY_MIL_FP32 = 11, ASSAY_MIL_FP64 = 12, ASSAY_MIL_BF16 = 13,
    ASSAY_MIL_INT8 = 21, ASSAY_MIL_INT16 = 22, ASSAY_MIL_INT32 = 23, ASSAY_MIL_INT64 = 24, ASSAY_MIL_INT4 = 25,
    ASSAY_MIL_UINT8 = 31, ASSAY_MIL_UINT16 = 32, ASSAY_MIL_UINT32 = 33, ASSAY_MIL_UINT64 = 34, ASSAY_MIL_UINT4 = 35,
    ASSAY_MIL_UINT2 = 36, ASSAY_MIL_UINT1 = 37, ASSAY_MIL_UINT6 = 38, ASSAY_MIL_UINT3 = 39, ASSAY_MIL_FP8E4M3 = 40, ASSAY_MIL_FP8E5M2 = 41 };
const char *assay_mil_dtype_name(int32_t code);          /* "fp16", "int32", "uint4", "string"; NULL when unknown */
int32_t assay_mil_dtype_parse(const char *name);         /* 0 when unknown */
uint32_t assay_mil_dtype_bits(int32_t code);             /* 0 for string and unknown */
int32_t assay_mil_to_dtype(int32_t mil);                 /* ASSAY_F16 ...; 0 when there is no tensor type (sub-byte, fp8, string) */
int32_t assay_mil_from_dtype(int32_t dtype);

enum { ASSAY_TYPE_TENSOR = 1, ASSAY_TYPE_LIST, ASSAY_TYPE_TUPLE, ASSAY_TYPE_DICT, ASSAY_TYPE_STATE };
enum { ASSAY_DIM_UNKNOWN = -1, ASSAY_DIM_VARIADIC = -2 };
typedef struct assay_mil_type {
    int32_t kind;
    int32_t dtype;                               /* TENSOR: MIL code */
    uint32_t rank; int64_t dims[ASSAY_RANK_MAX]; /* TENSOR; a reader refuses a higher rank */
    int64_t length;                              /* LIST: length, ASSAY_DIM_UNKNOWN when not fixed */
    uint32_t n_sub; const struct assay_mil_type **sub;   /* LIST and STATE 1, DICT 2 (key, value), TUPLE n */
} assay_mil_type;

/* A constant: an immediate or a record of a blob file. Numeric data is raw little-endian, sub-byte types packed as in the
 * blob file (formats/mlpackage.md section 6). */
enum { ASSAY_CONST_DATA = 1, ASSAY_CONST_STRINGS, ASSAY_CONST_ITEMS };
typedef struct assay_mil_const {
    int32_t kind; const assay_mil_type *type;
    union {                                      /* by kind */
        struct { const void *data; uint64_t nbytes; };   /* DATA; data NULL only when the blob file is absent (see `absent`) */
        struct { const char *const *strings; uint64_t n_strings; };
        struct { const struct assay_mil_const **items; uint64_t n_items; };   /* list, tuple: elements; dict: key, value, key, value ... */
    };
    const char *blob_file; uint64_t blob_offset; /* blob_file NULL = immediate; as written, "@model_path/weights/weight.bin" */
    bool absent;                                 /* the blob file is not there: type and offset are known, bytes are not */
    const char *why_absent;                      /* for a person: "no file weights/weight.bin", "... is a Git LFS pointer ..." */
} assay_mil_const;

typedef struct assay_mil_value {
    const char *name; const assay_mil_type *type;
    struct assay_mil_op *producer;               /* NULL: input of the function or of a nested block */
    uint32_t producer_index;
    uint32_t id;                                 /* dense, per function; stable until the function is changed */
    struct assay_mil_op **users; uint32_t n_users;   /* maintained by assay_program_index() */
    uint32_t n_block_outputs;                    /* how often it is a block output; maintained likewise */
} assay_mil_value;
typedef struct assay_mil_binding { assay_mil_value *value; const assay_mil_const *literal; } assay_mil_binding;   /* exactly one */
typedef struct assay_mil_arg { const char *key; assay_mil_binding *items; uint32_t n; } assay_mil_arg;
typedef struct assay_mil_attr { const char *key; const assay_mil_const *value; } assay_mil_attr;
typedef struct assay_mil_op {
    const char *type;                            /* without opset prefix */
    const char *opset;                           /* own opset ("ios17") or NULL */
    assay_mil_arg *args; uint32_t n_args;
    assay_mil_value **outs; uint32_t n_outs;
    assay_mil_attr *attrs; uint32_t n_attrs;     /* "name", "val", constexpr parameters */
    struct assay_mil_block **blocks; uint32_t n_blocks;
    const char *where;                           /* "file.lua:12" for built programs, or NULL */
    bool reachable;                              /* from the outputs; set by assay_program_index() */
} assay_mil_op;
typedef struct assay_mil_block {
    assay_mil_value **inputs; uint32_t n_inputs;
    assay_mil_op **ops; uint32_t n_ops;
    assay_mil_value **outputs; uint32_t n_outputs;
    assay_mil_attr *attrs; uint32_t n_attrs;
} assay_mil_block;
typedef struct assay_mil_function {
    const char *name, *opset;                    /* opset as "CoreML8" */
    assay_mil_value **inputs; uint32_t n_inputs;
    assay_mil_block *block;                      /* the specialisation named by opset */
    assay_mil_attr *attrs; uint32_t n_attrs;
    uint32_t n_values;                           /* ids are 0..n_values-1 */
    assay_mil_op **all_ops; uint32_t n_all_ops;  /* every op, nested blocks included, program order; set by assay_program_index() */
    struct assay_scope *names;                   /* private to program/build.c: names in use */
} assay_mil_function;

/* One input, output or state of the model's description. */
enum { ASSAY_FEATURE_TENSOR = 1, ASSAY_FEATURE_IMAGE, ASSAY_FEATURE_DICT, ASSAY_FEATURE_INT64, ASSAY_FEATURE_DOUBLE, ASSAY_FEATURE_STRING, ASSAY_FEATURE_SEQUENCE, ASSAY_FEATURE_STATE };
typedef struct assay_feature {
    const char *name, *description; int32_t kind; bool optional;
    int32_t dtype;                               /* TENSOR, STATE: ASSAY_F16 ...; 0 unknown */
    uint32_t rank; int64_t shape[ASSAY_RANK_MAX];
    int64_t width, height; int32_t color_space;  /* IMAGE */
    bool dict_int64;                             /* DICT: keys are int64, else strings */
    int32_t flexible;                            /* 0 fixed, 1 ranges, 2 enumerated */
    int64_t (*ranges)[2]; uint32_t n_ranges;     /* lower, upper (-1 = none), per axis; IMAGE: of width, of height */
    int64_t (*shapes)[ASSAY_RANK_MAX]; uint32_t n_shapes;
} assay_feature;
typedef struct assay_signature {                 /* description of one function */
    const char *name;                            /* NULL: the model's only function */
    assay_feature *inputs, *outputs, *states; uint32_t n_inputs, n_outputs, n_states;
    const char *predicted_feature, *predicted_probabilities;
} assay_signature;

struct assay_program {
    assay_arena *arena;
    const char *source;                          /* path it was read from, or "built" */
    int32_t spec_version;                        /* 6..10; 0 for .mil text without metadata */
    assay_mil_function **functions; uint32_t n_functions;
    assay_mil_attr *attrs; uint32_t n_attrs;     /* buildInfo */
    assay_signature *signatures; uint32_t n_signatures; const char *default_function;
    struct { const char *key, *value; } *metadata; uint32_t n_metadata;    /* userDefined, plus shortDescription, author, ... under their names */
    struct assay_blob_files *blobs;              /* mapped weight files; private to program/blob.c */
    const void *raw; uint64_t raw_bytes;         /* the serialized message as read; NULL for built ones */
};

void assay_program_free(assay_program *p);
/* ---- reading (program/read_*.c). `path`: .mlpackage folder, .mlmodel file, .mil file, .mlmodelc folder. */
assay_status assay_program_read(const char *path, assay_program **out, assay_error *err);
/* A serialized model message. `bytes` must outlive the program (kept as p->raw); model_dir NULL: weight files count as absent. */
assay_status assay_program_parse_model(const void *bytes, size_t len, const char *what, const char *model_dir, assay_program **out, assay_error *err);
assay_status assay_program_parse_mil(const char *text, size_t len, const char *what, const char *model_dir, assay_program **out, assay_error *err);
/* ---- writing: a package folder (must not exist); constants of 10 or more elements go to weights/weight.bin. Deterministic:
 * the same program gives the same bytes (identifiers in the manifest are derived from the digest). */
assay_status assay_program_write_package(const assay_program *p, const char *path, assay_error *err);
assay_status assay_program_write_mil(const assay_program *p, assay_buf *out, assay_error *err);
/* ---- building and changing (program/build.c); every function keeps the program well formed or fails. */
assay_program *assay_program_new(int32_t spec_version);
assay_mil_function *assay_program_add_function(assay_program *p, const char *name, const char *opset);
const assay_mil_type *assay_type_tensor(assay_program *p, int32_t mil_dtype, uint32_t rank, const int64_t *dims);
const assay_mil_const *assay_const_tensor(assay_program *p, const assay_tensor *t);              /* copies */
const assay_mil_const *assay_const_string(assay_program *p, const char *s);
assay_mil_value *assay_function_add_input(assay_program *p, assay_mil_function *f, const char *name, const assay_mil_type *type);
/* Appends (or inserts before `before`) an op; output types come from the op table's type rule. A value name already in use
 * gets a suffix _1, _2 ... */
typedef struct assay_build_arg { const char *key; const assay_mil_binding *items; uint32_t n; } assay_build_arg;
assay_status assay_block_add_op(assay_program *p, assay_mil_function *f, assay_mil_block *b, assay_mil_op *before, const char *type,
                                const char *name, const char *where, const assay_build_arg *args, uint32_t n_args, assay_mil_op **out, assay_error *err);
assay_mil_value *assay_block_add_const(assay_program *p, assay_mil_function *f, assay_mil_block *b, assay_mil_op *before, const char *name, const assay_mil_const *c);
assay_status assay_function_set_outputs(assay_program *p, assay_mil_function *f, assay_mil_value *const *outs, uint32_t n, assay_error *err);
/* Replaces every use of `old` (arguments and block outputs, nested blocks too) by `with`; types must be equal. */
assay_status assay_value_replace(assay_program *p, assay_mil_function *f, assay_mil_value *old, assay_mil_value *with, assay_error *err);
/* Exchanges the names of two values of f, so that a replaced output keeps its name. */
void assay_value_swap_names(assay_program *p, assay_mil_function *f, assay_mil_value *a, assay_mil_value *b);
void assay_program_remove_dead(assay_program *p, assay_mil_function *f);
/* Deep copy, constants shared by reference: `from` must outlive the copy. */
assay_program *assay_program_clone(const assay_program *from);
/* Recomputes users, ids, reachability and the description's features from the functions. Called by readers and after rewrites. */
void assay_program_index(assay_program *p);
/* ---- validation: names defined before use and unique, const rank, blob ranges and dtypes, opset known, at least one
 * function, and the op table's type rule against the declared types. `mode`: 0 structure only, 1 also the types and opsets of
 * known ops, 2 also that every op is known. */
assay_status assay_program_validate(const assay_program *p, int mode, assay_error *err);
/* ---- types (program/types.c) */
int64_t assay_type_count(const assay_mil_type *t);       /* elements of a tensor type; -1: not a tensor, unknown size or overflow */
bool assay_type_equal(const assay_mil_type *a, const assay_mil_type *b);
bool assay_type_fits(const assay_mil_type *a, const assay_mil_type *b);   /* equal where both sizes are known */
const char *assay_type_text(const assay_mil_type *t, char out[96]);       /* "tensor<fp16, [1, 4]>", "string"; shortened to fit */
/* ---- queries (program/query.c) */
assay_mil_function *assay_program_function(const assay_program *p, const char *name);     /* NULL name: the default one */
const assay_mil_arg *assay_op_arg(const assay_mil_op *op, const char *key);               /* NULL when absent */
const assay_mil_value *assay_op_in(const assay_mil_op *op, const char *key);              /* first binding's value, or NULL */
const assay_mil_const *assay_op_attr(const assay_mil_op *op, const char *key);
/* The compile-time constant bound to `key` (a literal, or the value of a const op), or NULL. */
const assay_mil_const *assay_op_const(const assay_mil_op *op, const char *key);
const assay_mil_const *assay_value_const(const assay_mil_value *v);                       /* v's value if its producer is a const op */
/* Reads a numeric constant as a tensor (sub-byte unpacked to one byte an element); data may point into p. */
assay_status assay_const_read(const assay_mil_const *c, assay_own_tensor *out, assay_error *err);
bool assay_const_scalar(const assay_mil_const *c, double *out);                           /* a one-element numeric or bool constant */
double assay_const_at(const assay_mil_const *c, uint64_t i);                              /* element i as double; NaN: absent, not numeric, past the end */
/* Fails (naming file and offset) unless c is numeric and its bytes are there; then c->data may be used. */
assay_status assay_const_ready(const assay_mil_const *c, assay_error *err);
uint8_t assay_const_unpacked(const assay_mil_const *c, uint64_t i);                       /* element i of a sub-byte type; int4 sign-extended */
/* Walks producers from `v` through ops flagged ASSAY_OP_LAYOUT and returns the first value that is not made by one. */
const assay_mil_value *assay_value_skip_layout(const assay_mil_value *v);
/* SHA-256 of a constant's UNPACKED little-endian elements (truth.json's weight_references); "" when absent. */
void assay_const_digest(const assay_mil_const *c, char hex[65]);
/* Structural digest of a program: equal programs (ops, data flow, types, constants by bytes, names of functions, inputs and
 * outputs; not names of inner values, not the order of inputs, outputs or attributes, not where constants are stored) have
 * equal digests. Reads all constants. */
void assay_program_digest(const assay_program *p, char hex[65]);
/* {"function": {...}}: versions, opset, op histograms (all, reachable), features, weights; the JSON of `assay inspect`. */
assay_json *assay_program_facts(const assay_program *p);
#endif
