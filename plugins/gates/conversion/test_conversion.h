/* gates/conversion/test_conversion.h: the gate loaded, its answer in one line, packages of the shared corpus and MIL text of ours as evidence. */
#ifndef ASSAY_TEST_CONVERSION_H
#define ASSAY_TEST_CONVERSION_H
#include "unit/suite.h"
#include "ops/builtin.h"
#include "plugin/evidence.h"

static assay_registry *registry;
static const char *shared;

__attribute__((unused)) static void open_gate(void) {
    assay_error err = {0};
    if (registry) return;
    assay_ops_register();
    registry = assay_registry_new();
    CU_ASSERT_EQUAL_FATAL(assay_registry_load_file(registry, ASSAY_BUILD_DIR "/bin/gates/conversion.so", &err), ASSAY_OK);
}

__attribute__((unused)) static bool ready(void) {
    open_gate();
    shared = shared_or_skip();
    return shared != NULL;
}

__attribute__((unused)) static void add(assay_evidence_set *ev, const char *role, const char *group, const char *name) {
    char path[512];
    assay_error err = {0};
    snprintf(path, sizeof path, "%s/corpus/coremltools/%s/%s/model.mlpackage", shared, group, name);
    if (assay_evidence_add_file(ev, role, path, &err)) printf("\n  %s\n", err.message);
    CU_ASSERT_EQUAL_FATAL(err.code, 0);
}

__attribute__((unused)) static assay_json *judge(assay_evidence_set *ev, const char *params) {
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
__attribute__((unused)) static void codes_of(const assay_json *list, assay_buf *b) {
    const char *last = "";
    for (size_t i = 0; i < assay_json_len(list); i++) {
        const char *code = assay_json_string(assay_json_at(list, i), "code", "");
        if (strcmp(code, last)) assay_buf_printf(b, " %s", code);
        last = code;
    }
}

__attribute__((unused)) static void expect(assay_json *v, const char *want, const char *what) {
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

__attribute__((unused)) static void add_mil(assay_evidence_set *ev, const char *role, const char *inputs, const char *body, const char *outputs) {
    char *text = assay_xprintf("program(1.3)\n{\n func main<ios18>(%s) {\n%s } -> (%s);\n}\n", inputs, body, outputs);
    assay_program *p = NULL;
    assay_error err = {0};
    if (assay_program_parse_mil(text, strlen(text), role, NULL, &p, &err)) printf("\n  %s\n%s\n", err.message, text);
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    assay_evidence_add_program(ev, role, "", NULL, ASSAY_ORIGIN_IMPORTED, "", p);
    free(text);
}

__attribute__((unused)) static assay_json *judge_mil(const char *candidate, const char *control) {
    assay_evidence_set *ev = assay_evidence_new();
    open_gate();
    add_mil(ev, "candidate", T "x", candidate, "attn");
    if (control) add_mil(ev, "control", T "x", control, "attn");
    return judge(ev, NULL);
}

__attribute__((unused)) static const char *message_of(const assay_json *v, const char *code) {
    const assay_json *list = assay_json_get(v, "reasons");
    for (size_t i = 0; i < assay_json_len(list); i++)
        if (!strcmp(assay_json_string(assay_json_at(list, i), "code", ""), code))
            return assay_json_string(assay_json_at(list, i), "message", "");
    return "";
}

__attribute__((unused)) static void says(assay_json *v, const char *code, const char *words) {
    const char *message = message_of(v, code);
    CU_ASSERT_PTR_NOT_NULL(strstr(message, words));
    if (!strstr(message, words)) printf("\n  %s\n", message);
    assay_json_free(v);
}

#endif
