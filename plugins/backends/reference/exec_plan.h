/* reference/exec_plan.h: a function made ready to run: the steps of each block, how each value is held, when it is dropped.
 * Private to the reference executor. */
#ifndef ASSAY_EXEC_PLAN_H
#define ASSAY_EXEC_PLAN_H
#include "backends/reference/exec.h"
#include "ops/slots.h"
#include "ops/pool.h"

typedef struct assay_exec_step {
    const assay_mil_op *op; const assay_op_def *def;
    bool fixed;                                  /* all sizes and parameters are known before the run */
    const assay_mil_type **types;                /* of the outputs; of a fixed step: inferred at open */
    assay_slot *outs; int32_t *held;             /* the outputs while the op runs, and how they are held */
    uint32_t *release, n_release;                /* ids of the values that nobody needs after this step */
    struct assay_exec_block **blocks;            /* of a control op, op->n_blocks */
} assay_exec_step;
typedef struct assay_exec_block { const assay_mil_block *block; assay_exec_step *steps; uint32_t n; } assay_exec_block;

struct assay_exec {
    const assay_program *p; const assay_mil_function *f;
    assay_arena *arena;
    const assay_kernels *k;
    assay_exec_options o;
    uint8_t *declared;                           /* by value id: an ancestor of the cut, held as declared (NULL: no cut) */
    assay_slot *slots;                           /* by value id */
    assay_pool *pool;                            /* memory of slots and scratch */
    assay_exec_block *body;
    assay_program *types;                        /* arena of types inferred at open */
    assay_program *run_types;                    /* and during a run that needs one; NULL between runs */
};

/* How a value of this type is held (ASSAY_F16 ...); 0: not a tensor the executor can hold. */
int32_t assay_exec_held(const assay_exec *e, const assay_mil_value *v);
/* Marks the ancestors of the cut; unknown names are an error with did-you-mean. */
assay_status assay_exec_mark_cut(assay_exec *e, assay_error *err);
assay_status assay_exec_plan_block(assay_exec *e, const assay_mil_block *b, assay_exec_block **out, assay_error *err);
assay_status assay_exec_run_block(assay_exec *e, const assay_exec_block *b, assay_error *err);
/* Puts the states into their slots before a run, and takes them out after it. */
assay_status assay_exec_states_in(assay_exec *e, const assay_exec_state *s, assay_error *err);
void assay_exec_states_out(const assay_exec *e, assay_exec_state *s);
/* An input that lives from run to run. */
static inline bool assay_exec_is_state(const assay_mil_value *v) { return v->type && v->type->kind == ASSAY_TYPE_STATE; }
#endif
