/* Copies templates: the text of the template is plain, its name is the word that is replaced. */
#include "plugin/scaffold.h"
#include "base/fs.h"
#include "base/names.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_MAX_BYTES = 1 << 20 };

/* The first of the places below an install (where the program stands in bin/) or the source tree that exists; malloc'd. */
static assay_status find_below(const char *installed, const char *source, const char *probe, char **out, assay_error *err) {
    char *self = assay_self_path(), *dir = self ? assay_path_dir(self) : assay_xstrdup("."), *up = assay_path_dir(dir);
    char *places[] = {assay_path_join(up, installed), assay_path_join(ASSAY_SOURCE_DIR, source)};
    *out = NULL;
    for (size_t i = 0; i < 2; i++) {
        char *wanted = assay_path_join(places[i], probe);
        if (!*out && assay_exists(wanted)) *out = assay_xstrdup(places[i]);
        free(wanted);
    }
    assay_status st = *out ? ASSAY_OK
                           : assay_fail(err, ASSAY_E_MISSING, "neither %s nor %s holds %s: is this assay installed whole?",
                                        places[0], places[1], probe);
    free(places[0]);
    free(places[1]);
    free(up);
    free(dir);
    free(self);
    return st;
}

static bool is_word_char(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* Every `from` that does not stand inside a longer word. */
static void replace(const char *text, size_t len, const char *from, const char *to, assay_buf *out) {
    size_t n = strlen(from);
    for (size_t i = 0; i < len;) {
        bool here =
            len - i >= n && !memcmp(text + i, from, n) && (i == 0 || !is_word_char(text[i - 1])) && !is_word_char(text[i + n]);
        if (here)
            assay_buf_str(out, to);
        else
            assay_buf_char(out, text[i]);
        i += here ? n : 1;
    }
}

static assay_status copy_text(const char *from, const char *to, const char *word, const char *name, const char *headers,
                              assay_error *err) {
    char *data = NULL;
    size_t len = 0;
    assay_buf a = {0}, b = {0};
    assay_status st = assay_read_file(from, FILE_MAX_BYTES, &data, &len, err);
    if (st) return st;
    replace(data, len, word, name, &a);
    const char *mark = headers && a.data ? strstr(a.data, "@ASSAY_HEADERS@") : NULL;
    if (mark) {
        assay_buf_add(&b, a.data, (size_t)(mark - a.data));
        assay_buf_str(&b, headers);
        assay_buf_str(&b, mark + strlen("@ASSAY_HEADERS@"));
    }
    const assay_buf *text = mark ? &b : &a;
    st = assay_write_file(to, text->data ? text->data : "", text->len, err);
    assay_buf_free(&a);
    assay_buf_free(&b);
    free(data);
    return st;
}

static assay_status copy_folder(const char *from, const char *to, const char *name, const char *headers, assay_error *err) {
    char **names = NULL;
    size_t n = 0;
    assay_status st = assay_mkdirs(to, err);
    if (!st) st = assay_list_dir(from, &names, &n, err);
    for (size_t i = 0; !st && i < n; i++) {
        char *a = assay_path_join(from, names[i]), *b = assay_path_join(to, names[i]);
        if (assay_is_dir(a))
            st = copy_folder(a, b, name, headers, err);
        else if (assay_ends_with(a, ".npy"))
            st = assay_copy_file(a, b, err);
        else
            st = copy_text(a, b, "template", name, headers, err);
        free(a);
        free(b);
    }
    assay_list_free(names, n);
    return st;
}

assay_status assay_scaffold_gate(const char *name, const char *dir, const char *headers, char **made, assay_error *err) {
    char *from = NULL, *include = NULL, *to = assay_path_join(dir, name);
    assay_status st = ASSAY_OK;
    *made = NULL;
    for (const char *p = name; *p; p++)
        if (!(islower((unsigned char)*p) || (p > name && (isdigit((unsigned char)*p) || *p == '_'))))
            st = assay_fail(err, ASSAY_E_USAGE,
                            "'%.64s' is no name for a gate: lower case letters, digits and '_', a letter first", name);
    if (!st && assay_exists(to))
        st = assay_fail(err, ASSAY_E_INPUT, "%s is there already: choose another name, or remove it", to);
    if (!st) st = find_below("share/assay/templates/gate", "plugins/gates/template", "gate.c", &from, err);
    if (!st && headers) include = assay_xstrdup(headers);
    if (!st && !headers) st = find_below("include", "core/include", "assay/gate.h", &include, err);
    if (!st) st = copy_folder(from, to, name, include, err);
    if (!st) *made = assay_xstrdup(to);
    free(include);
    free(from);
    free(to);
    return st;
}

assay_status assay_scaffold_experiment(const char *name, const char *dir, char **made, assay_error *err) {
    char *from = NULL, *to = assay_xprintf("%s/%s.lua", dir, name);
    *made = NULL;
    assay_status st = assay_is_plain_name(name)
                          ? ASSAY_OK
                          : assay_fail(err, ASSAY_E_USAGE, "'%.64s' is no plain name: letters, digits, '_', '-' and '.'", name);
    if (!st && assay_exists(to))
        st = assay_fail(err, ASSAY_E_INPUT, "%s is there already: choose another name, or remove it", to);
    if (!st) st = find_below("share/assay/scripts/templates", "scripts/templates", "experiment.lua", &from, err);
    if (!st) {
        char *file = assay_path_join(from, "experiment.lua");
        st = copy_text(file, to, "NAME", name, NULL, err);
        free(file);
    }
    if (!st) *made = assay_xstrdup(to);
    free(from);
    free(to);
    return st;
}
