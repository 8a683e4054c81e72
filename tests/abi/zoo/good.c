/* Right in every way. */
#include "zoo.h"
ZOO_GATE(.flags = 0);
ZOO_PLUGIN(sizeof zoo_plugin, ASSAY_ABI, 1);
