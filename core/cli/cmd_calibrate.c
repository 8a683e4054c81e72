/* assay calibrate latency: how often the gate is wrong, measured on simulated machines whose gain is known. The one place where the
 * program knows a gate from inside: the suite needs a million decisions, and goes through the gate's rule without evidence files. */
#include "cli/cli.h"
#include "base/mem.h"
#include "base/names.h"
#include "base/threads.h"
#include "gates/latency/calibrate.h"
#include "plugin/mathiface.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { QUICK = 200, FULL = 10000, MOST = 1000000 };

static const assay_opt opts[] = {
    { .name = "runs", .value = "N", .help = "simulated runs a cell (default 200)" },
    { .name = "full", .help = "10,000 runs a cell: minutes" },
    { .name = "only", .value = "NAME", .help = "this condition, 'designs' or 'looks'", .repeatable = true },
    { .name = "seed", .value = "S", .help = "of the simulation (default 1)" },
    { .name = "threads", .value = "N", .help = "default: all; changes no figure" },
    { .name = "markdown", .help = "the tables as Markdown" },
    { 0 },
};

typedef struct suite {
    const assay_math_1 *m;
    uint32_t runs, threads;
    const char *seed;
    const assay_args *args;
    bool agrees;
} suite;

/* ---- one cell: `runs` experiments, spread over threads; run i has draw i of the cell's stream as its seed */
enum { PASS = 1, KILL = 2, COVERS = 4, BY_PROCESS = 8, AUTOCORRELATION = 16, ALARM = PASS };
typedef struct cell { const suite *s; uint64_t stream; const lat_condition *c; size_t n; double effect_ms; const lat_design *design; double phi; const lat_look *look; uint8_t *flags; } cell;

static void one_run(void *ctx, uint64_t i, uint32_t worker) {
    const cell *c = ctx;
    uint64_t seed = c->s->m->u64(c->stream, i);
    (void)worker;
    if (c->design) c->flags[i] = c->design->alarm(c->s->m, c->phi, seed);
    else if (c->look) c->flags[i] = c->look->alarm(c->s->m, seed);
    else {
        lat_outcome o = lat_simulate_and_judge(c->s->m, c->c, c->n, c->effect_ms, seed);
        c->flags[i] = (uint8_t)((o.verdict == ASSAY_PASS ? PASS : o.verdict == ASSAY_KILL ? KILL : 0) | (o.covers ? COVERS : 0) | (o.by_process ? BY_PROCESS : 0) |
                                (o.autocorrelation ? AUTOCORRELATION : 0));
    }
}

static void run_cell(const suite *s, cell *c, const char *name) {
    char label[128];
    snprintf(label, sizeof label, "latency/calibrate/%s/%s/%zu/%g/%g", s->seed, name, c->n, c->effect_ms, c->phi);
    c->s = s;
    c->stream = s->m->stream(label);
    c->flags = assay_xcalloc(s->runs, 1);
    assay_parallel(s->threads, s->runs, one_run, c);
}

static double percent(const suite *s, const cell *c, int mask) {
    uint32_t hits = 0;
    for (uint32_t i = 0; i < s->runs; i++) hits += (c->flags[i] & mask) != 0;
    return 100.0 * hits / s->runs;
}

/* Within the tolerance of the design, and below its 10,000 runs within three standard errors more. Not given: agrees. */
static bool near(const suite *s, double got, double design, double tolerance) {
    if (design < 0.0) return true;
    double chance = s->runs < FULL ? 300.0 * sqrt(fmax(design * (100.0 - design), 99.0) / 1e4 / s->runs) : 0.0;
    return fabs(got - design) <= tolerance + chance + 1e-9;
}

static assay_json *list_of(const double *v, size_t n) {
    assay_json *list = assay_json_array();
    for (size_t i = 0; i < n; i++) assay_json_append(list, v[i] < 0.0 ? assay_json_new_null() : assay_json_new_number(v[i]));
    return list;
}

static assay_json *condition(suite *s, const lat_condition *c, size_t size) {
    static const double tolerance[] = { 1.0, 1.0, 3.0, 3.0 };
    const double *design = c->design[size];
    double got[4] = { 0.0, 100.0, 0.0, -1.0 }, by_process = 0.0, autocorrelation = 0.0;
    bool agrees = true;
    for (size_t e = 0; e < LAT_SIM_EFFECTS && !(e == 2 && design[3] < 0.0); e++) {
        cell x = { .c = c, .n = lat_sim_blocks[size], .effect_ms = lat_sim_effect_ms[e] };
        run_cell(s, &x, c->name);
        got[1] = fmin(got[1], percent(s, &x, COVERS));
        if (e == 0) {
            got[0] = percent(s, &x, PASS | KILL);
            by_process = percent(s, &x, BY_PROCESS);
            autocorrelation = percent(s, &x, AUTOCORRELATION);
        } else got[e + 1] = percent(s, &x, PASS);
        free(x.flags);
    }
    for (size_t k = 0; k < 4; k++) agrees &= near(s, got[k], design[k], k == 1 && design[1] <= 90.0 ? 3.0 : tolerance[k]);
    s->agrees &= agrees;
    assay_json *o = assay_json_object();
    assay_json_set_string(o, "name", c->name);
    assay_json_set_string(o, "title", c->title);
    assay_json_set_int(o, "blocks", (int64_t)lat_sim_blocks[size]);
    assay_json_set(o, "percent", list_of(got, 4));
    assay_json_set(o, "design", list_of(design, 4));
    assay_json_set_number(o, "by_process", by_process);
    assay_json_set_number(o, "autocorrelation", autocorrelation);
    assay_json_set_bool(o, "agrees", agrees);
    return o;
}

static assay_json *design(const suite *s, const lat_design *d) {
    double got[LAT_DRIFTS];
    for (size_t k = 0; k < LAT_DRIFTS; k++) {
        cell x = { .design = d, .phi = lat_drifts[k] };
        run_cell(s, &x, d->name);
        got[k] = percent(s, &x, ALARM);
        free(x.flags);
    }
    assay_json *o = assay_json_object();
    assay_json_set_string(o, "name", d->name);
    assay_json_set_string(o, "title", d->title);
    assay_json_set(o, "percent", list_of(got, LAT_DRIFTS));
    assay_json_set(o, "design", list_of(d->design_percent, LAT_DRIFTS));
    return o;
}

static assay_json *look(const suite *s, const lat_look *l) {
    cell x = { .look = l };
    run_cell(s, &x, l->name);
    assay_json *o = assay_json_object();
    assay_json_set_string(o, "name", l->name);
    assay_json_set_string(o, "title", l->title);
    assay_json_set_number(o, "percent", percent(s, &x, ALARM));
    assay_json_set_number(o, "design", l->design_percent);
    free(x.flags);
    return o;
}

/* ---- printing */
static void figures(const assay_json *list, int digits) {
    for (size_t i = 0; i < assay_json_len(list); i++) {
        double v = assay_json_value(assay_json_at(list, i));
        const char *gap = i ? " / " : "";
        if (isnan(v)) printf("%s-", gap);
        else printf("%s%.*f", gap, i < 2 || digits == 0 ? digits : 0, v);
    }
}

static void print_cells(const assay_json *row, bool markdown) {
    printf(markdown ? " | " : "  ");
    figures(assay_json_get(row, "percent"), 1);
    printf(" (");
    figures(assay_json_get(row, "design"), 1);
    printf(")%s", assay_json_bool(row, "agrees", true) ? "" : " DIFFERS");
}

static void print_conditions(const assay_json *rows, bool markdown) {
    if (!assay_json_len(rows)) return;
    if (markdown) printf("| condition | n = 40 | n = 100 | process is the unit, `autocorrelation` at n = 40 |\n|--|--|--|--|\n");
    else printf("false alarms / coverage / pass at 1 %% / at 3 %%, in percent of the runs (in brackets: the design's figures)\n");
    for (size_t i = 0; i + 1 < assay_json_len(rows); i += 2) {
        const assay_json *a = assay_json_at(rows, i), *b = assay_json_at(rows, i + 1);
        printf(markdown ? "| %s" : "\n%s\n  n = 40: ", assay_json_string(a, "title", ""));
        print_cells(a, markdown);
        if (!markdown) printf("\n  n = 100:");
        print_cells(b, markdown);
        if (markdown) printf(" | %.0f, %.0f |", assay_json_number(a, "by_process", 0.0), assay_json_number(a, "autocorrelation", 0.0));
        printf("\n");
    }
}

static void print_designs(const assay_json *rows, bool markdown) {
    if (!assay_json_len(rows)) return;
    printf(markdown ? "\n| design | false alarms at AR(1) 0 / 0.5 / 0.9 / 0.98 |\n|--|--|\n" : "\nother designs, false alarms at AR(1) 0 / 0.5 / 0.9 / 0.98\n");
    for (const assay_json *r = assay_json_first(rows); r; r = assay_json_next(r)) {
        printf(markdown ? "| %s | " : "  %s: ", assay_json_string(r, "title", ""));
        figures(assay_json_get(r, "percent"), 0);
        printf(" (");
        figures(assay_json_get(r, "design"), 0);
        printf(markdown ? ") |\n" : ")\n");
    }
}

static void print_looks(const assay_json *rows, bool markdown) {
    if (!assay_json_len(rows)) return;
    printf(markdown ? "\n| looking every 10 blocks from 20 to 300 | false stops |\n|--|--|\n" : "\nlooking every 10 blocks from 20 to 300, false stops\n");
    for (const assay_json *r = assay_json_first(rows); r; r = assay_json_next(r))
        printf(markdown ? "| %s | %.1f (%.1f) |\n" : "  %s: %.1f (%.1f)\n", assay_json_string(r, "title", ""), assay_json_number(r, "percent", 0.0), assay_json_number(r, "design", 0.0));
}

/* ---- the command */
static bool wanted(const suite *s, const char *name) {
    const char *only[64];
    int n = assay_arg_all(s->args, "only", only, 64);
    for (int i = 0; i < n; i++)
        if (assay_streq(only[i], name)) return true;
    return n == 0;
}

static int check_only(const assay_args *a) {
    const char *names[64] = { "designs", "looks" }, *only[64];
    size_t n = 2;
    char hint[96];
    for (size_t i = 0; i < lat_condition_count; i++) names[n++] = lat_conditions[i].name;
    int given = assay_arg_all(a, "only", only, 64);
    for (int i = 0; i < given; i++) {
        bool known = false;
        for (size_t k = 0; k < n; k++) known |= assay_streq(only[i], names[k]);
        if (!known) return assay_cli_usage(a, "no condition '%s'%s", only[i], assay_did_you_mean(hint, only[i], names, n));
    }
    return 0;
}

static assay_json *measure(suite *s) {
    assay_json *o = assay_json_object(), *conditions = assay_json_array(), *designs = assay_json_array(), *looks = assay_json_array();
    for (size_t i = 0; i < lat_condition_count; i++)
        for (size_t size = 0; size < LAT_SIM_SIZES && wanted(s, lat_conditions[i].name); size++) assay_json_append(conditions, condition(s, &lat_conditions[i], size));
    for (size_t i = 0; i < LAT_DESIGNS && wanted(s, "designs"); i++) assay_json_append(designs, design(s, &lat_designs[i]));
    for (size_t i = 0; i < LAT_LOOKS && wanted(s, "looks"); i++) assay_json_append(looks, look(s, &lat_looks[i]));
    assay_json_set_string(o, "schema", "assay-calibration/1");
    assay_json_set_string(o, "gate", "latency");
    assay_json_set_string(o, "seed", s->seed);
    assay_json_set_int(o, "runs", s->runs);
    assay_json_set(o, "conditions", conditions);
    assay_json_set(o, "designs", designs);
    assay_json_set(o, "looks", looks);
    assay_json_set_bool(o, "agrees", s->agrees);
    return o;
}

static void print(const suite *s, const assay_json *o) {
    bool markdown = assay_flag(s->args, "markdown");
    print_conditions(assay_json_get(o, "conditions"), markdown);
    print_designs(assay_json_get(o, "designs"), markdown);
    print_looks(assay_json_get(o, "looks"), markdown);
    printf("\n%u runs a cell, seed %s: %s\n", s->runs, s->seed, s->agrees ? "agrees with the design" : "DIFFERS from the design");
}

static bool count_of(const assay_args *a, const char *name, uint32_t dflt, uint32_t *out) {
    const char *text = assay_arg(a, name);
    char *end = NULL;
    unsigned long v = text ? strtoul(text, &end, 10) : dflt;
    *out = (uint32_t)v;
    return !text || (*text >= '1' && *text <= '9' && !*end && v <= MOST);
}

static int run(const assay_args *a) {
    static const char *const gates[] = { "latency" };
    char hint[96];
    suite s = { .m = assay_math_iface(), .seed = assay_arg(a, "seed") ? assay_arg(a, "seed") : "1", .args = a, .agrees = true };
    if (!assay_streq(a->pos[0], "latency"))
        return assay_cli_usage(a, "no calibration suite for '%s'%s; there is one for latency", a->pos[0], assay_did_you_mean(hint, a->pos[0], gates, 1));
    if (!count_of(a, "runs", assay_flag(a, "full") ? FULL : QUICK, &s.runs)) return assay_cli_usage(a, "--runs: a whole number from 1 to %d", MOST);
    if (!count_of(a, "threads", assay_cpu_count(), &s.threads)) return assay_cli_usage(a, "--threads: a whole number from 1");
    int code = check_only(a);
    if (code) return code;
    assay_json *o = measure(&s);
    if (a->json) assay_cli_print_json(o);
    else print(&s, o);
    assay_json_free(o);
    return s.agrees ? ASSAY_EXIT_OK : ASSAY_EXIT_KILLED;
}

const assay_command assay_cmd_calibrate = {
    .name = "calibrate",
    .args = "latency",
    .summary = "how often a gate errs, on simulated machines",
    .opts = opts,
    .min_args = 1,
    .max_args = 1,
    .run = run,
    .example = "assay calibrate latency --only looks --runs 20",
};
