/* Checks values against parameter rows, and the rows of a plugin's table themselves. */
#include "plugin/params_check.h"
#include "base/names.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROWS_MAX = 256 }; /* a table without its ending row stops here */

const assay_param *assay_param_find(const assay_param *table, const char *name) {
    for (const assay_param *p = table; p && p->name; p++)
        if (!strcmp(p->name, name)) return p;
    return NULL;
}

const char *assay_param_type_name(int32_t type) {
    static const char *const scalar[] = {"?", "boolean", "integer", "number", "string"};
    static const char *const list[] = {"?", "list of boolean", "list of integer", "list of number", "list of string"};
    static const char *const map[] = {"?", "map of boolean", "map of integer", "map of number", "map of string"};
    int32_t base = ASSAY_PARAM_BASE(type);
    if (base < ASSAY_T_BOOL || base > ASSAY_T_STRING) return "?";
    return type & ASSAY_T_MAP ? map[base] : type & ASSAY_T_LIST ? list[base] : scalar[base];
}

/* What was given, for the message: string "0.9999", number 1.5, list ... */
static void describe(const assay_json *v, char out[160]) {
    static const char *const names[] = {"null", "boolean", "number", "string", "list", "map"};
    int kind = assay_json_kind(v);
    if (kind == ASSAY_J_STRING) {
        snprintf(out, 160, "string \"%.120s\"", assay_json_text(v));
    } else if (kind == ASSAY_J_NUMBER) {
        char num[40];
        assay_json_format_number(assay_json_value(v), num);
        snprintf(out, 160, "number %s", num);
    } else {
        snprintf(out, 160, "%s", names[kind]);
    }
}

static bool kind_fits(int32_t base, const assay_json *v) {
    int kind = assay_json_kind(v);
    double x = assay_json_value(v);
    switch (base) {
    case ASSAY_T_BOOL:
        return kind == ASSAY_J_BOOL;
    case ASSAY_T_INT:
        return kind == ASSAY_J_NUMBER && x == floor(x) && fabs(x) <= 9007199254740992.0;
    case ASSAY_T_NUMBER:
        return kind == ASSAY_J_NUMBER || (kind == ASSAY_J_STRING && isinf(x));
    case ASSAY_T_STRING:
        return kind == ASSAY_J_STRING;
    default:
        return false;
    }
}

/* The names of "a|b|c" as an array that lives in `arena`. */
static size_t split_choices(assay_arena *arena, const char *choices, const char **out, size_t max) {
    size_t n = 0;
    for (const char *s = choices; *s && n < max; n++) {
        size_t len = strcspn(s, "|");
        out[n] = assay_arena_strndup(arena, s, len);
        s += len + (s[len] == '|');
    }
    return n;
}

static assay_status check_choice(const assay_param *row, const char *s, const char *where, assay_error *err) {
    const char *names[32];
    assay_arena *arena = assay_arena_new();
    size_t n = split_choices(arena, row->choices, names, 32);
    assay_status st = ASSAY_OK;
    bool found = false;
    for (size_t i = 0; i < n; i++) found = found || !strcmp(names[i], s);
    if (!found) {
        char hint[96];
        assay_buf all = {0};
        for (size_t i = 0; i < n; i++) assay_buf_printf(&all, "%s%s", i ? ", " : "", names[i]);
        st = assay_fail(err, ASSAY_E_INPUT, "%s: '%.64s' is not one of %s%s", where, s, all.data ? all.data : "",
                        assay_did_you_mean(hint, s, names, n));
        assay_buf_free(&all);
    }
    assay_arena_free(arena);
    return st;
}

static assay_status check_scalar(const assay_param *row, const assay_json *v, const char *where, assay_error *err) {
    int32_t base = ASSAY_PARAM_BASE(row->type);
    char given[160];
    if (!kind_fits(base, v)) {
        describe(v, given);
        return assay_fail(err, ASSAY_E_INPUT, "%s: expected %s, got %s", where, assay_param_type_name(base), given);
    }
    if (base == ASSAY_T_STRING) return row->choices ? check_choice(row, assay_json_text(v), where, err) : ASSAY_OK;
    double x = assay_json_value(v);
    if ((base == ASSAY_T_INT || base == ASSAY_T_NUMBER) && row->min <= row->max && !(x >= row->min && x <= row->max)) {
        char lo[40], hi[40], num[40];
        assay_json_format_number(row->min, lo);
        assay_json_format_number(row->max, hi);
        assay_json_format_number(x, num);
        return assay_fail(err, ASSAY_E_INPUT, "%s: %s is outside %s .. %s%s%s", where, num, lo, hi,
                          row->unit && *row->unit ? " " : "", row->unit ? row->unit : "");
    }
    return ASSAY_OK;
}

assay_status assay_param_check(const assay_param *row, const assay_json *v, const char *where, assay_error *err) {
    int kind = assay_json_kind(v);
    bool many = (row->type & ASSAY_T_MAP && kind == ASSAY_J_OBJECT) || (row->type & ASSAY_T_LIST && kind == ASSAY_J_ARRAY);
    if (!many) {
        if (row->type & ASSAY_T_MAP || kind == ASSAY_J_ARRAY || kind == ASSAY_J_OBJECT) {
            char given[160];
            /* An empty table of a script arrives as a list; it is as good an empty map. */
            if (row->type & ASSAY_T_MAP && kind == ASSAY_J_ARRAY && assay_json_len(v) == 0) return ASSAY_OK;
            describe(v, given);
            return assay_fail(err, ASSAY_E_INPUT, "%s: expected %s, got %s", where, assay_param_type_name(row->type), given);
        }
        return check_scalar(row, v, where, err);
    }
    for (size_t i = 0; i < assay_json_len(v); i++) {
        char at[256];
        const char *key = assay_json_key_at(v, i);
        if (kind == ASSAY_J_OBJECT)
            snprintf(at, sizeof at, "%s.%s", where, key ? key : "");
        else
            snprintf(at, sizeof at, "%s[%zu]", where, i + 1);
        assay_status st = check_scalar(row, assay_json_at(v, i), at, err);
        if (st) return st;
    }
    return ASSAY_OK;
}

assay_status assay_param_default(const assay_param *row, const char *where, assay_json **out, assay_error *err) {
    *out = NULL;
    if (!row->def || !*row->def) return ASSAY_OK;
    bool text = ASSAY_PARAM_BASE(row->type) == ASSAY_T_STRING && !strchr("\"[{", *row->def);
    if (text) {
        *out = assay_json_new_string(row->def);
        return ASSAY_OK;
    }
    assay_status st = assay_json_parse(row->def, strlen(row->def), where, out, err);
    return st ? assay_wrap(err, "%s: default '%s'", where, row->def) : ASSAY_OK;
}

static bool is_lower_snake(const char *s) {
    if (!s || !(*s >= 'a' && *s <= 'z')) return false;
    for (; *s; s++)
        if (!((*s >= 'a' && *s <= 'z') || (*s >= '0' && *s <= '9') || *s == '_')) return false;
    return true;
}

static assay_status check_row(const assay_param *table, size_t i, const char *who, assay_error *err) {
    const assay_param *row = &table[i];
    if (!is_lower_snake(row->name))
        return assay_fail(err, ASSAY_E_ABI, "%s: parameter %zu: name '%.40s' is not lower_snake_case", who, i + 1, row->name);
    for (size_t j = 0; j < i; j++)
        if (!strcmp(table[j].name, row->name))
            return assay_fail(err, ASSAY_E_ABI, "%s: parameter '%s' stands twice in the table", who, row->name);
    if (!strcmp(assay_param_type_name(row->type), "?") || row->type & ~(15 | ASSAY_T_LIST | ASSAY_T_MAP) ||
        (row->type & ASSAY_T_LIST && row->type & ASSAY_T_MAP))
        return assay_fail(err, ASSAY_E_ABI, "%s: parameter '%s' has the unknown type %d", who, row->name, (int)row->type);
    if (!row->help || !*row->help) return assay_fail(err, ASSAY_E_ABI, "%s: parameter '%s' has no help text", who, row->name);
    if (row->choices && ASSAY_PARAM_BASE(row->type) != ASSAY_T_STRING)
        return assay_fail(err, ASSAY_E_ABI, "%s: parameter '%s' has choices but is no string", who, row->name);
    char where[160];
    snprintf(where, sizeof where, "%.80s: default of parameter '%.40s'", who, row->name);
    assay_json *def = NULL;
    assay_status st = assay_param_default(row, where, &def, err);
    if (!st && def && !(assay_json_text(def) && *assay_json_text(def) == '@')) st = assay_param_check(row, def, where, err);
    assay_json_free(def);
    if (st && err) err->code = ASSAY_E_ABI;
    return st ? ASSAY_E_ABI : ASSAY_OK;
}

assay_status assay_params_check_table(const assay_param *table, const char *who, assay_error *err) {
    if (!table) return ASSAY_OK;
    for (size_t i = 0; table[i].name; i++) {
        if (i == ROWS_MAX)
            return assay_fail(err, ASSAY_E_ABI, "%s: more than %d parameters: is the ending row missing?", who, ROWS_MAX);
        assay_status st = check_row(table, i, who, err);
        if (st) return st;
    }
    return ASSAY_OK;
}
