/* base/json_check.c: strict check of JSON text before cJSON sees it (cJSON takes "01", "1.", raw control bytes and bad UTF-8). */
#include "base/json_internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct scan { const char *text, *what; size_t at, len; assay_error *err; } scan;

static assay_status bad(scan *s, const char *why) {
    return assay_fail(s->err, ASSAY_E_INPUT, "%s: byte %zu: %s", s->what, s->at, why);
}

static int peek(const scan *s) { return s->at < s->len ? (unsigned char)s->text[s->at] : -1; }

static void skip_space(scan *s) {
    int c;
    while ((c = peek(s)) == ' ' || c == '\t' || c == '\n' || c == '\r') s->at++;
}

size_t assay_json_utf8_len(const char *text, size_t n) {
    const unsigned char *s = (const unsigned char *)text;
    if (n == 0) return 0;
    if (s[0] < 0x80) return 1;
    size_t len = s[0] >= 0xC2 && s[0] <= 0xDF ? 2 : (s[0] & 0xF0) == 0xE0 ? 3 : s[0] >= 0xF0 && s[0] <= 0xF4 ? 4 : 0;
    if (len == 0 || len > n) return 0;
    for (size_t i = 1; i < len; i++)
        if ((s[i] & 0xC0) != 0x80) return 0;
    if (s[0] == 0xE0 && s[1] < 0xA0) return 0;                       /* overlong */
    if (s[0] == 0xED && s[1] > 0x9F) return 0;                       /* surrogates */
    if (s[0] == 0xF0 && s[1] < 0x90) return 0;
    if (s[0] == 0xF4 && s[1] > 0x8F) return 0;                       /* beyond U+10FFFF */
    return len;
}

char *assay_json_clean_utf8(const char *s) {
    assay_buf b = {0};
    for (size_t left = strlen(s); left > 0;) {
        size_t n = assay_json_utf8_len(s, left);
        if (n) assay_buf_add(&b, s, n);
        else assay_buf_str(&b, "\xEF\xBF\xBD");
        s += n ? n : 1;
        left -= n ? n : 1;
    }
    return assay_buf_take(&b);
}

/* Four hex digits after "\u"; -1 when they are not there. */
static int hex4(scan *s) {
    int v = 0;
    for (int i = 0; i < 4; i++, s->at++) {
        int c = peek(s);
        int d = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
        if (d < 0) return -1;
        v = v * 16 + d;
    }
    return v;
}

static assay_status check_escape(scan *s) {
    s->at++;
    int c = peek(s);
    if (c < 0 || c == 0 || !strchr("\"\\/bfnrtu", c)) return bad(s, "unknown escape in a string");
    s->at++;
    if (c != 'u') return ASSAY_OK;
    int v = hex4(s);
    if (v < 0) return bad(s, "\\u needs four hex digits");
    if (v == 0) return bad(s, "NUL inside a string");
    if (v >= 0xDC00 && v <= 0xDFFF) return bad(s, "lone surrogate in a string");
    if (v < 0xD800 || v > 0xDBFF) return ASSAY_OK;
    if (peek(s) != '\\') return bad(s, "lone surrogate in a string");
    s->at++;
    if (peek(s) != 'u') return bad(s, "lone surrogate in a string");
    s->at++;
    v = hex4(s);
    return v >= 0xDC00 && v <= 0xDFFF ? ASSAY_OK : bad(s, "lone surrogate in a string");
}

static assay_status check_string(scan *s) {
    for (s->at++;;) {
        int c = peek(s);
        if (c < 0) return bad(s, "string without end");
        if (c == '"') break;
        if (c < 0x20) return bad(s, c == 0 ? "NUL inside a string" : "control character inside a string");
        if (c == '\\') {
            assay_status status = check_escape(s);
            if (status != ASSAY_OK) return status;
            continue;
        }
        size_t n = assay_json_utf8_len(s->text + s->at, s->len - s->at);
        if (n == 0) return bad(s, "not valid UTF-8");
        s->at += n;
    }
    s->at++;
    return ASSAY_OK;
}

static size_t skip_digits(scan *s) {
    size_t start = s->at;
    while (peek(s) >= '0' && peek(s) <= '9') s->at++;
    return s->at - start;
}

static assay_status check_number(scan *s) {
    size_t start = s->at;
    if (peek(s) == '-') s->at++;
    bool zero = peek(s) == '0';
    size_t whole = skip_digits(s);
    if (whole == 0 || (zero && whole > 1)) return bad(s, "malformed number");
    if (peek(s) == '.') {
        s->at++;
        if (skip_digits(s) == 0) return bad(s, "malformed number");
    }
    if (peek(s) == 'e' || peek(s) == 'E') {
        s->at++;
        if (peek(s) == '+' || peek(s) == '-') s->at++;
        if (skip_digits(s) == 0) return bad(s, "malformed number");
    }
    char copy[64];                                                   /* cJSON reads at most 63 characters of a number */
    if (s->at - start >= sizeof copy) return bad(s, "number longer than 63 characters");
    memcpy(copy, s->text + start, s->at - start);
    copy[s->at - start] = '\0';
    return isfinite(strtod(copy, NULL)) ? ASSAY_OK : bad(s, "number beyond the range of a double");
}

static assay_status check_value(scan *s, int depth);

static assay_status check_members(scan *s, int depth, bool object) {
    const int end = object ? '}' : ']';
    s->at++;
    skip_space(s);
    if (peek(s) == end) {
        s->at++;
        return ASSAY_OK;
    }
    for (;;) {
        skip_space(s);
        if (object) {
            if (peek(s) != '"') return bad(s, "a key in double quotes is wanted");
            assay_status status = check_string(s);
            if (status != ASSAY_OK) return status;
            skip_space(s);
            if (peek(s) != ':') return bad(s, "':' is wanted after a key");
            s->at++;
        }
        assay_status status = check_value(s, depth);
        if (status != ASSAY_OK) return status;
        skip_space(s);
        int c = peek(s);
        if (c != ',' && c != end) return bad(s, object ? "',' or '}' is wanted" : "',' or ']' is wanted");
        s->at++;
        if (c == end) return ASSAY_OK;
    }
}

static assay_status check_word(scan *s, const char *word) {
    size_t n = strlen(word);
    if (s->len - s->at < n || memcmp(s->text + s->at, word, n) != 0) return bad(s, "not a JSON value");
    s->at += n;
    return ASSAY_OK;
}

static assay_status check_value(scan *s, int depth) {
    skip_space(s);
    int c = peek(s);
    if ((c == '{' || c == '[') && depth >= ASSAY_JSON_DEPTH_MAX) return bad(s, "nested deeper than 64");
    if (c == '{' || c == '[') return check_members(s, depth + 1, c == '{');
    if (c == '"') return check_string(s);
    if (c == '-' || (c >= '0' && c <= '9')) return check_number(s);
    if (c == 't') return check_word(s, "true");
    if (c == 'f') return check_word(s, "false");
    if (c == 'n') return check_word(s, "null");
    return bad(s, c < 0 ? "the text ends where a value is wanted" : "not a JSON value");
}

assay_status assay_json_check(const char *text, size_t len, const char *what, assay_error *err) {
    scan s = { .text = text, .what = what, .len = len, .err = err };
    assay_status status = check_value(&s, 0);
    if (status != ASSAY_OK) return status;
    skip_space(&s);
    return s.at == s.len ? ASSAY_OK : bad(&s, "text after the value");
}
