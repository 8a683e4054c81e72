/* Finds the attentions of a function: fused ops, and softmaxes between two products of computed operands. */
#include "conversion.h"
#include <stdlib.h>
#include <string.h>

static void finish(const assay_program_1 *p, const assay_p_function *fn, site *s) {
    conversion_trace(p, s->query, &s->q);
    conversion_trace(p, s->key, &s->k);
    conversion_trace(p, s->value, &s->v);
    s->exposed = conversion_is_exposed(p, fn, s->out);
}

static bool fused_site(const assay_program_1 *p, const assay_p_op *op, site *s) {
    if (!conversion_type_is(p, op, ATTENTION_OP)) return false;
    s->fused = true;
    s->query = p->op_arg(op, "query", 0);
    s->key = p->op_arg(op, "key", 0);
    s->value = p->op_arg(op, "value", 0);
    s->out = p->op_output(op, 0);
    s->masked = p->op_arg_count(op, "attn_mask") > 0;
    return s->out != NULL;
}

/* No mul is asked for: the scale may be absent, stand after the product, or be folded into weights. */
static bool explicit_site(const assay_program_1 *p, const assay_p_op *op, site *s) {
    if (!conversion_type_is(p, op, "softmax") || !p->op_arg(op, "x", 0)) return false;
    const assay_p_op *scores = conversion_product_behind(p, p->op_arg(op, "x", 0), &s->scores);
    const assay_p_op *mix = scores ? conversion_product_ahead(p, p->op_output(op, 0), &s->value) : NULL;
    if (!mix) return false;
    conversion_is_product(p, scores, &s->query, &s->key);
    s->out = p->op_output(mix, 0);
    return true;
}

bool conversion_find_sites(const assay_program_1 *p, arm *a) {
    a->n_sites = 0;
    a->sites = calloc(SITES_MAX, sizeof *a->sites);
    if (!a->sites) return false;
    for (uint32_t i = 0; i < p->op_count(a->fn) && a->n_sites < SITES_MAX; i++) {
        const assay_p_op *op = p->op(a->fn, i);
        site *s = &a->sites[a->n_sites];
        memset(s, 0, sizeof *s);
        if (!p->op_reachable(op) || !(fused_site(p, op, s) || explicit_site(p, op, s))) continue;
        s->op = op;
        finish(p, a->fn, s);
        a->n_sites++;
    }
    return true;
}
