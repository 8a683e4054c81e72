/* The conversion gate on packages that Apple's converter wrote, and on MIL text of ours, rule by rule (M numbers in the names).
 */
#include "unit/suite.h"
#include "ops/builtin.h"
#include "plugin/evidence.h"
#include <dirent.h>

static assay_registry *registry;
static const char *shared;

static void open_gate(void) {
    assay_error err = {0};
    if (registry) return;
    assay_ops_register();
    registry = assay_registry_new();
    CU_ASSERT_EQUAL_FATAL(assay_registry_load_file(registry, ASSAY_BUILD_DIR "/bin/gates/conversion.so", &err), ASSAY_OK);
}

static bool ready(void) {
    open_gate();
    shared = shared_or_skip();
    return shared != NULL;
}

static void add(assay_evidence_set *ev, const char *role, const char *group, const char *name) {
    char path[512];
    assay_error err = {0};
    snprintf(path, sizeof path, "%s/corpus/coremltools/%s/%s/model.mlpackage", shared, group, name);
    if (assay_evidence_add_file(ev, role, path, &err)) printf("\n  %s\n", err.message);
    CU_ASSERT_EQUAL_FATAL(err.code, 0);
}

static assay_json *judge(assay_evidence_set *ev, const char *params) {
    assay_json *p = NULL, *v = NULL;
    assay_error err = {0};
    if (params) CU_ASSERT_EQUAL_FATAL(assay_json_parse(params, strlen(params), "params", &p, &err), ASSAY_OK);
    if (assay_judge(registry, "conversion", p, ev, &v, &err)) printf("\n  %s\n", err.message);
    CU_ASSERT_PTR_NOT_NULL_FATAL(v);
    assay_json_free(p);
    assay_evidence_free(ev);
    return v;
}

/* "invalid: arms_not_comparable | attention_not_exposed": validity reasons, then the others, in the order given, each once. */
static void codes_of(const assay_json *list, assay_buf *b) {
    const char *last = "";
    for (size_t i = 0; i < assay_json_len(list); i++) {
        const char *code = assay_json_string(assay_json_at(list, i), "code", "");
        if (strcmp(code, last)) assay_buf_printf(b, " %s", code);
        last = code;
    }
}

static void expect(assay_json *v, const char *want, const char *what) {
    assay_buf b = {0};
    assay_buf_printf(&b, "%s:", assay_printed_verdict(v));
    codes_of(assay_json_path(v, "validity.reasons"), &b);
    assay_buf_str(&b, " |");
    codes_of(assay_json_get(v, "reasons"), &b);
    CU_ASSERT_STRING_EQUAL(b.data, want);
    if (strcmp(b.data, want)) {
        char *text = assay_json_pretty(v);
        printf("\n  %s\n  got:  %s\n  want: %s\n%.3000s\n", what, b.data, want, getenv("SHOW") ? text : "");
        free(text);
    }
    assay_buf_free(&b);
    assay_json_free(v);
}

static void pair(const char *candidate, const char *control, const char *want) {
    assay_evidence_set *ev = assay_evidence_new();
    add(ev, "candidate", "attention", candidate);
    add(ev, "control", "attention", control);
    expect(judge(ev, NULL), want, candidate);
}

/* M1_yes M2_yes M4_yes M5_yes M6_yes M7_yes M8_yes M9_yes M17_yes M11_yes M12_yes M13_yes M15_yes M16_yes M35_yes M36_yes M38_yes M55_yes M71_yes */
static void M5_M6_M55_fused_beside_explicit_passes(void) {
    if (!ready()) return;
    pair("fused_tiny_fp16", "explicit_tiny_fp16", "pass: |");
    pair("fused_mid_fp32", "explicit_mid_fp32", "pass: |");
    pair("fused_tiny_fp16io32", "explicit_tiny_fp16io32", "pass: |");
    pair("fused_mid_fp32", "explicit_scale_late_mid_fp32", "pass: |");
}

/* M5_no M38_no M55_no M71_no M19_no: a program that was written is not fused for that */
static void M5_M71_explicit_as_candidate_is_not_fused(void) {
    if (!ready()) return;
    pair("explicit_tiny_fp16", "explicit_tiny_fp16", "kill: | not_fused");
    pair("explicit_mid_fp32", "explicit_mid_fp32", "kill: | not_fused");
    pair("sliced_q_tiny_fp32", "explicit_tiny_fp32", "kill: | not_fused");
}

/* M7_no */
static void M7_scale_given_twice_is_killed(void) {
    if (!ready()) return;
    pair("double_scale_tiny_fp32", "explicit_tiny_fp32", "kill: | double_scale");
    pair("double_scale_mid_fp32", "explicit_mid_fp32", "kill: | double_scale");
}

/* M15_no M36_no M17_no: a residual sum is no exposed attention */
static void M15_M36_residual_block_is_not_comparable(void) {
    if (!ready()) return;
    pair("residual_block_tiny_fp32", "explicit_tiny_fp32", "invalid: arms_not_comparable | attention_not_exposed");
    pair("residual_block_mid_fp32", "explicit_mid_fp32", "invalid: arms_not_comparable | attention_not_exposed");
}

/* M35_no */
static void M35_operands_as_inputs_are_outside(void) {
    if (!ready()) return;
    pair("qkv_inputs_fused_mid_fp16", "qkv_inputs_explicit_mid_fp16", "kill: | projections_outside");
    pair("qkv_inputs_explicit_tiny_fp32", "qkv_inputs_explicit_tiny_fp32", "kill: | projections_outside not_fused");
}

/* M36_no */
static void M36_dead_path_is_not_exposed(void) {
    if (!ready()) return;
    pair("dead_path_tiny_fp16", "explicit_tiny_fp16", "kill: | attention_not_exposed");
    pair("dead_path_tiny_fp32", "explicit_tiny_fp32", "kill: | attention_not_exposed");
}

/* M6_no */
static void M6_control_must_be_explicit(void) {
    if (!ready()) return;
    pair("fused_tiny_fp16", "fused_tiny_fp16", "invalid: control_holds_forbidden_op control_not_explicit |");
}

/* M15_no M55_no M14_no: nor are arms of other shapes compared */
static void M15_precision_and_io_must_match(void) {
    if (!ready()) return;
    pair("fused_tiny_fp16", "explicit_tiny_fp32", "invalid: arms_not_comparable |");
    pair("fused_tiny_fp16", "explicit_tiny_fp16io32", "invalid: arms_not_comparable |");
    pair("fused_mid_fp32", "explicit_tiny_fp32", "invalid: arms_not_comparable |");
}

/* M16_no */
static void M16_other_weights_are_not_comparable(void) {
    if (!ready()) return;
    pair("all_zero_weights_v_tiny_fp16", "explicit_tiny_fp16", "invalid: arms_not_comparable |");
}

/* M55_no: a conversion that failed */
static void absent_evidence_is_not_measured(void) {
    if (!ready()) return;
    expect(judge(assay_evidence_new(), NULL), "not-measured: |", "no evidence");
    assay_evidence_set *ev = assay_evidence_new();
    assay_evidence_add_absent(ev, ASSAY_K_PROGRAM, "candidate", "", "fused", ASSAY_STATE_FAILED, "the converter said no");
    expect(judge(ev, NULL), "kill: | conversion_failed", "failed candidate");
    ev = assay_evidence_new();
    add(ev, "candidate", "attention", "fused_tiny_fp16");
    assay_evidence_add_absent(ev, ASSAY_K_PROGRAM, "control", "", "explicit", ASSAY_STATE_FAILED, "no");
    expect(judge(ev, NULL), "invalid: control_conversion_failed |", "failed control");
    ev = assay_evidence_new();
    add(ev, "candidate", "attention", "fused_tiny_fp16");
    expect(judge(ev, "{\"function\":\"other\"}"), "invalid: function_missing |", "no such function");
}

/* ---- MIL text of ours: [1, 2, 4], one head of size 4, so the scale is 0.5 */
#define T "tensor<fp32, [1, 2, 4]> "
#define W4 "tensor<fp32, [4, 4]>"
#define IDENTITY "([[1.0, 0.0, 0.0, 0.5], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.25, 0.0, 1.0]])"
#define TRANSPOSED "([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.25], [0.0, 0.0, 1.0, 0.0], [0.5, 0.0, 0.0, 1.0]])"
#define HALVED "([[0.5, 0.0, 0.0, 0.25], [0.0, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.0], [0.0, 0.125, 0.0, 0.5]])"
#define WEIGHT(name, values) W4 " " name " = const()[name = string(\"" name "\"), val = " W4 values "];\n"
#define LINEAR(out, w) T out " = linear(weight = " w ", x = x)[name = string(\"" out "\")];\n"
#define SCALAR(name, v) "fp32 " name " = const()[name = string(\"" name "\"), val = fp32(" v ")];\n"
#define OP(out, text) T out " = " text "[name = string(\"" out "\")];\n"
#define SDPA(out, q, k, v) OP(out, "scaled_dot_product_attention(key = " k ", query = " q ", value = " v ")")
#define FLAGS                                                                                                                    \
    "bool no = const()[name = string(\"no\"), val = bool(false)];\nbool yes = const()[name = string(\"yes\"), val = "            \
    "bool(true)];\nint32 ax = const()[name = string(\"ax\"), val = int32(-1)];\n"
#define PROJECTIONS WEIGHT("w", IDENTITY) LINEAR("q", "w") LINEAR("k", "w") LINEAR("v", "w")
#define EXPLICIT(q, k, v)                                                                                                        \
    FLAGS "tensor<fp32, [1, 2, 2]> s = matmul(transpose_x = no, transpose_y = yes, x = " q ", y = " k                            \
          ")[name = string(\"s\")];\n"                                                                                           \
          "tensor<fp32, [1, 2, 2]> p = softmax(axis = ax, x = s)[name = string(\"p\")];\n" OP(                                   \
              "attn", "matmul(transpose_x = no, transpose_y = no, x = p, y = " v ")")
#define CONTROL PROJECTIONS SCALAR("half", "0.5") OP("qs", "mul(x = q, y = half)") EXPLICIT("qs", "k", "v")

static void add_mil(assay_evidence_set *ev, const char *role, const char *inputs, const char *body, const char *outputs) {
    char *text = assay_xprintf("program(1.3)\n{\n func main<ios18>(%s) {\n%s } -> (%s);\n}\n", inputs, body, outputs);
    assay_program *p = NULL;
    assay_error err = {0};
    if (assay_program_parse_mil(text, strlen(text), role, NULL, &p, &err)) printf("\n  %s\n%s\n", err.message, text);
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    assay_evidence_add_program(ev, role, "", NULL, ASSAY_ORIGIN_IMPORTED, "", p);
    free(text);
}

static assay_json *judge_mil(const char *candidate, const char *control) {
    assay_evidence_set *ev = assay_evidence_new();
    open_gate();
    add_mil(ev, "candidate", T "x", candidate, "attn");
    if (control) add_mil(ev, "control", T "x", control, "attn");
    return judge(ev, NULL);
}

static const char *message_of(const assay_json *v, const char *code) {
    const assay_json *list = assay_json_get(v, "reasons");
    for (size_t i = 0; i < assay_json_len(list); i++)
        if (!strcmp(assay_json_string(assay_json_at(list, i), "code", ""), code))
            return assay_json_string(assay_json_at(list, i), "message", "");
    return "";
}

static void says(assay_json *v, const char *code, const char *words) {
    const char *message = message_of(v, code);
    CU_ASSERT_PTR_NOT_NULL(strstr(message, words));
    if (!strstr(message, words)) printf("\n  %s\n", message);
    assay_json_free(v);
}

/* M7_both */
static void M7_scales_are_found_wherever_they_stand(void) {
    expect(judge_mil(PROJECTIONS SDPA("attn", "q", "k", "v"), CONTROL), "pass: |", "fused");
    expect(judge_mil(PROJECTIONS SCALAR("c", "0.5") OP("ks", "mul(x = c, y = k)") SDPA("attn", "q", "ks", "v"), CONTROL),
           "kill: | double_scale", "on the key");
    expect(judge_mil(PROJECTIONS SCALAR("c", "2.0") OP("qs", "real_div(x = q, y = c)") SDPA("attn", "qs", "k", "v"), CONTROL),
           "kill: | double_scale", "as a division");
    expect(judge_mil(PROJECTIONS SCALAR("c", "0.70710678") OP("qs", "mul(x = q, y = c)") OP("ks", "mul(x = k, y = c)")
                         SDPA("attn", "qs", "ks", "v"),
                     CONTROL),
           "kill: | double_scale", "half on each side");
    expect(judge_mil(PROJECTIONS SCALAR("c", "0.5")
                         OP("qs", "mul(x = q, y = c)") "tensor<int32, [3]> sh = const()[name = string(\"sh\"), val = "
                                                       "tensor<int32, [3]>([1, 2, 4])];\n" OP("qr", "reshape(shape = sh, x = qs)")
                                                           SDPA("attn", "qr", "k", "v"),
                     CONTROL),
           "kill: | double_scale", "behind a reshape");
    expect(judge_mil(WEIGHT("h", HALVED) PROJECTIONS LINEAR("qh", "h") SDPA("attn", "qh", "k", "v"), CONTROL),
           "kill: | double_scale", "folded in the weights");
    expect(judge_mil(PROJECTIONS SCALAR("c", "0.3") OP("qs", "mul(x = q, y = c)") SDPA("attn", "qs", "k", "v"), CONTROL),
           "pass: |", "another factor is not the scale");
    expect(judge_mil(PROJECTIONS SCALAR("c", "0.5") OP("vs", "mul(x = v, y = c)") SDPA("attn", "q", "k", "vs"), CONTROL),
           "pass: |", "the value is not scaled by the op");
}

/* M16_both */
static void M16_weights_are_compared_however_they_are_spelled(void) {
    expect(judge_mil(WEIGHT("w", IDENTITY) WEIGHT("wt", TRANSPOSED)
                         FLAGS OP("q", "matmul(transpose_x = no, transpose_y = no, x = x, y = wt)") LINEAR("k", "w")
                             LINEAR("v", "w") SDPA("attn", "q", "k", "v"),
                     CONTROL),
           "pass: |", "a transposed matmul operand");
    expect(judge_mil(WEIGHT("w", IDENTITY) WEIGHT("wt", TRANSPOSED) LINEAR("q", "wt") LINEAR("k", "w") LINEAR("v", "w")
                         SDPA("attn", "q", "k", "v"),
                     CONTROL),
           "invalid: arms_not_comparable |", "transposed by mistake");
    expect(judge_mil(WEIGHT("w", IDENTITY) WEIGHT("h", HALVED) LINEAR("q", "w") LINEAR("k", "w") LINEAR("v", "h")
                         SDPA("attn", "q", "k", "v"),
                     CONTROL),
           "invalid: arms_not_comparable |", "the value's weights differ");
    expect(judge_mil("tensor<fp32, [4, 4, 1, 1]> w = const()[name = string(\"w\"), val = tensor<fp32, [4, 4, 1, 1]>([[[[1.0]], "
                     "[[0.0]], [[0.0]], [[0.5]]], [[[0.0]], [[1.0]], [[0.0]], [[0.0]]], "
                     "[[[0.0]], [[0.0]], [[1.0]], [[0.0]]], [[[0.0]], [[0.25]], [[0.0]], [[1.0]]]])];\n" OP(
                         "q", "conv(weight = w, x = x)") OP("k", "conv(weight = w, x = x)") OP("v", "conv(weight = w, x = x)")
                         SDPA("attn", "q", "k", "v"),
                     CONTROL),
           "pass: |", "[O,I,1,1]");
    expect(judge_mil(PROJECTIONS SDPA("attn", "q", "k", "v"),
                     WEIGHT("h", HALVED) PROJECTIONS LINEAR("qh", "h") EXPLICIT("qh", "k", "v")),
           "pass: |", "the control's scale is in its weights");
}

/* M5_both M19_yes */
static void M5_exactly_so_many_that_reach_an_output(void) {
    expect(judge_mil(PROJECTIONS SDPA("attn", "q", "k", "v") SDPA("unused", "q", "k", "v"), CONTROL), "pass: |",
           "an op that reaches no output does not count");
    expect(judge_mil(PROJECTIONS SDPA("unused", "q", "k", "v") SCALAR("half", "0.5") OP("qs", "mul(x = q, y = half)")
                         EXPLICIT("qs", "k", "v"),
                     CONTROL),
           "kill: | not_fused", "only the unused one is fused");
    expect(judge_mil(PROJECTIONS SDPA("a", "q", "k", "v") SDPA("attn", "a", "k", "v"), NULL),
           "kill: | projections_outside attention_not_exposed not_fused", "two in a row");
}

/* M1_no M4_no M8_no M9_no */
static void M1_M4_M8_M9_say_why_it_was_decomposed(void) {
    if (!ready()) return;
    assay_evidence_set *ev = assay_evidence_new();
    add(ev, "candidate", "torch", "sdpa_iOS17_fp16");
    says(judge(ev, NULL), "not_fused", "decomposed by target: the op exists from ios18 on, this function is ios17");
    ev = assay_evidence_new();
    add(ev, "candidate", "torch", "sdpa_scale_default_value_iOS18_fp32");
    says(judge(ev, NULL), "not_fused", "the source gave a scale (even the default value decomposes)");
    says(judge_mil(PROJECTIONS EXPLICIT("q", "k", "v"), NULL), "not_fused", "the source gave scale=1.0");
    says(judge_mil(PROJECTIONS OP("attn", "add(x = q, y = k)"), NULL), "not_fused", "no explicit attention either");
}

/* M2_no M12_no */
static void M2_M12_operands_must_fit(void) {
    assay_evidence_set *ev = assay_evidence_new();
    open_gate();
    add_mil(ev, "candidate", T "x, tensor<fp32, [3, 2, 4]> y",
            PROJECTIONS
            "tensor<fp32, [3, 2, 4]> ky = linear(weight = w, x = y)[name = string(\"ky\")];\n" SDPA("attn", "q", "ky", "v"),
            "attn");
    expect(judge(ev, NULL), "kill: | op_contract_violated", "another batch");
    ev = assay_evidence_new();
    add_mil(ev, "candidate", "tensor<fp32, [2, 4]> x",
            WEIGHT("w", IDENTITY) "tensor<fp32, [2, 4]> q = linear(weight = w, x = x)[name = string(\"q\")];\n"
                                  "tensor<fp32, [2, 4]> attn = scaled_dot_product_attention(key = q, query = q, value = q)[name "
                                  "= string(\"attn\")];\n",
            "attn");
    expect(judge(ev, NULL), "kill: | op_contract_violated", "rank 2");
}

#define SOURCE(out) "tensor<fp32, [1, 3, 4]> " out " = linear(weight = w, x = y)[name = string(\"" out "\")];\n"
#define NARROW                                                                                                                    \
    "tensor<fp32, [2, 4]> w2 = const()[name = string(\"w2\"), val = tensor<fp32, [2, 4]>([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, "   \
    "0.0]])];\ntensor<fp32, [1, 2, 2]> kn = linear(weight = w2, x = x)[name = string(\"kn\")];\n"

static assay_json *judge_with_source(const char *body) {
    assay_evidence_set *ev = assay_evidence_new();
    open_gate();
    add_mil(ev, "candidate", T "x, tensor<fp32, [1, 3, 4]> y", body, "attn");
    return judge(ev, NULL);
}

/* M13_yes: keys and values of another length than the query. M13_no: a value longer than its key, a key of another head size. */
static void M13_head_size_and_source_length(void) {
    expect(judge_with_source(PROJECTIONS SOURCE("ky") SOURCE("vy") SDPA("attn", "q", "ky", "vy")), "pass: |", "another source");
    says(judge_with_source(PROJECTIONS SOURCE("vy") SDPA("attn", "q", "k", "vy")), "op_contract_violated", "axis 1:");
    says(judge_mil(PROJECTIONS NARROW SDPA("attn", "q", "kn", "v"), NULL), "op_contract_violated", "axis 2:");
}

/* The sources disagree: equal unless the experiment names the other. */
static void M249_yes_M249_no_batch_axes_by_named_source(void) {
    static const char body[] = PROJECTIONS "tensor<fp32, [3, 2, 4]> ky = linear(weight = w, x = y)[name = string(\"ky\")];\n"
                                           "tensor<fp32, [3, 2, 4]> vy = linear(weight = w, x = y)[name = string(\"vy\")];\n" SDPA("attn", "q", "ky", "vy");
    static const char *const params[] = {NULL, "{\"batch_dims\":\"equal\"}", "{\"batch_dims\":\"broadcast\"}"};
    open_gate();
    for (int i = 0; i < 3; i++) {
        assay_evidence_set *ev = assay_evidence_new();
        add_mil(ev, "candidate", T "x, tensor<fp32, [3, 2, 4]> y", body, "attn");
        assay_json *v = judge(ev, params[i]);
        if (i < 2) says(v, "op_contract_violated", "the report lets batch axes broadcast");
        else expect(v, "pass: |", params[i]);
    }
}
/* M11_no */
static void M11_the_op_has_no_scale_input(void) {
    says(judge_mil(PROJECTIONS SCALAR("c", "1.0")
                       OP("attn", "scaled_dot_product_attention(key = k, query = q, scale = c, value = v)"),
                   NULL),
         "op_contract_violated", "no parameter 'scale'");
}

#define MASK "tensor<fp32, [1, 2, 2]> mask = const()[name = string(\"mask\"), val = tensor<fp32, [1, 2, 2]>([[[0.0, -10000.0], [0.0, 0.0]]])];\n"
#define TESTED "milinternal coremltools 9.1.dev1"

/* M3_no M10_no: the op knows no dropout and no causal flag, so a mask beside the flag cannot be written. */
static void M3_M10_the_op_has_no_dropout_and_no_causal_flag(void) {
    says(judge_mil(PROJECTIONS SCALAR("c", "0.1") OP("attn", "scaled_dot_product_attention(dropout_p = c, key = k, query = q, value = v)"), NULL),
         "op_contract_violated", "no parameter 'dropout_p'");
    says(judge_mil(PROJECTIONS FLAGS MASK OP("attn", "scaled_dot_product_attention(attn_mask = mask, is_causal = no, key = k, query = q, value = v)"), NULL),
         "op_contract_violated", "no parameter 'is_causal'");
}

/* M3_yes M10_yes: what a converter makes: no dropout, and one mask. */
static void M3_M10_one_mask_is_all_there_is(void) {
    expect(judge_mil(PROJECTIONS MASK OP("attn", "scaled_dot_product_attention(attn_mask = mask, key = k, query = q, value = v)"), CONTROL), "pass: |", "one mask");
}

static assay_json *converted_by(const char *params) {
    assay_evidence_set *ev = assay_evidence_new();
    add(ev, "candidate", "attention", "fused_mid_fp32");
    add(ev, "control", "attention", "explicit_mid_fp32");
    return judge(ev, params);
}

/* M18_yes M18_no: the versions stand in the package; a pair that is not in the list is told, and so is a program that names none. */
static void M18_a_pair_that_nobody_tested_is_flagged(void) {
    if (!ready()) return;
    expect(converted_by(NULL), "pass: |", "no list of tested pairs: nothing is said");
    expect(converted_by("{\"tested_pairs\":[\"torch==1.0 coremltools 4.0\",\"" TESTED "\"]}"), "pass: |", "a tested pair");
    expect(converted_by("{\"tested_pairs\":[\"torch==1.0 coremltools 4.0\"]}"), "pass: | converter_untested", "another pair");
    assay_evidence_set *ev = assay_evidence_new();
    add_mil(ev, "candidate", T "x", PROJECTIONS SDPA("attn", "q", "k", "v"), "attn");
    says(judge(ev, "{\"tested_pairs\":[\"" TESTED "\"]}"), "converter_untested", "names no converter");
}

/* M18_yes: what the package says of itself is reported, and so is a mask (M17). */
static void M17_M18_facts_are_reported(void) {
    if (!ready()) return;
    assay_evidence_set *ev = assay_evidence_new();
    add(ev, "candidate", "attention", "fused_boolmask_const_tiny_fp32");
    assay_json *v = judge(ev, NULL);
    const assay_json *details = assay_json_get(v, "details"),
                     *site = assay_json_at(assay_json_get(details, "attention.candidate"), 0);
    CU_ASSERT(assay_json_bool(site, "masked", false));
    CU_ASSERT_EQUAL(assay_json_int(assay_json_get(details, "facts.candidate"), "spec_version", 0), 9);
    CU_ASSERT_FALSE(assay_json_bool(assay_json_get(details, "facts.candidate"), "has_state", true));
    CU_ASSERT_PTR_NOT_NULL(assay_json_string(assay_json_get(details, "facts.candidate"), "version", NULL));
    assay_json_free(v);
}

#define TWICE OP("twice", "add(x = attn, y = attn)")
static assay_json *judge_two_outputs(const char *outputs) {
    assay_evidence_set *ev = assay_evidence_new();
    open_gate();
    add_mil(ev, "candidate", T "x", PROJECTIONS SDPA("attn", "q", "k", "v") TWICE, "attn, twice");
    add_mil(ev, "control", T "x", CONTROL TWICE, outputs);
    return judge(ev, NULL);
}

/* M186_yes M219_yes: outputs by their names. M186_no M219_no: the same two, exchanged. */
static void M186_outputs_are_known_by_name(void) {
    expect(judge_two_outputs("attn, twice"), "pass: |", "the same order");
    expect(judge_two_outputs("twice, attn"), "invalid: arms_not_comparable |", "exchanged");
}

/* M17_no: an output projection behind the attention */
static void M17_an_output_projection_hides_the_attention(void) {
    expect(judge_mil(PROJECTIONS SDPA("a", "q", "k", "v") OP("attn", "linear(weight = w, x = a)"), NULL), "kill: | attention_not_exposed", "projected");
}

static void absent_weight_file_is_said(void) {
    char path[512];
    if (!ready()) return;
    assay_evidence_set *ev = assay_evidence_new();
    assay_error err = {0};
    snprintf(path, sizeof path, "%s/cases/fused-only-in-a-name/good.mil", shared);
    CU_ASSERT_EQUAL_FATAL(assay_evidence_add_file(ev, "candidate", path, &err), ASSAY_OK);
    snprintf(path, sizeof path, "%s/cases/fused-only-in-a-name/control.mil", shared);
    CU_ASSERT_EQUAL_FATAL(assay_evidence_add_file(ev, "control", path, &err), ASSAY_OK);
    assay_json *v = judge(ev, NULL);
    char *text = assay_json_print(assay_json_path(v, "details.rules"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "weight file absent"));
    free(text);
    expect(v, "pass: |", "by type and place");
}

/* ---- every package by its tags: what the gate says of it alone */
static bool has_tag(const assay_json *tags, const char *tag) {
    for (size_t i = 0; i < assay_json_len(tags); i++)
        if (!strcmp(assay_json_text(assay_json_at(tags, i)), tag)) return true;
    return false;
}

static void classify(const char *group, const char *name) {
    char path[512];
    assay_json *c = NULL, *t = NULL;
    snprintf(path, sizeof path, "%s/corpus/coremltools/%s/%s/case.json", shared, group, name);
    CU_ASSERT_EQUAL_FATAL(assay_json_read_file(path, &c, NULL), ASSAY_OK);
    snprintf(path, sizeof path, "%s/corpus/coremltools/%s/%s/truth.json", shared, group, name);
    CU_ASSERT_EQUAL_FATAL(assay_json_read_file(path, &t, NULL), ASSAY_OK);
    const assay_json *tags = assay_json_get(c, "tags"), *hist = assay_json_path(t, "functions.main.op_histogram");
    int64_t fused = assay_json_int(hist, "scaled_dot_product_attention", 0), softmax = assay_json_int(hist, "softmax", 0);
    assay_evidence_set *ev = assay_evidence_new();
    add(ev, "candidate", group, name);
    assay_json *v = judge(ev, NULL);
    assay_buf codes = {0};
    codes_of(assay_json_get(v, "reasons"), &codes);
    const char *got = codes.data ? codes.data : "";
    bool twice = strstr(name, "double_scale") || strstr(name, "prescaled_noscale"), bare = !strcmp(name, "manual_iOS18_fp16");
    /* As many attentions as the converter's own reading has fused ops and softmaxes. */
    CU_ASSERT_EQUAL((int64_t)assay_json_number(assay_json_path(v, "metrics.candidate"), "attention_sites", -1), fused + softmax);
    CU_ASSERT_EQUAL(strstr(got, "not_fused") != NULL, fused != 1);
    CU_ASSERT_EQUAL(strstr(got, "double_scale") != NULL, twice);
    if (has_tag(tags, "explicit") && !has_tag(tags, "fused")) CU_ASSERT_PTR_NOT_NULL(strstr(got, "not_fused"));
    if (has_tag(tags, "no-projection")) CU_ASSERT_PTR_NOT_NULL(strstr(got, "projections_outside"));
    if (!has_tag(tags, "no-projection") && !strcmp(group, "attention")) CU_ASSERT_PTR_NULL(strstr(got, "projections_outside"));
    if (has_tag(tags, "residual")) CU_ASSERT_PTR_NOT_NULL(strstr(got, "attention_not_exposed"));
    if (getenv("SHOW"))
        printf("\n  %-48s fused %d softmax %d:%s%s", name, (int)fused, (int)softmax, got, bare ? " (written by hand)" : "");
    assay_buf_free(&codes);
    assay_json_free(v);
    assay_json_free(c);
    assay_json_free(t);
}

static void every_package_is_classified_by_its_tags(void) {
    static const char *const groups[] = {"attention", "torch"};
    if (!ready()) return;
    int n = 0;
    for (size_t i = 0; i < 2; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/corpus/coremltools/%s", shared, groups[i]);
        DIR *d = opendir(path);
        CU_ASSERT_PTR_NOT_NULL_FATAL(d);
        for (struct dirent *e; (e = readdir(d)) != NULL;) {
            if (e->d_name[0] == '.') continue;
            classify(groups[i], e->d_name);
            n++;
        }
        closedir(d);
    }
    CU_ASSERT(n >= 90);
}

static void tear_down(void) { assay_registry_free(registry); }

ASSAY_SUITE("conversion", TEST(M5_M6_M55_fused_beside_explicit_passes), TEST(M5_M71_explicit_as_candidate_is_not_fused),
            TEST(M7_scale_given_twice_is_killed), TEST(M15_M36_residual_block_is_not_comparable),
            TEST(M35_operands_as_inputs_are_outside), TEST(M36_dead_path_is_not_exposed), TEST(M6_control_must_be_explicit),
            TEST(M15_precision_and_io_must_match), TEST(M16_other_weights_are_not_comparable),
            TEST(absent_evidence_is_not_measured), TEST(M7_scales_are_found_wherever_they_stand),
            TEST(M16_weights_are_compared_however_they_are_spelled), TEST(M5_exactly_so_many_that_reach_an_output),
            TEST(M1_M4_M8_M9_say_why_it_was_decomposed), TEST(M2_M12_operands_must_fit), TEST(M13_head_size_and_source_length), TEST(M249_yes_M249_no_batch_axes_by_named_source), TEST(M11_the_op_has_no_scale_input),
            TEST(M17_M18_facts_are_reported), TEST(M17_an_output_projection_hides_the_attention), TEST(M186_outputs_are_known_by_name), TEST(M3_M10_the_op_has_no_dropout_and_no_causal_flag),
            TEST(M3_M10_one_mask_is_all_there_is), TEST(M18_a_pair_that_nobody_tested_is_flagged), TEST(absent_weight_file_is_said), TEST(every_package_is_classified_by_its_tags),
            TEST(tear_down))
