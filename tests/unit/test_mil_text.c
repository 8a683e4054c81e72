/* MIL text: every construct of the grammar in both dialects, errors with their line, every text file of the shared material,
 * pairs of one model as package and as compiled text, and damage everywhere. */
#include "base/fs.h"
#include "ops/builtin.h"
#include "program/optable.h"
#include "unit/suite.h"
#include <math.h>

static assay_error err;

static assay_program *parse(const char *text) {
    assay_program *p = NULL;
    memset(&err, 0, sizeof err);
    if (assay_program_parse_mil(text, strlen(text), "t.mil", NULL, &p, &err)) return NULL;
    return p;
}

/* A function body around the given ops. */
static assay_program *parse_body(const char *ops, const char *outputs) {
    char *text = assay_xprintf("program(1.3)\n{\n func main<ios18>(tensor<fp16, [1, 4]> q, state<tensor<fp16, [2]>> s) {\n%s\n } -> (%s);\n}", ops, outputs);
    assay_program *p = parse(text);
    free(text);
    return p;
}

static const assay_mil_const *val(const assay_program *p, uint32_t i) { return assay_op_attr(p->functions[0]->block->ops[i], "val"); }

static void both_dialects_read_alike(void) {
    static const char *const texts[] = {
        "program(1.0)\n[buildInfo = dict<tensor<string, []>, tensor<string, []>>({{\"v\", \"1\"}})]\n{ func main<ios16>(tensor<fp16, [1, 4]> q) {"
        " tensor<fp16, []> s = const()[name = tensor<string, []>(\"s\"), val = tensor<fp16, []>(0x1p-3)];"
        " tensor<fp16, [1, 4]> y = mul(x = q, y = s)[name = tensor<string, []>(\"op\")]; } -> (y); }",
        "program(1.3) [buildInfo = dict<string, string>({{\"v\", \"1\"}})] { func main<ios16>(tensor<fp16, [1, 4]> q) {"
        " fp16 s = const()[name = string(\"s\"), val = fp16(0x1p-3)]; tensor<fp16, [1, 4]> y = mul(y = s, x = q)[name = string(\"op\")]; } -> (y); }",
        "program(1) { func main<CoreML6>(tensor<fp16, [1, 4]> q) { tensor<fp16, [1, 4]> y = mul(x = q, y = fp16(0.125)); } -> (y) }",
    };
    char first[65] = "", hex[65];
    for (size_t i = 0; i < 3; i++) {
        assay_program *p = parse(texts[i]);
        CU_ASSERT_PTR_NOT_NULL_FATAL(p);
        CU_ASSERT_STRING_EQUAL(p->functions[0]->opset, "CoreML6");
        assay_program_digest(p, hex);
        if (!i) memcpy(first, hex, 65);
        CU_ASSERT_STRING_EQUAL(first, hex);
        assay_program_free(p);
    }
}

static void numbers_of_every_kind(void) {
    assay_program *p = parse_body(
        "tensor<fp16, [7]> a = const()[val = tensor<fp16, [7]>([0x1p-24, -0x1.5p-17, 0x1.1000000000000p-20, -inf, inf, nan, 1.5e-3])];\n"
        "tensor<fp64, [2]> b = const()[val = tensor<fp64, [2]>([0.0046742807655237523, 0])];\n"
        "tensor<int8, [2]> c = const()[val = tensor<int8, [2]>([-128, 127])];\n"
        "tensor<uint64, [1]> d = const()[val = tensor<uint64, [1]>([18446744073709551615])];\n"
        "tensor<bool, [2, 2]> e = const()[val = tensor<bool, [2, 2]>([[true, false], [false, true]])];\n"
        "tensor<uint3, [3]> f = const()[val = tensor<uint3, [3]>([7, 0, 5])];\n"
        "tensor<fp32, [0]> g = const()[val = tensor<fp32, [0]>([])];\n"
        "tensor<string, [2]> h = const()[val = tensor<string, [2]>([\"a \\\"b\\\"\", \"\"])];", "q");
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    CU_ASSERT_EQUAL(assay_const_at(val(p, 0), 0), 0x1p-24);
    CU_ASSERT_EQUAL(assay_const_at(val(p, 0), 2), 0x1.1p-20);
    CU_ASSERT(isinf(assay_const_at(val(p, 0), 3)) && assay_const_at(val(p, 0), 3) < 0);
    CU_ASSERT(isnan(assay_const_at(val(p, 0), 5)));
    CU_ASSERT_EQUAL(assay_const_at(val(p, 1), 0), 0.0046742807655237523);
    CU_ASSERT_EQUAL(assay_const_at(val(p, 2), 0), -128);
    CU_ASSERT(!memcmp(val(p, 3)->data, "\xff\xff\xff\xff\xff\xff\xff\xff", 8));
    CU_ASSERT_EQUAL(assay_const_at(val(p, 4), 3), 1);
    CU_ASSERT_EQUAL(assay_const_at(val(p, 5), 2), 5);
    CU_ASSERT_EQUAL(assay_type_count(val(p, 6)->type), 0);
    CU_ASSERT_STRING_EQUAL(val(p, 7)->strings[0], "a \"b\"");
    assay_program_free(p);
}

static void structured_values(void) {
    assay_program *p = parse(
        "program(1.3) { func main<ios18>(tensor<fp16, [1, ?]> q) [FlexibleShapeInformation = tuple<tuple<string, dict<string, tensor<int32, [?]>>>,"
        " tuple<string, dict<string, list<tensor<int32, [2]>, ?>>>>(((\"DefaultShapes\", {{\"q\", [1, 4]}}), (\"RangeDims\", {{\"q\", [[1, 1], [1, 64]]}})))]"
        " { tensor<fp16, [1, ?]> a, tensor<fp16, [1, ?]> b = split(x = q, num_splits = int32(2), axis = int32(1));"
        "   tensor<fp16, [1, ?]> y = concat(values = (a, b), axis = int32(1), interleave = bool(false));"
        "   string l, dict<string, fp64> m = classify(probabilities = y, classes = list<string, 2>([\"cat\", \"dog\"])); } -> (y, l); }");
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    const assay_mil_function *f = p->functions[0];
    CU_ASSERT_EQUAL(f->inputs[0]->type->dims[1], ASSAY_DIM_UNKNOWN);
    const assay_mil_const *shapes = f->attrs[0].value->items[0]->items[1];   /* {"q": [1, 4]} */
    CU_ASSERT_EQUAL(shapes->items[1]->type->dims[0], 2);                     /* the '?' became the count */
    CU_ASSERT_EQUAL(assay_const_at(shapes->items[1], 1), 4);
    const assay_feature *q = &p->signatures[0].inputs[0];
    CU_ASSERT(q->rank == 2 && q->shape[1] == 4 && q->flexible == 1 && q->n_ranges == 2 && q->ranges[1][0] == 1 && q->ranges[1][1] == 64);
    CU_ASSERT_EQUAL(f->block->ops[0]->n_outs, 2);
    CU_ASSERT_EQUAL(assay_op_arg(f->block->ops[1], "values")->n, 2);
    CU_ASSERT_EQUAL(assay_op_const(f->block->ops[2], "classes")->n_items, 2);
    assay_program_free(p);
}

static void blocks_states_and_opsets_of_ops(void) {
    assay_program *p = parse_body(
        "tensor<fp16, [2]> r = read_state(input = s);\n write_state(data = r, input = s)[name = string(\"w\")];\n"
        "bool go = const()[val = bool(true)];\n"
        "tensor<fp16, [1, 4]> c = cond(pred = go) { tensor<fp16, [1, 4]> u = relu<ios17>(x = q); } -> (u) { } -> (q);\n"
        "int32 n = while_loop(loop_vars = (int32(0))) (int32 k) { bool t = less(x = k, y = int32(3)); } -> (t) (int32 k) { int32 u = add(x = k, y = int32(1)); } -> (u);\n"
        "(tensor<fp16, [1, 2]> a, tensor<fp16, [1, 2]> b) = split(x = c);", "c, n, a");
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    const assay_mil_block *b = p->functions[0]->block;
    CU_ASSERT_EQUAL(b->ops[1]->n_outs, 0);
    CU_ASSERT(b->ops[1]->reachable && b->ops[0]->reachable);                 /* an effect counts as reached */
    CU_ASSERT_STRING_EQUAL(b->ops[3]->blocks[0]->ops[0]->opset, "ios17");
    CU_ASSERT_EQUAL(b->ops[4]->blocks[1]->n_inputs, 1);
    CU_ASSERT_EQUAL(p->functions[0]->n_all_ops, 9);
    CU_ASSERT_EQUAL(p->signatures[0].n_states, 1);
    assay_program_free(p);
}

static void weight_files_are_named_not_needed(void) {
    static const char *const ops[] = {
        "tensor<fp16, [8]> c = const()[val = tensor<fp16, [8]>(BLOBFILE(path = string(\"@model_path/weights/weight.bin\"), offset = uint64(64)))];",
        "tensor<fp16, [8]> c = const()[val = tensor<fp16, [8]>(BLOBFILE(path = tensor<string, []>(\"@model_path/w.bin\"), offset = tensor<uint64, []>(128)))];",
        "tensor<fp16, [8]> c = const()[val = tensor<fp16, [8]>(BLOBFILE(path = \"@model_path/w.bin\", offset = 64))];",
    };
    for (size_t i = 0; i < 3; i++) {
        assay_program *p = parse_body(ops[i], "q");
        CU_ASSERT_PTR_NOT_NULL_FATAL(p);
        CU_ASSERT(val(p, 0)->absent && val(p, 0)->nbytes == 16);
        assay_program_free(p);
    }
    assay_program *p = NULL;
    const char *text = "program(1.3) { func main<ios18>(fp16 q) { tensor<fp16, [8]> c = const()[val = tensor<fp16, [8]>(BLOBFILE(path = string(\"../w.bin\"), offset = uint64(64)))]; } -> (q); }";
    CU_ASSERT_NOT_EQUAL(assay_program_parse_mil(text, strlen(text), "t.mil", "/tmp", &p, &err), ASSAY_OK);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "outside the model's folder"));
}

/* ---- errors: line and cause */
static void errors_name_line_and_cause(void) {
    static const struct { const char *ops, *outputs, *says; } rows[] = {
        { "\ntensor<fp16, [1, 4]> y = mul(x = q, y = qq);", "y", "t.mil:5: 'qq' is not defined before it is used (did you mean 'q'?)" },
        { "tensor<fp16, [1, 4]> y = mul(x = y, y = q);", "y", "t.mil:4: 'y' is not defined before it is used" },
        { "tensor<fp16, [1, 4]> q = relu(x = q);", "q", "t.mil:4: the name 'q' is defined twice" },
        { "tensor<fp61, [1, 4]> y = relu(x = q);", "y", "t.mil:4: a data type is wanted here, found 'fp61'" },
        { "tensor<fp16, [1, 4> y = relu(x = q);", "y", "t.mil:4: ',' or ']' is wanted here, found '>'" },
        { "tensor<fp16, [1, 4]> y = relu(x = q)", "y", "t.mil:5: ';' is wanted here, found '}'" },
        { "tensor<fp16, [2]> y = const()[val = tensor<fp16, [2]>([0x1p+0])];", "y", "t.mil:4: 1 elements for a value of type tensor<fp16, [2]>" },
        { "int8 y = const()[val = int8(128)];", "y", "does not fit into int8" },
        { "int32 y = const()[val = int32(1.5)];", "y", "an integer is wanted here" },
        { "string y = const()[val = string(\"open)];", "y", "a string in quotes is wanted here, found a broken string" },
        { "fp32 y = const()[val = fp16(0x1p+0)];", "y", "the value is fp16, the output is declared fp32" },
        { "fp32 y = const();", "y", "the const has no value" },
        { "tensor<fp16, [1,1,1,1,1,1,1,1,1]> y = relu(x = q);", "y", "more than 8 dimensions" },
        { "", "nothing", "t.mil:5: 'nothing' is not defined" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assay_program *p = parse_body(rows[i].ops, rows[i].outputs);
        CU_ASSERT_PTR_NULL(p);
        if (!strstr(err.message, rows[i].says)) printf("\n    '%s' ", err.message);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.message, rows[i].says));
        assay_program_free(p);
    }
}

static void programs_are_checked_as_wholes(void) {
    static const char *const rows[][2] = {
        { "", "begins with 'program('" }, { "program(1.3) {}", "no functions" }, { "program(1.3) { func a<ios18>() {} -> (); } x", "the program ends here" },
        { "program(1.3) { func a<ios99>() {} -> (); }", "unknown opset 'ios99'" }, { "program(1.3) { func a<ios18>() {} -> (); func a<ios18>() {} -> (); }", "defined twice" },
        { "version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "git lfs pull" }, { "program(1.3) \xff", "not valid UTF-8" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CU_ASSERT_PTR_NULL(parse(rows[i][0]));
        if (!strstr(err.message, rows[i][1])) printf("\n    '%s' ", err.message);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.message, rows[i][1]));
    }
}

static void nesting_is_bounded(void) {
    assay_buf b = { 0 };
    assay_buf_str(&b, "program(1.3) { func a<ios18>(");
    for (int i = 0; i < 100000; i++) assay_buf_str(&b, "tuple<");
    CU_ASSERT_PTR_NULL(parse(b.data));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "nested more than"));
    assay_buf_free(&b);
    assay_buf_str(&b, "program(1.3) [x = fp16(");
    for (int i = 0; i < 100000; i++) assay_buf_char(&b, '[');
    CU_ASSERT_PTR_NULL(parse(b.data));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "nested more than"));
    assay_buf_free(&b);
}

/* ---- the shared material */
typedef void (*file_fn)(const char *path);

static void each_text(const char *folder, file_fn fn) {
    char **names;
    size_t n;
    if (assay_list_dir(folder, &names, &n, NULL)) return;
    for (size_t i = 0; i < n; i++) {
        char *path = assay_path_join(folder, names[i]);
        size_t len = strlen(path);
        if (assay_is_dir(path)) each_text(path, fn);
        else if (len > 4 && !strcmp(path + len - 4, ".mil")) fn(path);
        free(path);
    }
    assay_list_free(names, n);
}

static unsigned files_read;

static void read_print_read(const char *path) {
    assay_program *p = NULL, *q = NULL;
    assay_buf text = { 0 };
    char a[65], b[65] = "", *dir = assay_path_dir(path);
    assay_status s = assay_program_read(path, &p, &err);
    if (s) printf("\n    %s ", err.message);
    CU_ASSERT_EQUAL_FATAL(s, ASSAY_OK);
    CU_ASSERT_EQUAL(assay_program_write_mil(p, &text, &err), ASSAY_OK);
    CU_ASSERT_EQUAL(assay_program_parse_mil(text.data, text.len, path, dir, &q, &err), ASSAY_OK);
    assay_program_digest(p, a);
    if (q) assay_program_digest(q, b);
    CU_ASSERT_STRING_EQUAL(a, b);
    files_read++;
    assay_buf_free(&text);
    free(dir);
    assay_program_free(q);
    assay_program_free(p);
}

static void every_text_file_is_read(void) {
    const char *shared = shared_or_skip();
    if (!shared) return;
    static const char *const folders[] = { "cases", "corpus/public" };
    for (size_t i = 0; i < 2; i++) {
        char *path = assay_path_join(shared, folders[i]);
        files_read = 0;
        each_text(path, read_print_read);
        CU_ASSERT(files_read >= 5);
        free(path);
    }
}

static void package_and_compiled_text_are_equal(void) {
    const char *shared = shared_or_skip();
    if (!shared) return;
    static const char *const pairs[][2] = {
        { "silero-vad-unified-pkg/silero-vad-unified-v6.0.0.mlpackage", "silero-vad-unified-modelc/silero-vad-unified-v6.0.0.mlmodelc" },
        { "silero-int8-pkg/unified_int8.mlpackage", "silero-int8-modelc/unified_int8.mlmodelc" },
        { "silero-pal4-pkg/unified_palette_4bit.mlpackage", "silero-pal4-modelc/unified_palette_4bit.mlmodelc" },
        { "silero-pruned-int8-pkg/unified_pruned_int8.mlpackage", "silero-pruned-int8-modelc/unified_pruned_int8.mlmodelc" },
        { "silero256-palette_4bit-pkg/unified_256ms_palette_4bit.mlpackage", "silero256-pal4-modelc/unified_256ms_palette_4bit.mlmodelc" },
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        char hex[2][65];
        for (size_t k = 0; k < 2; k++) {
            char *path = assay_xprintf("%s/corpus/public/%s", shared, pairs[i][k]);
            assay_program *p = NULL;
            CU_ASSERT_EQUAL_FATAL(assay_program_read(path, &p, &err), ASSAY_OK);
            assay_program_digest(p, hex[k]);
            assay_program_free(p);
            free(path);
        }
        CU_ASSERT_STRING_EQUAL(hex[0], hex[1]);
    }
}

/* ---- damage: a mutant is read or refused, and what is refused has a message. */
static void feed(const char *data, size_t len) {
    char *exact = malloc(len ? len : 1);
    if (!exact) abort();
    memcpy(exact, data, len);
    assay_program *p = NULL;
    memset(&err, 0, sizeof err);
    if (assay_program_parse_mil(exact, len, "mutant", NULL, &p, &err)) CU_ASSERT(err.message[0] != 0);
    if (p) assay_program_validate(p, 1, &err);
    assay_program_free(p);
    free(exact);
}

static void mutants(const char *path) {
    char *data;
    size_t len;
    CU_ASSERT_EQUAL_FATAL(assay_read_file(path, 1 << 16, &data, &len, &err), ASSAY_OK);
    for (size_t cut = 0; cut < len; cut += len / 300 + 1) feed(data, cut);
    static const char odd[] = "(){}[]<>,;=?\"-.0x";
    uint64_t x = 88172645463325252u;
    for (int i = 0; i < 1000; i++) {
        x ^= x << 13; x ^= x >> 7; x ^= x << 17;
        size_t at = (size_t)(x >> 20) % len;
        char old = data[at];
        data[at] = odd[x % (sizeof odd - 1)];
        feed(data, len);
        data[at] = old;
    }
    free(data);
}

static void mutated_text_is_safe(void) {
    assay_ops_register();
    mutants(ASSAY_SOURCE_DIR "/tests/fuzz/seeds/mil/old.mil");
    mutants(ASSAY_SOURCE_DIR "/tests/fuzz/seeds/mil/new.mil");
}

ASSAY_SUITE("MIL text", TEST(both_dialects_read_alike), TEST(numbers_of_every_kind), TEST(structured_values), TEST(blocks_states_and_opsets_of_ops),
            TEST(weight_files_are_named_not_needed), TEST(errors_name_line_and_cause), TEST(programs_are_checked_as_wholes), TEST(nesting_is_bounded),
            TEST(every_text_file_is_read), TEST(package_and_compiled_text_are_equal), TEST(mutated_text_is_safe))
