/* Joins run directories of one plan: the plan once, the evidence of all. */
#include "run/merge.h"
#include "base/digest.h"
#include "base/fs.h"
#include "base/names.h"
#include <stdio.h>
#include <stdlib.h>

static assay_status check_plans(const assay_plan *plans, size_t n, assay_error *err) {
    for (size_t i = 1; i < n; i++) {
        if (!assay_streq(plans[i].sha256, plans[0].sha256))
            return assay_fail(err, ASSAY_E_INPUT,
                              "%s has plan %.12s, %s has plan %.12s: only evidence of one plan can be joined ('assay matrix' "
                              "sets receipts of several plans side by side)",
                              plans[0].dir, plans[0].sha256, plans[i].dir, plans[i].sha256);
        if (assay_plan_is_sealed(&plans[i]) != assay_plan_is_sealed(&plans[0]))
            return assay_fail(
                err, ASSAY_E_INPUT,
                "of %s and %s only one is sealed: what was measured under an unsealed plan cannot be joined to a sealed one",
                plans[0].dir, plans[i].dir);
    }
    return ASSAY_OK;
}

static assay_status digest_of(const char *dir, char hex[ASSAY_HEX], assay_error *err) {
    char *path = assay_path_join(dir, "trial.json");
    assay_status st = assay_sha256_file(path, hex, err);
    free(path);
    return st;
}

/* One trial: copied when it is new, compared when it is there already. */
static assay_status join_trial(const char *from, const char *to, assay_error *err) {
    char a[ASSAY_HEX], b[ASSAY_HEX];
    if (!assay_is_dir(to)) return assay_copy_tree(from, to, err);
    assay_status st = digest_of(from, a, err);
    if (st == ASSAY_OK) st = digest_of(to, b, err);
    if (st == ASSAY_OK && !assay_streq(a, b))
        st = assay_fail(err, ASSAY_E_INPUT,
                        "%s differs from the same trial of another directory: one host name stands for two machines or two runs; "
                        "collect one of them again with --host NAME",
                        from);
    return st;
}

static assay_status join_host(const char *from, const char *to, assay_error *err) {
    char **trials = NULL;
    size_t n = 0;
    assay_status st = assay_list_dir(from, &trials, &n, err);
    if (st == ASSAY_OK) st = assay_mkdirs(to, err);
    for (size_t i = 0; st == ASSAY_OK && i < n; i++) {
        if (trials[i][0] == '.') continue; /* half-made folders of workers */
        char *a = assay_path_join(from, trials[i]), *b = assay_path_join(to, trials[i]);
        st = join_trial(a, b, err);
        free(a);
        free(b);
    }
    assay_list_free(trials, n);
    return st;
}

static assay_status join_evidence(const assay_plan *p, const char *out, assay_error *err) {
    char **hosts = NULL;
    size_t n = 0;
    assay_status st = assay_plan_hosts(p, &hosts, &n, err);
    for (size_t i = 0; st == ASSAY_OK && i < n; i++) {
        char *a = assay_xprintf("%s/evidence/%s", p->dir, hosts[i]), *b = assay_xprintf("%s/evidence/%s", out, hosts[i]);
        st = join_host(a, b, err);
        free(a);
        free(b);
    }
    assay_list_free(hosts, n);
    return st;
}

/* What the plan is: everything but evidence, receipts, report, lock and journal. */
static bool is_of_the_plan(const char *name) {
    static const char *const kept[] = {"plan.json", "seal.json", "scripts", "objects", "arms", "fixtures", "trials", "reference", "records"};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (assay_streq(name, kept[i])) return true;
    return false;
}

static assay_status copy_plan(const char *dir, const char *out, assay_error *err) {
    char **names = NULL;
    size_t n = 0;
    assay_status st = assay_list_dir(dir, &names, &n, err);
    if (st == ASSAY_OK) st = assay_mkdirs(out, err);
    for (size_t i = 0; st == ASSAY_OK && i < n; i++) {
        if (!is_of_the_plan(names[i])) continue;
        char *a = assay_path_join(dir, names[i]), *b = assay_path_join(out, names[i]);
        st = assay_is_dir(a) ? assay_copy_tree(a, b, err) : assay_copy_file(a, b, err);
        free(a);
        free(b);
    }
    assay_list_free(names, n);
    return st;
}

/* Jobs that only a later directory has written down are found again from its evidence, so trials/ is joined too. */
static assay_status join_jobs(const char *dir, const char *out, assay_error *err) {
    char *from = assay_path_join(dir, "trials"), *to = assay_path_join(out, "trials"), **names = NULL;
    size_t n = 0;
    assay_status st = assay_is_dir(from) ? assay_list_dir(from, &names, &n, err) : ASSAY_OK;
    if (st == ASSAY_OK) st = assay_mkdirs(to, err);
    for (size_t i = 0; st == ASSAY_OK && i < n; i++) {
        char *a = assay_path_join(from, names[i]), *b = assay_path_join(to, names[i]);
        if (!assay_exists(b)) st = assay_copy_file(a, b, err);
        free(a);
        free(b);
    }
    assay_list_free(names, n);
    free(from);
    free(to);
    return st;
}

static assay_status join_all(const assay_plan *plans, size_t n, const char *tmp, const char *out, assay_error *err) {
    bool lost = false;
    assay_status st = copy_plan(plans[0].dir, tmp, err);
    for (size_t i = 0; st == ASSAY_OK && i < n; i++) {
        st = join_evidence(&plans[i], tmp, err);
        if (st == ASSAY_OK && i) st = join_jobs(plans[i].dir, tmp, err);
    }
    if (st == ASSAY_OK) st = assay_publish_dir(tmp, out, &lost, err);
    if (st == ASSAY_OK && lost) st = assay_fail(err, ASSAY_E_INPUT, "%s exists: choose another -o", out);
    if (st != ASSAY_OK) assay_remove_tree(tmp, NULL);
    return st;
}

assay_status assay_merge(const char *const *dirs, size_t n, const char *out, assay_error *err) {
    if (assay_exists(out)) return assay_fail(err, ASSAY_E_INPUT, "%s exists: choose another -o", out);
    assay_plan *plans = assay_xcalloc(n, sizeof *plans);
    assay_status st = ASSAY_OK;
    for (size_t i = 0; st == ASSAY_OK && i < n; i++) st = assay_plan_load(dirs[i], &plans[i], err);
    if (st == ASSAY_OK) st = check_plans(plans, n, err);
    char *tmp = assay_xprintf("%s.tmp", out);
    if (st == ASSAY_OK && assay_exists(tmp))
        st = assay_fail(err, ASSAY_E_INPUT, "%s is left over from a merge that was stopped: delete it", tmp);
    if (st == ASSAY_OK) st = join_all(plans, n, tmp, out, err);
    free(tmp);
    for (size_t i = 0; i < n; i++) assay_plan_free(&plans[i]);
    free(plans);
    return st;
}
