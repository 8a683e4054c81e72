/* A name that is no command-line word. */
#include "zoo.h"
ZOO_GATE(.name = "Big Gate");
ZOO_PLUGIN(sizeof zoo_plugin, ASSAY_ABI, 1);
