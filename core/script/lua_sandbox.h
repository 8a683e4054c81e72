/* script/lua_sandbox.h: one sandboxed lua_State: ceilings, the allow-list environment, files and `require`, and the only way in
 * which C calls Lua. Internal to core/script. A sandbox is used by one thread. */
#ifndef ASSAY_SCRIPT_LUA_SANDBOX_H
#define ASSAY_SCRIPT_LUA_SANDBOX_H
#include <lua.h>
#include <lauxlib.h>
#include <signal.h>
#include <stdbool.h>
#include "base/json.h"
#include "assay/types.h"

typedef struct assay_sandbox {
    lua_State *L;
    size_t used_bytes, max_bytes; bool memory_tripped;
    uint64_t tensor_bytes, max_tensor_bytes;
    uint64_t instructions, max_instructions; bool instructions_tripped;
    double seconds, call_seconds;                /* of wall clock: the whole script, one call of a library function */
    const char *volatile library;                /* the library function that runs, NULL: none; read by the watchdog */
    volatile sig_atomic_t progress;              /* moves with every library call and count hook */
    char *root, *scripts_dir;                    /* the two roots of require: folder of the script, installed libraries (may be NULL) */
    char *script_path;                           /* as given; the chunk name of the script */
    char watchdog_line[600], stuck_line[340], stuck_end[400];   /* what the watchdog writes; prepared, because a handler may not format */
    assay_json *files;                           /* [{name, path, sha256}] */
    assay_status status;                         /* code of the error being raised, when it is not ASSAY_E_INPUT */
    uint64_t seed, draws;                        /* math.random */
    int depth;                                   /* nesting of assay_lua_call */
    void *owner;                                 /* the script or gate that this sandbox serves */
} assay_sandbox;

typedef struct assay_limits { uint64_t memory_bytes, tensor_bytes, instructions; double seconds, call_seconds; } assay_limits;   /* 0: default */

/* Opens a state with the allow-listed globals. `script_path` names the file that will be run (its folder is root 1). */
assay_sandbox *assay_sandbox_open(const char *script_path, const char *scripts_dir, const assay_limits *limits, const char *cleanup);
void assay_sandbox_close(assay_sandbox *s);
/* Raises the byte ceiling for data that C hands in and whose size the script does not choose; never above 4 GiB. */
void assay_sandbox_grow(assay_sandbox *s, uint64_t bytes);
assay_sandbox *assay_sandbox_of(lua_State *L);

/* The one helper through which C calls Lua: function and arguments are on the stack as for lua_pcall. Starts the watchdog,
 * keeps position and __tostring of the error, and checks the stack height. On failure nothing is left on the stack. */
assay_status assay_lua_call(assay_sandbox *s, int nargs, int nresults, assay_error *err);
/* Loads a text chunk with the sandboxed environment and leaves the function on the stack; notes its digest in `files`. */
/* `name`: what the file is called among the files of the script; NULL: it is not one of them. */
assay_status assay_lua_load(assay_sandbox *s, const char *path, const char *chunk, const char *name, assay_error *err);
/* Adds a file to `files` that the sandbox did not load itself (a gate), once. */
assay_status assay_lua_note_file(assay_sandbox *s, const char *path, const char *name, assay_error *err);
/* Folder of the installed libraries: given, beside the program, in the install folder, or in the source tree. Caller frees. */
char *assay_scripts_dir(const char *given);
/* Path of a file named in a script: absolute, or relative to the script's folder. Caller frees. */
char *assay_sandbox_path(const assay_sandbox *s, const char *path);

/* Adds `name` to the globals that scripts see (value on top of the stack, popped). */
void assay_lua_set_global(lua_State *L, const char *name);
/* Replaces the table on top of the stack by a read-only view of it called `name`. */
void assay_lua_protect(lua_State *L, const char *name);
/* Pushes the environment of every chunk: the read-only view of the globals. */
void assay_lua_push_env(lua_State *L);
/* Raises a Lua error with the given status; `where` is "file:line" or NULL for the caller's position. */
int assay_lua_fail(lua_State *L, assay_status status, const char *where, const char *fmt, ...) ASSAY_PRINTF(4, 5);
/* The watchdog (watchdog.c), between start and stop of the outermost call. */
void assay_watchdog_start(assay_sandbox *s);
void assay_watchdog_stop(assay_sandbox *s);
/* Wraps every function of the library on top of the stack so that one call that never returns is stopped by name. */
void assay_lua_watch_library(lua_State *L, const char *library);
int assay_lua_pcall(lua_State *L);
/* Pushes "file:line" of the Lua code that called the running C function. `logical`: library and script under the names of
 * `files` (these reach plans); otherwise as the chunk is called (these reach people). */
void assay_lua_push_where(lua_State *L, bool logical);

/* ---- parts, each installed once by assay_sandbox_open */
void assay_lua_open_globals(lua_State *L);       /* globals.c */
void assay_lua_open_math(lua_State *L);          /* lua_math.c */
void assay_lua_open_require(lua_State *L);       /* modules.c */
/* Restarts math.random: draw i is assay_u64(stream(label) + seed, i). */
void assay_lua_seed(assay_sandbox *s, const char *label, uint64_t seed);
#endif
