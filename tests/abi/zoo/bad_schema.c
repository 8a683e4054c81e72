/* A default that its own row refuses. */
#include "zoo.h"
static const assay_param rows[] = { { .name = "share", .def = "1.5", .help = "a fraction", .min = 0, .max = 1, .type = ASSAY_T_NUMBER }, { .name = 0 } };
ZOO_GATE(.params = rows);
ZOO_PLUGIN(sizeof zoo_plugin, ASSAY_ABI, 1);
