/* The wall-clock watchdog of a sandbox: ends a script that runs too long, and one call of a library function that does not come
 * back (a bad pattern, table.move over a billion places), because no count hook fires inside C. */
#include "script/lua_sandbox.h"
#include "base/names.h"
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum { TICK_US = 50000 };

static assay_sandbox *watched;                   /* the one whose script runs */
static double ran_s, stuck_s;                    /* only the handler counts them while the timer runs */
static sig_atomic_t last_progress;

static void say(const char *text) {
    ssize_t ignored = write(STDERR_FILENO, text, strlen(text));
    (void)ignored;
}

/* Writes prepared text only: a handler may not format. */
static void tick(int sig) {
    (void)sig;
    const char *library = watched->library;
    bool moved = !library || watched->progress != last_progress;
    last_progress = watched->progress;
    ran_s += TICK_US * 1e-6;
    stuck_s = moved ? 0 : stuck_s + TICK_US * 1e-6;
    if (stuck_s >= watched->call_seconds) {
        say(watched->stuck_line);
        say(library);
        say(watched->stuck_end);
        _exit(3);
    }
    if (ran_s < watched->seconds) return;
    say(watched->watchdog_line);
    _exit(3);
}

void assay_watchdog_start(assay_sandbox *s) {
    watched = s;
    ran_s = stuck_s = 0;
    struct sigaction sa;
    memset(&sa, 0, sizeof sa);
    sa.sa_handler = tick;
    sa.sa_flags = SA_RESTART;                    /* files are read while it ticks */
    sigaction(SIGALRM, &sa, NULL);
    setitimer(ITIMER_REAL, &(struct itimerval){ { 0, TICK_US }, { 0, TICK_US } }, NULL);
}

void assay_watchdog_stop(assay_sandbox *s) {
    setitimer(ITIMER_REAL, &(struct itimerval){ { 0, 0 }, { 0, 0 } }, NULL);
    signal(SIGALRM, SIG_IGN);                    /* drops a tick that another thread has not taken yet: by default it ends the process */
    signal(SIGALRM, SIG_DFL);
    s->library = NULL;
}

/* ---- library functions that the watchdog knows by name */
static void enter(lua_State *L) {
    assay_sandbox *s = assay_sandbox_of(L);
    s->progress = s->progress + 1;
    s->library = lua_tostring(L, lua_upvalueindex(2));
}

/* Calls the function in its own frame, so that its messages keep the caller's position. A call out of another's callback gives the
 * watch back to that one. upvalues: function, name. */
static int watched_call(lua_State *L) {
    lua_CFunction f = lua_tocfunction(L, lua_upvalueindex(1));
    assay_sandbox *s = assay_sandbox_of(L);
    const char *outer = s->library;
    enter(L);
    int n = f(L);
    s->progress = s->progress + 1;
    s->library = outer;
    return n;
}

/* The iterator of gmatch has upvalues of its own, so it needs a frame of its own, and its messages get the position here. */
static int gmatch_step(lua_State *L) {
    lua_settop(L, 0);
    lua_pushvalue(L, lua_upvalueindex(1));
    enter(L);
    int rc = lua_pcall(L, 0, LUA_MULTRET, 0);
    assay_sandbox_of(L)->library = NULL;
    if (rc != LUA_OK) return assay_lua_fail(L, ASSAY_E_INPUT, NULL, "%s", lua_tostring(L, -1));
    return lua_gettop(L);
}

static int watched_gmatch(lua_State *L) {
    lua_tocfunction(L, lua_upvalueindex(1))(L);
    lua_pushvalue(L, lua_upvalueindex(2));
    lua_pushcclosure(L, gmatch_step, 2);
    return 1;
}

void assay_lua_watch_library(lua_State *L, const char *library) {
    int table = lua_gettop(L);
    for (lua_pushnil(L); lua_next(L, table);) {
        if (!lua_iscfunction(L, -1)) {
            lua_pop(L, 1);
            continue;
        }
        const char *name = lua_tostring(L, -2);
        lua_pushfstring(L, "%s.%s", library, name);
        lua_pushcclosure(L, assay_streq(name, "gmatch") ? watched_gmatch : watched_call, 2);
        lua_setfield(L, table, name);            /* an existing key: lua_next goes on */
    }
}

/* pcall as Lua's own; an error out of a library function also ends its call. */
int assay_lua_pcall(lua_State *L) {
    luaL_checkany(L, 1);
    lua_pushboolean(L, 1);
    lua_insert(L, 1);
    bool ok = lua_pcall(L, lua_gettop(L) - 2, LUA_MULTRET, 0) == LUA_OK;
    assay_sandbox_of(L)->library = NULL;
    if (ok) return lua_gettop(L);
    lua_pushboolean(L, 0);
    lua_replace(L, 1);
    return 2;
}
