/* Constructors of the words: check a table against the schema, stamp it with file:line, hand it back. */
#include "script/lua_words.h"
#include "script/lua_recipe.h"
#include "script/lua_tensor.h"
#include "script/lua_values.h"
#include "base/names.h"
#include "script/lua_script.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char word_key, stamp_key;           /* keys of a stamped table */

const assay_word *assay_lua_word_at(lua_State *L, int idx) {
    if (!lua_istable(L, idx)) return NULL;
    lua_rawgetp(L, idx, &word_key);
    const assay_word *w = lua_touserdata(L, -1);
    lua_pop(L, 1);
    return w;
}

const char *assay_lua_stamp_at(lua_State *L, int idx) {
    lua_rawgetp(L, idx, &stamp_key);
    const char *s = lua_tostring(L, -1);
    lua_pop(L, 1);
    return s ? s : "";
}

static const char *title_of(lua_State *L, int idx, const assay_word *w, char *out, size_t size) {
    snprintf(out, size, "%s", w->name);
    if (!w->title) return out;
    lua_pushstring(L, w->title);
    lua_rawget(L, idx);
    if (lua_type(L, -1) == LUA_TSTRING) snprintf(out, size, "%s \"%.80s\"", w->name, lua_tostring(L, -1));
    lua_pop(L, 1);
    return out;
}

const char *assay_lua_word_title(lua_State *L, int idx, char *out, size_t size) {
    const assay_word *w = assay_lua_word_at(L, idx);
    if (!w) {
        snprintf(out, size, "table");
        return out;
    }
    return title_of(L, lua_absindex(L, idx), w, out, size);
}

/* ---- one value */
typedef struct checker { lua_State *L; const char *where, *who; const assay_word_field *f; } checker;

static int wrong(const checker *c, int idx, const char *expected) {
    char got[160];
    return assay_lua_fail(c->L, ASSAY_E_INPUT, c->where, "%s.%s: expected %s, got %s", c->who, c->f->name, expected,
                          assay_lua_describe(c->L, idx, got, sizeof got));
}

static void check_choice(const checker *c, int idx) {
    const char *s = lua_tostring(c->L, idx);
    if (!c->f->choices || assay_choice_has(c->f->choices, s)) return;
    char list[256], hint[96];
    assay_lua_fail(c->L, ASSAY_E_INPUT, c->where, "%s.%s: expected %s, got string \"%.60s\"%s", c->who, c->f->name,
                   assay_choice_text(c->f->choices, list, sizeof list), s, assay_choice_hint(hint, c->f->choices, s));
}

static void check_string(const checker *c, int idx) {
    if (lua_type(c->L, idx) != LUA_TSTRING) wrong(c, idx, assay_word_kind_name(c->f->kind));
    if (c->f->kind == ASSAY_W_NAME && !assay_is_plain_name(lua_tostring(c->L, idx)))
        assay_lua_fail(c->L, ASSAY_E_INPUT, c->where, "%s.%s: '%.80s' is not a plain name (letters, digits, _ - ., at most 64; it names a folder)", c->who,
                       c->f->name, lua_tostring(c->L, idx));
    check_choice(c, idx);
}

static void check_strings(const checker *c, int idx) {
    lua_State *L = c->L;
    if (lua_type(L, idx) == LUA_TSTRING) {
        check_choice(c, idx);
        return;
    }
    if (!lua_istable(L, idx)) wrong(c, idx, "list of strings");
    lua_Integer n = (lua_Integer)lua_rawlen(L, idx), keys = 0;
    for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1)) keys++;
    if (keys != n) assay_lua_fail(L, ASSAY_E_INPUT, c->where, "%s.%s: expected a list of strings, got a table with named fields", c->who, c->f->name);
    for (lua_Integer i = 1; i <= n; i++) {
        lua_rawgeti(L, idx, i);
        if (lua_type(L, -1) != LUA_TSTRING) wrong(c, lua_gettop(L), "list of strings");
        check_choice(c, lua_gettop(L));
        lua_pop(L, 1);
    }
}

static bool is_recipe(lua_State *L, int idx) {
    return lua_type(L, idx) == LUA_TSTRING || lua_isfunction(L, idx) || assay_recipe_at(L, idx) || assay_lua_tensor_at(L, idx);
}

/* Tables NAME = recipe and NAME = integer. */
static void check_map(const checker *c, int idx) {
    lua_State *L = c->L;
    bool recipes = c->f->kind == ASSAY_W_RECIPES;
    if (!lua_istable(L, idx)) wrong(c, idx, assay_word_kind_name(c->f->kind));
    for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1)) {
        char got[160];
        if (lua_type(L, -2) != LUA_TSTRING)
            assay_lua_fail(L, ASSAY_E_INPUT, c->where, "%s.%s: expected named entries, such as { %s }", c->who, c->f->name, recipes ? "x = fx.normal \"mini\"" : "order = 2");
        check_choice(c, lua_gettop(L) - 1);
        if (recipes ? is_recipe(L, lua_gettop(L)) : lua_isinteger(L, -1)) continue;
        assay_lua_fail(L, ASSAY_E_INPUT, c->where, "%s.%s.%.60s: expected %s, got %s", c->who, c->f->name, lua_tostring(L, -2),
                       recipes ? "a file path, recipe, tensor or function" : "integer", assay_lua_describe(L, lua_gettop(L), got, sizeof got));
    }
}

static void check_fields(lua_State *L, int idx, const assay_word *w, const char *where, const char *who);

/* NaN is no number of a plan: no comparison with it is ever true. */
static bool is_number(lua_State *L, int idx) { return lua_type(L, idx) == LUA_TNUMBER && !isnan(lua_tonumber(L, idx)); }

static void check_value(const checker *c, int idx) {
    lua_State *L = c->L;
    int t = lua_type(L, idx);
    const char *expected = assay_word_kind_name(c->f->kind);
    switch (c->f->kind) {
    case ASSAY_W_STRING: case ASSAY_W_NAME: check_string(c, idx); break;
    case ASSAY_W_NUMBER: if (!is_number(L, idx)) wrong(c, idx, expected); break;
    case ASSAY_W_INTEGER: if (!lua_isinteger(L, idx)) wrong(c, idx, expected); break;
    case ASSAY_W_BOOL: if (t != LUA_TBOOLEAN) wrong(c, idx, expected); break;
    case ASSAY_W_SCALAR: if (!is_number(L, idx) && t != LUA_TSTRING && t != LUA_TBOOLEAN) wrong(c, idx, expected); break;
    case ASSAY_W_STRINGS: check_strings(c, idx); break;
    case ASSAY_W_FUNCTION: if (t != LUA_TFUNCTION) wrong(c, idx, expected); break;
    case ASSAY_W_RECIPES: case ASSAY_W_INTEGERS: check_map(c, idx); break;
    case ASSAY_W_WORD: {
        char who[160];
        if (t != LUA_TTABLE) wrong(c, idx, expected);
        snprintf(who, sizeof who, "%.100s.%s", c->who, c->f->name);
        check_fields(L, idx, c->f->sub, c->where, who);
        break;
    }
    default: if (t != LUA_TTABLE) wrong(c, idx, expected);
    }
}

/* ---- one table */
static void check_keys(lua_State *L, int idx, const assay_word *w, const char *where, const char *who) {
    for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1)) {
        int kt = lua_type(L, -2);
        char hint[96], got[160];
        if (kt == LUA_TLIGHTUSERDATA) continue;
        if (kt == LUA_TNUMBER && w->positional) continue;
        if (kt != LUA_TSTRING)
            assay_lua_fail(L, ASSAY_E_INPUT, where, "%s: takes named fields only, got %s without a name", who, assay_lua_describe(L, lua_gettop(L), got, sizeof got));
        const assay_word_field *f = assay_word_field_find(w, lua_tostring(L, -2));
        if (!f && (w->flags & ASSAY_WORD_OPEN)) continue;
        if (!f)
            assay_lua_fail(L, ASSAY_E_INPUT, where, "%s: unknown field '%.60s'%s", who, lua_tostring(L, -2),
                           *assay_word_field_hint(hint, w, lua_tostring(L, -2)) ? hint : "; 'assay schema' lists them");
        checker c = { L, where, who, f };
        check_value(&c, lua_gettop(L));
    }
}

static void check_one_of(lua_State *L, int idx, const assay_word *w, const char *where, const char *who) {
    char list[160];
    int given = 0;
    for (const assay_word_field *f = w->fields; f->name; f++) {
        if (!assay_choice_has(w->one_of, f->name)) continue;
        lua_pushstring(L, f->name);
        given += lua_rawget(L, idx) != LUA_TNIL;
        lua_pop(L, 1);
    }
    if (given == 1) return;
    assay_lua_fail(L, ASSAY_E_INPUT, where, "%s: needs exactly one of %s, got %s", who, assay_choice_text(w->one_of, list, sizeof list),
                   given ? "several" : "none");
}

static void check_fields(lua_State *L, int idx, const assay_word *w, const char *where, const char *who) {
    luaL_checkstack(L, 16, "tables nested too deeply");
    check_keys(L, idx, w, where, who);
    for (const assay_word_field *f = w->fields; f->name; f++) {
        if (!(f->flags & ASSAY_W_REQUIRED)) continue;
        lua_pushstring(L, f->name);
        if (lua_rawget(L, idx) == LUA_TNIL) assay_lua_fail(L, ASSAY_E_INPUT, where, "%s: missing field '%s' (%s)", who, f->name, f->help);
        lua_pop(L, 1);
    }
    if (w->one_of) check_one_of(L, idx, w, where, who);
}

static void check_compared(lua_State *L, int idx, const char *where) {
    lua_Integer n = (lua_Integer)lua_rawlen(L, idx);
    bool ok = n >= 2 && n <= ASSAY_COMPARE_MAX;
    for (lua_Integer i = 1; ok && i <= n; i++) {
        ok = lua_rawgeti(L, idx, i) == LUA_TSTRING;
        lua_pop(L, 1);
    }
    if (!ok) assay_lua_fail(L, ASSAY_E_INPUT, where, "compare: needs the names of two arms or more, such as compare { \"bool\", \"float_finite\", fixture = \"stress\" }");
}

void assay_lua_make_word(lua_State *L, int idx, const assay_word *w, const char *where) {
    char who[160];
    idx = lua_absindex(L, idx);
    title_of(L, idx, w, who, sizeof who);
    check_fields(L, idx, w, where, who);
    if (strcmp(w->name, "compare") == 0) check_compared(L, idx, where);
    lua_pushlightuserdata(L, (void *)(uintptr_t)w);
    lua_rawsetp(L, idx, &word_key);
    lua_pushstring(L, where);
    lua_rawsetp(L, idx, &stamp_key);
}

static int construct(lua_State *L) {
    const assay_word *w = lua_touserdata(L, lua_upvalueindex(1));
    char got[160];
    if (!lua_istable(L, 1))
        return assay_lua_fail(L, ASSAY_E_INPUT, NULL, "%s: expected a table, %s { ... }, got %s", w->name, w->name, assay_lua_describe(L, 1, got, sizeof got));
    lua_settop(L, 1);
    assay_lua_push_where(L, false);
    const char *where = lua_tostring(L, 2);
    if (assay_lua_word_at(L, 1)) return assay_lua_fail(L, ASSAY_E_INPUT, where, "%s: this table is already a word", w->name);
    if (strcmp(w->name, "experiment") == 0) assay_script_before_experiment(L, 1);
    assay_lua_make_word(L, 1, w, where);
    lua_settop(L, 1);
    return 1;
}

void assay_lua_open_words(lua_State *L, bool gate_file) {
    size_t n;
    const assay_word *const *w = assay_words(&n);
    for (size_t i = 0; i < n; i++) {
        if (((w[i]->flags & ASSAY_WORD_GATE) != 0) != gate_file) continue;
        lua_pushlightuserdata(L, (void *)(uintptr_t)w[i]);
        lua_pushcclosure(L, construct, 1);
        assay_lua_set_global(L, w[i]->name);
    }
}

/* ---- nested lists */
static void flatten_into(lua_State *L, int idx, int out, const char *where, int depth) {
    luaL_checkstack(L, 8, "lists nested too deeply");
    if (depth > 64) assay_lua_fail(L, ASSAY_E_INPUT, where, "experiment: lists nested too deeply (or in a circle)");
    lua_Integer n = (lua_Integer)lua_rawlen(L, idx);
    for (lua_Integer i = 1; i <= n; i++) {
        lua_rawgeti(L, idx, i);
        int item = lua_gettop(L);
        const assay_word *w = assay_lua_word_at(L, item);
        char got[160];
        if (!lua_istable(L, item))
            assay_lua_fail(L, ASSAY_E_INPUT, where, "experiment: item %d is %s; expected a word, such as arm { ... }, or a list of words", (int)i,
                           assay_lua_describe(L, item, got, sizeof got));
        if (w && strcmp(w->name, "experiment") == 0) assay_lua_fail(L, ASSAY_E_INPUT, assay_lua_stamp_at(L, item), "experiment: cannot stand inside another one");
        if (w) {
            lua_pushvalue(L, item);
            lua_rawseti(L, out, (lua_Integer)lua_rawlen(L, out) + 1);
        } else {
            lua_pushnil(L);                      /* a plain table must be a list: a named field here is a forgotten word */
            while (lua_next(L, item)) {
                if (lua_type(L, -2) == LUA_TSTRING)
                    assay_lua_fail(L, ASSAY_E_INPUT, where, "experiment: item %d is a table with a field '%.60s' but no word before it; write arm { ... } or the like",
                                   (int)i, lua_tostring(L, -2));
                lua_pop(L, 1);
            }
            flatten_into(L, item, out, where, depth + 1);
        }
        lua_pop(L, 1);
    }
}

void assay_lua_flatten(lua_State *L, int idx) {
    idx = lua_absindex(L, idx);
    lua_newtable(L);
    lua_pushstring(L, assay_lua_stamp_at(L, idx));
    int where = lua_gettop(L);
    flatten_into(L, idx, where - 1, lua_tostring(L, where), 0);
    lua_pop(L, 1);
}
