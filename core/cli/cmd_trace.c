/* assay trace REFERENCE CANDIDATE: the first value at which two programs, or a program and recorded values, part. */
#include "cli/cli.h"
#include "cli/trace.h"
#include "base/fs.h"
#include "base/names.h"
#include "ops/builtin.h"
#include "tensor/npy.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INPUTS_MAX = 64 };
typedef struct job {
    const assay_args *a;
    assay_program *reference, *candidate;
    assay_own_tensor own[INPUTS_MAX];
    assay_named_tensor in[INPUTS_MAX];
    assay_trace t;
    assay_error err;
} job;

/* ---- arguments */
static int read_precision(const assay_args *a, const char *option, int32_t def, int32_t *out) {
    static const char *const words[] = {"declared", "fp16", "fp32", "fp64"};
    const char *given = assay_arg(a, option);
    char hint[96];
    *out = def;
    for (int32_t i = 0; given && i < 4; i++)
        if (assay_streq(given, words[i])) return (*out = i, 0);
    return given ? assay_cli_usage(a, "unknown precision '%s'%s", given, assay_did_you_mean(hint, given, words, 4)) : 0;
}

static int read_number(const assay_args *a, const char *option, double def, double *out) {
    const char *given = assay_arg(a, option);
    char *end = NULL;
    *out = given ? strtod(given, &end) : def;
    return given && (end == given || *end || !(*out >= 0)) ? assay_cli_usage(a, "--%s takes a number, got '%s'", option, given) : 0;
}

static int read_inputs(job *j) {
    const char *given[INPUTS_MAX];
    int n = assay_arg_all(j->a, "input", given, INPUTS_MAX);
    for (int i = 0; i < n; i++) {
        const char *eq = strchr(given[i], '=');
        if (!eq || eq == given[i] || !eq[1]) return assay_cli_usage(j->a, "-i takes NAME=FILE, got '%s'", given[i]);
        if (assay_npy_read(eq + 1, &j->own[i], &j->err) != ASSAY_OK) return assay_cli_fail(j->a, &j->err);
        j->in[i] = (assay_named_tensor){assay_xstrndup(given[i], (size_t)(eq - given[i])), j->own[i].t};
        j->t.n_in++;
    }
    j->t.in = j->in;
    return 0;
}

static int read_options(job *j) {
    double hold = 0;
    int code = read_precision(j->a, "reference-precision", ASSAY_PREC_FP64, &j->t.reference_precision);
    if (!code) code = read_precision(j->a, "precision", ASSAY_PREC_DECLARED, &j->t.candidate_precision);
    if (!code) code = read_number(j->a, "snr-min", 40, &j->t.snr_min_db);
    if (!code) code = read_number(j->a, "hold", 0, &hold);
    j->t.hold = hold < 1e9 ? (size_t)hold : 0;
    return code ? code : read_inputs(j);
}

static assay_status read_program(const char *path, assay_program **out, assay_error *err) {
    assay_status st = assay_program_read(path, out, err);
    return st == ASSAY_OK ? assay_program_validate(*out, 1, err) : st;
}

/* A folder that is no package holds recorded values. */
static bool is_recording(const char *path) {
    return assay_is_dir(path) && !strstr(path, ".mlpackage") && !strstr(path, ".mlmodelc");
}

static assay_status read_sides(job *j) {
    const char *candidate = j->a->pos[1];
    assay_status st = read_program(j->a->pos[0], &j->reference, &j->err);
    if (st == ASSAY_OK && !is_recording(candidate)) st = read_program(candidate, &j->candidate, &j->err);
    j->t.reference = j->reference;
    j->t.candidate = j->candidate;
    j->t.folder = candidate;
    return st;
}

/* ---- results */
static void add_row(assay_json *list, const assay_trace_row *r) {
    assay_json *row = assay_json_append(list, assay_json_object());
    assay_json_set_string(row, "value", r->value->name);
    assay_json_set_string(row, "op", r->op->type);
    assay_json_set_bool(row, "comparable", r->comparable);
    assay_json_set_bool(row, "good", r->good);
    assay_json_set_number(row, "snr_db", r->snr_db);
    assay_json_set_number(row, "before_db", r->before_db);
    assay_json_set_number(row, "max_abs", r->max_abs);
}

static void print_json(const assay_trace *t) {
    assay_json *doc = assay_json_object(), *list;
    assay_json_set_string(doc, "schema", "assay-trace/1");
    assay_json_set_number(doc, "snr_min_db", t->snr_min_db);
    assay_json_set_int(doc, "unpaired", t->unpaired);
    assay_json_set_int(doc, "passes", t->passes);
    assay_json_set(doc, "first_bad", t->first_bad < 0 ? assay_json_new_null() : assay_json_new_string(t->rows[t->first_bad].value->name));
    list = assay_json_set(doc, "values", assay_json_array());
    for (size_t i = 0; i < t->n_rows; i++)
        if (t->rows[i].seen) add_row(list, &t->rows[i]);
    assay_cli_print_json(doc);
    assay_json_free(doc);
}

static const char *db(double x, char out[32]) {
    if (isinf(x)) return "equal";
    if (isnan(x)) return "undefined";
    snprintf(out, 32, "%.1f", x);
    return out;
}

static void print_text(const assay_trace *t) {
    char a[32], b[32];
    size_t seen = 0;
    printf("%-32s %-28s %10s %10s %10s\n", "value", "op", "before dB", "SNR dB", "max abs");
    for (size_t i = 0; i < t->n_rows; i++) {
        const assay_trace_row *r = &t->rows[i];
        seen += r->comparable;
        if (r->comparable)
            printf("%-32s %-28s %10s %10s %10.3g%s\n", r->value->name, r->op->type, db(r->before_db, a), db(r->snr_db, b), r->max_abs,
                   r->good ? "" : "  out of tolerance");
        else if (r->seen)
            printf("%-32s %-28s %10s %10s\n", r->value->name, r->op->type, "", "not comparable");
    }
    printf("%zu values compared in %u runs, %u of the reference without a partner\n", seen, t->passes, t->unpaired);
    if (t->first_bad < 0) {
        printf("no value below %.1f dB\n", t->snr_min_db);
        return;
    }
    const assay_trace_row *r = &t->rows[t->first_bad];
    printf("first out of tolerance: %s (%s), %s dB where what it is computed from has %s dB\n", r->value->name, r->op->type,
           db(r->snr_db, a), db(r->before_db, b));
}

/* 0 all in tolerance, 1 one is not, 5 nothing could be compared. */
static int conclude(const job *j) {
    size_t compared = 0;
    for (size_t i = 0; i < j->t.n_rows; i++) compared += j->t.rows[i].comparable;
    if (j->a->json)
        print_json(&j->t);
    else
        print_text(&j->t);
    if (!compared) fprintf(stderr, "assay trace: no pair of values could be compared (shapes differ, or not finite)\n");
    return !compared ? ASSAY_EXIT_INVALID : j->t.first_bad < 0 ? ASSAY_EXIT_OK : ASSAY_EXIT_KILLED;
}

static int run(const assay_args *a) {
    job *j = assay_xcalloc(1, sizeof *j);
    j->a = a;
    assay_ops_register();
    int code = read_options(j);
    if (!code && (read_sides(j) != ASSAY_OK || assay_trace_run(&j->t, &j->err) != ASSAY_OK)) code = assay_cli_fail(a, &j->err);
    if (!code) code = conclude(j);
    for (int i = 0; i < INPUTS_MAX; i++) {
        free((void *)(uintptr_t)j->in[i].name);
        assay_tensor_free(&j->own[i]);
    }
    assay_trace_free(&j->t);
    assay_program_free(j->reference);
    assay_program_free(j->candidate);
    free(j);
    return code;
}

static const assay_opt opts[] = {
    {.name = "input", .letter = 'i', .value = "NAME=FILE.npy", .help = "an input of both", .repeatable = true},
    {.name = "precision", .value = "P", .help = "candidate's: declared (default), fp16, fp32 or fp64"},
    {.name = "reference-precision", .value = "P", .help = "reference's: default fp64"},
    {.name = "snr-min", .value = "DB", .help = "what every value must reach; default 40"},
    {.name = "hold", .value = "N", .help = "values held at a time, the rest found by bisection; default: all"},
    {0},
};

const assay_command assay_cmd_trace = {
    .name = "trace",
    .args = "REFERENCE CANDIDATE",
    .summary = "the first value at which two programs (or a program and a folder of recorded values) part",
    .opts = opts,
    .min_args = 2,
    .max_args = 2,
    .run = run,
    .example = "assay trace run/arms/explicit/model.mlpackage run/arms/fused/model.mlpackage -i x=run/fixtures/normal/x.npy",
};
