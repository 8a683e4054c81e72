/* cli/cmd_doctor.c: what works on this machine, what is missing, and what that means for an experiment. */
#include "cli/cli.h"
#include "base/fmath.h"
#include "base/fs.h"
#include "base/threads.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

static void add(assay_json *rows, const char *what, const char *state, const char *text) {
    assay_json *row = assay_json_append(rows, assay_json_object());
    assay_json_set_string(row, "what", what);
    assay_json_set_string(row, "state", state);
    assay_json_set_string(row, "text", text);
}

static void check_machine(assay_json *rows) {
    struct utsname u;
    const char *why = NULL;
    char text[256];
    if (uname(&u) == 0) {
        snprintf(text, sizeof text, "%s %s %s, %u cores", u.sysname, u.release, u.machine, assay_cpu_count());
        add(rows, "machine", "ok", text);
    }
    assay_fp_mode_set();
    bool ok = assay_fp_mode_ok(&why);
    add(rows, "floating point", ok ? "ok" : "broken", ok ? "IEEE 754, round to nearest even, subnormals kept" : why);
}

static void check_plugins(assay_json *rows, const assay_registry *r) {
    const assay_gate_type *const *gates;
    const assay_backend_type *const *backends;
    const assay_refusal *refusals;
    assay_buf text = {0};
    size_t n = assay_registry_gates(r, &gates);
    for (size_t i = 0; i < n; i++) assay_buf_printf(&text, "%s%s", i ? ", " : "", gates[i]->name);
    add(rows, "gates", n ? "ok" : "missing", n ? text.data : "none found: see 'assay gates --paths', or build the plugins");
    assay_buf_free(&text);
    bool device = false;
    n = assay_registry_backends(r, &backends);
    for (size_t i = 0; i < n; i++) {
        assay_buf_printf(&text, "%s%s", i ? ", " : "", backends[i]->backend->name);
        device |= backends[i]->origin == ASSAY_ORIGIN_DEVICE;
    }
    add(rows, "backends", n ? "ok" : "missing", n ? text.data : "none");
    if (!device)
        add(rows, "device", "missing", "no device backend here: placement and latency stay not-measured, runs are rehearsals; collect the trials on the target");
    assay_buf_free(&text);
    n = assay_registry_refusals(r, &refusals);
    for (size_t i = 0; i < n; i++) {
        assay_buf_printf(&text, "%s: %s", refusals[i].path, refusals[i].why);
        add(rows, "refused plugin", "broken", text.data);
        assay_buf_free(&text);
    }
}

static void check_folders(assay_json *rows) {
    const char *base = getenv("TMPDIR");
    char *dir = assay_xprintf("%s/assay-XXXXXX", base && *base ? base : "/tmp");
    bool ok = mkdtemp(dir) != NULL;
    add(rows, "temporary files", ok ? "ok" : "broken", ok ? "can be written" : "no folder can be made: set TMPDIR");
    if (ok) assay_remove_tree(dir, NULL);
    free(dir);
    ok = access(".", W_OK) == 0;
    add(rows, "this folder", ok ? "ok" : "missing", ok ? "can be written: runs/ goes here" : "cannot be written: give --out DIR");
}

static int run(const assay_args *a) {
    assay_registry *r = assay_cli_registry(a);
    assay_json *out = assay_json_object(), *rows = assay_json_set(out, "checks", assay_json_array());
    assay_json_set_string(out, "schema", "assay-doctor/1");
    check_machine(rows);
    check_plugins(rows, r);
    check_folders(rows);
    bool broken = false;
    for (size_t i = 0; i < assay_json_len(rows); i++) {
        const assay_json *row = assay_json_at(rows, i);
        const char *state = assay_json_string(row, "state", "");
        broken |= strcmp(state, "broken") == 0;
        if (!a->json) printf("%-8s %-16s %s\n", state, assay_json_string(row, "what", ""), assay_json_string(row, "text", ""));
    }
    if (a->json) assay_cli_print_json(out);
    assay_json_free(out);
    assay_registry_free(r);
    return broken ? ASSAY_EXIT_ERROR : ASSAY_EXIT_OK;
}

const assay_command assay_cmd_doctor = {"doctor", NULL, "what works on this machine and what is missing", NULL, 0, 0, run, false,
    "assay doctor"};
