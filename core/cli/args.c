/* cli/args.c: options by table: --name value, --name=value, -x value, flags, and the global options. */
#include "cli/args.h"
#include "base/mem.h"
#include "base/names.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const assay_opt global_opts[] = {
    { "json", 0, NULL, "complete output as canonical JSON", false },
    { "quiet", 'q', NULL, "no progress", false },
    { "debug", 0, NULL, "tracebacks and causes", false },
    { "gate-path", 0, "DIR[:DIR]", "more folders with gate and backend plugins, searched first", true },
    { "help", 'h', NULL, "this text", false },
    { NULL, 0, NULL, NULL, false },
};

const assay_opt *assay_args_global(void) { return global_opts; }

static const assay_opt *lookup(const assay_opt *table, const char *name, size_t len, char letter) {
    for (const assay_opt *o = table; o && o->name; o++) {
        if (letter ? o->letter == letter : (strlen(o->name) == len && memcmp(o->name, name, len) == 0)) return o;
    }
    return NULL;
}

static const assay_opt *find_opt(const assay_command *cmd, const char *name, size_t len, char letter) {
    const assay_opt *o = lookup(cmd->opts, name, len, letter);
    return o ? o : lookup(global_opts, name, len, letter);
}

static int bad_option(const assay_command *cmd, const char *word) {
    const char *names[64];
    size_t n = 0;
    char hint[96] = "", bare[64];
    for (const assay_opt *o = cmd->opts; o && o->name && n < 56; o++) names[n++] = o->name;
    for (const assay_opt *o = global_opts; o->name; o++) names[n++] = o->name;
    if (assay_starts_with(word, "--")) {
        snprintf(bare, sizeof bare, "%.*s", (int)strcspn(word + 2, "="), word + 2);
        const char *best = assay_suggest(bare, names, n);
        if (best) snprintf(hint, sizeof hint, " (did you mean '--%s'?)", best);
    }
    fprintf(stderr, "assay %s: unknown option '%s'%s; 'assay %s --help' lists them\n", cmd->name, word, hint, cmd->name);
    return ASSAY_EXIT_USAGE;
}

static void print_opts(const assay_opt *table) {
    for (const assay_opt *o = table; o && o->name; o++) {
        char left[64], letter[8] = "    ";
        if (o->letter) snprintf(letter, sizeof letter, "-%c, ", o->letter);
        snprintf(left, sizeof left, "%s--%s%s%s", letter, o->name, o->value ? " " : "", o->value ? o->value : "");
        printf("  %-30s %s%s\n", left, o->help, o->repeatable ? " (may be repeated)" : "");
    }
}

void assay_args_help(const assay_command *cmd) {
    printf("usage: assay %s%s%s [options]\n\n%s\n", cmd->name, cmd->args ? " " : "", cmd->args ? cmd->args : "", cmd->summary);
    if (cmd->example) printf("\nexample:\n  %s\n", cmd->example);
    if (cmd->opts && cmd->opts->name) {
        printf("\noptions:\n");
        print_opts(cmd->opts);
    }
    printf("\neverywhere:\n");
    print_opts(global_opts);
}

typedef struct parse_state { const char **pos, **names, **values; int n_pos, n_opts; bool help; } parse_state;

__attribute__((format(printf, 2, 3))) static int refuse_option(const assay_command *cmd, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    fprintf(stderr, "assay %s: ", cmd->name);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
    return ASSAY_EXIT_USAGE;
}

/* The value of an option: `given` stands in the same word, else it is the next word. 0, or an exit code. */
static int option_value(const assay_command *cmd, const assay_opt *o, const char *given, int argc, char **argv, int *i, const char **value) {
    *value = given;
    if (!o->value) return given ? refuse_option(cmd, "--%s takes no value, got '%s'", o->name, given) : 0;
    if (!given) {
        if (*i + 1 >= argc) return refuse_option(cmd, "--%s needs a value (%s)", o->name, o->value);
        *value = argv[++*i];
    }
    if (**value) return 0;                       /* empty is most often a variable that the caller's shell does not know */
    return refuse_option(cmd, "--%s is empty; give a value (%s)", o->name, o->value);
}

/* Handles the option at argv[*i]; advances *i past a separate value. Returns 0, or an exit code. */
static int take_option(const assay_command *cmd, int argc, char **argv, int *i, parse_state *s) {
    const char *word = argv[*i], *given = NULL, *value;
    bool is_long = word[1] == '-';
    size_t len = is_long ? strcspn(word + 2, "=") : 1;
    const assay_opt *o = is_long ? find_opt(cmd, word + 2, len, 0) : find_opt(cmd, "", 0, word[1]);
    if (!o) return bad_option(cmd, word);
    if (is_long && word[2 + len] == '=') given = word + 3 + len;
    else if (!is_long && word[2]) given = word + 2;
    int code = option_value(cmd, o, given, argc, argv, i, &value);
    if (code) return code;
    for (int k = 0; k < s->n_opts && !o->repeatable && o->value; k++)
        if (strcmp(s->names[k], o->name) == 0) return refuse_option(cmd, "--%s is given twice", o->name);
    s->names[s->n_opts] = o->name;
    s->values[s->n_opts++] = value ? value : "";
    if (strcmp(o->name, "help") == 0) s->help = true;
    return 0;
}

static int check_count(const assay_command *cmd, int n) {
    if (n >= cmd->min_args && (cmd->max_args < 0 || n <= cmd->max_args)) return 0;
    fprintf(stderr, "assay %s: %s; usage: assay %s %s\n", cmd->name, n < cmd->min_args ? "an argument is missing" : "too many arguments",
            cmd->name, cmd->args ? cmd->args : "");
    return ASSAY_EXIT_USAGE;
}

int assay_args_parse(const assay_command *cmd, int argc, char **argv, assay_args *out) {
    size_t room = (size_t)argc + 1;
    parse_state s = { assay_xcalloc(room, sizeof(char *)), assay_xcalloc(room, sizeof(char *)), assay_xcalloc(room, sizeof(char *)), 0, 0, false };
    int code = 0;
    bool only_positional = false;
    for (int i = 0; i < argc && !code; i++) {
        const char *w = argv[i];
        if (only_positional || w[0] != '-' || !w[1]) s.pos[s.n_pos++] = w;
        else if (strcmp(w, "--") == 0) only_positional = true;
        else code = take_option(cmd, argc, argv, &i, &s);
    }
    *out = (assay_args){ .cmd = cmd, .pos = s.pos, .n_pos = s.n_pos, .names = s.names, .values = s.values, .n_opts = s.n_opts };
    if (!code && s.help) assay_args_help(cmd);
    else if (!code) code = check_count(cmd, s.n_pos);
    if (code || s.help) {
        assay_args_free(out);
        return code;
    }
    out->json = assay_flag(out, "json");
    out->debug = assay_flag(out, "debug");
    out->quiet = assay_flag(out, "quiet");
    out->gate_path = assay_arg(out, "gate-path");
    return -1;
}

void assay_args_free(assay_args *a) {
    free((void *)a->pos);
    free((void *)a->names);
    free((void *)a->values);
    memset(a, 0, sizeof *a);
}

const char *assay_arg(const assay_args *a, const char *name) {
    for (int i = a->n_opts - 1; i >= 0; i--)
        if (strcmp(a->names[i], name) == 0) return a->values[i];
    return NULL;
}

bool assay_flag(const assay_args *a, const char *name) { return assay_arg(a, name) != NULL; }

int assay_arg_all(const assay_args *a, const char *name, const char **out, int max) {
    int n = 0;
    for (int i = 0; i < a->n_opts; i++)
        if (strcmp(a->names[i], name) == 0 && n < max) out[n++] = a->values[i];
    return n;
}

int assay_cli_fail(const assay_args *a, const assay_error *err) {
    fprintf(stderr, "assay %s: %s\n", a->cmd->name, err->message);
    return assay_exit_code(err->code);
}

int assay_cli_usage(const assay_args *a, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    fprintf(stderr, "assay %s: ", a->cmd->name);
    vfprintf(stderr, fmt, ap);
    fprintf(stderr, "; 'assay %s --help' tells more\n", a->cmd->name);
    va_end(ap);
    return ASSAY_EXIT_USAGE;
}

void assay_cli_print_json(const assay_json *j) {
    assay_buf b = { 0 };
    assay_json_write(j, &b);
    fwrite(b.data, 1, b.len, stdout);
    assay_buf_free(&b);
}

bool assay_color_on(int fd) {
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    return isatty(fd) && !(no && *no) && term && strcmp(term, "dumb") != 0;
}
