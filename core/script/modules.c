/* Loading script files: text chunks only, each with its digest, and a `require` that knows two roots and nothing else. */
#include "script/lua_sandbox.h"
#include "base/digest.h"
#include "base/fs.h"
#include "base/names.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifndef ASSAY_INSTALL_DATADIR
#define ASSAY_INSTALL_DATADIR "/usr/local/share"
#endif

enum { SCRIPT_MAX_BYTES = 4 << 20 };
static const char modules_key;                   /* registry: module name -> value, or false while it is being loaded */

static char *existing(char *dir) {
    if (dir && assay_is_dir(dir)) return dir;
    free(dir);
    return NULL;
}

/* A program at P/bin/assay: installed scripts are P/share/assay/scripts; in a build tree B/bin/assay the source tree's. */
char *assay_scripts_dir(const char *given) {
    if (given) return assay_xstrdup(given);
    char *self = assay_self_path();
    if (self) {
        char *bin = assay_path_dir(self);
        char *up = assay_path_dir(bin);
        char *found = existing(assay_xprintf("%s/share/assay/scripts", up));
        if (!found) found = existing(assay_xprintf("%s/../scripts/assay", up));
        if (found && assay_ends_with(found, "/scripts/assay")) found[strlen(found) - strlen("/assay")] = 0;
        free(up);
        free(bin);
        free(self);
        if (found) return found;
    }
    char *installed = existing(assay_xstrdup(ASSAY_INSTALL_DATADIR "/assay/scripts"));
    return installed ? installed : existing(assay_xstrdup(ASSAY_SOURCE_DIR "/scripts"));
}

char *assay_sandbox_path(const assay_sandbox *s, const char *path) {
    return *path == '/' ? assay_xstrdup(path) : assay_path_join(s->root, path);
}

static void note_file(assay_sandbox *s, const char *name, const char *path, const char *text, size_t len) {
    char hex[ASSAY_HEX];
    assay_sha256_of(text, len, hex);
    assay_json *f = assay_json_object();
    assay_json_set_string(f, "name", name);
    assay_json_set_string(f, "path", path);
    assay_json_set_string(f, "sha256", hex);
    assay_json_append(s->files, f);
}

assay_status assay_lua_note_file(assay_sandbox *s, const char *path, const char *name, assay_error *err) {
    for (size_t i = 0; i < assay_json_len(s->files); i++)
        if (assay_streq(assay_json_string(assay_json_at(s->files, i), "path", NULL), path)) return ASSAY_OK;
    char *text;
    size_t len;
    assay_status st = assay_read_file(path, SCRIPT_MAX_BYTES, &text, &len, err);
    if (st) return st;
    note_file(s, name, path, text, len);
    free(text);
    return ASSAY_OK;
}

assay_status assay_lua_load(assay_sandbox *s, const char *path, const char *chunk, const char *name, assay_error *err) {
    char *text;
    size_t len;
    assay_status st = assay_read_file(path, SCRIPT_MAX_BYTES, &text, &len, err);
    if (st) return st;
    if (len && text[0] == LUA_SIGNATURE[0]) {
        free(text);
        return assay_fail(err, ASSAY_E_INPUT, "%s: compiled Lua is not loaded; give the source text", path);
    }
    lua_State *L = s->L;
    char *chunkname = assay_xprintf("@%s", chunk);
    size_t mark = len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;      /* a byte-order mark, as some editors write it */
    int rc = luaL_loadbufferx(L, text + mark, len - mark, chunkname, "t");
    free(chunkname);
    if (rc == LUA_OK && name) note_file(s, name, path, text, len);
    free(text);
    if (rc != LUA_OK) {
        st = rc == LUA_ERRMEM ? ASSAY_E_LIMIT : ASSAY_E_INPUT;
        assay_fail(err, st, "%s", lua_tostring(L, -1));
        lua_pop(L, 1);
        return st;
    }
    assay_lua_push_env(L);
    lua_setupvalue(L, -2, 1);                    /* a main chunk's only upvalue is _ENV */
    return ASSAY_OK;
}

/* identifier(.identifier)*, so that a name can never leave its root */
static bool is_module_name(const char *s) {
    bool start = true;
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (start && !(isalpha(c) || c == '_')) return false;
        if (!start && !(isalnum(c) || c == '_' || c == '.')) return false;
        start = c == '.';
    }
    return !start;
}

static char *module_path(const char *root, const char *name) {
    if (!root) return NULL;
    char *rel = assay_xstrdup(name);
    for (char *p = rel; *p; p++)
        if (*p == '.') *p = '/';
    char *path = assay_xprintf("%s/%s.lua", root, rel);
    free(rel);
    if (assay_is_file(path)) return path;
    free(path);
    return NULL;
}

/* Reading a function that an installed library has not: without this a misspelt `build = attn.fuesd` would be nil, and so left out. */
static int missing_in_library(lua_State *L) {
    if (lua_type(L, 2) != LUA_TSTRING) return 0;
    const char *names[256], *key = lua_tostring(L, 2);
    size_t n = 0;
    for (lua_pushnil(L); n < 256 && lua_next(L, 1); lua_pop(L, 1))
        if (lua_type(L, -2) == LUA_TSTRING) names[n++] = lua_tostring(L, -2);
    char hint[96];
    return assay_lua_fail(L, ASSAY_E_INPUT, NULL, "%s has no '%s'%s", lua_tostring(L, lua_upvalueindex(1)), key, assay_did_you_mean(hint, key, names, n));
}

/* The module's value is on top of the stack and stays there. */
static void close_names(lua_State *L, const char *name) {
    if (!assay_starts_with(name, "assay.") || !lua_istable(L, -1)) return;
    lua_newtable(L);
    lua_pushstring(L, name);
    lua_pushcclosure(L, missing_in_library, 1);
    lua_setfield(L, -2, "__index");
    lua_setmetatable(L, -2);
}

/* The chunk name of a library is its name in `files`, "assay/attention.lua": the same on every machine. */
static int load_module(lua_State *L, assay_sandbox *s, const char *name, char *path) {
    char logical[256];
    snprintf(logical, sizeof logical, "%.240s.lua", name);
    for (char *p = logical; *p; p++)
        if (*p == '.' && strcmp(p, ".lua")) *p = '/';
    assay_error err;
    assay_status st = assay_lua_load(s, path, logical, logical, &err);
    free(path);
    if (st) return assay_lua_fail(L, st, NULL, "require \"%s\": %s", name, err.message);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &modules_key);
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, name);
    lua_insert(L, -2);
    lua_pushstring(L, name);
    lua_call(L, 1, 1);
    if (lua_isnil(L, -1)) return assay_lua_fail(L, ASSAY_E_INPUT, NULL, "require \"%s\": the module returns nothing; it must return a table", name);
    close_names(L, name);
    lua_pushvalue(L, -1);
    lua_setfield(L, -3, name);
    return 1;
}

static int require(lua_State *L) {
    assay_sandbox *s = assay_sandbox_of(L);
    const char *name = luaL_checkstring(L, 1);
    if (!is_module_name(name))
        return assay_lua_fail(L, ASSAY_E_INPUT, NULL, "require \"%s\": a module name is dotted identifiers, such as \"assay.attention\"; files are taken from "
                              "beside the script or from the installed scripts, never from elsewhere", name);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &modules_key);
    if (lua_getfield(L, -1, name) != LUA_TNIL) {
        if (lua_isboolean(L, -1)) return assay_lua_fail(L, ASSAY_E_INPUT, NULL, "require \"%s\": modules require each other in a circle", name);
        return 1;
    }
    char *path = module_path(s->root, name);
    if (!path) path = module_path(s->scripts_dir, name);
    if (!path)
        return assay_lua_fail(L, ASSAY_E_INPUT, NULL, "require \"%s\": no such module; looked beside the script (%s) and in the installed scripts (%s)", name,
                              s->root, s->scripts_dir ? s->scripts_dir : "none found");
    return load_module(L, s, name, path);
}

void assay_lua_open_require(lua_State *L) {
    lua_newtable(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &modules_key);
    lua_pushcfunction(L, require);
    assay_lua_set_global(L, "require");
}
