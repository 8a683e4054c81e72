/* Every public header in one unit, in alphabetical order, then once more: they must stand alone and twice. */
#include <assay/backend.h>
#include <assay/gate.h>
#include <assay/math.h>
#include <assay/metrics.h>
#include <assay/program.h>
#include <assay/types.h>
#include <assay/backend.h>
#include <assay/gate.h>

/* A plugin in this language can fill in the tables. */
static const assay_gate gate = { sizeof(assay_gate), 0, "headers", "1.0", "fills in a table", 0, 0, 0, 0, 0 };
ASSAY_GATE_PLUGIN(gate)
