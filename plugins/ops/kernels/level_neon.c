/* plugins/ops/kernels/level_neon.c: the neon level; compiled with its instruction set switched on. */
#include "ops/kernels/isa_neon.h"
#include "ops/kernels/level_body.h"
