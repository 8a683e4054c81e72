/* How each value is held: the precision of the run and the ancestors of its cut. */
#include "backends/reference/exec_plan.h"
#include "base/names.h"
#include <string.h>

static bool is_float(int32_t mil) {
    return mil == ASSAY_MIL_FP16 || mil == ASSAY_MIL_FP32 || mil == ASSAY_MIL_FP64 || mil == ASSAY_MIL_BF16;
}

/* Sub-byte integers are unpacked to one byte an element. */
static int32_t plain_dtype(int32_t mil) {
    switch (mil) {
    case ASSAY_MIL_INT4: return ASSAY_I8;
    case ASSAY_MIL_UINT1: case ASSAY_MIL_UINT2: case ASSAY_MIL_UINT3: case ASSAY_MIL_UINT4: case ASSAY_MIL_UINT6: return ASSAY_U8;
    default: return assay_mil_to_dtype(mil);
    }
}

int32_t assay_exec_held(const assay_exec *e, const assay_mil_value *v) {
    const assay_mil_type *t = v->type;
    if (t && (t->kind == ASSAY_TYPE_STATE || t->kind == ASSAY_TYPE_LIST) && t->n_sub == 1) t = t->sub[0];
    if (!t || t->kind != ASSAY_TYPE_TENSOR) return 0;
    if (!is_float(t->dtype)) return plain_dtype(t->dtype);
    if (e->declared) return e->declared[v->id] ? plain_dtype(t->dtype) : ASSAY_F64;
    switch (e->o.precision) {
    case ASSAY_PREC_FP16: return ASSAY_F16;
    case ASSAY_PREC_FP32: return ASSAY_F32;
    case ASSAY_PREC_FP64: return ASSAY_F64;
    default: return plain_dtype(t->dtype);
    }
}

/* Calls fn for every value that the op reads, nested blocks included. */
static void each_use(const assay_mil_op *op, void (*fn)(void *, const assay_mil_value *), void *ctx) {
    for (uint32_t a = 0; a < op->n_args; a++)
        for (uint32_t i = 0; i < op->args[a].n; i++)
            if (op->args[a].items[i].value) fn(ctx, op->args[a].items[i].value);
    for (uint32_t b = 0; b < op->n_blocks; b++) {
        for (uint32_t k = 0; k < op->blocks[b]->n_ops; k++) each_use(op->blocks[b]->ops[k], fn, ctx);
        for (uint32_t k = 0; k < op->blocks[b]->n_outputs; k++) fn(ctx, op->blocks[b]->outputs[k]);
    }
}

static void mark(void *ctx, const assay_mil_value *v) { ((uint8_t *)ctx)[v->id] = 1; }

static const assay_mil_value *find_value(const assay_mil_function *f, const char *name) {
    for (uint32_t i = 0; i < f->n_inputs; i++)
        if (strcmp(f->inputs[i]->name, name) == 0) return f->inputs[i];
    for (uint32_t i = 0; i < f->block->n_ops; i++)
        for (uint32_t k = 0; k < f->block->ops[i]->n_outs; k++)
            if (strcmp(f->block->ops[i]->outs[k]->name, name) == 0) return f->block->ops[i]->outs[k];
    return NULL;
}

static assay_status no_such_value(const assay_exec *e, const char *name, assay_error *err) {
    assay_ptrs names = { 0 };
    for (uint32_t i = 0; i < e->f->block->n_ops; i++)
        for (uint32_t k = 0; k < e->f->block->ops[i]->n_outs; k++)
            assay_ptrs_push(&names, (void *)(uintptr_t)e->f->block->ops[i]->outs[k]->name);
    char hint[96];
    assay_did_you_mean(hint, name, (const char *const *)names.items, names.len);
    assay_ptrs_free(&names);
    return assay_fail(err, ASSAY_E_INPUT, "cut: function '%s' has no value '%s'%s", e->f->name, name, hint);
}

assay_status assay_exec_mark_cut(assay_exec *e, assay_error *err) {
    if (e->o.n_cut == 0) return ASSAY_OK;
    e->declared = assay_arena_alloc(e->arena, e->f->n_values + 1u);
    for (uint32_t i = 0; i < e->o.n_cut; i++) {
        const assay_mil_value *v = find_value(e->f, e->o.cut[i]);
        if (!v) return no_such_value(e, e->o.cut[i], err);
        e->declared[v->id] = 1;
    }
    for (uint32_t i = e->f->block->n_ops; i-- > 0;) {                   /* topological order: one pass backwards */
        const assay_mil_op *op = e->f->block->ops[i];
        bool wanted = false;
        for (uint32_t k = 0; k < op->n_outs; k++) wanted |= e->declared[op->outs[k]->id] != 0;
        if (wanted) each_use(op, mark, e->declared);
    }
    return ASSAY_OK;
}
