/* The globals a script sees: built by allow-list, read-only, with a reason for every name that was taken away. */
#include "script/lua_sandbox.h"
#include "base/names.h"
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char globals_key, hidden_key;       /* registry: the table of globals; in a read-only view: the table behind it */

static const char *const allowed_base[] = { "assert", "error", "getmetatable", "ipairs", "next", "rawequal", "rawget", "rawlen", "select",
    "tonumber", "tostring", "type", "_VERSION", NULL };
static const char *const allowed_table[] = { "concat", "insert", "move", "pack", "remove", "sort", "unpack", NULL };
static const char *const allowed_string[] = { "byte", "char", "find", "format", "gmatch", "gsub", "len", "lower", "match", "pack", "packsize", "rep",
    "reverse", "sub", "unpack", "upper", NULL };

/* Name taken away, and the way out. */
static const struct { const char *name, *way_out; } removed[] = {
    { "load", "a script is text in a file; put shared code in a module and use require" },
    { "loadstring", "a script is text in a file; put shared code in a module and use require" },
    { "loadfile", "use require; modules lie beside the script or in the installed scripts" },
    { "dofile", "use require; modules lie beside the script or in the installed scripts" },
    { "collectgarbage", "memory is managed by the host; tensors are charged to the collector" },
    { "rawset", "assign to the table directly; globals and libraries are read-only" },
    { "warn", "print writes to standard error" },
    { "coroutine", "a script describes; trials are scheduled by the run" },
    { "io", "files are read by fixtures (assay.npy, a path in `inputs`), weights and packages" },
    { "debug", "positions are kept by assay itself; a traceback comes with --debug" },
    { "package", "require knows two roots: beside the script, and the installed scripts" },
    { "os", "a script describes; what depends on the machine is measured by gates" },
    { "os.clock", "timing belongs to the latency gate" },
    { "os.time", "a plan holds no time; seeds come from `seeds`" },
    { "os.date", "a plan holds no time" },
    { "os.getenv", "declare an option: options { NAME = { \"string\", help = \"...\" } }, set with --set NAME=value" },
    { "os.execute", "an arm with `convert = { \"program\", ... }` runs a program as a trial" },
    { "os.exit", "raise an error instead" },
    { "string.dump", "only text chunks are loaded" },
    { "math.randomseed", "seeds come from `seeds` of the experiment" },
};

static const char *way_out(const char *name) {
    for (size_t i = 0; i < sizeof removed / sizeof *removed; i++)
        if (strcmp(removed[i].name, name) == 0) return removed[i].way_out;
    return NULL;
}

static int fail_removed(lua_State *L, const char *name, const char *why) {
    return assay_lua_fail(L, ASSAY_E_INPUT, NULL, "%s is not available in scripts: %s", name, why);
}

/* ---- read-only views */
static int refuse_write(lua_State *L) {
    const char *what = lua_tostring(L, lua_upvalueindex(1));
    const char *key = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : luaL_typename(L, 2);
    if (*what) return assay_lua_fail(L, ASSAY_E_INPUT, NULL, "%s.%s: libraries are read-only", what, key);
    return assay_lua_fail(L, ASSAY_E_INPUT, NULL, "globals are read-only: write `local %s = ...`", key);
}

/* Reading a name that is not there: what was removed says so, the rest is a typing error. */
static int explain_missing(lua_State *L) {
    const char *what = lua_tostring(L, lua_upvalueindex(1));
    if (lua_type(L, 2) != LUA_TSTRING) return 0;
    const char *key = lua_tostring(L, 2);
    char full[128];
    snprintf(full, sizeof full, "%s%s%s", what, *what ? "." : "", key);
    const char *why = way_out(full);
    if (!why && *what) why = way_out(what);
    if (why) return fail_removed(L, full, why);
    const char *names[256];
    size_t n = 0;
    for (lua_pushnil(L); n < 256 && lua_next(L, lua_upvalueindex(2)); lua_pop(L, 1))
        if (lua_type(L, -2) == LUA_TSTRING) names[n++] = lua_tostring(L, -2);
    char hint[96];
    assay_did_you_mean(hint, key, names, n);
    return assay_lua_fail(L, ASSAY_E_INPUT, NULL, *what ? "%s has no '%s'%s" : "%.0sunknown name '%s'%s", what, key, hint);
}

void assay_lua_protect(lua_State *L, const char *name) {
    int real = lua_gettop(L);
    lua_newtable(L);                             /* the view */
    lua_newtable(L);                             /* its metatable */
    lua_pushvalue(L, real);
    lua_setfield(L, -2, "__index");
    lua_pushstring(L, name);
    lua_pushcclosure(L, refuse_write, 1);
    lua_setfield(L, -2, "__newindex");
    lua_pushliteral(L, "read-only");
    lua_setfield(L, -2, "__metatable");
    lua_pushvalue(L, real);
    lua_rawsetp(L, -2, &hidden_key);
    lua_setmetatable(L, -2);
    lua_newtable(L);                             /* metatable of the table behind: explains what is missing */
    lua_pushstring(L, name);
    lua_pushvalue(L, real);
    lua_pushcclosure(L, explain_missing, 2);
    lua_setfield(L, -2, "__index");
    lua_setmetatable(L, real);
    lua_replace(L, real);
}

void assay_lua_set_global(lua_State *L, const char *name) {
    lua_rawgetp(L, LUA_REGISTRYINDEX, &globals_key);
    lua_getmetatable(L, -1);
    lua_rawgetp(L, -1, &hidden_key);
    lua_pushvalue(L, -4);
    lua_setfield(L, -2, name);
    lua_pop(L, 4);
}

/* ---- pairs in a fixed order, so that the order never depends on the process: integers ascending, then strings by bytes */
static int key_before(lua_State *L, int a, int b) {
    bool na = lua_type(L, a) == LUA_TNUMBER, nb = lua_type(L, b) == LUA_TNUMBER;
    if (na != nb) return na;
    if (na) return lua_compare(L, a, b, LUA_OPLT);
    if (lua_type(L, a) != LUA_TSTRING || lua_type(L, b) != LUA_TSTRING) return 0;
    return strcmp(lua_tostring(L, a), lua_tostring(L, b)) < 0;
}

static int compare_keys(lua_State *L) {
    lua_pushboolean(L, key_before(L, 1, 2));
    return 1;
}

static int pairs_step(lua_State *L) {            /* upvalues: keys, position */
    lua_Integer i = lua_tointeger(L, lua_upvalueindex(2)) + 1;
    for (;; i++) {
        if (lua_rawgeti(L, lua_upvalueindex(1), i) == LUA_TNIL) return 1;
        lua_pushvalue(L, -1);
        if (lua_gettable(L, 1) != LUA_TNIL) break;   /* removed on the way: skip */
        lua_pop(L, 2);
    }
    lua_pushinteger(L, i);
    lua_replace(L, lua_upvalueindex(2));
    return 2;
}

static int sorted_pairs(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    int source = 1;
    if (lua_getmetatable(L, 1)) {
        if (lua_rawgetp(L, -1, &hidden_key) == LUA_TTABLE) source = lua_gettop(L);
    }
    lua_getfield(L, LUA_REGISTRYINDEX, "assay.sort");
    lua_newtable(L);
    lua_Integer n = 0;
    for (lua_pushnil(L); lua_next(L, source); lua_pop(L, 1)) {
        if (lua_type(L, -2) == LUA_TLIGHTUSERDATA) continue;     /* stamps of words */
        lua_pushvalue(L, -2);
        lua_rawseti(L, -4, ++n);
    }
    int keys = lua_gettop(L);
    lua_pushvalue(L, keys - 1);
    lua_pushvalue(L, keys);
    lua_pushcfunction(L, compare_keys);
    lua_call(L, 2, 0);
    lua_pushinteger(L, 0);
    lua_pushcclosure(L, pairs_step, 2);
    lua_pushvalue(L, 1);
    lua_pushnil(L);
    return 3;
}

/* xpcall whose handler runs after the call was left. Lua's own runs inside the count hook, where no hook fires: a handler
 * that loops would run for ever. */
static int late_xpcall(lua_State *L) {
    luaL_checktype(L, 2, LUA_TFUNCTION);
    int n = lua_gettop(L) - 2;
    lua_pushvalue(L, 1);
    lua_insert(L, 3);
    if (lua_pcall(L, n, LUA_MULTRET, 0) == LUA_OK) {
        lua_pushboolean(L, 1);
        lua_replace(L, 2);
        return lua_gettop(L) - 1;
    }
    assay_sandbox_of(L)->library = NULL;         /* the error ended its call */
    lua_pushvalue(L, 2);
    lua_insert(L, 3);
    lua_call(L, 1, LUA_MULTRET);
    lua_pushboolean(L, 0);
    lua_replace(L, 2);
    return lua_gettop(L) - 1;
}

/* A finaliser runs where no count hook fires, so one that loops would run until the watchdog. */
static int plain_setmetatable(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    luaL_argexpected(L, lua_type(L, 2) == LUA_TNIL || lua_istable(L, 2), 2, "nil or table");
    if (luaL_getmetafield(L, 1, "__metatable") != LUA_TNIL) return luaL_error(L, "cannot change a protected metatable");
    lua_settop(L, 2);
    if (lua_istable(L, 2)) {
        lua_pushliteral(L, "__gc");
        if (lua_rawget(L, 2) != LUA_TNIL) return fail_removed(L, "__gc", "a script has nothing to release; tensors and modules are freed by the host");
        lua_settop(L, 2);
    }
    lua_setmetatable(L, 1);
    return 1;
}

static int print_to_stderr(lua_State *L) {
    int n = lua_gettop(L);
    for (int i = 1; i <= n; i++) {
        fprintf(stderr, "%s%s", i > 1 ? "\t" : "", luaL_tolstring(L, i, NULL));
        lua_pop(L, 1);
    }
    fputc('\n', stderr);
    return 0;
}

/* Copies the named fields of the table on top into a new table, which replaces it. */
static void keep_only(lua_State *L, const char *const *names) {
    lua_newtable(L);
    for (; *names; names++) {
        lua_getfield(L, -2, *names);
        lua_setfield(L, -2, *names);
    }
    lua_remove(L, -2);
}

static void add_library(lua_State *L, const char *name) {
    assay_lua_protect(L, name);
    assay_lua_set_global(L, name);
}

static void set_function(lua_State *L, const char *name, lua_CFunction f) {
    lua_pushcfunction(L, f);
    lua_setfield(L, -2, name);
}

static void open_base(lua_State *L) {
    luaL_requiref(L, LUA_GNAME, luaopen_base, 0);
    keep_only(L, allowed_base);
    set_function(L, "pairs", sorted_pairs);
    set_function(L, "setmetatable", plain_setmetatable);
    set_function(L, "pcall", assay_lua_pcall);
    set_function(L, "xpcall", late_xpcall);
    set_function(L, "print", print_to_stderr);
    assay_lua_protect(L, "");
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &globals_key);
    assay_lua_set_global(L, "_G");
}

static void open_table(lua_State *L) {
    luaL_requiref(L, LUA_TABLIBNAME, luaopen_table, 0);
    lua_getfield(L, -1, "sort");
    lua_setfield(L, LUA_REGISTRYINDEX, "assay.sort");
    keep_only(L, allowed_table);
    assay_lua_watch_library(L, "table");
    add_library(L, "table");
}

static void open_string(lua_State *L) {
    luaL_requiref(L, LUA_STRLIBNAME, luaopen_string, 0);
    keep_only(L, allowed_string);
    assay_lua_watch_library(L, "string");
    lua_pushliteral(L, "");                      /* methods of strings come from the kept functions only */
    lua_newtable(L);
    lua_pushvalue(L, -3);
    lua_setfield(L, -2, "__index");
    lua_pushliteral(L, "read-only");
    lua_setfield(L, -2, "__metatable");
    lua_setmetatable(L, -2);
    lua_pop(L, 1);
    add_library(L, "string");
}

void assay_lua_open_globals(lua_State *L) {
    static const char *const empty[] = { "os", "io", "debug", "package", "coroutine" };
    open_base(L);
    open_table(L);
    open_string(L);
    luaL_requiref(L, LUA_UTF8LIBNAME, luaopen_utf8, 0);
    add_library(L, "utf8");
    assay_lua_open_math(L);
    add_library(L, "math");
    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++) {
        lua_newtable(L);
        add_library(L, empty[i]);
    }
    assay_lua_open_require(L);
    /* The loaded-modules table and the raw global table are out of reach: nothing points to them but the registry. */
    lua_pushnil(L);
    lua_setfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    lua_settop(L, 0);
}

void assay_lua_push_env(lua_State *L) { lua_rawgetp(L, LUA_REGISTRYINDEX, &globals_key); }
