/* cli/gate_check.h: the contract of plugins, run on one file: `assay gates check FILE.so`. */
#ifndef ASSAY_CLI_GATE_CHECK_H
#define ASSAY_CLI_GATE_CHECK_H
#include "cli/cli.h"

/* Runs the checks in a child process, because a crash inside foreign code cannot be survived here; prints one line a check.
 * Exit code 0 when all hold, 1 when one does not. */
int assay_gate_check(const assay_args *a, const char *path);
/* The checks themselves, in this process: each is announced as "? NAME" before it runs, then "+ NAME" or "- NAME: why". */
int assay_gate_check_here(const assay_args *a, const char *path);
#endif
