/* read_state, write_state: the tensor that a state holds at this point of the run. */
#include "ops/builtin.h"
#include "ops/slots.h"

static const assay_mil_type *wrapped(const assay_mil_op *op) {
    const assay_mil_type *t = assay_arg_type(op, "input", 0);
    return t && t->kind == ASSAY_TYPE_STATE && t->n_sub == 1 ? t->sub[0] : NULL;
}

static assay_status check_state(const assay_mil_op *op, assay_error *err) {
    ASSAY_TRY(assay_op_check_args(op, err));
    return wrapped(op) ? ASSAY_OK : assay_op_fail(err, op, "argument 'input' must be a state");
}

static assay_status infer_read(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out, assay_error *err) {
    (void)p;
    (void)n_out;
    ASSAY_TRY(check_state(op, err));
    out[0] = wrapped(op);
    return ASSAY_OK;
}

static assay_status eval_read(assay_eval *ev, assay_error *err) {
    const assay_tensor *x = assay_eval_in(ev, "input");
    return x ? assay_eval_share(ev, 0, x, err) : assay_op_fail(err, ev->op, "the state has no value");
}

static assay_status infer_write(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out, assay_error *err) {
    (void)p;
    (void)out;
    (void)n_out;
    ASSAY_TRY(check_state(op, err));
    const assay_mil_type *want = wrapped(op), *have = assay_arg_type(op, "data", 0);
    bool same = have->kind == ASSAY_TYPE_TENSOR && want->dtype == have->dtype && want->rank == have->rank;
    for (uint32_t i = 0; same && i < want->rank; i++) same = assay_dims_agree(want->dims[i], have->dims[i]);
    return same ? ASSAY_OK : assay_op_fail(err, op, "data does not have the type of the state");
}

static assay_status eval_write(assay_eval *ev, assay_error *err) {
    const assay_mil_value *state = assay_op_in(ev->op, "input");
    const assay_tensor *data = assay_eval_in(ev, "data");
    if (!state || !data) return assay_op_fail(err, ev->op, "the state or its data has no value");
    assay_own_tensor copy;
    ASSAY_TRY(assay_tensor_copy(data, ev->slots[state->id].t.dtype, &copy, err));
    assay_slot_own(ev->pool, &ev->slots[state->id], &copy);
    return ASSAY_OK;
}

static const assay_op_param p_read[] = { { "input", "any", NULL, ASSAY_ARG_REQUIRED, "state" }, ASSAY_END };
static const assay_op_param p_write[] = { { "input", "any", NULL, ASSAY_ARG_REQUIRED, "state" }, { "data", "any", NULL, ASSAY_ARG_REQUIRED, "new value" }, ASSAY_END };
static uint32_t no_outputs(const assay_mil_op *op) { (void)op; return 0; }
static const assay_op_def def_read = { "read_state", "the value of a state", "CoreML8", 0, p_read, infer_read, NULL, eval_read };
static const assay_op_def def_write = { "write_state", "a new value for a state", "CoreML8", 0, p_write, infer_write, no_outputs, eval_write };
static const assay_op_def *const defs[] = { &def_read, &def_write, NULL };
const assay_op_family assay_ops_state = { defs };
