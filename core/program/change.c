/* An arm's declared `change`: which differences from the control its words cover, and which lie beyond them. */
#include "program/diff.h"
#include "program/optable.h"
#include "base/names.h"
#include <stdlib.h>
#include <string.h>

/* Areas leave out what an experiment must say aloud: splitting and slicing, other ops for projections, constants of norms. */
static const struct {
    const char *name, *ops[16];
} areas[] = {
    {"attention_spelling",
     {"matmul", "softmax", "scaled_dot_product_attention", "einsum", "mul", "real_div", "add", "select", "transpose", "reshape",
      "expand_dims", "squeeze", "cast"}},
    {"scale_position", {"mul", "real_div"}},
    {"mask", {"add", "select", "cast", "logical_not", "scaled_dot_product_attention.attn_mask"}},
    {"mask.sentinel", {"add.x", "add.y", "select.a", "select.b", "scaled_dot_product_attention.attn_mask"}},
    {"layout", {"transpose", "reshape", "expand_dims", "squeeze"}},
    {"precision", {"cast"}},
    {"weights", {"linear.weight", "linear.bias", "conv.weight", "conv.bias", "matmul.x", "matmul.y", "layer_norm.gamma", "layer_norm.beta"}},
};
enum { AREAS = sizeof areas / sizeof *areas };

/* Does the op type or parameter `named` cover `subject`? An op type covers its parameters. */
static bool names_it(const char *named, const char *subject) {
    size_t n = strlen(named);
    return !strncmp(named, subject, n) && (!subject[n] || subject[n] == '.');
}

static bool covers(const char *word, const char *subject) {
    if (names_it(word, subject)) return true;
    for (size_t i = 0; i < AREAS; i++)
        for (size_t k = 0; !strcmp(areas[i].name, word) && areas[i].ops[k]; k++)
            if (names_it(areas[i].ops[k], subject)) return true;
    return false;
}

/* `change` may be one word or a list; word i, or NULL. */
static const char *word_at(const assay_json *words, size_t i) {
    if (assay_json_kind(words) == ASSAY_J_ARRAY) return i < assay_json_len(words) ? assay_json_text(assay_json_at(words, i)) : NULL;
    return i == 0 ? assay_json_text(words) : NULL;
}

static bool known(const char *word) {
    char *type = assay_xstrndup(word, strcspn(word, "."));
    bool yes = assay_optable_find(type) != NULL;
    for (size_t i = 0; i < AREAS; i++) yes |= !strcmp(areas[i].name, word);
    free(type);
    return yes;
}

assay_status assay_change_check(const assay_json *words, assay_error *err) {
    const char *names[AREAS], *w;
    char hint[96];
    for (size_t i = 0; i < AREAS; i++) names[i] = areas[i].name;
    for (size_t i = 0; (w = word_at(words, i)); i++)
        if (!known(w))
            return assay_fail(err, ASSAY_E_INPUT, "change '%s' names no area and no op%s", w, assay_did_you_mean(hint, w, names, AREAS));
    return ASSAY_OK;
}

static bool declared(const assay_json *words, const assay_json *ops) {
    for (size_t i = 0; i < assay_json_len(ops); i++) {
        const char *subject = assay_json_text(assay_json_at(ops, i)), *w;
        bool found = false;
        for (size_t k = 0; !found && (w = word_at(words, k)); k++) found = covers(w, subject);
        if (!found) return false;
    }
    return assay_json_len(ops) > 0;
}

size_t assay_change_mark(const assay_json *words, assay_json *rows) {
    size_t beyond = 0;
    for (size_t i = 0; i < assay_json_len(rows); i++) {
        assay_json *r = assay_json_at(rows, i);
        bool yes = declared(words, assay_json_get(r, "ops"));
        assay_json_set_bool(r, "declared", yes);
        beyond += !yes;
    }
    return beyond;
}
