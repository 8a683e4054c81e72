/* const: a constant of the program, read where it lies. */
#include "ops/builtin.h"
#include "ops/eval.h"

static assay_status infer(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out, assay_error *err) {
    (void)p;
    (void)n_out;
    const assay_mil_const *c = assay_op_attr(op, "val");
    if (!c) return assay_op_fail(err, op, "has no value");
    out[0] = c->type;
    return ASSAY_OK;
}

static assay_status eval(assay_eval *ev, assay_error *err) {
    if (ev->out_dtypes[0] == 0) return ASSAY_OK;                        /* strings and lists are read through the program */
    assay_own_tensor own = { 0 };
    assay_status s = assay_const_read(assay_op_attr(ev->op, "val"), &own, err);
    if (s == ASSAY_OK) s = assay_eval_adopt(ev, 0, &own, err);
    if (s != ASSAY_OK) assay_tensor_free(&own);
    return s;
}

static const assay_op_param params[] = { ASSAY_END };
static const assay_op_def def_const = { "const", "a constant", "CoreML5", 0, params, infer, NULL, eval };
static const assay_op_def *const defs[] = { &def_const, NULL };
const assay_op_family assay_ops_const = { defs };
