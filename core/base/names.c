/* base/names.c: did-you-mean for closed sets of names, and small string helpers. */
#include "base/names.h"
#include <stdio.h>
#include <string.h>

enum { NAME_MAX_LEN = 64 };

static unsigned least(unsigned a, unsigned b) { return a < b ? a : b; }

/* Edit distance where a swap of neighbours counts once (optimal string alignment). Both at most NAME_MAX_LEN long. */
static unsigned distance(const char *a, size_t la, const char *b, size_t lb) {
    unsigned rows[3][NAME_MAX_LEN + 1];
    unsigned *before = rows[0], *last = rows[1], *now = rows[2];
    for (size_t j = 0; j <= lb; j++) last[j] = (unsigned)j;
    memset(rows[0], 0, sizeof rows[0]);
    for (size_t i = 1; i <= la; i++) {
        now[0] = (unsigned)i;
        for (size_t j = 1; j <= lb; j++) {
            unsigned d = last[j - 1] + (a[i - 1] != b[j - 1]);
            d = least(d, least(last[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) d = least(d, before[j - 2] + 1);
            now[j] = d;
        }
        unsigned *t = before;
        before = last;
        last = now;
        now = t;
    }
    return last[lb];
}

/* The only candidate that begins with `name`: who writes scaled_dot means scaled_dot_product_attention. */
static const char *completed(const char *name, size_t len, const char *const *candidates, size_t n) {
    const char *found = NULL;
    for (size_t i = 0; i < n && len >= 3; i++) {
        if (!candidates[i] || strncmp(candidates[i], name, len) != 0) continue;
        if (found && strcmp(found, candidates[i]) != 0) return NULL;
        found = candidates[i];
    }
    return found;
}

const char *assay_suggest(const char *name, const char *const *candidates, size_t n) {
    size_t len = name ? strlen(name) : 0;
    if (len == 0 || len > NAME_MAX_LEN) return NULL;
    unsigned best = (unsigned)(len / 3 > 1 ? len / 3 : 1) + 1;
    const char *found = NULL;
    for (size_t i = 0; i < n; i++) {
        size_t other = candidates[i] ? strlen(candidates[i]) : 0;
        if (other == 0 || other > NAME_MAX_LEN) continue;
        unsigned d = distance(name, len, candidates[i], other);
        if (d < best) {
            best = d;
            found = candidates[i];
        }
    }
    return found ? found : completed(name, len, candidates, n);
}

const char *assay_did_you_mean(char out[96], const char *name, const char *const *candidates, size_t n) {
    const char *s = assay_suggest(name, candidates, n);
    out[0] = '\0';
    if (s) snprintf(out, 96, " (did you mean '%s'?)", s);
    return out;
}

bool assay_streq(const char *a, const char *b) {
    if (!a || !b) return a == b;
    return strcmp(a, b) == 0;
}

bool assay_starts_with(const char *s, const char *prefix) { return strncmp(s, prefix, strlen(prefix)) == 0; }

bool assay_ends_with(const char *s, const char *suffix) {
    size_t n = strlen(s), k = strlen(suffix);
    return n >= k && memcmp(s + n - k, suffix, k) == 0;
}

static bool is_word(char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

bool assay_is_plain_name(const char *s) {
    if (!s || !is_word(s[0])) return false;
    size_t n = 1;
    while (s[n] && (is_word(s[n]) || s[n] == '.' || s[n] == '-')) n++;
    return s[n] == '\0' && n <= NAME_MAX_LEN;
}
