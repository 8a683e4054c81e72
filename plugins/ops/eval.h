/* ops/eval.h: what the kernel of an op sees while it runs in the reference executor.
 *
 * Values. Every tensor is contiguous. A float value is held as fp16, fp32 or float64, as the executor's precision says (exec.h);
 * other values as declared. An op works in float64 when its first output is held so, else in float32; what it reads is widened
 * exactly, what it writes is rounded once:
 *   - linear, matmul, conv, einsum, softmax and attention run on the kernels of that width (kernels.h);
 *   - elementwise and reducing ops are evaluated in float64 at every width and rounded once to the value's type. For + - * / and
 *     sqrt on fp16 and fp32 that gives the bits of direct arithmetic (2p + 2 digits make the double rounding harmless).
 * Stored NaNs are the positive quiet one. Threads never change a bit.
 *
 * Ownership: inputs belong to the executor; outputs are made by assay_eval_out, _share or _adopt; scratch lives until the op ends. */
#ifndef ASSAY_OPS_EVAL_H
#define ASSAY_OPS_EVAL_H
#include "ops/args.h"
#include "ops/kernels/kernels.h"

struct assay_slot;                               /* a value at run time; private to the executor */
typedef struct assay_eval {
    /* The op with its arguments bound. Small integer, bool and scalar arguments that became known at run time read as constants
     * through ops/args.h, and all sizes are known. */
    const assay_mil_op *op;
    const assay_kernels *k;
    uint32_t threads;
    uint32_t n_out;
    const assay_mil_type *const *out_types;      /* concrete */
    const int32_t *out_dtypes;                   /* how the outputs are held: ASSAY_F16 ... */
    struct assay_slot *slots;                    /* by value id */
    struct assay_slot *outs;                     /* n_out */
    struct assay_scratch *scratch;
    struct assay_pool *pool;
    /* Runs nested block i of a control op; its inputs are set and its outputs read through `slots`. */
    assay_status (*run_block)(void *run_ctx, uint32_t i, assay_error *err);
    void *run_ctx;
} assay_eval;

/* ---- inputs; NULL: absent. Literals and constants are tensors like any other. */
const assay_tensor *assay_eval_in(assay_eval *ev, const char *key);
const assay_tensor *assay_eval_in_at(assay_eval *ev, const char *key, uint32_t i);
/* The elements in any type that holds them exactly, in place or converted into scratch; NULL: out of memory, err set. */
const void *assay_eval_as(assay_eval *ev, const assay_tensor *t, int32_t dtype, assay_error *err);
/* The axes in the bit set `axes` moved to the end and joined: [*outer, *n] in float64, kept axes in their order. */
const double *assay_eval_rows(assay_eval *ev, const assay_tensor *x, uint32_t axes, int64_t *outer, int64_t *n, assay_error *err);
/* ---- outputs */
bool assay_eval_wide(const assay_eval *ev);                          /* the op works in float64: output 0 is held so, or is no float */
assay_tensor *assay_eval_out(assay_eval *ev, uint32_t i, assay_error *err);      /* made on first call, contents undefined; NULL: out of memory */
/* Output i is the memory of `in` with the output's shape (same number of elements, same dtype): no copy. */
assay_status assay_eval_share(assay_eval *ev, uint32_t i, const assay_tensor *in, assay_error *err);
/* Output i takes over `own` (emptied), converted when it is held otherwise. */
assay_status assay_eval_adopt(assay_eval *ev, uint32_t i, assay_own_tensor *own, assay_error *err);
/* A float buffer for output i: its own memory when it is held as fp32, else scratch. assay_eval_put_f32 rounds it into the
 * output when needed and makes NaNs canonical. Likewise for float64. */
float *assay_eval_dst_f32(assay_eval *ev, uint32_t i, assay_error *err);
void assay_eval_put_f32(assay_eval *ev, uint32_t i, const float *src);
double *assay_eval_dst_f64(assay_eval *ev, uint32_t i, assay_error *err);
void assay_eval_put_f64(assay_eval *ev, uint32_t i, const double *src);
/* ---- memory for the time of the op, 64-byte aligned; NULL: out of memory, err set. */
void *assay_eval_scratch(assay_eval *ev, uint64_t count, uint64_t size, assay_error *err);

/* ---- loops */
/* Elementwise with NumPy broadcasting: out = f(in...), in float64, in pieces of at most ASSAY_MAP_PIECE elements. */
enum { ASSAY_MAP_PIECE = 512, ASSAY_MAP_INPUTS = 4 };
typedef void (*assay_map_fn)(const void *ctx, const double *const *in, double *out, int64_t n);
assay_status assay_map(assay_eval *ev, const assay_tensor *const *in, uint32_t n_in, assay_tensor *out, assay_map_fn fn, const void *ctx, assay_error *err);
/* The op's arguments `keys` (NULL-ended) through fn into output 0. */
assay_status assay_map_args(assay_eval *ev, const char *const *keys, assay_map_fn fn, const void *ctx, assay_error *err);
/* Copies elements of `size` bytes between strided regions (strides in elements, any sign or zero; rank at most
 * ASSAY_COPY_RANK). */
enum { ASSAY_COPY_RANK = 2 * ASSAY_RANK_MAX };
void assay_copy_strided(size_t size, uint32_t rank, const int64_t *shape, void *dst, const int64_t *dst_stride, const void *src, const int64_t *src_stride);
/* n contiguous elements between any two types, each rounded once, on the eval's threads. */
void assay_eval_convert(const assay_eval *ev, int32_t to, void *dst, int32_t from, const void *src, int64_t n);
/* Calls fn on `threads` threads when n * work (elements touched) is worth it, else in the caller. */
void assay_eval_parallel(const assay_eval *ev, int64_t n, int64_t work, void (*fn)(void *ctx, uint64_t i, uint32_t worker), void *ctx);

/* A table row for a family's op. */
#define ASSAY_END { NULL, NULL, NULL, 0, NULL }
#define ASSAY_X(types, text) { "x", types, NULL, ASSAY_ARG_REQUIRED, text }
#endif
