/* The schema of the words as JSON, for `assay schema`, the editor types and the reference page. */
#include "script/schema.h"
#include "script/script.h"
#include <string.h>

static assay_json *field_json(const assay_word_field *f);

static assay_json *word_json(const assay_word *w) {
    assay_json *j = assay_json_object();
    assay_json_set_string(j, "name", w->name);
    assay_json_set_string(j, "summary", w->summary);
    if (w->one_of) assay_json_set_string(j, "one_of", w->one_of);
    if (w->positional) assay_json_set_string(j, "positional", w->positional);
    assay_json_set_bool(j, "open", w->flags & ASSAY_WORD_OPEN);
    assay_json *fields = assay_json_set(j, "fields", assay_json_array());
    for (const assay_word_field *f = w->fields; f->name; f++) assay_json_append(fields, field_json(f));
    return j;
}

static assay_json *field_json(const assay_word_field *f) {
    assay_json *j = assay_json_object(), *def = NULL;
    assay_json_set_string(j, "name", f->name);
    assay_json_set_string(j, "type", assay_word_kind_name(f->kind));
    assay_json_set_bool(j, "required", f->flags & ASSAY_W_REQUIRED);
    if (f->choices) assay_json_set_string(j, "choices", f->choices);
    if (f->refers) assay_json_set_string(j, "refers", f->refers);
    if (f->def && assay_json_parse(f->def, strlen(f->def), "default", &def, NULL) == ASSAY_OK) assay_json_set(j, "default", def);
    assay_json_set_string(j, "help", f->help);
    if (f->sub) assay_json_set(j, "word", word_json(f->sub));
    return j;
}

assay_json *assay_script_schema(void) {
    size_t n;
    const assay_word *const *w = assay_words(&n);
    assay_json *j = assay_json_object();
    assay_json_set_string(j, "schema", "assay-words/1");
    assay_json *list = assay_json_set(j, "words", assay_json_array());
    for (size_t i = 0; i < n; i++) assay_json_append(list, word_json(w[i]));
    return j;
}
