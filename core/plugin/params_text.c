/* Reads "name=value" of a command line into a JSON value of the type that the parameter table says. */
#include "plugin/params_check.h"
#include "base/names.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Text that does not read as the wanted type stays a string: the check then says what was expected and what was given. */
static assay_json *scalar_from_text(int32_t base, const char *s) {
    if (base == ASSAY_T_BOOL && (!strcmp(s, "true") || !strcmp(s, "false"))) return assay_json_new_bool(*s == 't');
    if ((base == ASSAY_T_INT || base == ASSAY_T_NUMBER) && *s) {
        char *end = NULL;
        double x = strtod(s, &end);
        if (end && !*end && end != s && x == x) return assay_json_new_number(x);
    }
    return assay_json_new_string(s);
}

/* The next comma-separated piece, malloc'd; NULL at the end. */
static char *next_piece(const char **at) {
    if (!*at) return NULL;
    size_t len = strcspn(*at, ",");
    char *piece = assay_xstrndup(*at, len);
    *at = (*at)[len] == ',' ? *at + len + 1 : NULL;
    return piece;
}

static assay_json *list_from_text(int32_t base, const char *text) {
    assay_json *out = assay_json_array();
    const char *at = *text ? text : NULL;
    for (char *piece; (piece = next_piece(&at)) != NULL; free(piece)) assay_json_append(out, scalar_from_text(base, piece));
    return out;
}

static assay_status map_from_text(int32_t base, const char *text, const char *where, assay_json **out, assay_error *err) {
    *out = assay_json_object();
    const char *at = *text ? text : NULL;
    for (char *piece; (piece = next_piece(&at)) != NULL; free(piece)) {
        char *colon = strrchr(piece, ':');
        if (!colon || colon == piece) {
            assay_status st = assay_fail(err, ASSAY_E_USAGE, "%s: '%.64s' is not key:value", where, piece);
            free(piece);
            return st;
        }
        *colon = '\0';
        assay_json_set(*out, piece, scalar_from_text(base, colon + 1));
    }
    return ASSAY_OK;
}

static assay_status value_from_text(const assay_param *row, const char *text, const char *where, assay_json **out,
                                    assay_error *err) {
    int32_t base = ASSAY_PARAM_BASE(row->type);
    bool json = (row->type & ASSAY_T_LIST && *text == '[') || (row->type & ASSAY_T_MAP && *text == '{');
    if (json) return assay_json_parse(text, strlen(text), where, out, err);
    if (row->type & ASSAY_T_MAP) return map_from_text(base, text, where, out, err);
    *out = row->type & ASSAY_T_LIST ? list_from_text(base, text) : scalar_from_text(base, text);
    return ASSAY_OK;
}

assay_status assay_params_from_text(const assay_param *table, const char *text, const char *who, assay_json *obj,
                                    assay_error *err) {
    const char *eq = strchr(text, '=');
    if (!eq || eq == text) return assay_fail(err, ASSAY_E_USAGE, "%s: '%.64s' is not name=value", who, text);
    char *name = assay_xstrndup(text, (size_t)(eq - text));
    char *where = assay_xprintf("%s.%s", who, name);
    const assay_param *row = assay_param_find(table, name);
    assay_json *v = NULL;
    assay_status st;
    if (!row) {
        assay_json *one = assay_json_object(); /* the maker words the refusal, with its suggestion */
        assay_json_set_bool(one, name, true);
        assay_params *p = NULL;
        st = assay_params_make(table, one, who, &p, err);
        assay_params_free(p);
        assay_json_free(one);
    } else {
        st = value_from_text(row, eq + 1, where, &v, err);
        if (!st) st = assay_param_check(row, v, where, err);
    }
    if (!st)
        assay_json_set(obj, name, v);
    else
        assay_json_free(v);
    free(where);
    free(name);
    return st;
}
