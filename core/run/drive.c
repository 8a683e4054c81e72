/* One run: judge and trials in turns, gate by gate in the order of the script, under the directory's lock. */
#include "run/drive.h"
#include "base/fs.h"
#include "base/names.h"
#include "base/process.h"
#include "base/threads.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

/* The lock goes with the process, so that a killed run never leaves one behind. */
static assay_status take_lock(const assay_plan *p, int *fd, assay_error *err) {
    char *path = assay_plan_path(p, "lock");
    assay_status st = ASSAY_OK;
    *fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (*fd < 0) st = assay_fail_errno(err, "%s: cannot be opened", path);
    else if (flock(*fd, LOCK_EX | LOCK_NB) != 0)
        st = errno == EWOULDBLOCK ? assay_fail(err, ASSAY_E_INPUT, "%s: another run is at work in this directory; wait for it, or use 'assay trial'", p->dir)
                                  : assay_fail_errno(err, "%s: cannot be locked", path);
    if (st != ASSAY_OK && *fd >= 0) close(*fd);
    free(path);
    return st;
}

/* .tmp-<id>-<pid>: is its maker still at work? (`assay trial` takes no lock.) */
static bool is_live(const char *name) {
    const char *dash = strrchr(name, '-');
    long pid = dash ? strtol(dash + 1, NULL, 10) : 0;
    return pid > 0 && (kill((pid_t)pid, 0) == 0 || errno == EPERM);
}

/* Folders that a killed run left. */
static void sweep(const assay_plan *p, const char *host) {
    char *dir = assay_xprintf("%s/evidence/%s", p->dir, host), **names = NULL;
    size_t n = 0;
    if (assay_is_dir(dir) && assay_list_dir(dir, &names, &n, NULL) == ASSAY_OK)
        for (size_t i = 0; i < n; i++) {
            if (!assay_starts_with(names[i], ".tmp-") || is_live(names[i])) continue;
            char *path = assay_path_join(dir, names[i]);
            assay_remove_tree(path, NULL);
            free(path);
        }
    assay_list_free(names, n);
    free(dir);
}

/* A line for people; losing one loses nothing. */
static void journal(const assay_drive *d, const assay_json *job, const char *state, double wall_s) {
    const assay_plan *p = d->supervisor.plan;
    char *path = assay_plan_path(p, "journal.jsonl"), stamp[32] = "";
    time_t now = time(NULL);
    struct tm tm;
    if (gmtime_r(&now, &tm)) strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%SZ", &tm);
    assay_json *line = assay_json_object();
    assay_json_set_string(line, "time", stamp);
    assay_json_set_string(line, "trial", assay_json_string(job, "id", ""));
    for (const char *const *k = (const char *const[]){"kind", "arm", "fixture", NULL}; *k; k++) assay_json_set_string(line, *k, assay_json_string(job, *k, NULL));
    assay_json_set_string(line, "host", d->supervisor.host);
    assay_json_set_string(line, "state", state);
    assay_json_set_number(line, "wall_s", wall_s);
    assay_buf text = {0};
    assay_json_write(line, &text);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd >= 0) {
        ssize_t n = write(fd, text.data, text.len);
        (void)n;
        close(fd);
    }
    assay_buf_free(&text);
    assay_json_free(line);
    free(path);
}

/* The trials of one run, and the batch of them that is at work. Several side by side tell of themselves under the lock. */
typedef struct series {
    const assay_drive *d;
    size_t begun, known;
    const assay_json **jobs;
    size_t n;                                    /* of the batch */
    uint32_t at_once;
    const char *gate;
    pthread_mutex_t lock;
    assay_status status;                         /* the batch's first failure: nothing is begun after it */
    assay_error why;
} series;

static void tick(void *ctx, double elapsed_s) {
    series *t = ctx;
    const assay_progress *p = t->d->progress;
    pthread_mutex_lock(&t->lock);
    if (p && p->tick) p->tick(p->ctx, elapsed_s);
    pthread_mutex_unlock(&t->lock);
}

/* The trial's number, or 0 when the batch has failed. */
static size_t begin_trial(series *t, const assay_json *job) {
    const assay_progress *p = t->d->progress;
    pthread_mutex_lock(&t->lock);
    size_t k = t->status == ASSAY_OK ? ++t->begun : 0;
    if (k && p && p->trial_begin) p->trial_begin(p->ctx, k, t->known, job, t->gate);
    pthread_mutex_unlock(&t->lock);
    return k;
}

static void end_trial(series *t, const assay_json *job, size_t k, const char *state, double wall_s) {
    const assay_progress *p = t->d->progress;
    pthread_mutex_lock(&t->lock);
    journal(t->d, job, state, wall_s);
    if (t->at_once > 1 && p && p->trial_begin) p->trial_begin(p->ctx, k, t->known, job, t->gate);   /* others have begun since */
    if (p && p->trial_end) p->trial_end(p->ctx, state, wall_s);
    pthread_mutex_unlock(&t->lock);
}

static void fail_batch(series *t, assay_status st, const assay_error *why) {
    pthread_mutex_lock(&t->lock);
    if (t->status == ASSAY_OK) t->why = *why;
    if (t->status == ASSAY_OK) t->status = st;
    pthread_mutex_unlock(&t->lock);
}

static void run_job(void *ctx, uint64_t i, uint32_t worker) {
    series *t = ctx;
    assay_supervisor s = t->d->supervisor;
    const char *state = "";
    assay_error why = {0};
    size_t k = begin_trial(t, t->jobs[i]);
    if (!k) return;
    if (worker == 0) s.tick = tick;
    s.ctx = t;
    if (!s.threads && t->at_once > 1) s.threads = t->at_once < assay_cpu_count() ? assay_cpu_count() / t->at_once : 1;
    int64_t start_ns = assay_now_ns();
    assay_status st = assay_supervise(&s, t->jobs[i], &state, &why);
    if (st == ASSAY_OK) end_trial(t, t->jobs[i], k, state, (double)(assay_now_ns() - start_ns) * 1e-9);
    else fail_batch(t, st, &why);
}

static bool is_timing(const assay_json *job) { return assay_streq(assay_json_string(job, "kind", ""), "timing"); }

/* A device is asked one thing at a time; what is computed here has no such need. */
static bool is_computed(const assay_drive *d, const assay_json *job) {
    const assay_backend_type *b = assay_registry_backend(d->supervisor.registry, assay_json_string(job, "backend", d->supervisor.backend), NULL);
    return b && b->origin != ASSAY_ORIGIN_DEVICE;
}

/* All trials without a clock, or else one timing trial: where those are for information only, the gate wants no second one. */
static void choose_batch(series *t, const assay_json *missing) {
    size_t n = assay_json_len(missing);
    bool computed = true;
    t->n = 0;
    for (size_t i = 0; i < n; i++) {
        const assay_json *job = assay_json_at(missing, i);
        if (is_timing(job)) continue;
        computed &= is_computed(t->d, job);
        t->jobs[t->n++] = job;
    }
    if (!t->n) t->jobs[t->n++] = assay_json_at(missing, 0);
    t->at_once = computed && !is_timing(t->jobs[0]) ? assay_side_by_side() : 1;
    if (t->at_once > t->n) t->at_once = (uint32_t)t->n;
}

static assay_status run_missing(series *t, const assay_json *missing, const char *gate, assay_error *err) {
    t->jobs = assay_xcalloc(assay_json_len(missing) + 1, sizeof *t->jobs);
    t->gate = gate;
    choose_batch(t, missing);
    if (t->begun + t->n > t->known) t->known = t->begun + t->n;
    assay_parallel(t->at_once, t->n, run_job, t);
    free(t->jobs);
    t->jobs = NULL;
    if (t->status != ASSAY_OK && err) *err = t->why;
    return t->status;
}

/* Each line once: a gate is asked again after every trial. */
static void tell(const assay_progress *p, const char *gate, const assay_json *said, assay_json *told) {
    for (size_t i = 0; i < assay_json_len(said); i++) {
        const assay_json *line = assay_json_at(said, i);
        bool known = false;
        for (size_t k = 0; !known && k < assay_json_len(told); k++) known = assay_json_equal(assay_json_at(told, k), line);
        if (known) continue;
        assay_json_append(told, assay_json_clone(line));
        if (p && p->said) p->said(p->ctx, gate, assay_json_text(line));
    }
}

static assay_status take_turns(const assay_drive *d, assay_judging *j, assay_error *err) {
    series t = {.d = d, .lock = PTHREAD_MUTEX_INITIALIZER};
    assay_json *told = assay_json_array();
    assay_status st;
    for (;;) {
        const assay_json *missing = NULL;
        const char *gate = "";
        if (d->progress && d->progress->judging) d->progress->judging(d->progress->ctx, gate);
        st = assay_judging_step(j, false, &missing, &gate, err);
        if (st != ASSAY_OK || !missing) break;
        tell(d->progress, gate, assay_judging_said(j), told);
        st = run_missing(&t, missing, gate, err);
        if (st != ASSAY_OK) break;
    }
    assay_json_free(told);
    return st;
}

assay_status assay_drive_run(const assay_drive *d, assay_json **receipt, assay_error *err) {
    const assay_supervisor *s = &d->supervisor;
    int lock = -1;
    assay_status st = take_lock(s->plan, &lock, err);
    if (st != ASSAY_OK) return st;
    sweep(s->plan, s->host);
    assay_judging *j = assay_judging_new(s->plan, s->host, s->gate_path);
    st = take_turns(d, j, err);
    if (st == ASSAY_OK) st = assay_judging_receipt(j, receipt, err);
    if (st == ASSAY_OK) st = assay_receipt_write(s->plan, s->host, *receipt, err);
    assay_judging_free(j);
    close(lock);
    return st;
}

assay_status assay_drive_missing(const assay_plan *p, const char *host, const char *gate_path, assay_json **jobs, assay_error *err) {
    assay_judging *j = assay_judging_new(p, host, gate_path);
    assay_json *all = assay_json_array();
    assay_status st = assay_judging_missing(j, all, err);
    assay_json *unique = assay_json_array();
    assay_jobs_add(unique, all);
    assay_json_free(all);
    assay_judging_free(j);
    if (st != ASSAY_OK) assay_json_free(unique);
    else *jobs = unique;
    return st;
}
