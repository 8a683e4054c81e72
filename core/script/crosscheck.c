/* Names that refer to each other (arms, fixtures, gates, claims, ops) and the parameters of gates against their tables. */
#include "script/lua_script.h"
#include "base/fs.h"
#include "base/names.h"
#include "program/optable.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_MAX = 512 };
typedef struct name_set { const char *kind, *names[NAMES_MAX], *stamps[NAMES_MAX]; size_t n; } name_set;
typedef struct checks { lua_State *L; int list; name_set arms, fixtures, gates, claims; } checks;

static void collect(checks *c, name_set *set, const char *word, const char *field, bool unique) {
    lua_State *L = c->L;
    set->kind = word;
    set->n = 0;
    for (lua_Integer i = 1, n = (lua_Integer)lua_rawlen(L, c->list); i <= n; i++) {
        lua_rawgeti(L, c->list, i);
        if (strcmp(assay_lua_word_at(L, -1)->name, word) == 0) {
            lua_getfield(L, -1, field);          /* the string lives as long as its table, which the list holds */
            const char *name = lua_tostring(L, -1), *stamp = assay_lua_stamp_at(L, -2);
            for (size_t k = 0; unique && k < set->n; k++)
                if (strcmp(set->names[k], name) == 0)
                    assay_lua_fail(L, ASSAY_E_INPUT, stamp, "%s \"%s\": the name is taken (%s)", word, name, set->stamps[k]);
            if (set->n == NAMES_MAX) assay_lua_fail(L, ASSAY_E_LIMIT, stamp, "more than %d of the word %s", NAMES_MAX, word);
            set->names[set->n] = name;
            set->stamps[set->n++] = stamp;
            lua_pop(L, 1);
        }
        lua_pop(L, 1);
    }
}

static bool in_set(const name_set *s, const char *name) {
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->names[i], name) == 0) return true;
    return false;
}

/* "@candidate" and the like are resolved by the run. */
static void require_name(checks *c, const name_set *s, const char *name, const char *stamp, const char *who, const char *field) {
    char hint[96];
    if (!name || *name == '@' || in_set(s, name)) return;
    assay_lua_fail(c->L, ASSAY_E_INPUT, stamp, "%s.%s: no %s '%.60s'%s", who, field, s->kind, name, assay_did_you_mean(hint, name, s->names, s->n));
}

static const name_set *set_of(const checks *c, const char *kind) {
    if (strcmp(kind, "arm") == 0) return &c->arms;
    if (strcmp(kind, "fixture") == 0) return &c->fixtures;
    if (strcmp(kind, "gate") == 0) return &c->gates;
    return &c->claims;
}

/* Value on top of the stack: a string or a list of strings. */
static void require_names(checks *c, const name_set *s, const char *stamp, const char *who, const char *field) {
    lua_State *L = c->L;
    if (lua_type(L, -1) == LUA_TSTRING) require_name(c, s, lua_tostring(L, -1), stamp, who, field);
    if (!lua_istable(L, -1)) return;
    for (lua_Integer i = 1, n = (lua_Integer)lua_rawlen(L, -1); i <= n; i++) {
        lua_rawgeti(L, -1, i);
        require_name(c, s, lua_tostring(L, -1), stamp, who, field);
        lua_pop(L, 1);
    }
}

static void check_references(checks *c, int item) {
    lua_State *L = c->L;
    const assay_word *w = assay_lua_word_at(L, item);
    char who[160];
    assay_lua_word_title(L, item, who, sizeof who);
    for (const assay_word_field *f = w->fields; f->name; f++) {
        if (!f->refers) continue;
        lua_getfield(L, item, f->name);
        require_names(c, set_of(c, f->refers), assay_lua_stamp_at(L, item), who, f->name);
        lua_pop(L, 1);
    }
    if (strcmp(w->name, "compare")) return;
    for (lua_Integer i = 1; i <= (lua_Integer)lua_rawlen(L, item); i++) {
        char place[32];
        snprintf(place, sizeof place, i == 1 ? "first" : i == 2 ? "second" : "%d", (int)i);
        lua_rawgeti(L, item, i);
        require_name(c, &c->arms, lua_tostring(L, -1), assay_lua_stamp_at(L, item), who, place);
        lua_pop(L, 1);
    }
}

/* ---- parameters of gates */
static const char *base_type_name(int32_t type) {
    switch (type & 15) {
    case ASSAY_T_BOOL: return "boolean";
    case ASSAY_T_INT: return "integer";
    case ASSAY_T_NUMBER: return "number";
    default: return "string";
    }
}

static bool scalar_fits(int32_t type, const assay_json *j) {
    int k = assay_json_kind(j);
    double v = assay_json_value(j);
    switch (type & 15) {
    case ASSAY_T_BOOL: return k == ASSAY_J_BOOL;
    case ASSAY_T_INT: return k == ASSAY_J_NUMBER && floor(v) == v;
    case ASSAY_T_NUMBER: return k == ASSAY_J_NUMBER;
    default: return k == ASSAY_J_STRING;
    }
}

typedef struct param_check { checks *c; const char *stamp, *who; const assay_param *p; } param_check;

static void wrong_type(const param_check *k, const assay_json *j, const char *what) {
    char got[160];
    assay_lua_fail(k->c->L, ASSAY_E_INPUT, k->stamp, "%s.%s: expected %s%s, got %s", k->who, k->p->name, what, base_type_name(k->p->type),
                   assay_json_describe(j, got, sizeof got));
}

static void check_type(const param_check *k, const assay_json *j) {
    int kind = assay_json_kind(j);
    bool list = k->p->type & ASSAY_T_LIST, map = k->p->type & ASSAY_T_MAP;
    if (map) {
        if (kind != ASSAY_J_OBJECT && !(kind == ASSAY_J_ARRAY && assay_json_len(j) == 0)) wrong_type(k, j, "a table NAME = ");
        for (size_t i = 0; kind == ASSAY_J_OBJECT && i < assay_json_len(j); i++)
            if (!scalar_fits(k->p->type, assay_json_at(j, i))) wrong_type(k, assay_json_at(j, i), "a table NAME = ");
    } else if (list && kind == ASSAY_J_ARRAY) {
        for (size_t i = 0; i < assay_json_len(j); i++)
            if (!scalar_fits(k->p->type, assay_json_at(j, i))) wrong_type(k, assay_json_at(j, i), "a list of ");
    } else if (!scalar_fits(k->p->type, j)) wrong_type(k, j, list ? "a list of " : "");
}

static void check_op_name(const param_check *k, const char *op) {
    size_t n;
    char hint[96];
    assay_optable_all(&n);
    if (!op || n == 0 || assay_optable_find(op)) return;
    assay_lua_fail(k->c->L, ASSAY_E_INPUT, k->stamp, "%s.%s: no op '%.60s'%s", k->who, k->p->name, op, assay_optable_suggest(hint, op));
}

/* Which closed set of names a parameter draws from: said by its unit ("arm", "fixture", "op"), or by its agreed name. */
static const char *names_of(const assay_param *p) {
    static const char *const arms[] = { "arm", "control", "negative", "must_fail", "off", "on", NULL };
    static const char *const ops[] = { "op_of_interest", "require", "forbid_in_control", NULL };
    if (p->unit && (!strcmp(p->unit, "arm") || !strcmp(p->unit, "fixture") || !strcmp(p->unit, "op"))) return p->unit;
    for (size_t i = 0; arms[i]; i++) if (strcmp(p->name, arms[i]) == 0) return "arm";
    for (size_t i = 0; ops[i]; i++) if (strcmp(p->name, ops[i]) == 0) return "op";
    return strcmp(p->name, "fixture") == 0 ? "fixture" : NULL;
}

static void check_one_name(const param_check *k, const char *kind, const char *name) {
    if (strcmp(kind, "op") == 0) check_op_name(k, name);
    else require_name(k->c, set_of(k->c, kind), name, k->stamp, k->who, k->p->name);
}

static void check_names(const param_check *k, const assay_json *j) {
    const char *kind = names_of(k->p);
    if (!kind) return;
    if (assay_json_kind(j) == ASSAY_J_STRING) check_one_name(k, kind, assay_json_text(j));
    for (size_t i = 0; i < assay_json_len(j); i++) {
        if (assay_json_kind(j) == ASSAY_J_OBJECT) check_one_name(k, kind, assay_json_key_at(j, i));
        else check_one_name(k, kind, assay_json_text(assay_json_at(j, i)));
    }
}

static const assay_param *find_param(const assay_param *table, const char *name) {
    for (const assay_param *p = table; p && p->name; p++)
        if (strcmp(p->name, name) == 0) return p;
    return NULL;
}

static int unknown_param(checks *c, const char *stamp, const char *who, const assay_param *table, const char *name) {
    const char *names[128];
    size_t n = 0;
    char hint[96];
    for (const assay_param *p = table; p && p->name && n < 128; p++) names[n++] = p->name;
    return assay_lua_fail(c->L, ASSAY_E_INPUT, stamp, "%s: unknown parameter '%.60s'%s", who, name, assay_did_you_mean(hint, name, names, n));
}

static const assay_gate_type *known_gate(const assay_registry *r, const char *use) {
    const assay_gate_type *const *list;
    for (size_t i = 0, n = assay_registry_gates(r, &list); i < n; i++)
        if (strcmp(list[i]->name, use) == 0) return list[i];
    return NULL;
}

/* The file of a Lua gate: beside the script, or among the installed ones; NULL when there is none. */
static char *gate_file(const assay_sandbox *sb, const char *use) {
    const char *const roots[] = { sb->root, sb->scripts_dir };
    for (int i = 0; i < 2 && assay_is_plain_name(use); i++) {
        if (!roots[i]) continue;
        char *path = assay_xprintf(i == 0 ? "%s/%s.lua" : "%s/gates/%s.lua", roots[i], use);
        if (assay_is_file(path)) return path;
        free(path);
    }
    return NULL;
}

/* The file of a Lua gate and the modules it requires count among those of the script. */
static void note_gate(checks *c, const assay_gate_type *g, const char *stamp, const char *who) {
    assay_sandbox *sb = assay_script_of(c->L)->sb;
    assay_error err = { 0, "" };
    size_t n;
    const assay_gate_module *modules = assay_script_gate_modules(g, &n);
    lua_pushfstring(c->L, "gates/%s.lua", g->name);
    assay_status st = assay_lua_note_file(sb, g->path, lua_tostring(c->L, -1), &err);
    for (size_t i = 0; !st && i < n; i++) st = assay_lua_note_file(sb, modules[i].path, modules[i].name, &err);
    if (st) assay_lua_fail(c->L, st, stamp, "%s: %s", who, err.message);
    lua_pop(c->L, 1);
}

/* The gate's type; a Lua gate is loaded when it is named first. */
static const assay_gate_type *find_gate(checks *c, const char *use, const char *stamp, const char *who) {
    assay_script *s = assay_script_of(c->L);
    assay_error err = { 0, "" };
    assay_status st = ASSAY_OK;
    char *path = known_gate(s->registry, use) ? NULL : gate_file(s->sb, use);
    if (path) st = assay_script_load_gate(s->registry, path, s->sb->scripts_dir, &err);
    free(path);
    if (st) assay_lua_fail(c->L, st, stamp, "%s: %s", who, err.message);
    const assay_gate_type *g = assay_registry_gate(s->registry, use, &err);
    if (!g) assay_lua_fail(c->L, ASSAY_E_INPUT, stamp, "%s.use: %s; 'assay gates' lists them", who, err.message);
    if (assay_streq(g->kind, "lua")) note_gate(c, g, stamp, who);
    return g;
}

static const assay_gate_type *gate_at(checks *c, int item) {
    lua_State *L = c->L;
    char who[160];
    assay_lua_word_title(L, item, who, sizeof who);
    lua_getfield(L, item, "use");
    const assay_gate_type *g = find_gate(c, lua_tostring(L, -1), assay_lua_stamp_at(L, item), who);
    lua_pop(L, 1);
    return g;
}

static void check_gate(checks *c, int item) {
    lua_State *L = c->L;
    char who[160], why[160];
    const char *stamp = assay_lua_stamp_at(L, item);
    const assay_gate_type *g = gate_at(c, item);
    assay_lua_word_title(L, item, who, sizeof who);
    for (lua_pushnil(L); lua_next(L, item); lua_pop(L, 1)) {
        if (lua_type(L, -2) != LUA_TSTRING) continue;
        const char *name = lua_tostring(L, -2);
        if (strcmp(name, "use") == 0) continue;
        const assay_param *p = find_param(g->params, name);
        if (!p && assay_word_field_find(assay_word_find("gate"), name)) continue;
        if (!p) unknown_param(c, stamp, who, g->params, name);
        assay_json *j = assay_lua_to_json(L, lua_gettop(L), why, sizeof why);
        if (!j) assay_lua_fail(L, ASSAY_E_INPUT, stamp, "%s.%s: expected plain data, got %s", who, name, why);
        assay_json_set(assay_script_of(L)->options, "\x01scratch", j);       /* owned by the script, so that an error leaks nothing */
        param_check k = { c, stamp, who, p };
        check_type(&k, j);
        check_names(&k, j);
    }
    assay_json_remove(assay_script_of(L)->options, "\x01scratch");
}

/* ---- likes must end somewhere, and some words stand once */
static void check_like(checks *c, int item) {
    lua_State *L = c->L;
    char who[160];
    assay_lua_word_title(L, item, who, sizeof who);
    lua_getfield(L, item, "like");
    const char *next = lua_tostring(L, -1);
    lua_pop(L, 1);
    for (size_t steps = 0; next; steps++) {
        if (steps > c->arms.n) assay_lua_fail(L, ASSAY_E_INPUT, assay_lua_stamp_at(L, item), "%s.like: arms are like each other in a circle", who);
        const char *name = next;
        next = NULL;
        for (lua_Integer i = 1, n = (lua_Integer)lua_rawlen(L, c->list); i <= n && !next; i++) {
            lua_rawgeti(L, c->list, i);
            if (strcmp(assay_lua_word_at(L, -1)->name, "arm") == 0) {
                lua_getfield(L, -1, "name");
                if (strcmp(lua_tostring(L, -1), name) == 0) {
                    lua_getfield(L, -2, "like");
                    next = lua_tostring(L, -1);
                    lua_pop(L, 1);
                }
                lua_pop(L, 1);
            }
            lua_pop(L, 1);
        }
    }
}

static void check_once(checks *c, const char *word) {
    lua_State *L = c->L;
    int seen = 0;
    for (lua_Integer i = 1, n = (lua_Integer)lua_rawlen(L, c->list); i <= n; i++) {
        lua_rawgeti(L, c->list, i);
        if (strcmp(assay_lua_word_at(L, -1)->name, word) == 0 && seen++)
            assay_lua_fail(L, ASSAY_E_INPUT, assay_lua_stamp_at(L, -1), "%s: an experiment has one", word);
        lua_pop(L, 1);
    }
}

/* A misspelt gate is told where it is used, before the claims and kills that name it rightly. */
static void check_uses(checks *c) {
    for (lua_Integer i = 1, n = (lua_Integer)lua_rawlen(c->L, c->list); i <= n && assay_script_of(c->L)->registry; i++) {
        lua_rawgeti(c->L, c->list, i);
        if (strcmp(assay_lua_word_at(c->L, -1)->name, "gate") == 0) gate_at(c, lua_gettop(c->L));
        lua_pop(c->L, 1);
    }
}

void assay_script_crosscheck(lua_State *L, int list) {
    checks *c = lua_newuserdatauv(L, sizeof *c, 0);      /* large: not on the C stack, and freed by the collector */
    c->L = L;
    c->list = lua_absindex(L, list);
    collect(c, &c->arms, "arm", "name", true);
    collect(c, &c->fixtures, "fixture", "name", true);
    collect(c, &c->gates, "gate", "use", false);
    collect(c, &c->claims, "claim", "id", true);
    check_once(c, "weights");
    check_once(c, "reference");
    check_once(c, "sweep");
    check_once(c, "follows");
    check_uses(c);
    for (lua_Integer i = 1, n = (lua_Integer)lua_rawlen(L, c->list); i <= n; i++) {
        lua_rawgeti(L, c->list, i);
        int item = lua_gettop(L);
        const assay_word *w = assay_lua_word_at(L, item);
        check_references(c, item);
        if (strcmp(w->name, "arm") == 0) check_like(c, item);
        if (strcmp(w->name, "gate") == 0 && assay_script_of(L)->registry) check_gate(c, item);
        lua_settop(L, item - 1);
    }
    lua_pop(L, 1);
}
