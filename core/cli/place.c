/* Where and how trials run: backend, device profile, threads, time limit, and the name of the host in the evidence. */
#include "cli/runs.h"
#include "backends/simulated/profile.h"
#include "base/names.h"
#include <stdlib.h>
#include <string.h>

static assay_status check_device(const assay_backend_type *b, const char *device, assay_error *err) {
    bool takes = false;
    for (const assay_param *p = b->backend->params; p && p->name; p++) takes |= assay_streq(p->name, "device");
    if (device && !takes) return assay_fail(err, ASSAY_E_USAGE, "--device: backend '%s' has no device profiles", b->backend->name);
    if (!device && b->origin == ASSAY_ORIGIN_SIMULATED)
        return assay_fail(err, ASSAY_E_USAGE, "--backend %s: name the device to imitate with --device PROFILE", b->backend->name);
    return ASSAY_OK;
}

/* The host of simulated evidence is the profile: nothing of this machine is in it. */
static assay_status take_profile(assay_cli_place *p, assay_error *err) {
    assay_sim_profile profile;
    assay_status st = assay_sim_profile_load(p->device, &profile, err);
    if (st != ASSAY_OK) return st;
    p->device_identity = assay_json_object();
    assay_json_set_string(p->device_identity, "profile.id", profile.id);
    assay_json_set_string(p->device_identity, "profile.sha256", profile.sha256);
    if (!p->host) p->host = assay_xprintf("simulated-%.54s", profile.id);
    assay_sim_profile_free(&profile);
    return ASSAY_OK;
}

static assay_status number_option(const assay_args *a, const char *name, double max, double *out, assay_error *err) {
    const char *text = assay_arg(a, name);
    if (!text) return ASSAY_OK;
    char *end = NULL;
    double v = strtod(text, &end);
    if (end == text || *end || !(v >= 0) || v > max) return assay_fail(err, ASSAY_E_USAGE, "--%s: expected a number from 0 to %g, got '%s'", name, max, text);
    *out = v;
    return ASSAY_OK;
}

assay_status assay_cli_place_open(const assay_args *a, const assay_registry *r, assay_cli_place *p, assay_error *err) {
    const char *host = assay_arg(a, "host");
    double threads = 0;
    *p = (assay_cli_place){.backend = assay_arg(a, "backend"), .device = assay_arg(a, "device")};
    if (!p->backend) p->backend = p->device ? "simulated" : "reference";
    const assay_backend_type *b = assay_registry_backend(r, p->backend, err);
    if (!b) return ASSAY_E_USAGE;
    assay_status st = check_device(b, p->device, err);
    if (st == ASSAY_OK) st = number_option(a, "threads", 1024, &threads, err);
    if (st == ASSAY_OK) st = number_option(a, "timeout", 1e7, &p->timeout_s, err);
    p->threads = (uint32_t)threads;
    if (st == ASSAY_OK && host && !assay_is_plain_name(host))
        st = assay_fail(err, ASSAY_E_USAGE, "--host: '%s' cannot name a folder (letters, digits, _ . -; at most 64)", host);
    if (st == ASSAY_OK && host) p->host = assay_xstrdup(host);
    if (st == ASSAY_OK && b->origin == ASSAY_ORIGIN_SIMULATED) st = take_profile(p, err);
    if (st == ASSAY_OK && !p->host) p->host = assay_host_name(p->backend);
    if (st != ASSAY_OK) assay_cli_place_free(p);
    return st;
}

assay_status assay_cli_place_check(const assay_args *a, const assay_registry *r, assay_error *err) {
    assay_cli_place place;
    assay_status st = assay_cli_place_open(a, r, &place, err);
    if (st == ASSAY_OK) assay_cli_place_free(&place);
    return st;
}

void assay_cli_place_free(assay_cli_place *p) {
    free(p->host);
    assay_json_free(p->device_identity);
    memset(p, 0, sizeof *p);
}
