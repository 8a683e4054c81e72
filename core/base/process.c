/* base/process.c: runs one program as a supervised worker and makes sure that nothing of it is left behind. */
#if defined(__linux__)
#define _GNU_SOURCE                      /* posix_spawn_file_actions_addchdir_np, pipe2, wait4 */
#endif
#include "base/process.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/prctl.h>
#else
#include <pthread.h>
#endif

enum { TICK_MS = 100, GRACE_MS = 2000, WORKER_FD = 3 };
#define PARENT_VARIABLE "ASSAY_SUPERVISOR_PID"
extern char **environ;

int64_t assay_now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- in the worker ---- */

#if !defined(__linux__)
static void *watch_parent(void *arg) {
    pid_t parent = (pid_t)(intptr_t)arg;
    struct timespec pause = { 0, 200000000 };
    while (getppid() == parent) nanosleep(&pause, NULL);
    kill(getpgrp() == getpid() ? -getpid() : getpid(), SIGKILL);
    return NULL;
}
#endif

void assay_die_with_parent(void) {
    const char *text = getenv(PARENT_VARIABLE);
    pid_t parent = text ? (pid_t)strtol(text, NULL, 10) : getppid();
#if defined(__linux__)
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#else
    pthread_t id;
    if (pthread_create(&id, NULL, watch_parent, (void *)(intptr_t)parent) == 0) pthread_detach(id);
#endif
    if (getppid() != parent) _exit(70);  /* it had gone before we could ask to be told */
}

/* ---- starting ---- */

static bool same_variable(const char *a, const char *b) {
    size_t n = strcspn(a, "=");
    return n == strcspn(b, "=") && strncmp(a, b, n) == 0;
}

/* The environment of this process with `extra` on top; strings are borrowed, the array is the caller's. */
static char **merged_environment(const char *const *extra, const char *parent) {
    assay_ptrs v = {0};
    for (char **e = environ; e && *e; e++) {
        bool replaced = same_variable(*e, parent);
        for (const char *const *x = extra; x && *x; x++) replaced = replaced || same_variable(*e, *x);
        if (!replaced) assay_ptrs_push(&v, *e);
    }
    for (const char *const *x = extra; x && *x; x++) {
        void *p;
        memcpy(&p, x, sizeof p);         /* exec's array is not const, its strings are not written to */
        assay_ptrs_push(&v, p);
    }
    void *p;
    memcpy(&p, &parent, sizeof p);
    assay_ptrs_push(&v, p);
    assay_ptrs_push(&v, NULL);
    return (char **)v.items;
}

/* Both ends close on exec, and stand above the descriptors that the child's own are put on. */
static int private_pipe(int ends[2]) {
    int raw[2];
#if defined(__linux__)
    if (pipe2(raw, O_CLOEXEC) != 0) return -1;   /* another thread may start a worker meanwhile */
#else
    if (pipe(raw) != 0) return -1;
#endif
    for (int i = 0; i < 2; i++) {
        ends[i] = fcntl(raw[i], F_DUPFD_CLOEXEC, 16);
        close(raw[i]);
    }
    if (ends[0] >= 0 && ends[1] >= 0) return 0;
    if (ends[0] >= 0) close(ends[0]);
    if (ends[1] >= 0) close(ends[1]);
    return -1;
}

static int add_files(posix_spawn_file_actions_t *fa, const assay_run_args *a, int pipe_end) {
    const int create = O_WRONLY | O_CREAT | O_TRUNC;
    int e = posix_spawn_file_actions_addopen(fa, 0, "/dev/null", O_RDONLY, 0);
    if (!e) e = posix_spawn_file_actions_addopen(fa, 1, a->stdout_path ? a->stdout_path : "/dev/null", create, 0666);
    if (!e) e = posix_spawn_file_actions_addopen(fa, 2, a->stderr_path ? a->stderr_path : "/dev/null", create, 0666);
    if (!e) e = posix_spawn_file_actions_adddup2(fa, pipe_end, WORKER_FD);
    if (!e && a->cwd) e = posix_spawn_file_actions_addchdir_np(fa, a->cwd);
    return e;
}

/* Own process group, no blocked signals, default handlers: the worker must not inherit our way of dying. */
static int add_signals(posix_spawnattr_t *attr) {
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    sigdelset(&all, SIGKILL);
    sigdelset(&all, SIGSTOP);
    int e = posix_spawnattr_setpgroup(attr, 0);
    if (!e) e = posix_spawnattr_setsigmask(attr, &none);
    if (!e) e = posix_spawnattr_setsigdefault(attr, &all);
    if (!e) e = posix_spawnattr_setflags(attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    return e;
}

/* Under a user-mode emulator this program cannot be executed by its path: $ASSAY_EMULATOR (a full path) is put before it.
 * The caller frees the array. */
static char **full_command(const char *const *argv) {
    const char *emulator = getenv("ASSAY_EMULATOR");
    size_t n = 0, skip = emulator && *emulator ? 1 : 0;
    while (argv[n]) n++;
    char **out = assay_xcalloc(n + 2, sizeof *out);
    memcpy(out + skip, argv, n * sizeof *out);
    if (skip) memcpy(out, &emulator, sizeof *out);
    return out;
}

static int spawn(const assay_run_args *a, int pipe_end, pid_t *pid) {
    posix_spawn_file_actions_t fa;
    posix_spawnattr_t attr;
    posix_spawn_file_actions_init(&fa);
    posix_spawnattr_init(&attr);
    char parent[48];
    snprintf(parent, sizeof parent, PARENT_VARIABLE "=%ld", (long)getpid());
    char **env = merged_environment(a->env, parent), **argv = full_command(a->argv);
    int e = add_files(&fa, a, pipe_end);
    if (!e) e = add_signals(&attr);
    if (!e) e = posix_spawn(pid, argv[0], &fa, &attr, argv, env);
    free(env);
    free(argv);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&fa);
    return e;
}

/* ---- supervising ---- */

static bool has_ended(pid_t pid) {
    siginfo_t info;
    memset(&info, 0, sizeof info);
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
}

/* Sleeps until the pipe closes (the usual end) or a tick has passed. A worker that closed the pipe and lives on is only
 * looked at more often. */
static void wait_a_little(int fd, bool *closed) {
    struct pollfd p = { .fd = *closed ? -1 : fd, .events = POLLIN };
    if (poll(&p, 1, *closed ? TICK_MS / 10 : TICK_MS) <= 0) return;
    char sink[256];
    ssize_t n = read(fd, sink, sizeof sink);
    if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN)) *closed = true;
}

static void supervise(const assay_run_args *a, int fd, int64_t start_ns, assay_run_result *r) {
    bool closed = false, killed = false;
    int64_t stop_ns = 0, last_tick_ns = 0;
    while (!has_ended(r->pid)) {
        wait_a_little(fd, &closed);
        int64_t now_ns = assay_now_ns();
        double elapsed_s = (double)(now_ns - start_ns) * 1e-9;
        if (a->tick && now_ns - last_tick_ns >= (int64_t)TICK_MS * 1000000) {
            a->tick(a->ctx, elapsed_s);
            last_tick_ns = now_ns;
        }
        if (!stop_ns) {
            r->cancelled = a->cancel && *a->cancel;
            r->timed_out = !r->cancelled && a->timeout_s > 0 && elapsed_s >= a->timeout_s;
            if (!r->cancelled && !r->timed_out) continue;
            stop_ns = now_ns;
            kill(-r->pid, SIGTERM);
            kill(-r->pid, SIGCONT);      /* a stopped process does not see SIGTERM */
        } else if (!killed && now_ns - stop_ns >= (int64_t)GRACE_MS * 1000000) {
            kill(-r->pid, SIGKILL);
            killed = true;
        }
    }
}

/* Takes the ended child's status. The zombie was still there, so its group's number was nobody else's. */
static bool reap(pid_t pid, assay_run_result *out) {
    int wstatus;
    struct rusage usage;
    pid_t got;
    do got = wait4(pid, &wstatus, 0, &usage);
    while (got < 0 && errno == EINTR);
    if (got != pid) return false;
    if (WIFEXITED(wstatus)) out->exit_code = WEXITSTATUS(wstatus);
    if (WIFSIGNALED(wstatus)) out->signal = WTERMSIG(wstatus);
#if defined(__APPLE__)
    out->max_rss_bytes = (int64_t)usage.ru_maxrss;
#else
    out->max_rss_bytes = (int64_t)usage.ru_maxrss * 1024;
#endif
    return true;
}

assay_status assay_run_process(const assay_run_args *args, assay_run_result *out, assay_error *err) {
    *out = (assay_run_result){ .exit_code = -1 };
    int ends[2];
    if (private_pipe(ends) != 0) return assay_fail_errno(err, "%s: cannot make a pipe", args->argv[0]);
    pid_t pid = 0;
    int64_t start_ns = assay_now_ns();
    int e = spawn(args, ends[1], &pid);
    close(ends[1]);
    if (e) {
        close(ends[0]);
        errno = e;
        return assay_fail_errno(err, "%s: cannot start", args->argv[0]);
    }
    out->pid = (int)pid;
    supervise(args, ends[0], start_ns, out);
    close(ends[0]);
    kill(-pid, SIGKILL);                 /* what the worker left in its group; the zombie still holds the group's number */
    if (!reap(pid, out)) return assay_fail_errno(err, "%s: cannot wait for it", args->argv[0]);
    out->wall_s = (double)(assay_now_ns() - start_ns) * 1e-9;
    return ASSAY_OK;
}
