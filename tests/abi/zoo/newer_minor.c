/* Built for a later minor of this major: its tables are longer than the host knows. */
#include "zoo.h"
ZOO_GATE(.name = "newer");
ZOO_PLUGIN(sizeof zoo_plugin + 64, ASSAY_ABI + 9, 1);
