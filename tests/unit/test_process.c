/* Workers: exit codes, signals, time-outs, cancelling, and that nothing is left behind. */
#include "suite.h"
#include "base/fs.h"
#include "base/process.h"
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static assay_run_result run(const char *script, double timeout_s, const volatile int *cancel, const char *out) {
    const char *const argv[] = { "/bin/sh", "-c", script, NULL }, *const env[] = { "ASSAY_TEST_WORD=from the caller", NULL };
    assay_run_args a = { .argv = argv, .env = env, .cwd = "/", .stdout_path = out, .timeout_s = timeout_s, .cancel = cancel };
    assay_run_result r;
    assay_error e = {0};
    if (assay_run_process(&a, &r, &e) != ASSAY_OK) {
        printf("%s ", e.message);
        CU_FAIL_FATAL("could not start");
    }
    return r;
}

static char *temporary_file(void) {
    static char path[64];
    snprintf(path, sizeof path, "/tmp/assay-test-process-XXXXXX");
    int fd = mkstemp(path);
    CU_ASSERT_FATAL(fd >= 0);
    close(fd);
    return path;
}

static void exit_codes_and_signals_are_told_apart(void) {
    assay_run_result r = run("exit 7", 0, NULL, NULL);
    CU_ASSERT(r.exit_code == 7 && r.signal == 0 && !r.timed_out && !r.cancelled && r.wall_s > 0 && r.max_rss_bytes > 0);
    r = run("kill -SEGV $$", 0, NULL, NULL);
    CU_ASSERT(r.exit_code == -1 && r.signal == SIGSEGV);
}

static void the_worker_gets_environment_folder_and_no_input(void) {
    char *out = temporary_file(), *text;
    size_t len;
    run("echo \"$ASSAY_TEST_WORD|$(pwd)|$(cat)\"", 10, NULL, out);
    CU_ASSERT_EQUAL_FATAL(assay_read_file(out, 1000, &text, &len, NULL), ASSAY_OK);
    CU_ASSERT_STRING_EQUAL(text, "from the caller|/|\n");
    free(text);
    unlink(out);
}

static void a_missing_program_is_an_error(void) {
    const char *const argv[] = { "/nonexistent/worker", NULL };
    assay_run_args a = { .argv = argv };
    assay_run_result r;
    assay_error e = {0};
    CU_ASSERT_EQUAL(assay_run_process(&a, &r, &e), ASSAY_E_IO);
    CU_ASSERT_PTR_NOT_NULL(strstr(e.message, "/nonexistent/worker: cannot start"));
}

/* The group of a worker that has ended must be empty soon after: what it started dies with it. */
static bool group_is_gone(int pid) {
    for (int i = 0; i < 200; i++) {
        if (kill(-pid, 0) != 0 && errno == ESRCH) return true;
        usleep(10000);
    }
    return false;
}

static void a_hanging_worker_is_stopped_with_its_children(void) {
    assay_run_result r = run("sleep 60 & sleep 60", 0.2, NULL, NULL);
    CU_ASSERT(r.timed_out && !r.cancelled && r.signal == SIGTERM && r.wall_s < 2);
    CU_ASSERT(group_is_gone(r.pid));
}

static void a_worker_deaf_to_sigterm_is_killed(void) {
    assay_run_result r = run("trap '' TERM; while :; do sleep 0.05; done", 0.2, NULL, NULL);
    CU_ASSERT(r.timed_out && r.signal == SIGKILL && r.wall_s >= 2 && r.wall_s < 4);
    CU_ASSERT(group_is_gone(r.pid));
}

static void children_left_behind_are_removed(void) {
    assay_run_result r = run("sleep 60 & exit 3", 0, NULL, NULL);
    CU_ASSERT(r.exit_code == 3 && r.wall_s < 2);
    CU_ASSERT(group_is_gone(r.pid));
}

static void a_worker_that_closes_the_pipe_is_still_watched(void) {
    assay_run_result r = run("exec 3>&-; sleep 60", 0.3, NULL, NULL);
    CU_ASSERT(r.timed_out && r.wall_s < 2);
}

static void cancelling_stops_the_worker(void) {
    volatile int cancel = 1;
    assay_run_result r = run("sleep 60", 0, &cancel, NULL);
    CU_ASSERT(r.cancelled && !r.timed_out && r.wall_s < 2);
}

/* This executable is its own worker: started again with this variable set, it waits for its supervisor to go. */
__attribute__((constructor)) static void be_a_worker(void) {
    if (!getenv("ASSAY_TEST_WORKER")) return;
    assay_die_with_parent();
    printf("%ld\n", (long)getpid());
    fflush(stdout);
    sleep(60);
    _exit(1);
}

static void a_worker_leaves_when_its_supervisor_is_killed(void) {
    char *out = temporary_file(), *self = assay_self_path(), *text;
    size_t len = 0;
    pid_t supervisor = fork();
    if (supervisor == 0) {
        const char *const argv[] = { self, NULL }, *const env[] = { "ASSAY_TEST_WORKER=1", NULL };
        assay_run_args a = { .argv = argv, .env = env, .stdout_path = out };
        assay_run_result r;
        assay_run_process(&a, &r, NULL);
        _exit(0);
    }
    for (int i = 0; i < 500 && len == 0; i++) {
        usleep(10000);
        CU_ASSERT_EQUAL_FATAL(assay_read_file(out, 100, &text, &len, NULL), ASSAY_OK);
        if (len == 0) free(text);
    }
    CU_ASSERT_FATAL(len > 0);
    int worker = atoi(text);
    kill(supervisor, SIGKILL);
    waitpid(supervisor, NULL, 0);
    CU_ASSERT(worker > 1 && group_is_gone(worker));
    free(text);
    free(self);
    unlink(out);
}

static int ticks;
static void count_tick(void *ctx, double elapsed_s) {
    (void)ctx;
    ticks += elapsed_s >= 0;
}

static void ticks_come_while_it_runs(void) {
    const char *const argv[] = { "/bin/sleep", "0.5", NULL };
    assay_run_args a = { .argv = argv, .tick = count_tick };
    assay_run_result r;
    ticks = 0;
    CU_ASSERT_EQUAL(assay_run_process(&a, &r, NULL), ASSAY_OK);
    CU_ASSERT(ticks >= 2 && ticks <= 7);
    int64_t before = assay_now_ns();
    CU_ASSERT(assay_now_ns() >= before);
}

ASSAY_SUITE("process", TEST(exit_codes_and_signals_are_told_apart), TEST(the_worker_gets_environment_folder_and_no_input), TEST(a_missing_program_is_an_error),
            TEST(a_hanging_worker_is_stopped_with_its_children), TEST(a_worker_deaf_to_sigterm_is_killed), TEST(children_left_behind_are_removed),
            TEST(a_worker_that_closes_the_pipe_is_still_watched), TEST(cancelling_stops_the_worker), TEST(a_worker_leaves_when_its_supervisor_is_killed),
            TEST(ticks_come_while_it_runs))
