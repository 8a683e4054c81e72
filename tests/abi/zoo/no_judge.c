/* A gate that cannot judge. */
#include "zoo.h"
ZOO_GATE(.judge = 0);
ZOO_PLUGIN(sizeof zoo_plugin, ASSAY_ABI, 1);
