/* It holds nothing. */
#include "zoo.h"
ZOO_GATE(.flags = 0);
ZOO_PLUGIN(sizeof zoo_plugin, ASSAY_ABI, 0);
