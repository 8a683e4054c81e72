/* classify: the most probable class and all probabilities. The executor holds no strings and no dictionaries: the label comes out
 * as the class number where classes are numbers, else as its position in `classes`; the dictionary as its values in their order.
 */
#include "ops/builtin.h"
#include "ops/slots.h"

static const assay_mil_type *labels(const assay_mil_const *c) {
    return c && c->type->kind == ASSAY_TYPE_LIST && c->type->n_sub == 1 ? c->type->sub[0] : NULL;
}
static uint64_t count(const assay_mil_const *c) {
    return c->kind == ASSAY_CONST_ITEMS ? c->n_items : c->kind == ASSAY_CONST_STRINGS ? c->n_strings : 0;
}

static assay_status infer(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n_out,
                          assay_error *err) {
    ASSAY_TRY(assay_op_check_args(op, err));
    const assay_mil_const *classes = assay_op_const(op, "classes");
    const assay_mil_type *label = labels(classes);
    assay_shape x;
    if (n_out != 2) return assay_op_fail(err, op, "has two results: the class and the probabilities");
    if (!label || !(label->dtype == ASSAY_MIL_STRING || label->dtype == ASSAY_MIL_INT64))
        return assay_op_fail(err, op, "classes must be a list of strings or int64");
    int64_t n = assay_arg_shape(op, "probabilities", 0, &x) ? assay_shape_count(&x) : -1;
    if (n >= 0 && count(classes) && (uint64_t)n != count(classes))
        return assay_op_fail(err, op, "%lld probabilities for %llu classes", (long long)n, (unsigned long long)count(classes));
    assay_mil_type *dict = assay_arena_alloc(p->arena, sizeof *dict);
    *dict = (assay_mil_type){.kind = ASSAY_TYPE_DICT, .n_sub = 2, .sub = assay_arena_alloc(p->arena, 2 * sizeof *dict->sub)};
    dict->sub[0] = label;
    dict->sub[1] = assay_type_tensor(p, ASSAY_MIL_FP64, 0, NULL);
    out[0] = label;
    out[1] = dict;
    return ASSAY_OK;
}
static uint32_t two(const assay_mil_op *op) {
    (void)op;
    return 2;
}

static assay_status eval(assay_eval *ev, assay_error *err) {
    const assay_tensor *x = assay_eval_in(ev, "probabilities");
    const assay_mil_const *classes = assay_op_const(ev->op, "classes");
    if (!x || !classes) return assay_op_fail(err, ev->op, "probabilities or classes have no value");
    int64_t n = assay_tensor_count(x), best = 0;
    assay_own_tensor label, values;
    ASSAY_TRY(assay_tensor_new(ASSAY_F64, 1, &n, &values, err));
    double *v = values.t.data;
    assay_tensor_read(x, ASSAY_F64, v);
    for (int64_t i = 1; i < n; i++)
        if (v[i] > v[best]) best = i; /* the first of equals, as argmax has it */
    assay_slot_own(ev->pool, &ev->outs[1], &values);
    ASSAY_TRY(assay_tensor_new(ASSAY_I64, 0, NULL, &label, err));
    double number = (double)best;
    if (classes->kind == ASSAY_CONST_ITEMS && (uint64_t)best < classes->n_items)
        assay_const_scalar(classes->items[best], &number);
    *(int64_t *)label.t.data = (int64_t)number;
    assay_slot_own(ev->pool, &ev->outs[0], &label);
    return ASSAY_OK;
}

static const assay_op_param params[] = {
    {"probabilities", "fp", NULL, ASSAY_ARG_REQUIRED, "one for each class"},
    {"classes", "any", NULL, ASSAY_ARG_REQUIRED | ASSAY_ARG_CONST, "list of strings or int64"},
    ASSAY_END};
static const assay_op_def def_classify = {
    "classify", "the class of the largest probability, and all of them", "CoreML5", 0, params, infer, two, eval};
static const assay_op_def *const defs[] = {&def_classify, NULL};
const assay_op_family assay_ops_classify = {defs};
