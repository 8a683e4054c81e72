/* base/names.h: closed sets of names: suggestions and small string helpers. */
#ifndef ASSAY_BASE_NAMES_H
#define ASSAY_BASE_NAMES_H
#include <stdbool.h>
#include <stddef.h>

/* The candidate nearest to `name` (edit distance with transposition, at most max(1, len/3) edits), else the
 * only one that begins with it (from three letters on), or NULL. */
const char *assay_suggest(const char *name, const char *const *candidates, size_t n);
/* Writes " (did you mean 'x'?)" or "" into out; returns out. */
const char *assay_did_you_mean(char out[96], const char *name, const char *const *candidates, size_t n);
bool assay_streq(const char *a, const char *b);                      /* NULL equals only NULL */
bool assay_starts_with(const char *s, const char *prefix);
bool assay_ends_with(const char *s, const char *suffix);
/* Names of arms, fixtures, hosts, experiments: [A-Za-z0-9_][A-Za-z0-9_.-]*, at most 64 bytes (they become folder names). */
bool assay_is_plain_name(const char *s);
#endif
