/* The supervisor: runs one job in a worker process, records crash, time-out and failure as outcomes, publishes by rename. */
#include "run/work.h"
#include "base/fs.h"
#include "base/names.h"
#include "base/process.h"
#include "base/threads.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#include <unistd.h>
#include <limits.h>

#define DEFAULT_TIMEOUT_S 600.0
enum { STDERR_TAIL_BYTES = 2000, WORKER_IO_EXIT = 3 };

uint32_t assay_side_by_side(void) {
    enum { AT_MOST = 4 };
    uint32_t n = assay_cpu_count();
    return n < AT_MOST ? n : AT_MOST;
}

static const char *signal_name(int sig) {
    static const struct { int sig; const char *name; } table[] = {{SIGSEGV, "SIGSEGV"}, {SIGABRT, "SIGABRT"}, {SIGBUS, "SIGBUS"},
        {SIGFPE, "SIGFPE"}, {SIGILL, "SIGILL"}, {SIGKILL, "SIGKILL"}, {SIGTERM, "SIGTERM"}, {SIGTRAP, "SIGTRAP"}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].sig == sig) return table[i].name;
    return "another signal";
}

/* A stray byte of a worker must not make process.json unreadable. */
static void ascii_only(char *s) {
    for (; *s; s++)
        if ((unsigned char)*s >= 0x80 || ((unsigned char)*s < 0x20 && *s != '\n' && *s != '\t')) *s = '?';
}

/* The end of what the worker said, for people. */
static char *tail_of(const char *path) {
    char *data = NULL;
    size_t len = 0;
    if (assay_read_file(path, (size_t)64 << 20, &data, &len, NULL) != ASSAY_OK) return assay_xstrdup("");
    while (len && (data[len - 1] == '\n' || data[len - 1] == ' ')) len--;
    size_t from = len > STDERR_TAIL_BYTES ? len - STDERR_TAIL_BYTES : 0;
    while (from && from < len && ((unsigned char)data[from] & 0xc0) == 0x80) from++;     /* not inside a UTF-8 character */
    char *tail = assay_xstrndup(data + from, len - from);
    ascii_only(tail);
    free(data);
    return tail;
}

static const char *last_line(const char *text) {
    const char *nl = strrchr(text, '\n');
    return nl ? nl + 1 : text;
}

static void write_process(const char *tmp, const assay_run_result *r, const char *tail) {
    char *path = assay_path_join(tmp, "process.json"), host[256] = "";
    assay_json *j = assay_json_object();
    assay_json_set_string(j, "schema", "assay-process/1");
    assay_json_set_int(j, "pid", r->pid);
    assay_json_set_number(j, "wall_s", r->wall_s);
    assay_json_set_int(j, "max_rss_bytes", r->max_rss_bytes);
    assay_json_set_string(j, "host_name", gethostname(host, sizeof host - 1) == 0 ? host : "");
    assay_json_set_string(j, "stderr_tail", tail);
    assay_buf text = {0};
    assay_json_write(j, &text);
    assay_write_inside(path, text.data, text.len, NULL);   /* for people only: its loss is no loss of evidence */
    assay_buf_free(&text);
    assay_json_free(j);
    free(path);
}

/* trial.json of a worker that could not write its own. */
static assay_status write_outcome(const assay_supervisor *s, const assay_json *job, const char *backend, const char *tmp, const char *state,
                                  const char *why, assay_error *err) {
    const assay_backend_type *b = assay_registry_backend(s->registry, backend, err);
    if (!b) return err ? err->code : ASSAY_E_INPUT;
    assay_json *trial = assay_trial_new(job, b);
    assay_trial_outcome(trial, state, why);
    if (b->origin == ASSAY_ORIGIN_SIMULATED)
        for (const assay_json *c = assay_json_first(s->device_identity); c; c = assay_json_next(c))
            assay_json_set(assay_json_get(trial, "identity"), assay_json_key(c), assay_json_clone(c));
    assay_buf text = {0};
    assay_json_write(trial, &text);
    char *path = assay_path_join(tmp, "trial.json");
    assay_status st = assay_write_inside(path, text.data, text.len, err);
    free(path);
    assay_buf_free(&text);
    assay_json_free(trial);
    return st;
}

/* Outside the run directory, so that what a worker says on a full disk still reaches its reader. */
static assay_status make_temp_dir(char **dir, assay_error *err) {
    const char *base = getenv("TMPDIR");
    *dir = assay_xprintf("%s/assay-XXXXXX", base && *base ? base : "/tmp");
    if (mkdtemp(*dir)) return ASSAY_OK;
    assay_status st = assay_fail_errno(err, "%s: no folder for temporary files (set TMPDIR)", *dir);
    free(*dir);
    *dir = NULL;
    return st;
}

enum { ARGS_MAX = 24 };
typedef struct command { const char *argv[ARGS_MAX]; size_t n; } command;

static void say(command *c, const char *word) { c->argv[c->n++] = word; }

/* An option only where there is a value for it. */
static void say_option(command *c, const char *option, const char *value) {
    if (!value) return;
    say(c, option);
    say(c, value);
}

static assay_status spawn(const assay_supervisor *s, const assay_json *job, const char *backend, const char *tmp, assay_run_result *r, char **tail,
                          assay_error *err) {
    char *dir = NULL;
    assay_status st = make_temp_dir(&dir, err);
    if (st != ASSAY_OK) return st;
    char *self = assay_self_path(), *threads = assay_xprintf("%u", s->threads), *errors = assay_path_join(dir, "stderr");
    command c = {.argv = {self, "worker", "trial", s->plan->dir, assay_json_string(job, "id", "")}, .n = 5};
    say_option(&c, "--backend", backend);
    say_option(&c, "--out", tmp);
    say_option(&c, "--threads", threads);
    say_option(&c, "--device", assay_streq(backend, "reference") ? NULL : s->device);
    say_option(&c, "--gate-path", s->gate_path);
    assay_run_args args = {.argv = c.argv, .stderr_path = errors, .timeout_s = s->timeout_s > 0 ? s->timeout_s : DEFAULT_TIMEOUT_S,
                           .tick = s->tick, .ctx = s->ctx, .cancel = s->cancel};
    st = assay_run_process(&args, r, err);
    *tail = tail_of(errors);
    assay_remove_tree(dir, NULL);
    free(dir);
    free(errors);
    free(threads);
    free(self);
    return st;
}

/* Reads what the worker's end means. *state NULL: trial.json is the worker's own. */
static assay_status read_end(const assay_run_result *r, const char *tmp, const char *tail, double timeout_s, const char **state, char **why,
                             assay_error *err) {
    char *path = assay_path_join(tmp, "trial.json");
    bool written = assay_is_file(path);
    free(path);
    *state = NULL;
    *why = NULL;
    if (r->timed_out) {
        *state = "timed_out";
        *why = assay_xprintf("the worker was stopped after %g s without an end", timeout_s);
    } else if (r->signal) {
        *state = "crashed";
        *why = assay_xprintf("the worker was ended by %s", signal_name(r->signal));
    } else if (r->exit_code == WORKER_IO_EXIT) {
        return assay_fail(err, ASSAY_E_IO, "%s", *tail ? last_line(tail) : "the worker met an input or output error");
    } else if (r->exit_code != 0 || !written) {
        *state = "crashed";
        *why = assay_xprintf("the worker left with exit code %d and no result", r->exit_code);
    }
    return ASSAY_OK;
}

static const char *const outcomes[] = {"ok", "failed", "unavailable", "crashed", "timed_out"};

static const char *outcome_in(const char *tmp) {
    char *path = assay_path_join(tmp, "trial.json");
    assay_json *t = NULL;
    const char *state = "failed";
    if (assay_json_read_file(path, &t, NULL) == ASSAY_OK)
        for (size_t i = 0; i < sizeof outcomes / sizeof *outcomes; i++)
            if (assay_streq(outcomes[i], assay_json_string(assay_json_get(t, "outcome"), "state", ""))) state = outcomes[i];
    assay_json_free(t);
    free(path);
    return state;
}

static assay_status fresh_tmp(const char *tmp, assay_error *err) {
    assay_status st = assay_remove_tree(tmp, err);
    return st == ASSAY_OK ? assay_mkdirs(tmp, err) : st;
}

/* One attempt. *again: the worker was killed from outside (not by us), which says nothing about the arm. */
static assay_status attempt(const assay_supervisor *s, const assay_json *job, const char *backend, const char *tmp, bool last, bool *again,
                            assay_error *err) {
    assay_run_result r = {0};
    char *tail = NULL, *why = NULL;
    const char *state = NULL;
    *again = false;
    assay_status st = fresh_tmp(tmp, err);
    if (st == ASSAY_OK) st = spawn(s, job, backend, tmp, &r, &tail, err);
    if (st == ASSAY_OK && r.cancelled) st = assay_fail(err, ASSAY_E_IO, "interrupted; go on with --resume");
    if (st == ASSAY_OK && !r.timed_out && !last && (r.signal == SIGKILL || r.signal == SIGTERM)) *again = true;
    if (st == ASSAY_OK && !*again) st = read_end(&r, tmp, tail, s->timeout_s > 0 ? s->timeout_s : DEFAULT_TIMEOUT_S, &state, &why, err);
    if (st == ASSAY_OK && state) {
        st = fresh_tmp(tmp, err);                /* half-written payloads are no evidence */
        if (st == ASSAY_OK) st = write_outcome(s, job, backend, tmp, state, why, err);
    }
    if (st == ASSAY_OK && !*again) write_process(tmp, &r, tail);
    free(tail);
    free(why);
    return st;
}

assay_status assay_supervise(const assay_supervisor *s, const assay_json *job, const char **state, assay_error *err) {
    const char *id = assay_json_string(job, "id", ""), *backend = assay_json_string(job, "backend", NULL);
    if (!backend) backend = s->backend;
    char *parent = assay_xprintf("%s/evidence/%s", s->plan->dir, s->host);
    char *tmp = assay_xprintf("%s/.tmp-%s-%ld", parent, id, (long)getpid()), *final = assay_path_join(parent, id);
    assay_status st = assay_job_write(s->plan, job, err);
    if (st == ASSAY_OK) st = assay_mkdirs(parent, err);
    bool again = true, lost = false;
    for (int i = 0; st == ASSAY_OK && again && i < 2; i++) st = attempt(s, job, backend, tmp, i == 1, &again, err);
    if (st == ASSAY_OK) {
        *state = outcome_in(tmp);
        st = assay_publish_dir(tmp, final, &lost, err);
    }
    if (st != ASSAY_OK) assay_remove_tree(tmp, NULL);
    free(parent);
    free(tmp);
    free(final);
    return st;
}

/* ---- helpers that answer in JSON lines */

static assay_status parse_lines(const char *text, assay_json *lines, assay_error *err) {
    assay_status st = ASSAY_OK;
    for (const char *p = text; st == ASSAY_OK && *p;) {
        const char *nl = strchr(p, '\n');
        if (!nl) break;                          /* the last line was cut by a crash */
        assay_json *row = NULL;
        st = assay_json_parse(p, (size_t)(nl - p), "answer of a worker", &row, err);
        if (st == ASSAY_OK) assay_json_append(lines, row);
        p = nl + 1;
    }
    return st;
}

static char *describe_end(const assay_run_result *r) {
    if (r->timed_out) return assay_xstrdup("it ran into the time-out");
    if (r->signal) return assay_xprintf("it was ended by %s", signal_name(r->signal));
    return assay_xprintf("it left with exit code %d", r->exit_code);
}

/* The rows of a worker that ended. *crashed: how it ended, where that was not by itself. */
static assay_status read_lines(const assay_run_result *r, const char *out, const char *errors, assay_json *lines, char **crashed, assay_error *err) {
    char *data = NULL;
    size_t len = 0;
    assay_status st = assay_read_file(out, (size_t)1 << 30, &data, &len, err);
    if (st == ASSAY_OK) st = parse_lines(data, lines, err);
    free(data);
    if (st != ASSAY_OK) return st;
    if (r->signal || r->exit_code != WORKER_IO_EXIT) {
        if (r->signal || r->timed_out || r->exit_code != 0) *crashed = describe_end(r);
        return ASSAY_OK;
    }
    char *tail = tail_of(errors);
    st = assay_fail(err, ASSAY_E_INPUT, "%s", *tail ? last_line(tail) : "a worker met an input or output error");
    free(tail);
    return st;
}

assay_status assay_supervise_lines(const char *const *args, const char *gate_path, double timeout_s, assay_json **lines, char **crashed, assay_error *err) {
    char *dir = NULL;
    assay_status st = make_temp_dir(&dir, err);
    if (st != ASSAY_OK) return st;
    char *out = assay_path_join(dir, "out"), *errors = assay_path_join(dir, "err"), *self = assay_self_path();
    command c = {.argv = {self, "worker"}, .n = 2};
    while (*args && c.n < ARGS_MAX - 4) say(&c, *args++);
    say_option(&c, "--gate-path", gate_path);
    assay_run_args run = {.argv = c.argv, .stdout_path = out, .stderr_path = errors, .timeout_s = timeout_s};
    assay_run_result r = {0};
    *lines = assay_json_array();
    *crashed = NULL;
    st = assay_run_process(&run, &r, err);
    if (st == ASSAY_OK) st = read_lines(&r, out, errors, *lines, crashed, err);
    if (st != ASSAY_OK) {
        assay_json_free(*lines);
        *lines = NULL;
    }
    assay_remove_tree(dir, NULL);
    free(self);
    free(out);
    free(errors);
    free(dir);
    return st;
}
