/* Opens plugins. Everything that can be wrong with one is said in a sentence, and nothing of a refused one is called. */
#include "plugin/loader.h"
#include "plugin/abi.h"
#include "plugin/params.h"
#include "base/names.h"
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum { DESCRIPTORS_MAX = 64 };
typedef const assay_plugin *(*query_fn)(uint32_t host_abi, assay_error *err);

/* Gates and backends become command-line words and file names. */
static bool good_name(const char *s) {
    if (!s || !(*s >= 'a' && *s <= 'z') || strlen(s) > 64) return false;
    for (; *s; s++)
        if (!((*s >= 'a' && *s <= 'z') || (*s >= '0' && *s <= '9') || *s == '_')) return false;
    return true;
}

static assay_status check_texts(const char *who, const char *name, const char *version, const char *summary, assay_error *err) {
    if (!good_name(name))
        return assay_fail(err, ASSAY_E_ABI, "%s: name '%.40s' is not lower_snake_case", who, name ? name : "NULL");
    if (!version || !*version) return assay_fail(err, ASSAY_E_ABI, "%s: no version", who);
    if (!summary || !*summary) return assay_fail(err, ASSAY_E_ABI, "%s: no summary", who);
    return ASSAY_OK;
}

static assay_status check_gate(const assay_gate *g, uint32_t i, assay_error *err) {
    char who[96];
    snprintf(who, sizeof who, "gate %u", i);
    if (!g) return assay_fail(err, ASSAY_E_ABI, "%s: descriptor is NULL", who);
    if (g->struct_size < ASSAY_V1_GATE)
        return assay_fail(err, ASSAY_E_ABI, "%s: descriptor is %u bytes, at least %u are wanted", who, g->struct_size,
                          ASSAY_V1_GATE);
    assay_status st = check_texts(who, g->name, g->version, g->summary, err);
    if (st) return st;
    snprintf(who, sizeof who, "gate '%.64s'", g->name);
    if (g->flags) return assay_fail(err, ASSAY_E_ABI, "%s: unknown flags 0x%x", who, g->flags);
    if (!g->create || !g->judge || !g->destroy)
        return assay_fail(err, ASSAY_E_ABI, "%s: create, judge and destroy must be there", who);
    return assay_params_check_table(g->params, who, err);
}

static assay_status check_backend(const assay_backend *b, uint32_t i, assay_error *err) {
    char who[96];
    snprintf(who, sizeof who, "backend %u", i);
    if (!b) return assay_fail(err, ASSAY_E_ABI, "%s: descriptor is NULL", who);
    if (b->struct_size < ASSAY_V1_BACKEND)
        return assay_fail(err, ASSAY_E_ABI, "%s: descriptor is %u bytes, at least %u are wanted", who, b->struct_size,
                          ASSAY_V1_BACKEND);
    assay_status st = check_texts(who, b->name, b->version, b->summary, err);
    if (st) return st;
    snprintf(who, sizeof who, "backend '%.64s'", b->name);
    if (!b->identity || !b->open || !b->bind || !b->predict || !b->fetch || !b->unbind || !b->close)
        return assay_fail(err, ASSAY_E_ABI, "%s: identity, open, bind, predict, fetch, unbind and close must be there", who);
    if (!b->state_new != !b->state_free) return assay_fail(err, ASSAY_E_ABI, "%s: state_new and state_free go together", who);
    return assay_params_check_table(b->params, who, err);
}

assay_status assay_plugin_check(const assay_plugin *p, assay_error *err) {
    if (p->struct_size < ASSAY_SIZE_TO(assay_plugin, abi))
        return assay_fail(err, ASSAY_E_ABI, "its descriptor is %u bytes, at least %u are wanted", p->struct_size,
                          ASSAY_V1_PLUGIN);
    if (ASSAY_ABI_MAJOR(p->abi) != ASSAY_ABI_MAJOR(ASSAY_ABI))
        return assay_fail(err, ASSAY_E_ABI,
                          "built for plugin ABI %u.%u, this program wants %u.x: rebuild it with the headers of this assay",
                          ASSAY_ABI_MAJOR(p->abi), ASSAY_ABI_MINOR(p->abi), ASSAY_ABI_MAJOR(ASSAY_ABI));
    if (p->struct_size < ASSAY_V1_PLUGIN)
        return assay_fail(err, ASSAY_E_ABI, "its descriptor is %u bytes, at least %u are wanted", p->struct_size,
                          ASSAY_V1_PLUGIN);
    if (p->gate_count > DESCRIPTORS_MAX || p->backend_count > DESCRIPTORS_MAX)
        return assay_fail(err, ASSAY_E_ABI, "%u gates and %u backends in one plugin: at most %d of each", p->gate_count,
                          p->backend_count, DESCRIPTORS_MAX);
    if (p->gate_count + p->backend_count == 0) return assay_fail(err, ASSAY_E_ABI, "it holds no gate and no backend");
    if ((p->gate_count && !p->gates) || (p->backend_count && !p->backends))
        return assay_fail(err, ASSAY_E_ABI, "its table of descriptors is NULL");
    for (uint32_t i = 0; i < p->gate_count; i++) {
        assay_status st = check_gate(p->gates[i], i, err);
        if (st) return st;
    }
    for (uint32_t i = 0; i < p->backend_count; i++) {
        assay_status st = check_backend(p->backends[i], i, err);
        if (st) return st;
    }
    return ASSAY_OK;
}

assay_status assay_plugin_open(const char *path, const assay_plugin **out, assay_error *err) {
    *out = NULL;
    void *so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!so) return assay_fail(err, ASSAY_E_ABI, "cannot be loaded: %s", dlerror());
    /* POSIX gives functions as data pointers; the union is the conversion that ISO C leaves. */
    union {
        void *data;
        query_fn fn;
    } query = {.data = dlsym(so, "assay_plugin_query")};
    if (!query.data)
        return assay_fail(err, ASSAY_E_ABI,
                          "exports no assay_plugin_query: is it a plugin of assay? (mark the function with ASSAY_EXPORT)");
    assay_error said = {0};
    const assay_plugin *p = query.fn(ASSAY_ABI, &said);
    if (!p)
        return assay_fail(err, ASSAY_E_ABI, "its query refused plugin ABI %u.%u: %.300s", ASSAY_ABI_MAJOR(ASSAY_ABI),
                          ASSAY_ABI_MINOR(ASSAY_ABI), said.message[0] ? said.message : "no reason given");
    assay_status st = assay_plugin_check(p, err);
    if (!st) *out = p;
    return st;
}
