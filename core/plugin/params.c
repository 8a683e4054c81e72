/* Effective parameters of a gate or backend: checked, defaulted, and looked up by a plugin through host->param. */
#include "plugin/params_check.h"
#include "base/names.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct param_slot {
    const char *name;
    assay_value *values;
    uint32_t n;
} param_slot;
struct assay_params {
    assay_arena *arena;
    param_slot *slots;
    size_t n_slots;
    assay_json *effective;
};

static assay_status unknown_name(const assay_param *table, const char *name, const char *who, assay_error *err) {
    const char *names[256];
    size_t n = 0;
    for (const assay_param *p = table; p && p->name && n < 256; p++) names[n++] = p->name;
    char hint[96];
    return assay_fail(err, ASSAY_E_INPUT, "%s: unknown parameter '%.64s'%s", who, name, assay_did_you_mean(hint, name, names, n));
}

static assay_value to_value(assay_arena *a, int32_t type, const char *key, const assay_json *v) {
    assay_value out = {.key = key ? assay_arena_strdup(a, key) : "", .s = "", .type = ASSAY_PARAM_BASE(type)};
    if (out.type == ASSAY_T_STRING) {
        out.s = assay_arena_strdup(a, assay_json_text(v));
    } else if (out.type == ASSAY_T_BOOL) {
        out.i = assay_json_truth(v);
        out.f = (double)out.i;
    } else {
        out.f = assay_json_value(v);
        if (out.type == ASSAY_T_INT) out.i = (int64_t)out.f;
    }
    return out;
}

static bool is_at_word(const assay_json *v) {
    const char *s = assay_json_text(v);
    return s && *s == '@';
}

static void fill_slot(assay_arena *a, param_slot *slot, int32_t type, const assay_json *v) {
    int kind = assay_json_kind(v);
    bool many = kind == ASSAY_J_ARRAY || kind == ASSAY_J_OBJECT;
    size_t n = many ? assay_json_len(v) : 1;
    slot->values = assay_arena_alloc(a, (n ? n : 1) * sizeof *slot->values);
    for (size_t i = 0; i < n; i++) {
        const assay_json *e = many ? assay_json_at(v, i) : v;
        if (type & ASSAY_T_LIST && is_at_word(e)) continue;
        slot->values[slot->n++] = to_value(a, type, kind == ASSAY_J_OBJECT ? assay_json_key_at(v, i) : NULL, e);
    }
}

/* An @-word that is still there was not resolved from a plan: outside an experiment it names nothing. */
static assay_json *without_at_words(const assay_param *row, const assay_json *v) {
    if (is_at_word(v)) return row->type & ASSAY_T_LIST ? assay_json_array() : assay_json_new_string("");
    if (!(row->type & ASSAY_T_LIST) || assay_json_kind(v) != ASSAY_J_ARRAY) return assay_json_clone(v);
    assay_json *out = assay_json_array();
    for (size_t i = 0; i < assay_json_len(v); i++)
        if (!is_at_word(assay_json_at(v, i))) assay_json_append(out, assay_json_clone(assay_json_at(v, i)));
    return out;
}

static assay_status make_slot(assay_params *p, const assay_param *row, const assay_json *given, const char *who,
                              assay_error *err) {
    char where[256];
    snprintf(where, sizeof where, "%.160s.%.64s", who, row->name);
    param_slot *slot = &p->slots[p->n_slots++];
    slot->name = assay_arena_strdup(p->arena, row->name);
    const assay_json *v = assay_json_get(given, row->name);
    if (assay_json_kind(v) == ASSAY_J_NULL) v = NULL;
    assay_json *def = NULL;
    if (v) {
        if (!is_at_word(v)) {
            assay_status st = assay_param_check(row, v, where, err);
            if (st) return st;
        }
    } else {
        if (!row->def)
            return assay_fail(err, ASSAY_E_INPUT, "%s: required (%s: %s)", where, assay_param_type_name(row->type),
                              row->help ? row->help : "");
        assay_status st = assay_param_default(row, where, &def, err);
        if (st || !def) return st;
    }
    assay_json *kept = without_at_words(row, v ? v : def);
    fill_slot(p->arena, slot, row->type, kept);
    assay_json_set(p->effective, row->name, kept);
    assay_json_free(def);
    return ASSAY_OK;
}

assay_status assay_params_make(const assay_param *table, const assay_json *given, const char *who, assay_params **out,
                               assay_error *err) {
    *out = NULL;
    if (given && assay_json_kind(given) != ASSAY_J_OBJECT && assay_json_kind(given) != ASSAY_J_NULL && assay_json_len(given) > 0)
        return assay_fail(err, ASSAY_E_INPUT, "%s: parameters must be an object of names and values", who);
    for (size_t i = 0; assay_json_kind(given) == ASSAY_J_OBJECT && i < assay_json_len(given); i++)
        if (!assay_param_find(table, assay_json_key_at(given, i)))
            return unknown_name(table, assay_json_key_at(given, i), who, err);
    size_t n = 0;
    for (const assay_param *p = table; p && p->name; p++) n++;
    assay_params *p = assay_xcalloc(1, sizeof *p);
    p->arena = assay_arena_new();
    p->slots = assay_arena_alloc(p->arena, (n ? n : 1) * sizeof *p->slots);
    p->effective = assay_json_object();
    for (size_t i = 0; i < n; i++) {
        assay_status st = make_slot(p, &table[i], given, who, err);
        if (st) {
            assay_params_free(p);
            return st;
        }
    }
    *out = p;
    return ASSAY_OK;
}

void assay_params_free(assay_params *p) {
    if (!p) return;
    assay_json_free(p->effective);
    assay_arena_free(p->arena);
    free(p);
}

const assay_json *assay_params_effective(const assay_params *p) { return p ? p->effective : NULL; }

assay_status assay_params_get(const assay_params *p, const char *name, uint32_t index, assay_value *out) {
    for (size_t i = 0; p && name && out && i < p->n_slots; i++) {
        const param_slot *slot = &p->slots[i];
        if (strcmp(slot->name, name)) continue;
        if (index >= slot->n) return ASSAY_E_RANGE;
        *out = slot->values[index];
        return ASSAY_OK;
    }
    return ASSAY_E_MISSING;
}
