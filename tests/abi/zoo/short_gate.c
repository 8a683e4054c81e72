/* Its gate descriptor ends before destroy. */
#include "zoo.h"
ZOO_GATE(.struct_size = 40);
ZOO_PLUGIN(sizeof zoo_plugin, ASSAY_ABI, 1);
