/* cli/cmd_run.c: plan, then judge and trials in turns, then the report. */
#include "cli/runs.h"
#include "cli/sweep.h"
#include "base/digest.h"
#include "base/fs.h"
#include "base/names.h"
#include "report/html.h"
#include <stdio.h>
#include <stdlib.h>

static const assay_opt opts[] = {
    {"out", 'o', "DIR", "run directory (default: runs/<experiment>-<next free k>, printed first)", false},
    {"set", 0, "NAME=VALUE", "value of an option the script declares, or stop, opset, precision, compute_units", true},
    ASSAY_TRIAL_OPTS,
    {"resume", 0, NULL, "go on with a run directory (without --out: the experiment's latest)", false},
    {"require-target", 0, NULL, "exit 6 when the verdicts rest on a rehearsal", false},
    {NULL, 0, NULL, NULL, false},
};

static void say_dir(void *ctx, const char *dir) {
    const assay_progress_view *v = ctx;
    if (!v->quiet) fprintf(stderr, "run directory: %s\n", dir);
}
static void say_step(void *ctx, const char *what) { assay_progress_note(ctx, what); }

/* The highest runs/<name>-<k> that holds a plan or was being planned; NULL when there is none. */
static char *latest_dir(const char *name) {
    char *best = NULL;
    for (int k = 1;; k++) {
        char *dir = assay_xprintf("runs/%s-%d", name, k), *tmp = assay_xprintf("%s.tmp", dir);
        bool there = assay_exists(dir) || assay_exists(tmp);
        free(tmp);
        if (!there) {
            free(dir);
            return best;
        }
        free(best);
        best = dir;
    }
}

static assay_status experiment_name(const assay_args *a, const assay_plan_options *o, char **name, assay_error *err) {
    assay_script_options so = {.set = o->set, .n_set = o->n_set, .registry = o->registry};
    assay_script *s = NULL;
    assay_status st = assay_script_open(a->pos[0], &so, &s, err);
    if (st == ASSAY_OK) *name = assay_xstrdup(assay_json_string(assay_script_description(s), "name", "experiment"));
    assay_script_close(s);
    return st;
}

/* A changed script is another plan: it may not go on under this one. */
static assay_status check_same_script(const char *dir, const char *script, assay_error *err) {
    assay_plan p;
    char hex[ASSAY_HEX];
    assay_status st = assay_plan_load(dir, &p, err);
    if (st != ASSAY_OK) return st;
    const assay_json *first = assay_json_at(assay_json_get(p.json, "scripts"), 0);
    st = assay_sha256_file(script, hex, err);
    if (st == ASSAY_OK && !assay_streq(hex, assay_json_string(first, "sha256", "")))
        st = assay_fail(err, ASSAY_E_INPUT, "%s was planned from another text of %s: a changed plan is a new plan, run it without --resume", dir, script);
    assay_plan_free(&p);
    return st;
}

/* Plans anew, or finds the directory to go on with. */
static assay_status settle_dir(const assay_args *a, const assay_plan_options *o, char **dir, assay_error *err) {
    char *name = NULL, *found = o->out ? assay_xstrdup(o->out) : NULL;
    assay_status st = ASSAY_OK;
    if (assay_flag(a, "resume")) {
        if (!found) {
            st = experiment_name(a, o, &name, err);
            if (st == ASSAY_OK) found = latest_dir(name);
        }
        char *plan = found ? assay_path_join(found, "plan.json") : NULL;
        bool planned = plan && assay_is_file(plan);
        free(plan);
        free(name);
        if (st == ASSAY_OK && planned) {
            st = check_same_script(found, a->pos[0], err);
            if (st == ASSAY_OK) {
                o->chosen(o->ctx, found);
                *dir = found;
                return ASSAY_OK;
            }
        }
    }
    assay_plan_options mine = *o;
    mine.out = found;
    if (st == ASSAY_OK) st = assay_plan_make(&mine, dir, err);
    free(found);
    return st;
}

static assay_status drive(const assay_args *a, const char *dir, assay_planning *p, char **host, assay_json **receipt, assay_error *err) {
    assay_status st = assay_cli_drive(a, dir, p, host, receipt, err);
    return st == ASSAY_OK ? assay_report_html(dir, *host, err) : st;
}

/* ---- a sweep: every point is a run of its own, below one folder */

typedef struct points { const assay_args *a; assay_planning *p; } points;

static assay_status run_point(void *ctx, assay_json **receipt, assay_error *err) {
    points *s = ctx;
    char *made = NULL, *host = NULL;
    assay_status st = settle_dir(s->a, &s->p->options, &made, err);
    if (st == ASSAY_OK) st = drive(s->a, made, s->p, &host, receipt, err);
    free(made);
    free(host);
    return st;
}

static int run_sweep(const assay_args *a, assay_planning *p, const assay_json *description) {
    points s = {a, p};
    assay_sweep_runner r = {.planning = p, .run = run_point, .ctx = &s, .require_target = assay_flag(a, "require-target")};
    assay_error err = {0};
    char *folder = NULL;
    int code = 0;
    assay_status st = assay_sweep_folder(a, description, assay_flag(a, "resume"), &folder, &err);
    if (st == ASSAY_OK) st = assay_sweep_run(assay_json_path(description, "sweep.axes"), folder, &r, a->json, &code, &err);
    assay_progress_close(&p->view);
    if (st != ASSAY_OK) code = assay_cli_fail(a, &err);
    else if (!a->json) printf("\nsweep: %s/sweep.json\n", folder);
    free(folder);
    return code;
}

static int run_one(const assay_args *a, assay_planning *p) {
    char *dir = NULL, *host = NULL;
    assay_json *receipt = NULL;
    assay_error err = {0};
    assay_status st = settle_dir(a, &p->options, &dir, &err);
    if (st == ASSAY_OK) st = drive(a, dir, p, &host, &receipt, &err);
    assay_progress_close(&p->view);
    int code = st == ASSAY_OK ? assay_cli_show_receipt(a, dir, host, receipt, assay_flag(a, "require-target")) : assay_cli_fail(a, &err);
    assay_json_free(receipt);
    free(dir);
    free(host);
    return code;
}

static int run(const assay_args *a) {
    assay_planning p;
    assay_cli_planning_open(a, &p);
    p.options.chosen = say_dir;
    p.options.note = say_step;
    assay_error err = {0};
    int code;
    if (assay_cli_place_check(a, p.registry, &err) != ASSAY_OK) {
        assay_progress_close(&p.view);
        code = assay_cli_fail(a, &err);
    } else {
        assay_json *sweep = assay_sweep_find(&p);
        code = sweep ? run_sweep(a, &p, sweep) : run_one(a, &p);
        assay_json_free(sweep);
    }
    assay_cli_planning_close(&p);
    return code;
}

const assay_command assay_cmd_run = {"run", "X.lua", "plan, then judge and trials in turns, report", opts, 1, 1, run, false,
    "assay run first.lua --out run"};
