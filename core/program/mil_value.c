/* Types and values of MIL text, in both dialects: scalars bare or as tensors of rank 0. */
#include "program/mil_value.h"
#include "base/names.h"
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_KEYS = 1024, MAX_SUBS = 64 };

/* ---- types */
static assay_status parse_size(mil_parser *m, int64_t *out) {
    mil_lexer *x = &m->x;
    *out = ASSAY_DIM_UNKNOWN;
    if (mil_lex_take(x, '?')) return ASSAY_OK;
    if (mil_lex_take(x, '.')) {                  /* "..." : any number of dimensions */
        *out = ASSAY_DIM_VARIADIC;
        assay_status s = mil_lex_want(x, '.');
        return s ? s : mil_lex_want(x, '.');
    }
    char digits[24];
    if (!mil_lex_is(x, TOK_NUMBER) || x->tok.len >= sizeof digits || !isdigit((unsigned char)x->tok.text[0])) return mil_lex_fail(x, "a size is wanted here");
    memcpy(digits, x->tok.text, x->tok.len);
    digits[x->tok.len] = 0;
    char *end;
    errno = 0;
    *out = strtoll(digits, &end, 10);
    if (*end || errno) return mil_lex_fail(x, "a size is wanted here");
    mil_lex_next(x);
    return ASSAY_OK;
}

static assay_status parse_dims(mil_parser *m, assay_mil_type *t) {
    mil_lexer *x = &m->x;
    assay_status s = mil_lex_want(x, '[');
    while (!s && !mil_lex_is(x, ']')) {
        if (t->rank == ASSAY_RANK_MAX) return mil_lex_error(x, ASSAY_E_UNSUPPORTED, "a tensor of more than %d dimensions", ASSAY_RANK_MAX);
        s = parse_size(m, &t->dims[t->rank++]);
        if (!s && !mil_lex_take(x, ',') && !mil_lex_is(x, ']')) s = mil_lex_fail(x, "',' or ']' is wanted here");
    }
    return s ? s : mil_lex_want(x, ']');
}

static assay_status parse_dtype(mil_parser *m, int32_t *out) {
    char name[32] = "";
    mil_lexer *x = &m->x;
    if (mil_lex_is(x, TOK_IDENT) && x->tok.len < sizeof name) memcpy(name, x->tok.text, x->tok.len);
    *out = assay_mil_dtype_parse(name);
    if (!*out) return mil_lex_fail(x, "a data type is wanted here");
    mil_lex_next(x);
    return ASSAY_OK;
}

/* tensor<fp16, [1, 4]>; a tensor_buffer may name its axes: tensor_buffer<fp16, shape = [1, 4], strides = [...]>. */
static assay_status parse_tensor(mil_parser *m, assay_mil_type *t, bool buffer) {
    mil_lexer *x = &m->x;
    assay_status s = mil_lex_want(x, '<');
    if (!s) s = parse_dtype(m, &t->dtype);
    if (!s && !buffer) {
        s = mil_lex_want(x, ',');
        if (!s) s = parse_dims(m, t);
    }
    for (bool first = true; !s && buffer && mil_lex_take(x, ','); first = false) {
        assay_mil_type other = { 0 };
        const char *name;
        s = mil_lex_ident(x, &name);
        if (!s) s = mil_lex_want(x, '=');
        if (!s) s = parse_dims(m, first || !strcmp(name, "shape") ? t : &other);
    }
    return s ? s : mil_lex_want(x, '>');
}

static assay_status parse_subs(mil_parser *m, assay_mil_type *t, uint32_t least, uint32_t most) {
    mil_lexer *x = &m->x;
    const assay_mil_type *subs[MAX_SUBS];
    assay_status s = mil_lex_want(x, '<');
    while (!s) {
        if (t->n_sub == most) return mil_lex_error(x, ASSAY_E_INPUT, "the type has more than %u parts", most);
        s = mil_parse_type(m, &subs[t->n_sub++]);
        if (s || !mil_lex_take(x, ',')) break;
        if (t->kind == ASSAY_TYPE_LIST) { s = parse_size(m, &t->length); break; }
    }
    if (!s && t->n_sub < least) s = mil_lex_error(x, ASSAY_E_INPUT, "the type has %u parts, %u are wanted", t->n_sub, least);
    if (s) return s;
    t->sub = assay_arena_copy(m->p->arena, subs, t->n_sub * sizeof *t->sub);
    return mil_lex_want(x, '>');
}

static const struct { const char *word; int32_t kind; uint32_t least, most; } made[] = {
    { "tensor", ASSAY_TYPE_TENSOR, 0, 0 }, { "tensor_buffer", ASSAY_TYPE_TENSOR, 0, 0 }, { "list", ASSAY_TYPE_LIST, 1, 1 },
    { "tuple", ASSAY_TYPE_TUPLE, 1, MAX_SUBS }, { "dict", ASSAY_TYPE_DICT, 2, 2 }, { "state", ASSAY_TYPE_STATE, 1, 1 },
};
enum { N_MADE = sizeof made / sizeof *made };

static int made_of(const mil_parser *m) {
    for (int i = 0; i < N_MADE; i++) if (mil_lex_word(&m->x, made[i].word)) return i;
    return -1;
}

assay_status mil_parse_type(mil_parser *m, const assay_mil_type **out) {
    assay_mil_type *t = assay_arena_alloc(m->p->arena, sizeof *t);
    *out = t;
    int i = made_of(m);
    t->kind = ASSAY_TYPE_TENSOR;
    t->length = 0;
    if (i < 0) return parse_dtype(m, &t->dtype);
    assay_status s = mil_lex_enter(&m->x);
    if (s) return s;
    t->kind = made[i].kind;
    if (t->kind == ASSAY_TYPE_LIST) t->length = ASSAY_DIM_UNKNOWN;
    mil_lex_next(&m->x);
    s = t->kind == ASSAY_TYPE_TENSOR ? parse_tensor(m, t, i == 1) : parse_subs(m, t, made[i].least, made[i].most);
    mil_lex_leave(&m->x);
    return s;
}

bool mil_at_type(const mil_parser *m) {
    const mil_lexer *x = &m->x;
    if (!mil_lex_is(x, TOK_IDENT)) return false;
    const char *next = x->at;
    while (next < x->end && isspace((unsigned char)*next)) next++;
    if (next == x->end) return false;
    if (made_of(m) >= 0) return *next == '<';
    char name[32] = "";
    if (x->tok.len < sizeof name) memcpy(name, x->tok.text, x->tok.len);
    return assay_mil_dtype_parse(name) && (*next == '(' || isalpha((unsigned char)*next) || *next == '_');
}

/* ---- elements of a tensor */
typedef struct elements { assay_buf bytes; assay_ptrs strings; uint64_t n; int32_t dtype, store; } elements;

static assay_status add_float(mil_lexer *x, elements *e) {
    char text[600];                              /* generators print long tails of zeros */
    if (x->tok.len >= sizeof text) return mil_lex_fail(x, "the number is too long");
    memcpy(text, x->tok.text, x->tok.len);
    text[x->tok.len] = 0;
    char *end;
    double v = strtod(text, &end);
    if (*end || end == text) return mil_lex_fail(x, "a number is wanted here");
    unsigned char raw[8];
    assay_store_f64(e->store, raw, v);
    assay_buf_add(&e->bytes, raw, assay_dtype_size(e->store));
    return ASSAY_OK;
}

/* Bounds of the integer types; 64-bit ones are checked by strtoll and strtoull. */
static bool int_fits(int32_t mil, long long v) {
    uint32_t bits = assay_mil_dtype_bits(mil);
    bool is_signed = mil == ASSAY_MIL_INT4 || mil == ASSAY_MIL_INT8 || mil == ASSAY_MIL_INT16 || mil == ASSAY_MIL_INT32;
    if (bits >= 64) return true;
    if (is_signed) return v >= -(1LL << (bits - 1)) && v < 1LL << (bits - 1);
    return v >= 0 && v < 1LL << bits;
}

static assay_status add_int(mil_lexer *x, elements *e) {
    char text[40];
    if (!mil_lex_is(x, TOK_NUMBER) || x->tok.len >= sizeof text) return mil_lex_fail(x, "an integer is wanted here");
    memcpy(text, x->tok.text, x->tok.len);
    text[x->tok.len] = 0;
    char *end;
    errno = 0;
    bool wide = e->dtype == ASSAY_MIL_UINT64;
    long long v = wide ? (long long)strtoull(text, &end, 10) : strtoll(text, &end, 10);
    if (*end || errno || (wide && text[0] == '-')) return mil_lex_fail(x, "an integer is wanted here");
    if (!int_fits(e->dtype, v)) return mil_lex_fail(x, "the number does not fit into %s", assay_mil_dtype_name(e->dtype));
    assay_buf_add(&e->bytes, &v, e->store ? assay_dtype_size(e->store) : 1);   /* little-endian; sub-byte types are packed at the end */
    return ASSAY_OK;
}

static assay_status add_element(mil_parser *m, elements *e) {
    mil_lexer *x = &m->x;
    assay_status s = ASSAY_OK;
    if (e->dtype == ASSAY_MIL_STRING) {
        if (!mil_lex_is(x, TOK_STRING)) return mil_lex_want(x, TOK_STRING);
        assay_ptrs_push(&e->strings, mil_lex_text(x));
    } else if (e->dtype == ASSAY_MIL_BOOL) {
        bool yes = mil_lex_word(x, "true");
        if (!yes && !mil_lex_word(x, "false")) return mil_lex_fail(x, "true or false is wanted here");
        assay_buf_char(&e->bytes, yes ? 1 : 0);
    } else if (assay_dtype_is_float(e->store)) {
        if (!mil_lex_is(x, TOK_NUMBER) && !mil_lex_word(x, "inf") && !mil_lex_word(x, "nan")) return mil_lex_fail(x, "a number is wanted here");
        s = add_float(x, e);
    } else s = add_int(x, e);
    if (s) return s;
    e->n++;
    mil_lex_next(x);
    return ASSAY_OK;
}

static assay_status add_elements(mil_parser *m, elements *e) {
    mil_lexer *x = &m->x;
    if (!mil_lex_take(x, '[')) return add_element(m, e);
    assay_status s = mil_lex_enter(x);
    while (!s && !mil_lex_is(x, ']')) {
        s = add_elements(m, e);
        if (!s && !mil_lex_take(x, ',') && !mil_lex_is(x, ']')) s = mil_lex_fail(x, "',' or ']' is wanted here");
    }
    mil_lex_leave(x);
    return s ? s : mil_lex_want(x, ']');
}

static void pack_bits(elements *e, uint32_t bits) {
    assay_buf packed = { 0 };
    uint32_t word = 0, have = 0;
    for (uint64_t i = 0; i < e->n; i++) {
        word |= ((uint32_t)(unsigned char)e->bytes.data[i] & ((1u << bits) - 1u)) << have;
        for (have += bits; have >= 8; have -= 8, word >>= 8) assay_buf_char(&packed, (char)(word & 0xff));
    }
    if (have) assay_buf_char(&packed, (char)(word & 0xff));
    assay_buf_free(&e->bytes);
    e->bytes = packed;
}

static assay_status finish_tensor(mil_parser *m, assay_mil_const *c, elements *e) {
    mil_lexer *x = &m->x;
    if (c->type->rank == 1 && c->type->dims[0] < 0) {
        int64_t n = (int64_t)e->n;
        c->type = assay_type_tensor(m->p, c->type->dtype, 1, &n);
    }
    int64_t want = assay_type_count(c->type);
    if (want < 0 || (uint64_t)want != e->n) {
        char t[96];
        return mil_lex_error(x, ASSAY_E_INPUT, "%llu elements for a value of type %s", (unsigned long long)e->n, assay_type_text(c->type, t));
    }
    if (e->dtype == ASSAY_MIL_STRING) {
        c->kind = ASSAY_CONST_STRINGS;
        c->n_strings = e->n;
        c->strings = e->n ? assay_arena_copy(m->p->arena, e->strings.items, e->n * sizeof *c->strings) : NULL;
        return ASSAY_OK;
    }
    if (!e->store) pack_bits(e, assay_mil_dtype_bits(e->dtype));
    c->kind = ASSAY_CONST_DATA;
    c->nbytes = e->bytes.len;
    c->data = e->bytes.len ? assay_arena_copy(m->p->arena, e->bytes.data, e->bytes.len) : "";
    return ASSAY_OK;
}

static assay_status parse_tensor_value(mil_parser *m, assay_mil_const *c) {
    elements e = { .dtype = c->type->dtype, .store = assay_mil_to_dtype(c->type->dtype) };
    assay_status s = ASSAY_OK;
    if (e.dtype == ASSAY_MIL_FP8E4M3 || e.dtype == ASSAY_MIL_FP8E5M2)
        s = mil_lex_error(&m->x, ASSAY_E_UNSUPPORTED, "values of type %s are read from weight files only", assay_mil_dtype_name(e.dtype));
    if (!s) s = add_elements(m, &e);
    if (!s) s = finish_tensor(m, c, &e);
    assay_buf_free(&e.bytes);
    assay_ptrs_free(&e.strings);
    return s;
}

/* ---- BLOBFILE(path = string("..."), offset = uint64(64)); the types may be missing */
static assay_status parse_blob_part(mil_parser *m, const char *name, bool text, const char **path, uint64_t *offset) {
    mil_lexer *x = &m->x;
    if (!mil_lex_word(x, name)) return mil_lex_fail(x, "'%s' is wanted here", name);
    mil_lex_next(x);
    assay_status s = mil_lex_want(x, '=');
    const assay_mil_type *t;
    bool typed = !s && mil_at_type(m);
    if (typed) {
        s = mil_parse_type(m, &t);
        if (!s) s = mil_lex_want(x, '(');
    }
    if (s) return s;
    if (text) {
        if (!mil_lex_is(x, TOK_STRING)) return mil_lex_want(x, TOK_STRING);
        *path = mil_lex_text(x);
        mil_lex_next(x);
    } else {
        int64_t n = 0;
        if ((s = parse_size(m, &n))) return s;
        if (n < 0) return mil_lex_error(x, ASSAY_E_INPUT, "an offset is wanted here");
        *offset = (uint64_t)n;
    }
    return typed ? mil_lex_want(x, ')') : ASSAY_OK;
}

static assay_status parse_blob(mil_parser *m, assay_mil_const *c) {
    mil_lexer *x = &m->x;
    const char *path = NULL;
    uint64_t offset = 0;
    int line = x->tok.line;
    mil_lex_next(x);
    assay_status s = mil_lex_want(x, '(');
    if (!s) s = parse_blob_part(m, "path", true, &path, &offset);
    if (!s) s = mil_lex_want(x, ',');
    if (!s) s = parse_blob_part(m, "offset", false, &path, &offset);
    if (!s) s = mil_lex_want(x, ')');
    if (s) return s;
    if (assay_blob_resolve(m->p, m->model_dir, path, offset, c, x->err)) return assay_wrap(x->err, "%s:%d", x->what, line);
    return ASSAY_OK;
}

/* ---- values of any type */
static assay_status parse_value(mil_parser *m, const assay_mil_type *type, const assay_mil_const **out);

static assay_status push_value(mil_parser *m, const assay_mil_type *type, assay_ptrs *list) {
    const assay_mil_const *c;
    assay_status s = parse_value(m, type, &c);
    if (!s) assay_ptrs_push(list, (void *)(uintptr_t)c);
    return s;
}

static assay_status parse_pair(mil_parser *m, const assay_mil_type *type, assay_ptrs *list) {
    mil_lexer *x = &m->x;
    assay_status s = mil_lex_want(x, '{');
    if (!s) s = push_value(m, type->sub[0], list);
    if (!s) s = mil_lex_want(x, ',');
    if (!s) s = push_value(m, type->sub[1], list);
    return s ? s : mil_lex_want(x, '}');
}

static assay_status parse_items(mil_parser *m, assay_mil_const *c, assay_ptrs *list) {
    static const char open[] = { 0, 0, '[', '(', '{' }, shut[] = { 0, 0, ']', ')', '}' };
    mil_lexer *x = &m->x;
    const assay_mil_type *t = c->type;
    if (t->kind == ASSAY_TYPE_STATE) return mil_lex_error(x, ASSAY_E_INPUT, "a state has no value");
    assay_status s = mil_lex_want(x, open[t->kind]);
    for (size_t i = 0; !s && !mil_lex_is(x, shut[t->kind]); i++) {
        if (t->kind == ASSAY_TYPE_TUPLE && i >= t->n_sub) return mil_lex_error(x, ASSAY_E_INPUT, "more than the tuple's %u values", t->n_sub);
        s = t->kind == ASSAY_TYPE_DICT ? parse_pair(m, t, list) : push_value(m, t->kind == ASSAY_TYPE_LIST ? t->sub[0] : t->sub[i], list);
        if (!s && !mil_lex_take(x, ',') && !mil_lex_is(x, shut[t->kind])) s = mil_lex_fail(x, "',' or '%c' is wanted here", shut[t->kind]);
    }
    return s ? s : mil_lex_want(x, shut[t->kind]);
}

static assay_status parse_value(mil_parser *m, const assay_mil_type *type, const assay_mil_const **out) {
    mil_lexer *x = &m->x;
    if (mil_at_type(m)) return mil_parse_typed(m, out);
    assay_mil_const *c = assay_arena_alloc(m->p->arena, sizeof *c);
    c->type = type;
    *out = c;
    if (mil_lex_word(x, "BLOBFILE")) return parse_blob(m, c);
    if (type->kind == ASSAY_TYPE_TENSOR) return parse_tensor_value(m, c);
    assay_ptrs list = { 0 };
    assay_status s = mil_lex_enter(x);
    if (!s) s = parse_items(m, c, &list);
    mil_lex_leave(x);
    c->kind = ASSAY_CONST_ITEMS;
    c->n_items = list.len;
    c->items = list.len ? assay_arena_copy(m->p->arena, list.items, list.len * sizeof *c->items) : NULL;
    assay_ptrs_free(&list);
    return s;
}

assay_status mil_parse_typed(mil_parser *m, const assay_mil_const **out) {
    const assay_mil_type *t;
    assay_status s = mil_lex_enter(&m->x);
    if (!s) s = mil_parse_type(m, &t);
    if (!s) s = mil_lex_want(&m->x, '(');
    if (!s) s = parse_value(m, t, out);
    mil_lex_leave(&m->x);
    return s ? s : mil_lex_want(&m->x, ')');
}

assay_status mil_parse_attrs(mil_parser *m, assay_mil_attr **out, uint32_t *n) {
    mil_lexer *x = &m->x;
    if (!mil_lex_take(x, '[')) return ASSAY_OK;
    assay_status s = ASSAY_OK;
    while (!s && !mil_lex_is(x, ']')) {
        const char *key;
        const assay_mil_const *c;
        if (*n == MAX_KEYS) return mil_lex_error(x, ASSAY_E_INPUT, "more than %d attributes", MAX_KEYS);
        s = mil_lex_ident(x, &key);
        if (!s) s = mil_lex_want(x, '=');
        if (!s) s = mil_parse_typed(m, &c);
        if (s) return s;
        *out = assay_grow(m->p, *out, *n, sizeof **out);
        (*out)[(*n)++] = (assay_mil_attr){ key, c };
        if (!mil_lex_take(x, ',') && !mil_lex_is(x, ']')) s = mil_lex_fail(x, "',' or ']' is wanted here");
    }
    return s ? s : mil_lex_want(x, ']');
}
