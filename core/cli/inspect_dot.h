/* cli/inspect_dot.h: `assay inspect --dot OP`. */
#ifndef ASSAY_CLI_INSPECT_DOT_H
#define ASSAY_CLI_INSPECT_DOT_H
#include "program/program.h"
/* Prints the ops within three steps of the op that makes the value `name` (or is called so) in Graphviz's language; dead ops
 * dashed. An unknown name is an error with did-you-mean. */
assay_status assay_inspect_dot(const assay_program *p, const char *name, assay_error *err);
#endif
