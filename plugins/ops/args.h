/* ops/args.h: an op's arguments as its type rule and its kernel read them: constants with the defaults of the op's parameter
 * table, the types of tensor arguments, and shape arithmetic in which a size may be unknown (ASSAY_DIM_UNKNOWN). */
#ifndef ASSAY_OPS_ARGS_H
#define ASSAY_OPS_ARGS_H
#include "program/optable.h"

typedef struct assay_shape { uint32_t rank; int64_t d[ASSAY_RANK_MAX]; } assay_shape;

/* Every return of a failing call goes up unchanged. */
#define ASSAY_TRY(call) do { assay_status try_ = (call); if (try_ != ASSAY_OK) return try_; } while (0)

/* ASSAY_E_INPUT. The caller (builder, validation, executor) puts the op's place, type and name before the message. */
assay_status assay_op_fail(assay_error *err, const assay_mil_op *op, const char *fmt, ...) ASSAY_PRINTF(3, 4);
/* Checks the arguments against the op's parameter table: known names, required ones present, one binding unless variadic,
 * accepted dtypes, constants where the table wants them. Each type rule begins with it. */
assay_status assay_op_check_args(const assay_mil_op *op, assay_error *err);

uint32_t assay_arg_count(const assay_mil_op *op, const char *key);               /* bindings; 0: absent */
const assay_mil_type *assay_arg_type(const assay_mil_op *op, const char *key, uint32_t i);   /* NULL: absent */
int32_t assay_arg_dtype(const assay_mil_op *op, const char *key);                /* MIL code of a tensor argument; 0: absent or no tensor */
/* Shape of a tensor argument; false when it is absent or no tensor. */
bool assay_arg_shape(const assay_mil_op *op, const char *key, uint32_t i, assay_shape *out);

/* Scalars: the constant, else the default of the parameter table, else `dflt`. */
int64_t assay_arg_int(const assay_mil_op *op, const char *key, int64_t dflt);
double assay_arg_number(const assay_mil_op *op, const char *key, double dflt);
bool assay_arg_bool(const assay_mil_op *op, const char *key, bool dflt);
const char *assay_arg_text(const assay_mil_op *op, const char *key, const char *dflt);
/* Lists of integers or bools: number of elements (a scalar is one), from the constant or the default. */
enum { ASSAY_ARG_ABSENT = -1, ASSAY_ARG_UNKNOWN = -2 /* known only at run time */, ASSAY_ARG_TOO_LONG = -3 };
int assay_arg_ints(const assay_mil_op *op, const char *key, int64_t *out, int max);

/* ---- shapes */
const assay_mil_type *assay_shape_type(assay_program *p, int32_t mil_dtype, const assay_shape *s);
bool assay_shape_known(const assay_shape *s);
int64_t assay_shape_count(const assay_shape *s);                                 /* elements, -1 when unknown or beyond 2^62 */
bool assay_dims_agree(int64_t a, int64_t b);                                     /* equal, or one is unknown */
/* NumPy broadcasting; false when two known sizes disagree. An unknown size against 1 or unknown stays unknown. */
bool assay_shape_broadcast(const assay_shape *a, const assay_shape *b, assay_shape *out);
/* 0..rank-1 for -rank..rank-1. */
assay_status assay_axis(const assay_mil_op *op, const char *what, int64_t axis, uint32_t rank, uint32_t *out, assay_error *err);
/* Reads a list of axes into a bit set, refusing repeats. Absent or empty: every axis. */
assay_status assay_axes(const assay_mil_op *op, const char *key, uint32_t rank, uint32_t *set, assay_error *err);
const char *assay_shape_print(const assay_shape *s, char out[160]);              /* "[2,?,64]" */
/* The type rule of most ops: the type of argument `key` unchanged. */
assay_status assay_infer_same(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out, assay_error *err);
#endif
