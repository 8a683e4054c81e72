/* Guards of a timed block. Linux: files of /proc and /sys, whose text must not change; macOS: notifications, which must not be posted. */
#include "run/guard.h"
#include "base/fs.h"
#include "base/names.h"
#include "base/process.h"
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef __APPLE__
#include <notify.h>
#endif

enum { PROCESSORS_MAX = 32, TEXT_MAX = 128 };
/* One runnable process more lifts the one-minute average by 0.08 at its next update (every 5 s): half a unit is six at once. */
#define LOAD_STEP 0.5

typedef struct signal_row { const char *code; int fd; } signal_row;     /* fd: a file, or a token of notify(3) */
struct assay_guard {
    signal_row rows[ASSAY_GUARD_SIGNALS];
    size_t n;
    int load_fd;                                 /* -1: ask getloadavg, unless a root was given */
    int waited_fd;                               /* -1: the system does not say */
    bool own_root;
    double max_wait;
};

/* ---- what there is to watch */

static void watch_file(assay_guard *g, const char *code, const char *path) {
    if (g->n == ASSAY_GUARD_SIGNALS) return;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) g->rows[g->n++] = (signal_row){code, fd};
}

static bool file_says(const char *path, const char *const *words) {
    char text[TEXT_MAX] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0) close(fd);
    for (; n > 0 && *words; words++)
        if (strstr(text, *words)) return true;
    return false;
}

/* FILE of every entry of a folder whose `type` holds one of the words. */
static void watch_class(assay_guard *g, const char *code, const char *root, const char *folder, const char *const *types, const char *file) {
    char *dir = assay_xprintf("%s/%s", root, folder), **names = NULL;
    size_t n = 0;
    if (assay_is_dir(dir) && assay_list_dir(dir, &names, &n, NULL) == ASSAY_OK)
        for (size_t i = 0; i < n; i++) {
            char *type = assay_xprintf("%s/%s/type", dir, names[i]), *path = assay_xprintf("%s/%s/%s", dir, names[i], file);
            if (file_says(type, types)) watch_file(g, code, path);
            free(type);
            free(path);
        }
    assay_list_free(names, n);
    free(dir);
}

static void watch_processor(assay_guard *g, const char *root, long cpu) {
    static const struct { const char *code, *file; } files[] = {{"throttled", "thermal_throttle/core_throttle_count"},
                                                                {"throttled", "thermal_throttle/package_throttle_count"},
                                                                {"frequency_limit", "cpufreq/scaling_max_freq"}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char *path = assay_xprintf("%s/sys/devices/system/cpu/cpu%ld/%s", root, cpu, files[i].file);
        watch_file(g, files[i].code, path);
        free(path);
    }
}

static void watch_files(assay_guard *g, const char *root, const assay_json *processors) {
    static const char *const mains[] = {"Mains", "USB", NULL}, *const cooling[] = {"Processor", "cpufreq", NULL};
    static const struct { const char *code, *file; } files[] = {{"clock_source", "sys/devices/system/clocksource/clocksource0/current_clocksource"},
                                                                {"power_mode", "sys/firmware/acpi/platform_profile"}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char *path = assay_xprintf("%s/%s", root, files[i].file);
        watch_file(g, files[i].code, path);
        free(path);
    }
    watch_class(g, "power_source", root, "sys/class/power_supply", mains, "online");
    watch_class(g, "throttled", root, "sys/class/thermal", cooling, "cur_state");
    bool named = assay_json_kind(processors) == ASSAY_J_ARRAY;
    size_t n = named ? assay_json_len(processors) : PROCESSORS_MAX;
    for (size_t i = 0; i < n && i < PROCESSORS_MAX; i++)
        watch_processor(g, root, named ? (long)assay_json_value(assay_json_at(processors, i)) : (long)i);
    char *load = assay_xprintf("%s/proc/loadavg", root);
    g->load_fd = open(load, O_RDONLY | O_CLOEXEC);
    char *waited = assay_xprintf("%s/proc/thread-self/schedstat", root);
    g->waited_fd = open(waited, O_RDONLY | O_CLOEXEC);
    free(load);
    free(waited);
}

#ifdef __APPLE__
static void watch_notifications(assay_guard *g) {
    static const struct { const char *code, *name; } posts[] = {{"throttled", "com.apple.system.thermalpressurelevel"},
                                                                {"power_source", "com.apple.system.powersources.source"},
                                                                {"power_mode", "com.apple.system.lowpowermode"}};
    for (size_t i = 0; i < sizeof posts / sizeof *posts; i++) {
        int token, ignored;
        if (notify_register_check(posts[i].name, &token) != NOTIFY_STATUS_OK) continue;
        notify_check(token, &ignored);           /* the first check always says "posted" */
        g->rows[g->n++] = (signal_row){posts[i].code, token};
    }
}
#endif

assay_guard *assay_guard_open(const char *root, const assay_json *processors, double max_wait) {
    assay_guard *g = assay_xcalloc(1, sizeof *g);
    g->load_fd = g->waited_fd = -1;
    g->own_root = *root != 0;
    g->max_wait = max_wait;
#ifdef __APPLE__
    if (!g->own_root) {
        watch_notifications(g);
        return g;
    }
#endif
    watch_files(g, root, processors);
    return g;
}

void assay_guard_close(assay_guard *g) {
    if (!g) return;
    for (size_t i = 0; i < g->n; i++) {
#ifdef __APPLE__
        if (!g->own_root) {
            notify_cancel(g->rows[i].fd);
            continue;
        }
#endif
        close(g->rows[i].fd);
    }
    if (g->load_fd >= 0) close(g->load_fd);
    if (g->waited_fd >= 0) close(g->waited_fd);
    free(g);
}

/* ---- reading */

static double load_now(const assay_guard *g) {
    char text[TEXT_MAX];
    double load = -1;
    ssize_t n = g->load_fd >= 0 ? pread(g->load_fd, text, sizeof text - 1, 0) : -1;
    if (n > 0) {
        text[n] = 0;
        char *end = NULL;
        load = strtod(text, &end);
        return end != text && load >= 0 ? load : -1;
    }
    return !g->own_root && getloadavg(&load, 1) == 1 ? load : -1;
}

/* The second number of "ran waited slices", in nanoseconds (Linux, Documentation/scheduler/sched-stats). A kernel that does not
 * count writes zeros, also for what the thread ran: not known. */
static int64_t waited_now(const assay_guard *g) {
    char text[TEXT_MAX];
    ssize_t n = g->waited_fd >= 0 ? pread(g->waited_fd, text, sizeof text - 1, 0) : -1;
    if (n <= 0) return -1;
    text[n] = 0;
    char *ran_end, *end;
    long long ran = strtoll(text, &ran_end, 10);
    long long waited = strtoll(ran_end, &end, 10);
    return ran > 0 && end != ran_end && waited >= 0 ? waited : -1;
}

/* FNV-1a of the text; a file that cannot be read any more has another digest than any text. */
static uint64_t digest_now(int fd) {
    char text[TEXT_MAX];
    ssize_t n = pread(fd, text, sizeof text, 0);
    uint64_t h = 14695981039346656037u;
    for (ssize_t i = 0; i < n; i++) h = (h ^ (unsigned char)text[i]) * 1099511628211u;
    return n < 0 ? 0 : h;
}

static uint64_t signal_now(const assay_guard *g, size_t i) {
#ifdef __APPLE__
    static uint64_t posted[ASSAY_GUARD_SIGNALS];
    int since = 0;
    if (!g->own_root) return notify_check(g->rows[i].fd, &since) == NOTIFY_STATUS_OK && since ? ++posted[i] : posted[i];
#endif
    return digest_now(g->rows[i].fd);
}

void assay_guard_read(const assay_guard *g, assay_guard_state *out) {
    out->load = load_now(g);
    out->waited_ns = waited_now(g);
    out->at_ns = assay_now_ns();
    for (size_t i = 0; i < g->n; i++) out->signal[i] = signal_now(g, i);
}

const char *assay_guard_change(const assay_guard *g, const assay_guard_state *before, const assay_guard_state *after) {
    for (size_t i = 0; i < g->n; i++)
        if (before->signal[i] != after->signal[i]) return g->rows[i].code;
    if (before->load >= 0 && after->load >= 0 && !(fabs(after->load - before->load) < LOAD_STEP)) return "load";
    const double waited = (double)(after->waited_ns - before->waited_ns), passed = (double)(after->at_ns - before->at_ns);
    if (before->waited_ns >= 0 && after->waited_ns >= 0 && g->max_wait < 1 && !(waited <= g->max_wait * passed)) return "waited";
    return NULL;
}

assay_json *assay_guard_offered(const assay_guard *g) {
    assay_json *out = assay_json_array();
    assay_guard_state now;
    assay_guard_read(g, &now);
    for (size_t i = 0; i < g->n; i++) {
        bool known = false;
        for (size_t k = 0; !known && k < i; k++) known = assay_streq(g->rows[k].code, g->rows[i].code);
        if (!known) assay_json_append(out, assay_json_new_string(g->rows[i].code));
    }
    if (now.load >= 0) assay_json_append(out, assay_json_new_string("load"));
    if (now.waited_ns >= 0) assay_json_append(out, assay_json_new_string("waited"));
    return out;
}
