/* Building, changing and asking: names, types, errors with the script's line, rewrites, clones, queries, structural digest. */
#include "program/iface.h"
#include "program/optable.h"
#include "unit/suite.h"
#include <math.h>

/* ---- a few ops of our own, so that this file stands alone */
static assay_status as_x(assay_program *p, const assay_mil_op *op, const assay_mil_type **out, uint32_t n, assay_error *err) {
    const assay_mil_value *x = assay_op_in(op, "x"), *y = assay_op_in(op, "y");
    (void)p;
    if (y && !assay_type_equal(x->type, y->type)) return assay_fail(err, ASSAY_E_TYPE, "x and y differ");
    for (uint32_t i = 0; i < n; i++) out[i] = x->type;
    return ASSAY_OK;
}

static uint32_t outputs(const assay_mil_op *op) {
    double n = 1;
    assay_const_scalar(assay_op_const(op, "count"), &n);
    return (uint32_t)n;
}

static const assay_op_param xy[] = { { "x", "any", NULL, ASSAY_ARG_REQUIRED, "" }, { "y", "any", NULL, 0, "" }, { NULL, NULL, NULL, 0, NULL } };
static const assay_op_param fan_params[] = { { "x", "any", NULL, ASSAY_ARG_REQUIRED, "" }, { "count", "int", NULL, ASSAY_ARG_REQUIRED | ASSAY_ARG_CONST, "" }, { NULL, NULL, NULL, 0, NULL } };
static const assay_op_param many_params[] = { { "values", "any", NULL, ASSAY_ARG_REQUIRED | ASSAY_ARG_VARIADIC, "" }, { "x", "any", NULL, ASSAY_ARG_REQUIRED, "" }, { NULL, NULL, NULL, 0, NULL } };
static const assay_op_def plus_op = { .type = "test_plus", .summary = "", .opset_min = "CoreML5", .params = xy, .infer = as_x };
static const assay_op_def late_op = { .type = "test_late", .summary = "", .opset_min = "CoreML8", .params = xy, .infer = as_x };
static const assay_op_def turn_op = { .type = "test_turn", .summary = "", .opset_min = "CoreML5", .flags = ASSAY_OP_LAYOUT, .params = xy, .infer = as_x };
static const assay_op_def fan_op = { .type = "test_fan", .summary = "", .opset_min = "CoreML5", .params = fan_params, .infer = as_x, .count_outputs = outputs };
static const assay_op_def many_op = { .type = "test_many", .summary = "", .opset_min = "CoreML5", .params = many_params, .infer = as_x };
static const assay_op_def dense_op = { .type = "test_dense", .summary = "", .opset_min = "CoreML6", .flags = ASSAY_OP_CONSTEXPR, .params = fan_params, .infer = as_x };
static const assay_op_def *const test_ops[] = { &plus_op, &late_op, &turn_op, &fan_op, &many_op, &dense_op, NULL };

typedef struct bench { assay_program *p; assay_mil_function *f; assay_mil_value *x; assay_error err; } bench;

static bench start(const char *opset) {
    static bool registered;
    if (!registered) assay_optable_add(test_ops);
    registered = true;
    bench b = { .p = assay_program_new(9) };
    b.f = assay_program_add_function(b.p, "main", opset);
    const int64_t dims[] = { 2, 8 };
    b.x = assay_function_add_input(b.p, b.f, "x", assay_type_tensor(b.p, ASSAY_MIL_FP16, 2, dims));
    return b;
}

static assay_mil_value *add(bench *b, const char *type, const char *name, assay_mil_value *x, assay_mil_value *y) {
    assay_mil_binding bx = { .value = x }, by = { .value = y };
    assay_build_arg args[] = { { "x", &bx, 1 }, { "y", &by, 1 } };
    assay_mil_op *op;
    if (assay_block_add_op(b->p, b->f, b->f->block, NULL, type, name, "exp.lua:7", args, y ? 2 : 1, &op, &b->err)) return NULL;
    return op->outs[0];
}

static const assay_mil_const *fp16_scalar(assay_program *p, double v) {
    uint16_t h = assay_f64_to_f16(v);
    assay_tensor t = assay_tensor_view(ASSAY_F16, 0, NULL, &h);
    return assay_const_tensor(p, &t);
}

static void finish(bench *b, assay_mil_value *out) { CU_ASSERT_EQUAL_FATAL(assay_function_set_outputs(b->p, b->f, &out, 1, &b->err), ASSAY_OK); }

static bool says(const bench *b, const char *text) {
    if (!strstr(b->err.message, text)) printf("\n    '%s' ", b->err.message);
    return strstr(b->err.message, text) != NULL;
}

/* ---- building */
static void names_are_made_unique_and_legal(void) {
    bench b = start("iOS18");
    CU_ASSERT_STRING_EQUAL(add(&b, "test_plus", "y", b.x, b.x)->name, "y");
    CU_ASSERT_STRING_EQUAL(add(&b, "test_plus", "y", b.x, b.x)->name, "y_1");
    CU_ASSERT_STRING_EQUAL(add(&b, "test_plus", "y", b.x, b.x)->name, "y_2");
    CU_ASSERT_STRING_EQUAL(add(&b, "test_plus", "3rd value", b.x, b.x)->name, "_3rd_value");
    CU_ASSERT_STRING_EQUAL(add(&b, "test_plus", NULL, b.x, b.x)->name, "test_plus");
    CU_ASSERT_STRING_EQUAL(b.f->opset, "CoreML8");
    CU_ASSERT_EQUAL(assay_program_validate(b.p, 2, &b.err), ASSAY_OK);
    assay_program_free(b.p);
}

static void errors_name_the_line_and_the_way_out(void) {
    bench b = start("iOS17");
    CU_ASSERT_PTR_NULL(add(&b, "test_pluss", "y", b.x, NULL));
    CU_ASSERT(says(&b, "exp.lua:7: there is no op 'test_pluss' (did you mean 'test_plus'?)"));
    CU_ASSERT_PTR_NULL(add(&b, "test_late", "y", b.x, NULL));
    CU_ASSERT(says(&b, "needs opset CoreML8 (iOS18)"));
    CU_ASSERT_PTR_NULL(add(&b, "test_fan", "y", b.x, NULL));
    CU_ASSERT(says(&b, "test_fan needs 'count'"));
    const int64_t other[] = { 3 };
    assay_mil_value *z = assay_function_add_input(b.p, b.f, "z", assay_type_tensor(b.p, ASSAY_MIL_FP16, 1, other));
    CU_ASSERT_PTR_NULL(add(&b, "test_plus", "y", b.x, z));
    CU_ASSERT(says(&b, "exp.lua:7: test_plus: x and y differ"));
    assay_mil_binding in = { .value = b.x };
    assay_build_arg args[] = { { "xx", &in, 1 } };
    assay_mil_op *op;
    CU_ASSERT_NOT_EQUAL(assay_block_add_op(b.p, b.f, b.f->block, NULL, "test_plus", "y", NULL, args, 1, &op, &b.err), ASSAY_OK);
    CU_ASSERT(says(&b, "has no parameter 'xx' (did you mean 'x'?)"));
    CU_ASSERT_EQUAL(b.f->block->n_ops, 0);
    assay_program_free(b.p);
}

static void literals_become_consts_and_outputs_are_counted(void) {
    bench b = start("iOS18");
    int32_t three = 3;
    assay_tensor t = assay_tensor_view(ASSAY_I32, 0, NULL, &three);
    assay_mil_binding in = { .value = b.x }, n = { .literal = assay_const_tensor(b.p, &t) };
    assay_build_arg args[] = { { "x", &in, 1 }, { "count", &n, 1 } };
    assay_mil_op *op;
    CU_ASSERT_EQUAL_FATAL(assay_block_add_op(b.p, b.f, b.f->block, NULL, "test_fan", "f", NULL, args, 2, &op, &b.err), ASSAY_OK);
    CU_ASSERT_EQUAL(op->n_outs, 3);
    CU_ASSERT_STRING_EQUAL(op->outs[2]->name, "f_2");
    CU_ASSERT_EQUAL(b.f->block->n_ops, 2);
    CU_ASSERT_STRING_EQUAL(b.f->block->ops[0]->type, "const");
    double v = 0;
    CU_ASSERT(assay_const_scalar(assay_op_const(op, "count"), &v) && v == 3);
    CU_ASSERT_EQUAL_FATAL(assay_block_add_op(b.p, b.f, b.f->block, NULL, "test_dense", "d", NULL, args, 2, &op, &b.err), ASSAY_OK);
    CU_ASSERT_PTR_NOT_NULL(assay_op_arg(op, "count")->items[0].literal);     /* from CoreML8 constexpr parameters stay values */
    assay_program_free(b.p);
    b = start("iOS16");
    n.literal = assay_const_tensor(b.p, &t);
    in.value = b.x;
    CU_ASSERT_EQUAL_FATAL(assay_block_add_op(b.p, b.f, b.f->block, NULL, "test_dense", "d", NULL, args, 2, &op, &b.err), ASSAY_OK);
    CU_ASSERT_PTR_NOT_NULL(assay_op_attr(op, "count"));                      /* before, they are attributes */
    assay_program_free(b.p);
}

static void features_follow_the_function(void) {
    bench b = start("iOS18");
    finish(&b, add(&b, "test_plus", "y", b.x, b.x));
    CU_ASSERT_EQUAL_FATAL(b.p->n_signatures, 1);
    const assay_signature *s = &b.p->signatures[0];
    CU_ASSERT(s->n_inputs == 1 && s->n_outputs == 1 && s->n_states == 0);
    CU_ASSERT(s->inputs[0].dtype == ASSAY_F16 && s->inputs[0].rank == 2 && s->inputs[0].shape[1] == 8);
    CU_ASSERT_STRING_EQUAL(s->outputs[0].name, "y");
    assay_program_free(b.p);
}

/* ---- changing */
static void replace_keeps_the_new_values_own_sources(void) {
    bench b = start("iOS18");
    assay_mil_value *a = add(&b, "test_plus", "a", b.x, b.x), *last = add(&b, "test_plus", "last", a, a);
    finish(&b, last);
    assay_mil_value *dead = add(&b, "test_turn", "dead", a, NULL);           /* made after its future users */
    CU_ASSERT_EQUAL(assay_value_replace(b.p, b.f, a, dead, &b.err), ASSAY_OK);
    CU_ASSERT_PTR_EQUAL(assay_op_in(last->producer, "x"), dead);
    CU_ASSERT_PTR_EQUAL(assay_op_in(last->producer, "y"), dead);
    CU_ASSERT_PTR_EQUAL(assay_op_in(dead->producer, "x"), a);                /* no cycle */
    CU_ASSERT_EQUAL(assay_program_validate(b.p, 2, &b.err), ASSAY_OK);       /* and in order again */
    CU_ASSERT_EQUAL(assay_value_replace(b.p, b.f, last, dead, &b.err), ASSAY_OK);
    CU_ASSERT_PTR_EQUAL(b.f->block->outputs[0], dead);                       /* outputs are uses too */
    CU_ASSERT_FALSE(last->producer->reachable);
    assay_program_free(b.p);
}

static void replace_refuses_another_type(void) {
    bench b = start("iOS18");
    const int64_t other[] = { 3 };
    assay_mil_value *z = assay_function_add_input(b.p, b.f, "z", assay_type_tensor(b.p, ASSAY_MIL_FP16, 1, other));
    finish(&b, add(&b, "test_plus", "y", b.x, b.x));
    CU_ASSERT_NOT_EQUAL(assay_value_replace(b.p, b.f, b.x, z, &b.err), ASSAY_OK);
    CU_ASSERT(says(&b, "the types differ"));
    assay_program_free(b.p);
}

static void dead_ops_go_and_their_names_with_them(void) {
    bench b = start("iOS18");
    add(&b, "test_plus", "unused", b.x, b.x);
    finish(&b, add(&b, "test_plus", "y", b.x, b.x));
    CU_ASSERT_FALSE(b.f->block->ops[0]->reachable);
    CU_ASSERT_EQUAL(b.f->n_all_ops, 2);
    assay_program_remove_dead(b.p, b.f);
    CU_ASSERT_EQUAL(b.f->n_all_ops, 1);
    CU_ASSERT_STRING_EQUAL(add(&b, "test_plus", "unused", b.x, b.x)->name, "unused");
    assay_program_free(b.p);
}

static void a_clone_is_equal_and_apart(void) {
    bench b = start("iOS18");
    assay_mil_value *y = add(&b, "test_plus", "y", b.x, b.x);
    finish(&b, y);
    assay_program *q = assay_program_clone(b.p);
    char before[65], after[65], copy[65];
    assay_program_digest(b.p, before);
    assay_program_digest(q, copy);
    CU_ASSERT_STRING_EQUAL(before, copy);
    bench c = { .p = q, .f = assay_program_function(q, NULL) };
    finish(&c, add(&c, "test_turn", "z", c.f->block->outputs[0], NULL));
    assay_program_digest(q, copy);
    assay_program_digest(b.p, after);
    CU_ASSERT_STRING_EQUAL(before, after);
    CU_ASSERT_STRING_NOT_EQUAL(before, copy);
    CU_ASSERT_EQUAL(y->n_users, 0);
    assay_program_free(q);
    assay_program_free(b.p);
}

/* ---- the structural digest: blind to names, not to anything else */
static void digest_of(const char *name, double scale, bool swap, bool extra, char hex[65]) {
    bench b = start("iOS18");
    assay_mil_value *c = assay_block_add_const(b.p, b.f, b.f->block, NULL, name, fp16_scalar(b.p, scale));
    assay_mil_value *t = add(&b, "test_turn", name, b.x, NULL), *u = add(&b, "test_turn", NULL, t, NULL);
    assay_mil_value *y = swap ? add(&b, "test_plus", "y", u, t) : add(&b, "test_plus", "y", t, u);
    if (extra) add(&b, "test_turn", "spare", y, NULL);
    assay_mil_binding in[] = { { .value = y }, { .value = c } }, x = { .value = y };
    assay_build_arg args[] = { { "values", in, 2 }, { "x", &x, 1 } };
    assay_mil_op *op;
    CU_ASSERT_EQUAL_FATAL(assay_block_add_op(b.p, b.f, b.f->block, NULL, "test_many", "m", NULL, args, 2, &op, &b.err), ASSAY_OK);
    finish(&b, op->outs[0]);
    assay_program_digest(b.p, hex);
    assay_program_free(b.p);
}

static void digest_sees_what_matters(void) {
    char base[65], other[65];
    digest_of("a", 0.5, false, false, base);
    digest_of("b", 0.5, false, false, other);
    CU_ASSERT_STRING_EQUAL(base, other);                                     /* names */
    digest_of("a", 0.25, false, false, other);
    CU_ASSERT_STRING_NOT_EQUAL(base, other);                                 /* a constant */
    digest_of("a", 0.5, true, false, other);
    CU_ASSERT_STRING_NOT_EQUAL(base, other);                                 /* data flow */
    digest_of("a", 0.5, false, true, other);
    CU_ASSERT_STRING_NOT_EQUAL(base, other);                                 /* a dead op */
}

/* ---- asking */
static void questions_of_gates_are_answered(void) {
    const assay_program_1 *i = assay_program_iface();
    bench b = start("iOS18");
    assay_mil_value *c = assay_block_add_const(b.p, b.f, b.f->block, NULL, "scale", fp16_scalar(b.p, 0.125));
    assay_mil_value *t = add(&b, "test_turn", "t", b.x, NULL), *u = add(&b, "test_turn", "u", t, NULL);
    assay_mil_binding in[] = { { .value = u }, { .value = c } };
    assay_build_arg args[] = { { "values", in, 2 }, { "x", in, 1 } };
    assay_mil_op *op;
    CU_ASSERT_EQUAL_FATAL(assay_block_add_op(b.p, b.f, b.f->block, NULL, "test_many", "m", NULL, args, 2, &op, &b.err), ASSAY_OK);
    finish(&b, op->outs[0]);
    const assay_p_function *f = i->function(b.p, NULL);
    CU_ASSERT_EQUAL(i->op_count(f), 4);
    const assay_p_op *many = i->op(f, 3);
    CU_ASSERT_STRING_EQUAL(i->op_type(many), "test_many");
    CU_ASSERT_EQUAL(i->op_arg_count(many, "values"), 2);
    CU_ASSERT_PTR_EQUAL(i->skip_layout(i->op_arg(many, "values", 0)), i->input(f, 0));
    CU_ASSERT_EQUAL(i->value_user_count(i->input(f, 0)), 1);
    CU_ASSERT_EQUAL(i->arg_const_count(i->op(f, 0), "val"), 1);
    CU_ASSERT_EQUAL(i->arg_const_at(i->op(f, 0), "val", 0), 0.125);
    CU_ASSERT(isnan(i->arg_const_at(i->op(f, 0), "val", 1)));
    char type[96], hex[65];
    CU_ASSERT_STRING_EQUAL(i->arg_const_type(i->op(f, 0), "val", type), "fp16[]");
    i->arg_const_digest(i->op(f, 0), "val", hex);
    CU_ASSERT_EQUAL(strlen(hex), 64);
    CU_ASSERT_PTR_NULL(i->op(f, 4));
    CU_ASSERT_PTR_NULL(i->function(b.p, "nothing"));
    CU_ASSERT_STRING_EQUAL(i->value_dtype(i->output(f, 0)), "fp16");
    CU_ASSERT(i->value_rank(i->output(f, 0)) == 2 && i->value_dim(i->output(f, 0), 1) == 8 && i->value_dim(i->output(f, 0), 2) == -1);
    assay_program_free(b.p);
}

static void opsets_have_three_names(void) {
    CU_ASSERT_EQUAL(assay_opset_rank("CoreML8"), 8);
    CU_ASSERT_EQUAL(assay_opset_rank("ios18"), 8);
    CU_ASSERT_EQUAL(assay_opset_rank("macOS26"), 9);
    CU_ASSERT_EQUAL(assay_opset_rank("iOS19"), 0);
    CU_ASSERT_STRING_EQUAL(assay_opset_target(5), "iOS15");
    CU_ASSERT_EQUAL(assay_opset_spec_version(9), 10);
}

static void packed_types_are_unpacked(void) {
    assay_program *p = assay_program_new(9);
    const int64_t n = 5;
    static const uint8_t bits3[] = { 0x88, 0x46 };                           /* 0 1 2 3 4 in three bits each */
    static const uint8_t bits4[] = { 0x8f, 0x07, 0x01 };                     /* int4: -1 -8 7 0 1 */
    assay_mil_const c = { .kind = ASSAY_CONST_DATA, .type = assay_type_tensor(p, ASSAY_MIL_UINT3, 1, &n), .data = bits3, .nbytes = 2 };
    assay_own_tensor t;
    CU_ASSERT_EQUAL_FATAL(assay_const_read(&c, &t, NULL), ASSAY_OK);
    CU_ASSERT(t.t.dtype == ASSAY_U8 && !memcmp(t.t.data, "\0\1\2\3\4", 5));
    assay_tensor_free(&t);
    c.type = assay_type_tensor(p, ASSAY_MIL_INT4, 1, &n);
    c.data = bits4;
    c.nbytes = 3;
    static const double want[] = { -1, -8, 7, 0, 1 };
    for (uint64_t i = 0; i < 5; i++) CU_ASSERT_EQUAL(assay_const_at(&c, i), want[i]);
    c.absent = true;
    assay_error err;
    CU_ASSERT_NOT_EQUAL(assay_const_read(&c, &t, &err), ASSAY_OK);           /* absent is an error, not zeros */
    assay_program_free(p);
}

ASSAY_SUITE("building programs", TEST(names_are_made_unique_and_legal), TEST(errors_name_the_line_and_the_way_out),
            TEST(literals_become_consts_and_outputs_are_counted), TEST(features_follow_the_function), TEST(replace_keeps_the_new_values_own_sources),
            TEST(replace_refuses_another_type), TEST(dead_ops_go_and_their_names_with_them), TEST(a_clone_is_equal_and_apart),
            TEST(digest_sees_what_matters), TEST(questions_of_gates_are_answered), TEST(opsets_have_three_names), TEST(packed_types_are_unpacked))
