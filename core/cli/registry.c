/* The registry that every subcommand works with: what is linked in, then the plugins of the search path. */
#include "cli/cli.h"
#include "backends/reference/exec.h"
#include "ops/builtin.h"

assay_registry *assay_cli_registry(const assay_args *a) {
    assay_registry *r = assay_registry_new();
    assay_ops_register();
    assay_registry_add_backend(r, &assay_reference_backend, ASSAY_ORIGIN_REFERENCE);
    assay_registry_load_all(r, a->gate_path);
    return r;
}
