/* base/json.h: JSON values, strict parsing and the canonical writer of architecture.md section 7.
 * cJSON parses and holds the tree; no cJSON type leaves this header. Children are owned by their parent: get functions
 * borrow, set/append take over. Functions that read accept NULL and answer "absent". */
#ifndef ASSAY_BASE_JSON_H
#define ASSAY_BASE_JSON_H
#include "base/mem.h"
#include <stdbool.h>

typedef struct assay_json assay_json;
enum { ASSAY_J_NULL = 0, ASSAY_J_BOOL, ASSAY_J_NUMBER, ASSAY_J_STRING, ASSAY_J_ARRAY, ASSAY_J_OBJECT };

/* Parses exactly one value. Refused: duplicate keys, depth above 64, trailing text, invalid UTF-8, embedded NUL.
 * `what` names the source in the error message (with the byte offset). */
assay_status assay_json_parse(const char *text, size_t len, const char *what, assay_json **out, assay_error *err);
assay_status assay_json_read_file(const char *path, assay_json **out, assay_error *err);
void assay_json_free(assay_json *j);
assay_json *assay_json_clone(const assay_json *j);

int assay_json_kind(const assay_json *j);                            /* NULL pointer: ASSAY_J_NULL */
size_t assay_json_len(const assay_json *j);                          /* elements of an array or object */
assay_json *assay_json_at(const assay_json *j, size_t i);            /* array element or object value by position */
/* Children one after the other: at() costs the position each time. `for (c = first(j); c; c = next(c))`, key by assay_json_key. */
assay_json *assay_json_first(const assay_json *j);
assay_json *assay_json_next(const assay_json *child);
const char *assay_json_key(const assay_json *child);                 /* NULL for array elements */
const char *assay_json_key_at(const assay_json *j, size_t i);        /* object key by position */
assay_json *assay_json_get(const assay_json *j, const char *key);    /* NULL when absent */
assay_json *assay_json_path(const assay_json *j, const char *dotted);/* "a.b.c" */
const char *assay_json_string(const assay_json *j, const char *key, const char *dflt);
double assay_json_number(const assay_json *j, const char *key, double dflt);
int64_t assay_json_int(const assay_json *j, const char *key, int64_t dflt);
bool assay_json_bool(const assay_json *j, const char *key, bool dflt);
const char *assay_json_text(const assay_json *j);                    /* the string itself, or NULL */
double assay_json_value(const assay_json *j);                        /* the number itself ("inf", "-inf" read too), or NaN */
bool assay_json_truth(const assay_json *j);

assay_json *assay_json_object(void);
assay_json *assay_json_array(void);
assay_json *assay_json_new_string(const char *s);
assay_json *assay_json_new_number(double v);                         /* NaN becomes null, infinity "inf" / "-inf" */
assay_json *assay_json_new_bool(bool v);
assay_json *assay_json_new_null(void);
assay_json *assay_json_set(assay_json *obj, const char *key, assay_json *v);   /* replaces; returns v */
assay_json *assay_json_set_string(assay_json *obj, const char *key, const char *s);  /* NULL s: null */
assay_json *assay_json_set_number(assay_json *obj, const char *key, double v);
assay_json *assay_json_set_int(assay_json *obj, const char *key, int64_t v);
assay_json *assay_json_set_bool(assay_json *obj, const char *key, bool v);
assay_json *assay_json_append(assay_json *arr, assay_json *v);       /* returns v */
void assay_json_remove(assay_json *obj, const char *key);
bool assay_json_equal(const assay_json *a, const assay_json *b);

/* Canonical text (keys sorted by bytes, no spaces, newline at the end, numbers by the %.15g/%.16g/%.17g rule). */
void assay_json_write(const assay_json *j, assay_buf *out);
char *assay_json_print(const assay_json *j);                         /* canonical, without the newline; caller frees */
char *assay_json_pretty(const assay_json *j);                        /* two-space indent, keys sorted; for people */
void assay_json_format_number(double v, char out[40]);               /* the number rule alone */
#endif
