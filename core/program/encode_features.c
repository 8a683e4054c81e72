/* Messages of the model's description. */
#include "program/write.h"
#include <string.h>

static char *text(const char *s) { return (char *)(uintptr_t)(s ? s : ""); }

static int32_t array_code(int32_t dtype) {
    switch (dtype) {
    case ASSAY_F32: return 65568;
    case ASSAY_F64: return 65600;
    case ASSAY_F16: return 65552;
    case ASSAY_I32: return 131104;
    case ASSAY_I8: return 131080;
    default: return 0;
    }
}

static Mil__SizeRange *encode_range(assay_encoder *e, const int64_t range[2]) {
    Mil__SizeRange *m = ASSAY_MSG(e, SizeRange, MIL__SIZE_RANGE__INIT);
    m->lower = (uint64_t)range[0];
    m->upper = range[1];
    return m;
}

static Mil__ShapeRange *encode_ranges(assay_encoder *e, const assay_feature *f) {
    Mil__ShapeRange *m = ASSAY_MSG(e, ShapeRange, MIL__SHAPE_RANGE__INIT);
    m->n_sizes = f->n_ranges;
    m->sizes = assay_arena_alloc(e->arena, (f->n_ranges + 1) * sizeof *m->sizes);
    for (uint32_t i = 0; i < f->n_ranges; i++) m->sizes[i] = encode_range(e, f->ranges[i]);
    return m;
}

static Mil__ShapeList *encode_shapes(assay_encoder *e, const assay_feature *f) {
    Mil__ShapeList *m = ASSAY_MSG(e, ShapeList, MIL__SHAPE_LIST__INIT);
    m->n_shapes = f->n_shapes;
    m->shapes = assay_arena_alloc(e->arena, (f->n_shapes + 1) * sizeof *m->shapes);
    for (uint32_t i = 0; i < f->n_shapes; i++) {
        m->shapes[i] = ASSAY_MSG(e, Shape, MIL__SHAPE__INIT);
        m->shapes[i]->n_shape = f->rank;
        m->shapes[i]->shape = assay_arena_copy(e->arena, f->shapes[i], sizeof f->shapes[i]);
    }
    return m;
}

/* `scalar_as_one`: an input of rank 0 is described as [1] (mlpackage.md section 7). */
static Mil__ArrayFeature *encode_array(assay_encoder *e, const assay_feature *f, bool scalar_as_one) {
    static const int64_t one = 1;
    Mil__ArrayFeature *m = ASSAY_MSG(e, ArrayFeature, MIL__ARRAY_FEATURE__INIT);
    m->data_type = array_code(f->dtype);
    bool scalar = scalar_as_one && f->rank == 0 && !f->flexible;
    m->n_shape = scalar ? 1 : f->rank;
    m->shape = assay_arena_copy(e->arena, scalar ? &one : f->shape, (scalar ? 1 : ASSAY_RANK_MAX) * sizeof *m->shape);
    if (f->flexible == 1) {
        m->flexible_case = MIL__ARRAY_FEATURE__FLEXIBLE_RANGE;
        m->range = encode_ranges(e, f);
    } else if (f->flexible == 2) {
        m->flexible_case = MIL__ARRAY_FEATURE__FLEXIBLE_ENUMERATED;
        m->enumerated = encode_shapes(e, f);
    }
    return m;
}

static Mil__ImageSizes *encode_sizes(assay_encoder *e, const assay_feature *f) {
    Mil__ImageSizes *m = ASSAY_MSG(e, ImageSizes, MIL__IMAGE_SIZES__INIT);
    m->n_sizes = f->n_shapes;
    m->sizes = assay_arena_alloc(e->arena, (f->n_shapes + 1) * sizeof *m->sizes);
    for (uint32_t i = 0; i < f->n_shapes; i++) {
        m->sizes[i] = ASSAY_MSG(e, ImageSize, MIL__IMAGE_SIZE__INIT);
        m->sizes[i]->width = (uint64_t)f->shapes[i][0];
        m->sizes[i]->height = (uint64_t)f->shapes[i][1];
    }
    return m;
}

static Mil__ImageFeature *encode_image(assay_encoder *e, const assay_feature *f) {
    Mil__ImageFeature *m = ASSAY_MSG(e, ImageFeature, MIL__IMAGE_FEATURE__INIT);
    m->width = f->width;
    m->height = f->height;
    m->color_space = f->color_space;
    if (f->flexible == 1) {
        m->flexible_case = MIL__IMAGE_FEATURE__FLEXIBLE_RANGE;
        m->range = ASSAY_MSG(e, ImageRange, MIL__IMAGE_RANGE__INIT);
        m->range->width = encode_range(e, f->ranges[0]);
        m->range->height = encode_range(e, f->ranges[1]);
    } else if (f->flexible == 2) {
        m->flexible_case = MIL__IMAGE_FEATURE__FLEXIBLE_ENUMERATED;
        m->enumerated = encode_sizes(e, f);
    }
    return m;
}

static Mil__FeatureType *encode_type(assay_encoder *e, const assay_feature *f, bool input) {
    Mil__FeatureType *t = ASSAY_MSG(e, FeatureType, MIL__FEATURE_TYPE__INIT);
    Mil__Nothing *nothing = ASSAY_MSG(e, Nothing, MIL__NOTHING__INIT);
    t->optional = f->optional;
    switch (f->kind) {
    case ASSAY_FEATURE_IMAGE: t->kind_case = MIL__FEATURE_TYPE__KIND_IMAGE; t->image = encode_image(e, f); break;
    case ASSAY_FEATURE_INT64: t->kind_case = MIL__FEATURE_TYPE__KIND_INT64; t->int64 = nothing; break;
    case ASSAY_FEATURE_DOUBLE: t->kind_case = MIL__FEATURE_TYPE__KIND_REAL; t->real = nothing; break;
    case ASSAY_FEATURE_STRING: t->kind_case = MIL__FEATURE_TYPE__KIND_TEXT; t->text = nothing; break;
    case ASSAY_FEATURE_SEQUENCE: t->kind_case = MIL__FEATURE_TYPE__KIND_SEQUENCE; t->sequence = nothing; break;
    case ASSAY_FEATURE_DICT:
        t->kind_case = MIL__FEATURE_TYPE__KIND_DICT;
        t->dict = ASSAY_MSG(e, DictFeature, MIL__DICT_FEATURE__INIT);
        t->dict->key_case = f->dict_int64 ? MIL__DICT_FEATURE__KEY_INT64_KEY : MIL__DICT_FEATURE__KEY_TEXT_KEY;
        t->dict->text_key = nothing;
        break;
    case ASSAY_FEATURE_STATE:
        t->kind_case = MIL__FEATURE_TYPE__KIND_STATE;
        t->state = ASSAY_MSG(e, StateFeature, MIL__STATE_FEATURE__INIT);
        t->state->array = encode_array(e, f, false);
        break;
    default:
        t->kind_case = MIL__FEATURE_TYPE__KIND_ARRAY;
        t->array = encode_array(e, f, input);
        break;
    }
    return t;
}

static Mil__Feature **encode_features(assay_encoder *e, const assay_feature *list, uint32_t n, bool input) {
    Mil__Feature **out = assay_arena_alloc(e->arena, (n + 1) * sizeof *out);
    for (uint32_t i = 0; i < n; i++) {
        out[i] = ASSAY_MSG(e, Feature, MIL__FEATURE__INIT);
        out[i]->name = text(list[i].name);
        out[i]->description = text(list[i].description);
        out[i]->type = encode_type(e, &list[i], input);
    }
    return out;
}

static void encode_main(assay_encoder *e, const assay_signature *s, Mil__Description *d) {
    d->n_input = s->n_inputs;
    d->input = encode_features(e, s->inputs, s->n_inputs, true);
    d->n_output = s->n_outputs;
    d->output = encode_features(e, s->outputs, s->n_outputs, false);
    d->n_state = s->n_states;
    d->state = encode_features(e, s->states, s->n_states, false);
    d->predicted_feature = text(s->predicted_feature);
    d->predicted_probabilities = text(s->predicted_probabilities);
}

static Mil__FunctionDescription *encode_function(assay_encoder *e, const assay_signature *s) {
    Mil__FunctionDescription *d = ASSAY_MSG(e, FunctionDescription, MIL__FUNCTION_DESCRIPTION__INIT);
    d->name = text(s->name);
    d->n_input = s->n_inputs;
    d->input = encode_features(e, s->inputs, s->n_inputs, true);
    d->n_output = s->n_outputs;
    d->output = encode_features(e, s->outputs, s->n_outputs, false);
    d->n_state = s->n_states;
    d->state = encode_features(e, s->states, s->n_states, false);
    d->predicted_feature = text(s->predicted_feature);
    d->predicted_probabilities = text(s->predicted_probabilities);
    return d;
}

/* The four that have fields of their own; everything else is user-defined. */
static char **own_field(Mil__Metadata *m, const char *key) {
    if (!strcmp(key, "shortDescription")) return &m->short_description;
    if (!strcmp(key, "versionString")) return &m->version;
    if (!strcmp(key, "author")) return &m->author;
    if (!strcmp(key, "license")) return &m->license;
    return NULL;
}

static Mil__Metadata *encode_metadata(assay_encoder *e) {
    const assay_program *p = e->p;
    Mil__Metadata *m = ASSAY_MSG(e, Metadata, MIL__METADATA__INIT);
    m->user = assay_arena_alloc(e->arena, (p->n_metadata + 1) * sizeof *m->user);
    for (uint32_t i = 0; i < p->n_metadata; i++) {
        char **own = own_field(m, p->metadata[i].key);
        if (own) { *own = text(p->metadata[i].value); continue; }
        Mil__TextEntry *t = m->user[m->n_user++] = ASSAY_MSG(e, TextEntry, MIL__TEXT_ENTRY__INIT);
        t->key = text(p->metadata[i].key);
        t->value = text(p->metadata[i].value);
    }
    return m;
}

Mil__Description *assay_encode_description(assay_encoder *e) {
    const assay_program *p = e->p;
    Mil__Description *d = ASSAY_MSG(e, Description, MIL__DESCRIPTION__INIT);
    if (p->n_metadata) d->metadata = encode_metadata(e);
    if (p->n_signatures == 1 && !p->signatures[0].name) {
        encode_main(e, &p->signatures[0], d);
        return d;
    }
    d->default_function = text(p->default_function);
    d->n_functions = p->n_signatures;
    d->functions = assay_arena_alloc(e->arena, (p->n_signatures + 1) * sizeof *d->functions);
    for (uint32_t i = 0; i < p->n_signatures; i++) d->functions[i] = encode_function(e, &p->signatures[i]);
    return d;
}
