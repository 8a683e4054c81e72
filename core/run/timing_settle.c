/* Where the timed process runs: its processors and its priority, as far as the system lets us choose. */
#ifdef __linux__
#define _GNU_SOURCE                      /* sched_setaffinity, CPU_SET */
#include <sched.h>
#include <sys/resource.h>
#endif
#ifdef __APPLE__
#include <pthread.h>
#endif
#include "run/timing.h"
#include <stdio.h>

#ifdef __linux__
enum { NICE = -10 };

static bool pin(uint32_t threads, cpu_set_t *set) {
    cpu_set_t mine;
    CPU_ZERO(set);
    CPU_ZERO(&mine);
    if (sched_getaffinity(0, sizeof mine, &mine) != 0) return false;
    uint32_t all = (uint32_t)CPU_COUNT(&mine), want = threads == 0 || threads > all ? all : threads, have = 0;
    for (size_t cpu = CPU_SETSIZE; cpu-- > 0 && have < want;)
        if (CPU_ISSET(cpu, &mine)) {
            CPU_SET(cpu, set);
            have++;
        }
    return have > 0 && sched_setaffinity(0, sizeof *set, set) == 0;
}

void assay_timing_settle(uint32_t threads, assay_json *facts) {
    cpu_set_t set;
    char text[32];
    bool pinned = pin(threads, &set), raised = setpriority(PRIO_PROCESS, 0, NICE) == 0;
    assay_json *cpus = assay_json_set(facts, "processors", pinned ? assay_json_array() : assay_json_new_null());
    for (size_t cpu = 0; pinned && cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &set)) assay_json_append(cpus, assay_json_new_number((double)cpu));
    snprintf(text, sizeof text, "nice %d", NICE);
    assay_json_set_string(facts, "priority", raised ? text : NULL);
}
#elif defined __APPLE__
/* No processor can be chosen there; the class of service keeps the thread on the fast cores. */
void assay_timing_settle(uint32_t threads, assay_json *facts) {
    (void)threads;
    bool raised = pthread_set_qos_class_self_np(QOS_CLASS_USER_INTERACTIVE, 0) == 0;
    assay_json_set(facts, "processors", assay_json_new_null());
    assay_json_set_string(facts, "priority", raised ? "user interactive" : NULL);
}
#else
void assay_timing_settle(uint32_t threads, assay_json *facts) {
    (void)threads;
    assay_json_set(facts, "processors", assay_json_new_null());
    assay_json_set_string(facts, "priority", NULL);
}
#endif
