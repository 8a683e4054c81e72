/* Right, but its gate has the name of another plugin's. */
#include "zoo.h"
ZOO_GATE(.version = "2.0");
ZOO_PLUGIN(sizeof zoo_plugin, ASSAY_ABI, 1);
