/* The conversion gate on MIL text of ours, rule by rule (M numbers in the names). */
#include "test_conversion.h"

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

static void tear_down(void) { assay_registry_free(registry); }

ASSAY_SUITE("conversion, MIL text", TEST(M7_scales_are_found_wherever_they_stand),
            TEST(M16_weights_are_compared_however_they_are_spelled), TEST(M5_exactly_so_many_that_reach_an_output),
            TEST(M1_M4_M8_M9_say_why_it_was_decomposed), TEST(M2_M12_operands_must_fit),
            TEST(M13_head_size_and_source_length), TEST(M249_yes_M249_no_batch_axes_by_named_source),
            TEST(M11_the_op_has_no_scale_input), TEST(M17_an_output_projection_hides_the_attention),
            TEST(M186_outputs_are_known_by_name), TEST(M3_M10_the_op_has_no_dropout_and_no_causal_flag),
            TEST(M3_M10_one_mask_is_all_there_is), TEST(tear_down))
