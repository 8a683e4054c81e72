/* Supervises the contract check of a plugin: the checks run in a child, the self-test cases through `assay case`. */
#include "cli/gate_check.h"
#include "base/fs.h"
#include "base/names.h"
#include "base/process.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const double TIMEOUT_S = 60;

static void add_check(assay_json *list, const char *name, size_t len, const char *ok, const char *why) {
    assay_json *c = assay_json_append(list, assay_json_object());
    char *copy = assay_xstrndup(name, len);
    assay_json_set_string(c, "check", copy);
    assay_json_set_string(c, "result", ok);
    assay_json_set_string(c, "message", why ? why : "");
    free(copy);
}

/* Lines of the child. A check that was announced and never answered is where it ended. */
static void read_lines(char *text, assay_json *checks, char pending[160]) {
    *pending = '\0';
    for (char *line = text, *next; line && *line; line = next) {
        next = strchr(line, '\n');
        if (next) *next++ = '\0';
        if (strlen(line) < 3) continue;
        if (*line == '?') {
            snprintf(pending, 160, "%s", line + 2);
            continue;
        }
        char *colon = *line == '-' ? strstr(line + 2, ": ") : NULL;
        size_t len = colon ? (size_t)(colon - line - 2) : strlen(line + 2);
        add_check(checks, line + 2, len, *line == '+' ? "ok" : "failed", colon ? colon + 2 : "");
        *pending = '\0';
    }
}

static assay_status run_child(const char *const *argv, char **out, char **errors, assay_run_result *res, assay_error *err) {
    char dir[] = "/tmp/assay-check-XXXXXX";
    if (!mkdtemp(dir)) return assay_fail_errno(err, "cannot make a temporary folder");
    char *out_path = assay_path_join(dir, "stdout"), *err_path = assay_path_join(dir, "stderr");
    size_t len;
    assay_status st = assay_run_process(
        &(assay_run_args){.argv = argv, .stdout_path = out_path, .stderr_path = err_path, .timeout_s = TIMEOUT_S}, res, err);
    if (!st) st = assay_read_file(out_path, 1 << 20, out, &len, err);
    if (!st) st = assay_read_file(err_path, 1 << 20, errors, &len, err);
    assay_remove_tree(dir, NULL);
    free(out_path);
    free(err_path);
    return st;
}

static void note_ending(const assay_run_result *res, const char *pending, const char *errors, assay_json *checks) {
    char why[400];
    size_t len = strlen(errors), from = len > 200 ? len - 200 : 0;
    if (res->timed_out)
        snprintf(why, sizeof why, "hung: stopped after %.0f s", TIMEOUT_S);
    else if (res->signal)
        snprintf(why, sizeof why, "the plugin crashed: signal %d (%s)", res->signal, strsignal(res->signal));
    else if (*pending)
        snprintf(why, sizeof why, "the plugin ended the program with exit code %d; %s", res->exit_code, errors + from);
    else
        return;
    for (char *p = why; *p; p++)
        if (*p == '\n') *p = ' ';
    const char *at = *pending ? pending : "starts";
    add_check(checks, at, strlen(at), "failed", why);
}

static assay_status check_contract(const assay_args *a, const char *self, const char *path, assay_json *checks,
                                   assay_error *err) {
    const char *params[64], *argv[160];
    int n = assay_arg_all(a, "param", params, 64), k = 0;
    argv[k++] = self;
    argv[k++] = "gates";
    argv[k++] = "check";
    argv[k++] = path;
    argv[k++] = "--in-process";
    for (int i = 0; i < n; i++) {
        argv[k++] = "--param";
        argv[k++] = params[i];
    }
    argv[k] = NULL;
    char *out = NULL, *errors = NULL, pending[160];
    assay_run_result res = {0};
    assay_status st = run_child(argv, &out, &errors, &res, err);
    if (!st) {
        read_lines(out, checks, pending);
        note_ending(&res, pending, errors, checks);
    }
    free(out);
    free(errors);
    return st;
}

/* The folder of cases: given; one folder up (a gate's own folder, which is the source of the copy in its build folder); beside the
 * plugin as `cases` or, where a run looks, as NAME.cases. */
static char *find_cases(const assay_args *a, const char *path) {
    const char *given = assay_arg(a, "cases");
    if (given) return assay_xstrdup(given);
    char *dir = assay_path_dir(path), *found = NULL;
    char *own = assay_xprintf("%.*s.cases", (int)strcspn(assay_path_base(path), "."), assay_path_base(path));
    for (const char *const *place = (const char *const[]){"../cases", "cases", own, NULL}; *place && !found; place++) {
        found = assay_path_join(dir, *place);
        if (assay_is_dir(found)) break;
        free(found);
        found = NULL;
    }
    free(own);
    free(dir);
    return found;
}

static assay_status check_case(const char *self, const char *path, const char *dir, assay_json *checks, assay_error *err) {
    const char *argv[] = {self, "case", dir, "--gate-path", path, NULL};
    char *out = NULL, *errors = NULL, name[160];
    assay_run_result res = {0};
    assay_status st = run_child(argv, &out, &errors, &res, err);
    if (!st) {
        bool ok = res.signal == 0 && res.exit_code == 0;
        for (char *p = out; *p; p++)
            if (*p == '\n') *p = ' ';
        snprintf(name, sizeof name, "case %s", assay_path_base(dir));
        add_check(checks, name, strlen(name), ok ? "ok" : "failed", ok ? "" : *out ? out : errors);
    }
    free(out);
    free(errors);
    return st;
}

static assay_status check_cases(const assay_args *a, const char *self, const char *path, assay_json *checks, assay_error *err) {
    char *cases = find_cases(a, path), **names = NULL;
    size_t n = 0;
    if (!cases) {
        add_check(
            checks, "cases", 5, "skipped",
            "no folder of self-test cases beside the plugin; a gate needs one that passes and one that is killed (--cases DIR)");
        return ASSAY_OK;
    }
    assay_status st = assay_list_dir(cases, &names, &n, err);
    for (size_t i = 0; !st && i < n; i++) {
        char *dir = assay_path_join(cases, names[i]);
        if (assay_is_dir(dir)) st = check_case(self, path, dir, checks, err);
        free(dir);
    }
    assay_list_free(names, n);
    free(cases);
    return st;
}

static bool print_checks(const assay_args *a, const char *path, assay_json *checks) {
    bool ok = true;
    for (size_t i = 0; i < assay_json_len(checks); i++) {
        const assay_json *c = assay_json_at(checks, i);
        const char *result = assay_json_string(c, "result", ""), *why = assay_json_string(c, "message", "");
        ok = ok && strcmp(result, "failed") != 0;
        if (!a->json) printf("%-8s %s%s%s\n", result, assay_json_string(c, "check", ""), *why ? ": " : "", why);
    }
    if (!a->json) return ok;
    assay_json *o = assay_json_object();
    assay_json_set_string(o, "schema", "assay-gates-check/1");
    assay_json_set_string(o, "path", path);
    assay_json_set_bool(o, "ok", ok);
    assay_json_set(o, "checks", assay_json_clone(checks));
    assay_cli_print_json(o);
    assay_json_free(o);
    return ok;
}

int assay_gate_check(const assay_args *a, const char *path) {
    if (assay_flag(a, "in-process")) return assay_gate_check_here(a, path);
    assay_error err = {0};
    if (!assay_is_file(path)) {
        assay_fail(&err, ASSAY_E_INPUT, "%s: no such file", path);
        return assay_cli_fail(a, &err);
    }
    char *self = assay_self_path();
    assay_json *checks = assay_json_array();
    assay_status st = check_contract(a, self, path, checks, &err);
    if (!st) st = check_cases(a, self, path, checks, &err);
    int code = st ? assay_cli_fail(a, &err) : print_checks(a, path, checks) ? 0 : 1;
    assay_json_free(checks);
    free(self);
    return code;
}
