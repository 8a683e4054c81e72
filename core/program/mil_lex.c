/* Tokens of MIL text: identifiers, numbers (decimal, hex floats, inf), strings, punctuation. */
#include "program/mil_lex.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { MAX_DEPTH = 100 };

static bool ident_char(char c) { return isalnum((unsigned char)c) || c == '_' || c == '@'; }
static bool ident_start(char c) { return isalpha((unsigned char)c) || c == '_'; }

static void skip_space(mil_lexer *x) {
    while (x->at < x->end && isspace((unsigned char)*x->at)) x->line += *x->at++ == '\n';
}

static void take_ident(mil_lexer *x) {
    while (x->at < x->end && ident_char(*x->at)) x->at++;
    x->tok.kind = TOK_IDENT;
}

/* Letters cover hex digits, exponents, inf and nan; a sign belongs to the number at its start and after an exponent's letter. */
static void take_number(mil_lexer *x) {
    bool hex = false;
    for (const char *s = x->at; x->at < x->end; x->at++) {
        char c = *x->at;
        if (c == 'x' || c == 'X') hex = true;
        bool sign = (c == '-' || c == '+') && (x->at == s || strchr(hex ? "pP" : "eE", x->at[-1]));
        if (!sign && !isalnum((unsigned char)c) && c != '.') break;
    }
    x->tok.kind = TOK_NUMBER;
}

static void take_string(mil_lexer *x) {
    const char *start = ++x->at;
    for (; x->at < x->end && *x->at != '"'; x->at++) {
        if (*x->at == '\\' && x->at + 1 < x->end) x->at++;
        x->line += *x->at == '\n';
    }
    x->tok.text = start;
    x->tok.len = (size_t)(x->at - start);
    x->tok.kind = x->at < x->end ? TOK_STRING : TOK_BAD;
    if (x->at < x->end) x->at++;
}

void mil_lex_next(mil_lexer *x) {
    skip_space(x);
    x->tok = (mil_token){ .kind = TOK_END, .text = x->at, .line = x->line };
    if (x->at == x->end) return;
    char c = *x->at;
    if (c == '"') { take_string(x); return; }
    if (c == '-' && x->at + 1 < x->end && x->at[1] == '>') {
        x->at += 2;
        x->tok.kind = TOK_ARROW;
    } else if (ident_start(c)) take_ident(x);
    else if (isdigit((unsigned char)c) || c == '-' || c == '+') take_number(x);
    else if (c > ' ' && c < 127) x->tok.kind = *x->at++;
    else { x->tok.kind = TOK_BAD; x->at++; }
    x->tok.len = (size_t)(x->at - x->tok.text);
}

void mil_lex_start(mil_lexer *x, const char *text, size_t len, const char *what, assay_arena *arena, assay_error *err) {
    *x = (mil_lexer){ .at = text, .end = text + len, .line = 1, .what = what, .arena = arena, .err = err };
    mil_lex_next(x);
}

static assay_status fail_at(mil_lexer *x, assay_status code, const char *message, bool found) {
    const mil_token *t = &x->tok;
    if (!found) return assay_fail(x->err, code, "%s:%d: %s", x->what, t->line, message);
    if (t->kind == TOK_END) return assay_fail(x->err, code, "%s:%d: %s, found the end of the text", x->what, t->line, message);
    if (t->kind == TOK_BAD) return assay_fail(x->err, code, "%s:%d: %s, found a broken string or character", x->what, t->line, message);
    return assay_fail(x->err, code, "%s:%d: %s, found '%.*s'", x->what, t->line, message, (int)(t->len < 40 ? t->len : 40), t->text);
}

assay_status mil_lex_fail(mil_lexer *x, const char *fmt, ...) {
    char message[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(message, sizeof message, fmt, ap);
    va_end(ap);
    return fail_at(x, ASSAY_E_INPUT, message, true);
}

assay_status mil_lex_error(mil_lexer *x, assay_status code, const char *fmt, ...) {
    char message[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(message, sizeof message, fmt, ap);
    va_end(ap);
    return fail_at(x, code, message, false);
}

bool mil_lex_is(const mil_lexer *x, int kind) { return x->tok.kind == kind; }

bool mil_lex_word(const mil_lexer *x, const char *word) {
    return x->tok.kind == TOK_IDENT && x->tok.len == strlen(word) && !memcmp(x->tok.text, word, x->tok.len);
}

bool mil_lex_take(mil_lexer *x, int kind) {
    if (x->tok.kind != kind) return false;
    mil_lex_next(x);
    return true;
}

assay_status mil_lex_want(mil_lexer *x, int kind) {
    if (mil_lex_take(x, kind)) return ASSAY_OK;
    static const char *const names[] = { "the end", "a name", "a number", "a string in quotes", "'->'" };
    if (kind <= TOK_ARROW) return mil_lex_fail(x, "%s is wanted here", names[kind]);
    return mil_lex_fail(x, "'%c' is wanted here", kind);
}

assay_status mil_lex_ident(mil_lexer *x, const char **out) {
    if (!mil_lex_is(x, TOK_IDENT)) return mil_lex_want(x, TOK_IDENT);
    *out = assay_arena_strndup(x->arena, x->tok.text, x->tok.len);
    mil_lex_next(x);
    return ASSAY_OK;
}

char *mil_lex_text(const mil_lexer *x) {
    char *out = assay_arena_alloc(x->arena, x->tok.len + 1);
    size_t n = 0;
    for (size_t i = 0; i < x->tok.len; i++) {
        char c = x->tok.text[i];
        if (c == '\\' && i + 1 < x->tok.len) {
            c = x->tok.text[++i];
            if (c == 'n') c = '\n';
            else if (c == 't') c = '\t';
        }
        out[n++] = c;
    }
    return out;
}

assay_status mil_lex_enter(mil_lexer *x) {
    if (++x->depth > MAX_DEPTH) return mil_lex_error(x, ASSAY_E_INPUT, "nested more than %d deep", MAX_DEPTH);
    return ASSAY_OK;
}

void mil_lex_leave(mil_lexer *x) { x->depth--; }
