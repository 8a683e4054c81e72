/* plugin/registry_private.h: the registry's own fields, shared by registry.c and search.c. */
#ifndef ASSAY_PLUGIN_REGISTRY_PRIVATE_H
#define ASSAY_PLUGIN_REGISTRY_PRIVATE_H
#include "plugin/registry.h"
#include "base/mem.h"

struct assay_registry {
    assay_arena *arena;
    assay_ptrs gates, backends; /* assay_gate_type *, assay_backend_type *; sorted by name, in the arena */
    assay_ptrs paths;           /* char *, in search order */
    assay_refusal *refusals;
    size_t n_refusals;
};
void assay_registry_refuse(assay_registry *r, const char *path, const char *why);
#endif
