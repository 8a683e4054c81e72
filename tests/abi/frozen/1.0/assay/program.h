/* assay/program.h: interface "assay.program/1": read-only walk over an ML Program, for gates. All pointers are borrowed
 * until the callback that handed out the program returns. Once shipped it never changes; "/2" would stand beside it. */
#ifndef ASSAY_PROGRAM_IFACE_H
#define ASSAY_PROGRAM_IFACE_H
#include "types.h"
#ifdef __cplusplus
extern "C" {
#endif
#define ASSAY_PROGRAM_1 "assay.program/1"
typedef struct assay_p_value assay_p_value;      /* a value: result of an op, or an input */
typedef struct assay_p_op assay_p_op;
typedef struct assay_p_function assay_p_function;
typedef struct assay_program_1 { uint32_t struct_size, reserved;
    int32_t (*spec_version)(const assay_program *);
    uint32_t (*function_count)(const assay_program *);
    const assay_p_function *(*function)(const assay_program *, const char *name);      /* NULL name: default; NULL: no such */
    const assay_p_function *(*function_at)(const assay_program *, uint32_t i);
    const char *(*function_name)(const assay_p_function *);
    const char *(*function_opset)(const assay_p_function *);                           /* "CoreML8" */
    uint32_t (*input_count)(const assay_p_function *);
    const assay_p_value *(*input)(const assay_p_function *, uint32_t i);
    uint32_t (*output_count)(const assay_p_function *);
    const assay_p_value *(*output)(const assay_p_function *, uint32_t i);
    uint32_t (*op_count)(const assay_p_function *);                                    /* all ops, nested blocks included, program order */
    const assay_p_op *(*op)(const assay_p_function *, uint32_t i);
    const char *(*op_type)(const assay_p_op *);                                        /* "matmul", no opset prefix */
    int (*op_reachable)(const assay_p_op *);                                           /* from the function's outputs */
    int (*op_is_layout)(const assay_p_op *);                                           /* reshape, transpose ...: moves elements only */
    uint32_t (*op_output_count)(const assay_p_op *);
    const assay_p_value *(*op_output)(const assay_p_op *, uint32_t i);
    uint32_t (*op_arg_count)(const assay_p_op *, const char *key);                     /* bindings under a parameter; 0: absent */
    const assay_p_value *(*op_arg)(const assay_p_op *, const char *key, uint32_t i);   /* NULL: absent or a literal */
    uint32_t (*op_key_count)(const assay_p_op *);
    const char *(*op_key)(const assay_p_op *, uint32_t i);
    const char *(*value_name)(const assay_p_value *);
    const assay_p_op *(*value_producer)(const assay_p_value *);                        /* NULL: an input */
    uint32_t (*value_user_count)(const assay_p_value *);
    const assay_p_op *(*value_user)(const assay_p_value *, uint32_t i);
    const char *(*value_dtype)(const assay_p_value *);                                 /* "fp16" ...; "" when not a tensor */
    int32_t (*value_rank)(const assay_p_value *);                                      /* -1 when not a tensor */
    int64_t (*value_dim)(const assay_p_value *, uint32_t axis);                        /* -1 unknown */
    const assay_p_value *(*skip_layout)(const assay_p_value *);                        /* through layout ops to their source */
    /* Constant bound to a parameter (or the value of a const op: arg_const(op, "val")): element count, 0 when there is none. */
    uint64_t (*arg_const_count)(const assay_p_op *, const char *key);
    double (*arg_const_at)(const assay_p_op *, const char *key, uint64_t i);           /* NaN when not numeric or absent */
    const char *(*arg_const_text)(const assay_p_op *, const char *key);                /* a string constant, or NULL */
    /* Digest of the unpacked bytes ("" when the weight file is absent), and where the blob lies (NULL: immediate). */
    void (*arg_const_digest)(const assay_p_op *, const char *key, char hex[65]);
    const char *(*arg_const_blob)(const assay_p_op *, const char *key, uint64_t *offset, int *absent);
    const char *(*arg_const_type)(const assay_p_op *, const char *key, char out[96]);  /* "fp16[64,64]" */
    const char *(*metadata)(const assay_program *, const char *key);                   /* user-defined metadata, or NULL */
} assay_program_1;
#ifdef __cplusplus
}
#endif
#endif
