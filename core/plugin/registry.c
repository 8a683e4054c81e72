/* One registry of gates (C and Lua) and backends, with where each came from and why others were refused. */
#include "plugin/registry_private.h"
#include "plugin/loader.h"
#include "base/digest.h"
#include "base/fs.h"
#include "base/names.h"
#include <stdlib.h>
#include <string.h>

assay_registry *assay_registry_new(void) {
    assay_registry *r = assay_xcalloc(1, sizeof *r);
    r->arena = assay_arena_new();
    assay_host_provide_core();
    return r;
}

void assay_registry_free(assay_registry *r) {
    if (!r) return;
    assay_ptrs_free(&r->gates);
    assay_ptrs_free(&r->backends);
    assay_ptrs_free(&r->paths);
    free(r->refusals);
    assay_arena_free(r->arena);
    free(r);
}

void assay_registry_refuse(assay_registry *r, const char *path, const char *why) {
    r->refusals = assay_xrealloc(r->refusals, (r->n_refusals + 1) * sizeof *r->refusals);
    r->refusals[r->n_refusals++] =
        (assay_refusal){assay_arena_strdup(r->arena, path ? path : ""), assay_arena_strdup(r->arena, why)};
}

static assay_gate_type *find_gate(const assay_registry *r, const char *name) {
    for (size_t i = 0; i < r->gates.len; i++)
        if (assay_streq(((assay_gate_type *)r->gates.items[i])->name, name)) return r->gates.items[i];
    return NULL;
}

static assay_backend_type *find_backend(const assay_registry *r, const char *name) {
    for (size_t i = 0; i < r->backends.len; i++)
        if (assay_streq(((assay_backend_type *)r->backends.items[i])->backend->name, name)) return r->backends.items[i];
    return NULL;
}

static int by_gate_name(const void *a, const void *b) {
    return strcmp((*(assay_gate_type *const *)a)->name, (*(assay_gate_type *const *)b)->name);
}
static int by_backend_name(const void *a, const void *b) {
    return strcmp((*(assay_backend_type *const *)a)->backend->name, (*(assay_backend_type *const *)b)->backend->name);
}

void assay_registry_add_gate(assay_registry *r, const assay_gate_type *g) {
    assay_gate_type *old = find_gate(r, g->name);
    if (old) { /* the first of the search order is kept */
        if (assay_streq(old->path, g->path)) return;
        assay_registry_refuse(
            r, g->path,
            assay_arena_printf(r->arena, "gate '%s' is already there from %s", g->name, old->path ? old->path : "this program"));
        return;
    }
    assay_gate_type *c = assay_arena_copy(r->arena, g, sizeof *g);
    c->name = assay_arena_strdup(r->arena, g->name);
    c->version = assay_arena_strdup(r->arena, g->version ? g->version : "");
    c->summary = assay_arena_strdup(r->arena, g->summary ? g->summary : "");
    c->path = assay_arena_strdup(r->arena, g->path ? g->path : "");
    c->kind = assay_arena_strdup(r->arena, g->kind ? g->kind : "c");
    assay_ptrs_push(&r->gates, c);
    qsort(r->gates.items, r->gates.len, sizeof *r->gates.items, by_gate_name);
}

/* NULL: the name was taken. */
static assay_backend_type *add_backend(assay_registry *r, const assay_backend *b, const char *path, int32_t origin, const char *sha256) {
    assay_backend_type *old = find_backend(r, b->name);
    if (old) {
        if (old->backend != b)
            assay_registry_refuse(r, path,
                                  assay_arena_printf(r->arena, "backend '%s' is already there from %s", b->name,
                                                     *old->path ? old->path : "this program"));
        return NULL;
    }
    assay_backend_type *t = assay_arena_alloc(r->arena, sizeof *t);
    t->backend = b;
    t->path = assay_arena_strdup(r->arena, path);
    t->origin = origin;
    if (sha256) memcpy(t->sha256, sha256, sizeof t->sha256);
    assay_ptrs_push(&r->backends, t);
    qsort(r->backends.items, r->backends.len, sizeof *r->backends.items, by_backend_name);
    return t;
}

void assay_registry_add_backend(assay_registry *r, const assay_backend *b, int32_t origin) {
    add_backend(r, b, "", origin, NULL);
}

void assay_registry_add_simulated(assay_registry *r, const assay_backend *b, uint64_t (*last_ns)(void *session),
                                  assay_record_fn record) {
    assay_backend_type *t = add_backend(r, b, "", ASSAY_ORIGIN_SIMULATED, NULL);
    if (!t) return;
    t->last_ns = last_ns;
    t->record = record;
}

/* ---- a C gate behind the common type: ctx is its descriptor */
static assay_status c_create(const assay_gate_type *t, const assay_host *h, const assay_params *p, void **self,
                             assay_error *err) {
    return ((const assay_gate *)t->ctx)->create(h, p, self, err);
}
static assay_status c_needs(const assay_gate_type *t, void *self, const assay_evidence *ev, const assay_request *req,
                            assay_error *err) {
    const assay_gate *g = t->ctx;
    return g->needs ? g->needs(self, ev, req, err) : ASSAY_OK;
}
static assay_status c_judge(const assay_gate_type *t, void *self, const assay_evidence *ev, const assay_finding *f,
                            assay_error *err) {
    return ((const assay_gate *)t->ctx)->judge(self, ev, f, err);
}
static void c_destroy(const assay_gate_type *t, void *self) { ((const assay_gate *)t->ctx)->destroy(self); }

static assay_status take_plugin(assay_registry *r, const assay_plugin *p, const char *path, assay_error *err) {
    for (uint32_t i = 0; i < p->gate_count; i++) {
        union {
            const assay_gate *in;
            void *out;
        } g = {.in = p->gates[i]};
        assay_gate_type t = {.name = g.in->name,
                             .version = g.in->version,
                             .summary = g.in->summary,
                             .path = path,
                             .kind = "c",
                             .params = g.in->params,
                             .create = c_create,
                             .needs = c_needs,
                             .judge = c_judge,
                             .destroy = c_destroy,
                             .ctx = g.out};
        assay_registry_add_gate(r, &t);
    }
    if (!p->backend_count) return ASSAY_OK;
    char sha[ASSAY_HEX]; /* a loaded backend counts as a device and is named with its digest */
    assay_status st = assay_sha256_file(path, sha, err);
    for (uint32_t i = 0; !st && i < p->backend_count; i++) add_backend(r, p->backends[i], path, ASSAY_ORIGIN_DEVICE, sha);
    return st;
}

assay_status assay_registry_load_file(assay_registry *r, const char *path, assay_error *err) {
    assay_error local = {0};
    if (!err) err = &local;
    /* dlopen searches the library path for a bare name; a plugin is always a file. */
    char *full = strchr(path, '/') ? assay_xstrdup(path) : assay_path_join(".", path);
    const assay_plugin *p = NULL;
    assay_status st = assay_plugin_open(full, &p, err);
    if (!st) st = take_plugin(r, p, full, err);
    if (st) {
        assay_registry_refuse(r, path, err->message);
        assay_wrap(err, "plugin %s", path);
    }
    free(full);
    return st;
}

/* ---- lookups */
static const char *refusal_of(const assay_registry *r, const char *name) {
    for (size_t i = 0; i < r->n_refusals; i++) {
        const char *base = assay_path_base(r->refusals[i].path);
        size_t n = strlen(name);
        if (!strncmp(base, name, n) && (base[n] == '.' || !base[n]))
            return assay_arena_printf(r->arena, "%s: %s", r->refusals[i].path, r->refusals[i].why);
    }
    return NULL;
}

static void fail_unknown(const assay_registry *r, const char *what, const char *name, const char *const *names, size_t n,
                         assay_error *err) {
    const char *why = refusal_of(r, name);
    char hint[96];
    assay_did_you_mean(hint, name, names, n);
    if (why)
        assay_fail(err, ASSAY_E_ABI, "%s '%s' was refused: %s", what, name, why);
    else if (*hint)
        assay_fail(err, ASSAY_E_INPUT, "no %s '%s'%s", what, name, hint);
    else
        assay_fail(err, ASSAY_E_INPUT,
                   "no %s '%s': `assay %ss` lists what is there, `assay gates --paths` where it was looked for", what, name,
                   what);
}

const assay_gate_type *assay_registry_gate(const assay_registry *r, const char *name, assay_error *err) {
    const assay_gate_type *g = name ? find_gate(r, name) : NULL;
    if (g) return g;
    const char **names = assay_xcalloc(r->gates.len + 1, sizeof *names);
    for (size_t i = 0; i < r->gates.len; i++) names[i] = ((assay_gate_type *)r->gates.items[i])->name;
    fail_unknown(r, "gate", name ? name : "", names, r->gates.len, err);
    free(names);
    return NULL;
}

const assay_backend_type *assay_registry_backend(const assay_registry *r, const char *name, assay_error *err) {
    const assay_backend_type *b = name ? find_backend(r, name) : NULL;
    if (b) return b;
    const char **names = assay_xcalloc(r->backends.len + 1, sizeof *names);
    for (size_t i = 0; i < r->backends.len; i++) names[i] = ((assay_backend_type *)r->backends.items[i])->backend->name;
    fail_unknown(r, "backend", name ? name : "", names, r->backends.len, err);
    free(names);
    return NULL;
}

size_t assay_registry_gates(const assay_registry *r, const assay_gate_type *const **list) {
    *list = (const assay_gate_type *const *)r->gates.items;
    return r->gates.len;
}
size_t assay_registry_backends(const assay_registry *r, const assay_backend_type *const **list) {
    *list = (const assay_backend_type *const *)r->backends.items;
    return r->backends.len;
}
size_t assay_registry_refusals(const assay_registry *r, const assay_refusal **list) {
    *list = r->refusals;
    return r->n_refusals;
}
size_t assay_registry_paths(const assay_registry *r, const char *const **list) {
    *list = (const char *const *)r->paths.items;
    return r->paths.len;
}
