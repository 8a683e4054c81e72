/* Built for major 0. */
#include "zoo.h"
ZOO_GATE(.flags = 0);
ZOO_PLUGIN(sizeof zoo_plugin, 0x00000009u, 1);
