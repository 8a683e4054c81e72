/* script/schema.h: the words of an experiment script, as tables. One schema drives validation, did-you-mean, `assay schema`,
 * the editor types (scripts/meta/assay.lua) and the reference page (docs/reference/words.md). */
#ifndef ASSAY_SCRIPT_SCHEMA_H
#define ASSAY_SCRIPT_SCHEMA_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ASSAY_W_STRING = 1, ASSAY_W_NAME, ASSAY_W_NUMBER, ASSAY_W_INTEGER, ASSAY_W_BOOL,
    ASSAY_W_SCALAR,                              /* number, string or boolean */
    ASSAY_W_STRINGS,                             /* list of strings; a single string is a list of one */
    ASSAY_W_FUNCTION, ASSAY_W_DATA,              /* DATA: a table of plain data (functions and tensors may hide inside) */
    ASSAY_W_RECIPE,                              /* file path, recipe, tensor or function that returns a tensor */
    ASSAY_W_RECIPES,                             /* table NAME = recipe */
    ASSAY_W_INTEGERS,                            /* table NAME = integer */
    ASSAY_W_WORD };                              /* a table with fields of its own: `sub` */
enum { ASSAY_W_REQUIRED = 1 };
enum { ASSAY_COMPARE_MAX = 64 };                 /* arms in one `compare` */
enum { ASSAY_WORD_OPEN = 1,                      /* further fields are checked elsewhere (parameters of a gate) */
       ASSAY_WORD_NESTED = 2,                    /* a table inside a word, no constructor of its own */
       ASSAY_WORD_GATE = 8 };                    /* stands in a gate's own file, not in an experiment */

typedef struct assay_word_field {                /* a table of these ends with name NULL */
    const char *name; int kind; uint32_t flags;
    const char *choices;                         /* "a|b|c" or NULL */
    const char *def;                             /* default as JSON text, or NULL */
    const char *refers;                          /* "arm", "fixture", "gate", "claim": the strings name one of these */
    const char *help;
    const struct assay_word *sub;
} assay_word_field;

typedef struct assay_word {
    const char *name, *summary;
    const assay_word_field *fields;
    const char *title;                           /* field that names an instance in messages: `name`, `id`, `use` */
    const char *one_of;                          /* "build|package|convert|like": exactly one of these, or NULL */
    const char *positional;                      /* what positional values mean ("two arms"), or NULL */
    uint32_t flags;
} assay_word;

const assay_word *const *assay_words(size_t *n); /* top-level words in the order of the reference page, `experiment` first */
const assay_word *assay_word_find(const char *name);
const assay_word_field *assay_word_field_find(const assay_word *w, const char *name);
const char *assay_word_kind_name(int kind);      /* "string", "list of strings" ... for people */
/* Is `s` one of "a|b|c"? */
bool assay_choice_has(const char *choices, const char *s);
/* "a, b or c" */
const char *assay_choice_text(const char *choices, char *out, size_t size);
/* did-you-mean over choices or field names; out holds 96 bytes */
const char *assay_choice_hint(char out[96], const char *choices, const char *s);
const char *assay_word_field_hint(char out[96], const assay_word *w, const char *s);
#endif
