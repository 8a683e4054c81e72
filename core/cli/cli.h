/* cli/cli.h: the subcommands. One file each: cmd_NAME.c defines assay_cmd_NAME; the table is generated from the file names. */
#ifndef ASSAY_CLI_H
#define ASSAY_CLI_H
#include "base/error.h"
#include "base/json.h"
#include "plugin/registry.h"
#include <stdbool.h>

/* Exit codes (architecture.md section 6). */
enum { ASSAY_EXIT_OK = 0, ASSAY_EXIT_KILLED = 1, ASSAY_EXIT_USAGE = 2, ASSAY_EXIT_ERROR = 3, ASSAY_EXIT_INCONCLUSIVE = 4,
    ASSAY_EXIT_INVALID = 5, ASSAY_EXIT_REHEARSAL = 6, ASSAY_EXIT_INTERNAL = 70 };

/* One option; a table ends with name NULL. Flags have value NULL; repeatable options may be given several times. */
typedef struct assay_opt { const char *name; char letter; const char *value; const char *help; bool repeatable; } assay_opt;
struct assay_args;
typedef struct assay_command {
    const char *name, *args, *summary;           /* "run", "X.lua", "plan, then judge and trials in turns, report" */
    const assay_opt *opts;
    int min_args, max_args;                      /* positional; max -1: any number */
    int (*run)(const struct assay_args *a);      /* returns the exit code */
    bool hidden;                                 /* internal ("worker") */
    const char *example;                         /* one command line; tests/cli/examples.sh runs them all */
} assay_command;
typedef struct assay_args {
    const assay_command *cmd;
    const char *const *pos; int n_pos;
    const char *const *names, *const *values; int n_opts;    /* options as given, in order; value "" for flags */
    bool json, debug, quiet;                     /* global: --json, --debug, --quiet */
    const char *gate_path;                       /* global: --gate-path */
} assay_args;
const char *assay_arg(const assay_args *a, const char *name);          /* last value given, or NULL */
bool assay_flag(const assay_args *a, const char *name);
/* All values of a repeatable option; returns their number. */
int assay_arg_all(const assay_args *a, const char *name, const char **out, int max);
/* Prints "assay CMD: message" on stderr and returns the exit code of the error. */
int assay_cli_fail(const assay_args *a, const assay_error *err);
int assay_cli_usage(const assay_args *a, const char *fmt, ...) ASSAY_PRINTF(2, 3);
/* Registry with everything of the search path loaded, the reference backend added and the interfaces provided. */
assay_registry *assay_cli_registry(const assay_args *a);
/* Adds the Lua gates of the plugin folders and of the installed scripts, for commands that judge outside an experiment (in a run
 * the plan's own copies count). A file that is no gate is a refusal. */
void assay_cli_load_lua_gates(assay_registry *r);
/* Prints canonical JSON to stdout. */
void assay_cli_print_json(const assay_json *j);
bool assay_color_on(int fd);                     /* a terminal, NO_COLOR unset, TERM not dumb */
extern const assay_command *const assay_cmd_table[];
#endif
