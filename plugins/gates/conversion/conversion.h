/* conversion.h: what the parts of the conversion gate share. Everything is decided by op types and data flow, never by names.
 * All pointers into programs are borrowed for the time of one judge() call. */
#ifndef ASSAY_GATE_CONVERSION_H
#define ASSAY_GATE_CONVERSION_H
#include <assay/gate.h>
#include <assay/program.h>
#include <stdbool.h>
#include <stddef.h>
#include <cjson/cJSON.h>

#define ATTENTION_OP "scaled_dot_product_attention"
enum { NAMES_MAX = 32, SITES_MAX = 1024, FOUND_MAX = 16 };

/* Parameters, read once. */
typedef struct settings {
    const char *arm, *control, *function;
    const char *require[NAMES_MAX];
    int64_t count[NAMES_MAX];
    uint32_t n_require;
    const char *forbid[NAMES_MAX];
    uint32_t n_forbid;
    const char *tested[NAMES_MAX]; /* "torch==2.5.0 coremltools 8.1" */
    uint32_t n_tested;
    bool same_opset, same_inputs, same_outputs, broadcast;
} settings;

/* What stands between one operand of an attention and where it comes from. */
typedef struct trace {
    const assay_p_op *projections[FOUND_MAX];
    uint32_t n_projections; /* linear, conv, matmul or einsum with constant weights */
    const assay_p_op *scales[FOUND_MAX];
    double factors[FOUND_MAX];
    uint32_t n_scales; /* multiplications by one constant */
    const char *input; /* name of a function input that was reached without a projection, or NULL */
} trace;

/* One attention: the fused op, or matmul -> ... -> softmax -> ... -> matmul. */
typedef struct site {
    bool fused, exposed, masked;
    const assay_p_op *op; /* the fused op, or the softmax */
    const assay_p_value *query, *key, *value, *out;
    trace q, k, v, scores; /* scores: between the first product and the softmax (explicit only) */
} site;

typedef struct arm {
    const char *role, *name; /* "candidate", and the arm's name in the experiment (or the role) */
    const assay_program *program;
    const assay_p_function *fn;
    site *sites;
    uint32_t n_sites; /* program order */
} arm;

typedef struct report {
    const assay_finding *f;
    cJSON *rules; /* [{rule, applied, note}] */
    bool killed, invalid;
} report;

/* walk.c */
bool conversion_type_is(const assay_program_1 *p, const assay_p_op *op, const char *type);
bool conversion_arg_is_constant(const assay_program_1 *p, const assay_p_op *op, const char *key, uint32_t i);
bool conversion_is_projection(const assay_program_1 *p, const assay_p_op *op);
/* A matmul or einsum of two computed operands; a and b (may be NULL) become the operands. */
bool conversion_is_product(const assay_program_1 *p, const assay_p_op *op, const assay_p_value **a, const assay_p_value **b);
/* Walks producers from v up to projections, inputs and other attentions. */
void conversion_trace(const assay_program_1 *p, const assay_p_value *v, trace *out);
/* The first product of two computed operands that v is made from, and the scales on the way; NULL when there is none. */
const assay_p_op *conversion_product_behind(const assay_program_1 *p, const assay_p_value *v, trace *scales);
/* The first such product that uses v; *other is its other operand. */
const assay_p_op *conversion_product_ahead(const assay_program_1 *p, const assay_p_value *v, const assay_p_value **other);
/* Does v reach an output of f through layout ops, casts, slices and joins only? */
bool conversion_is_exposed(const assay_program_1 *p, const assay_p_function *f, const assay_p_value *v);
/* sites.c: fills a->sites (malloc'd); false when memory is out. */
bool conversion_find_sites(const assay_program_1 *p, arm *a);
/* census.c */
uint32_t conversion_count(const assay_program_1 *p, const assay_p_function *f, const char *type);
void conversion_opset_name(const char *opset, char out[24]); /* "CoreML8" -> "ios18" */
void conversion_census(const assay_program_1 *p, const settings *s, const arm *candidate, const arm *control,
                       const assay_finding *f);
/* contract.c: opset, inputs and outputs of both arms. */
void conversion_compare_contract(const assay_program_1 *p, const settings *s, const arm *candidate, const arm *control,
                                 report *r);
/* weights.c: projection weights of both arms; `folded` becomes the factor when the candidate's weights are the control's times
 * about 1/sqrt(head size), else 0. */
void conversion_compare_weights(const assay_program_1 *p, const arm *candidate, const arm *control, report *r, double *folded,
                                const char **folded_role);
/* rules.c */
void conversion_judge_control(const assay_program_1 *p, const settings *s, const arm *control, report *r);
void conversion_judge_candidate(const assay_program_1 *p, const settings *s, const arm *candidate, double folded,
                                const char *folded_role, report *r);
/* facts.c: tables for the reader of a receipt. */
void conversion_check_converter(const assay_program_1 *p, const settings *s, const arm *a, report *r);
void conversion_report_facts(const assay_program_1 *p, const arm *a, const assay_finding *f);
void conversion_report_rules(report *r);

/* gate.c */
void conversion_kill(report *r, const char *code, const char *where, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
void conversion_invalid(report *r, const char *code, const char *where, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void conversion_rule(report *r, const char *rule, bool applied, const char *note);
#endif
