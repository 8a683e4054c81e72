/* program/mil_lex.h: tokens of MIL text. */
#ifndef ASSAY_PROGRAM_MIL_LEX_H
#define ASSAY_PROGRAM_MIL_LEX_H
#include "program/internal.h"

enum { TOK_END = 0, TOK_IDENT, TOK_NUMBER, TOK_STRING, TOK_ARROW, TOK_BAD };   /* other kinds are the character itself */
typedef struct mil_token { int kind; const char *text; size_t len; int line; } mil_token;   /* STRING: between the quotes, escapes as written */
typedef struct mil_lexer { const char *at, *end; int line; const char *what; assay_arena *arena; assay_error *err; mil_token tok; int depth; } mil_lexer;

void mil_lex_start(mil_lexer *x, const char *text, size_t len, const char *what, assay_arena *arena, assay_error *err);
void mil_lex_next(mil_lexer *x);
/* Error at the current token: "WHAT:LINE: <message>, found 'x'". */
assay_status mil_lex_fail(mil_lexer *x, const char *fmt, ...) ASSAY_PRINTF(2, 3);
assay_status mil_lex_error(mil_lexer *x, assay_status code, const char *fmt, ...) ASSAY_PRINTF(3, 4);   /* without "found" */
bool mil_lex_is(const mil_lexer *x, int kind);
bool mil_lex_word(const mil_lexer *x, const char *word);   /* the token is this identifier */
bool mil_lex_take(mil_lexer *x, int kind);                 /* moves on and is true if the token is of that kind */
assay_status mil_lex_want(mil_lexer *x, int kind);         /* the same, an error otherwise */
assay_status mil_lex_ident(mil_lexer *x, const char **out);       /* copied to the arena */
char *mil_lex_text(const mil_lexer *x);                    /* the string of a STRING token, escapes resolved, in the arena */
/* Nesting of types, values and blocks is bounded, so that no input runs out of stack. */
assay_status mil_lex_enter(mil_lexer *x);
void mil_lex_leave(mil_lexer *x);
#endif
