/* cli/args.h: parsing of a subcommand's arguments by its option table. */
#ifndef ASSAY_CLI_ARGS_H
#define ASSAY_CLI_ARGS_H
#include "cli/cli.h"
/* -1: parsed, go on; otherwise the exit code (0 after --help, 2 after an error that was printed). */
int assay_args_parse(const assay_command *cmd, int argc, char **argv, assay_args *out);
void assay_args_free(assay_args *a);
void assay_args_help(const assay_command *cmd);
const assay_opt *assay_args_global(void);        /* options every command takes; ends with name NULL */
#endif
