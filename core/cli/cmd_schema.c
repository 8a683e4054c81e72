/* assay schema: the words of a script, from the tables that validate them: as text, JSON, editor types or the reference page. */
#include "cli/cli.h"
#include "script/schema.h"
#include "script/script.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

static void cell(const char *s) {
    for (; s && *s; s++) {
        if (*s == '|') putchar('\\');
        putchar(*s);
    }
}

/* ---- docs/reference/words.md */

static void field_row(const assay_word_field *f) {
    char choices[200];
    printf("| `%s` | %s | ", f->name, f->sub ? f->sub->name : assay_word_kind_name(f->kind));
    if (f->flags & ASSAY_W_REQUIRED) fputs("required", stdout);
    else if (f->def) printf("`%s`", f->def);
    fputs(" | ", stdout);
    cell(f->help);
    if (f->choices) {
        fputs(": ", stdout);
        cell(assay_choice_text(f->choices, choices, sizeof choices));
    }
    if (f->refers) printf(" (names of: %s)", f->refers);
    fputs(" |\n", stdout);
}

static void word_section(const assay_word *w, const char *level) {
    printf("\n%s %s\n\n%s", level, w->name, w->summary);
    if (w->one_of) {
        char text[200];
        printf(" Exactly one of %s.", assay_choice_text(w->one_of, text, sizeof text));
    }
    if (w->positional) printf(" Positional values: %s.", w->positional);
    if (w->flags & ASSAY_WORD_OPEN) fputs(" Further fields: the gate's own parameters ([gates](gates/README.md)).", stdout);
    fputs("\n\n| field | type | default | meaning |\n| --- | --- | --- | --- |\n", stdout);
    for (const assay_word_field *f = w->fields; f->name; f++) field_row(f);
    for (const assay_word_field *f = w->fields; f->name; f++)
        if (f->sub) word_section(f->sub, "###");
}

static int print_markdown(void) {
    size_t n;
    const assay_word *const *words = assay_words(&n);
    fputs("# The words of a script\n\nPrinted by `assay schema --markdown` from the tables that validate scripts; a test fails when page and program differ.\n"
          "Every word is a constructor: `word { field = value, ... }` returns a table stamped with its place; lists nest and are flattened.\n", stdout);
    for (size_t i = 0; i < n; i++) word_section(words[i], "##");
    return 0;
}

/* ---- scripts/meta/assay.lua */

static const char *editor_type(int kind) {
    switch (kind) {
    case ASSAY_W_STRING:
    case ASSAY_W_NAME: return "string";
    case ASSAY_W_NUMBER: return "number";
    case ASSAY_W_INTEGER: return "integer";
    case ASSAY_W_BOOL: return "boolean";
    case ASSAY_W_SCALAR: return "number|string|boolean";
    case ASSAY_W_STRINGS: return "string|string[]";
    case ASSAY_W_FUNCTION: return "function";
    case ASSAY_W_RECIPES: return "table<string, any>";
    case ASSAY_W_INTEGERS: return "table<string, integer>";
    case ASSAY_W_DATA: return "table";
    default: return "any";
    }
}

/* "a|b" as "\"a\"|\"b\"" */
static void quoted_choices(const char *choices) {
    putchar('"');
    for (; *choices; choices++) {
        if (*choices == '|') fputs("\"|\"", stdout);
        else putchar(*choices);
    }
    putchar('"');
}

static void class_name(const char *word, bool nested, const char *owner) {
    if (nested) printf("assay.%c%s.%s", toupper((unsigned char)owner[0]), owner + 1, word);
    else printf("assay.%c%s", toupper((unsigned char)word[0]), word + 1);
}

static void editor_class(const assay_word *w, const char *owner) {
    for (const assay_word_field *f = w->fields; f->name; f++)
        if (f->sub) editor_class(f->sub, w->name);
    printf("\n---%s\n---@class %s", w->summary, w->flags & ASSAY_WORD_OPEN || w->positional || !owner ? "" : "(exact) ");
    class_name(w->name, owner != NULL, owner ? owner : w->name);
    putchar('\n');
    for (const assay_word_field *f = w->fields; f->name; f++) {
        printf("---@field %s%s ", f->name, f->flags & ASSAY_W_REQUIRED ? "" : "?");
        if (f->sub) class_name(f->sub->name, true, w->name);
        else if (f->choices && f->kind == ASSAY_W_STRING) quoted_choices(f->choices);
        else fputs(editor_type(f->kind), stdout);
        printf(" %s\n", f->help);
    }
}

static int print_meta(void) {
    size_t n;
    const assay_word *const *words = assay_words(&n);
    fputs("---@meta\n-- Editor types of the words, printed by `assay schema --meta`; a test fails when file and program differ.\n"
          "error(\"scripts/meta/assay.lua is for editors; scripts get the words without it\")\n", stdout);
    for (size_t i = 0; i < n; i++) {
        editor_class(words[i], NULL);
        printf("---@param t ");
        class_name(words[i]->name, false, words[i]->name);
        printf("\nfunction %s(t) end\n", words[i]->name);
    }
    return 0;
}

/* ---- text */

static int print_text(void) {
    size_t n;
    const assay_word *const *words = assay_words(&n);
    for (size_t i = 0; i < n; i++) {
        printf("%s: %s\n", words[i]->name, words[i]->summary);
        for (const assay_word_field *f = words[i]->fields; f->name; f++)
            printf("    %-14s %s%-18s %s\n", f->name, f->flags & ASSAY_W_REQUIRED ? "*" : " ", assay_word_kind_name(f->kind), f->help);
    }
    return 0;
}

static int schema_run(const assay_args *a) {
    if (a->json) {
        assay_json *j = assay_script_schema();
        assay_cli_print_json(j);
        assay_json_free(j);
        return 0;
    }
    if (assay_flag(a, "markdown")) return print_markdown();
    if (assay_flag(a, "meta")) return print_meta();
    return print_text();
}

static const assay_opt opts[] = {
    { "markdown", 0, NULL, "the reference page docs/reference/words.md", false },
    { "meta", 0, NULL, "editor types, scripts/meta/assay.lua", false },
    { NULL, 0, NULL, NULL, false },
};
const assay_command assay_cmd_schema = {
    .name = "schema", .summary = "the words of a script and their fields (* required)", .opts = opts, .max_args = 0, .run = schema_run, .example = "assay schema --meta > assay.lua",
};
