/* Built for major 2. */
#include "zoo.h"
ZOO_GATE(.flags = 0);
ZOO_PLUGIN(sizeof zoo_plugin, 0x00020001u, 1);
