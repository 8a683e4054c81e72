/* tensor/npy_header.c: a strict parser for the dictionary in a .npy header, and its writer. */
#include "tensor/npy_header.h"
#include <stdio.h>
#include <string.h>

typedef struct cursor { const char *text, *what; size_t at, len, base; assay_error *err; } cursor;

static assay_status bad(const cursor *c, const char *why) {
    return assay_fail(c->err, ASSAY_E_INPUT, "%s: byte %zu: .npy header: %s", c->what, c->base + c->at, why);
}

static int peek(cursor *c) {
    while (c->at < c->len && (c->text[c->at] == ' ' || c->text[c->at] == '\n' || c->text[c->at] == '\t')) c->at++;
    return c->at < c->len ? (unsigned char)c->text[c->at] : -1;
}

static bool take(cursor *c, int wanted) {
    if (peek(c) != wanted) return false;
    c->at++;
    return true;
}

/* A quoted string without escapes (none occurs in what NumPy writes for plain types). */
static bool take_string(cursor *c, char out[16]) {
    int quote = peek(c);
    if (quote != '\'' && quote != '"') return false;
    const char *start = c->text + c->at + 1, *end = memchr(start, quote, c->len - c->at - 1);
    if (!end || end - start > 15 || memchr(start, '\\', (size_t)(end - start))) return false;
    memcpy(out, start, (size_t)(end - start));
    out[end - start] = '\0';
    c->at += (size_t)(end - start) + 2;
    return true;
}

static bool take_word(cursor *c, const char *word) {
    size_t n = strlen(word);
    peek(c);
    if (c->len - c->at < n || memcmp(c->text + c->at, word, n) != 0) return false;
    c->at += n;
    return true;
}

/* ---- the three values ---- */

static const struct { const char *code; int32_t dtype; } types[] = {
    { "f2", ASSAY_F16 }, { "f4", ASSAY_F32 }, { "f8", ASSAY_F64 }, { "b1", ASSAY_BOOL }, { "i1", ASSAY_I8 }, { "u1", ASSAY_U8 },
    { "i2", ASSAY_I16 }, { "u2", ASSAY_U16 }, { "i4", ASSAY_I32 }, { "u4", ASSAY_U32 }, { "i8", ASSAY_I64 }, { "u8", ASSAY_U64 },
};

static assay_status take_descr(cursor *c, assay_npy_header *h) {
    char s[16];
    if (peek(c) == '[') return bad(c, "structured types are not supported; save one plain array");
    if (!take_string(c, s)) return bad(c, "'descr' is not a short string");
    if (!s[0] || !strchr("<>|=", s[0])) return bad(c, "'descr' has no byte order");
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(s + 1, types[i].code) == 0) h->dtype = types[i].dtype;
    if (!h->dtype)
        return assay_fail(c->err, ASSAY_E_INPUT, "%s: .npy element type '%s' is not supported (f2 f4 f8 b1 i1-i8 u1-u8 are)", c->what, s);
    h->swapped = s[0] == '>' && assay_dtype_size(h->dtype) > 1;
    return ASSAY_OK;
}

static assay_status take_order(cursor *c, assay_npy_header *h) {
    if (take_word(c, "True")) h->fortran = true;
    else if (!take_word(c, "False")) return bad(c, "'fortran_order' is neither True nor False");
    return ASSAY_OK;
}

static bool take_extent(cursor *c, int64_t *out) {
    int64_t v = 0;
    peek(c);
    size_t start = c->at;
    for (; c->at < c->len && c->text[c->at] >= '0' && c->text[c->at] <= '9'; c->at++) {
        if (v > (INT64_MAX - 9) / 10) return false;
        v = v * 10 + (c->text[c->at] - '0');
    }
    *out = v;
    bool found = c->at > start;
    if (found && c->at < c->len && c->text[c->at] == 'L') c->at++;   /* Python 2 wrote 3L */
    return found;
}

static assay_status take_shape(cursor *c, assay_npy_header *h) {
    if (!take(c, '(')) return bad(c, "'shape' is not a tuple");
    bool comma = true;
    while (!take(c, ')')) {
        if (!comma) return bad(c, "',' is wanted in 'shape'");
        if (h->rank == ASSAY_RANK_MAX) return bad(c, "more than 8 axes");
        if (!take_extent(c, &h->shape[h->rank])) return bad(c, "an axis of 'shape' is not a count");
        h->rank++;
        comma = take(c, ',');
    }
    if (h->rank == 1 && !comma) return bad(c, "'shape' is a number in brackets, not a tuple");
    return ASSAY_OK;
}

static assay_status take_dictionary(cursor *c, assay_npy_header *h) {
    unsigned seen = 0;
    if (!take(c, '{')) return bad(c, "no dictionary");
    bool comma = true;
    while (!take(c, '}')) {
        char key[16];
        if (!comma) return bad(c, "',' or '}' is wanted");
        if (!take_string(c, key) || !take(c, ':')) return bad(c, "a quoted key and ':' are wanted");
        unsigned which = strcmp(key, "descr") == 0 ? 1u : strcmp(key, "fortran_order") == 0 ? 2u : strcmp(key, "shape") == 0 ? 4u : 0u;
        if (!which) return bad(c, "unknown key");
        if (seen & which) return bad(c, "a key stands twice");
        seen |= which;
        assay_status status = which == 1 ? take_descr(c, h) : which == 2 ? take_order(c, h) : take_shape(c, h);
        if (status != ASSAY_OK) return status;
        comma = take(c, ',');
    }
    if (seen != 7) return bad(c, "'descr', 'fortran_order' or 'shape' is missing");
    return peek(c) < 0 ? ASSAY_OK : bad(c, "text after the dictionary");
}

/* ---- whole header ---- */

assay_status assay_npy_header_parse(const void *data, size_t len, const char *what, assay_npy_header *h, assay_error *err) {
    const unsigned char *p = data;
    *h = (assay_npy_header){0};
    if (len < 10 || memcmp(p, "\x93NUMPY", 6) != 0) return assay_fail(err, ASSAY_E_INPUT, "%s: not a .npy file", what);
    if (p[6] < 1 || p[6] > 3 || p[7] != 0)
        return assay_fail(err, ASSAY_E_INPUT, "%s: .npy version %d.%d is not supported (1.0 to 3.0 are)", what, p[6], p[7]);
    size_t prefix = p[6] == 1 ? 10 : 12;
    if (len < prefix) return assay_fail(err, ASSAY_E_INPUT, "%s: .npy header is cut short", what);
    size_t text_len = (size_t)p[8] | (size_t)p[9] << 8;
    if (prefix == 12) text_len |= (size_t)p[10] << 16 | (size_t)p[11] << 24;
    if (text_len > len - prefix) return assay_fail(err, ASSAY_E_INPUT, "%s: .npy header of %zu bytes is cut short", what, text_len);
    cursor c = { (const char *)p + prefix, what, 0, text_len, prefix, err };
    h->data_offset = prefix + text_len;
    return take_dictionary(&c, h);
}

size_t assay_npy_header_format(const assay_tensor *t, char out[ASSAY_NPY_HEADER_MAX]) {
    const char *code = NULL;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].dtype == t->dtype) code = types[i].code;
    if (!code) return 0;
    char shape[256] = "";
    size_t at = 0;
    for (uint32_t i = 0; i < t->rank; i++)
        at += (size_t)snprintf(shape + at, sizeof shape - at, "%s%lld", i ? ", " : "", (long long)t->shape[i]);
    if (t->rank == 1) snprintf(shape + at, sizeof shape - at, ",");
    const char order = assay_dtype_size(t->dtype) == 1 ? '|' : '<';
    int n = snprintf(out + 10, ASSAY_NPY_HEADER_MAX - 10, "{'descr': '%c%s', 'fortran_order': False, 'shape': (%s), }", order, code, shape);
    size_t used = 10 + (size_t)n, total = (used + 1 + 63) / 64 * 64;
    memset(out + used, ' ', total - used);
    out[total - 1] = '\n';
    memcpy(out, "\x93NUMPY\x01\x00", 8);
    out[8] = (char)((total - 10) & 255);
    out[9] = (char)((total - 10) >> 8);
    return total;
}
