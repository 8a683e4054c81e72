/* Gates written in Lua behind the common gate type. Each call of needs and judge runs the file, and the modules it requires, in
 * a fresh environment that sees parameters and evidence only, so that a gate cannot keep state. */
#include "script/lua_gate.h"
#include "script/lua_words.h"
#include "script/script.h"
#include "base/fs.h"
#include "base/names.h"
#include "plugin/registry_private.h"
#include <stdlib.h>
#include <string.h>

typedef struct lua_gate { char *path, *scripts_dir; assay_gate_module *modules; size_t n_modules; } lua_gate;

/* Runs the file; its gate_type table is left on the stack of the new state. */
static assay_status open_file(const char *path, const char *scripts_dir, assay_sandbox **out, assay_error *err) {
    assay_sandbox *s = assay_sandbox_open(path, scripts_dir, NULL, NULL);
    *out = s;
    if (!s) return assay_fail(err, ASSAY_E_NOMEM, "%s: no memory for a Lua state", path);
    assay_lua_open_words(s->L, true);
    assay_lua_open_gate(s->L);
    assay_status st = assay_lua_load(s, path, path, NULL, err);
    if (!st) st = assay_lua_call(s, 0, 1, err);
    if (!st && !assay_lua_word_at(s->L, -1))
        st = assay_fail(err, ASSAY_E_INPUT, "%s: a gate file must end with `return gate_type { ... }`, it returned %s", path, luaL_typename(s->L, -1));
    if (st) {
        assay_sandbox_close(s);
        *out = NULL;
    }
    return st;
}

/* ---- the functions of the gate type */
static assay_status create(const assay_gate_type *t, const assay_host *host, const assay_params *params, void **self, assay_error *err) {
    (void)t, (void)host, (void)err;
    union { const assay_params *in; void *out; } u = { .in = params };
    *self = u.out;                               /* the caller keeps them until destroy */
    return ASSAY_OK;
}

static void destroy(const assay_gate_type *t, void *self) { (void)t, (void)self; }

static int call_needs(lua_State *L) {            /* 1: gate_type table, 2: call */
    assay_gate_call *c = lua_touserdata(L, 2);
    if (lua_getfield(L, 1, "needs") != LUA_TFUNCTION) return 0;
    assay_lua_push_gate_params(L, c);
    if (lua_getfield(L, -1, "arm") == LUA_TNIL) return 0;    /* outside an experiment: the evidence is what was given */
    lua_pop(L, 1);
    assay_lua_push_gate_object(L, c, "evidence");
    assay_lua_push_gate_object(L, c, "request");
    lua_call(L, 3, 0);
    return 0;
}

static int call_judge(lua_State *L) {
    assay_gate_call *c = lua_touserdata(L, 2);
    lua_getfield(L, 1, "judge");
    assay_lua_push_gate_params(L, c);
    assay_lua_push_gate_object(L, c, "evidence");
    assay_lua_push_gate_object(L, c, "finding");
    lua_call(L, 3, 0);
    return 0;
}

static assay_status run(assay_gate_call *c, lua_CFunction fn, assay_error *err) {
    const lua_gate *g = c->type->ctx;
    assay_sandbox *s;
    assay_status st = open_file(g->path, g->scripts_dir, &s, err);
    if (st) return st;
    lua_pushcfunction(s->L, fn);
    lua_insert(s->L, -2);
    lua_pushlightuserdata(s->L, c);
    st = assay_lua_call(s, 2, 0, err);
    assay_sandbox_close(s);
    return st;
}

static assay_status needs(const assay_gate_type *t, void *self, const assay_evidence *ev, const assay_request *req, assay_error *err) {
    assay_gate_call c = { .type = t, .params = self, .evidence = ev, .request = req };
    assay_status st = run(&c, call_needs, err);
    return st && c.absent ? ASSAY_OK : st;       /* it looked at evidence that is not there yet; what it asked for before counts */
}

static assay_status judge(const assay_gate_type *t, void *self, const assay_evidence *ev, const assay_finding *f, assay_error *err) {
    assay_gate_call c = { .type = t, .params = self, .evidence = ev, .finding = f };
    assay_status st = run(&c, call_judge, err);
    if (st && c.absent) {
        f->reason(f, "no_evidence", c.why, "");
        f->verdict(f, ASSAY_NOT_MEASURED);
        return ASSAY_OK;
    }
    return st;
}

/* ---- loading */
typedef struct reading { assay_arena *arena; assay_gate_type *type; } reading;

static int read_type(lua_State *L) {             /* 1: gate_type table, 2: reading */
    reading *r = lua_touserdata(L, 2);
    lua_getfield(L, 1, "name");
    r->type->name = assay_arena_strdup(r->arena, lua_tostring(L, -1));
    lua_getfield(L, 1, "version");
    r->type->version = assay_arena_strdup(r->arena, lua_tostring(L, -1));
    lua_getfield(L, 1, "summary");
    r->type->summary = assay_arena_strdup(r->arena, lua_tostring(L, -1));
    r->type->params = assay_lua_read_params(L, 1, r->arena);
    return 0;
}

/* What the file required while it was read: a plan copies these beside the gate. */
static void keep_modules(assay_arena *arena, const assay_json *files, lua_gate *g) {
    g->n_modules = assay_json_len(files);
    g->modules = assay_arena_alloc(arena, (g->n_modules + 1) * sizeof *g->modules);
    for (size_t i = 0; i < g->n_modules; i++) {
        const assay_json *f = assay_json_at(files, i);
        g->modules[i].name = assay_arena_strdup(arena, assay_json_string(f, "name", ""));
        g->modules[i].path = assay_arena_strdup(arena, assay_json_string(f, "path", ""));
    }
}

const assay_gate_module *assay_script_gate_modules(const assay_gate_type *t, size_t *n) {
    const lua_gate *g = assay_streq(t->kind, "lua") ? t->ctx : NULL;
    *n = g ? g->n_modules : 0;
    return g ? g->modules : NULL;
}

assay_status assay_script_load_gate(assay_registry *r, const char *path, const char *scripts_dir, assay_error *err) {
    char *dir = assay_scripts_dir(scripts_dir);
    lua_gate *g = assay_arena_alloc(r->arena, sizeof *g);
    g->scripts_dir = dir ? assay_arena_strdup(r->arena, dir) : NULL;
    free(dir);
    if (!assay_is_file(path) && !strchr(path, '/') && g->scripts_dir) path = assay_arena_printf(r->arena, "%s/gates/%s.lua", g->scripts_dir, path);
    g->path = assay_arena_strdup(r->arena, path);
    assay_gate_type t = { .kind = "lua", .path = g->path, .create = create, .needs = needs, .judge = judge, .destroy = destroy, .ctx = g };
    reading rd = { r->arena, &t };
    assay_sandbox *s;
    assay_status st = open_file(g->path, g->scripts_dir, &s, err);
    if (st) return st;
    lua_pushcfunction(s->L, read_type);
    lua_insert(s->L, -2);
    lua_pushlightuserdata(s->L, &rd);
    st = assay_lua_call(s, 2, 0, err);
    if (!st) keep_modules(r->arena, s->files, g);
    assay_sandbox_close(s);
    if (!st) assay_registry_add_gate(r, &t);
    return st;
}
