/* Built with the frozen headers of ABI 1.0 (the include path says so). */
#include "zoo.h"
ZOO_GATE(.name = "older");
ZOO_PLUGIN(sizeof zoo_plugin, 0x00010000u, 1);
