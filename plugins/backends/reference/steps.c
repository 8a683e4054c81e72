/* The steps of a block: planned once, run in order; values are dropped after their last use. */
#include "backends/reference/exec_plan.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- planning: when is a value no longer needed? */
typedef struct use_map {
    uint32_t *last;
    const uint8_t *own;
    uint32_t step;
} use_map; /* last: step + 1; 0 = not used */
enum { NEVER = UINT32_MAX };

static void note_use(use_map *m, const assay_mil_value *v) {
    if (v && m->own[v->id] && m->last[v->id] != NEVER) m->last[v->id] = m->step + 1;
}

static void note_op(use_map *m, const assay_mil_op *op) {
    for (uint32_t a = 0; a < op->n_args; a++)
        for (uint32_t i = 0; i < op->args[a].n; i++) note_use(m, op->args[a].items[i].value);
    for (uint32_t b = 0; b < op->n_blocks; b++) {
        for (uint32_t k = 0; k < op->blocks[b]->n_ops; k++) note_op(m, op->blocks[b]->ops[k]);
        for (uint32_t k = 0; k < op->blocks[b]->n_outputs; k++) note_use(m, op->blocks[b]->outputs[k]);
    }
}

static void plan_release(assay_exec *e, const assay_exec_block *x) {
    uint32_t n_values = e->f->n_values;
    uint8_t *own = assay_xcalloc(n_values + 1u, 1);
    use_map m = {assay_xcalloc(n_values + 1u, sizeof(uint32_t)), own, 0};
    for (uint32_t i = 0; i < x->block->n_inputs; i++) own[x->block->inputs[i]->id] = 1;
    for (uint32_t s = 0; s < x->n; s++)
        for (uint32_t k = 0; k < x->steps[s].op->n_outs; k++) own[x->steps[s].op->outs[k]->id] = 1;
    for (uint32_t s = 0; s < x->n; s++) {
        m.step = s;
        for (uint32_t k = 0; k < x->steps[s].op->n_outs; k++) note_use(&m, x->steps[s].op->outs[k]);
        note_op(&m, x->steps[s].op);
    }
    for (uint32_t i = 0; i < x->block->n_outputs; i++) m.last[x->block->outputs[i]->id] = NEVER;
    for (int fill = 0; fill < 2; fill++) { /* count, then list */
        for (uint32_t s = 0; s < x->n && fill; s++) {
            x->steps[s].release = assay_arena_alloc(e->arena, (x->steps[s].n_release + 1u) * sizeof(uint32_t));
            x->steps[s].n_release = 0;
        }
        for (uint32_t v = 0; v < n_values; v++) {
            if (m.last[v] == 0 || m.last[v] == NEVER) continue;
            assay_exec_step *s = &x->steps[m.last[v] - 1];
            if (fill) s->release[s->n_release] = v;
            s->n_release++;
        }
    }
    free(m.last);
    free(own);
}

/* ---- planning: is everything about the op known before the run? */
static bool type_known(const assay_mil_type *t) {
    if (t && t->kind == ASSAY_TYPE_LIST && t->n_sub == 1) return type_known(t->sub[0]);
    if (!t || t->kind != ASSAY_TYPE_TENSOR) return true;
    for (uint32_t i = 0; i < t->rank; i++)
        if (t->dims[i] < 0) return false;
    return true;
}

/* Such a value may be a parameter: it is handed to the type rule as a constant once it is known. */
enum { PARAMETER_MAX = 64 };
static bool may_be_parameter(const assay_mil_type *t) {
    if (!t || t->kind != ASSAY_TYPE_TENSOR || t->rank > 1) return false;
    bool real = t->dtype == ASSAY_MIL_FP16 || t->dtype == ASSAY_MIL_FP32;
    return t->rank == 0 || (!real && (t->dims[0] < 0 || t->dims[0] <= PARAMETER_MAX));
}

static bool is_fixed(const assay_mil_op *op) {
    for (uint32_t a = 0; a < op->n_args; a++)
        for (uint32_t i = 0; i < op->args[a].n; i++) {
            const assay_mil_value *v = op->args[a].items[i].value;
            if (!v) continue;
            if (!type_known(v->type) || (may_be_parameter(v->type) && !assay_value_const(v))) return false;
        }
    for (uint32_t k = 0; k < op->n_outs; k++)
        if (!type_known(op->outs[k]->type)) return false;
    return true;
}

static bool same_type(const assay_mil_type *a, const assay_mil_type *b) {
    if (!a || !b || a->kind != b->kind) return false;
    if (a->kind != ASSAY_TYPE_TENSOR) return true;
    if (a->dtype != b->dtype || a->rank != b->rank) return false;
    for (uint32_t i = 0; i < a->rank; i++)
        if (!assay_dims_agree(a->dims[i], b->dims[i])) return false;
    return true;
}

static const char *type_text(const assay_mil_type *t, char out[200]) {
    char shape[160];
    if (!t || t->kind != ASSAY_TYPE_TENSOR) return "not a tensor";
    assay_shape s = {t->rank, {0}};
    memcpy(s.d, t->dims, sizeof s.d);
    const char *name = assay_mil_dtype_name(t->dtype);
    snprintf(out, 200, "%s%s", name ? name : "?", assay_shape_print(&s, shape));
    return out;
}

static assay_status infer_step(assay_program *types, const assay_exec_step *s, const assay_mil_op *op, assay_error *err) {
    ASSAY_TRY(s->def->infer(types, op, s->types, op->n_outs, err));
    for (uint32_t k = 0; k < op->n_outs; k++) {
        char a[200], b[200];
        if (!same_type(s->types[k], op->outs[k]->type))
            return assay_op_fail(err, op, "output '%s' is declared %s, but the op gives %s", op->outs[k]->name,
                                 type_text(op->outs[k]->type, a), type_text(s->types[k], b));
    }
    return ASSAY_OK;
}

/* "file.lua:12: linear 'q': ..." */
static assay_status place(const assay_mil_op *op, assay_error *err) {
    const char *name = op->n_outs ? op->outs[0]->name : "";
    return op->where ? assay_wrap(err, "%s: %s '%s'", op->where, op->type, name) : assay_wrap(err, "%s '%s'", op->type, name);
}

static assay_status find_def(assay_exec_step *s, assay_error *err) {
    char hint[96];
    s->def = assay_optable_find(s->op->type);
    if (!s->def) return assay_fail(err, ASSAY_E_UNSUPPORTED, "unknown op%s", assay_optable_suggest(hint, s->op->type));
    if (!s->def->eval)
        return assay_fail(err, ASSAY_E_UNSUPPORTED,
                          "the reference executor has no kernel for this op (it would stand in plugins/ops/op_*.c)");
    return ASSAY_OK;
}

static assay_status prepare(assay_exec *e, assay_exec_step *s, assay_error *err) {
    const assay_mil_op *op = s->op;
    ASSAY_TRY(find_def(s, err));
    s->types = assay_arena_alloc(e->arena, (op->n_outs + 1u) * sizeof *s->types);
    s->outs = assay_arena_alloc(e->arena, (op->n_outs + 1u) * sizeof *s->outs);
    s->held = assay_arena_alloc(e->arena, (op->n_outs + 1u) * sizeof *s->held);
    for (uint32_t k = 0; k < op->n_outs; k++) s->held[k] = assay_exec_held(e, op->outs[k]);
    s->fixed = is_fixed(op);
    if (s->fixed) ASSAY_TRY(infer_step(e->types, s, op, err));
    s->blocks = assay_arena_alloc(e->arena, (op->n_blocks + 1u) * sizeof *s->blocks);
    for (uint32_t b = 0; b < op->n_blocks; b++) ASSAY_TRY(assay_exec_plan_block(e, op->blocks[b], &s->blocks[b], err));
    return ASSAY_OK;
}

static assay_status plan_step(assay_exec *e, assay_exec_step *s, assay_error *err) {
    return prepare(e, s, err) == ASSAY_OK ? ASSAY_OK : place(s->op, err);
}

/* Constants, plain and compressed, become steps just before their first user, wherever they stand in the program: so few decoded
 * weights are held at a time. */
typedef struct planner {
    assay_exec *e;
    const assay_mil_block *b;
    assay_exec_block *x;
    uint32_t *waiting; /* by value id: place + 1 of the constant op of this block that makes it and is not yet a step */
} planner;

static bool is_constant(const assay_mil_op *op) {
    const assay_op_def *d = assay_optable_find(op->type);
    return d && op->n_blocks == 0 && ((d->flags & ASSAY_OP_CONSTEXPR) || strcmp(op->type, "const") == 0);
}

static assay_status plan_op(planner *p, const assay_mil_op *op, assay_error *err);

static assay_status plan_value(planner *p, const assay_mil_value *v, assay_error *err) {
    uint32_t at = v ? p->waiting[v->id] : 0;
    if (!at) return ASSAY_OK;
    const assay_mil_op *op = p->b->ops[at - 1];
    for (uint32_t k = 0; k < op->n_outs; k++) p->waiting[op->outs[k]->id] = 0;
    return plan_op(p, op, err);
}

/* What the op reads, nested blocks included. */
static assay_status plan_uses(planner *p, const assay_mil_op *op, assay_error *err) {
    for (uint32_t a = 0; a < op->n_args; a++)
        for (uint32_t i = 0; i < op->args[a].n; i++) ASSAY_TRY(plan_value(p, op->args[a].items[i].value, err));
    for (uint32_t n = 0; n < op->n_blocks; n++) {
        for (uint32_t k = 0; k < op->blocks[n]->n_ops; k++) ASSAY_TRY(plan_uses(p, op->blocks[n]->ops[k], err));
        for (uint32_t k = 0; k < op->blocks[n]->n_outputs; k++) ASSAY_TRY(plan_value(p, op->blocks[n]->outputs[k], err));
    }
    return ASSAY_OK;
}

static assay_status plan_op(planner *p, const assay_mil_op *op, assay_error *err) {
    ASSAY_TRY(plan_uses(p, op, err));
    assay_exec_step *s = &p->x->steps[p->x->n++];
    s->op = op;
    return plan_step(p->e, s, err);
}

static assay_status plan_all(planner *p, assay_error *err) {
    const assay_mil_block *b = p->b;
    for (uint32_t i = 0; i < b->n_ops; i++)
        for (uint32_t k = 0; b->ops[i]->reachable && is_constant(b->ops[i]) && k < b->ops[i]->n_outs; k++)
            p->waiting[b->ops[i]->outs[k]->id] = i + 1;
    for (uint32_t i = 0; i < b->n_ops; i++)
        if (b->ops[i]->reachable && !is_constant(b->ops[i])) ASSAY_TRY(plan_op(p, b->ops[i], err));
    for (uint32_t i = 0; i < b->n_outputs; i++) ASSAY_TRY(plan_value(p, b->outputs[i], err));
    return ASSAY_OK;
}

assay_status assay_exec_plan_block(assay_exec *e, const assay_mil_block *b, assay_exec_block **out, assay_error *err) {
    assay_exec_block *x = assay_arena_alloc(e->arena, sizeof *x);
    planner p = {e, b, x, assay_xcalloc(e->f->n_values + 1u, sizeof(uint32_t))};
    x->block = b;
    x->steps = assay_arena_alloc(e->arena, (b->n_ops + 1u) * sizeof *x->steps);
    assay_status st = plan_all(&p, err);
    free(p.waiting);
    if (st != ASSAY_OK) return st;
    plan_release(e, x);
    *out = x;
    return ASSAY_OK;
}

/* ---- running */
/* A list's type with the sizes of the elements it holds (ops/op_list.c); as declared while it is empty. */
static const assay_mil_type *bound_list(assay_program *p, const assay_mil_type *t, const assay_tensor *held) {
    const assay_mil_type *e = t->n_sub == 1 ? t->sub[0] : NULL;
    if (!e || e->kind != ASSAY_TYPE_TENSOR || held->rank != e->rank + 1 || assay_tensor_count(held) == 0) return t;
    assay_mil_type *c = assay_arena_copy(p->arena, t, sizeof *t);
    c->sub = assay_arena_alloc(p->arena, sizeof *c->sub);
    c->sub[0] = assay_type_tensor(p, e->dtype, e->rank, held->shape + 1);
    return c;
}

/* A copy of `v` whose type has the sizes at hand and which reads as a constant when it may be a parameter. */
static assay_mil_value *bind_value(assay_exec *e, const assay_mil_value *v) {
    assay_program *p = e->run_types;
    const assay_slot *s = &e->slots[v->id];
    assay_mil_value *c = assay_arena_copy(p->arena, v, sizeof *v);
    if (s->t.dtype && v->type && v->type->kind == ASSAY_TYPE_LIST) c->type = bound_list(p, v->type, &s->t);
    if (assay_value_const(v) || !s->t.dtype || !v->type || v->type->kind != ASSAY_TYPE_TENSOR) return c;
    c->type = assay_type_tensor(p, v->type->dtype, s->t.rank, s->t.shape);
    if (!may_be_parameter(c->type)) return c;
    assay_mil_op *fake = assay_arena_alloc(p->arena, sizeof *fake);
    assay_mil_attr *val = assay_arena_alloc(p->arena, sizeof *val);
    *val = (assay_mil_attr){"val", assay_const_tensor(p, &s->t)};
    *fake = (assay_mil_op){.type = "const", .attrs = val, .n_attrs = 1};
    c->producer = fake;
    return c;
}

static assay_mil_op *bind_op(assay_exec *e, const assay_mil_op *op) {
    assay_arena *a = e->run_types->arena;
    assay_mil_op *c = assay_arena_copy(a, op, sizeof *op);
    c->args = assay_arena_copy(a, op->args, op->n_args * sizeof *op->args);
    for (uint32_t i = 0; i < op->n_args; i++) {
        assay_mil_binding *items = assay_arena_copy(a, op->args[i].items, op->args[i].n * sizeof *items);
        for (uint32_t k = 0; k < op->args[i].n; k++)
            if (items[k].value) items[k].value = bind_value(e, items[k].value);
        c->args[i].items = items;
    }
    return c;
}

static assay_status settle_types(assay_exec *e, const assay_exec_step *s, const assay_mil_op **op, assay_error *err) {
    *op = s->op;
    if (s->fixed) return ASSAY_OK;
    if (!e->run_types) e->run_types = assay_program_new(e->p->spec_version);
    *op = bind_op(e, s->op);
    ASSAY_TRY(infer_step(e->run_types, s, *op, err));
    for (uint32_t k = 0; k < s->op->n_outs && !(s->def->flags & ASSAY_OP_CONTROL); k++)
        if (s->types[k]->kind == ASSAY_TYPE_TENSOR && !type_known(s->types[k]))
            return assay_op_fail(err, s->op, "the size of its output is not known when it runs");
    return ASSAY_OK;
}

/* Later steps rely on the declared sizes; control ops take theirs from their blocks at run time. */
static assay_status check_result(const assay_mil_op *op, uint32_t k, const assay_tensor *t, assay_error *err) {
    const assay_mil_type *want = op->outs[k]->type;
    if (!t->dtype || !want || want->kind != ASSAY_TYPE_TENSOR) return ASSAY_OK;
    bool fits = want->rank == t->rank;
    for (uint32_t i = 0; fits && i < t->rank; i++) fits = assay_dims_agree(want->dims[i], t->shape[i]);
    char text[160];
    return fits ? ASSAY_OK
                : assay_op_fail(err, op, "output '%s' came out as %s", op->outs[k]->name,
                                assay_shape_text(t->rank, t->shape, text));
}

typedef struct nested {
    assay_exec *e;
    const assay_exec_step *s;
} nested;

static assay_status run_nested(void *ctx, uint32_t i, assay_error *err) {
    const nested *n = ctx;
    return assay_exec_run_block(n->e, n->s->blocks[i], err);
}

/* Constants that stand in the op itself must be there; those of const ops are asked for by the const. */
static assay_status check_literals(const assay_mil_op *op, assay_error *err) {
    for (uint32_t i = 0; i < op->n_attrs; i++)
        if (op->attrs[i].value->absent) return assay_const_ready(op->attrs[i].value, err);
    for (uint32_t i = 0; i < op->n_args; i++)
        for (uint32_t k = 0; k < op->args[i].n; k++) {
            const assay_mil_const *c = op->args[i].items[k].literal;
            if (c && c->absent) return assay_const_ready(c, err);
        }
    return ASSAY_OK;
}

/* Each result is checked, put where later steps find it, and shown. */
static assay_status hand_over(assay_exec *e, const assay_exec_step *s, assay_status st, assay_error *err) {
    for (uint32_t k = 0; k < s->op->n_outs; k++) {
        const assay_mil_value *v = s->op->outs[k];
        if (st == ASSAY_OK) st = check_result(s->op, k, &s->outs[k].t, err);
        assay_slot_clear(&e->slots[v->id]);
        e->slots[v->id] = s->outs[k];
        memset(&s->outs[k], 0, sizeof s->outs[k]);
        if (st == ASSAY_OK && e->o.observe && e->slots[v->id].t.dtype) e->o.observe(e->o.observe_ctx, s->op, v, &e->slots[v->id].t);
    }
    return st;
}

static assay_status run_step(assay_exec *e, const assay_exec_step *s, assay_error *err) {
    nested inner = {e, s};
    const assay_mil_op *op;
    ASSAY_TRY(check_literals(s->op, err));
    ASSAY_TRY(settle_types(e, s, &op, err));
    assay_scratch scratch = {0};
    assay_eval ev = {.op = op,
                     .k = e->k,
                     .threads = e->o.threads,
                     .n_out = op->n_outs,
                     .out_types = s->types,
                     .out_dtypes = s->held,
                     .slots = e->slots,
                     .outs = s->outs,
                     .scratch = &scratch,
                     .pool = e->pool,
                     .run_block = run_nested,
                     .run_ctx = &inner};
    if (err) err->code = ASSAY_OK;
    bool around = e->o.around && strcmp(op->type, "const") != 0 && !(s->def->flags & (ASSAY_OP_CONSTEXPR | ASSAY_OP_CONTROL));
    assay_status st = around ? e->o.around(e->o.around_ctx, &ev, s->def->eval, err) : s->def->eval(&ev, err);
    if (st != ASSAY_OK && err && err->code == ASSAY_OK) /* a failure without words would pass for success in assay_wrap */
        assay_fail(err, st, "out of memory, or an argument without a value");
    st = hand_over(e, s, st, err);
    assay_scratch_free(&scratch);
    return st;
}

assay_status assay_exec_run_block(assay_exec *e, const assay_exec_block *b, assay_error *err) {
    for (uint32_t i = 0; i < b->n; i++) {
        if (run_step(e, &b->steps[i], err) != ASSAY_OK) return place(b->steps[i].op, err);
        for (uint32_t k = 0; k < b->steps[i].n_release; k++) assay_slot_clear(&e->slots[b->steps[i].release[k]]);
    }
    return ASSAY_OK;
}
