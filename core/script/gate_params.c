/* Parameters of Lua gates: from the script's table to the table that every gate has, and back to Lua values. */
#include "script/lua_gate.h"
#include "script/lua_values.h"
#include "script/schema.h"
#include "base/names.h"
#include <stdlib.h>
#include <string.h>

/* What every gate of an experiment is told; a gate may declare them itself with other defaults. */
static const assay_param standard[] = {
    { "arm", "@candidate", NULL, "arm", "arm that is judged", 1, 0, ASSAY_T_STRING, 0 },
    { "control", "@control", NULL, "arm", "arm it is compared with", 1, 0, ASSAY_T_STRING, 0 },
    { "fixture", "@use:parity", NULL, "fixture", "fixtures it is judged on", 1, 0, ASSAY_T_STRING | ASSAY_T_LIST, 0 } };
enum { N_STANDARD = sizeof standard / sizeof *standard };

static const struct { const char *name; int32_t type; const char *unit; } types[] = { { "number", ASSAY_T_NUMBER, NULL }, { "integer", ASSAY_T_INT, NULL },
    { "boolean", ASSAY_T_BOOL, NULL }, { "string", ASSAY_T_STRING, NULL }, { "arm", ASSAY_T_STRING, "arm" }, { "fixture", ASSAY_T_STRING | ASSAY_T_LIST, "fixture" },
    { "op", ASSAY_T_STRING, "op" } };

static const char *text_field(lua_State *L, int spec, const char *key, assay_arena *a) {
    const char *s = lua_getfield(L, spec, key) == LUA_TSTRING ? assay_arena_strdup(a, lua_tostring(L, -1)) : NULL;
    lua_pop(L, 1);
    return s;
}

static double number_field(lua_State *L, int spec, const char *key, double def) {
    double v = lua_getfield(L, spec, key) == LUA_TNUMBER ? lua_tonumber(L, -1) : def;
    lua_pop(L, 1);
    return v;
}

static bool flag_field(lua_State *L, int spec, const char *key) {
    lua_getfield(L, spec, key);
    bool on = lua_toboolean(L, -1);
    lua_pop(L, 1);
    return on;
}

/* Default as JSON text; none: required, or with `optional`, not given. */
static const char *default_text(lua_State *L, int spec, assay_arena *a, const char *who) {
    char why[160];
    if (lua_getfield(L, spec, "default") == LUA_TNIL) {
        lua_pop(L, 1);
        return flag_field(L, spec, "optional") ? "" : NULL;
    }
    assay_json *j = assay_lua_to_json(L, lua_gettop(L), why, sizeof why);
    if (!j) assay_lua_fail(L, ASSAY_E_INPUT, NULL, "%s.default: expected plain data, got %s", who, why);
    char *text = assay_json_print(j);
    assay_json_free(j);
    const char *kept = assay_arena_strdup(a, text);
    free(text);
    lua_pop(L, 1);
    return kept;
}

/* The specification { type, default = ..., ... } on top of the stack. */
static assay_param read_param(lua_State *L, const char *name, assay_arena *a) {
    char who[160], hint[96];
    const char *names[8];
    size_t n = sizeof types / sizeof *types, i = 0;
    int spec = lua_gettop(L);
    snprintf(who, sizeof who, "params.%.100s", name);
    if (!lua_istable(L, spec)) assay_lua_fail(L, ASSAY_E_INPUT, NULL, "%s: expected { type, default = ..., help = ... }", who);
    const char *type = lua_rawgeti(L, spec, 1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
    for (size_t k = 0; k < n; k++) names[k] = types[k].name;
    while (i < n && strcmp(types[i].name, type)) i++;
    if (i == n)
        assay_lua_fail(L, ASSAY_E_INPUT, NULL, "%s: no type '%s'%s; types are number, integer, boolean, string, arm, fixture and op", who, type,
                       assay_did_you_mean(hint, type, names, n));
    lua_pop(L, 1);
    assay_param p = { .name = assay_arena_strdup(a, name), .type = types[i].type, .unit = types[i].unit };
    if (flag_field(L, spec, "list")) p.type |= ASSAY_T_LIST;
    if (flag_field(L, spec, "map")) p.type |= ASSAY_T_MAP;
    p.def = default_text(L, spec, a, who);
    p.choices = text_field(L, spec, "choices", a);
    if (!p.unit) p.unit = text_field(L, spec, "unit", a);
    p.help = text_field(L, spec, "help", a);
    if (!p.unit) p.unit = "";
    if (!p.help) p.help = "";
    p.min = number_field(L, spec, "min", 1);     /* min > max: no range */
    p.max = number_field(L, spec, "max", 0);
    lua_getfield(L, spec, "min");
    lua_getfield(L, spec, "max");
    if (!lua_isnil(L, -2) && lua_isnil(L, -1)) p.max = 1e308;
    if (lua_isnil(L, -2) && !lua_isnil(L, -1)) p.min = -1e308;
    lua_settop(L, spec);
    return p;
}

static int by_name(const void *a, const void *b) { return strcmp(((const assay_param *)a)->name, ((const assay_param *)b)->name); }

const assay_param *assay_lua_read_params(lua_State *L, int idx, assay_arena *arena) {
    idx = lua_absindex(L, idx);
    size_t n = 0, own = 0;
    if (lua_getfield(L, idx, "params") == LUA_TTABLE)
        for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) own++;
    int list = lua_gettop(L);
    assay_param *out = assay_arena_alloc(arena, (own + N_STANDARD + 1) * sizeof *out);
    for (size_t i = 0; i < N_STANDARD; i++) {
        if (own && lua_getfield(L, list, standard[i].name) != LUA_TNIL) {
            lua_settop(L, list);
            continue;
        }
        lua_settop(L, list);
        out[n++] = standard[i];
    }
    size_t first = n;
    if (own)
        for (lua_pushnil(L); lua_next(L, list); lua_pop(L, 1)) {
            if (lua_type(L, -2) != LUA_TSTRING) assay_lua_fail(L, ASSAY_E_INPUT, NULL, "params: expected NAME = { type, default = ..., help = ... }");
            out[n++] = read_param(L, lua_tostring(L, -2), arena);
        }
    qsort(out + first, n - first, sizeof *out, by_name);
    lua_pop(L, 1);
    return out;
}

/* ---- the other way */
static void push_one(lua_State *L, const assay_value *v) {
    switch (v->type) {
    case ASSAY_T_BOOL: lua_pushboolean(L, v->i != 0); break;
    case ASSAY_T_INT: lua_pushinteger(L, (lua_Integer)v->i); break;
    case ASSAY_T_NUMBER: lua_pushnumber(L, v->f); break;
    default: lua_pushstring(L, v->s);
    }
}

/* Pushes the value of one parameter: nil when not given; "" of an arm or fixture is not given. */
static void push_param(lua_State *L, const assay_gate_call *c, const assay_param *p) {
    assay_value v;
    if (!(p->type & (ASSAY_T_LIST | ASSAY_T_MAP))) {
        bool named = p->unit && *p->unit;
        if (assay_params_get(c->params, p->name, 0, &v) || (named && v.type == ASSAY_T_STRING && !*v.s)) lua_pushnil(L);
        else push_one(L, &v);
        return;
    }
    lua_newtable(L);
    for (uint32_t i = 0; assay_params_get(c->params, p->name, i, &v) == ASSAY_OK; i++) {
        push_one(L, &v);
        if (p->type & ASSAY_T_MAP) lua_setfield(L, -2, v.key);
        else lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
}

/* p.NAME for each parameter. A list of fixtures or arms is p.NAMEs; p.NAME is its first. */
void assay_lua_push_gate_params(lua_State *L, const assay_gate_call *c) {
    lua_newtable(L);
    for (const assay_param *p = c->type->params; p && p->name; p++) {
        push_param(L, c, p);
        if ((p->type & ASSAY_T_LIST) && p->unit && (!strcmp(p->unit, "fixture") || !strcmp(p->unit, "arm"))) {
            lua_pushfstring(L, "%ss", p->name);
            lua_pushvalue(L, -2);
            lua_rawset(L, -4);
            lua_rawgeti(L, -1, 1);
            lua_remove(L, -2);
        }
        lua_setfield(L, -2, p->name);
    }
}
