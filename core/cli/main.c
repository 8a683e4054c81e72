/* cli/main.c: finds the subcommand, parses its options by its table, runs it. */
#include "cli/cli.h"
#include "cli/args.h"
#include "base/names.h"
#include <stdio.h>
#include <string.h>

static size_t command_names(const char **out, size_t max) {
    size_t n = 0;
    for (const assay_command *const *c = assay_cmd_table; *c; c++)
        if (!(*c)->hidden && n < max) out[n++] = (*c)->name;
    return n;
}

static void print_commands(FILE *f) {
    fprintf(f, "usage: assay COMMAND [options]\n\nTries an accelerator experiment for genuineness: is the op really fused, really placed, really right, really\n"
               "faster? A Lua script declares arms, fixtures, gates and kill conditions; the receipt can be judged again by anyone.\n\ncommands:\n");
    for (const assay_command *const *c = assay_cmd_table; *c; c++)
        if (!(*c)->hidden) fprintf(f, "  %-9s %-38s %s\n", (*c)->name, (*c)->args ? (*c)->args : "", (*c)->summary);
    fprintf(f, "\neverywhere: --json (complete output as JSON), --quiet, --debug, --gate-path DIR[:DIR], --help, --version\n"
               "exit codes: 0 survived, 1 killed, 2 usage, 3 script, input or I/O error, 4 inconclusive, 5 invalid, 6 rehearsal\n"
               "            (only with --require-target), 70 internal error\n'assay COMMAND --help' tells more; 'assay man' prints a manual page.\n");
}

static const assay_command *find_command(const char *name) {
    for (const assay_command *const *c = assay_cmd_table; *c; c++)
        if (strcmp((*c)->name, name) == 0) return *c;
    return NULL;
}

static int unknown_command(const char *name) {
    const char *names[64];
    char hint[96];
    size_t n = command_names(names, 60);
    for (const char *const *w = (const char *const[]){"help", "man", "--version", NULL}; *w; w++) names[n++] = *w;
    fprintf(stderr, "assay: unknown command '%s'%s; 'assay --help' lists them\n", name, assay_did_you_mean(hint, name, names, n));
    return ASSAY_EXIT_USAGE;
}

int main(int argc, char **argv) {
    if (argc < 2) {
        print_commands(stderr);
        return ASSAY_EXIT_USAGE;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("assay %s (plugin ABI %u.%u)\n", ASSAY_VERSION, ASSAY_ABI >> 16, ASSAY_ABI & 0xffffu);
        return 0;
    }
    bool help = strcmp(argv[1], "help") == 0;
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        (help && (argc == 2 || argv[2][0] == '-' || strcmp(argv[2], "help") == 0))) {
        print_commands(stdout);
        return 0;
    }
    const char *name = help ? argv[2] : argv[1];
    const assay_command *cmd = find_command(name);
    if (!cmd) return unknown_command(name);
    if (help) {
        assay_args_help(cmd);
        return 0;
    }
    assay_args args;
    int code = assay_args_parse(cmd, argc - 2, argv + 2, &args);
    if (code >= 0) return code;
    code = cmd->run(&args);
    assay_args_free(&args);
    if (fflush(stdout) != 0) {
        fprintf(stderr, "assay %s: cannot write to standard output\n", cmd->name);
        return ASSAY_EXIT_ERROR;
    }
    return code;
}
