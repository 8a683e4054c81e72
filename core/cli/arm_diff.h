/* cli/arm_diff.h: an arm of a run directory against its control, with what it declares as its change. */
#ifndef ASSAY_CLI_ARM_DIFF_H
#define ASSAY_CLI_ARM_DIFF_H
#include "cli/cli.h"
/* True when `dir` is a run directory and `arm` no path: then `assay diff DIR ARM` is meant. */
bool assay_is_arm_diff(const char *dir, const char *arm);
/* Prints the differences, those beyond the declared change first. Exit code 1 when there are any of these. */
int assay_arm_diff(const assay_args *a, const char *dir, const char *arm);
#endif
