/* Messages of types and constants. */
#include "program/write.h"
#include <stdlib.h>
#include <string.h>

/* ---- types */
static Mil__Dimension *encode_dim(assay_encoder *e, int64_t n) {
    Mil__Dimension *d = ASSAY_MSG(e, Dimension, MIL__DIMENSION__INIT);
    if (n >= 0) {
        d->what_case = MIL__DIMENSION__WHAT_CONSTANT;
        d->constant = ASSAY_MSG(e, ConstantDimension, MIL__CONSTANT_DIMENSION__INIT);
        d->constant->size = (uint64_t)n;
    } else {
        d->what_case = MIL__DIMENSION__WHAT_UNKNOWN;
        d->unknown = ASSAY_MSG(e, UnknownDimension, MIL__UNKNOWN_DIMENSION__INIT);
        d->unknown->variadic = n == ASSAY_DIM_VARIADIC;
    }
    return d;
}

static Mil__TensorType *encode_tensor_type(assay_encoder *e, const assay_mil_type *t) {
    Mil__TensorType *m = ASSAY_MSG(e, TensorType, MIL__TENSOR_TYPE__INIT);
    m->data_type = t->dtype;
    m->rank = (int64_t)t->rank;
    m->n_dimensions = t->rank;
    m->dimensions = assay_arena_alloc(e->arena, (t->rank + 1) * sizeof *m->dimensions);
    for (uint32_t i = 0; i < t->rank; i++) m->dimensions[i] = encode_dim(e, t->dims[i]);
    return m;
}

static Mil__ValueType *encode_type(assay_encoder *e, const assay_mil_type *t);

static Mil__ValueType **encode_subs(assay_encoder *e, const assay_mil_type *t) {
    Mil__ValueType **subs = assay_arena_alloc(e->arena, (t->n_sub + 1) * sizeof *subs);
    for (uint32_t i = 0; i < t->n_sub; i++) subs[i] = encode_type(e, t->sub[i]);
    return subs;
}

static Mil__ValueType *encode_type(assay_encoder *e, const assay_mil_type *t) {
    Mil__ValueType *m = ASSAY_MSG(e, ValueType, MIL__VALUE_TYPE__INIT);
    Mil__ValueType **subs = encode_subs(e, t);
    switch (t->kind) {
    case ASSAY_TYPE_TENSOR:
        m->kind_case = MIL__VALUE_TYPE__KIND_TENSOR;
        m->tensor = encode_tensor_type(e, t);
        break;
    case ASSAY_TYPE_LIST:
        m->kind_case = MIL__VALUE_TYPE__KIND_LIST;
        m->list = ASSAY_MSG(e, ListType, MIL__LIST_TYPE__INIT);
        m->list->type = subs[0];
        m->list->length = encode_dim(e, t->length);
        break;
    case ASSAY_TYPE_TUPLE:
        m->kind_case = MIL__VALUE_TYPE__KIND_TUPLE;
        m->tuple = ASSAY_MSG(e, TupleType, MIL__TUPLE_TYPE__INIT);
        m->tuple->n_types = t->n_sub;
        m->tuple->types = subs;
        break;
    case ASSAY_TYPE_DICT:
        m->kind_case = MIL__VALUE_TYPE__KIND_DICT;
        m->dict = ASSAY_MSG(e, DictType, MIL__DICT_TYPE__INIT);
        m->dict->key = subs[0];
        m->dict->value = subs[1];
        break;
    default:
        m->kind_case = MIL__VALUE_TYPE__KIND_STATE;
        m->state = ASSAY_MSG(e, StateType, MIL__STATE_TYPE__INIT);
        m->state->wrapped = subs[0];
        break;
    }
    return m;
}

ProtobufCBinaryData assay_encode_type(assay_encoder *e, const assay_mil_type *t) {
    const Mil__ValueType *m = encode_type(e, t);
    ProtobufCBinaryData out = { .len = mil__value_type__get_packed_size(m) };
    out.data = assay_arena_alloc(e->arena, out.len + 1);
    mil__value_type__pack(m, out.data);
    return out;
}

/* ---- immediate tensors (formats/mlpackage.md section 5: which field holds which type) */
static void *converted(assay_encoder *e, int32_t to, int32_t from, const void *data, size_t n) {
    void *out = assay_arena_alloc(e->arena, (n + 1) * assay_dtype_size(to));
    if (n) assay_convert(to, out, from, data, n);
    return out;
}

static void encode_bools(assay_encoder *e, Mil__TensorValue *m, const uint8_t *data, size_t n) {
    m->what_case = MIL__TENSOR_VALUE__WHAT_BOOLS;
    m->bools = ASSAY_MSG(e, Bools, MIL__BOOLS__INIT);
    m->bools->n_values = n;
    m->bools->values = assay_arena_alloc(e->arena, (n + 1) * sizeof *m->bools->values);
    for (size_t i = 0; i < n; i++) m->bools->values[i] = data[i] != 0;
}

static void encode_ints(assay_encoder *e, Mil__TensorValue *m, int32_t dtype, const void *data, size_t n) {
    m->what_case = MIL__TENSOR_VALUE__WHAT_INTS;
    m->ints = ASSAY_MSG(e, Ints, MIL__INTS__INIT);
    m->ints->n_values = n;
    m->ints->values = converted(e, ASSAY_I32, dtype, data, n);
}

static void encode_bytes(assay_encoder *e, Mil__TensorValue *m, const void *data, size_t n) {
    m->what_case = MIL__TENSOR_VALUE__WHAT_BYTES;
    m->bytes = ASSAY_MSG(e, Bytes, MIL__BYTES__INIT);
    m->bytes->values.len = n;
    m->bytes->values.data = (uint8_t *)(uintptr_t)data;
}

static Mil__TensorValue *encode_data(assay_encoder *e, const assay_mil_const *c) {
    Mil__TensorValue *m = ASSAY_MSG(e, TensorValue, MIL__TENSOR_VALUE__INIT);
    size_t n = (size_t)assay_type_count(c->type);
    switch (c->type->dtype) {
    case ASSAY_MIL_BOOL: encode_bools(e, m, c->data, n); break;
    case ASSAY_MIL_FP32:
        m->what_case = MIL__TENSOR_VALUE__WHAT_FLOATS;
        m->floats = ASSAY_MSG(e, Floats, MIL__FLOATS__INIT);
        m->floats->n_values = n;
        m->floats->values = converted(e, ASSAY_F32, ASSAY_F32, c->data, n);
        break;
    case ASSAY_MIL_FP64:
        m->what_case = MIL__TENSOR_VALUE__WHAT_DOUBLES;
        m->doubles = ASSAY_MSG(e, Doubles, MIL__DOUBLES__INIT);
        m->doubles->n_values = n;
        m->doubles->values = converted(e, ASSAY_F64, ASSAY_F64, c->data, n);
        break;
    case ASSAY_MIL_INT16: encode_ints(e, m, ASSAY_I16, c->data, n); break;
    case ASSAY_MIL_UINT16: encode_ints(e, m, ASSAY_U16, c->data, n); break;
    case ASSAY_MIL_INT32: encode_ints(e, m, ASSAY_I32, c->data, n); break;
    case ASSAY_MIL_INT64: case ASSAY_MIL_UINT64:
        m->what_case = MIL__TENSOR_VALUE__WHAT_LONGS;
        m->longs = ASSAY_MSG(e, Longs, MIL__LONGS__INIT);
        m->longs->n_values = n;
        m->longs->values = converted(e, ASSAY_I64, ASSAY_I64, c->data, n);
        break;
    default: encode_bytes(e, m, c->data, c->nbytes); break;
    }
    return m;
}

static Mil__TensorValue *encode_strings(assay_encoder *e, const assay_mil_const *c) {
    Mil__TensorValue *m = ASSAY_MSG(e, TensorValue, MIL__TENSOR_VALUE__INIT);
    m->what_case = MIL__TENSOR_VALUE__WHAT_STRINGS;
    m->strings = ASSAY_MSG(e, Strings, MIL__STRINGS__INIT);
    m->strings->n_values = c->n_strings;
    m->strings->values = (char **)(uintptr_t)c->strings;
    return m;
}

/* ---- lists, tuples, dictionaries */
static Mil__ItemList *encode_list(assay_encoder *e, const assay_mil_const *c) {
    Mil__ItemList *l = ASSAY_MSG(e, ItemList, MIL__ITEM_LIST__INIT);
    l->n_values = c->n_items;
    l->values = assay_arena_alloc(e->arena, (c->n_items + 1) * sizeof *l->values);
    for (size_t i = 0; i < c->n_items; i++) l->values[i] = assay_encode_const(e, c->items[i]);
    return l;
}

static Mil__DictValue *encode_dict(assay_encoder *e, const assay_mil_const *c) {
    Mil__DictValue *d = ASSAY_MSG(e, DictValue, MIL__DICT_VALUE__INIT);
    d->n_values = c->n_items / 2;
    d->values = assay_arena_alloc(e->arena, (d->n_values + 1) * sizeof *d->values);
    for (size_t i = 0; i < d->n_values; i++) {
        d->values[i] = ASSAY_MSG(e, DictEntry, MIL__DICT_ENTRY__INIT);
        d->values[i]->key = assay_encode_const(e, c->items[2 * i]);
        d->values[i]->value = assay_encode_const(e, c->items[2 * i + 1]);
    }
    return d;
}

static Mil__Immediate *encode_immediate(assay_encoder *e, const assay_mil_const *c) {
    Mil__Immediate *m = ASSAY_MSG(e, Immediate, MIL__IMMEDIATE__INIT);
    if (c->kind == ASSAY_CONST_ITEMS && c->type->kind == ASSAY_TYPE_DICT) {
        m->what_case = MIL__IMMEDIATE__WHAT_DICT;
        m->dict = encode_dict(e, c);
    } else if (c->kind == ASSAY_CONST_ITEMS && c->type->kind == ASSAY_TYPE_TUPLE) {
        m->what_case = MIL__IMMEDIATE__WHAT_TUPLE;
        m->tuple = encode_list(e, c);
    } else if (c->kind == ASSAY_CONST_ITEMS) {
        m->what_case = MIL__IMMEDIATE__WHAT_LIST;
        m->list = encode_list(e, c);
    } else {
        m->what_case = MIL__IMMEDIATE__WHAT_TENSOR;
        m->tensor = c->kind == ASSAY_CONST_STRINGS ? encode_strings(e, c) : encode_data(e, c);
    }
    return m;
}

Mil__Value *assay_encode_const(assay_encoder *e, const assay_mil_const *c) {
    Mil__Value *v = ASSAY_MSG(e, Value, MIL__VALUE__INIT);
    v->type = assay_encode_type(e, c->type);
    if (assay_blob_wants(c, e->spec)) {
        v->what_case = MIL__VALUE__WHAT_BLOB;
        v->blob = ASSAY_MSG(e, BlobFile, MIL__BLOB_FILE__INIT);
        v->blob->file = (char *)(uintptr_t)"@model_path/weights/weight.bin";
        v->blob->offset = assay_blob_plan_add(e->blobs, c);
    } else {
        v->what_case = MIL__VALUE__WHAT_IMMEDIATE;
        v->immediate = encode_immediate(e, c);
    }
    return v;
}

static int by_key(const void *a, const void *b) {
    const assay_mil_attr *x = a, *y = b;
    return strcmp(x->key, y->key);
}

void assay_encode_attrs(assay_encoder *e, const assay_mil_attr *attrs, uint32_t n, Mil__ValueEntry ***out, size_t *n_out) {
    assay_mil_attr *sorted = assay_arena_alloc(e->arena, (n + 1) * sizeof *sorted);
    if (n) memcpy(sorted, attrs, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_key);    /* before the values: their order decides the places in the weight file */
    *out = assay_arena_alloc(e->arena, (n + 1) * sizeof **out);
    *n_out = n;
    for (uint32_t i = 0; i < n; i++) {
        Mil__ValueEntry *m = (*out)[i] = ASSAY_MSG(e, ValueEntry, MIL__VALUE_ENTRY__INIT);
        m->key = (char *)(uintptr_t)sorted[i].key;
        m->value = assay_encode_const(e, sorted[i].value);
    }
}
