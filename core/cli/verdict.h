/* cli/verdict.h: one verdict as text for people, and its exit code. Shared by the commands gate and compare. */
#ifndef ASSAY_CLI_VERDICT_H
#define ASSAY_CLI_VERDICT_H
#include "cli/cli.h"
/* Prints the verdict (or its JSON with --json) and returns the exit code of architecture.md section 6. */
int assay_cli_verdict(const assay_args *a, const assay_json *verdict);
int assay_cli_verdict_code(const char *printed);
#endif
