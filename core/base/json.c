/* base/json.c: JSON values on top of cJSON: construction, access and parsing of text that json_check.c has accepted. */
#include "base/json.h"
#include "base/fs.h"
#include "base/json_internal.h"
#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { JSON_FILE_MAX = 256 << 20 };

/* assay_json is cJSON under another name; these two are the only places that say so. */
static cJSON *raw(const assay_json *j) {
    cJSON *c;
    memcpy(&c, &j, sizeof c);
    return c;
}
static assay_json *own(cJSON *c) { return (assay_json *)(void *)c; }

static assay_json *made(cJSON *c) {
    if (!c) assay_xmalloc((size_t)-1 / 2);   /* leaves with the message of memory that is out */
    return own(c);
}

/* ---- parsing ---- */

static int by_bytes(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* Two keys can be equal and spelt differently ("a", "\u0061"), so this is looked at after decoding. */
static assay_status refuse_duplicates(const cJSON *c, const char *what, assay_error *err) {
    assay_ptrs keys = {0};
    assay_status status = ASSAY_OK;
    for (const cJSON *k = c->child; k; k = k->next) {
        if (cJSON_IsObject(c)) assay_ptrs_push(&keys, k->string);
        if (k->child && status == ASSAY_OK) status = refuse_duplicates(k, what, err);
    }
    if (keys.len > 1) qsort(keys.items, keys.len, sizeof *keys.items, by_bytes);
    for (size_t i = 1; i < keys.len && status == ASSAY_OK; i++)
        if (strcmp(keys.items[i - 1], keys.items[i]) == 0)
            status = assay_fail(err, ASSAY_E_INPUT, "%s: key '%s' stands twice in one object; keep one", what, (char *)keys.items[i]);
    assay_ptrs_free(&keys);
    return status;
}

assay_status assay_json_parse(const char *text, size_t len, const char *what, assay_json **out, assay_error *err) {
    *out = NULL;
    assay_status status = assay_json_check(text, len, what, err);
    if (status != ASSAY_OK) return status;
    cJSON *c = cJSON_ParseWithLength(text, len);
    if (!c) return assay_fail(err, ASSAY_E_INPUT, "%s: not readable as JSON", what);
    status = refuse_duplicates(c, what, err);
    if (status == ASSAY_OK) *out = own(c);
    else cJSON_Delete(c);
    return status;
}

assay_status assay_json_read_file(const char *path, assay_json **out, assay_error *err) {
    *out = NULL;
    char *text;
    size_t len;
    assay_status status = assay_read_file(path, JSON_FILE_MAX, &text, &len, err);
    if (status != ASSAY_OK) return status;
    status = assay_json_parse(text, len, path, out, err);
    free(text);
    return status;
}

void assay_json_free(assay_json *j) { cJSON_Delete(raw(j)); }
assay_json *assay_json_clone(const assay_json *j) { return j ? made(cJSON_Duplicate(raw(j), 1)) : NULL; }

/* ---- access ---- */

int assay_json_kind(const assay_json *j) {
    const cJSON *c = raw(j);
    if (!c) return ASSAY_J_NULL;
    switch (c->type & 0xFF) {
    case cJSON_False:
    case cJSON_True: return ASSAY_J_BOOL;
    case cJSON_Number: return ASSAY_J_NUMBER;
    case cJSON_String: return ASSAY_J_STRING;
    case cJSON_Array: return ASSAY_J_ARRAY;
    case cJSON_Object: return ASSAY_J_OBJECT;
    default: return ASSAY_J_NULL;
    }
}

static bool is_tree(const assay_json *j) {
    int kind = assay_json_kind(j);
    return kind == ASSAY_J_ARRAY || kind == ASSAY_J_OBJECT;
}

assay_json *assay_json_first(const assay_json *j) { return is_tree(j) ? own(raw(j)->child) : NULL; }
assay_json *assay_json_next(const assay_json *child) { return child ? own(raw(child)->next) : NULL; }
const char *assay_json_key(const assay_json *child) { return child ? raw(child)->string : NULL; }

size_t assay_json_len(const assay_json *j) {
    size_t n = 0;
    for (const assay_json *c = assay_json_first(j); c; c = assay_json_next(c)) n++;
    return n;
}

assay_json *assay_json_at(const assay_json *j, size_t i) {
    assay_json *c = assay_json_first(j);
    while (c && i--) c = assay_json_next(c);
    return c;
}

const char *assay_json_key_at(const assay_json *j, size_t i) {
    return assay_json_kind(j) == ASSAY_J_OBJECT ? assay_json_key(assay_json_at(j, i)) : NULL;
}

static assay_json *find(const assay_json *j, const char *key, size_t len) {
    if (assay_json_kind(j) != ASSAY_J_OBJECT) return NULL;
    for (assay_json *c = assay_json_first(j); c; c = assay_json_next(c)) {
        const char *k = assay_json_key(c);
        if (k && strlen(k) == len && memcmp(k, key, len) == 0) return c;
    }
    return NULL;
}

assay_json *assay_json_get(const assay_json *j, const char *key) { return find(j, key, strlen(key)); }

assay_json *assay_json_path(const assay_json *j, const char *dotted) {
    for (const char *p = dotted;; p++) {
        size_t n = strcspn(p, ".");
        assay_json *c = find(j, p, n);
        if (!c || !p[n]) return c;
        j = c;
        p += n;
    }
}

const char *assay_json_text(const assay_json *j) { return assay_json_kind(j) == ASSAY_J_STRING ? raw(j)->valuestring : NULL; }
bool assay_json_truth(const assay_json *j) { return assay_json_kind(j) == ASSAY_J_BOOL && cJSON_IsTrue(raw(j)); }

double assay_json_value(const assay_json *j) {
    if (assay_json_kind(j) == ASSAY_J_NUMBER) return raw(j)->valuedouble;
    const char *s = assay_json_text(j);
    if (s && strcmp(s, "inf") == 0) return (double)INFINITY;
    if (s && strcmp(s, "-inf") == 0) return -(double)INFINITY;
    return (double)NAN;
}

const char *assay_json_string(const assay_json *j, const char *key, const char *dflt) {
    const char *s = assay_json_text(assay_json_get(j, key));
    return s ? s : dflt;
}

double assay_json_number(const assay_json *j, const char *key, double dflt) {
    double v = assay_json_value(assay_json_get(j, key));
    return isnan(v) ? dflt : v;
}

int64_t assay_json_int(const assay_json *j, const char *key, int64_t dflt) {
    double v = assay_json_value(assay_json_get(j, key));
    return v >= -0x1p63 && v < 0x1p63 && v == floor(v) ? (int64_t)v : dflt;
}

bool assay_json_bool(const assay_json *j, const char *key, bool dflt) {
    const assay_json *v = assay_json_get(j, key);
    return assay_json_kind(v) == ASSAY_J_BOOL ? assay_json_truth(v) : dflt;
}

/* ---- construction ---- */

assay_json *assay_json_object(void) { return made(cJSON_CreateObject()); }
assay_json *assay_json_array(void) { return made(cJSON_CreateArray()); }
assay_json *assay_json_new_null(void) { return made(cJSON_CreateNull()); }
assay_json *assay_json_new_bool(bool v) { return made(cJSON_CreateBool(v)); }

assay_json *assay_json_new_string(const char *s) {
    if (!s) return assay_json_new_null();
    char *clean = assay_json_clean_utf8(s);
    assay_json *j = made(cJSON_CreateString(clean));
    free(clean);
    return j;
}

assay_json *assay_json_new_number(double v) {
    if (isnan(v)) return assay_json_new_null();
    if (isinf(v)) return assay_json_new_string(v > 0 ? "inf" : "-inf");
    return made(cJSON_CreateNumber(v));
}

void assay_json_remove(assay_json *obj, const char *key) {
    assay_json *old = assay_json_get(obj, key);
    if (old) cJSON_Delete(cJSON_DetachItemViaPointer(raw(obj), raw(old)));
}

assay_json *assay_json_set(assay_json *obj, const char *key, assay_json *v) {
    if (!v) v = assay_json_new_null();
    char *clean = assay_json_clean_utf8(key);
    assay_json_remove(obj, clean);
    if (!cJSON_AddItemToObject(raw(obj), clean, raw(v))) made(NULL);
    free(clean);
    return v;
}

assay_json *assay_json_set_string(assay_json *obj, const char *key, const char *s) { return assay_json_set(obj, key, assay_json_new_string(s)); }
assay_json *assay_json_set_number(assay_json *obj, const char *key, double v) { return assay_json_set(obj, key, assay_json_new_number(v)); }
assay_json *assay_json_set_int(assay_json *obj, const char *key, int64_t v) { return assay_json_set(obj, key, assay_json_new_number((double)v)); }
assay_json *assay_json_set_bool(assay_json *obj, const char *key, bool v) { return assay_json_set(obj, key, assay_json_new_bool(v)); }

assay_json *assay_json_append(assay_json *arr, assay_json *v) {
    if (!v) v = assay_json_new_null();
    if (!cJSON_AddItemToArray(raw(arr), raw(v))) made(NULL);
    return v;
}

bool assay_json_equal(const assay_json *a, const assay_json *b) {
    char *x = assay_json_print(a), *y = assay_json_print(b);
    bool same = strcmp(x, y) == 0;
    free(x);
    free(y);
    return same;
}
