/* cond, while_loop: nested blocks run by the executor; values go in and out by sharing. */
#include "ops/builtin.h"
#include "ops/slots.h"
#include <stdlib.h>

static bool truth(const assay_tensor *t) { return t->dtype && assay_tensor_count(t) == 1 && assay_load_f64(t->dtype, t->data) != 0; }

static const assay_slot *arg_slot(const assay_eval *ev, const char *key, uint32_t i) {
    const assay_mil_arg *a = assay_op_arg(ev->op, key);
    return a && i < a->n && a->items[i].value ? &ev->slots[a->items[i].value->id] : NULL;
}

/* ---- cond */
static assay_status infer_cond(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out, assay_error *err) {
    (void)p;
    ASSAY_TRY(assay_op_check_args(op, err));
    if (op->n_blocks != 2 || op->blocks[0]->n_outputs != n_out || op->blocks[1]->n_outputs != n_out)
        return assay_op_fail(err, op, "needs two blocks with %u results each", n_out);
    for (uint32_t i = 0; i < n_out; i++) out[i] = op->blocks[0]->outputs[i]->type;
    return ASSAY_OK;
}

static assay_status eval_cond(assay_eval *ev, assay_error *err) {
    const assay_tensor *pred = assay_eval_in(ev, "pred");
    if (!pred) return assay_op_fail(err, ev->op, "pred has no value");
    uint32_t branch = truth(pred) ? 0 : 1;
    const assay_mil_block *b = ev->op->blocks[branch];
    ASSAY_TRY(ev->run_block(ev->run_ctx, branch, err));
    for (uint32_t i = 0; i < ev->n_out; i++) assay_slot_share(&ev->outs[i], &ev->slots[b->outputs[i]->id]);
    return ASSAY_OK;
}

/* ---- while_loop */
enum { ROUNDS_MAX = 1 << 24 };

static assay_status infer_while(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out, assay_error *err) {
    (void)p;
    ASSAY_TRY(assay_op_check_args(op, err));
    uint32_t n = assay_arg_count(op, "loop_vars");
    if (op->n_blocks != 2 || n != n_out || op->blocks[0]->n_inputs != n || op->blocks[1]->n_inputs != n || op->blocks[0]->n_outputs != 1 || op->blocks[1]->n_outputs != n)
        return assay_op_fail(err, op, "needs a condition with one result and a body with one for each of the %u loop variables", n);
    for (uint32_t i = 0; i < n_out; i++) out[i] = assay_arg_type(op, "loop_vars", i);
    return ASSAY_OK;
}

/* The block's steps rely on the declared sizes of its inputs. */
static assay_status feed(const assay_eval *ev, const assay_mil_block *b, const assay_slot *vars, assay_error *err) {
    for (uint32_t i = 0; i < b->n_inputs; i++) {
        const assay_mil_type *want = b->inputs[i]->type;
        bool list = want && want->kind == ASSAY_TYPE_LIST;               /* its ops check what it holds */
        bool fits = list || (want && want->kind == ASSAY_TYPE_TENSOR && want->rank == vars[i].t.rank);
        for (uint32_t k = 0; fits && !list && k < want->rank; k++) fits = assay_dims_agree(want->dims[k], vars[i].t.shape[k]);
        if (!fits) return assay_op_fail(err, ev->op, "loop variable %u does not have the type of '%s'", i, b->inputs[i]->name);
        assay_slot_share(&ev->slots[b->inputs[i]->id], &vars[i]);
    }
    return ASSAY_OK;
}

/* One round: true in *more while the condition holds. */
static assay_status round_trip(const assay_eval *ev, assay_slot *vars, bool *more, assay_error *err) {
    const assay_mil_block *cond = ev->op->blocks[0], *body = ev->op->blocks[1];
    ASSAY_TRY(feed(ev, cond, vars, err));
    ASSAY_TRY(ev->run_block(ev->run_ctx, 0, err));
    *more = truth(&ev->slots[cond->outputs[0]->id].t);
    if (!*more) return ASSAY_OK;
    ASSAY_TRY(feed(ev, body, vars, err));
    ASSAY_TRY(ev->run_block(ev->run_ctx, 1, err));
    for (uint32_t i = 0; i < ev->n_out; i++) assay_slot_share(&vars[i], &ev->slots[body->outputs[i]->id]);
    return ASSAY_OK;
}

static void clear_block(const assay_eval *ev, const assay_mil_block *b) {
    for (uint32_t i = 0; i < b->n_inputs; i++) assay_slot_clear(&ev->slots[b->inputs[i]->id]);
}

static assay_status eval_while(assay_eval *ev, assay_error *err) {
    bool more = true;
    assay_status s = ASSAY_OK;
    for (uint32_t i = 0; i < ev->n_out; i++) {
        const assay_slot *v = arg_slot(ev, "loop_vars", i);
        if (!v || !v->t.dtype) return assay_op_fail(err, ev->op, "loop variable %u has no value", i);
        assay_slot_share(&ev->outs[i], v);
    }
    for (uint32_t round = 0; s == ASSAY_OK && more; round++)
        s = round < ROUNDS_MAX ? round_trip(ev, ev->outs, &more, err) : assay_op_fail(err, ev->op, "still running after %d rounds", ROUNDS_MAX);
    clear_block(ev, ev->op->blocks[0]);
    clear_block(ev, ev->op->blocks[1]);
    return s;
}

static const assay_op_param p_cond[] = { { "pred", "bool", NULL, ASSAY_ARG_REQUIRED, "which block" }, ASSAY_END };
static const assay_op_param p_while[] = { { "loop_vars", "any", NULL, ASSAY_ARG_REQUIRED | ASSAY_ARG_VARIADIC, "carried from round to round" }, ASSAY_END };
static const assay_op_def def_cond = { "cond", "one of two blocks", "CoreML5", ASSAY_OP_CONTROL, p_cond, infer_cond, NULL, eval_cond };
static const assay_op_def def_while = { "while_loop", "a block again and again", "CoreML5", ASSAY_OP_CONTROL, p_while, infer_while, NULL, eval_while };
static const assay_op_def *const defs[] = { &def_cond, &def_while, NULL };
const assay_op_family assay_ops_control = { defs };
