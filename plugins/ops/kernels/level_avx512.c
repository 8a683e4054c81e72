/* plugins/ops/kernels/level_avx512.c: the avx512 level; compiled with its instruction set switched on. */
#include "ops/kernels/isa_avx512.h"
#include "ops/kernels/level_body.h"
