/* plugins/backends/reference/exec.h: runs a function of a program on the CPU: the oracle. */
#ifndef ASSAY_EXEC_H
#define ASSAY_EXEC_H
#include "program/program.h"
#include "assay/backend.h"

struct assay_eval;                               /* ops/eval.h */

/* How floating-point values are kept. DECLARED: as the program declares them (an fp16 value is rounded at every op, an fp32
 * value computed in fp32). FP16, FP32, FP64: every float value in that type, whatever is declared; FP64 rounds nothing in
 * between and returns float64 outputs. With a cut, the ancestors of the named values (inclusive) run as DECLARED and everything
 * else in FP64: "float64 attention on the control's fp16-rounded q, k, v" (statistics.md 3.2). */
enum { ASSAY_PREC_DECLARED = 0, ASSAY_PREC_FP16, ASSAY_PREC_FP32, ASSAY_PREC_FP64 };
typedef struct assay_exec_options {
    int32_t precision; uint32_t threads;         /* threads 0: all cores */
    const char *function;                        /* NULL: the default function */
    const char *const *cut; uint32_t n_cut;
    /* Sees every value once it is computed (assay exec --ranges); may be NULL. */
    void (*observe)(void *ctx, const assay_mil_op *op, const assay_mil_value *v, const assay_tensor *t);
    void *observe_ctx;
    /* Called in the place of every op's kernel (constants aside) and may call it, change what it reads and what it wrote: the
     * simulated device. NULL: the kernel alone. */
    assay_status (*around)(void *ctx, struct assay_eval *ev, assay_status (*kernel)(struct assay_eval *, assay_error *), assay_error *err);
    void *around_ctx;
} assay_exec_options;
/* A function prepared for repeated runs. Inputs and outputs by name. */
typedef struct assay_exec assay_exec;
assay_status assay_exec_open(const assay_program *p, const assay_exec_options *o, assay_exec **out, assay_error *err);
void assay_exec_close(assay_exec *e);
/* Types of the outputs for the given inputs (after dynamic shapes are bound) are those of the tensors handed back. */
assay_status assay_exec_run(assay_exec *e, const assay_named_tensor *in, uint32_t n_in, assay_error *err);
/* Checks names, shapes and types of inputs without running. */
assay_status assay_exec_check_inputs(const assay_exec *e, const assay_named_tensor *in, uint32_t n_in, assay_error *err);
bool assay_exec_has_output(const assay_exec *e, const char *name);
/* States carried from run to run, zeros at first. `state` NULL: every run of a function with states begins with zeros. */
typedef struct assay_exec_state assay_exec_state;
assay_status assay_exec_state_new(const assay_exec *e, assay_exec_state **out, assay_error *err);
void assay_exec_state_free(assay_exec_state *s);
uint32_t assay_exec_state_count(const assay_exec_state *s);
/* The state's own memory, in the type in which runs hold it: may be read and written between runs. */
assay_named_tensor assay_exec_state_at(const assay_exec_state *s, uint32_t i);
assay_status assay_exec_run_state(assay_exec *e, const assay_named_tensor *in, uint32_t n_in, assay_exec_state *state, assay_error *err);
uint32_t assay_exec_output_count(const assay_exec *e);
/* Borrowed until the next run or close. */
assay_status assay_exec_output(const assay_exec *e, uint32_t i, assay_named_tensor *out, assay_error *err);

/* A session of the reference backend on an executor that was opened elsewhere, and is closed with it. */
void *assay_reference_session(assay_exec *e);
extern const assay_backend assay_reference_backend;      /* params: precision (declared|fp16|fp32|fp64), cut (list of names), threads */
#endif
