/* Types and constants from their messages. */
#include "program/read.h"
#include "program/wire.h"
#include "tensor/dtype.h"
#include <string.h>

enum { MAX_KEYS = 1024, MAX_TUPLE = 4096 };

const char *assay_read_text(assay_reader *r, const char *s) { return s ? assay_arena_strdup(r->p->arena, s) : NULL; }

const char *assay_read_word(assay_reader *r, const char *s) {
    uint32_t h = 0;
    for (const char *c = s; *c; c++) h = h * 31 + (unsigned char)*c;
    const char **slot = &r->words[(h ^ h >> 6) & 63];
    if (!*slot || strcmp(*slot, s)) *slot = assay_read_text(r, s);
    return *slot;
}

/* ---- types */
static bool read_dim(const Mil__Dimension *d, int64_t *out) {
    if (d && d->what_case == MIL__DIMENSION__WHAT_UNKNOWN) {
        *out = d->unknown->variadic ? ASSAY_DIM_VARIADIC : ASSAY_DIM_UNKNOWN;
        return true;
    }
    *out = 0;                                    /* an absent size is 0 */
    if (!d || d->what_case != MIL__DIMENSION__WHAT_CONSTANT) return true;
    if (d->constant->size > INT64_MAX) return false;
    *out = (int64_t)d->constant->size;
    return true;
}

static bool read_tensor_type(assay_reader *r, const Mil__TensorType *t, assay_mil_type *out) {
    out->kind = ASSAY_TYPE_TENSOR;
    out->dtype = t->data_type;
    if (!assay_mil_dtype_name(t->data_type)) {
        assay_fail(r->err, ASSAY_E_TYPE, "unknown data type code %d", t->data_type);
        return false;
    }
    if (t->n_dimensions > ASSAY_RANK_MAX) {
        assay_fail(r->err, ASSAY_E_UNSUPPORTED, "a tensor of rank %zu; at most %d is read", t->n_dimensions, ASSAY_RANK_MAX);
        return false;
    }
    out->rank = (uint32_t)t->n_dimensions;
    bool variadic = false;
    for (uint32_t i = 0; i < out->rank; i++) {
        if (!read_dim(t->dimensions[i], &out->dims[i])) {
            assay_fail(r->err, ASSAY_E_INPUT, "a dimension is larger than 2^63-1");
            return false;
        }
        variadic |= out->dims[i] == ASSAY_DIM_VARIADIC;
    }
    if (t->rank != (int64_t)out->rank && !variadic) {
        assay_fail(r->err, ASSAY_E_TYPE, "the type says rank %lld but has %u dimensions", (long long)t->rank, out->rank);
        return false;
    }
    return true;
}

static const assay_mil_type *read_type(assay_reader *r, const Mil__ValueType *t);

static bool read_subs(assay_reader *r, assay_mil_type *out, int32_t kind, Mil__ValueType *const *subs, size_t n) {
    out->kind = kind;
    if (n > MAX_TUPLE) { assay_fail(r->err, ASSAY_E_INPUT, "a tuple of %zu types is too long", n); return false; }
    out->n_sub = (uint32_t)n;
    out->sub = assay_arena_alloc(r->p->arena, (n + 1) * sizeof *out->sub);
    for (size_t i = 0; i < n; i++)
        if (!(out->sub[i] = read_type(r, subs[i]))) return false;
    return true;
}

static const assay_mil_type *read_type(assay_reader *r, const Mil__ValueType *t) {
    assay_mil_type *out = assay_arena_alloc(r->p->arena, sizeof *out);
    bool ok = false;
    switch (t ? t->kind_case : MIL__VALUE_TYPE__KIND__NOT_SET) {
    case MIL__VALUE_TYPE__KIND_TENSOR: ok = read_tensor_type(r, t->tensor, out); break;
    case MIL__VALUE_TYPE__KIND_LIST:
        ok = read_subs(r, out, ASSAY_TYPE_LIST, &t->list->type, 1) && read_dim(t->list->length, &out->length);
        break;
    case MIL__VALUE_TYPE__KIND_TUPLE: ok = read_subs(r, out, ASSAY_TYPE_TUPLE, t->tuple->types, t->tuple->n_types); break;
    case MIL__VALUE_TYPE__KIND_DICT: {
        Mil__ValueType *const two[] = { t->dict->key, t->dict->value };
        ok = read_subs(r, out, ASSAY_TYPE_DICT, two, 2);
        break;
    }
    case MIL__VALUE_TYPE__KIND_STATE: ok = read_subs(r, out, ASSAY_TYPE_STATE, &t->state->wrapped, 1); break;
    default: assay_fail(r->err, ASSAY_E_TYPE, "a value has no type"); break;
    }
    return ok ? out : NULL;
}

static const assay_mil_type *unpack_type(assay_reader *r, const ProtobufCBinaryData *packed) {
    if (assay_wire_check(&mil__value_type__descriptor, packed->data, packed->len, "a type", r->err)) return NULL;
    assay_arena *passing = assay_arena_new();
    ProtobufCAllocator alloc = assay_arena_allocator(passing);
    const Mil__ValueType *m = mil__value_type__unpack(&alloc, packed->len, packed->data);
    const assay_mil_type *t = m ? read_type(r, m) : NULL;
    if (!m) assay_fail(r->err, ASSAY_E_INPUT, "a type cannot be decoded: the model is damaged");
    assay_arena_free(passing);
    return t;
}

/* A type whose bytes stood here before is used again. */
const assay_mil_type *assay_read_type(assay_reader *r, const ProtobufCBinaryData *packed) {
    uint32_t h = 0;
    if (!packed->len) {                          /* absent: its data is NULL */
        assay_fail(r->err, ASSAY_E_TYPE, "a value has no type");
        return NULL;
    }
    for (size_t i = 0; i < packed->len; i++) h = h * 31 + packed->data[i];
    assay_seen_type *slot = &r->types[(h ^ h >> 8) & 255];
    if (slot->type && slot->len == packed->len && !memcmp(slot->bytes, packed->data, packed->len)) return slot->type;
    const assay_mil_type *t = unpack_type(r, packed);
    if (t) *slot = (assay_seen_type){ t, assay_arena_copy(r->p->arena, packed->data, packed->len), packed->len };
    return t;
}

/* ---- immediate tensors */
typedef struct source { int32_t dtype; const void *data; size_t n; bool raw; } source;   /* raw: n bytes; else n elements of dtype */

static const void *pack_bools(assay_reader *r, const Mil__Bools *b) {
    uint8_t *out = assay_arena_alloc(r->p->arena, b->n_values + 1);
    for (size_t i = 0; i < b->n_values; i++) out[i] = b->values[i] != 0;
    return out;
}

static source source_of(assay_reader *r, const Mil__TensorValue *t) {
    switch (t->what_case) {
    case MIL__TENSOR_VALUE__WHAT_FLOATS: return (source){ ASSAY_F32, t->floats->values, t->floats->n_values, false };
    case MIL__TENSOR_VALUE__WHAT_INTS: return (source){ ASSAY_I32, t->ints->values, t->ints->n_values, false };
    case MIL__TENSOR_VALUE__WHAT_BOOLS: return (source){ ASSAY_BOOL, pack_bools(r, t->bools), t->bools->n_values, false };
    case MIL__TENSOR_VALUE__WHAT_LONGS: return (source){ ASSAY_I64, t->longs->values, t->longs->n_values, false };
    case MIL__TENSOR_VALUE__WHAT_DOUBLES: return (source){ ASSAY_F64, t->doubles->values, t->doubles->n_values, false };
    case MIL__TENSOR_VALUE__WHAT_BYTES: return (source){ 0, t->bytes->values.data, t->bytes->values.len, true };
    default: return (source){ 0 };
    }
}

/* Do all elements keep their value in dtype? Integers only: floats are rounded once, as the format's own writers do. */
static bool in_range(int32_t from, const void *data, size_t n, int32_t to) {
    int64_t back[64];
    unsigned char narrow[64 * 8];
    size_t size = assay_dtype_size(from);
    for (size_t i = 0; i < n;) {
        size_t k = n - i < 64 ? n - i : 64;
        int64_t wide[64];
        assay_convert(ASSAY_I64, wide, from, (const char *)data + i * size, k);
        assay_convert(to, narrow, ASSAY_I64, wide, k);
        assay_convert(ASSAY_I64, back, to, narrow, k);
        if (memcmp(wide, back, k * sizeof *wide)) return false;
        i += k;
    }
    return true;
}

static bool set_data(assay_reader *r, assay_mil_const *c, const source *s, uint64_t count) {
    int32_t want = assay_mil_to_dtype(c->type->dtype);
    const char *name = assay_mil_dtype_name(c->type->dtype);
    if (s->raw) {
        if (s->n != c->nbytes) {
            assay_fail(r->err, ASSAY_E_INPUT, "an immediate value has %zu bytes, its type %s[%llu] needs %llu", s->n, name,
                       (unsigned long long)count, (unsigned long long)c->nbytes);
            return false;
        }
        c->data = s->n ? assay_arena_copy(r->p->arena, s->data, s->n) : "";
        return true;
    }
    if (s->n != count) {
        assay_fail(r->err, ASSAY_E_INPUT, "an immediate value has %zu elements, its type %s needs %llu", s->n, name, (unsigned long long)count);
        return false;
    }
    if (!want || (want == ASSAY_BOOL) != (s->dtype == ASSAY_BOOL) || assay_dtype_is_float(want) != assay_dtype_is_float(s->dtype)) {
        assay_fail(r->err, ASSAY_E_TYPE, "an immediate value of type %s is stored as %s", name, assay_dtype_name(s->dtype));
        return false;
    }
    if (count == 0) { c->data = ""; return true; }
    bool same_bits = want == s->dtype || (want == ASSAY_U64 && s->dtype == ASSAY_I64);
    if (same_bits) { c->data = assay_arena_copy(r->p->arena, s->data, c->nbytes); return true; }
    if (assay_dtype_is_int(want) && !in_range(s->dtype, s->data, s->n, want)) {
        assay_fail(r->err, ASSAY_E_INPUT, "an immediate value does not fit into %s", name);
        return false;
    }
    void *data = assay_arena_alloc(r->p->arena, c->nbytes);
    assay_convert(want, data, s->dtype, s->data, s->n);
    c->data = data;
    return true;
}

static bool read_tensor(assay_reader *r, const Mil__TensorValue *t, assay_mil_const *c) {
    int64_t count = assay_type_count(c->type);
    uint64_t bits;
    if (count < 0 || __builtin_mul_overflow((uint64_t)count, (uint64_t)assay_mil_dtype_bits(c->type->dtype), &bits)) {
        assay_fail(r->err, ASSAY_E_TYPE, "a constant needs a tensor type of known size");
        return false;
    }
    if (c->type->dtype == ASSAY_MIL_STRING) {
        size_t n = t->what_case == MIL__TENSOR_VALUE__WHAT_STRINGS ? t->strings->n_values : 0;
        if (n != (uint64_t)count) {
            assay_fail(r->err, ASSAY_E_INPUT, "a string constant has %zu elements, its type needs %lld", n, (long long)count);
            return false;
        }
        c->kind = ASSAY_CONST_STRINGS;
        c->n_strings = n;
        const char **copies = assay_arena_alloc(r->p->arena, n * sizeof *copies);
        for (size_t i = 0; i < n; i++) copies[i] = assay_read_text(r, t->strings->values[i]);
        c->strings = copies;
        return true;
    }
    c->kind = ASSAY_CONST_DATA;
    c->nbytes = bits / 8 + (bits % 8 != 0);
    source s = source_of(r, t);
    if (!s.raw && !s.dtype && count == 0) { c->data = ""; return true; }
    if (!s.raw && !s.dtype) {
        assay_fail(r->err, ASSAY_E_INPUT, "a constant of type %s holds no values of that type", assay_mil_dtype_name(c->type->dtype));
        return false;
    }
    return set_data(r, c, &s, (uint64_t)count);
}

/* ---- lists, tuples, dictionaries */
static bool read_items(assay_reader *r, Mil__Value *const *values, size_t n, assay_mil_const *c) {
    c->kind = ASSAY_CONST_ITEMS;
    c->n_items = n;
    c->items = assay_arena_alloc(r->p->arena, (n + 1) * sizeof *c->items);
    for (size_t i = 0; i < n; i++)
        if (!(c->items[i] = assay_read_const(r, values[i]))) return false;
    return true;
}

static bool read_dict(assay_reader *r, const Mil__DictValue *d, assay_mil_const *c) {
    c->kind = ASSAY_CONST_ITEMS;
    c->n_items = 2 * d->n_values;
    c->items = assay_arena_alloc(r->p->arena, (c->n_items + 1) * sizeof *c->items);
    for (size_t i = 0; i < d->n_values; i++) {
        if (!(c->items[2 * i] = assay_read_const(r, d->values[i]->key))) return false;
        if (!(c->items[2 * i + 1] = assay_read_const(r, d->values[i]->value))) return false;
    }
    return true;
}

static bool read_immediate(assay_reader *r, const Mil__Immediate *m, assay_mil_const *c) {
    static const int32_t kinds[] = { 0, ASSAY_TYPE_TENSOR, ASSAY_TYPE_TUPLE, ASSAY_TYPE_LIST, ASSAY_TYPE_DICT };
    if (c->type->kind != kinds[m->what_case]) {
        char t[96];
        assay_fail(r->err, ASSAY_E_TYPE, "a value of type %s does not hold one", assay_type_text(c->type, t));
        return false;
    }
    if (m->what_case == MIL__IMMEDIATE__WHAT_TENSOR) return read_tensor(r, m->tensor, c);
    if (m->what_case == MIL__IMMEDIATE__WHAT_DICT) return read_dict(r, m->dict, c);
    const Mil__ItemList *l = m->what_case == MIL__IMMEDIATE__WHAT_TUPLE ? m->tuple : m->list;
    return read_items(r, l->values, l->n_values, c);
}

const assay_mil_const *assay_read_const(assay_reader *r, const Mil__Value *v) {
    assay_mil_const *c = assay_arena_alloc(r->p->arena, sizeof *c);
    if (!v || !(c->type = assay_read_type(r, &v->type))) {
        if (!v) assay_fail(r->err, ASSAY_E_INPUT, "a value is missing");
        return NULL;
    }
    if (v->what_case == MIL__VALUE__WHAT_IMMEDIATE) return read_immediate(r, v->immediate, c) ? c : NULL;
    if (v->what_case == MIL__VALUE__WHAT_BLOB)
        return assay_blob_resolve(r->p, r->model_dir, v->blob->file, v->blob->offset, c, r->err) ? NULL : c;
    assay_fail(r->err, ASSAY_E_INPUT, "a value is neither immediate nor in a weight file");
    return NULL;
}

assay_status assay_read_attrs(assay_reader *r, Mil__ValueEntry *const *list, size_t n, assay_mil_attr **out, uint32_t *n_out) {
    if (n > MAX_KEYS) return assay_fail(r->err, ASSAY_E_INPUT, "%zu attributes are too many", n);
    *out = assay_room(r->p, (uint32_t)n, sizeof **out);
    *n_out = 0;
    for (size_t i = 0; i < n; i++) {
        const assay_mil_const *c = assay_read_const(r, list[i]->value);
        if (!c) return assay_wrap(r->err, "attribute '%s'", list[i]->key);
        uint32_t k = 0;
        while (k < *n_out && strcmp((*out)[k].key, list[i]->key)) k++;
        (*out)[k] = (assay_mil_attr){ assay_read_word(r, list[i]->key), c };
        if (k == *n_out) (*n_out)++;
    }
    return ASSAY_OK;
}
