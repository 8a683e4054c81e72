/* The word `options`: a script declares what --set may change and gets the values back. */
#include "script/lua_script.h"
#include "base/fs.h"
#include "base/names.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const scalars[] = { "stop", "opset", "precision", "compute_units" };
enum { N_SCALARS = sizeof scalars / sizeof *scalars };
static const char kept_key;                      /* registry: table that keeps the names of options alive */

static assay_setting *setting(assay_script *s, const char *name) {
    assay_setting *found = NULL;
    for (size_t i = 0; i < s->n_set; i++)
        if (strcmp(s->set[i].name, name) == 0) found = &s->set[i];   /* the last one counts */
    for (size_t i = 0; found && i < s->n_set; i++)
        if (strcmp(s->set[i].name, name) == 0) s->set[i].used = true;
    return found;
}

typedef struct option { const char *name, *type, *help, *where; int def; } option;

static int bad_value(lua_State *L, const option *o, const char *text) {
    return assay_lua_fail(L, ASSAY_E_USAGE, NULL, "--set %s=%s: expected %s%s%s", o->name, text, o->type, o->help ? "; " : "", o->help ? o->help : "");
}

/* A path of the command line is meant from where the user stands. */
static void push_path(lua_State *L, const char *text) {
    char cwd[4096];
    if (*text == '/' || !getcwd(cwd, sizeof cwd)) lua_pushstring(L, text);
    else lua_pushfstring(L, "%s/%s", cwd, text);
}

/* Pushes the value of `text` with the option's type. */
static void push_text(lua_State *L, const option *o, const char *text) {
    char *end;
    errno = 0;
    if (strcmp(o->type, "string") == 0) lua_pushstring(L, text);
    else if (strcmp(o->type, "path") == 0) push_path(L, text);
    else if (strcmp(o->type, "boolean") == 0) {
        if (strcmp(text, "true") && strcmp(text, "false")) bad_value(L, o, text);
        lua_pushboolean(L, *text == 't');
    } else if (strcmp(o->type, "integer") == 0) {
        long long v = strtoll(text, &end, 10);
        if (end == text || *end || errno) bad_value(L, o, text);
        lua_pushinteger(L, v);
    } else {
        double v = strtod(text, &end);
        if (end == text || *end || !(v - v == 0)) bad_value(L, o, text);
        lua_pushnumber(L, v);
    }
}

static bool type_fits(lua_State *L, int idx, const char *type) {
    int t = lua_type(L, idx);
    if (strcmp(type, "number") == 0) return t == LUA_TNUMBER;
    if (strcmp(type, "integer") == 0) return lua_isinteger(L, idx);
    if (strcmp(type, "boolean") == 0) return t == LUA_TBOOLEAN;
    return t == LUA_TSTRING;
}

/* Reads { type, default = ..., help = ... } on top of the stack; leaves the default on the stack. */
static option read_option(lua_State *L, const char *name, const char *where) {
    static const char types[] = "string|number|integer|boolean|path";
    option o = { name, NULL, NULL, where, 0 };
    char hint[96], got[160];
    if (!lua_istable(L, -1)) assay_lua_fail(L, ASSAY_E_INPUT, where, "options.%s: expected { type, default = ..., help = ... }, got %s", name,
                                            assay_lua_describe(L, lua_gettop(L), got, sizeof got));
    int spec = lua_gettop(L);
    for (lua_pushnil(L); lua_next(L, spec); lua_pop(L, 1)) {
        static const char *const known[] = { "default", "help" };
        if (lua_isinteger(L, -2) && lua_tointeger(L, -2) == 1) continue;
        const char *k = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "?";
        if (strcmp(k, "default") && strcmp(k, "help"))
            assay_lua_fail(L, ASSAY_E_INPUT, where, "options.%s: unknown field '%s'%s", name, k, assay_did_you_mean(hint, k, known, 2));
    }
    lua_rawgeti(L, spec, 1);
    o.type = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
    if (!assay_choice_has(types, o.type)) {
        char list[160];
        assay_lua_fail(L, ASSAY_E_INPUT, where, "options.%s: the first value is the type: %s%s", name, assay_choice_text(types, list, sizeof list),
                       assay_choice_hint(hint, types, o.type));
    }
    lua_getfield(L, spec, "help");
    o.help = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
    lua_getfield(L, spec, "default");
    o.def = lua_gettop(L);
    if (!lua_isnil(L, -1) && !type_fits(L, -1, o.type))
        assay_lua_fail(L, ASSAY_E_INPUT, where, "options.%s.default: expected %s, got %s", name, o.type, assay_lua_describe(L, o.def, got, sizeof got));
    return o;
}

/* One option: its value is left on top; notes it for the plan. */
static void take_option(lua_State *L, assay_script *s, const option *o) {
    assay_setting *given = setting(s, o->name);
    if (given) push_text(L, o, given->value);
    else if (!lua_isnil(L, o->def)) lua_pushvalue(L, o->def);
    else
        assay_lua_fail(L, ASSAY_E_USAGE, o->where, "option '%s' has no default: --set %s=%s%s%s", o->name, o->name, o->type, o->help ? "; " : "",
                       o->help ? o->help : "");
    char why[160];
    assay_json *v = given && strcmp(o->type, "path") == 0 ? assay_json_new_string(given->value) : assay_lua_to_json(L, lua_gettop(L), why, sizeof why);
    if (v) assay_json_set(s->options, o->name, v);
}

static int options_word(lua_State *L) {
    assay_script *s = assay_script_of(L);
    char got[160];
    if (!lua_istable(L, 1)) return assay_lua_fail(L, ASSAY_E_INPUT, NULL, "options: expected a table NAME = { type, default = ..., help = ... }, got %s",
                                                  assay_lua_describe(L, 1, got, sizeof got));
    lua_settop(L, 1);
    assay_lua_push_where(L, false);
    const char *where = lua_tostring(L, 2);
    lua_newtable(L);                             /* 3: values */
    lua_rawgetp(L, LUA_REGISTRYINDEX, &kept_key);        /* 4: keeps names alive */
    for (lua_pushnil(L); lua_next(L, 1);) {
        if (lua_type(L, -2) != LUA_TSTRING || !assay_is_plain_name(lua_tostring(L, -2)))
            assay_lua_fail(L, ASSAY_E_INPUT, where, "options: expected NAME = { type, default = ..., help = ... }");
        int key = lua_gettop(L) - 1;
        const char *name = lua_tostring(L, key);
        option o = read_option(L, name, where);
        if (s->n_options < sizeof s->option_names / sizeof *s->option_names) s->option_names[s->n_options++] = name;
        lua_pushvalue(L, key);
        lua_rawseti(L, 4, (lua_Integer)lua_rawlen(L, 4) + 1);
        take_option(L, s, &o);
        lua_setfield(L, 3, name);
        lua_settop(L, key);                      /* the key stays for lua_next */
    }
    lua_settop(L, 3);
    return 1;
}

void assay_lua_open_options(lua_State *L) {
    lua_newtable(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &kept_key);
    lua_pushcfunction(L, options_word);
    assay_lua_set_global(L, "options");
}

/* --set of a name that nothing declares is an error: a typing error must not run another experiment than the one meant. */
static void refuse_unknown(lua_State *L, assay_script *s) {
    for (size_t i = 0; i < s->n_set; i++) {
        if (s->set[i].used) continue;
        const char *names[64 + N_SCALARS];
        size_t n = 0;
        for (size_t k = 0; k < s->n_options; k++) names[n++] = s->option_names[k];
        for (size_t k = 0; k < N_SCALARS; k++) names[n++] = scalars[k];
        char hint[96], list[256] = "";
        for (size_t k = 0, len = 0; k < n && len < sizeof list; k++) len += (size_t)snprintf(list + len, sizeof list - len, "%s%s", k ? ", " : "", names[k]);
        assay_did_you_mean(hint, s->set[i].name, names, n);
        assay_lua_fail(L, ASSAY_E_USAGE, s->sb->script_path, "--set %s: no such option%s; the script takes %s", s->set[i].name, hint, list);
    }
}

void assay_script_before_experiment(lua_State *L, int idx) {
    assay_script *s = assay_script_of(L);
    if (!s) return;
    for (size_t i = 0; i < N_SCALARS; i++) {
        assay_setting *g = setting(s, scalars[i]);
        if (!g) continue;
        lua_pushstring(L, scalars[i]);
        lua_pushstring(L, g->value);
        lua_rawset(L, idx);
        assay_json_set_string(s->options, scalars[i], g->value);
    }
    refuse_unknown(L, s);
    uint64_t seed = 0;
    if (lua_getfield(L, idx, "seeds") == LUA_TTABLE) {
        lua_getfield(L, -1, "script");
        seed = (uint64_t)lua_tointeger(L, -1);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    assay_lua_seed(s->sb, "lua", seed);
}
