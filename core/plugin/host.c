/* The host table handed to plugins: log, param, get. Families of functions are interfaces asked for by name. */
#include "plugin/registry.h"
#include "plugin/params.h"
#include "base/names.h"
#include <stdio.h>
#include <string.h>

enum { INTERFACES_MAX = 32, LEVEL_INFORMATION = 1, LEVEL_WARNING = 2 };
static struct {
    const char *id;
    const void *table;
} provided[INTERFACES_MAX];
static size_t n_provided;

void assay_host_provide(const char *id, const void *table) {
    for (size_t i = 0; i < n_provided; i++)
        if (!strcmp(provided[i].id, id)) {
            provided[i].table = table;
            return;
        }
    if (n_provided == INTERFACES_MAX) return; /* a fixed set known at build time; the tests count it */
    provided[n_provided].id = id;
    provided[n_provided++].table = table;
}

static void (*listener)(void *ctx, const char *msg);
static void *listener_ctx;

void assay_host_listen(void (*fn)(void *ctx, const char *msg), void *ctx) {
    listener = fn;
    listener_ctx = ctx;
}

/* Results go to stdout and a receipt; what a plugin says on the side goes to stderr, and only from warnings on. */
static void host_log(void *ctx, int32_t level, const char *msg) {
    (void)ctx;
    if (level == LEVEL_INFORMATION && msg && listener) listener(listener_ctx, msg);
    if (level >= LEVEL_WARNING && msg) fprintf(stderr, "assay: plugin: %s\n", msg);
}

static const void *host_get(void *ctx, const char *id) {
    (void)ctx;
    for (size_t i = 0; id && i < n_provided; i++)
        if (!strcmp(provided[i].id, id)) return provided[i].table;
    return NULL;
}

const assay_host *assay_host_table(void) {
    static const assay_host table = {
        .struct_size = sizeof table, .abi = ASSAY_ABI, .log = host_log, .param = assay_params_get, .get = host_get};
    return &table;
}
