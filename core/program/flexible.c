/* Flexible input shapes of MIL text: the function attribute FlexibleShapeInformation, put into the description's features.
 * A tuple of two: ("DefaultShapes", {{"x", [1, 4]}}), and ("RangeDims", {{"x", [[1, 4], [4, 4]]}}) with a pair a dimension or
 * ("EnumeratedShapes", {{"<hash>", {{"x", [1]}}}, ...}). Anything else is left alone: the types say what is unknown. */
#include "program/internal.h"
#include <string.h>

static const assay_mil_const *item(const assay_mil_const *c, uint64_t i) {
    return c && c->kind == ASSAY_CONST_ITEMS && i < c->n_items ? c->items[i] : NULL;
}

static bool is_word(const assay_mil_const *c, const char *word) {
    return c && c->kind == ASSAY_CONST_STRINGS && c->n_strings == 1 && !strcmp(c->strings[0], word);
}

/* The value of a dictionary under a name. */
static const assay_mil_const *lookup(const assay_mil_const *dict, const char *name) {
    for (uint64_t i = 0; item(dict, 2 * i + 1); i++)
        if (is_word(item(dict, 2 * i), name)) return item(dict, 2 * i + 1);
    return NULL;
}

/* A vector of at most ASSAY_RANK_MAX sizes; -1 when it is none. */
static int read_sizes(const assay_mil_const *c, int64_t out[ASSAY_RANK_MAX]) {
    int64_t n = c && c->kind == ASSAY_CONST_DATA && c->type->rank <= 1 ? assay_type_count(c->type) : -1;
    if (n < 0 || n > ASSAY_RANK_MAX) return -1;
    for (int64_t i = 0; i < n; i++) {
        double v = assay_const_at(c, (uint64_t)i);
        if (!(v >= -1 && v <= 9007199254740992.0)) return -1;
        out[i] = (int64_t)v;
    }
    return (int)n;
}

static void set_default(assay_feature *f, const assay_mil_const *shapes) {
    int64_t sizes[ASSAY_RANK_MAX];
    int n = read_sizes(lookup(shapes, f->name), sizes);
    if (n < 0) return;
    f->rank = (uint32_t)n;
    memcpy(f->shape, sizes, sizeof sizes);
}

static void set_ranges(assay_program *p, assay_feature *f, const assay_mil_const *ranges) {
    const assay_mil_const *list = lookup(ranges, f->name);
    if (!list || list->kind != ASSAY_CONST_ITEMS || list->n_items > ASSAY_RANK_MAX) return;
    int64_t (*out)[2] = assay_arena_alloc(p->arena, (list->n_items + 1) * sizeof *out);
    for (uint64_t i = 0; i < list->n_items; i++) {
        int64_t pair[ASSAY_RANK_MAX];
        if (read_sizes(list->items[i], pair) != 2) return;
        out[i][0] = pair[0];
        out[i][1] = pair[1];
    }
    f->flexible = 1;
    f->ranges = out;
    f->n_ranges = (uint32_t)list->n_items;
}

static void set_shapes(assay_program *p, assay_feature *f, const assay_mil_const *sets) {
    int64_t (*out)[ASSAY_RANK_MAX] = assay_arena_alloc(p->arena, (sets->n_items / 2 + 1) * sizeof *out);
    uint32_t n = 0;
    for (uint64_t i = 0; item(sets, 2 * i + 1); i++)
        if (read_sizes(lookup(item(sets, 2 * i + 1), f->name), out[n]) == (int)f->rank) n++;
    if (n == 0) return;
    f->flexible = 2;
    f->shapes = out;
    f->n_shapes = n;
}

static void describe(assay_program *p, assay_feature *f, const assay_mil_const *info) {
    for (uint64_t i = 0; item(info, i); i++)
        if (is_word(item(item(info, i), 0), "DefaultShapes")) set_default(f, item(item(info, i), 1));
    for (uint64_t i = 0; item(info, i); i++) {
        const assay_mil_const *what = item(item(info, i), 0), *value = item(item(info, i), 1);
        if (is_word(what, "RangeDims")) set_ranges(p, f, value);
        if (is_word(what, "EnumeratedShapes") && value && value->kind == ASSAY_CONST_ITEMS) set_shapes(p, f, value);
    }
}

void assay_program_flexible(assay_program *p) {
    for (uint32_t i = 0; i < p->n_functions; i++) {
        const assay_mil_function *f = p->functions[i];
        assay_signature *s = assay_program_signature(p, f);
        for (uint32_t k = 0; s && k < f->n_attrs; k++)
            for (uint32_t j = 0; j < s->n_inputs && !strcmp(f->attrs[k].key, "FlexibleShapeInformation"); j++)
                describe(p, &s->inputs[j], f->attrs[k].value);
    }
}
