/* The rules that judge: what the control must be, and what the candidate may not be. Reasons come in a fixed order. */
#include "conversion.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static const double ABOUT = 0.01; /* 1/sqrt(d) rounded to fp16 is 2^-11 off; another head size is 3 % and more */

void conversion_judge_control(const assay_program_1 *p, const settings *s, const arm *control, report *r) {
    for (uint32_t i = 0; i < s->n_forbid; i++) {
        uint32_t n = conversion_count(p, control->fn, s->forbid[i]);
        if (n)
            conversion_invalid(r, "control_holds_forbidden_op", control->name,
                               "the control reaches %u %s: it is no control for an experiment about that op", n, s->forbid[i]);
    }
    bool attention = false; /* asked for only where the question is the fused attention */
    for (uint32_t i = 0; i < s->n_require; i++) attention = attention || !strcmp(s->require[i], ATTENTION_OP);
    conversion_rule(r, "control_is_explicit", attention, attention ? "" : "no attention op is required");
    bool found = false;
    for (uint32_t i = 0; i < control->n_sites; i++) found = found || !control->sites[i].fused;
    if (attention && !found)
        conversion_invalid(r, "control_not_explicit", control->name,
                           "no matmul -> ... -> softmax -> ... -> matmul reaches an output of the control");
}

/* ---- the candidate */
static const char *site_name(const assay_program_1 *p, const site *s) { return s->out ? p->value_name(s->out) : ""; }

static void judge_projections(const assay_program_1 *p, const arm *a, report *r) {
    static const char *const roles[] = {"query", "key", "value"};
    for (uint32_t i = 0; i < a->n_sites; i++) {
        const site *s = &a->sites[i];
        const trace *t[] = {&s->q, &s->k, &s->v};
        for (int k = 0; k < 3; k++) {
            if (t[k]->n_projections) continue;
            conversion_kill(r, "projections_outside", site_name(p, s),
                            "%s comes from %s%s%s, not from a projection inside the graph: this probes another program", roles[k],
                            t[k]->input ? "the input '" : "another op", t[k]->input ? t[k]->input : "", t[k]->input ? "'" : "");
            break; /* one line for one attention */
        }
    }
}

static void judge_exposure(const assay_program_1 *p, const arm *a, report *r) {
    for (uint32_t i = 0; i < a->n_sites; i++)
        if (!a->sites[i].exposed)
            conversion_kill(r, "attention_not_exposed", site_name(p, &a->sites[i]),
                            "no output is this attention through layout ops only: what follows could hide a dead branch");
}

/* iOS18 is where the fused op begins; older targets decompose whatever the source says. */
static bool target_too_old(const char *opset) {
    int n = 0;
    return sscanf(opset, "ios%d", &n) == 1 && n < 18;
}

static void explain_unfused(const assay_program_1 *p, const arm *a, char out[240]) {
    char opset[24];
    const site *s = NULL;
    for (uint32_t i = 0; i < a->n_sites && !s; i++)
        if (!a->sites[i].fused) s = &a->sites[i];
    conversion_opset_name(p->function_opset(a->fn), opset);
    if (target_too_old(opset))
        snprintf(out, 240, "; decomposed by target: the op exists from ios18 on, this function is %s", opset);
    else if (!s)
        snprintf(out, 240, "; and no explicit attention either: was it removed, or is its result not an output?");
    else if (s->q.n_scales + s->k.n_scales + s->scores.n_scales == 0)
        snprintf(out, 240,
                 "; matmul, softmax, matmul without a scale: the source gave scale=1.0, and any given scale decomposes");
    else
        snprintf(out, 240,
                 "; decomposed into matmul, softmax, matmul: the source gave a scale (even the default value decomposes), or was "
                 "converted for an older target");
}

static void judge_counts(const assay_program_1 *p, const settings *s, const arm *a, report *r) {
    for (uint32_t i = 0; i < s->n_require; i++) {
        uint32_t n = conversion_count(p, a->fn, s->require[i]);
        if (n == s->count[i]) continue;
        char why[240] = "";
        if (!strcmp(s->require[i], ATTENTION_OP) && n < s->count[i]) explain_unfused(p, a, why);
        conversion_kill(r, "not_fused", a->name, "%u %s reach an output, exactly %lld wanted%s", n, s->require[i],
                        (long long)s->count[i], why);
    }
}

static bool about(double x, double target) { return fabs(x / target - 1) <= ABOUT; }

/* One factor, or the factors on the query's and the key's side together, make 1/sqrt(head size). */
static void judge_scale_of(const assay_program_1 *p, const site *s, report *r) {
    int32_t rank = s->query ? p->value_rank(s->query) : -1;
    double size = rank > 0 ? (double)p->value_dim(s->query, (uint32_t)rank - 1) : NAN, product = 1;
    double target = 1 / sqrt(size);
    const trace *t[] = {&s->q, &s->k};
    for (int k = 0; k < 2; k++)
        for (uint32_t i = 0; i < t[k]->n_scales; i++) {
            product *= t[k]->factors[i];
            if (!about(t[k]->factors[i], target)) continue;
            conversion_kill(r, "double_scale", site_name(p, s),
                            "%s is multiplied by %.6g = 1/sqrt(%.0f) in '%s' before an op that does so itself",
                            k ? "key" : "query", t[k]->factors[i], size, p->value_name(p->op_output(t[k]->scales[i], 0)));
            return;
        }
    if (t[0]->n_scales + t[1]->n_scales > 1 && about(product, target))
        conversion_kill(r, "double_scale", site_name(p, s),
                        "the factors on query and key multiply to %.6g = 1/sqrt(%.0f) before an op that applies it itself",
                        product, size);
}

static void judge_double_scale(const assay_program_1 *p, const arm *a, double folded, const char *folded_role, report *r) {
    bool fused = false;
    for (uint32_t i = 0; i < a->n_sites; i++) {
        if (!a->sites[i].fused) continue;
        fused = true;
        judge_scale_of(p, &a->sites[i], r);
    }
    if (fused && folded != 0)
        conversion_kill(
            r, "double_scale", a->name,
            "the %s projection's weights are the control's times %.6g: the scale is folded in, and the op applies it again",
            folded_role, folded);
}

/* What the op itself demands (the converter checks it, a hand-made or rewritten package may not). */
static bool sizes_fit(int64_t a, int64_t b, int64_t c, bool broadcast) {
    int64_t largest = a > b ? a : b;
    if (c > largest) largest = c;
    if (a < 0 || b < 0 || c < 0) return true; /* not known before the run */
    if (!broadcast) return a == b && b == c;
    return (a == 1 || a == largest) && (b == 1 || b == largest) && (c == 1 || c == largest);
}

static void judge_op_contract(const assay_program_1 *p, const site *s, bool broadcast, report *r) {
    static const char *const known[] = {"query", "key", "value", "attn_mask"};
    for (uint32_t i = 0; i < p->op_key_count(s->op); i++) {
        bool ok = false;
        for (size_t k = 0; k < sizeof known / sizeof *known; k++) ok = ok || !strcmp(p->op_key(s->op, i), known[k]);
        if (!ok) conversion_kill(r, "op_contract_violated", site_name(p, s), "the op has no parameter '%s'", p->op_key(s->op, i));
    }
    int32_t rank = s->query && s->key && s->value ? p->value_rank(s->query) : -1;
    if (rank < 3 || p->value_rank(s->key) != rank || p->value_rank(s->value) != rank) {
        conversion_kill(r, "op_contract_violated", site_name(p, s), "query, key and value must have one rank of at least 3");
        return;
    }
    for (int32_t i = 0; i < rank; i++) {
        uint32_t axis = (uint32_t)i;
        int64_t q = p->value_dim(s->query, axis), k = p->value_dim(s->key, axis), v = p->value_dim(s->value, axis);
        bool batch = i < rank - 2,
             source = i == rank - 2; /* batch axes equal in all; k and v share the source length; q and k the head size */
        int64_t a = source ? v : q, b = k, c = batch ? v : b;
        if (sizes_fit(a, b, c, batch && broadcast)) continue;
        const char *other = batch && sizes_fit(a, b, c, true) ? " (the report lets batch axes broadcast, the converter's validator does not: batch_dims)" : "";
        conversion_kill(r, "op_contract_violated", site_name(p, s),
                        "axis %d: query %lld, key %lld, value %lld do not fit together%s", (int)i, (long long)q, (long long)k,
                        (long long)v, other);
    }
}

void conversion_judge_candidate(const assay_program_1 *p, const settings *s, const arm *candidate, double folded,
                                const char *folded_role, report *r) {
    conversion_rule(r, "projections_inside", candidate->n_sites > 0, candidate->n_sites ? "" : "no attention in the candidate");
    conversion_rule(r, "attention_exposed", candidate->n_sites > 0, candidate->n_sites ? "" : "no attention in the candidate");
    conversion_rule(r, "required_counts", s->n_require > 0, s->n_require ? "" : "nothing required");
    judge_projections(p, candidate, r);
    judge_exposure(p, candidate, r);
    judge_counts(p, s, candidate, r);
    judge_double_scale(p, candidate, folded, folded_role, r);
    for (uint32_t i = 0; i < candidate->n_sites; i++)
        if (candidate->sites[i].fused) judge_op_contract(p, &candidate->sites[i], s->broadcast, r);
}
