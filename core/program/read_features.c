/* The model's description: features, signatures of functions, metadata. */
#include "program/read.h"
#include <string.h>

/* ArrayFeatureType.dataType (formats/mlpackage.md section 2). */
static int32_t array_dtype(int32_t code) {
    switch (code) {
    case 65568: return ASSAY_F32;
    case 65600: return ASSAY_F64;
    case 65552: return ASSAY_F16;
    case 131104: return ASSAY_I32;
    case 131080: return ASSAY_I8;
    default: return 0;
    }
}

static assay_status read_shape(assay_reader *r, const int64_t *shape, size_t n, int64_t out[ASSAY_RANK_MAX], uint32_t *rank) {
    if (n > ASSAY_RANK_MAX) return assay_fail(r->err, ASSAY_E_UNSUPPORTED, "a shape of rank %zu; at most %d is read", n, ASSAY_RANK_MAX);
    for (size_t i = 0; i < n; i++) out[i] = shape[i];
    *rank = (uint32_t)n;
    return ASSAY_OK;
}

static int64_t clamped(uint64_t n) { return n > INT64_MAX ? INT64_MAX : (int64_t)n; }

static void read_range(const Mil__SizeRange *m, int64_t out[2]) {
    out[0] = m ? clamped(m->lower) : 0;
    out[1] = !m ? 0 : m->upper < 0 ? -1 : m->upper;   /* negative: no bound */
}

static assay_status read_ranges(assay_reader *r, const Mil__ShapeRange *range, assay_feature *f) {
    size_t n = range->n_sizes;
    if (n > ASSAY_RANK_MAX) return assay_fail(r->err, ASSAY_E_UNSUPPORTED, "shape ranges of rank %zu; at most %d is read", n, ASSAY_RANK_MAX);
    f->flexible = 1;
    f->n_ranges = (uint32_t)n;
    f->ranges = assay_arena_alloc(r->p->arena, (n + 1) * sizeof *f->ranges);
    for (size_t i = 0; i < n; i++) read_range(range->sizes[i], f->ranges[i]);
    return ASSAY_OK;
}

static assay_status read_shapes(assay_reader *r, const Mil__ShapeList *list, assay_feature *f) {
    f->flexible = 2;
    f->shapes = assay_arena_alloc(r->p->arena, (list->n_shapes + 1) * sizeof *f->shapes);
    for (size_t i = 0; i < list->n_shapes; i++) {
        uint32_t rank = 0;
        assay_status s = read_shape(r, list->shapes[i]->shape, list->shapes[i]->n_shape, f->shapes[i], &rank);
        if (s) return s;
        if (i && rank != f->rank) return assay_fail(r->err, ASSAY_E_INPUT, "enumerated shapes of different rank");
        f->rank = rank;
    }
    f->n_shapes = (uint32_t)list->n_shapes;
    return ASSAY_OK;
}

static assay_status read_array(assay_reader *r, const Mil__ArrayFeature *a, assay_feature *f) {
    if (!a) return ASSAY_OK;
    f->dtype = array_dtype(a->data_type);
    assay_status s = ASSAY_OK;
    if (a->flexible_case == MIL__ARRAY_FEATURE__FLEXIBLE_RANGE) s = read_ranges(r, a->range, f);
    if (a->flexible_case == MIL__ARRAY_FEATURE__FLEXIBLE_ENUMERATED) s = read_shapes(r, a->enumerated, f);
    return s ? s : read_shape(r, a->shape, a->n_shape, f->shape, &f->rank);
}

/* Sizes of an image are its width and height, as two ranges or as shapes of two. */
static void read_image(assay_reader *r, const Mil__ImageFeature *m, assay_feature *f) {
    f->width = m->width;
    f->height = m->height;
    f->color_space = m->color_space;
    if (m->flexible_case == MIL__IMAGE_FEATURE__FLEXIBLE_RANGE) {
        f->flexible = 1;
        f->n_ranges = 2;
        f->ranges = assay_arena_alloc(r->p->arena, 2 * sizeof *f->ranges);
        read_range(m->range->width, f->ranges[0]);
        read_range(m->range->height, f->ranges[1]);
    } else if (m->flexible_case == MIL__IMAGE_FEATURE__FLEXIBLE_ENUMERATED) {
        f->flexible = 2;
        f->n_shapes = (uint32_t)m->enumerated->n_sizes;
        f->shapes = assay_arena_alloc(r->p->arena, (f->n_shapes + 1) * sizeof *f->shapes);
        for (uint32_t i = 0; i < f->n_shapes; i++) {
            f->shapes[i][0] = clamped(m->enumerated->sizes[i]->width);
            f->shapes[i][1] = clamped(m->enumerated->sizes[i]->height);
        }
    }
}

static assay_status read_feature(assay_reader *r, const Mil__Feature *m, assay_feature *f) {
    f->name = assay_read_text(r, m->name);
    f->description = assay_read_text(r, m->description);
    const Mil__FeatureType *t = m->type;
    f->optional = t && t->optional;
    switch (t ? t->kind_case : MIL__FEATURE_TYPE__KIND__NOT_SET) {
    case MIL__FEATURE_TYPE__KIND_INT64: f->kind = ASSAY_FEATURE_INT64; return ASSAY_OK;
    case MIL__FEATURE_TYPE__KIND_REAL: f->kind = ASSAY_FEATURE_DOUBLE; return ASSAY_OK;
    case MIL__FEATURE_TYPE__KIND_TEXT: f->kind = ASSAY_FEATURE_STRING; return ASSAY_OK;
    case MIL__FEATURE_TYPE__KIND_IMAGE: f->kind = ASSAY_FEATURE_IMAGE; read_image(r, t->image, f); return ASSAY_OK;
    case MIL__FEATURE_TYPE__KIND_ARRAY: f->kind = ASSAY_FEATURE_TENSOR; return read_array(r, t->array, f);
    case MIL__FEATURE_TYPE__KIND_DICT:
        f->kind = ASSAY_FEATURE_DICT;
        f->dict_int64 = t->dict->key_case == MIL__DICT_FEATURE__KEY_INT64_KEY;
        return ASSAY_OK;
    case MIL__FEATURE_TYPE__KIND_SEQUENCE: f->kind = ASSAY_FEATURE_SEQUENCE; return ASSAY_OK;
    case MIL__FEATURE_TYPE__KIND_STATE: f->kind = ASSAY_FEATURE_STATE; return read_array(r, t->state->array, f);
    default: return assay_fail(r->err, ASSAY_E_INPUT, "the feature has no type");
    }
}

static assay_status read_features(assay_reader *r, Mil__Feature *const *list, size_t n, assay_feature **out, uint32_t *n_out) {
    *out = assay_arena_alloc(r->p->arena, (n + 1) * sizeof **out);
    *n_out = (uint32_t)n;
    for (size_t i = 0; i < n; i++)
        if (read_feature(r, list[i], &(*out)[i])) return assay_wrap(r->err, "description of '%s'", list[i]->name);
    return ASSAY_OK;
}

static const char *or_null(assay_reader *r, const char *s) { return s && *s ? assay_read_text(r, s) : NULL; }

static assay_status read_main(assay_reader *r, const Mil__Description *d, assay_signature *s) {
    s->predicted_feature = or_null(r, d->predicted_feature);
    s->predicted_probabilities = or_null(r, d->predicted_probabilities);
    assay_status st = read_features(r, d->input, d->n_input, &s->inputs, &s->n_inputs);
    if (!st) st = read_features(r, d->output, d->n_output, &s->outputs, &s->n_outputs);
    return st ? st : read_features(r, d->state, d->n_state, &s->states, &s->n_states);
}

static assay_status read_function(assay_reader *r, const Mil__FunctionDescription *d, assay_signature *s) {
    s->name = assay_read_text(r, d->name);
    s->predicted_feature = or_null(r, d->predicted_feature);
    s->predicted_probabilities = or_null(r, d->predicted_probabilities);
    assay_status st = read_features(r, d->input, d->n_input, &s->inputs, &s->n_inputs);
    if (!st) st = read_features(r, d->output, d->n_output, &s->outputs, &s->n_outputs);
    return st ? st : read_features(r, d->state, d->n_state, &s->states, &s->n_states);
}

static void add_metadata(assay_reader *r, const char *key, const char *value) {
    r->p->metadata[r->p->n_metadata].key = key;
    r->p->metadata[r->p->n_metadata++].value = assay_read_text(r, value);
}

static void read_metadata(assay_reader *r, const Mil__Metadata *m) {
    assay_program *p = r->p;
    p->metadata = assay_arena_alloc(p->arena, (m->n_user + 5) * sizeof *p->metadata);
    for (size_t i = 0; i < m->n_user; i++) add_metadata(r, assay_read_text(r, m->user[i]->key), m->user[i]->value);
    if (*m->short_description) add_metadata(r, "shortDescription", m->short_description);
    if (*m->version) add_metadata(r, "versionString", m->version);
    if (*m->author) add_metadata(r, "author", m->author);
    if (*m->license) add_metadata(r, "license", m->license);
}

assay_status assay_read_description(assay_reader *r, const Mil__Description *d) {
    assay_program *p = r->p;
    size_t n = d->n_functions ? d->n_functions : 1;
    p->signatures = assay_arena_alloc(p->arena, n * sizeof *p->signatures);
    p->n_signatures = (uint32_t)n;
    p->default_function = or_null(r, d->default_function);
    if (d->metadata) read_metadata(r, d->metadata);
    if (!d->n_functions) return read_main(r, d, &p->signatures[0]);
    for (size_t i = 0; i < n; i++)
        if (read_function(r, d->functions[i], &p->signatures[i])) return assay_wrap(r->err, "function '%s'", d->functions[i]->name);
    return ASSAY_OK;
}
