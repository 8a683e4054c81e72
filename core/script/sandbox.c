/* A sandboxed Lua state: byte ceiling in the allocator, instruction ceiling in a count hook, and the one helper through
 * which C calls Lua. The limits are for accidents; shared objects are trusted code. */
#include "script/lua_sandbox.h"
#include "base/fs.h"
#include "base/names.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HOOK_EVERY = 10000 };                     /* VM instructions between two looks at the counter */

assay_sandbox *assay_sandbox_of(lua_State *L) { return *(assay_sandbox **)lua_getextraspace(L); }

static void *bounded_alloc(void *ud, void *ptr, size_t osize, size_t nsize) {
    assay_sandbox *s = ud;
    size_t old = ptr ? osize : 0;                /* for a new block Lua passes a type code in osize */
    if (nsize == 0) {
        free(ptr);
        s->used_bytes -= old;
        return NULL;
    }
    if (nsize > old && s->used_bytes + (nsize - old) > s->max_bytes) {
        s->memory_tripped = true;
        return NULL;
    }
    void *p = realloc(ptr, nsize);
    if (p) s->used_bytes = s->used_bytes - old + nsize;
    return p;
}

/* A script's pcall swallows this error, so once tripped the hook comes back at every instruction: that leaves through
 * every pcall. */
static void count_hook(lua_State *L, lua_Debug *ar) {
    (void)ar;
    assay_sandbox *s = assay_sandbox_of(L);
    s->progress = s->progress + 1;
    s->instructions += s->instructions_tripped ? 1 : HOOK_EVERY;
    if (s->instructions < s->max_instructions) return;
    s->instructions_tripped = true;
    lua_sethook(L, count_hook, LUA_MASKCOUNT, 1);
    assay_lua_fail(L, ASSAY_E_LIMIT, NULL, "the script ran for more than %llu instructions and was stopped (a loop without end?)",
                   (unsigned long long)s->max_instructions);
}

/* ---- open and close */
assay_sandbox *assay_sandbox_open(const char *script_path, const char *scripts_dir, const assay_limits *limits, const char *cleanup) {
    assay_sandbox *s = assay_xcalloc(1, sizeof *s);
    assay_limits l = limits ? *limits : (assay_limits){ .seconds = 0 };
    s->max_bytes = l.memory_bytes ? (size_t)l.memory_bytes : (size_t)256 << 20;
    s->max_tensor_bytes = l.tensor_bytes ? l.tensor_bytes : (uint64_t)4 << 30;
    s->max_instructions = l.instructions ? l.instructions : 2000000000u;
    s->seconds = l.seconds > 0 ? l.seconds : 120;
    s->call_seconds = l.call_seconds > 0 ? l.call_seconds : 5;
    if (s->max_bytes < (size_t)2 << 20) s->max_bytes = (size_t)2 << 20;       /* the libraries alone need some */
    s->script_path = assay_xstrdup(script_path);
    s->root = assay_path_dir(script_path);
    s->scripts_dir = scripts_dir ? assay_xstrdup(scripts_dir) : NULL;
    s->files = assay_json_array();
    snprintf(s->watchdog_line, sizeof s->watchdog_line, "%.300s: the script was still running after %g s and was stopped%s%.200s\n",
             script_path, s->seconds, cleanup ? "; unfinished work is left in " : "", cleanup ? cleanup : "");
    snprintf(s->stuck_line, sizeof s->stuck_line, "%.300s: one call of ", script_path);
    snprintf(s->stuck_end, sizeof s->stuck_end, " did not return for %g s and the script was stopped (a pattern that backtracks, or a huge range?)%s%.200s\n",
             s->call_seconds, cleanup ? "; unfinished work is left in " : "", cleanup ? cleanup : "");
    s->L = lua_newstate(bounded_alloc, s);
    if (!s->L) {
        assay_sandbox_close(s);
        return NULL;
    }
    *(assay_sandbox **)lua_getextraspace(s->L) = s;
    assay_lua_open_globals(s->L);
    lua_sethook(s->L, count_hook, LUA_MASKCOUNT, HOOK_EVERY);
    return s;
}

void assay_sandbox_grow(assay_sandbox *s, uint64_t bytes) {
    const uint64_t top = (uint64_t)4 << 30, room = s->max_bytes < top ? top - s->max_bytes : 0;
    s->max_bytes += (size_t)(bytes < room ? bytes : room);
}

void assay_sandbox_close(assay_sandbox *s) {
    if (!s) return;
    if (s->L) lua_close(s->L);
    assay_json_free(s->files);
    free(s->root);
    free(s->scripts_dir);
    free(s->script_path);
    free(s);
}

/* ---- calling Lua */
static int keep_message(lua_State *L) {
    if (lua_type(L, 1) == LUA_TSTRING) return 1;
    if (luaL_callmeta(L, 1, "__tostring") && lua_type(L, -1) == LUA_TSTRING) return 1;
    lua_pushfstring(L, "the script raised a %s as its error", luaL_typename(L, 1));
    return 1;
}

static assay_status status_of(assay_sandbox *s, bool memory) {
    assay_status st = s->status ? s->status : ASSAY_E_INPUT;
    s->status = ASSAY_OK;
    if (s->instructions_tripped || memory) return ASSAY_E_LIMIT;
    return st;
}

assay_status assay_lua_call(assay_sandbox *s, int nargs, int nresults, assay_error *err) {
    lua_State *L = s->L;
    int base = lua_gettop(L) - nargs;            /* index of the function */
    lua_pushcfunction(L, keep_message);
    lua_insert(L, base);
    bool outer = s->depth++ == 0;
    if (outer) assay_watchdog_start(s);
    int rc = lua_pcall(L, nargs, nresults, base);
    if (outer) assay_watchdog_stop(s);
    s->depth--;
    lua_remove(L, base);
    if (rc == LUA_OK) {
        if (nresults != LUA_MULTRET && lua_gettop(L) != base - 1 + nresults)
            return assay_fail(err, ASSAY_E_INTERNAL, "%s: the Lua stack is off by %d after a call", s->script_path, lua_gettop(L) - (base - 1 + nresults));
        return ASSAY_OK;
    }
    const char *said = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "unknown error";
    bool memory = rc == LUA_ERRMEM || (s->memory_tripped && strstr(said, "not enough memory"));   /* string.rep words it as its own error */
    assay_status st = status_of(s, memory);
    if (memory)
        assay_fail(err, st, "%s: the script wanted more than %llu MiB of memory and was stopped (large data belongs in tensors)", s->script_path,
                   (unsigned long long)(s->max_bytes >> 20));
    else assay_fail(err, st, "%s", said);
    lua_settop(L, base - 1);
    return st;
}

int assay_lua_fail(lua_State *L, assay_status status, const char *where, const char *fmt, ...) {
    assay_buf b = { 0 };
    va_list ap;
    va_start(ap, fmt);
    assay_buf_vprintf(&b, fmt, ap);
    va_end(ap);
    char text[900];
    snprintf(text, sizeof text, "%s", b.data ? b.data : "");
    assay_buf_free(&b);                          /* before anything that can leave through longjmp */
    assay_sandbox_of(L)->status = status;
    if (where) lua_pushstring(L, where);
    else assay_lua_push_where(L, false);
    if (*lua_tostring(L, -1)) lua_pushfstring(L, "%s: %s", lua_tostring(L, -1), text);
    else lua_pushstring(L, text);
    return lua_error(L);
}

/* The name under which a chunk stands in plans. */
static const char *logical_name(assay_sandbox *s, const char *chunk) {
    if (assay_streq(chunk, s->script_path)) return assay_path_base(chunk);
    return chunk;
}

void assay_lua_push_where(lua_State *L, bool logical) {
    assay_sandbox *s = assay_sandbox_of(L);
    lua_Debug ar;
    for (int level = 0; lua_getstack(L, level, &ar); level++) {
        lua_getinfo(L, "Sl", &ar);
        if (ar.currentline <= 0) continue;       /* a C function */
        const char *chunk = *ar.source == '@' ? ar.source + 1 : ar.short_src;
        lua_pushfstring(L, "%s:%d", logical ? logical_name(s, chunk) : chunk, ar.currentline);
        return;
    }
    lua_pushliteral(L, "");
}
