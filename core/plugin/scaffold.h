/* plugin/scaffold.h: `assay new`: copies a template and puts the new name in. */
#ifndef ASSAY_PLUGIN_SCAFFOLD_H
#define ASSAY_PLUGIN_SCAFFOLD_H
#include "base/error.h"

/* A folder DIR/NAME with a gate that builds outside the tree. `headers`: folder that holds assay/gate.h, NULL: this program's. */
assay_status assay_scaffold_gate(const char *name, const char *dir, const char *headers, char **made, assay_error *err);
/* A file DIR/NAME.lua. */
assay_status assay_scaffold_experiment(const char *name, const char *dir, char **made, assay_error *err);
#endif
