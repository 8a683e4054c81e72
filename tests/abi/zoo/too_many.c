/* Its count is not the length of its table. */
#include "zoo.h"
ZOO_GATE(.flags = 0);
ZOO_PLUGIN(sizeof zoo_plugin, ASSAY_ABI, 4000000000u);
