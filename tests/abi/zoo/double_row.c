/* A parameter that stands twice in its table. */
#include "zoo.h"
static const assay_param rows[] = { { .name = "share", .def = "", .help = "a fraction", .type = ASSAY_T_NUMBER },
    { .name = "share", .def = "", .help = "a fraction", .type = ASSAY_T_INT }, { .name = 0 } };
ZOO_GATE(.params = rows);
ZOO_PLUGIN(sizeof zoo_plugin, ASSAY_ABI, 1);
