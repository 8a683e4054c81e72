/* Its plugin descriptor ends before its tables. */
#include "zoo.h"
ZOO_GATE(.flags = 0);
ZOO_PLUGIN(12, ASSAY_ABI, 1);
