/* program/optable.h: the table of known ops. One file an op or family in plugins/ops registers rows; the program part (type
 * inference, validation), the builder and the executor look ops up here by type. Adding an op touches one file. */
#ifndef ASSAY_PROGRAM_OPTABLE_H
#define ASSAY_PROGRAM_OPTABLE_H
#include "program/program.h"

enum { ASSAY_OP_LAYOUT = 1,                      /* moves or re-reads elements only: reshape, transpose, squeeze, identity ... */
       ASSAY_OP_CONSTEXPR = 2,                   /* decodes compressed constants */
       ASSAY_OP_CONTROL = 4 };                   /* has nested blocks */
enum { ASSAY_ARG_REQUIRED = 1, ASSAY_ARG_VARIADIC = 2, ASSAY_ARG_CONST = 4 /* must be known when compiling */ };
typedef struct assay_op_param {                  /* ends with name NULL */
    const char *name;
    const char *dtypes;                          /* accepted: "fp" (fp16 fp32), "num", "int", "bool", "str", "any", or "fp16|int32" */
    const char *def;                             /* default as JSON text ("-1", "false", "[1,1]", "\"valid\""), NULL: none */
    uint32_t flags; const char *help;
} assay_op_param;

struct assay_eval;                               /* plugins/ops/eval.h */
typedef struct assay_op_def {
    const char *type, *summary;
    const char *opset_min;                       /* "CoreML5" (iOS15) ... "CoreML8" (iOS18) */
    uint32_t flags;
    const assay_op_param *params;
    /* Output types from the op's arguments (already bound). `out` has n_out slots (the op's outputs; for a new op 1, or the
     * number asked for by a parameter such as num_splits). Unknown sizes give ASSAY_DIM_UNKNOWN. Types live in p's arena. */
    assay_status (*infer)(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out, assay_error *err);
    uint32_t (*count_outputs)(const assay_mil_op *op);   /* NULL: 1 */
    /* Runs the op in the reference executor; NULL: known but cannot be executed. */
    assay_status (*eval)(struct assay_eval *ev, assay_error *err);
} assay_op_def;

void assay_optable_add(const assay_op_def *const *defs);  /* NULL-ended list; called once per family at start-up */
const assay_op_def *assay_optable_find(const char *type); /* NULL when unknown */
const assay_op_def *const *assay_optable_all(size_t *n);  /* sorted by type */
const char *assay_optable_suggest(char out[96], const char *type);   /* did-you-mean text or "" */
int assay_opset_rank(const char *opset);                  /* CoreML5/ios15 = 5 ... CoreML9/ios26 = 9; 0 when unknown; either spelling, any case */
const char *assay_opset_name(int rank);                   /* "CoreML8" */
const char *assay_opset_target(int rank);                 /* "iOS18" */
int assay_opset_spec_version(int rank);                   /* 9 for iOS18 */
#endif
