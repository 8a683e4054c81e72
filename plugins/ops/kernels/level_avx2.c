/* plugins/ops/kernels/level_avx2.c: the avx2 level; compiled with its instruction set switched on. */
#include "ops/kernels/isa_avx2.h"
#include "ops/kernels/level_body.h"
