/* base/json_internal.h: what the three JSON files share: the strict check of text and the UTF-8 rules. */
#ifndef ASSAY_BASE_JSON_INTERNAL_H
#define ASSAY_BASE_JSON_INTERNAL_H
#include "base/json.h"

enum { ASSAY_JSON_DEPTH_MAX = 64 };
/* Grammar of RFC 8259 with the limits of json.h, duplicate keys aside. Allocates nothing. */
assay_status assay_json_check(const char *text, size_t len, const char *what, assay_error *err);
/* Bytes of the UTF-8 character at s (at most n bytes are looked at); 0 when it is not one. */
size_t assay_json_utf8_len(const char *s, size_t n);
/* A copy in which every byte that is not UTF-8 has become U+FFFD, so that what we write can be read. Caller frees. */
char *assay_json_clean_utf8(const char *s);
#endif
