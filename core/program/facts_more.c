/* Facts beyond the census: attention sites, ops that only move elements, compression of each layer, converter versions. */
#include "program/facts_more.h"
#include "program/optable.h"
#include "program/sites.h"
#include "base/names.h"
#include <stdlib.h>
#include <string.h>

/* ---- attention */
static const char *name_of(const assay_mil_value *v) { return v ? v->name : NULL; }

static assay_json *site_json(const assay_site *s) {
    assay_json *j = assay_json_object();
    assay_json_set_string(j, "op", s->op->n_outs ? s->op->outs[0]->name : "");
    assay_json_set_string(j, "type", s->op->type);
    assay_json *words = assay_json_set(j, "spelling", assay_json_array());
    for (uint32_t i = 0; i < ASSAY_SITE_KINDS; i++)
        if (s->spelling & 1u << i) assay_json_append(words, assay_json_new_string(assay_site_word(1u << i)));
    assay_json_set_string(j, "query", name_of(s->query));
    assay_json_set_string(j, "key", name_of(s->key));
    assay_json_set_string(j, "value", name_of(s->value));
    assay_json_set_string(j, "output", name_of(s->out));
    if (s->mask) assay_json_set_string(j, "mask", s->mask->name);
    if (s->spelling & (ASSAY_SITE_SCALE_Q | ASSAY_SITE_SCALE_K | ASSAY_SITE_SCALE_AFTER))
        assay_json_set_number(j, "scale", s->scale);
    assay_json_set_bool(j, "reachable", s->reachable);
    return j;
}

assay_json *assay_sites_json(const assay_mil_function *f) {
    assay_json *list = assay_json_array();
    size_t n;
    assay_site *s = assay_sites_find(f, &n);
    for (size_t i = 0; i < n; i++) assay_json_append(list, site_json(&s[i]));
    free(s);
    return list;
}

/* ---- ops that only move elements */
assay_json *assay_layout_json(const assay_mil_function *f) {
    assay_json *j = assay_json_object();
    for (uint32_t i = 0; i < f->n_all_ops; i++) {
        const assay_mil_op *op = f->all_ops[i];
        const assay_op_def *d = assay_optable_find(op->type);
        if (op->reachable && d && (d->flags & ASSAY_OP_LAYOUT))
            assay_json_set_int(j, op->type, assay_json_int(j, op->type, 0) + 1);
    }
    return j;
}

/* ---- compression: what is stored for each decoded weight, whatever the scheme */
static uint64_t const_bytes(const assay_mil_const *c) {
    int64_t n = assay_type_count(c->type);
    uint32_t bits = c->type->kind == ASSAY_TYPE_TENSOR ? assay_mil_dtype_bits(c->type->dtype) : 0;
    return n > 0 ? ((uint64_t)n * bits + 7) / 8 : 0;
}

/* Constants that reach the op, through others of its kind. */
static uint64_t stored_bytes(const assay_mil_op *op, int depth) {
    uint64_t n = 0;
    for (uint32_t i = 0; i < op->n_attrs; i++) n += const_bytes(op->attrs[i].value);
    for (uint32_t a = 0; a < op->n_args; a++)
        for (uint32_t i = 0; i < op->args[a].n; i++) {
            const assay_mil_binding *b = &op->args[a].items[i];
            const assay_mil_const *c = b->literal ? b->literal : assay_value_const(b->value);
            if (c)
                n += const_bytes(c);
            else if (b->value && b->value->producer && depth < 8)
                n += stored_bytes(b->value->producer, depth + 1);
        }
    return n;
}

static bool is_decoder(const assay_mil_op *op) {
    const assay_op_def *d = assay_optable_find(op->type);
    return op->n_outs == 1 && d && (d->flags & ASSAY_OP_CONSTEXPR);
}

static bool feeds_decoder(const assay_mil_op *op) {
    for (uint32_t i = 0; i < op->outs[0]->n_users; i++)
        if (is_decoder(op->outs[0]->users[i])) return true;
    return false;
}

assay_json *assay_compression_json(const assay_mil_function *f) {
    assay_json *list = assay_json_array();
    for (uint32_t i = 0; i < f->n_all_ops; i++) {
        const assay_mil_op *op = f->all_ops[i];
        if (!is_decoder(op) || feeds_decoder(op)) continue;
        int64_t n = assay_type_count(op->outs[0]->type);
        assay_json *j = assay_json_append(list, assay_json_object());
        assay_json_set_string(j, "weight", op->outs[0]->name);
        assay_json_set_string(j, "scheme", op->type);
        assay_json_set_int(j, "elements", n);
        assay_json_set_int(j, "stored_bytes", (int64_t)stored_bytes(op, 0));
        if (n > 0) assay_json_set_number(j, "bits_per_element", 8.0 * (double)stored_bytes(op, 0) / (double)n);
        assay_json *users = assay_json_set(j, "layers", assay_json_array());
        for (uint32_t k = 0; k < op->outs[0]->n_users; k++) {
            const assay_mil_op *u = op->outs[0]->users[k];
            assay_json_append(users, assay_json_new_string(u->n_outs ? u->outs[0]->name : u->type));
        }
    }
    return list;
}

/* ---- versions: the model's metadata, and buildInfo of the program */
static void add_build_info(assay_json *j, const assay_mil_const *c) {
    for (uint64_t i = 0; c && c->kind == ASSAY_CONST_ITEMS && i + 1 < c->n_items; i += 2) {
        const assay_mil_const *k = c->items[i], *v = c->items[i + 1];
        if (k->kind == ASSAY_CONST_STRINGS && v->kind == ASSAY_CONST_STRINGS && k->n_strings == 1 && v->n_strings == 1)
            assay_json_set_string(j, k->strings[0], v->strings[0]);
    }
}

assay_json *assay_versions_json(const assay_program *p) {
    static const char prefix[] = "com.github.apple.coremltools.";
    assay_json *j = assay_json_object();
    for (uint32_t i = 0; i < p->n_metadata; i++)
        if (assay_starts_with(p->metadata[i].key, prefix))
            assay_json_set_string(j, p->metadata[i].key + strlen(prefix), p->metadata[i].value);
    for (uint32_t i = 0; i < p->n_attrs; i++)
        if (!strcmp(p->attrs[i].key, "buildInfo")) add_build_info(j, p->attrs[i].value);
    return j;
}
