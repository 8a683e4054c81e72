/* cli/verdict.h: from files and parameters to one verdict as text for people, and its exit code. Shared by the commands gate and compare. */
#ifndef ASSAY_CLI_VERDICT_H
#define ASSAY_CLI_VERDICT_H
#include "cli/cli.h"
#include "plugin/evidence.h"
/* Reads every --param NAME=VALUE into `params`, checked against the gate's table. */
assay_status assay_cli_gate_params(const assay_args *a, const assay_gate_type *type, assay_json *params, assay_error *err);
/* Judges `ev`, prints, and returns the exit code; takes all of them. `st`, `err`: how far the caller came. */
int assay_cli_judge(const assay_args *a, assay_registry *r, const char *gate, assay_json *params, assay_evidence_set *ev, assay_status st, assay_error *err);
/* Prints the verdict (or its JSON with --json) and returns the exit code of architecture.md section 6. */
int assay_cli_verdict(const assay_args *a, const assay_json *verdict);
int assay_cli_verdict_code(const char *printed);
#endif
