/* A first look at serialized bytes: bounds, nesting, text, and the type of model, all before anything is allocated. */
#include "program/wire.h"
#include "program/internal.h"
#include "mil.pb-c.h"
#include <string.h>

enum { MAX_DEPTH = 200 };
enum { VARINT = 0, FIXED64 = 1, LENGTH = 2, FIXED32 = 5 };

typedef struct cursor { const uint8_t *at, *end, *base; } cursor;
typedef struct field { uint32_t number, wire; const uint8_t *data; uint64_t len; } field;

static bool read_varint(cursor *c, uint64_t *out) {
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 70 && c->at < c->end; shift += 7) {
        uint8_t b = *c->at++;
        if (shift < 64) v |= (uint64_t)(b & 0x7f) << shift;
        if (!(b & 0x80)) { *out = v; return true; }
    }
    return false;
}

/* The next field; false when the bytes are broken. */
static bool next_field(cursor *c, field *f) {
    uint64_t tag, n = 0;
    if (!read_varint(c, &tag) || tag > 0xffffffffu || tag < 8) return false;
    f->number = (uint32_t)(tag >> 3);
    f->wire = (uint32_t)(tag & 7);
    if (f->wire == VARINT) {
        f->data = c->at;
        if (!read_varint(c, &n)) return false;
        f->len = (uint64_t)(c->at - f->data);
        return true;
    }
    if (f->wire == LENGTH) { if (!read_varint(c, &n)) return false; }
    else if (f->wire == FIXED64) n = 8;
    else if (f->wire == FIXED32) n = 4;
    else return false;
    if (n > (uint64_t)(c->end - c->at)) return false;
    f->data = c->at;
    f->len = n;
    c->at += n;
    return true;
}

static size_t utf8_length(const uint8_t *s, const uint8_t *end) {
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    size_t n = *s < 0x80 ? 1 : *s >= 0xc2 && *s < 0xe0 ? 2 : *s >= 0xe0 && *s < 0xf0 ? 3 : *s >= 0xf0 && *s < 0xf5 ? 4 : 0;
    if (n == 0 || (size_t)(end - s) < n) return 0;
    uint32_t v = n == 1 ? *s : *s & (0xffu >> (n + 1));
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80) return 0;
        v = v << 6 | (s[i] & 0x3fu);
    }
    return v < least[n] || v > 0x10ffff || (v >= 0xd800 && v < 0xe000) ? 0 : n;
}

bool assay_text_is_clean(const void *text, size_t len) {
    const uint8_t *s = text, *end = s + len;
    while (s < end) {
        size_t n = *s ? utf8_length(s, end) : 0;
        if (n == 0) return false;
        s += n;
    }
    return true;
}

static assay_status check(const ProtobufCMessageDescriptor *d, cursor c, int depth, const char *what, assay_error *err);

static assay_status check_field(const ProtobufCMessageDescriptor *d, const cursor *c, const field *f, int depth, const char *what, assay_error *err) {
    const ProtobufCFieldDescriptor *fd = protobuf_c_message_descriptor_get_field(d, f->number);
    if (!fd) return ASSAY_OK;
    long long at = (long long)(f->data - c->base);
    if (fd->type == PROTOBUF_C_TYPE_STRING && f->wire == LENGTH && !assay_text_is_clean(f->data, f->len))
        return assay_fail(err, ASSAY_E_INPUT, "%s: byte %lld: %s.%s is not valid UTF-8 text", what, at, d->short_name, fd->name);
    bool packed_op = d == &mil__block__descriptor && f->number == 3;   /* bytes in our schema, messages in the format */
    if (fd->type != PROTOBUF_C_TYPE_MESSAGE && !packed_op) return ASSAY_OK;
    if (f->wire != LENGTH) return assay_fail(err, ASSAY_E_INPUT, "%s: byte %lld: %s.%s is not a message", what, at, d->short_name, fd->name);
    return check(packed_op ? &mil__operation__descriptor : fd->descriptor, (cursor){ f->data, f->data + f->len, c->base }, depth + 1, what, err);
}

static assay_status check(const ProtobufCMessageDescriptor *d, cursor c, int depth, const char *what, assay_error *err) {
    if (depth > MAX_DEPTH)
        return assay_fail(err, ASSAY_E_INPUT, "%s: byte %lld: messages are nested more than %d deep", what, (long long)(c.at - c.base), MAX_DEPTH);
    while (c.at < c.end) {
        field f;
        long long at = (long long)(c.at - c.base);
        if (!next_field(&c, &f))
            return assay_fail(err, ASSAY_E_INPUT, "%s: byte %lld: a field of %s is broken or runs past the end: the file is damaged or cut short",
                              what, at, d->short_name);
        assay_status s = check_field(d, &c, &f, depth, what, err);
        if (s) return s;
    }
    return ASSAY_OK;
}

assay_status assay_wire_check(const ProtobufCMessageDescriptor *d, const void *bytes, size_t len, const char *what, assay_error *err) {
    const uint8_t *b = bytes;
    return check(d, (cursor){ b, b + len, b }, 0, what, err);
}

int32_t assay_wire_model_type(const void *bytes, size_t len) {
    const uint8_t *b = bytes;
    cursor c = { b, b + len, b };
    int32_t type = 0;
    while (c.at < c.end) {
        field f;
        if (!next_field(&c, &f)) return type ? type : -1;
        if (f.number >= 200 && f.number <= 3000 && f.wire == LENGTH) type = (int32_t)f.number;
    }
    return type;
}

const char *assay_model_type_name(int32_t number) {
    static const struct { int32_t number; const char *name; } names[] = {
        { 200, "pipelineClassifier" }, { 201, "pipelineRegressor" }, { 202, "pipeline" }, { 300, "glmRegressor" },
        { 301, "supportVectorRegressor" }, { 302, "treeEnsembleRegressor" }, { 303, "neuralNetworkRegressor" },
        { 304, "bayesianProbitRegressor" }, { 400, "glmClassifier" }, { 401, "supportVectorClassifier" },
        { 402, "treeEnsembleClassifier" }, { 403, "neuralNetworkClassifier" }, { 404, "kNearestNeighborsClassifier" },
        { 500, "neuralNetwork" }, { 501, "itemSimilarityRecommender" }, { 502, "mlProgram" }, { 555, "customModel" },
        { 556, "linkedModel" }, { 560, "classConfidenceThresholding" }, { 900, "identity" }, { 3000, "serializedModel" },
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].number == number) return names[i].name;
    if (number >= 600 && number <= 610) return "feature engineering";
    if (number >= 2000 && number <= 2006) return "Apple-provided model";
    return "unknown type";
}

bool assay_is_lfs_pointer(const void *data, size_t len) {
    static const char head[] = "version https://git-lfs.github.com/spec/";
    return len >= sizeof head - 1 && len < 4096 && !memcmp(data, head, sizeof head - 1);
}
