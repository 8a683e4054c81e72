/* The registry that every subcommand works with: what is linked in, then the plugins of the search path. */
#include "cli/cli.h"
#include "backends/reference/exec.h"
#include "backends/simulated/backend.h"
#include "base/fs.h"
#include "base/names.h"
#include "ops/builtin.h"
#include "plugin/registry_private.h"
#include "script/script.h"
#include <stdlib.h>

assay_registry *assay_cli_registry(const assay_args *a) {
    assay_registry *r = assay_registry_new();
    assay_ops_register();
    /* First, and therefore not to be replaced from a search path: the oracle, and what must never pass for a device. */
    assay_registry_add_backend(r, &assay_reference_backend, ASSAY_ORIGIN_REFERENCE);
    assay_registry_add_simulated(r, &assay_simulated_backend, assay_simulated_last_ns, assay_simulated_record);
    assay_registry_load_all(r, a->gate_path);
    return r;
}

static void load_folder(assay_registry *r, const char *dir, const char *scripts) {
    char **names = NULL;
    size_t n = 0;
    if (!assay_is_dir(dir) || assay_list_dir(dir, &names, &n, NULL)) return;
    for (size_t i = 0; i < n; i++) {
        if (!assay_ends_with(names[i], ".lua")) continue;
        char *path = assay_path_join(dir, names[i]);
        assay_error err = {0};
        if (assay_script_load_gate(r, path, scripts, &err)) assay_registry_refuse(r, path, err.message);
        free(path);
    }
    assay_list_free(names, n);
}

void assay_cli_load_lua_gates(assay_registry *r) {
    const char *const *paths;
    size_t n = assay_registry_paths(r, &paths);
    char *scripts = assay_scripts_dir(NULL);
    for (size_t i = 0; i < n; i++) load_folder(r, paths[i], scripts);
    if (scripts) {
        char *gates = assay_path_join(scripts, "gates");
        load_folder(r, gates, scripts);
        free(gates);
    }
    free(scripts);
}
