/* Equal target and equal inputs and outputs: without them a difference between the arms means nothing. */
#include "conversion.h"
#include <stdio.h>
#include <string.h>

static void type_text(const assay_program_1 *p, const assay_p_value *v, char out[160]) {
    int32_t rank = p->value_rank(v);
    size_t n = (size_t)snprintf(out, 160, "%s[", rank < 0 ? "no tensor" : p->value_dtype(v));
    for (int32_t i = 0; i < rank && n < 130; i++) {
        int64_t d = p->value_dim(v, (uint32_t)i);
        if (d < 0)
            n += (size_t)snprintf(out + n, 160 - n, "%s?", i ? "," : "");
        else
            n += (size_t)snprintf(out + n, 160 - n, "%s%lld", i ? "," : "", (long long)d);
    }
    snprintf(out + n, 160 - n, "]");
}

static void compare_opset(const assay_program_1 *p, const arm *cand, const arm *ctrl, report *r) {
    char a[24], b[24];
    conversion_opset_name(p->function_opset(cand->fn), a);
    conversion_opset_name(p->function_opset(ctrl->fn), b);
    if (strcmp(a, b))
        conversion_invalid(r, "arms_not_comparable", cand->name,
                           "opset %s in the candidate, %s in the control: a difference could come from the target alone", a, b);
}

static const assay_p_value *input_named(const assay_program_1 *p, const assay_p_function *f, const char *name) {
    for (uint32_t i = 0; i < p->input_count(f); i++)
        if (!strcmp(p->value_name(p->input(f, i)), name)) return p->input(f, i);
    return NULL;
}

/* Inputs are bound by name; where the arms name them differently the order decides. */
static const assay_p_value *partner_input(const assay_program_1 *p, const arm *cand, const arm *ctrl, uint32_t i) {
    for (uint32_t k = 0; k < p->input_count(cand->fn); k++)
        if (!input_named(p, ctrl->fn, p->value_name(p->input(cand->fn, k)))) return p->input(ctrl->fn, i);
    return input_named(p, ctrl->fn, p->value_name(p->input(cand->fn, i)));
}

static void compare_pair(const assay_program_1 *p, const char *what, uint32_t i, const assay_p_value *a, const assay_p_value *b,
                         const arm *cand, report *r) {
    char ta[160], tb[160];
    type_text(p, a, ta);
    type_text(p, b, tb);
    if (strcmp(ta, tb))
        conversion_invalid(r, "arms_not_comparable", cand->name, "%s %u is '%s' %s in the candidate, '%s' %s in the control",
                           what, i + 1, p->value_name(a), ta, p->value_name(b), tb);
}

static void compare_inputs(const assay_program_1 *p, const arm *cand, const arm *ctrl, report *r) {
    uint32_t n = p->input_count(cand->fn), m = p->input_count(ctrl->fn);
    if (n != m) {
        conversion_invalid(r, "arms_not_comparable", cand->name, "%u inputs in the candidate, %u in the control", n, m);
        return;
    }
    for (uint32_t i = 0; i < n; i++) compare_pair(p, "input", i, p->input(cand->fn, i), partner_input(p, cand, ctrl, i), cand, r);
}

/* Outputs are known by their names: one that the control has at another place would be compared with another value. */
static void compare_place(const assay_program_1 *p, uint32_t i, const arm *cand, const arm *ctrl, report *r) {
    const char *name = p->value_name(p->output(cand->fn, i));
    for (uint32_t k = 0; k < p->output_count(ctrl->fn); k++)
        if (k != i && !strcmp(p->value_name(p->output(ctrl->fn, k)), name))
            conversion_invalid(r, "arms_not_comparable", cand->name, "output %u '%s' is output %u of the control", i + 1, name, k + 1);
}

static void compare_outputs(const assay_program_1 *p, const arm *cand, const arm *ctrl, report *r) {
    uint32_t n = p->output_count(cand->fn), m = p->output_count(ctrl->fn);
    if (n != m) {
        conversion_invalid(r, "arms_not_comparable", cand->name, "%u outputs in the candidate, %u in the control", n, m);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        compare_pair(p, "output", i, p->output(cand->fn, i), p->output(ctrl->fn, i), cand, r);
        compare_place(p, i, cand, ctrl, r);
    }
}

void conversion_compare_contract(const assay_program_1 *p, const settings *s, const arm *candidate, const arm *control,
                                 report *r) {
    conversion_rule(r, "same_opset", control && s->same_opset, control ? "" : "no control given");
    conversion_rule(r, "same_input_types", control && s->same_inputs, control ? "" : "no control given");
    conversion_rule(r, "same_output_types", control && s->same_outputs, control ? "" : "no control given");
    if (!control) return;
    if (s->same_opset) compare_opset(p, candidate, control, r);
    if (s->same_inputs) compare_inputs(p, candidate, control, r);
    if (s->same_outputs) compare_outputs(p, candidate, control, r);
}
